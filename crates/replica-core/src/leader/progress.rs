//! What a leader knows of one follower: its registration, its stream, its ends, and how long they lag.

use core::time::Duration;

use log_core::{BrokerEpoch, MonoTime, Offset, Session};

use crate::stream::StreamId;

/// One follower as its leader sees it.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// The registration that the applied metadata names; ends of another one are unknown (L7).
    pub(crate) broker_epoch: BrokerEpoch,
    /// The newest session seen under that registration.
    pub(crate) session: Option<Session>,
    /// The stream of that session, until it is closed.
    pub(crate) stream: Option<FollowerStream>,
    /// The durable end acknowledged in that session; unknown holds the high watermark.
    pub(crate) durable: Option<Offset>,
    /// The appended end acknowledged in that session.
    pub(crate) appended: Offset,
    /// The log start confirmed in that session; 0, which holds the low watermark, until one is.
    pub(crate) log_start: Offset,
    /// It is in the ISR and showed an end below the high watermark (L7): unknown until its removal is applied, whatever
    /// it acknowledges.
    pub(crate) behind: bool,
    /// The durable end that it acknowledged in that session while it was behind. It is not said again where nothing is
    /// appended any more.
    pub(crate) withheld: Option<Offset>,
    /// Since when its durable end lags.
    pub(crate) lag: Lag,
}

/// A stream that a follower opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FollowerStream {
    pub(crate) id: StreamId,
    /// Where it stands in the log; `None` until the follower has said from where.
    pub(crate) cursor: Option<Cursor>,
}

/// A stream is a cursor in the log: the leader keeps no queue for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// The offset that the next batch to push begins at.
    pub(crate) next_offset: Offset,
    /// Bytes of batches pushed in this session.
    pub(crate) pushed_bytes: u64,
    /// Bytes of batches that the follower takes in this session.
    pub(crate) credit: u64,
    /// A push is ordered and not yet reported: the most bytes of batches that it may carry.
    pub(crate) pushing: Option<usize>,
    /// The high watermark that the last push carried.
    pub(crate) told_high_watermark: Option<Offset>,
    /// The log start that the last push carried.
    pub(crate) told_log_start: Option<Offset>,
}

/// How long a durable end has been behind the appended end of the leader (L5). Someone is caught up at the last
/// moment at which the appended end was one that it has reached since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    caught_up_at: MonoTime,
    lagging: bool,
    target: Offset,
    target_at: MonoTime,
}

impl Progress {
    pub(crate) const fn unknown(now: MonoTime, broker_epoch: BrokerEpoch, target: Offset) -> Self {
        Self {
            broker_epoch,
            session: None,
            stream: None,
            durable: None,
            appended: Offset::ZERO,
            log_start: Offset::ZERO,
            behind: false,
            withheld: None,
            lag: Lag::unknown(now, target),
        }
    }

    /// Its removal is applied: what it has acknowledged meanwhile counts.
    pub(crate) fn end_behind(&mut self, now: MonoTime, appended_end: Offset) {
        self.behind = false;
        if let Some(durable) = self.withheld.take() {
            self.durable = Some(durable);
            self.lag.on_durable(now, durable, appended_end);
        }
    }

    /// The cursor, once the follower has said from where.
    pub(crate) fn cursor_mut(&mut self) -> Option<&mut Cursor> {
        self.stream.as_mut()?.cursor.as_mut()
    }

    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.stream.as_ref()?.cursor.as_ref()
    }
}

impl Cursor {
    pub(crate) const fn at(next_offset: Offset, credit: u64) -> Self {
        let (told_high_watermark, told_log_start) = (None, None);
        Self { next_offset, pushed_bytes: 0, credit, pushing: None, told_high_watermark, told_log_start }
    }

    /// Bytes that the follower still takes.
    pub(crate) const fn credit_left(&self) -> u64 {
        self.credit.saturating_sub(self.pushed_bytes)
    }
}

impl Lag {
    /// Nothing is known of the end yet: it lags from now on.
    pub(crate) const fn unknown(now: MonoTime, target: Offset) -> Self {
        Self { caught_up_at: now, lagging: true, target, target_at: now }
    }

    /// The leader's appended end is now `end`.
    pub(crate) const fn on_appended(&mut self, now: MonoTime, end: Offset) {
        if !self.lagging {
            *self = Self::unknown(now, end);
        }
    }

    /// The durable end is now `durable`, the leader's appended end is `end`.
    pub(crate) fn on_durable(&mut self, now: MonoTime, durable: Offset, end: Offset) {
        if durable >= end {
            self.lagging = false;
        } else if durable >= self.target {
            self.lagging = true;
            (self.caught_up_at, self.target, self.target_at) = (self.target_at, end, now);
        }
    }

    /// When it has lagged for `lag_max`; `None` while it does not lag.
    pub(crate) fn deadline(&self, lag_max: Duration) -> Option<MonoTime> {
        self.lagging.then(|| self.caught_up_at.after(lag_max))
    }

    /// Whether it has lagged for `lag_max`.
    pub(crate) fn is_overdue(&self, now: MonoTime, lag_max: Duration) -> bool {
        self.deadline(lag_max).is_some_and(|deadline| now >= deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(10);

    const fn at(seconds: u64) -> MonoTime {
        MonoTime(seconds * 1_000_000_000)
    }

    #[test]
    fn an_end_that_follows_a_moving_log_does_not_lag() {
        let mut lag = Lag::unknown(at(0), Offset(0));
        for second in 0..60 {
            let end = i64::try_from(second).unwrap();
            lag.on_appended(at(second), Offset(end));
            lag.on_durable(at(second), Offset(end - 3), Offset(end));
            assert!(!lag.is_overdue(at(second), MAX), "at second {second}");
        }
    }

    #[test]
    fn an_end_that_stands_still_lags_from_its_last_catching_up() {
        let mut lag = Lag::unknown(at(0), Offset(5));
        lag.on_durable(at(1), Offset(5), Offset(5));
        assert_eq!(lag.deadline(MAX), None);
        lag.on_appended(at(100), Offset(6));
        lag.on_appended(at(105), Offset(7));
        assert_eq!(lag.deadline(MAX), Some(at(110)));
        assert!(lag.is_overdue(at(110), MAX));
    }
}
