//! Timers that wake an idle broker less often.
//!
//! A connection has one timer, for the soonest of its deadlines: after each packet sent the one at which the packet counts as lost, in
//! some 27 ms, and once it is acknowledged the one at which the connection counts as dead, in seconds. Tokio leaves a timer that is put off
//! where it is and lets it go off in vain. That costs less than moving it where packets follow each other closely, but a broker that only
//! sends heartbeats is woken once more for each of them. So on the thread that has little to do, Control's, timers are moved.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quinn::AsyncTimer;
use tokio::time::Sleep;

/// A timer that is put off by less stays where it is.
const MOVED_MIN: Duration = Duration::from_millis(100);

pub(crate) struct Moved {
    sleep: Pin<Box<Sleep>>,
    /// Where tokio has it: no later than its deadline.
    placed: Instant,
}

impl Moved {
    pub(crate) fn at(at: Instant) -> Self {
        let at = timer_grid::aligned(at);
        Self { sleep: Box::pin(tokio::time::sleep_until(at.into())), placed: at }
    }
}

impl fmt::Debug for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moved").field("deadline", &self.sleep.deadline()).finish_non_exhaustive()
    }
}

impl AsyncTimer for Moved {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        let at = timer_grid::aligned(at);
        if at > self.placed + MOVED_MIN {
            self.sleep.set(tokio::time::sleep_until(at.into()));
            self.placed = at;
        } else {
            self.placed = self.placed.min(at);
            self.sleep.as_mut().reset(at.into());
        }
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(self.sleep.as_mut(), cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_timer_has_the_deadline_that_it_was_last_given_and_goes_off() {
        let now = tokio::time::Instant::now().into_std();
        let at = |ms| now + Duration::from_millis(ms);
        for (first, then) in [(27, 5_000), (5_000, 27), (27, 60), (27, 127), (1_000, 1_000)] {
            let mut timer = Box::pin(Moved::at(at(first)));
            timer.as_mut().reset(at(then));
            assert_eq!(timer.sleep.deadline().into_std(), at(then), "{first} ms, then {then} ms");
            assert!(timer.placed <= at(then));
            timer.as_mut().reset(now);
            std::future::poll_fn(|cx| AsyncTimer::poll(timer.as_mut(), cx)).await;
        }
    }
}
