//! All idempotent producers of one partition.
//!
//! Call order: [`ProducerTable::check`] before a client's batch is appended, [`ProducerTable::append`] after every
//! append, on leader and follower alike and for every batch scanned at recovery; [`ProducerTable::cut_to`] with the
//! log. State is rebuilt by loading the newest snapshot that is not above the log end and appending what follows it.

use alloc::collections::BTreeMap;

use super::entry::{BatchMark, Fit, Producer};
use crate::batch::BatchHeader;
use crate::error::SequenceError;
use crate::ids::{ProducerEpoch, ProducerId, Sequence};
use crate::offset::Offset;
use crate::time::Timestamp;

/// The producers of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerTable {
    pub(super) producers: BTreeMap<ProducerId, Producer>,
    pub(super) has_expired: bool,
}

/// What a batch is that its producer's state has no objection to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCheck {
    /// To be appended.
    Append,
    /// Appended before, as this one: answered once that is committed, with its offset.
    Duplicate(BatchMark),
}

/// Whether state could be cut exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Cut {
    /// The table answers every batch that a client may still send as it did when the log ended there.
    Exact,
    /// Batches that had left the window are needed again: rebuild from a snapshot and the log.
    Rebuild,
}

impl ProducerTable {
    /// A table without producers.
    #[must_use]
    pub const fn new() -> Self {
        Self { producers: BTreeMap::new(), has_expired: false }
    }

    /// How many producers are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.producers.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty()
    }

    /// Whether a producer was ever forgotten here because it was idle.
    #[must_use]
    pub const fn has_expired(&self) -> bool {
        self.has_expired
    }

    /// The newest epoch of a producer and the sequence of its last record ([`Sequence::NONE`] if unknown).
    #[must_use]
    pub fn latest(&self, id: ProducerId) -> Option<(ProducerEpoch, Sequence)> {
        let producer = self.producers.get(&id)?;
        Some((producer.epoch, producer.batches.back().map_or(Sequence::NONE, BatchMark::last_sequence)))
    }

    /// Whether a validated batch may be appended.
    ///
    /// A first sequence other than 0 from an unknown producer is accepted only where `may_have_forgotten`: the log
    /// start is above 0, a producer expired here, or the topic's name was used before. Elsewhere it is the second of
    /// two batches whose first is still on its way, and would overtake it. A new epoch always starts at 0.
    ///
    /// Errors: [`SequenceError`]; nothing may be appended then.
    pub fn check(
        &self,
        header: &BatchHeader,
        may_have_forgotten: bool,
    ) -> Result<SequenceCheck, SequenceError> {
        if !header.has_producer() {
            return Ok(SequenceCheck::Append);
        }
        let forgetful = may_have_forgotten || self.has_expired;
        let unknown = Producer::new(header.producer_epoch, Timestamp::NONE);
        let producer = self.producers.get(&header.producer_id).unwrap_or(&unknown);
        Ok(match producer.fit(header, forgetful)? {
            Fit::Next => SequenceCheck::Append,
            Fit::Repeat(mark) => SequenceCheck::Duplicate(mark),
        })
    }

    /// The same for these producers alone, so that batches can be tried one after the other on a copy.
    #[must_use]
    pub fn only(&self, ids: impl IntoIterator<Item = ProducerId>) -> Self {
        let mut some = Self { producers: BTreeMap::new(), has_expired: self.has_expired };
        for id in ids {
            if let Some(producer) = self.producers.get(&id) {
                some.producers.entry(id).or_insert_with(|| producer.clone());
            }
        }
        some
    }

    /// The batch with this header was appended (or found in the log) at the broker's time `now`. What an older epoch
    /// left behind a newer one in the log is passed over.
    pub fn append(&mut self, header: &BatchHeader, now: Timestamp) {
        if !header.has_producer() {
            return;
        }
        let new = Producer::new(header.producer_epoch, now);
        let producer = self.producers.entry(header.producer_id).or_insert(new);
        if header.producer_epoch >= producer.epoch {
            producer.append(header, now);
        }
    }

    /// Forgets the producers that appended nothing for `idle_ms_max` milliseconds; says how many. A clock that went
    /// back forgets none.
    pub fn expire(&mut self, now: Timestamp, idle_ms_max: i64) -> usize {
        let before = self.producers.len();
        self.producers.retain(|_, producer| now.0.saturating_sub(producer.last_append.0) < idle_ms_max);
        let expired = before - self.producers.len();
        self.has_expired |= expired > 0;
        expired
    }

    /// Everything from `end` on was cut from the log.
    ///
    /// Five remembered batches are enough as long as one remains: a client with five requests in flight cannot have
    /// sent the batch that pushed the first of them out before it had the answer for it.
    pub fn cut_to(&mut self, end: Offset) -> Cut {
        let mut cut = Cut::Exact;
        self.producers.retain(|_, producer| {
            let before = producer.batches.len();
            producer.batches.retain(|mark| mark.last_offset < end);
            let emptied = before > 0 && producer.batches.is_empty();
            // A marker may have raised the epoch, and does not say from which.
            if emptied && producer.had_more || producer.last_marker >= end {
                cut = Cut::Rebuild;
            }
            !emptied
        });
        cut
    }

    /// Everything was dropped: the log begins anew.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
}
