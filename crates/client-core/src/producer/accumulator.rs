//! Where records gather into batches before they are sent: the part of a producer that the caller's own task works on.
//!
//! An accumulator is a value of its own, apart from the brain, so that putting a record in costs one short lock of the
//! face and no hand-over: the record is encoded straight into its partition's open batch. The driving task takes whole
//! batches out (`ClientBrain::pull`) and compresses them outside of that lock.
//!
//! ```text
//! append -> open batch -> closed (full) -> taken by the brain -> delivered or failed -> release
//!                      \-> linger over, or flush wished --^
//! ```
//!
//! A batch's bytes count against the buffer from the first record until the brain says what became of it.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use log_core::batch::{BatchBuilder, Measured, NewRecord, RecordHeader};
use log_core::{MonoTime, Now, Timestamp};

use crate::action::BatchId;
use crate::error::{CallerProblem, ClientError, Place};
use crate::options::{ProducerOptions, check_topic_name};
use crate::partitioner::{Sticky, partition_of_key};
use crate::random::Random;
use crate::record::Record;

/// What is charged for a batch beside its bytes: bookkeeping in the accumulator, the brain and the face (a generous guess).
const BATCH_OVERHEAD_BYTES: usize = 256;

/// Room for a batch's records when its first one comes, in bytes; it doubles from there.
const BATCH_ROOM_BYTES: usize = 4096;

/// As many batches as are on their way to one broker at once, and one that is being filled.
pub(super) const SPARES_MAX: usize = 6;

/// For how long callers are told that a topic has failed before it is asked for again: time enough for all who have
/// waited for it to look.
const FAILURE_TOLD: Duration = Duration::from_secs(1);

/// Records waiting to be sent.
#[derive(Debug)]
pub struct Accumulator {
    linger: Duration,
    delivery_timeout: Duration,
    room: Room,
    topics: BTreeMap<Arc<str>, Topic>,
    random: Random,
    flushing: bool,
    closed: bool,
}

/// What batches may take, what they take, and the memory that delivered ones have left.
#[derive(Debug)]
struct Room {
    batch_bytes_max: usize,
    buffer_bytes_max: usize,
    used_bytes: usize,
    next_batch: u64,
    /// A batch that is written into memory of its own has every page of it made by the system first, which costs about as much as
    /// all else that is done to its records.
    spares: Vec<Vec<u8>>,
    spare_bytes: usize,
}

/// One topic that records are put into.
#[derive(Debug)]
struct Topic {
    state: TopicState,
    sticky: Sticky,
    /// By partition; only those with batches.
    queues: BTreeMap<u32, VecDeque<OpenBatch>>,
}

/// What is known of a topic.
#[derive(Debug)]
enum TopicState {
    /// Nothing yet; the brain has to ask.
    Wanted,
    /// Its number of partitions and those with a leader.
    Ready { partitions: u32, available: Vec<u32> },
    /// It could not be produced to at that time. Told to all who wait; who comes later makes it be asked for again.
    Failed { error: ClientError, at: MonoTime },
}

/// A batch that records can still be, or were just, put into.
#[derive(Debug)]
pub(crate) struct OpenBatch {
    /// Its number.
    pub(crate) id: BatchId,
    /// When its first record came.
    pub(crate) created: MonoTime,
    /// Its records.
    pub(crate) builder: BatchBuilder,
    /// What it is charged for in the buffer.
    pub(crate) charged_bytes: usize,
    closed: bool,
}

/// Where a record was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The batch.
    pub batch: BatchId,
    /// The record's place in it, from 0.
    pub index: u32,
    /// The partition.
    pub partition: u32,
    /// The record's timestamp in milliseconds since 1970.
    pub timestamp: i64,
    /// True if the driving task has something new to do: a batch to wait for, or a full one.
    pub wake: bool,
    /// True if this record filled the batch.
    closed: bool,
}

/// Why a record was not put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not now: the buffer is full. Try again after a delivery.
    AwaitRoom,
    /// Not now: the topic's partitions have to become known. Try again after the next [`Accumulator::topic_ready`].
    AwaitTopic,
    /// Not at all.
    Error(ClientError),
}

/// A batch that was too long in the accumulator.
#[derive(Debug)]
pub(crate) struct Expired {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: u32,
    pub(crate) batch: OpenBatch,
}

impl Accumulator {
    /// An empty one for a producer with these (checked) options.
    #[must_use]
    pub fn new(options: &ProducerOptions, seed: u64) -> Self {
        Self {
            linger: options.linger,
            delivery_timeout: options.delivery_timeout,
            room: Room {
                batch_bytes_max: options.batch_bytes_max,
                buffer_bytes_max: options.buffer_bytes_max,
                used_bytes: 0,
                next_batch: 0,
                spares: Vec::new(),
                spare_bytes: 0,
            },
            topics: BTreeMap::new(),
            random: Random::new(seed),
            flushing: false,
            closed: false,
        }
    }

