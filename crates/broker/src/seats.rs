//! How many clients may be connected at once: as many as the setting says, and of those that need a file descriptor of their
//! own no more than leave descriptors for the logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Resource, getrlimit};

/// The places for clients, counted over all threads.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    all: Count,
    with_descriptor: Count,
}

/// How many of how many are taken.
#[derive(Clone, Debug)]
struct Count {
    taken: Arc<AtomicU32>,
    max: u32,
}

/// One client's place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    _places: (Place, Option<Place>),
}

#[derive(Debug)]
struct Place {
    taken: Arc<AtomicU32>,
}

/// There is no place left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("all {max} places for clients are taken: the setting connections-max of the broker limits them")]
    All { max: u32 },
    #[error(
        "all {max} places for clients over TCP are taken: half of the file descriptors that the system lets the broker have"
    )]
    Descriptors { max: u32 },
}

impl Seats {
    /// As many as asked for; those with a descriptor take up to half of the descriptors that this process may have now: logs need
    /// theirs, and one that finds none takes no records.
    pub(crate) fn new(max: u32) -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let seats = Self::with_descriptors(max, descriptors);
        let over_tcp = seats.with_descriptor.max;
        if over_tcp < max {
            tracing::warn!(
                "connections-max is {max}, but only {over_tcp} clients have room over TCP: the system lets this process have {descriptors} file descriptors, and half of them are for logs"
            );
        }
        seats
    }

    fn with_descriptors(max: u32, descriptors: u64) -> Self {
        let half = u32::try_from(descriptors / 2).unwrap_or(u32::MAX);
        let count = |max| Count { taken: Arc::default(), max };
        Self { all: count(max), with_descriptor: count(max.min(half)) }
    }

    /// How many have one.
    pub(crate) fn taken(&self) -> u32 {
        self.all.taken.load(Ordering::Acquire)
    }

    /// A place for a client that shares a socket with others.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn take(&self) -> Result<Seat, Full> {
        let place = self.all.take().ok_or(Full::All { max: self.all.max })?;
        Ok(Seat { _places: (place, None) })
    }

    /// A place for a client with a socket, and so a file descriptor, of its own.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn take_with_descriptor(&self) -> Result<Seat, Full> {
        let place = self.all.take().ok_or(Full::All { max: self.all.max })?;
        let descriptor =
            self.with_descriptor.take().ok_or(Full::Descriptors { max: self.with_descriptor.max })?;
        Ok(Seat { _places: (place, Some(descriptor)) })
    }
}

impl Count {
    fn take(&self) -> Option<Place> {
        let one_more = |taken: u32| (taken < self.max).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.ok().map(|_| Place { taken: self.taken.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_client_has_left() {
        let seats = Seats::with_descriptors(2, 1_000);
        let (first, second) = (seats.take().unwrap(), seats.take().unwrap());
        let full = seats.take().unwrap_err();
        assert!(full.to_string().contains("all 2 places") && full.to_string().contains("connections-max"));
        drop(first);
        assert_eq!(seats.taken(), 1);
        assert!(seats.take().is_ok());
        drop(second);
    }

    #[test]
    fn clients_over_tcp_leave_half_of_the_file_descriptors_to_the_logs() {
        let seats = Seats::with_descriptors(5, 4);
        let first = seats.take_with_descriptor().unwrap();
        let _second = seats.take_with_descriptor().unwrap();
        assert_eq!(seats.take_with_descriptor().unwrap_err(), Full::Descriptors { max: 2 });
        assert_eq!(seats.taken(), 2, "whoever is refused takes none");
        let _others = [seats.take().unwrap(), seats.take().unwrap(), seats.take().unwrap()];
        assert_eq!(seats.take().unwrap_err(), Full::All { max: 5 });
        drop(first);
        assert!(seats.take_with_descriptor().is_ok());
    }
}
