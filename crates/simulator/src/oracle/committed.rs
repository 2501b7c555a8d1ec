//! What is committed: every batch that was ever below a leader's high watermark, in order.

use std::collections::BTreeMap;

use log_core::batch::BatchHeader;

/// Where the bytes begin that a producer wrote and no broker changes.
const PRODUCED_FROM: usize = 21;

/// A batch as its producer wrote it, in 64 bits: offset and epoch are not part of it.
pub(crate) fn identity(batch: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in batch.get(PRODUCED_FROM..).unwrap_or_default().chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        hash = crate::dice::mix(hash ^ u64::from_le_bytes(word));
    }
    hash
}

/// One committed batch.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) base: i64,
    pub(super) next: i64,
    pub(super) bytes: Box<[u8]>,
}

/// What is committed of one partition.
#[derive(Debug, Default)]
pub(super) struct Committed {
    /// The greatest log start that a leader had.
    pub(super) start: i64,
    /// Below this offset clients were told that everything is gone.
    pub(super) gone: i64,
    /// How far a leader may raise it: what clients asked for.
    pub(super) may_start: i64,
    entries: Vec<Entry>,
    by_identity: BTreeMap<u64, i64>,
    /// The next sequence of each producer, and where its last batch begins.
    producers: BTreeMap<(i64, i16), (i32, i64)>,
}

impl Committed {
    pub(super) fn end(&self) -> i64 {
        self.entries.last().map_or(0, |last| last.next)
    }

    pub(super) fn at(&self, base: i64) -> Option<&Entry> {
        let at = self.entries.partition_point(|entry| entry.base < base);
        self.entries.get(at).filter(|entry| entry.base == base)
    }

    /// The batches from the one that holds `from` on.
    pub(super) fn from(&self, from: i64) -> impl Iterator<Item = &Entry> {
        let at = self.entries.partition_point(|entry| entry.next <= from);
        self.entries.iter().skip(at)
    }

    pub(super) fn offset_of(&self, identity: u64) -> Option<i64> {
        self.by_identity.get(&identity).copied()
    }

    /// Another batch is committed behind all others.
    ///
    /// Errors: what is wrong with it.
    pub(super) fn push(&mut self, header: &BatchHeader, whole: &[u8], any_first: bool) -> Result<(), String> {
        let (base, next, identity) = (header.base_offset.0, header.next_offset().0, identity(whole));
        if base != self.end() {
            return Err(format!("the batch at {base} follows what ends at {}", self.end()));
        }
        let before = self.by_identity.insert(identity, base);
        if let Some(before) = before.filter(|before| *before >= self.start) {
            return Err(format!("the batch at {base} is committed at {before} already"));
        }
        if header.has_producer() {
            self.follow_sequence(header, any_first)?;
        }
        self.entries.push(Entry { base, next, bytes: whole.into() });
        Ok(())
    }

    fn follow_sequence(&mut self, header: &BatchHeader, any_first: bool) -> Result<(), String> {
        let producer = (header.producer_id.0, header.producer_epoch.0);
        let found = header.base_sequence.0;
        // Where all of a producer is deleted, a replica that was copied anew since does not know it (P2).
        let known = self.producers.get(&producer).filter(|(_, last)| *last >= self.start);
        let expected = known.map(|(next, _)| *next).or((!any_first).then_some(0));
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            let base = header.base_offset;
            return Err(format!("sequence {found} of producer {producer:?} at {base}, expected {expected}"));
        }
        self.producers.insert(producer, (found + header.record_count, header.base_offset.0));
        Ok(())
    }
}