    /// Puts a record into the open batch of its partition.
    ///
    /// # Errors
    /// [`Refused`] says whether to wait or to give up; nothing was put in.
    pub fn append(&mut self, now: Now, record: &Record) -> Result<Appended, Refused> {
        if self.closed {
            return Err(Refused::Error(ClientError::Closed));
        }
        let Some(topic) = self.topics.get_mut(&record.topic) else { return Err(self.want(record)) };
        let partition = topic.choose_partition(now.mono, record, &mut self.random)?;
        let used_bytes = self.room.used_bytes;
        let headers: Vec<RecordHeader<'_>> = record
            .headers
            .iter()
            .map(|header| RecordHeader { key: &header.name, value: header.value.as_deref() })
            .collect();
        let timestamp = Timestamp(record.timestamp.unwrap_or(now.wall.0));
        let encoded = NewRecord {
            timestamp,
            key: record.key.as_ref().map(Bytes::as_ref),
            value: record.value.as_ref().map(Bytes::as_ref),
            headers: &headers,
        };
        let appended = topic.put(now.mono, partition, &encoded, &mut self.room);
        let appended = appended.map_err(|refusal| refusal.of(&record.topic, partition))?;
        if record.partition.is_none() && record.key.is_none() {
            topic.sticky.put(self.room.used_bytes - used_bytes);
        }
        if appended.closed {
            topic.sticky.batch_closed(partition);
        }
        Ok(appended)
    }

    /// The topic has this many partitions, and those `available` have a leader.
    pub fn topic_ready(&mut self, topic: &Arc<str>, partitions: u32, available: Vec<u32>) {
        if let Some(entry) = self.topics.get_mut(topic) {
            entry.sticky.leaders_changed(&available);
            entry.state = TopicState::Ready { partitions, available };
        }
    }

    /// The topic cannot be produced to.
    pub fn topic_failed(&mut self, now: MonoTime, topic: &Arc<str>, error: ClientError) {
        if let Some(entry) = self.topics.get_mut(topic) {
            entry.state = TopicState::Failed { error, at: now };
        }
    }

    /// The topics that are not known yet, or could not be produced to and were asked for again.
    pub fn wanted_topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics
            .iter()
            .filter(|(_, topic)| matches!(topic.state, TopicState::Wanted))
            .map(|(name, _)| name)
    }

    /// All topics that records were put into.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.keys()
    }

    /// From now on no batch waits for more records, until the accumulator has been emptied.
    pub fn flush(&mut self) {
        self.flushing = self.topics.values().any(|topic| !topic.queues.is_empty());
    }

    /// Takes no records any more; what is there is still sent.
    pub fn close(&mut self) {
        self.closed = true;
        self.flush();
    }

    /// `bytes` of delivered or failed batches are free again.
    pub fn release(&mut self, bytes: usize) {
        self.room.release(bytes);
    }

    /// The memory of a batch that is done is used again, as long as there is something to be put into it soon.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        self.room.recycle(buffer);
    }

    /// Bytes in use, of those that may be.
    #[must_use]
    pub const fn used_bytes(&self) -> usize {
        self.room.used_bytes
    }

    /// The limit in bytes that [`Refused::AwaitRoom`] is about.
    #[must_use]
    pub const fn buffer_bytes_max(&self) -> usize {
        self.room.buffer_bytes_max
    }

    /// The number that the next new batch gets: all smaller ones exist already.
    #[must_use]
    pub const fn next_batch(&self) -> BatchId {
        BatchId(self.room.next_batch)
    }

    /// When to look again: the end of the first linger or, for batches that are ready, the first delivery timeout.
    #[must_use]
    pub fn poll_timeout(&self, now: MonoTime) -> Option<MonoTime> {
        let queues = self.topics.values().flat_map(|topic| topic.queues.values());
        queues.filter_map(|queue| queue.front().map(|batch| self.due(now, batch, queue.len()))).min()
    }

    /// The partitions that have a batch ready to be sent.
    pub(crate) fn ready(&self, now: MonoTime) -> Vec<(Arc<str>, u32)> {
        let mut ready = Vec::new();
        for (name, topic) in &self.topics {
            for (partition, queue) in &topic.queues {
                if queue.front().is_some_and(|batch| self.is_ready(now, batch, queue.len())) {
                    ready.push((Arc::clone(name), *partition));
                }
            }
        }
        ready
    }

    /// Whether a partition has any batch.
    pub(crate) fn has_batches(&self, topic: &str, partition: u32) -> bool {
        self.topics.get(topic).is_some_and(|topic| topic.queues.contains_key(&partition))
    }

    /// Takes the oldest batch of a partition.
    pub(crate) fn take(&mut self, topic: &str, partition: u32) -> Option<OpenBatch> {
        let entry = self.topics.get_mut(topic)?;
        let queue = entry.queues.get_mut(&partition)?;
        let batch = queue.pop_front();
        if queue.is_empty() {
            entry.queues.remove(&partition);
            entry.sticky.batch_closed(partition);
        }
        self.flushing = self.flushing && self.topics.values().any(|topic| !topic.queues.is_empty());
        batch
    }

    /// Takes every batch that has waited for longer than the delivery timeout.
    pub(crate) fn take_expired(&mut self, now: MonoTime) -> Vec<Expired> {
        let mut expired = Vec::new();
        for (name, topic) in &mut self.topics {
            for (partition, queue) in &mut topic.queues {
                while queue.front().is_some_and(|batch| now.since(batch.created) >= self.delivery_timeout) {
                    let batch = queue.pop_front().expect("the front was just seen");
                    expired.push(Expired { topic: Arc::clone(name), partition: *partition, batch });
                }
            }
            topic.queues.retain(|_, queue| !queue.is_empty());
        }
        expired
    }

    /// The first record of a topic makes it known.
    fn want(&mut self, record: &Record) -> Refused {
        if let Err(error) = check_topic_name(&record.topic) {
            return Refused::Error(error);
        }
        let topic = Topic { state: TopicState::Wanted, sticky: Sticky::default(), queues: BTreeMap::new() };
        self.topics.insert(Arc::clone(&record.topic), topic);
        Refused::AwaitTopic
    }

    fn is_ready(&self, now: MonoTime, batch: &OpenBatch, queued: usize) -> bool {
        batch.closed || queued > 1 || self.flushing || now.since(batch.created) >= self.linger
    }

    fn due(&self, now: MonoTime, batch: &OpenBatch, queued: usize) -> MonoTime {
        let ready = self.is_ready(now, batch, queued);
        batch.created.after(if ready {
            self.delivery_timeout
        } else {
            self.linger.min(self.delivery_timeout)
        })
    }
}

