//! What is known of a topic's records: the numbers that were sent, acknowledged and read, for each key. Holds no more than
//! what is on its way, so that a load of hours takes no more memory than one of seconds.

use std::collections::BTreeMap;
use std::fmt;

use highwater_client::ClientError;

/// Keys of each topic; a key's records are numbered from 0.
pub(crate) const KEYS: usize = 16;

/// A promise that was broken, or a call that failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault(String);

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self(format!("a call failed: {error}"))
    }
}

/// One record of a topic: its key, and its place among those of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number {
    pub(crate) key: usize,
    pub(crate) place: u64,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) partition: u32,
    pub(crate) offset: i64,
}

/// The book of one topic.
#[derive(Debug, Default)]
pub(crate) struct Book {
    sent: [u64; KEYS],
    read: [u64; KEYS],
    grouped: [u64; KEYS],
    acked: u64,
    /// Acknowledged and not read yet: where the acknowledgement said that they are; nothing where it could not say.
    awaited: BTreeMap<Number, Option<At>>,
    /// Read and not acknowledged yet.
    early: BTreeMap<Number, At>,
    /// The next offset of each partition, for the consumer of everything.
    next_offsets: BTreeMap<u32, i64>,
    /// For each partition, the offset below which the group has committed everything.
    committed: BTreeMap<u32, i64>,
}

impl Book {
    /// The number of the next record to send; keys take turns.
    pub(crate) fn next(&mut self) -> Number {
        let key = (0..KEYS).min_by_key(|key| self.sent.get(*key)).unwrap_or(0);
        let sent = self.sent.get_mut(key).expect("the key is one of the array's");
        let number = Number { key, place: *sent };
        *sent += 1;
        number
    }

    /// Sent, acknowledged, read, read by the group.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [self.sent.iter().sum(), self.acked, self.read.iter().sum(), self.grouped.iter().sum()]
    }

    /// How many records one of both consumers has not read.
    pub(crate) fn unread(&self) -> u64 {
        let [sent, _, read, grouped] = self.counts();
        sent - read.min(grouped)
    }

    /// A record was acknowledged; the offset is below 0 where a retry found it there already.
    pub(crate) fn on_acked(&mut self, number: Number, at: At) -> Result<(), Fault> {
        self.acked += 1;
        let told = (at.offset >= 0).then_some(at);
        match self.early.remove(&number) {
            Some(found) => same_place(number, told, found),
            None => {
                self.awaited.insert(number, told);
                Ok(())
            }
        }
    }

    /// The consumer of everything has read a record: it must be the next of its key and of its partition.
    pub(crate) fn on_read(&mut self, number: Number, at: At) -> Result<(), Fault> {
        let next_offset = self.next_offsets.entry(at.partition).or_insert(0);
        if at.offset != *next_offset {
            return Err(Fault(format!("{number} is read at {at}, where offset {next_offset} was expected")));
        }
        *next_offset += 1;
        let next = self.read.get_mut(number.key).ok_or_else(|| Fault(format!("{number} was never sent")))?;
        let expected = *next;
        *next += 1;
        match number.place.cmp(&expected) {
            std::cmp::Ordering::Less => {
                return Err(Fault(format!("{number} is there a second time, or out of order, at {at}")));
            }
            std::cmp::Ordering::Greater => {
                return Err(Fault(format!(
                    "{number} is read at {at}, and record {expected} of its key is lost"
                )));
            }
            std::cmp::Ordering::Equal => {}
        }
        match self.awaited.remove(&number) {
            Some(told) => same_place(number, told, at),
            None => {
                self.early.insert(number, at);
                Ok(())
            }
        }
    }

    /// The group has read a record. It may read one again that it has not committed, and may skip none. Says whether it was
    /// read before.
    pub(crate) fn on_grouped(&mut self, number: Number, at: At) -> Result<bool, Fault> {
        let committed = self.committed.get(&at.partition).copied().unwrap_or(0);
        if at.offset < committed {
            return Err(Fault(format!(
                "the group reads {number} at {at} again and has committed {committed}"
            )));
        }
        let next =
            self.grouped.get_mut(number.key).ok_or_else(|| Fault(format!("{number} was never sent")))?;
        if number.place > *next {
            return Err(Fault(format!(
                "the group reads {number} at {at} and has skipped record {next} of its key"
            )));
        }
        let again = number.place < *next;
        if !again {
            *next += 1;
        }
        Ok(again)
    }

    /// The group has committed: it goes on at `offset` in this partition.
    pub(crate) fn on_committed(&mut self, partition: u32, offset: i64) {
        self.committed.insert(partition, offset);
    }

    /// Nothing is on its way any more.
    pub(crate) fn check_end(&self) -> Result<(), Fault> {
        let [sent, acked, read, grouped] = self.counts();
        if acked != sent || read != sent || grouped != sent {
            return Err(Fault(format!(
                "of {sent} records {acked} are acknowledged, {read} are read, {grouped} by the group"
            )));
        }
        match self.awaited.keys().chain(self.early.keys()).next() {
            Some(number) => Err(Fault(format!("{number} was read or acknowledged, not both"))),
            None => Ok(()),
        }
    }
}

