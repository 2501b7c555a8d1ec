//! What a leader answers its shard: may a produce be taken, what may be read, what does a client's epoch say
//! (L3, R1, R2).

use alloc::vec::Vec;

use log_core::{BrokerId, LeaderEpoch, Offset};

use super::Leader;
use crate::mutation::{Mutation, on};
use crate::view::PartitionView;

/// How far a read may go (R1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBound {
    /// Records from the offset asked up to this one may be served.
    Upto(Offset),
    /// Between the high watermark and the appended end: wait, and come back empty. It is not out of range.
    Wait,
    /// Below the low watermark, which never goes back: no leader has it any more (L11).
    OutOfRange,
    /// Below the log start, but not below the low watermark: another one may lead that has it still, or this one after a
    /// power cut. Wait, and come back empty.
    Deleting,
    /// Above the appended end. A leader that came after may have it: out of range only if [`Leader::confirm`] proves
    /// that there is none.
    Beyond,
}

/// Why a client that names a leader epoch is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEpochRefusal {
    /// The client knows an older leadership.
    Fenced,
    /// The client knows a newer leadership than this broker has applied.
    Unknown,
}

impl Leader {
    /// Whether it still leads; once it does not, it is of no more use.
    #[must_use]
    pub const fn is_leading(&self) -> bool {
        !self.left
    }

    /// The epoch that it leads.
    #[must_use]
    pub const fn epoch(&self) -> LeaderEpoch {
        self.identity.epoch
    }

    /// Its appended end when the epoch began.
    #[must_use]
    pub const fn epoch_start(&self) -> Offset {
        self.identity.epoch_start
    }

    /// Only records below it are served.
    #[must_use]
    pub const fn high_watermark(&self) -> Offset {
        self.log.high_watermark
    }

    /// What lies below it is deleted, whoever leads (L11).
    #[must_use]
    pub const fn low_watermark(&self) -> Offset {
        self.low_watermark
    }

    /// The partition as it was applied last.
    #[must_use]
    pub const fn view(&self) -> &PartitionView {
        &self.view
    }

    /// The committed ISR, and those whose addition is undecided.
    #[must_use]
    pub fn maximal_isr(&self) -> Vec<BrokerId> {
        let replicas = self.view.replicas.iter().map(|replica| replica.broker);
        replicas.filter(|broker| self.in_maximal_isr(*broker)).collect()
    }

    /// Whether an ISR proposal is undecided.
    #[must_use]
    pub const fn has_pending_proposal(&self) -> bool {
        self.pending.is_some()
    }

    /// The durable end that `follower` acknowledged in its present session; `None` while it is unknown.
    #[must_use]
    pub fn durable_end_of(&self, follower: BrokerId) -> Option<Offset> {
        self.followers.get(&follower)?.durable
    }

    /// Whether an `acks=all` produce may be appended (L3); if not, nothing is: NOT_ENOUGH_REPLICAS.
    #[must_use]
    pub fn accepts_acks_all(&self) -> bool {
        self.view.has_min_isr() || on(Mutation::H4)
    }

    /// How far a client may read from `offset` (R1).
    #[must_use]
    pub fn read_bound(&self, offset: Offset) -> ReadBound {
        if offset < self.low_watermark {
            ReadBound::OutOfRange
        } else if offset < self.log.log_start {
            ReadBound::Deleting
        } else if offset > self.log.appended_end {
            ReadBound::Beyond
        } else if offset < self.log.high_watermark {
            let beyond = if on(Mutation::R1) { self.log.appended_end } else { self.log.high_watermark };
            ReadBound::Upto(beyond)
        } else {
            ReadBound::Wait
        }
    }

    /// The latest offset for ListOffsets; `None` until the high watermark has reached the epoch start, for which the
    /// answer is OFFSET_NOT_AVAILABLE: an older one would go back behind what was shown (R1).
    #[must_use]
    pub fn latest_offset(&self) -> Option<Offset> {
        let known = self.log.high_watermark >= self.identity.epoch_start || on(Mutation::H14);
        known.then_some(self.log.high_watermark)
    }

    /// Checks the leader epoch that a client names (R2); one that names none may read stale.
    ///
    /// Errors: if the client knows an older or a newer leadership.
    pub fn check_client_epoch(&self, named: Option<LeaderEpoch>) -> Result<(), ClientEpochRefusal> {
        match named {
            Some(named) if named < self.identity.epoch => Err(ClientEpochRefusal::Fenced),
            Some(named) if named > self.identity.epoch => Err(ClientEpochRefusal::Unknown),
            _ => Ok(()),
        }
    }
}
