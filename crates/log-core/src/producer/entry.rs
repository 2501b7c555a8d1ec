//! One producer in one partition: its newest epoch and its last batches.

use alloc::collections::VecDeque;

use crate::batch::BatchHeader;
use crate::error::SequenceError;
use crate::ids::{ProducerEpoch, Sequence};
use crate::limits::PRODUCER_BATCHES_MAX;
use crate::mutation::{Mutation, mutated};
use crate::offset::Offset;
use crate::time::Timestamp;

/// A batch of an idempotent producer, as it stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMark {
    /// Sequence of its first record.
    pub base_sequence: Sequence,
    /// Its last offset.
    pub last_offset: Offset,
    /// Its last offset minus its base offset.
    pub offset_delta: i32,
    /// Its max timestamp.
    pub timestamp: Timestamp,
}

/// One producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Producer {
    pub(super) epoch: ProducerEpoch,
    /// The last batches of that epoch, oldest first, at most [`PRODUCER_BATCHES_MAX`].
    pub(super) batches: VecDeque<BatchMark>,
    /// Batches older than those were appended, perhaps under an older epoch.
    pub(super) had_more: bool,
    /// Offset of its last control batch; −1 if there was none.
    pub(super) last_marker: Offset,
    /// The broker's clock when its last batch was appended.
    pub(super) last_append: Timestamp,
}

/// What a batch of a known producer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Next,
    Repeat(BatchMark),
}

impl BatchMark {
    /// The mark of a batch that was appended with this header.
    #[must_use]
    pub fn of(header: &BatchHeader) -> Self {
        Self {
            base_sequence: header.base_sequence,
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta,
            timestamp: header.max_timestamp,
        }
    }

    /// Offset of its first record.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        Offset(self.last_offset.0.saturating_sub(i64::from(self.offset_delta)))
    }

    /// Sequence of its last record.
    #[must_use]
    pub const fn last_sequence(&self) -> Sequence {
        self.base_sequence.plus(self.offset_delta)
    }
}

impl Producer {
    pub(super) const fn new(epoch: ProducerEpoch, now: Timestamp) -> Self {
        let last_marker = Offset(-1);
        Self { epoch, batches: VecDeque::new(), had_more: false, last_marker, last_append: now }
    }

    /// Whether a batch fits. `forgetful`: earlier batches of this producer may have been dropped.
    pub(super) fn fit(&self, header: &BatchHeader, forgetful: bool) -> Result<Fit, SequenceError> {
        let (epoch, current) = (header.producer_epoch, self.epoch);
        if epoch < current {
            return Err(SequenceError::Epoch { found: epoch, current });
        }
        let last = self.batches.back().filter(|_| epoch == current);
        if epoch == current
            && let Some(repeat) = self.repeat_of(header)
        {
            return Ok(Fit::Repeat(repeat));
        }
        let expected = last.map_or(Sequence(0), |last| last.last_sequence().plus(1));
        let may_skip = mutated(Mutation::P7, forgetful, true) && epoch == current && last.is_none();
        if header.base_sequence == expected || may_skip {
            Ok(Fit::Next)
        } else {
            Err(SequenceError::OutOfOrder { found: header.base_sequence, expected })
        }
    }

    fn repeat_of(&self, header: &BatchHeader) -> Option<BatchMark> {
        let same = |mark: &&BatchMark| {
            mark.base_sequence == header.base_sequence && mark.offset_delta == header.last_offset_delta
        };
        self.batches.iter().find(same).copied()
    }

    /// A batch or a marker with this header was appended.
    pub(super) fn append(&mut self, header: &BatchHeader, now: Timestamp) {
        if header.producer_epoch > self.epoch {
            self.had_more |= !self.batches.is_empty();
            self.batches.clear();
            self.epoch = header.producer_epoch;
        }
        self.last_append = self.last_append.max(now);
        if header.attributes.is_control() {
            self.last_marker = header.last_offset();
            return;
        }
        if self.batches.len() >= mutated(Mutation::P1, PRODUCER_BATCHES_MAX, 1) {
            self.batches.pop_front();
            self.had_more = true;
        }
        self.batches.push_back(BatchMark::of(header));
    }
}
