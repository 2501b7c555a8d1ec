//! The two sparse indexes of a segment: offset to position, timestamp to offset. Both are rebuildable from the
//! segment; both files are read by Kafka's tools, so that their checksums stand in a third.

mod builder;
mod checksums;
mod offset_index;
#[cfg(test)]
mod tests;
mod time_index;

pub use builder::SegmentIndexes;
pub use checksums::IndexChecksums;
pub use offset_index::{OffsetIndex, OffsetIndexEntry};
pub use time_index::{TimeIndex, TimeIndexEntry};
