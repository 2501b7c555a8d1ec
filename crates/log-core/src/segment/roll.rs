//! When the active segment is closed and a new one begun.

use crate::limits::{SEGMENT_BYTES_DEFAULT, SEGMENT_BYTES_HARD_MAX, SEGMENT_MS_DEFAULT, SEGMENT_OFFSETS_MAX};
use crate::offset::Offset;
use crate::time::Timestamp;

/// The limits of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollPolicy {
    /// Length in bytes that no segment exceeds, but for one with a single batch.
    pub segment_bytes: u64,
    /// Age in milliseconds.
    pub segment_ms: i64,
}

/// What is known of the active segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveSegment {
    /// Its base offset.
    pub base_offset: Offset,
    /// Bytes of the batches in it.
    pub bytes: u64,
    /// The broker's clock when its first batch was appended; [`Timestamp::NONE`] while it is empty.
    pub first_append: Timestamp,
}

/// The batch that is about to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its length in bytes.
    pub bytes: u64,
    /// The offset that its last record will have.
    pub last_offset: Offset,
}

/// Why a segment is rolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollReason {
    /// It would grow beyond its length.
    Bytes,
    /// It is too old.
    Age,
    /// The offsets would no longer fit the indexes.
    Offsets,
}

impl Default for RollPolicy {
    fn default() -> Self {
        Self { segment_bytes: SEGMENT_BYTES_DEFAULT, segment_ms: SEGMENT_MS_DEFAULT }
    }
}

impl RollPolicy {
    /// Whether the segment must be rolled before `incoming` is appended, and why. Never an empty one.
    #[must_use]
    pub fn before_append(
        &self,
        active: &ActiveSegment,
        incoming: &Incoming,
        now: Timestamp,
    ) -> Option<RollReason> {
        if active.bytes == 0 {
            return None;
        }
        let bytes_max = self.segment_bytes.min(SEGMENT_BYTES_HARD_MAX);
        if active.bytes.saturating_add(incoming.bytes) > bytes_max {
            return Some(RollReason::Bytes);
        }
        if incoming.last_offset.0.saturating_sub(active.base_offset.0) > SEGMENT_OFFSETS_MAX {
            return Some(RollReason::Offsets);
        }
        self.is_old(active, now).then_some(RollReason::Age)
    }

    /// Whether the segment is to be rolled for its age although nothing is appended, so that the records of a
    /// quiet partition can be retired.
    #[must_use]
    pub fn is_old(&self, active: &ActiveSegment, now: Timestamp) -> bool {
        let age = now.0.saturating_sub(active.first_append.0);
        active.bytes > 0 && active.first_append != Timestamp::NONE && age >= self.segment_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RollPolicy = RollPolicy { segment_bytes: 1000, segment_ms: 100 };

    fn check(bytes: u64, last_offset: i64, now: i64, expected: Option<RollReason>) {
        let active = ActiveSegment { base_offset: Offset(10), bytes, first_append: Timestamp(50) };
        let incoming = Incoming { bytes: 200, last_offset: Offset(last_offset) };
        assert_eq!(POLICY.before_append(&active, &incoming, Timestamp(now)), expected);
    }

    #[test]
    fn rolls_by_size() {
        check(800, 20, 60, None);
        check(801, 20, 60, Some(RollReason::Bytes));
    }

    #[test]
    fn rolls_by_age_of_its_first_append() {
        check(1, 20, 149, None);
        check(1, 20, 150, Some(RollReason::Age));
        check(1, 20, i64::MIN, None);
    }

    #[test]
    fn rolls_before_offsets_leave_the_index() {
        check(1, 10 + SEGMENT_OFFSETS_MAX, 60, None);
        check(1, 11 + SEGMENT_OFFSETS_MAX, 60, Some(RollReason::Offsets));
    }

    #[test]
    fn an_empty_segment_is_never_rolled() {
        check(0, i64::MAX, i64::MAX, None);
    }
}
