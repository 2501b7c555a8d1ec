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
use log_core::batch::{BatchBuilder, NewRecord, RecordHeader};
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

/// For how long callers are told that a topic has failed before it is asked for again: time enough for all who have
/// waited for it to look.
const FAILURE_TOLD: Duration = Duration::from_secs(1);

/// Records waiting to be sent.
#[derive(Debug)]
pub struct Accumulator {
    linger: Duration,
    delivery_timeout: Duration,
    batch_bytes_max: usize,
    buffer_bytes_max: usize,
    used_bytes: usize,
    next_batch: u64,
    topics: BTreeMap<Arc<str>, Topic>,
    random: Random,
    flushing: bool,
    closed: bool,
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
            batch_bytes_max: options.batch_bytes_max,
            buffer_bytes_max: options.buffer_bytes_max,
            used_bytes: 0,
            next_batch: 0,
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
        let partition = self.choose_partition(now.mono, record)?;
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
        let appended = self.put(now.mono, &record.topic, partition, &encoded)?;
        if appended.closed {
            let topic = self.topics.get_mut(&record.topic).expect("the record was put into this topic");
            topic.sticky.batch_closed(partition);
        }
        Ok(appended)
    }

    /// The topic has this many partitions, and those `available` have a leader.
    pub fn topic_ready(&mut self, topic: &Arc<str>, partitions: u32, available: Vec<u32>) {
        if let Some(entry) = self.topics.get_mut(topic) {
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
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }

    /// Bytes in use, of those that may be.
    #[must_use]
    pub const fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// The limit in bytes that [`Refused::AwaitRoom`] is about.
    #[must_use]
    pub const fn buffer_bytes_max(&self) -> usize {
        self.buffer_bytes_max
    }

    /// The number that the next new batch gets: all smaller ones exist already.
    #[must_use]
    pub const fn next_batch(&self) -> BatchId {
        BatchId(self.next_batch)
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

    fn choose_partition(&mut self, now: MonoTime, record: &Record) -> Result<u32, Refused> {
        let Some(topic) = self.topics.get_mut(&record.topic) else {
            check_topic_name(&record.topic).map_err(Refused::Error)?;
            let topic =
                Topic { state: TopicState::Wanted, sticky: Sticky::default(), queues: BTreeMap::new() };
            self.topics.insert(Arc::clone(&record.topic), topic);
            return Err(Refused::AwaitTopic);
        };
        let (partitions, available) = match &mut topic.state {
            TopicState::Ready { partitions, available } => (*partitions, available),
            TopicState::Wanted => return Err(Refused::AwaitTopic),
            TopicState::Failed { error, at } if now.since(*at) < FAILURE_TOLD => {
                return Err(Refused::Error(error.clone()));
            }
            TopicState::Failed { .. } => {
                topic.state = TopicState::Wanted;
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
            (None, None) => Ok(topic.sticky.partition(partitions, available, &mut self.random)),
        }
    }

    fn put(
        &mut self,
        now: MonoTime,
        topic: &Arc<str>,
        partition: u32,
        record: &NewRecord<'_>,
    ) -> Result<Appended, Refused> {
        let entry = self.topics.get_mut(topic).expect("the partition was chosen from this topic");
        let queue = entry.queues.entry(partition).or_default();
        let open = queue.back_mut().filter(|batch| !batch.closed);
        if let Some(batch) = open {
            let bytes = batch.builder.batch_bytes_with(record);
            if bytes <= self.batch_bytes_max {
                let added = bytes - batch.builder.batch_bytes();
                if self.used_bytes + added > self.buffer_bytes_max {
                    return Err(Refused::AwaitRoom);
                }
                return Ok(push(batch, record, added, &mut self.used_bytes, partition, self.batch_bytes_max));
            }
            batch.closed = true;
            entry.sticky.batch_closed(partition);
        }
        let room = BATCH_ROOM_BYTES.min(self.batch_bytes_max);
        let builder = BatchBuilder::with_capacity(room);
        let bytes = builder.batch_bytes_with(record);
        let charged = bytes + BATCH_OVERHEAD_BYTES;
        let problem = if bytes > self.batch_bytes_max {
            let problem = CallerProblem::RecordTooLarge { bytes, limit: self.batch_bytes_max };
            Some(Refused::Error(ClientError::caller(problem, Place::partition(topic, partition))))
        } else {
            // An empty buffer takes any batch: one that is charged for more than the limit could never go in.
            (self.used_bytes > 0 && self.used_bytes + charged > self.buffer_bytes_max)
                .then_some(Refused::AwaitRoom)
        };
        if let Some(problem) = problem {
            if queue.is_empty() {
                entry.queues.remove(&partition);
            }
            return Err(problem);
        }
        let id = BatchId(self.next_batch);
        self.next_batch += 1;
        queue.push_back(OpenBatch { id, created: now, builder, charged_bytes: 0, closed: false });
        let batch = queue.back_mut().expect("a batch was just put in");
        let appended = push(batch, record, charged, &mut self.used_bytes, partition, self.batch_bytes_max);
        Ok(Appended { wake: true, ..appended })
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

/// Adds a record that fits; the batch closes itself when hardly anything more would.
fn push(
    batch: &mut OpenBatch,
    record: &NewRecord<'_>,
    charge: usize,
    used_bytes: &mut usize,
    partition: u32,
    batch_bytes_max: usize,
) -> Appended {
    let index = u32::try_from(batch.builder.record_count()).unwrap_or(0);
    batch.builder.push(record).expect("a batch within the producer's limit is within the hard one");
    batch.charged_bytes += charge;
    *used_bytes += charge;
    batch.closed = batch.builder.batch_bytes() + batch_bytes_max / 64 >= batch_bytes_max;
    Appended {
        batch: batch.id,
        index,
        partition,
        timestamp: record.timestamp.0,
        wake: batch.closed,
        closed: batch.closed,
    }
}
