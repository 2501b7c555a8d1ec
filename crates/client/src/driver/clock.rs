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
        let mono = MonoTime(0).after(self.base.elapsed());
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Now { mono, wall: Timestamp(i64::try_from(wall).unwrap_or(i64::MAX)) }
    }

    /// The runtime's time of a moment that the brain has named; far in the future if it is out of range.
    pub(crate) fn instant(self, at: MonoTime) -> Instant {
        const FAR: Duration = Duration::from_secs(24 * 60 * 60);
        let after = at.since(MonoTime(0));
        self.base.checked_add(after).unwrap_or_else(|| Instant::now() + FAR)
    }
}

/// A seed that differs between processes and calls: the standard library keys its hasher from the system's randomness.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