impl Topic {
    fn choose_partition(
        &mut self,
        now: MonoTime,
        record: &Record,
        random: &mut Random,
    ) -> Result<u32, Refused> {
        let (partitions, available) = match &mut self.state {
            TopicState::Ready { partitions, available } => (*partitions, available),
            TopicState::Wanted => return Err(Refused::AwaitTopic),
            TopicState::Failed { error, at } if now.since(*at) < FAILURE_TOLD => {
                return Err(Refused::Error(error.clone()));
            }
            TopicState::Failed { .. } => {
                self.state = TopicState::Wanted;
                return Err(Refused::AwaitTopic);
            }
        };
        match (record.partition, &record.key) {
            (Some(partition), _) if partition < partitions => Ok(partition),
            (Some(partition), _) => {
                let place = Place::partition(&record.topic, partition);
                Err(Refused::Error(ClientError::caller(CallerProblem::NoSuchPartition { partitions }, place)))
            }
            (None, Some(key)) => Ok(partition_of_key(key, partitions)),
            (None, None) => Ok(self.sticky.partition(partitions, available, random)),
        }
    }

    fn put(
        &mut self,
        now: MonoTime,
        partition: u32,
        record: &NewRecord<'_>,
        room: &mut Room,
    ) -> Result<Appended, Misfit> {
        let queue = self.queues.entry(partition).or_default();
        let open = queue.back_mut().filter(|batch| !batch.closed);
        if let Some(batch) = open {
            let measured = batch.builder.measure(record);
            if measured.batch_bytes <= room.batch_bytes_max {
                let charge = measured.batch_bytes - batch.builder.batch_bytes();
                if !room.has(charge) {
                    return Err(Misfit::NoRoom);
                }
                return Ok(batch.push(record, measured, charge, partition, room));
            }
            batch.closed = true;
        }
        match room.open(now, record) {
            Ok((batch, measured)) => {
                queue.push_back(batch);
                let batch = queue.back_mut().expect("a batch was just put in");
                let charge = measured.batch_bytes + BATCH_OVERHEAD_BYTES;
                let appended = batch.push(record, measured, charge, partition, room);
                Ok(Appended { wake: true, ..appended })
            }
            Err(misfit) => {
                if queue.is_empty() {
                    self.queues.remove(&partition);
                }
                Err(misfit)
            }
        }
    }
}

/// Why a record went into no batch.
#[derive(Clone, Copy, Debug)]
enum Misfit {
    NoRoom,
    TooLarge { bytes: usize, limit: usize },
}

impl Misfit {
    fn of(self, topic: &Arc<str>, partition: u32) -> Refused {
        match self {
            Self::NoRoom => Refused::AwaitRoom,
            Self::TooLarge { bytes, limit } => {
                let problem = CallerProblem::RecordTooLarge { bytes, limit };
                Refused::Error(ClientError::caller(problem, Place::partition(topic, partition)))
            }
        }
    }
}

