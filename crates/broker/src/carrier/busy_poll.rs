//! Whether a connection keeps its thread awake for the next request of its client (ADR 0020). A thread that sleeps is woken late
//! where a processor with nothing to do is halted, as in a virtual machine: that takes longer than a short request.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A client is quick that asks again this soon after its answer; so long it is then waited for without sleep. A client that
/// waits for each answer took 30 to 70 us in a virtual machine of two cores.
const QUICK: Duration = Duration::from_micros(100);

/// It has to be so this many times in a row: what is waited in vain is a sixteenth of that a request, at most.
const QUICK_IN_A_ROW_MIN: u32 = 16;

/// Longer requests and answers take longer than being woken does (a guess: a copy of a page or two).
const SHORT_BYTES_MAX: usize = 4096;

/// How a client has taken turns with its broker so far.
#[derive(Debug, Default)]
pub(crate) struct BusyPoll {
    /// Requests in a row that came soon after the answer to the one before.
    quick: Cell<u32>,
    /// When all answers had been written, as long as no request has come since.
    answered: Cell<Option<Instant>>,
}

impl BusyPoll {
    /// So many requests came at once, and so many bytes.
    pub(crate) fn requested(&self, now: Instant, requests: usize, bytes: usize) {
        let is_quick = self.answered.take().is_some_and(|at| now - at <= QUICK);
        let is_turn = requests == 1 && bytes <= SHORT_BYTES_MAX && is_quick;
        self.quick.set(if is_turn { self.quick.get().saturating_add(1) } else { 0 });
    }

    /// Everything was written that there was, so many bytes.
    pub(crate) fn answered(&self, now: Instant, bytes: usize) {
        self.answered.set((bytes <= SHORT_BYTES_MAX).then_some(now));
    }

    /// Keeps the thread awake for the next request of a quick client, until it comes or is late, or there is something to write
    /// (the answer to an earlier one). Other tasks run meanwhile.
    pub(crate) async fn wait(&self, has_more: impl Fn() -> bool) {
        while self.is_awaited(Instant::now()) && !has_more() {
            tokio::task::yield_now().await;
        }
    }

    fn is_awaited(&self, now: Instant) -> bool {
        self.quick.get() >= QUICK_IN_A_ROW_MIN && self.answered.get().is_some_and(|at| now - at < QUICK)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SHORT: usize = 100;

    /// A client that has been quick as often as it takes, and the time of its last answer.
    fn quick_client() -> (BusyPoll, Instant) {
        let (polling, mut now) = (BusyPoll::default(), Instant::now());
        polling.answered(now, SHORT);
        for _ in 0..QUICK_IN_A_ROW_MIN {
            assert!(!polling.is_awaited(now), "too early");
            now += QUICK;
            turn(&polling, now);
        }
        (polling, now)
    }

    fn turn(polling: &BusyPoll, now: Instant) {
        polling.requested(now, 1, SHORT);
        polling.answered(now, SHORT);
    }

    #[test]
    fn who_asks_again_at_once_is_waited_for_until_late() {
        let (polling, now) = quick_client();
        assert!(polling.is_awaited(now));
        assert!(polling.is_awaited(now + QUICK / 2));
        assert!(!polling.is_awaited(now + QUICK));
    }

    #[test]
    fn the_wait_ends_with_the_request() {
        let (polling, now) = quick_client();
        polling.requested(now, 1, SHORT);
        assert!(!polling.is_awaited(now));
        polling.answered(now, SHORT);
        assert!(polling.is_awaited(now));
    }

    #[test]
    fn an_answer_is_not_held_up_by_waiting_for_a_request() {
        let (polling, _) = quick_client();
        polling.answered(Instant::now() + Duration::from_secs(3_600), SHORT);
        assert_eq!(polling.wait(|| true).now_or_never(), Some(()));
        assert_eq!(polling.wait(|| false).now_or_never(), None);
    }

    #[test]
    fn who_was_late_once_begins_anew() {
        let (polling, now) = quick_client();
        let now = now + QUICK * 2;
        turn(&polling, now);
        assert!(!polling.is_awaited(now));
    }

    #[test]
    fn who_sends_several_at_once_is_not_waited_for() {
        let (polling, now) = quick_client();
        polling.requested(now, 2, SHORT);
        polling.answered(now, SHORT);
        assert!(!polling.is_awaited(now));
    }

    #[test]
    fn long_messages_are_not_waited_for() {
        for (request, answer) in [(SHORT_BYTES_MAX + 1, SHORT), (SHORT, SHORT_BYTES_MAX + 1)] {
            let (polling, now) = quick_client();
            polling.requested(now, 1, request);
            polling.answered(now, answer);
            assert!(!polling.is_awaited(now), "{request} bytes answered with {answer}");
        }
    }
}
