//! The channels between the threads of one broker. Beside these they share only counts of connections: [`ShardLoads`] and
//! [`Seats`](crate::seats::Seats).

use std::net::TcpStream;

use broker_core::control::ControlStatus;
use broker_core::{ControlRequest, ExitCode, PeerMessage, ShardGauges, ShardId, ShardMessage, ShardMetrics};
use kafka_wire::FrameReader;
use replica::Arrival;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

use crate::http::WebSocket;
use crate::seats::Seat;
use crate::shard_loads::ShardLoads;

/// What other threads hand to a shard's.
pub(crate) enum ToShard<F> {
    /// From Control.
    Control(ShardMessage),
    /// From another shard.
    Peer(ShardId, PeerMessage<F>),
    /// A client that the listener let in.
    Tcp(TcpStream),
    /// A client's connection that another shard has handed on.
    Moved(Moved),
    /// A client in this process.
    Memory(DuplexStream),
    /// A page's WebSocket, agreed on.
    WebSocket(WebSocket),
    /// A client's QUIC connection.
    Quic(quinn::Incoming),
    /// A broker that replicates from here.
    Replica(Arrival),
    /// Asks for the counters.
    Metrics(oneshot::Sender<ShardReport>),
}

/// A connection on its way from one shard to another.
pub(crate) struct Moved {
    pub(crate) stream: TcpStream,
    pub(crate) seat: Seat,
    /// What was received of it after its last whole frame.
    pub(crate) frames: FrameReader,
}

/// A shard's counters, and what its driver counts beside them.
#[derive(Clone, Debug)]
pub(crate) struct ShardReport {
    pub(crate) shard: ShardId,
    pub(crate) metrics: ShardMetrics,
    pub(crate) gauges: ShardGauges,
    /// Tasks of its thread that have not ended.
    pub(crate) tasks: u64,
    /// Replication streams that are open, to leaders and from followers.
    pub(crate) replica_streams: u64,
}

/// What other threads hand to Control's.
pub(crate) enum ToControl {
    /// From a shard.
    Shard(ShardId, ControlRequest),
    /// A shard had to end the process.
    Ended(ExitCode),
    /// The process was asked to stop.
    Stop,
}

/// What Control's thread lets the others see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How the broker stands in its cluster.
    pub status: ControlStatus,
    /// Why it ended, once it has.
    pub ended: Option<ExitCode>,
}

pub(crate) type ShardSender<F> = mpsc::UnboundedSender<ToShard<F>>;
pub(crate) type ShardReceiver<F> = mpsc::UnboundedReceiver<ToShard<F>>;
pub(crate) type ControlSender = mpsc::UnboundedSender<ToControl>;

/// A shard's ways to the others.
pub(crate) struct Links<F> {
    pub(crate) shard: ShardId,
    pub(crate) control: ControlSender,
    pub(crate) shards: Vec<ShardSender<F>>,
    pub(crate) loads: ShardLoads,
}

impl<F> Links<F> {
    /// A receiver that is gone means that the process is ending: what it would have been told does not matter any more.
    pub(crate) fn to_control(&self, request: ControlRequest) {
        let _ = self.control.send(ToControl::Shard(self.shard, request));
    }

    pub(crate) fn to_shard(&self, to: ShardId, message: PeerMessage<F>) {
        if let Some(shard) = self.shards.get(usize::from(to.0)) {
            let _ = shard.send(ToShard::Peer(self.shard, message));
        }
    }

    pub(crate) fn hand_on(&self, to: ShardId, moved: Moved) {
        if let Some(shard) = self.shards.get(usize::from(to.0)) {
            let _ = shard.send(ToShard::Moved(moved));
        }
    }

    pub(crate) fn ended(&self, code: ExitCode) {
        let _ = self.control.send(ToControl::Ended(code));
    }
}

/// The shard of the next client: the one with the fewest connections would need to be asked, so they take turns.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    next: usize,
}

impl Turns {
    pub(crate) fn next<'a, F>(&mut self, shards: &'a [ShardSender<F>]) -> &'a ShardSender<F> {
        self.next = (self.next + 1) % shards.len();
        shards.get(self.next).expect("the remainder is below the length, and a broker has a shard")
    }
}
