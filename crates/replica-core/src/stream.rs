//! Streams between brokers: their numbers, what they carry, and why they end.

use alloc::vec::Vec;
use core::fmt;

use log_core::{Frame, FrameLimits, frame_head};

use crate::error::HelloError;

/// A stream as its driver numbers it: unique among all streams of a process, never used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a stream between brokers carries. The first frame of every stream names it: a header of the kind's byte and
/// the version of the protocol behind it, and no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StreamKind {
    /// One replica of one partition, opened by the follower.
    Replica = 1,
    /// Metadata proposals, heartbeats and administration, between the brokers' Controls.
    Control = 2,
    /// The metadata quorum.
    Raft = 3,
    /// A node that asks to join; the only kind that a peer without a certificate may open.
    Join = 4,
}

/// What a reader of a stream's first frame accepts.
pub const HELLO_LIMITS: FrameLimits = FrameLimits { header_bytes_max: 2, payload_bytes_max: 0 };

/// The version of the replica stream's protocol.
pub const REPLICA_STREAM_VERSION: u8 = 1;

/// Why a replication stream is closed. The code travels with the closing of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CloseReason {
    /// The leader left the epoch that the stream belongs to, or the follower follows another (L10).
    EpochLeft = 1,
    /// The follower opened a newer session.
    Replaced = 2,
    /// The follower's registration changed, or it is no replica any more.
    NotReplica = 3,
    /// The leader refused the stream; the reason went before as a frame.
    Refused = 4,
    /// The peer broke the protocol.
    Protocol = 5,
    /// The follower's next offset is below the leader's log start.
    BelowLogStart = 6,
    /// A batch that the follower could not accept.
    BadBatch = 7,
    /// The leader asked for a cut below the follower's high watermark (D4).
    Conflict = 8,
    /// The owner of the machine stops.
    Stopping = 9,
    /// The connection is lost, or was never made.
    Lost = 10,
    /// The replica was found damaged, or its log refused a write.
    Faulty = 11,
}

impl StreamKind {
    /// The first frame of a stream of this kind, in version `version`.
    #[must_use]
    pub fn hello(self, version: u8) -> Vec<u8> {
        frame_head(&[self as u8, version], 0)
    }

    /// Reads the first frame of a stream: its kind and the version of the protocol behind it.
    ///
    /// Errors: if it is no such frame, or of an unknown kind.
    pub fn read_hello(frame: &Frame) -> Result<(Self, u8), HelloError> {
        let &[kind, version] = &frame.header[..] else {
            return Err(HelloError::Length { found: frame.header.len() });
        };
        let kind = match kind {
            1 => Self::Replica,
            2 => Self::Control,
            3 => Self::Raft,
            4 => Self::Join,
            found => return Err(HelloError::Kind { found }),
        };
        Ok((kind, version))
    }
}

impl CloseReason {
    /// The code that travels with the closing of the stream.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason of a code; an unknown one reads as [`CloseReason::Lost`].
    #[must_use]
    pub const fn from_code(code: u64) -> Self {
        match code {
            1 => Self::EpochLeft,
            2 => Self::Replaced,
            3 => Self::NotReplica,
            4 => Self::Refused,
            5 => Self::Protocol,
            6 => Self::BelowLogStart,
            7 => Self::BadBatch,
            8 => Self::Conflict,
            9 => Self::Stopping,
            11 => Self::Faulty,
            _ => Self::Lost,
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EpochLeft => "the leader epoch ended",
            Self::Replaced => "a newer session was opened",
            Self::NotReplica => "the follower's registration changed or it is no replica",
            Self::Refused => "the leader refused the stream",
            Self::Protocol => "the peer broke the protocol",
            Self::BelowLogStart => "the follower's next offset is below the leader's log start",
            Self::BadBatch => "a batch could not be accepted",
            Self::Conflict => "a cut below the follower's high watermark was asked for",
            Self::Stopping => "the broker stops",
            Self::Lost => "the connection was lost",
            Self::Faulty => "the replica is damaged",
        })
    }
}
