//! The queue by which the sync and reader threads answer one `FileDisk`, and how its shard learns of an answer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use log_store::{Completed, Completion, DiskError, Ticket};

/// Called from another thread when a completion has come and the queue had been found empty before: wakes the
/// shard, which then polls until it gets nothing. It must neither block nor panic.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Makes both ends of a queue.
pub(crate) fn queue(waker: Waker) -> (Answers, Completions) {
    let (sender, receiver) = channel();
    let announced = Arc::new(AtomicBool::new(false));
    let answers = Answers { sender, announced: Arc::clone(&announced), waker };
    (answers, Completions { receiver, announced, outstanding: 0 })
}

/// The threads' end.
#[derive(Clone)]
pub(crate) struct Answers {
    sender: Sender<Completion>,
    /// The waker was called since the queue was last found empty.
    announced: Arc<AtomicBool>,
    waker: Waker,
}

impl Answers {
    pub(crate) fn send(&self, ticket: Ticket, result: Result<Completed, DiskError>) {
        // An error means that the FileDisk is gone, and with it whoever waits for the answer.
        if self.sender.send(Completion { ticket, result }).is_ok()
            && !self.announced.swap(true, Ordering::SeqCst)
        {
            (self.waker)();
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("announced", &self.announced).finish_non_exhaustive()
    }
}

/// The shard's end.
#[derive(Debug)]
pub(crate) struct Completions {
    receiver: Receiver<Completion>,
    announced: Arc<AtomicBool>,
    outstanding: u64,
}

impl Completions {
    /// One more answer is due.
    pub(crate) fn expect_one(&mut self) {
        self.outstanding += 1;
    }

    /// The next answer that is there.
    ///
    /// An answer that is sent just after the queue was found empty must not be lost: so the announcement is
    /// taken back *before* the second look, and the sender looks at it *after* it has sent.
    pub(crate) fn poll(&mut self) -> Option<Completion> {
        let found = self.receiver.try_recv().ok().or_else(|| {
            self.announced.swap(false, Ordering::SeqCst);
            self.receiver.try_recv().ok()
        });
        self.outstanding -= u64::from(found.is_some());
        found
    }

    /// Waits for the next answer; `None` if none is due. Who then goes on with the waker is called again: an
    /// announcement of what was waited for does not stand in the way.
    pub(crate) fn wait(&mut self) -> Option<Completion> {
        if self.outstanding == 0 {
            self.announced.swap(false, Ordering::SeqCst);
            return None;
        }
        let found = self.receiver.recv().ok();
        self.outstanding -= u64::from(found.is_some());
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use log_store::LogId;

    use super::*;

    const fn ticket(sequence: u64) -> Ticket {
        Ticket { log: LogId(1), sequence }
    }

    #[test]
    fn the_waker_is_called_once_until_the_queue_was_found_empty() {
        let calls = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&calls);
        let (answers, mut completions) = queue(Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        }));
        for sequence in 0..3 {
            completions.expect_one();
            answers.send(ticket(sequence), Ok(Completed::Synced));
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(std::iter::from_fn(|| completions.poll()).count(), 3);
        completions.expect_one();
        answers.send(ticket(3), Ok(Completed::Synced));
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        assert_eq!(completions.wait().map(|completion| completion.ticket), Some(ticket(3)));
        assert_eq!(completions.wait(), None);
    }

    #[test]
    fn the_waker_is_called_again_after_all_answers_were_waited_for() {
        let (woken, wakes) = channel();
        let (answers, mut completions) = queue(Arc::new(move || {
            let _ = woken.send(());
        }));
        completions.expect_one();
        answers.send(ticket(0), Ok(Completed::Synced));
        wakes.try_recv().unwrap();
        assert!(completions.wait().is_some());
        assert_eq!(completions.wait(), None);
        completions.expect_one();
        answers.send(ticket(1), Ok(Completed::Synced));
        wakes.try_recv().unwrap();
    }

    #[test]
    fn no_answer_is_lost_between_threads() {
        const EACH: u64 = 2_000;
        let (woken, wakes) = channel();
        let (answers, mut completions) = queue(Arc::new(move || {
            let _ = woken.send(());
        }));
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let answers = answers.clone();
                std::thread::spawn(move || {
                    (0..EACH).for_each(|sequence| answers.send(ticket(sequence), Ok(Completed::Synced)));
                })
            })
            .collect();
        (0..3 * EACH).for_each(|_| completions.expect_one());
        let mut found = 0;
        while found < 3 * EACH {
            wakes.recv().unwrap();
            found += std::iter::from_fn(|| completions.poll()).count() as u64;
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        assert_eq!(completions.poll(), None);
    }
}
