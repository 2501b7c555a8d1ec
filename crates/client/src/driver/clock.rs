//! The clocks that the brain is told, and the seed of its randomness.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use log_core::{MonoTime, Now, Timestamp};
use tokio::time::Instant;

/// Reads both clocks; monotonic time counts from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { base: Instant::now() }
    }

    pub(crate) fn now(self) -> Now {
        Now { mono: self.mono(), wall: wall_of(wall_nanos()) }
    }

    pub(crate) fn mono(self) -> MonoTime {
        MonoTime(0).after(self.base.elapsed())
    }

    /// The runtime's time of a moment that the brain has named; far in the future if it is out of range.
    pub(crate) fn instant(self, at: MonoTime) -> Instant {
        /// Stands in for a time that a clock of the system cannot tell.
        const FAR: Duration = Duration::from_secs(24 * 60 * 60);
        let after = at.since(MonoTime(0));
        self.base.checked_add(after).unwrap_or_else(|| Instant::now() + FAR)
    }
}

/// Reading a clock is a tenth of what a small record costs to produce, so both times of a record come from one reading: the wall
/// clock is known by how far it is ahead of the other one. See [`AHEAD_AGE_MAX`] for a clock that is set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    nanos: u64,
    measured: Option<MonoTime>,
}

/// How late a wall clock that was set may be noticed by records.
const AHEAD_AGE_MAX: Duration = Duration::from_millis(20);

impl Ahead {
    /// Both times at `mono`, which was just read.
    pub(crate) fn at(&mut self, mono: MonoTime) -> Now {
        if self.measured.is_none_or(|measured| mono.since(measured) >= AHEAD_AGE_MAX) {
            *self = Self { nanos: wall_nanos().saturating_sub(mono.0), measured: Some(mono) };
        }
        Now { mono, wall: wall_of(self.nanos.saturating_add(mono.0)) }
    }
}

/// Since 1970, until the year 2554.
fn wall_nanos() -> u64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX)
}

fn wall_of(nanos: u64) -> Timestamp {
    Timestamp(i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX))
}

/// A seed that differs between processes and calls: the standard library keys its hasher from the system's randomness.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_times_of_a_record_come_from_one_reading_until_it_is_old() {
        let mut ahead = Ahead::default();
        let start = MonoTime(5_000_000);
        let first = ahead.at(start).wall.0;
        assert_eq!(ahead.at(start.after(Duration::from_millis(19))).wall.0 - first, 19);
        // The wall clock has hardly moved meanwhile, the other one is said to be far: it is read again.
        let later = ahead.at(start.after(Duration::from_secs(3600))).wall.0;
        assert!(later - first < 3_600_000, "{}", later - first);
    }
}
