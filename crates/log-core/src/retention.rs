//! Which segments a log may drop, as a pure answer. The leader alone asks; followers delete below the log start that
//! it pushes.
//!
//! Whatever the clock and the records say, nothing at or above the high watermark goes, nor the active segment.

use crate::limits::{RETENTION_MS_DEFAULT, TIMESTAMP_AFTER_MS_MAX_DEFAULT};
use crate::offset::Offset;
use crate::time::Timestamp;

/// How long, and how much of, a log is kept. `None` means without limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Milliseconds that records are kept (`retention.ms`).
    pub retention_ms: Option<i64>,
    /// Bytes of log that are kept (`retention.bytes`).
    pub retention_bytes: Option<u64>,
    /// How far ahead of the broker's clock a record's time may lie and still be believed, in milliseconds.
    pub ahead_ms_max: i64,
}

/// What is known of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentFacts {
    /// Its first offset.
    pub base_offset: Offset,
    /// The offset after its last batch.
    pub end_offset: Offset,
    /// Bytes of its batches.
    pub bytes: u64,
    /// Greatest timestamp of its records; [`Timestamp::NONE`] if unknown.
    pub max_timestamp: Timestamp,
    /// The broker's clock at its last append (of a recovered segment: its file's time). Used when the records' own
    /// time cannot be believed.
    pub last_append: Timestamp,
}

/// What is to be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// How many of the oldest segments.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The log start that follows; `None` if nothing is dropped.
    pub log_start: Option<Offset>,
}

/// The log around the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFacts {
    /// The present log start: segments that lie wholly below it are dropped in any case.
    pub log_start: Offset,
    /// Nothing at or above it is dropped.
    pub high_watermark: Offset,
    /// Bytes of the batches of all segments, the active one included.
    pub bytes: u64,
    /// The broker's clock.
    pub now: Timestamp,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            retention_ms: Some(RETENTION_MS_DEFAULT),
            retention_bytes: None,
            ahead_ms_max: TIMESTAMP_AFTER_MS_MAX_DEFAULT,
        }
    }
}

impl RetentionPolicy {
    /// Which of the oldest segments go, of `sealed`: all but the active one, in order. Facts are taken no further than up to
    /// the first segment that stays: to find them out may mean to read.
    #[must_use]
    pub fn retired(&self, sealed: impl IntoIterator<Item = SegmentFacts>, log: &LogFacts) -> Retired {
        let mut retired = Retired::default();
        for segment in sealed {
            let kept_bytes = log.bytes.saturating_sub(retired.bytes);
            let committed = segment.end_offset <= log.high_watermark;
            if !committed || !self.is_due(&segment, kept_bytes, log) {
                break;
            }
            retired.segments += 1;
            retired.bytes += segment.bytes;
            retired.log_start = Some(segment.end_offset.max(log.log_start));
        }
        retired
    }

    fn is_due(&self, segment: &SegmentFacts, kept_bytes: u64, log: &LogFacts) -> bool {
        let below_start = segment.end_offset <= log.log_start;
        let too_much =
            self.retention_bytes.is_some_and(|max| kept_bytes.saturating_sub(segment.bytes) >= max);
        below_start || too_much || self.is_too_old(segment, log.now)
    }

