//! Segments: their names, when one is rolled, how one is scanned and what lies behind the last good batch.

mod name;
mod roll;
mod scan;
mod tail;
#[cfg(test)]
mod tests;

pub use name::{NameError, SegmentFile, SegmentKind};
pub use roll::{ActiveSegment, Incoming, RollPolicy, RollReason};
pub use scan::{Refused, ScanStart, ScanStep, ScannedBatch, Scanner};
pub use tail::{BoundFacts, TailFacts, TailScan, TailVerdict, tail_verdict};
