//! What a shard wants its driver to do.

use kafka_wire::{DecodeError, EncodeError, Rope};
use log_core::{BrokerId, Session, TopicPartition};

use crate::door::{ConnectionId, Door, ShardId};
use crate::message::{ControlRequest, ExitCode};
use crate::peer::PeerMessage;

pub use replica_core::StreamId;

/// What a shard wants done. `F` is the disk's open file: a range of one goes out by `sendfile` where the door allows.
#[derive(Debug)]
pub enum ShardAction<F> {
    /// Write to a client. What is written is reported by `handle_written`.
    Send {
        /// To whom.
        connection: ConnectionId,
        /// Whole frames, in order.
        rope: Rope<F>,
    },
    /// Read nothing more from a client until told otherwise; frames already cut may still be handed in.
    PauseReading(ConnectionId),
    /// Read from a client again.
    ResumeReading(ConnectionId),
    /// Close a connection, after writing what is pending; `handle_connection_closed` is not needed.
    Close {
        /// Which.
        connection: ConnectionId,
        /// Why, for the log.
        reason: CloseReason,
    },
    /// Hand a connection to another shard, with everything that was received of it since its last whole frame. Nothing of it is under
    /// way, and this shard has forgotten it. `handle_connection_moved` has it go on there; `handle_connection_kept` has it go on
    /// here, where the driver knows better.
    Move {
        /// Which.
        connection: ConnectionId,
        /// Where it came in.
        door: Door,
        /// Where the partitions live that it is used for.
        to: ShardId,
    },
    /// Hand a request to Control.
    ToControl(ControlRequest),
    /// Hand a message to another shard of this broker.
    ToShard(ShardId, PeerMessage<F>),
    /// Open a replication stream to a leader; answered by `handle_replica_connected` or `handle_replica_refused`.
    ConnectReplica {
        /// Names the attempt.
        key: ReplicaKey,
        /// The leader.
        broker: BrokerId,
        /// Where its replica listener is: each a host and a port, in the order in which it registered them.
        addresses: Vec<(String, u16)>,
        /// The leader's shard that owns the partition.
        shard: ShardId,
    },
    /// Write to a replication stream.
    ReplicaSend {
        /// Which.
        stream: StreamId,
        /// One or more whole frames.
        rope: Rope<F>,
    },
    /// Close a replication stream; `handle_replica_closed` is not needed.
    CloseReplica {
        /// Which.
        stream: StreamId,
    },
    /// End the process.
    Stop(ExitCode),
}

/// Names a replication stream that this broker opens as a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplicaKey {
    /// The partition.
    pub partition: TopicPartition,
    /// The session that the stream begins.
    pub session: Session,
}

/// Why a client's connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// A frame is no request that this broker knows.
    #[error("malformed request: {0}")]
    Malformed(DecodeError),
    /// An answer cannot be written in the protocol.
    #[error("the answer does not fit the protocol: {0}")]
    Unanswerable(EncodeError),
    /// A produce request without acknowledgement failed: closing is the only way to say so.
    #[error("a produce request with acks=0 failed")]
    UnacknowledgedFailed,
    /// Nothing was received or sent for too long.
    #[error("idle for too long")]
    Idle,
    /// The client claims to be a broker.
    #[error("a client may not fetch as a replica")]
    FetchAsReplica,
    /// The broker is stopping.
    #[error("the broker is stopping")]
    Stopping,
}
