//! What can be wrong with bytes from a peer, with a batch it pushed, and with the wish to lead.

use log_core::{BatchError, BrokerEpoch, BrokerId, FrameError, LeaderEpoch, Offset};

/// Why bytes are not a frame of a replica stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The container is wrong.
    #[error(transparent)]
    Container(#[from] FrameError),
    /// The header is too short to name its version and type.
    #[error("frame header of {found} bytes names no type")]
    NoType {
        /// Bytes of the header.
        found: usize,
    },
    /// The header is of a version that this build does not read.
    #[error("frame version {found}, this build reads version {known}")]
    Version {
        /// The version found.
        found: u8,
        /// The version that this build reads.
        known: u8,
    },
    /// No frame of this direction has that type.
    #[error("frame type {found} is unknown")]
    Type {
        /// The type found.
        found: u8,
    },
    /// The header has another length than its type.
    #[error("header of frame type {frame_type} has {found} bytes, expected {expected}")]
    Length {
        /// The frame's type.
        frame_type: u8,
        /// Bytes that the type takes.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// The header failed its check.
    #[error("header of frame type {frame_type} does not hold possible values")]
    Values {
        /// The frame's type.
        frame_type: u8,
    },
    /// A frame that takes no payload has one.
    #[error("frame type {frame_type} carries {found} bytes of payload, expected none")]
    Payload {
        /// The frame's type.
        frame_type: u8,
        /// Bytes found.
        found: usize,
    },
}

/// Why the first frame of a stream does not say what the stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    /// The container is wrong.
    #[error(transparent)]
    Container(#[from] FrameError),
    /// The header is not two bytes long.
    #[error("first frame of a stream has a header of {found} bytes, expected 2")]
    Length {
        /// Bytes found.
        found: usize,
    },
    /// The kind is unknown.
    #[error("stream kind {found} is unknown")]
    Kind {
        /// The kind found.
        found: u8,
    },
}

/// Why a broker may not lead a partition now (L1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotLeading {
    /// The applied metadata names another leader, or none.
    #[error("the applied metadata does not name this broker as leader")]
    NotNamed {
        /// Whom it names.
        leader: Option<BrokerId>,
    },
    /// The registration of this incarnation is not applied yet.
    #[error("this broker has not applied its own registration")]
    NotRegistered,
    /// The applied registration is another one than this incarnation's.
    #[error("registered under broker epoch {applied}, this incarnation has {own}")]
    OtherRegistration {
        /// This incarnation's broker epoch.
        own: BrokerEpoch,
        /// The applied one.
        applied: BrokerEpoch,
    },
    /// This broker is fenced.
    #[error("this broker is fenced")]
    Fenced,
    /// This replica was found damaged.
    #[error("this replica is faulty")]
    Faulty,
    /// A cut of the log is still running.
    #[error("a cut of the log is running")]
    Cutting,
}

/// Why pushed batches are not appended (`docs/format/replica-frames.md`, step 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushFault {
    /// A batch is cut off, malformed, or its checksum does not hold.
    #[error("batch at offset {at}: {error}")]
    Batch {
        /// Where a good batch was expected.
        at: Offset,
        /// What is wrong with it.
        error: BatchError,
    },
    /// A batch does not continue the log.
    #[error("batch at offset {found} where {expected} was expected")]
    Gap {
        /// The end of the log.
        expected: Offset,
        /// The base offset found.
        found: Offset,
    },
    /// A batch's epoch is above the stream's.
    #[error("batch of leader epoch {found} on a stream of epoch {stream}")]
    AboveStream {
        /// The stream's epoch.
        stream: LeaderEpoch,
        /// The batch's epoch.
        found: LeaderEpoch,
    },
    /// A batch's epoch is below the one of the batch before it.
    #[error("batch of leader epoch {found} after one of epoch {previous}")]
    BelowPrevious {
        /// The epoch of the batch before.
        previous: LeaderEpoch,
        /// The batch's epoch.
        found: LeaderEpoch,
    },
}
