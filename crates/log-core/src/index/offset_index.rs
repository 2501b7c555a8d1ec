//! Offset to position in a segment, an entry about every 4 KiB.
//!
//! ```text
//! entry: relative offset u32 | position u32        relative to the base offset, growing strictly
//! ```
//!
//! An entry names the *last* offset of the batch at its position, as Kafka's do. The file holds nothing but entries;
//! its checksum is one of the segment's [`IndexChecksums`](super::IndexChecksums). A file that does not fit is rebuilt.

use alloc::vec::Vec;

use super::checksums;
use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::error::FileError;
use crate::offset::Offset;

/// An entry: the last offset relative to the base, and a position.
const ENTRY_BYTES: usize = 8;
const DOMAIN: &[u8] = b"offset-index/v1";

/// One entry: the batch at `position` ends with `last_offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetIndexEntry {
    /// Offset of the last record in the batch.
    pub last_offset: Offset,
    /// Where the batch starts in the segment, in bytes.
    pub position: u32,
}

/// The offset index of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetIndex {
    base_offset: Offset,
    entries: Vec<(u32, u32)>,
}

impl OffsetIndex {
    /// An empty index of the segment with this base offset.
    #[must_use]
    pub const fn new(base_offset: Offset) -> Self {
        Self { base_offset, entries: Vec::new() }
    }

    /// Base offset of the segment.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        self.base_offset
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

    /// The last entry.
    #[must_use]
    pub fn last(&self) -> Option<OffsetIndexEntry> {
        self.entries.last().map(|&entry| self.entry(entry))
    }

    /// Adds an entry. One that does not lie behind the last, or not in the range of 32 bits, is left out: the index
    /// is sparse anyway.
    pub fn push(&mut self, entry: OffsetIndexEntry) {
        let Ok(relative) = u32::try_from(entry.last_offset.0.saturating_sub(self.base_offset.0)) else {
            return;
        };
        let (last_relative, last_position) = self.entries.last().copied().unwrap_or((0, 0));
        if relative > last_relative && entry.position > last_position {
            self.entries.push((relative, entry.position));
        }
    }

    /// A position in bytes from which a forward scan meets the batch that holds `offset`: that of the greatest entry
    /// at most `offset`, or the start of the segment.
    #[must_use]
    pub fn position_for(&self, offset: Offset) -> u32 {
        let relative = offset.0.saturating_sub(self.base_offset.0);
        let after = self.entries.partition_point(|&(entry, _)| i64::from(entry) <= relative);
        after.checked_sub(1).and_then(|index| self.entries.get(index)).map_or(0, |&(_, position)| position)
    }

    /// A position from which a range check may end: that of the first entry above `position`, if there is one.
    #[must_use]
    pub fn position_after(&self, position: u32) -> Option<u32> {
        let after = self.entries.partition_point(|&(_, entry)| entry <= position);
        self.entries.get(after).map(|&(_, position)| position)
    }

    /// The greatest position in bytes of an entry that is at most `position`, or the start of the segment.
    #[must_use]
    pub fn position_at_most(&self, position: u32) -> u32 {
        let after = self.entries.partition_point(|&(_, entry)| entry <= position);
        after.checked_sub(1).and_then(|index| self.entries.get(index)).map_or(0, |&(_, position)| position)
    }

    /// Drops the entries of batches that are cut: those with a last offset at or above `end`.
    pub fn truncate_to(&mut self, end: Offset) {
        let relative = end.0.saturating_sub(self.base_offset.0);
        let kept = self.entries.partition_point(|&(entry, _)| i64::from(entry) < relative);
        self.entries.truncate(kept);
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.entries.len() * ENTRY_BYTES);
        for (relative, position) in &self.entries {
            file.extend_from_slice(&relative.to_be_bytes());
            file.extend_from_slice(&position.to_be_bytes());
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
            let (relative, position) = entry.u32().zip(entry.u32()).expect("an entry has eight bytes");
            let last_offset = base_offset.plus(i64::from(relative));
            index.push(OffsetIndexEntry { last_offset, position });
            if index.len() != number + 1 {
                return Err(FileError::Entry { entry: number });
            }
        }
        Ok(index)
    }

    fn entry(&self, (relative, position): (u32, u32)) -> OffsetIndexEntry {
        OffsetIndexEntry { last_offset: self.base_offset.plus(i64::from(relative)), position }
    }
}
