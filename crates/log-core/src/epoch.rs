//! The leader-epoch cache: where each leader epoch begins in a log. It is what two replicas compare to find where
//! their logs part. Derived from the batches, each of which carries its epoch; checkpointed to save the scan.
//!
//! Checkpoint: a [`Container`] with magic `HWLE`, payload: per entry epoch i32, start offset i64.

use alloc::vec::Vec;

use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::container::Container;
use crate::error::FileError;
use crate::ids::LeaderEpoch;
use crate::offset::Offset;

const CONTAINER: Container = Container { magic: *b"HWLE", version: 1 };
/// An entry: an epoch and the offset at which it begins.
const ENTRY_BYTES: usize = 12;

/// Leader epochs and their start offsets, both growing strictly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpochCache {
    entries: Vec<EpochStart>,
}

/// One leader epoch and the offset of its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Its first offset.
    pub start: Offset,
}

impl EpochCache {
    /// A cache without epochs.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochStart] {
        &self.entries
    }

    /// The newest epoch.
    #[must_use]
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// A leader epoch begins at `start`, or a batch of it was met there. An epoch that is already the newest keeps
    /// its start; the newest one is replaced if it holds no record.
    ///
    /// # Panics
    /// If the epoch is older than the newest, or starts before it: batches are checked before they are appended.
    pub fn assign(&mut self, epoch: LeaderEpoch, start: Offset) {
        if let Some(last) = self.entries.last().copied() {
            assert!(epoch >= last.epoch, "leader epoch {epoch} after {}", last.epoch);
            assert!(start >= last.start, "epoch {epoch} starts at {start} before {}", last.start);
            if epoch == last.epoch {
                return;
            }
            if start == last.start {
                self.entries.pop();
            }
        }
        self.entries.push(EpochStart { epoch, start });
    }

    /// The greatest epoch that is at most `epoch`, and the offset at which it ends in a log that ends at `log_end`.
    /// `None` if every known epoch is newer.
    #[must_use]
    pub fn end_offset_for(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<(LeaderEpoch, Offset)> {
        let after = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let found = self.entries.get(after.checked_sub(1)?)?;
        let end = self.entries.get(after).map_or(log_end, |next| next.start);
        Some((found.epoch, end))
    }

    /// The epoch of the record at `offset`, if the log reaches that far.
    #[must_use]
    pub fn epoch_of(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        self.entries.get(after.checked_sub(1)?).map(|entry| entry.epoch)
    }

    /// Everything from `end` on was cut: epochs that begin there are gone.
    pub fn truncate_to(&mut self, end: Offset) {
        let kept = self.entries.partition_point(|entry| entry.start < end);
        self.entries.truncate(kept);
    }

    /// Everything below `log_start` was deleted: the epoch that holds it now begins there, older ones are gone.
    pub fn raise_start_to(&mut self, log_start: Offset) {
        let gone = self.entries.partition_point(|entry| entry.start <= log_start).saturating_sub(1);
        self.entries.drain(..gone);
        if let Some(first) = self.entries.first_mut() {
            first.start = first.start.max(log_start);
        }
    }

    /// The checkpoint's bytes.
    #[must_use]
    pub fn encode(&self, crc: Crc32c) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.entries.len() * ENTRY_BYTES);
        for entry in &self.entries {
            payload.extend_from_slice(&entry.epoch.0.to_be_bytes());
            payload.extend_from_slice(&entry.start.0.to_be_bytes());
        }
        CONTAINER.seal(&payload, crc)
    }

    /// Reads a checkpoint's bytes.
    ///
    /// Errors: whatever is wrong with it; the cache then has to be derived from the batches.
    pub fn decode(file: &[u8], crc: Crc32c) -> Result<Self, FileError> {
        let (_, payload) = CONTAINER.open(file, crc)?;
        if payload.len() % ENTRY_BYTES != 0 {
            return Err(FileError::Length { have: file.len() });
        }
        let mut entries: Vec<EpochStart> = Vec::with_capacity(payload.len() / ENTRY_BYTES);
        for (number, entry) in payload.chunks_exact(ENTRY_BYTES).enumerate() {
            let mut entry = Reader::new(entry);
            let (epoch, start) = entry.i32().zip(entry.i64()).expect("an entry has twelve bytes");
            let (epoch, start) = (LeaderEpoch(epoch), Offset(start));
            let ordered = entries.last().is_none_or(|last| epoch > last.epoch && start > last.start);
            if !ordered || epoch.0 < 0 || start < Offset::ZERO {
                return Err(FileError::Entry { entry: number });
            }
            entries.push(EpochStart { epoch, start });
        }
        Ok(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CONTAINER_FIELDS, CRC, annotated, every_cut_and_flip_is_refused};
    use proptest::prelude::*;

    fn cache(entries: &[(i32, i64)]) -> EpochCache {
        let mut cache = EpochCache::new();
        entries.iter().for_each(|&(epoch, start)| cache.assign(LeaderEpoch(epoch), Offset(start)));
        cache
    }

    fn check(epoch: i32, expected: Option<(i32, i64)>) {
        let found = cache(&[(2, 10), (5, 20), (6, 30)]).end_offset_for(LeaderEpoch(epoch), Offset(40));
        assert_eq!(found, expected.map(|(epoch, end)| (LeaderEpoch(epoch), Offset(end))));
    }

    #[test]
    fn the_answer_is_the_largest_epoch_at_most_the_asked_and_its_own_end() {
        check(1, None);
        check(2, Some((2, 20)));
        check(4, Some((2, 20)));
        check(5, Some((5, 30)));
        check(6, Some((6, 40)));
        check(9, Some((6, 40)));
    }

    #[test]
    fn an_epoch_without_records_is_replaced() {
        assert_eq!(cache(&[(1, 0), (2, 7), (3, 7)]), cache(&[(1, 0), (3, 7)]));
    }

    #[test]
    fn deletion_keeps_the_epoch_that_holds_the_log_start() {
        let mut deleted = cache(&[(2, 10), (5, 20), (6, 30)]);
        deleted.raise_start_to(Offset(25));
        assert_eq!(deleted, cache(&[(5, 25), (6, 30)]));
        deleted.raise_start_to(Offset(30));
        assert_eq!(deleted, cache(&[(6, 30)]));
        deleted.raise_start_to(Offset(99));
        assert_eq!(deleted, cache(&[(6, 99)]));
    }

    #[test]
    #[should_panic(expected = "leader epoch 1 after 2")]
    fn epochs_never_go_back() {
        let _ = cache(&[(2, 0), (1, 5)]);
    }

    #[test]
    fn every_cut_and_flip_of_a_checkpoint_is_refused() {
        let file = cache(&[(2, 10), (5, 20)]).encode(CRC);
        every_cut_and_flip_is_refused(&file, |file| EpochCache::decode(file, CRC));
    }

    #[test]
    fn the_bytes_of_a_checkpoint_are_frozen() {
        let entries = [(4, "epoch"), (8, "start offset"), (4, "epoch"), (8, "start offset")];
        let fields = [&CONTAINER_FIELDS[..], &entries].concat();
        insta::assert_snapshot!(annotated(&cache(&[(2, 10), (5, 20)]).encode(CRC), &fields));
    }

    /// A log as the epoch of each record from offset 0 on.
    fn derived(log: &[i32], log_start: usize) -> EpochCache {
        let mut cache = EpochCache::new();
        for (offset, &epoch) in log.iter().enumerate().skip(log_start) {
            cache.assign(LeaderEpoch(epoch), Offset(offset as i64));
        }
        cache
    }

    proptest! {
        #[test]
        fn the_cache_is_what_the_records_say(
            steps in proptest::collection::vec((0..3_i32, 0..4_usize, 0..40_usize, 0..6_usize), 1..20),
        ) {
            let (mut cache, mut log, mut log_start) = (EpochCache::new(), std::vec![0_i32; 0], 0);
            for (bump, records, cut, delete) in steps {
                let epoch = log.last().copied().unwrap_or(0) + bump;
                for _ in 0..records {
                    cache.assign(LeaderEpoch(epoch), Offset(log.len() as i64));
                    log.push(epoch);
                }
                if cut < log.len() && cut > log_start {
                    log.truncate(cut);
                    cache.truncate_to(Offset(cut as i64));
                }
                if log_start + delete < log.len() {
                    log_start += delete;
                    cache.raise_start_to(Offset(log_start as i64));
                }
                prop_assert_eq!(&cache, &derived(&log, log_start));
                prop_assert_eq!(EpochCache::decode(&cache.encode(CRC), CRC), Ok(cache.clone()));
                for asked in 0..=epoch + 1 {
                    let at_most = log.iter().skip(log_start).copied().filter(|&epoch| epoch <= asked).max();
                    let end = log.iter().enumerate().rposition(|(at, &epoch)| at >= log_start && epoch <= asked);
                    let expected = at_most.zip(end).map(|(epoch, last)| (LeaderEpoch(epoch), Offset(last as i64 + 1)));
                    let found = cache.end_offset_for(LeaderEpoch(asked), Offset(log.len() as i64));
                    prop_assert_eq!(found, expected);
                }
                for (offset, &epoch) in log.iter().enumerate().skip(log_start) {
                    prop_assert_eq!(cache.epoch_of(Offset(offset as i64)), Some(LeaderEpoch(epoch)));
                }
            }
        }

        #[test]
        fn arbitrary_bytes_are_refused(payload: Vec<u8>) {
            prop_assert!(EpochCache::decode(&payload, CRC).is_err());
            if let Ok(cache) = EpochCache::decode(&CONTAINER.seal(&payload, CRC), CRC) {
                prop_assert_eq!(cache.encode(CRC), CONTAINER.seal(&payload, CRC));
            }
        }
    }
}
