//! How many clients may be connected at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The places for clients, counted over all threads.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    taken: Arc<AtomicU32>,
    max: u32,
}

/// One client's place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    taken: Arc<AtomicU32>,
}

/// There is no place left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all {max} places for clients are taken: the setting connections-max of the broker limits them")]
pub(crate) struct Full {
    max: u32,
}

impl Seats {
    pub(crate) fn new(max: u32) -> Self {
        Self { taken: Arc::default(), max }
    }

    /// How many have one.
    pub(crate) fn taken(&self) -> u32 {
        self.taken.load(Ordering::Acquire)
    }

    /// # Errors
    /// If there is none.
    pub(crate) fn take(&self) -> Result<Seat, Full> {
        let one_more = |taken: u32| (taken < self.max).then_some(taken + 1);
        match self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more) {
            Ok(_) => Ok(Seat { taken: self.taken.clone() }),
            Err(_) => Err(Full { max: self.max }),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_client_has_left() {
        let seats = Seats::new(2);
        let (first, second) = (seats.take().unwrap(), seats.take().unwrap());
        let full = seats.take().unwrap_err();
        assert!(full.to_string().contains("all 2 places") && full.to_string().contains("connections-max"));
        drop(first);
        assert_eq!(seats.taken(), 1);
        assert!(seats.take().is_ok());
        drop(second);
    }
}
