//! Both indexes of a segment, fed with its batches in order: at append, and again when they are rebuilt.

use super::offset_index::{OffsetIndex, OffsetIndexEntry};
use super::time_index::{TimeIndex, TimeIndexEntry};
use crate::batch::BatchHeader;
use crate::limits::INDEX_INTERVAL_BYTES;
use crate::offset::Offset;
use crate::time::Timestamp;

/// The indexes of one segment while it grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentIndexes {
    /// Offset to position.
    pub offsets: OffsetIndex,
    /// Timestamp to offset.
    pub times: TimeIndex,
    bytes_since_entry: u64,
    max: TimeIndexEntry,
}

impl SegmentIndexes {
    /// The indexes of an empty segment.
    #[must_use]
    pub const fn new(base_offset: Offset) -> Self {
        Self::resume(OffsetIndex::new(base_offset), TimeIndex::new(base_offset), base_offset)
    }

    /// Goes on with indexes read from disk, or cut. Until the next entry the interval counts from here. Batches behind
    /// the last entry have to be fed again, or the greatest timestamp may be too small.
    #[must_use]
    pub const fn resume(offsets: OffsetIndex, times: TimeIndex, base_offset: Offset) -> Self {
        let max = TimeIndexEntry { timestamp: Timestamp::NONE, last_offset: base_offset };
        Self { offsets, times, bytes_since_entry: 0, max }
    }

    /// The batch with this header was appended at `position` of the segment, in bytes.
    pub fn on_batch(&mut self, header: &BatchHeader, position: u32) {
        let last_offset = header.last_offset();
        if header.max_timestamp > self.max_timestamp() {
            self.max = TimeIndexEntry { timestamp: header.max_timestamp, last_offset };
        }
        if self.bytes_since_entry > INDEX_INTERVAL_BYTES {
            self.offsets.push(OffsetIndexEntry { last_offset, position });
            self.times.push(self.max);
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += header.batch_bytes as u64;
    }

    /// Adds the last entry of a segment that is closed: its greatest timestamp.
    pub fn seal(&mut self) {
        self.times.push(self.max);
    }

    /// The greatest timestamp of all batches seen; [`Timestamp::NONE`] if there was none.
    #[must_use]
    pub fn max_timestamp(&self) -> Timestamp {
        let indexed = self.times.last().map_or(Timestamp::NONE, |entry| entry.timestamp);
        indexed.max(self.max.timestamp)
    }

    /// Everything from `end` on was cut. The greatest timestamp falls back to the last one indexed, and so may be
    /// too small until the segment is scanned again.
    pub fn truncate_to(&mut self, end: Offset) {
        self.offsets.truncate_to(end);
        self.times.truncate_to(end);
        self.bytes_since_entry = 0;
        if self.max.last_offset >= end {
            self.max = TimeIndexEntry { timestamp: Timestamp::NONE, last_offset: self.offsets.base_offset() };
        }
    }
}
