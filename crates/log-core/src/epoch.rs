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
