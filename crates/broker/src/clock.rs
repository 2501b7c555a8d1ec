//! The only place where the broker reads the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use log_core::{MonoTime, Now, Timestamp};

/// Both clocks of this process; cheap to copy. Copies of one clock agree on the monotonic start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts monotonic time at this moment.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Both times now.
    pub(crate) fn now(self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Now { mono: self.mono(), wall: Timestamp(i64::try_from(wall).unwrap_or(i64::MAX)) }
    }

    fn mono(self) -> MonoTime {
        MonoTime(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// When `time` comes, for a timer of the runtime.
    pub(crate) fn instant(self, time: MonoTime) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.start + Duration::from_nanos(time.0))
    }
}