    fn is_too_old(&self, segment: &SegmentFacts, now: Timestamp) -> bool {
        let Some(retention_ms) = self.retention_ms else { return false };
        let latest = now.0.saturating_add(self.ahead_ms_max);
        let believable = |time: &Timestamp| (0..=latest).contains(&time.0);
        let time = [segment.max_timestamp, segment.last_append].into_iter().find(believable);
        time.is_some_and(|time| now.0.saturating_sub(time.0) > retention_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const POLICY: RetentionPolicy =
        RetentionPolicy { retention_ms: Some(100), retention_bytes: None, ahead_ms_max: 50 };

    /// Segments of ten offsets and 100 bytes with these greatest timestamps, the last one active.
    fn segments(times: &[i64]) -> Vec<SegmentFacts> {
        let facts = |(index, &time): (usize, &i64)| SegmentFacts {
            base_offset: Offset(index as i64 * 10),
            end_offset: Offset(index as i64 * 10 + 10),
            bytes: 100,
            max_timestamp: Timestamp(time),
            last_append: Timestamp(900),
        };
        times.iter().enumerate().map(facts).collect()
    }

    fn facts_of(segments: &[SegmentFacts], log_start: i64, high_watermark: i64, now: i64) -> LogFacts {
        LogFacts {
            log_start: Offset(log_start),
            high_watermark: Offset(high_watermark),
            bytes: segments.iter().map(|segment| segment.bytes).sum(),
            now: Timestamp(now),
        }
    }

    fn sealed(segments: &[SegmentFacts]) -> &[SegmentFacts] {
        segments.split_last().map_or(&[], |(_active, sealed)| sealed)
    }

    fn check(policy: RetentionPolicy, times: &[i64], high_watermark: i64, expected: usize) {
        let segments = segments(times);
        let log = facts_of(&segments, 0, high_watermark, 1000);
        let asked = core::cell::Cell::new(0);
        let sealed = sealed(&segments).iter().copied().inspect(|_| asked.set(asked.get() + 1));
        let retired = policy.retired(sealed, &log);
        assert!(asked.get() <= expected + 1, "{} segments were looked at", asked.get());
        assert_eq!(retired.segments, expected);
        let start = (expected > 0).then_some(Offset(expected as i64 * 10));
        assert_eq!(retired.log_start, start);
    }

    #[test]
    fn old_segments_go_up_to_the_first_young_one() {
        check(POLICY, &[800, 899, 900, 10, 0], 50, 2);
    }

    #[test]
    fn the_active_segment_stays() {
        check(POLICY, &[0], 10, 0);
        check(POLICY, &[], 0, 0);
    }

    #[test]
    fn nothing_at_or_above_the_high_watermark_goes() {
        check(POLICY, &[0, 0, 0, 0], 19, 1);
        check(POLICY, &[0, 0, 0, 0], 0, 0);
    }

    #[test]
    fn a_time_from_the_future_is_not_believed() {
        let late = RetentionPolicy { retention_ms: Some(99), ..POLICY };
        check(late, &[1051, i64::MAX, -1, 0], 40, 3);
        check(POLICY, &[1051, 0, 0], 30, 0);
        check(late, &[1050, 0, 0], 30, 0);
    }

    #[test]
    fn size_keeps_at_least_what_was_asked() {
        let policy = |bytes| RetentionPolicy { retention_ms: None, retention_bytes: Some(bytes), ..POLICY };
        check(policy(250), &[0; 4], 40, 1);
        check(policy(200), &[0; 4], 40, 2);
        check(policy(0), &[0; 4], 40, 3);
        check(policy(500), &[0; 4], 40, 0);
    }

    #[test]
    fn what_lies_below_the_log_start_goes_at_once() {
        let keep = RetentionPolicy { retention_ms: None, ..POLICY };
        let segments = segments(&[0; 4]);
        let log = facts_of(&segments, 25, 40, 0);
        let retired = keep.retired(sealed(&segments).iter().copied(), &log);
        assert_eq!((retired.segments, retired.log_start), (2, Some(Offset(25))));
    }

    proptest! {
        #[test]
        fn whatever_the_clock_says_only_committed_sealed_segments_go(
            times in proptest::collection::vec(any::<i64>(), 0..8),
            now: i64, high_watermark in 0..100_i64, retention_ms in proptest::option::of(any::<i64>()),
            retention_bytes in proptest::option::of(any::<u64>()), ahead_ms_max: i64,
        ) {
            let policy = RetentionPolicy { retention_ms, retention_bytes, ahead_ms_max };
            let segments = segments(&times);
            let log = facts_of(&segments, 0, high_watermark, now);
            let retired = policy.retired(sealed(&segments).iter().copied(), &log);
            prop_assert!(retired.segments == 0 || retired.segments < segments.len());
            prop_assert!(retired.log_start.is_none_or(|start| start <= log.high_watermark));
        }
    }
}