impl Room {
    const fn has(&self, bytes: usize) -> bool {
        self.used_bytes + bytes <= self.buffer_bytes_max
    }

    /// An empty batch for this record, if it may come in.
    fn open(&mut self, now: MonoTime, record: &NewRecord<'_>) -> Result<(OpenBatch, Measured), Misfit> {
        let measured = BatchBuilder::new().measure(record);
        let (bytes, limit) = (measured.batch_bytes, self.batch_bytes_max);
        if bytes > limit {
            return Err(Misfit::TooLarge { bytes, limit });
        }
        // An empty buffer takes any batch: one that is charged for more than the limit could never go in.
        if self.used_bytes > 0 && !self.has(bytes + BATCH_OVERHEAD_BYTES) {
            return Err(Misfit::NoRoom);
        }
        let builder = match self.spares.pop() {
            Some(buffer) => {
                self.spare_bytes -= buffer.capacity();
                BatchBuilder::in_buffer(buffer)
            }
            None => BatchBuilder::with_capacity(BATCH_ROOM_BYTES.min(limit)),
        };
        let id = BatchId(self.next_batch);
        self.next_batch += 1;
        Ok((OpenBatch { id, created: now, builder, charged_bytes: 0, closed: false }, measured))
    }

    /// Memory of delivered batches counts against the buffer like that of waiting ones, and a producer without records keeps none.
    fn release(&mut self, bytes: usize) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
        if self.used_bytes == 0 {
            self.spares = Vec::new();
            self.spare_bytes = 0;
        }
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        let fits = self.used_bytes + self.spare_bytes + buffer.capacity() <= self.buffer_bytes_max;
        if self.used_bytes > 0 && fits && self.spares.len() < SPARES_MAX {
            self.spare_bytes += buffer.capacity();
            self.spares.push(buffer);
        }
    }
}

impl OpenBatch {
    /// Adds a record that fits; the batch closes itself when hardly anything more would.
    fn push(
        &mut self,
        record: &NewRecord<'_>,
        measured: Measured,
        charge: usize,
        partition: u32,
        room: &mut Room,
    ) -> Appended {
        let index = u32::try_from(self.builder.record_count()).unwrap_or(0);
        let pushed = self.builder.push_measured(record, measured);
        pushed.expect("a batch within the producer's limit is within the hard one");
        self.charged_bytes += charge;
        room.used_bytes += charge;
        self.closed = measured.batch_bytes + room.batch_bytes_max / 64 >= room.batch_bytes_max;
        Appended {
            batch: self.id,
            index,
            partition,
            timestamp: record.timestamp.0,
            wake: self.closed,
            closed: self.closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use log_core::Codecs;
    use log_core::batch::BatchSpec;

    use super::*;

    const NOW: Now = Now { mono: MonoTime(0), wall: Timestamp(0) };

    fn accumulator(buffer_bytes_max: usize) -> (Accumulator, Record) {
        let options =
            ProducerOptions { batch_bytes_max: 1000, buffer_bytes_max, ..ProducerOptions::default() };
        let (mut accumulator, record) = (Accumulator::new(&options, 7), Record::to("t").value(vec![1; 600]));
        assert_eq!(accumulator.append(NOW, &record), Err(Refused::AwaitTopic));
        accumulator.topic_ready(&record.topic, 1, vec![0]);
        (accumulator, record)
    }

    #[test]
    fn a_batch_is_put_into_the_memory_that_another_has_left() {
        let (mut accumulator, record) = accumulator(1 << 20);
        accumulator.append(NOW, &record).expect("there is room");
        accumulator.recycle(vec![9; 5000]);
        accumulator.append(NOW, &record).expect("there is room");
        let _first = accumulator.take("t", 0).expect("a batch");
        let second = accumulator.take("t", 0).expect("another batch");
        let built =
            second.builder.build(&BatchSpec::default(), Codecs::PLAIN, |crc, _| crc).expect("a batch");
        assert_eq!((built.capacity(), built.len() < 1000), (5000, true));
    }

    #[test]
    fn memory_that_was_left_is_kept_within_the_buffer_and_only_while_there_are_records() {
        let (mut accumulator, record) = accumulator(10_000);
        accumulator.recycle(vec![0; 5000]);
        assert_eq!(accumulator.room.spares.len(), 0, "there is nothing to be put into it");
        accumulator.append(NOW, &record).expect("there is room");
        accumulator.recycle(vec![0; 5000]);
        accumulator.recycle(vec![0; 5000]);
        assert_eq!(accumulator.room.spares.len(), 1, "two are more than the buffer may hold");
        accumulator.release(accumulator.used_bytes());
        assert_eq!((accumulator.room.spares.len(), accumulator.room.spare_bytes), (0, 0));
    }
}