fn same_place(number: Number, told: Option<At>, found: At) -> Result<(), Fault> {
    match told.filter(|told| *told != found) {
        Some(told) => Err(Fault(format!("{number} was acknowledged at {told} and is read at {found}"))),
        None => Ok(()),
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} of key {}", self.place, self.key)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {} of partition {}", self.offset, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(offset: i64) -> At {
        At { partition: 0, offset }
    }

    const fn number(place: u64) -> Number {
        Number { key: 0, place }
    }

    #[test]
    fn a_record_that_is_sent_acknowledged_and_read_leaves_nothing_behind() {
        let mut book = Book::default();
        let first = book.next();
        assert_eq!(first, number(0));
        assert_eq!(book.next(), Number { key: 1, place: 0 });
        let mut book = Book::default();
        let number = book.next();
        book.on_acked(number, at(0)).unwrap();
        book.on_read(number, at(0)).unwrap();
        assert_eq!(book.unread(), 1);
        assert!(book.check_end().is_err());
        assert_eq!(book.on_grouped(number, at(0)), Ok(false));
        assert_eq!((book.unread(), book.check_end()), (0, Ok(())));
    }

    #[test]
    fn a_lost_record_is_a_fault() {
        let mut book = Book::default();
        let told = book.on_read(number(1), at(0)).unwrap_err().to_string();
        assert!(told.contains("record 0 of its key is lost"), "{told}");
    }

    #[test]
    fn a_doubled_record_is_a_fault() {
        let mut book = Book::default();
        book.on_read(number(0), at(0)).unwrap();
        let told = book.on_read(number(0), at(1)).unwrap_err().to_string();
        assert!(told.contains("a second time"), "{told}");
    }

    #[test]
    fn a_skipped_offset_is_a_fault() {
        let told = Book::default().on_read(number(0), at(7)).unwrap_err().to_string();
        assert!(told.contains("offset 0 was expected"), "{told}");
    }

    #[test]
    fn a_record_elsewhere_than_acknowledged_is_a_fault() {
        let mut book = Book::default();
        book.on_acked(number(0), at(3)).unwrap();
        assert!(book.on_read(number(0), at(0)).is_err());
        let mut book = Book::default();
        book.on_read(number(0), at(0)).unwrap();
        assert!(book.on_acked(number(0), at(3)).is_err());
        // Not every acknowledgement can say where.
        let mut book = Book::default();
        book.on_acked(number(0), at(-1)).unwrap();
        assert_eq!(book.on_read(number(0), at(0)), Ok(()));
    }

    #[test]
    fn a_group_reads_again_only_what_it_has_not_committed() {
        let mut book = Book::default();
        assert_eq!(book.on_grouped(number(0), at(0)), Ok(false));
        assert_eq!(book.on_grouped(number(0), at(0)), Ok(true));
        book.on_committed(0, 1);
        assert!(book.on_grouped(number(0), at(0)).is_err());
        assert!(book.on_grouped(number(2), at(2)).is_err());
    }
}
