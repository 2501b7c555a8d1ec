//! The future of a record's acknowledgement. All records of a batch share one cell, so that a record costs no
//! allocation and no wake-up of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use client_core::error::ClientError;
use client_core::{Ack, Delivery, Placed};

/// The acknowledgement of a record that was accepted. Dropping it takes nothing back: the record is delivered, or
/// fails, in the background.
#[derive(Debug)]
#[must_use = "dropping it is fine, but then only `flush` tells whether the record was delivered"]
pub struct Pending {
    pub(crate) cell: Arc<BatchCell>,
    pub(crate) index: u32,
    pub(crate) partition: u32,
    pub(crate) timestamp: i64,
}

/// What became of a batch's records, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct BatchCell {
    state: Mutex<CellState>,
}

#[derive(Debug, Default)]
struct CellState {
    /// One entry as a rule; more when the batch was split.
    outcomes: Vec<Outcome>,
    waiting: Vec<Waker>,
}

#[derive(Debug)]
struct Outcome {
    first: u32,
    count: u32,
    result: Result<Placed, ClientError>,
}

impl Pending {
    /// The partition that the record was put into.
    #[must_use]
    pub const fn partition(&self) -> u32 {
        self.partition
    }

    fn ack(&self, outcome: &Outcome) -> Result<Ack, ClientError> {
        let placed = outcome.result.clone()?;
        let offset = match placed.base_offset {
            base if base >= 0 => base + i64::from(self.index - outcome.first),
            unknown => unknown,
        };
        let timestamp = placed.log_append_time.unwrap_or(self.timestamp);
        Ok(Ack { partition: self.partition, offset, timestamp })
    }
}

impl Future for Pending {
    type Output = Result<Ack, ClientError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.cell.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = state.outcomes.iter().find(|outcome| outcome.covers(self.index)) {
            return Poll::Ready(self.ack(outcome));
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Outcome {
    const fn covers(&self, index: u32) -> bool {
        self.first <= index && index - self.first < self.count
    }
}

impl BatchCell {
    /// Tells everybody who waits; they look for themselves whether it was their record.
    pub(crate) fn complete(&self, delivery: Delivery) {
        let waiting = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Delivery { first, count, result, .. } = delivery;
            state.outcomes.push(Outcome { first, count, result });
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use client_core::BatchId;

    fn pending(cell: &Arc<BatchCell>, index: u32) -> Pending {
        Pending { cell: Arc::clone(cell), index, partition: 3, timestamp: 1000 + i64::from(index) }
    }

    fn delivery(first: u32, count: u32, result: Result<Placed, ClientError>) -> Delivery {
        Delivery { batch: BatchId(0), first, count, bytes: 0, result }
    }

    #[tokio::test]
    async fn records_of_a_batch_get_consecutive_offsets() {
        let cell = Arc::new(BatchCell::default());
        cell.complete(delivery(0, 3, Ok(Placed { base_offset: 70, log_append_time: None })));
        assert_eq!(pending(&cell, 2).await, Ok(Ack { partition: 3, offset: 72, timestamp: 1002 }));
    }

    #[tokio::test]
    async fn halves_of_a_split_batch_are_told_apart() {
        let cell = Arc::new(BatchCell::default());
        cell.complete(delivery(0, 2, Ok(Placed { base_offset: 10, log_append_time: Some(5) })));
        cell.complete(delivery(2, 2, Err(ClientError::Closed)));
        assert_eq!(pending(&cell, 1).await, Ok(Ack { partition: 3, offset: 11, timestamp: 5 }));
        assert_eq!(pending(&cell, 3).await, Err(ClientError::Closed));
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let cell = Arc::new(BatchCell::default());
        let waiting = tokio::spawn(pending(&cell, 0));
        tokio::task::yield_now().await;
        cell.complete(delivery(0, 1, Ok(Placed { base_offset: -1, log_append_time: None })));
        assert_eq!(waiting.await.expect("no panic").map(|ack| ack.offset), Ok(-1));
    }
}
