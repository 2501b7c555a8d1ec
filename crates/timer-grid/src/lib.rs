//! Times at which a thread that has little to do wakes up anyway.
//!
//! Tokio keeps a timer that is more than 64 ms away with all others of the same 64 ms. When those begin it wakes up to sort them, finds
//! nothing due, and sleeps until the exact time. A broker in which nothing happens has a handful of such timers, and every one of them
//! wakes it twice. A timer that is due just where 64 ms begin goes off with the first of the two; and timers of one thread that were a few
//! milliseconds apart go off together.
//!
//! So a thread says once when its runtime began ([`adopt`]), and whoever sets a timer there that need not be exact asks for the next such
//! time ([`aligned`]). On every other thread times stay as they are. If the guess of the beginning is wrong by a millisecond, timers are
//! still at most 64 ms late, and nothing is lost but the saving.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// What tokio's timer wheel has in its first level.
const STEP: Duration = Duration::from_millis(64);

/// A timer sooner than this stays exact.
const FAR: Duration = Duration::from_millis(128);

/// Tokio rounds a deadline up to whole milliseconds since it began, and began up to one before it says so.
const TICK: Duration = Duration::from_millis(1);

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Has far timers of the present thread aligned. `built` is when its runtime had been built, as soon after that as possible.
pub fn adopt(built: Instant) {
    BEGAN.set(Some(built));
}

/// The first time of the thread's grid that is not before `at`: less than 64 ms later. `at` itself where it is soon, or the thread has no
/// grid.
#[must_use]
pub fn aligned(at: Instant) -> Instant {
    match BEGAN.get() {
        Some(began) if at >= Instant::now() + FAR => on_grid(began, at),
        _ => at,
    }
}

fn on_grid(began: Instant, at: Instant) -> Instant {
    let passed = at.saturating_duration_since(began) + TICK;
    let steps = passed.as_nanos().div_ceil(STEP.as_nanos());
    // Beyond a u32 of steps, eight years, times stay as they are.
    u32::try_from(steps).map_or(at, |steps| began + STEP * steps - TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_time_is_put_off_to_the_next_of_the_grid() {
        let began = Instant::now();
        for (at, aligned) in [(0, 63), (1, 63), (63, 63), (64, 127), (225, 255), (255, 255), (256, 319)] {
            let found = on_grid(began, began + Duration::from_millis(at));
            assert_eq!(found - began, Duration::from_millis(aligned), "{at} ms");
        }
    }

    #[test]
    fn nothing_is_put_off_that_is_soon_or_on_a_thread_without_a_grid() {
        let far = Instant::now() + Duration::from_secs(3600);
        assert_eq!(aligned(far), far);
        adopt(Instant::now());
        let soon = Instant::now() + Duration::from_millis(100);
        assert_eq!(aligned(soon), soon);
        let late = aligned(far) - far;
        assert!(late < STEP, "{late:?}");
        let elsewhere = std::thread::spawn(move || aligned(far)).join().unwrap();
        assert_eq!(elsewhere, far);
    }
}
