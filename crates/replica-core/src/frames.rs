//! The frames of a replica stream as values. Their bytes are `frames/wire.rs`; the page is
//! `docs/format/replica-frames.md`.
//!
//! ```text
//! follower                                   leader
//!   Open  ------------------------------------->
//!         <------------------------------------- Lineage, or Refused and the stream ends
//!   (Ask  -------------------------------------> Lineage)*
//!   From  ------------------------------------->
//!         <------------------------------------- Push, Push, ...
//!   Ack, Ack, LogStart, ... ------------------->
//! ```

#[cfg(test)]
mod tests;
mod wire;

use alloc::vec::Vec;

use bytes::Bytes;
use log_core::{
    BrokerEpoch, BrokerId, Frame, FrameLimits, LeaderEpoch, Offset, Session, TopicPartition, frame_head,
};

pub use self::wire::{FRAME_HEADER_BYTES_MAX, FRAME_VERSION};
use crate::error::DecodeError;

/// What a reader of frames from a follower accepts: headers, never a payload.
pub const FOLLOWER_FRAME_LIMITS: FrameLimits =
    FrameLimits { header_bytes_max: FRAME_HEADER_BYTES_MAX, payload_bytes_max: 0 };

/// What a reader of frames from a leader accepts: a push is one batch of any legal size, or several up to the push
/// limit.
pub const LEADER_FRAME_LIMITS: FrameLimits = FrameLimits {
    header_bytes_max: FRAME_HEADER_BYTES_MAX,
    payload_bytes_max: log_core::limits::BATCH_BYTES_HARD_MAX + (1 << 20),
};

/// From a follower to its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerFrame {
    /// The first frame of a session.
    Open(Open),
    /// The epoch named in the last [`Lineage`] is unknown here; this is the largest one below it that is known.
    Ask {
        /// The session.
        session: Session,
        /// The epoch asked about.
        epoch: LeaderEpoch,
    },
    /// The logs agree below this offset: push from here on.
    From {
        /// The session.
        session: Session,
        /// The follower's log end.
        offset: Offset,
        /// As in [`Ack`].
        credit: u64,
    },
    /// Where the follower's log stands.
    Ack(Ack),
    /// The follower's log begins here, and would after a power cut (L11).
    LogStart {
        /// The session.
        session: Session,
        /// The first offset kept.
        log_start: Offset,
    },
    /// The cut that the lineage demands lies below the follower's own high watermark: it is refused, and one of the
    /// two is damaged (D4).
    Conflict {
        /// The session.
        session: Session,
        /// The follower's high watermark.
        high_watermark: Offset,
        /// Where it would have to cut.
        cut_to: Offset,
    },
    /// A pushed batch is damaged; the leader re-reads its disk (step 5).
    BadBatch {
        /// The session.
        session: Session,
        /// Where a good batch was expected.
        offset: Offset,
    },
}

/// A follower asks to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The partition.
    pub partition: TopicPartition,
    /// The leader epoch that the follower has applied.
    pub leader_epoch: LeaderEpoch,
    /// The follower's broker; checked against its certificate by the driver.
    pub follower: BrokerId,
    /// The follower's registration.
    pub broker_epoch: BrokerEpoch,
    /// The number of this stream; grows per follower and partition.
    pub session: Session,
    /// The epoch of its last batch; `None` in a log without batches.
    pub last_epoch: Option<LeaderEpoch>,
    /// Its log end.
    pub log_end: Offset,
}

/// Where a follower's log stands, after each sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The session.
    pub session: Session,
    /// The offset after the last batch written.
    pub appended_end: Offset,
    /// The largest offset below which all is fsynced.
    pub durable_end: Offset,
    /// Bytes of batches that the follower takes in this session, counted from its first push: a total, so that an
    /// ack that crosses a push says nothing wrong.
    pub credit: u64,
}

/// From a leader to a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderFrame {
    /// The stream is refused, and ends.
    Refused {
        /// The session.
        session: Session,
        /// Why.
        refusal: StreamRefusal,
    },
    /// Where an epoch ends in the leader's log.
    Lineage(Lineage),
    /// Batches, and where the leader's log stands.
    Push {
        /// All but the batches.
        push: Push,
        /// Whole batches that follow each other; may be empty.
        batches: Bytes,
    },
}

/// Where an epoch ends in the leader's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The session.
    pub session: Session,
    /// The largest epoch in the leader's log that is at most the one asked. If its log knows only larger ones: the
    /// one asked. `None` if a follower without batches asked.
    pub epoch: Option<LeaderEpoch>,
    /// Its end; for an epoch below all that are known, the first offset of those.
    pub end: Offset,
    /// Where the leader's log begins: with the batch that holds its log start.
    pub log_start: Offset,
}

/// Where the leader's log stands at a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push {
    /// The session.
    pub session: Session,
    /// Where the batches begin; the follower's end if there are none.
    pub base_offset: Offset,
    /// The leader's high watermark.
    pub high_watermark: Offset,
    /// The leader's log start.
    pub log_start: Offset,
}

/// Why a leader refuses a stream (step 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StreamRefusal {
    /// It does not lead the partition, or does not know it.
    NotLeader = 1,
    /// It leads a newer epoch than the one asked for.
    OldEpoch = 2,
    /// It has not applied the epoch asked for yet.
    NewEpoch = 3,
    /// The partition's topic has another id.
    OtherTopic = 4,
    /// The broker is no replica of the partition.
    NotReplica = 5,
    /// The broker has registered anew since.
    OldBrokerEpoch = 6,
    /// It has not applied the follower's registration yet.
    NotYet = 7,
}

impl FollowerFrame {
    /// The session it belongs to.
    #[must_use]
    pub const fn session(&self) -> Session {
        match self {
            Self::Open(Open { session, .. })
            | Self::Ask { session, .. }
            | Self::From { session, .. }
            | Self::Ack(Ack { session, .. })
            | Self::Conflict { session, .. }
            | Self::BadBatch { session, .. }
            | Self::LogStart { session, .. } => *session,
        }
    }

    /// The frame's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        frame_head(&wire::follower_header(self), 0)
    }

    /// Reads a frame; its bytes are checked before they are accessed.
    ///
    /// Errors: if the bytes are no frame of a follower in a version that this build reads.
    pub fn decode(frame: &Frame) -> Result<Self, DecodeError> {
        wire::read_follower(frame)
    }
}

impl LeaderFrame {
    /// The session it belongs to.
    #[must_use]
    pub const fn session(&self) -> Session {
        match self {
            Self::Refused { session, .. }
            | Self::Lineage(Lineage { session, .. })
            | Self::Push { push: Push { session, .. }, .. } => *session,
        }
    }

    /// The frame's bytes before its payload, which is sent as it is, behind them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Refused { session, refusal } => frame_head(&wire::refused_header(*session, *refusal), 0),
            Self::Lineage(lineage) => frame_head(&wire::lineage_header(lineage), 0),
            Self::Push { push, batches } => push.encode(batches.len()),
        }
    }

    /// Reads a frame; its bytes are checked before they are accessed. The batches stay where they were received.
    ///
    /// Errors: if the bytes are no frame of a leader in a version that this build reads.
    pub fn decode(frame: &Frame) -> Result<Self, DecodeError> {
        wire::read_leader(frame)
    }
}

impl Push {
    /// The frame's bytes before `batch_bytes` of batches, which are sent as they are, behind them.
    #[must_use]
    pub fn encode(&self, batch_bytes: usize) -> Vec<u8> {
        frame_head(&wire::push_header(self), batch_bytes)
    }
}
