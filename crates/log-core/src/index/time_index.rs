//! Timestamp to offset in a segment, an entry about every 4 KiB.
//!
//! ```text
//! entry: timestamp i64 | relative offset u32    both growing strictly
//! ```
//!
//! An entry says: the greatest timestamp up to and in the batch that ends with this offset, which is the first batch
//! to reach it. The file holds nothing but entries; its checksum is one of the segment's
//! [`IndexChecksums`](super::IndexChecksums). A file that does not fit is rebuilt.

use alloc::vec::Vec;

use super::checksums;
use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::error::FileError;
use crate::offset::Offset;
use crate::time::Timestamp;

/// An entry: a timestamp and an offset relative to the base.
const ENTRY_BYTES: usize = 12;
const DOMAIN: &[u8] = b"time-index/v1";

/// One entry: no record up to `last_offset` is later than `timestamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeIndexEntry {
    /// The greatest timestamp so far.
    pub timestamp: Timestamp,
    /// Last offset of the first batch that reached it.
    pub last_offset: Offset,
}

/// The time index of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeIndex {
    base_offset: Offset,
    entries: Vec<(i64, u32)>,
}

impl TimeIndex {
    /// An empty index of the segment with this base offset.
    #[must_use]
    pub const fn new(base_offset: Offset) -> Self {
        Self { base_offset, entries: Vec::new() }
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The last entry: the segment's greatest timestamp, as far as it is indexed.
    #[must_use]
    pub fn last(&self) -> Option<TimeIndexEntry> {
        self.entries.last().map(|&entry| self.entry(entry))
    }

    /// Adds an entry. One that is not later than the last, or not in the range of 32 bits, is left out.
    pub fn push(&mut self, entry: TimeIndexEntry) {
        let Ok(relative) = u32::try_from(entry.last_offset.0.saturating_sub(self.base_offset.0)) else {
            return;
        };
        let fits = match self.entries.last() {
            None => entry.timestamp > Timestamp::NONE,
            Some(&(timestamp, last)) => entry.timestamp.0 > timestamp && relative > last,
        };
        if fits {
            self.entries.push((entry.timestamp.0, relative));
        }
    }

    /// The offset from which a forward scan meets the first record that is not earlier than `timestamp`: that of the
    /// greatest entry at most `timestamp`, or the segment's base offset. It may lie inside a batch; the scan begins
    /// with that whole batch.
    #[must_use]
    pub fn offset_for(&self, timestamp: Timestamp) -> Offset {
        let after = self.entries.partition_point(|&(entry, _)| entry <= timestamp.0);
        let entry = after.checked_sub(1).and_then(|index| self.entries.get(index));
        entry.map_or(self.base_offset, |&(_, relative)| self.base_offset.plus(i64::from(relative)))
    }

    /// Drops the entries of batches that are cut: those with a last offset at or above `end`.
    pub fn truncate_to(&mut self, end: Offset) {
        let relative = end.0.saturating_sub(self.base_offset.0);
        let kept = self.entries.partition_point(|&(_, entry)| i64::from(entry) < relative);
        self.entries.truncate(kept);
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.entries.len() * ENTRY_BYTES);
        for (timestamp, relative) in &self.entries {
            file.extend_from_slice(&timestamp.to_be_bytes());
            file.extend_from_slice(&relative.to_be_bytes());
        }
        file
    }

    /// What the file's bytes hash to.
    #[must_use]
    pub fn checksum(&self, crc: Crc32c) -> u32 {
        checksums::checksum(DOMAIN, self.base_offset, &self.encode(), crc)
    }

    /// Reads a file's bytes, which belong to the segment with this base offset and hash to `checksum`.
    ///
    /// Errors: whatever is wrong with it; the index then has to be rebuilt.
    pub fn decode(base_offset: Offset, file: &[u8], checksum: u32, crc: Crc32c) -> Result<Self, FileError> {
        checksums::check(DOMAIN, base_offset, file, checksum, crc)?;
        let (entries, rest) = file.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(FileError::Length { have: file.len() });
        }
        let mut index = Self::new(base_offset);
        for (number, entry) in entries.iter().enumerate() {
            let mut entry = Reader::new(entry);
            let (timestamp, relative) = entry.i64().zip(entry.u32()).expect("an entry has twelve bytes");
            let last_offset = base_offset.plus(i64::from(relative));
            index.push(TimeIndexEntry { timestamp: Timestamp(timestamp), last_offset });
            if index.len() != number + 1 {
                return Err(FileError::Entry { entry: number });
            }
        }
        Ok(index)
    }

    fn entry(&self, (timestamp, relative): (i64, u32)) -> TimeIndexEntry {
        let last_offset = self.base_offset.plus(i64::from(relative));
        TimeIndexEntry { timestamp: Timestamp(timestamp), last_offset }
    }
}
