//! What can fail on the way to agreement, split by blame.

use log_core::DirectoryId;
use log_store::{DiskError, RecordLogError};

/// Why a raft message got no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No connection to the broker could be made or kept.
    #[error("{address} cannot be reached: {cause}")]
    Unreachable {
        /// `host:port` that was tried.
        address: String,
        /// What the carrier said.
        cause: std::io::Error,
    },
    /// No answer within raft's deadline.
    #[error("no answer in time")]
    TimedOut,
    /// The message or its answer could not be read.
    #[error(transparent)]
    Message(#[from] RpcError),
    /// The message is meant for a directory that this node does not have, or not any more (M9).
    #[error("a raft message for directory {asked}, this node has {own}")]
    OtherDirectory {
        /// The directory that it was sent to.
        asked: DirectoryId,
        /// The directory of this node.
        own: DirectoryId,
    },
    /// This node cannot know whom it voted for, so it takes part in nothing.
    #[error(
        "this node's votes are unreadable: remove its directory from the quorum and start with a new one"
    )]
    VotesLost,
}

/// Why bytes are no raft message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RpcError {
    /// The bytes do not decode.
    #[error("not a raft message")]
    Malformed,
    /// A version that this build does not speak.
    #[error("raft message of version {found}, this build speaks 1")]
    Version {
        /// The version byte found.
        found: u8,
    },
    /// The message decodes, but no raft node sends such a one.
    #[error("a raft message that contradicts itself")]
    Contradiction,
    /// The answer is of another kind than the request.
    #[error("an answer of another kind than the request")]
    OtherKind,
    /// A message of ours that cannot be encoded: its lengths exceed the format's.
    #[error("message does not fit its format")]
    Unencodable,
}

/// Why the quorum could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuorumError {
    /// The disk refused an operation, or raft's log is damaged.
    #[error("raft log: {0}")]
    Store(StoreError),
    /// The raft log and the copy of the metadata log in one directory do not fit together.
    #[error(
        "raft log starts at {first} but the metadata copy ends at {applied}: entries between them are missing"
    )]
    Gap {
        /// The first index of the raft log.
        first: u64,
        /// The last offset of the metadata copy; -1 if it holds none.
        applied: i64,
    },
    /// An entry of the raft log does not decode.
    #[error("entry {index} of the raft log does not decode")]
    Entry {
        /// Its raft index.
        index: u64,
    },
    /// The file that says where the raft log begins does not decode.
    #[error("the file that says where the raft log begins is damaged")]
    Points,
    /// Raft itself stopped.
    #[error("raft stopped: {0}")]
    Stopped(String),
}

impl From<DiskError> for QuorumError {
    fn from(error: DiskError) -> Self {
        Self::Store(StoreError::Log(error.into()))
    }
}

impl From<RecordLogError> for QuorumError {
    fn from(error: RecordLogError) -> Self {
        Self::Store(StoreError::Log(error))
    }
}

/// Why raft's storage refused; nothing that was not durable by then is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk failed, or a record does not fit.
    #[error(transparent)]
    Log(#[from] RecordLogError),
    /// An entry or vote that cannot be encoded.
    #[error(transparent)]
    Message(#[from] RpcError),
    /// Raft asked about an index that its log does not hold.
    #[error("raft's log does not hold index {index}")]
    Unknown {
        /// The index.
        index: u64,
    },
    /// The quorum is being stopped.
    #[error("the quorum is being stopped")]
    Closed,
}

impl From<DiskError> for StoreError {
    fn from(error: DiskError) -> Self {
        Self::Log(error.into())
    }
}
