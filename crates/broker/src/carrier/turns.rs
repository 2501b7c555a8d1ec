//! How a client and its broker take turns (ADR 0020). A thread that sleeps is woken late where a processor with nothing to do is
//! halted, as in a virtual machine: that takes longer than a short request.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A client is quick that asks again this soon after its answer; so long it is then waited for without sleep. A client that
/// waits for each answer took 30 to 70 us in a virtual machine of two cores.
const QUICK: Duration = Duration::from_micros(100);

/// It has to be so this many times in a row: what is waited in vain is a sixteenth of that a request, at most.
const QUICK_TIMES: u32 = 16;

/// Longer requests and answers take longer than being woken does.
const SHORT_BYTES: usize = 4096;

/// The turns of one connection.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Requests in a row that came soon after the answer to the one before.
    quick: Cell<u32>,
    /// When all answers had been written, as long as no request has come since.
    answered: Cell<Option<Instant>>,
}

impl Turns {
    /// So many requests came at once, and so many bytes.
    pub(crate) fn requested(&self, now: Instant, requests: usize, bytes: usize) {
        let is_quick = self.answered.take().is_some_and(|at| now - at <= QUICK);
        let is_turn = requests == 1 && bytes <= SHORT_BYTES && is_quick;
        self.quick.set(if is_turn { self.quick.get().saturating_add(1) } else { 0 });
    }

    /// Everything was written that there was, so many bytes.
    pub(crate) fn answered(&self, now: Instant, bytes: usize) {
        self.answered.set((bytes <= SHORT_BYTES).then_some(now));
    }

    /// Keeps the thread awake for the next request of a quick client, until it comes or is late. Other tasks run meanwhile.
    pub(crate) async fn linger(&self) {
        while self.is_awaited(Instant::now()) {
            tokio::task::yield_now().await;
        }
    }

    fn is_awaited(&self, now: Instant) -> bool {
        self.quick.get() >= QUICK_TIMES && self.answered.get().is_some_and(|at| now - at < QUICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: usize = 100;

    /// A client that has been quick as often as it takes, and the time of its last answer.
    fn quick_client() -> (Turns, Instant) {
        let (turns, mut now) = (Turns::default(), Instant::now());
        turns.answered(now, SHORT);
        for _ in 0..QUICK_TIMES {
            assert!(!turns.is_awaited(now), "too early");
            now += QUICK;
            turn(&turns, now);
        }
        (turns, now)
    }

    fn turn(turns: &Turns, now: Instant) {
        turns.requested(now, 1, SHORT);
        turns.answered(now, SHORT);
    }

    #[test]
    fn who_asks_again_at_once_is_waited_for_until_late() {
        let (turns, now) = quick_client();
        assert!(turns.is_awaited(now));
        assert!(turns.is_awaited(now + QUICK / 2));
        assert!(!turns.is_awaited(now + QUICK));
    }

    #[test]
    fn the_wait_ends_with_the_request() {
        let (turns, now) = quick_client();
        turns.requested(now, 1, SHORT);
        assert!(!turns.is_awaited(now));
        turns.answered(now, SHORT);
        assert!(turns.is_awaited(now));
    }

    #[test]
    fn who_was_late_once_begins_anew() {
        let (turns, now) = quick_client();
        let now = now + QUICK * 2;
        turn(&turns, now);
        assert!(!turns.is_awaited(now));
    }

    #[test]
    fn who_sends_several_at_once_is_not_waited_for() {
        let (turns, now) = quick_client();
        turns.requested(now, 2, SHORT);
        turns.answered(now, SHORT);
        assert!(!turns.is_awaited(now));
    }

    #[test]
    fn long_messages_are_not_waited_for() {
        for (request, answer) in [(SHORT_BYTES + 1, SHORT), (SHORT, SHORT_BYTES + 1)] {
            let (turns, now) = quick_client();
            turns.requested(now, 1, request);
            turns.answered(now, answer);
            assert!(!turns.is_awaited(now), "{request} bytes answered with {answer}");
        }
    }
}
