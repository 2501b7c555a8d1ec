//! The channels between the threads of one broker. Nothing is shared but these.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use broker_core::control::ControlStatus;
use broker_core::{ControlRequest, ExitCode, PeerMessage, ShardGauges, ShardId, ShardMessage, ShardMetrics};
use kafka_wire::FrameReader;
use replica::Arrival;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

use crate::browser::Seat;
use crate::http::WebSocket;

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
    pub(crate) crowds: Crowds,
}

/// How many connections each shard has; all of them see it.
#[derive(Clone, Debug)]
pub(crate) struct Crowds(Arc<[AtomicUsize]>);

/// A shard takes connections of another while it has at most so many more (a guess): a partition that everybody uses is not to
/// gather all of them on one thread.
const CROWDED_BY: usize = 4;

impl Crowds {
    pub(crate) fn of(shards: u16) -> Self {
        Self((0..shards).map(|_| AtomicUsize::new(0)).collect())
    }

    fn at(&self, shard: ShardId) -> &AtomicUsize {
        self.0.get(usize::from(shard.0)).expect("there is a number for each shard")
    }

    pub(crate) fn come(&self, shard: ShardId) {
        self.at(shard).fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self, shard: ShardId) {
        self.at(shard).fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a connection of `from` at `to` from now on, if that is not crowded: whether it is not.
    pub(crate) fn go(&self, from: ShardId, to: ShardId) -> bool {
        let most = self.at(from).load(Ordering::Relaxed) + CROWDED_BY;
        let one_more = |number: usize| (number < most).then_some(number + 1);
        let goes = self.at(to).fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        if goes {
            self.leave(from);
        }
        goes
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_takes_connections_of_another_until_it_is_crowded() {
        let crowds = Crowds::of(2);
        let (from, to) = (ShardId(0), ShardId(1));
        let numbers = || [from, to].map(|shard| crowds.at(shard).load(Ordering::Relaxed));
        (0..CROWDED_BY).for_each(|_| crowds.come(from));
        while crowds.go(from, to) {}
        assert_eq!(numbers(), [0, CROWDED_BY]);
        crowds.come(from);
        crowds.come(to);
        assert!(!crowds.go(from, to));
        assert_eq!(numbers(), [1, CROWDED_BY + 1]);
    }
}
