//! Offsets, and the law between the four that bound a log.

use core::fmt;

use crate::mutation::{Mutation, on};

/// A position in a partition's log. As a boundary it is exclusive: the offset *after* the last record meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Offset(pub i64);

impl Offset {
    /// The first offset of every log.
    pub const ZERO: Self = Self(0);

    /// This offset moved on by `records`; the greatest offset if that lies beyond it.
    #[must_use]
    pub const fn plus(self, records: i64) -> Self {
        Self(self.0.saturating_add(records))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The boundaries of one replica's log, with the law between them:
/// log start <= last stable <= high watermark <= log end, and durable end <= log end.
///
/// Every move asserts the law: a broken one is a bug of the caller, and serving on would lose or expose records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOffsets {
    log_start: Offset,
    first_unstable: Option<Offset>,
    high_watermark: Offset,
    log_end: Offset,
    durable_end: Offset,
}

impl LogOffsets {
    /// A log that holds nothing and begins at `start`.
    #[must_use]
    pub const fn empty_at(start: Offset) -> Self {
        Self {
            log_start: start,
            first_unstable: None,
            high_watermark: start,
            log_end: start,
            durable_end: start,
        }
    }

    /// A log as recovered from disk; everything in it is durable.
    ///
    /// # Panics
    /// If the law does not hold: the caller judges what it read from disk before.
    #[must_use]
    pub fn recovered(log_start: Offset, high_watermark: Offset, log_end: Offset) -> Self {
        let offsets = Self { log_start, first_unstable: None, high_watermark, log_end, durable_end: log_end };
        offsets.assert_law();
        offsets
    }

    /// The first offset kept.
    #[must_use]
    pub const fn log_start(&self) -> Offset {
        self.log_start
    }

    /// Records below it belong to no open transaction.
    #[must_use]
    pub fn last_stable(&self) -> Offset {
        self.first_unstable.map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }

    /// Records below it are committed.
    #[must_use]
    pub const fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// The offset of the next record: the appended end.
    #[must_use]
    pub const fn log_end(&self) -> Offset {
        self.log_end
    }

    /// Everything below it is fsynced.
    #[must_use]
    pub const fn durable_end(&self) -> Offset {
        self.durable_end
    }

    /// Batches up to `end` were appended.
    ///
    /// # Panics
    /// If `end` lies below the log end.
    pub fn append_to(&mut self, end: Offset) {
        assert!(end >= self.log_end, "append to {end} below the log end {}", self.log_end);
        self.log_end = end;
        self.assert_law();
    }

    /// A sync made everything below `end` durable. An older sync that completes late changes nothing.
    ///
    /// # Panics
    /// If `end` lies above the log end.
    pub fn raise_durable_end(&mut self, end: Offset) {
        self.durable_end = self.durable_end.max(end);
        self.assert_law();
    }

    /// The high watermark moved to `offset`.
    ///
    /// # Panics
    /// If it would go back or above the log end.
    pub fn raise_high_watermark(&mut self, offset: Offset) {
        let before = self.high_watermark;
        assert!(offset >= before, "high watermark would go back from {before} to {offset}");
        self.high_watermark = offset;
        self.assert_law();
    }

    /// The first offset of the oldest open transaction, or none.
    ///
    /// # Panics
    /// If it lies below the log start.
    pub fn set_first_unstable(&mut self, first: Option<Offset>) {
        self.first_unstable = first;
        self.assert_law();
    }

    /// Records below `offset` were deleted. A lower offset than before changes nothing.
    ///
    /// # Panics
    /// If it lies above the last stable offset.
    pub fn raise_log_start(&mut self, offset: Offset) {
        self.log_start = self.log_start.max(offset);
        self.assert_law();
    }

    /// Everything from `end` on was cut. An end above the log end changes nothing.
    ///
    /// # Panics
    /// If committed records would be cut.
    pub fn cut_to(&mut self, end: Offset) {
        self.log_end = self.log_end.min(end);
        self.durable_end = self.durable_end.min(end);
        self.first_unstable = self.first_unstable.filter(|first| *first < end);
        self.assert_law();
    }

    fn assert_law(&self) {
        if on(Mutation::Unasserted) {
            return;
        }
        let (start, stable, high, end) =
            (self.log_start, self.last_stable(), self.high_watermark, self.log_end);
        assert!(start <= stable, "log start {start} above last stable offset {stable}");
        assert!(stable <= high, "last stable offset {stable} above high watermark {high}");
        assert!(high <= end, "high watermark {high} above log end {end}");
        assert!(self.durable_end <= end, "durable end {} above log end {end}", self.durable_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> LogOffsets {
        let mut log = LogOffsets::empty_at(Offset(10));
        log.append_to(Offset(30));
        log.raise_durable_end(Offset(20));
        log.raise_high_watermark(Offset(15));
        log
    }

    #[test]
    fn last_stable_follows_the_high_watermark_but_stops_at_an_open_transaction() {
        let mut log = log();
        assert_eq!(log.last_stable(), Offset(15));
        log.set_first_unstable(Some(Offset(12)));
        assert_eq!(log.last_stable(), Offset(12));
        log.set_first_unstable(Some(Offset(25)));
        assert_eq!(log.last_stable(), Offset(15));
    }

    #[test]
    fn a_cut_takes_the_durable_end_with_it() {
        let mut log = log();
        log.cut_to(Offset(18));
        assert_eq!((log.durable_end(), log.log_end()), (Offset(18), Offset(18)));
    }

    #[test]
    fn a_late_sync_does_not_lower_the_durable_end() {
        let mut log = log();
        log.raise_durable_end(Offset(11));
        assert_eq!(log.durable_end(), Offset(20));
    }

    #[test]
    #[should_panic(expected = "high watermark 15 above log end 14")]
    fn committed_records_are_never_cut() {
        log().cut_to(Offset(14));
    }

    #[test]
    #[should_panic(expected = "high watermark would go back from 15 to 14")]
    fn the_high_watermark_never_goes_back() {
        log().raise_high_watermark(Offset(14));
    }

    #[test]
    #[should_panic(expected = "log start 16 above last stable offset 15")]
    fn nothing_above_the_high_watermark_is_deleted() {
        log().raise_log_start(Offset(16));
    }

    #[test]
    #[should_panic(expected = "durable end 31 above log end 30")]
    fn nothing_is_durable_before_it_is_appended() {
        log().raise_durable_end(Offset(31));
    }
}
