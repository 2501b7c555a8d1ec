//! The consumer: a stream of records from partitions, with or without a group.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use client_core::admin::OffsetSpec;
use client_core::error::{CallerProblem, ClientError, Place};
use client_core::options::GroupOptions;
use client_core::{
    ConsumedRecord, ConsumerEvent, ConsumerOptions, Ends, FetchBuffer, OnLostPosition, RecordBatch, Start,
    Subscription,
};
use futures_util::Stream;
use tokio::sync::mpsc;

use crate::driver::{ConsumerLink, Remote};

/// Names of topics: one, or several.
pub trait IntoTopics {
    /// The names.
    fn into_topics(self) -> Vec<Arc<str>>;
}

/// Settings of a consumer, made by [`Client::consumer`](crate::Client::consumer).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct ConsumerBuilder {
    remote: Arc<Remote>,
    options: ConsumerOptions,
    until_end: bool,
}

/// Reads records. A [`Stream`], also by [`try_next`](Self::try_next).
///
/// Records are slices of the frames in which they were received: whoever keeps one for long should copy what is needed.
/// Fetching, heartbeats and commits go on in the client's task while the caller is busy.
#[derive(Debug)]
pub struct Consumer {
    link: ConsumerLink,
    events: mpsc::UnboundedReceiver<ConsumerEvent>,
    buffer: FetchBuffer,
    /// Where the stream ends, if it does.
    ends: Option<Ends>,
    has_group: bool,
}

/// The batches of a consumer, for those who want no value per record. Made by [`Consumer::into_batches`].
#[derive(Debug)]
pub struct Batches {
    consumer: Consumer,
}

/// How far a consumer is behind in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLag {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The offset of the next record to be read.
    pub position: i64,
    /// The offset of the next record to be committed in the log.
    pub end: i64,
}

impl PartitionLag {
    /// Offsets between the position and the end.
    #[must_use]
    pub const fn records(&self) -> i64 {
        let lag = self.end - self.position;
        if lag < 0 { 0 } else { lag }
    }
}

impl ConsumerBuilder {
    pub(crate) const fn new(remote: Arc<Remote>, topics: Vec<Arc<str>>) -> Self {
        let options = ConsumerOptions::new(Subscription::Topics(topics));
        Self { remote, options, until_end: false }
    }

    /// Where to begin; with a group, only where the group has committed nothing. Default [`Start::Latest`].
    pub const fn start(mut self, start: Start) -> Self {
        self.options.start = start;
        self
    }

    /// Reads only these partitions of the topics, all topics alike. Not possible with a group.
    pub fn partitions(mut self, partitions: impl IntoIterator<Item = u32>) -> Self {
        let topics: Vec<Arc<str>> = match &self.options.subscription {
            Subscription::Topics(topics) => topics.clone(),
            Subscription::Partitions(chosen) => {
                let mut topics: Vec<_> = chosen.iter().map(|(topic, _)| Arc::clone(topic)).collect();
                topics.dedup();
                topics
            }
        };
        let partitions: Vec<u32> = partitions.into_iter().collect();
        let all = topics.iter().flat_map(|topic| partitions.iter().map(|index| (Arc::clone(topic), *index)));
        self.options.subscription = Subscription::Partitions(all.collect());
        self
    }

    /// Shares the topics' partitions with the other members of this group and commits positions to it.
    pub fn group(mut self, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        match &mut self.options.group {
            Some(group) => group.name = name,
            none => *none = Some(GroupOptions::named(name)),
        }
        self
    }

    /// How long the group keeps the place of a member that is not heard of. Needs [`group`](Self::group) before it.
    /// Default 45 s.
    pub const fn session_timeout(mut self, timeout: Duration) -> Self {
        if let Some(group) = &mut self.options.group {
            group.session_timeout = timeout;
        }
        self
    }

    /// How often marked positions are committed in the background; none leaves it to
    /// [`Consumer::commit`] and [`Consumer::close`]. Needs [`group`](Self::group) before it. Default 5 s.
    pub const fn auto_commit(mut self, interval: Option<Duration>) -> Self {
        if let Some(group) = &mut self.options.group {
            group.auto_commit = interval;
        }
        self
    }

    /// What to do when retention has passed the position. Default [`OnLostPosition::Earliest`].
    pub const fn on_lost_position(mut self, what: OnLostPosition) -> Self {
        self.options.on_lost_position = what;
        self
    }

    /// The most bytes of fetched batches that wait to be read. Default 16 MiB.
    pub const fn prefetch_bytes_max(mut self, bytes: usize) -> Self {
        self.options.prefetch_bytes_max = bytes;
        self
    }

    /// The most bytes of one answer to a fetch. Default 8 MiB.
    pub const fn fetch_bytes_max(mut self, bytes: usize) -> Self {
        self.options.fetch_bytes_max = bytes;
        self
    }

    /// The most bytes of one partition in one answer. Default 1 MiB.
    pub const fn partition_bytes_max(mut self, bytes: usize) -> Self {
        self.options.partition_bytes_max = bytes;
        self
    }

    /// How many bytes a broker should have before it answers, and how long it waits for them. Default 1 byte, 500 ms.
    pub const fn fetch_wait(mut self, bytes_min: usize, wait_max: Duration) -> Self {
        self.options.fetch_bytes_min = bytes_min;
        self.options.fetch_wait_max = wait_max;
        self
    }

    /// Whether the checksum of each batch is checked. Default true.
    pub const fn check_crc(mut self, check: bool) -> Self {
        self.options.check_crc = check;
        self
    }

    /// The most bytes that one batch may decompress to. Default 64 MiB.
    pub const fn decompressed_bytes_max(mut self, bytes: usize) -> Self {
        self.options.decompressed_bytes_max = bytes;
        self
    }

    /// Ends the stream when every partition has been read up to where it ended at [`build`](Self::build). Not with a group.
    pub const fn until_end(mut self) -> Self {
        self.until_end = true;
        self
    }

    /// Makes the consumer: done when each of its partitions has a position (with a group: when it has its share), so
    /// that whatever is produced afterwards is read even with [`Start::Latest`]. Dropping the future ends the attempt.
    ///
    /// # Errors
    /// When options do not fit together, a topic does not exist, or brokers cannot be reached within the call timeout.
    pub async fn build(self) -> Result<Consumer, ClientError> {
        let options = self.options.checked()?;
        if self.until_end && options.group.is_some() {
            let problem = CallerProblem::Option { option: "until_end", must: "be used without a group" };
            return Err(ClientError::caller(problem, Place::NOWHERE));
        }
        let buffer = self.remote.fetch_buffer(&options);
        let has_group = options.group.is_some();
        let (link, events) = Remote::open_consumer(&self.remote, options).await?;
        let mut consumer = Consumer { link, events, buffer, ends: None, has_group };
        consumer.take_events();
        if self.until_end {
            consumer.ends = Some(consumer.end_offsets().await?.into_iter().collect());
        }
        Ok(consumer)
    }
}

impl Consumer {
    /// The next record; waits for one. `None` only where [`ConsumerBuilder::until_end`] ends the stream. Nothing is
    /// lost when the future is dropped.
    ///
    /// # Errors
    /// A damaged batch, a lost position, or what a broker refuses, with topic, partition and offset. Other partitions
    /// go on with the next call; the one named stops until [`seek`](Self::seek). [`ClientError::Closed`] if the client
    /// is closed.
    pub async fn try_next(&mut self) -> Result<Option<ConsumedRecord>, ClientError> {
        std::future::poll_fn(|context| self.poll_record(context)).await.transpose()
    }

    /// Whole batches instead of records. Records that were decoded already are dropped: call it before reading.
    #[must_use]
    pub const fn into_batches(self) -> Batches {
        Batches { consumer: self }
    }

    /// This record and all before it in its partition are dealt with: the group goes on behind it. Committed in the
    /// background (see [`ConsumerBuilder::auto_commit`]), by [`commit`](Self::commit) and by [`close`](Self::close).
    pub fn mark(&self, record: &ConsumedRecord) {
        if self.has_group {
            self.link.mark(&record.topic, record.partition, record.offset + 1, record.leader_epoch);
        }
    }

    /// Commits what is marked. Dropping the future does not take it back.
    ///
    /// # Errors
    /// [`CallerProblem::NoGroup`]; `REBALANCE_IN_PROGRESS` and others when the partitions have gone to another member.
    pub async fn commit(&self) -> Result<(), ClientError> {
        self.require_group()?;
        self.link.commit().await
    }

    /// Goes on reading a partition somewhere else. What was fetched of it is dropped.
    ///
    /// # Errors
    /// [`CallerProblem::NotAssigned`] if the consumer does not read it.
    pub fn seek(&mut self, topic: &str, partition: u32, to: Start) -> Result<(), ClientError> {
        self.take_events();
        let topic: Arc<str> = topic.into();
        let Some(generation) = self.buffer.seek(&topic, partition) else {
            return Err(not_assigned(&topic, partition));
        };
        self.link.seek(topic, partition, to, generation);
        self.give_back();
        Ok(())
    }

    /// Gives nothing of a partition until [`resume`](Self::resume), and fetches nothing more of it; what was fetched
    /// already stays and counts against `prefetch_bytes_max`.
    ///
    /// # Errors
    /// [`CallerProblem::NotAssigned`] if the consumer does not read it.
    pub fn pause(&mut self, topic: &str, partition: u32) -> Result<(), ClientError> {
        self.set_paused(topic, partition, true)
    }

    /// Goes on with a paused partition.
    ///
    /// # Errors
    /// [`CallerProblem::NotAssigned`] if the consumer does not read it.
    pub fn resume(&mut self, topic: &str, partition: u32) -> Result<(), ClientError> {
        self.set_paused(topic, partition, false)
    }

    /// The partitions that the consumer reads now.
    #[must_use]
    pub fn assignment(&mut self) -> Vec<(Arc<str>, u32)> {
        self.take_events();
        self.buffer.assignment().map(|(topic, partition, _, _)| (Arc::clone(topic), partition)).collect()
    }

    /// The offset of the next record of a partition: none if the consumer does not read it, or while a seek to a time
    /// or an end is under way.
    #[must_use]
    pub fn position(&self, topic: &str, partition: u32) -> Option<i64> {
        self.buffer.position(topic, partition)
    }

    /// Where each of its partitions ends, asked for now.
    ///
    /// # Errors
    /// When brokers cannot be reached within the call timeout.
    pub async fn end_offsets(&mut self) -> Result<Vec<(Arc<str>, u32, i64)>, ClientError> {
        let assigned = self.assignment();
        let asked = assigned.iter().map(|(topic, index)| (Arc::clone(topic), *index, OffsetSpec::Latest));
        let answers = self.link.remote().list_offsets(asked.collect(), None).await?;
        let mut ends = Vec::with_capacity(assigned.len());
        for ((topic, partition), answer) in assigned.into_iter().zip(answers) {
            ends.push((topic, partition, answer?.offset.unwrap_or(0)));
        }
        Ok(ends)
    }

    /// How far the consumer is behind in each of its partitions, asked for now.
    ///
    /// # Errors
    /// When brokers cannot be reached within the call timeout.
    pub async fn lag(&mut self) -> Result<Vec<PartitionLag>, ClientError> {
        let ends = self.end_offsets().await?;
        let positioned = ends.into_iter().filter_map(|(topic, partition, end)| {
            let position = self.buffer.position(&topic, partition)?;
            Some(PartitionLag { topic, partition, position, end })
        });
        Ok(positioned.collect())
    }

    /// Commits what is marked and leaves the group. Dropping a consumer does the same in the background, without
    /// telling whether it worked.
    ///
    /// # Errors
    /// When the commit fails.
    pub async fn close(self) -> Result<(), ClientError> {
        self.link.close().await
    }

    fn poll_record(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ConsumedRecord, ClientError>>> {
        loop {
            if self.is_at_end() {
                return Poll::Ready(None);
            }
            let next = self.buffer.next_record();
            self.give_back();
            match next {
                Some(Ok(record)) if self.is_behind_end(&record.topic, record.partition, record.offset) => {}
                Some(Ok(record)) => return Poll::Ready(Some(Ok(record))),
                Some(Err(error)) => return Poll::Ready(Some(Err(self.stopped_by(error)))),
                None => match self.events.poll_recv(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => return Poll::Ready(Some(Err(ClientError::Closed))),
                    Poll::Ready(Some(event)) => self.buffer.handle_event(event),
                },
            }
        }
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch, ClientError>>> {
        loop {
            if self.is_at_end() {
                return Poll::Ready(None);
            }
            let next = self.buffer.next_batch();
            self.give_back();
            match next {
                Some(Ok(batch)) => {
                    self.buffer.batch_read(&batch);
                    return Poll::Ready(Some(Ok(batch)));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(self.stopped_by(error)))),
                None => match self.events.poll_recv(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => return Poll::Ready(Some(Err(ClientError::Closed))),
                    Poll::Ready(Some(event)) => self.buffer.handle_event(event),
                },
            }
        }
    }

    /// A damaged batch stops its partition: the brain would go on fetching behind it otherwise.
    fn stopped_by(&self, error: ClientError) -> ClientError {
        if let (Some(topic), Some(partition)) = (error.topic(), error.partition()) {
            self.link.stop(topic.into(), partition);
        }
        error
    }

    fn is_at_end(&mut self) -> bool {
        let Some(ends) = &mut self.ends else { return false };
        ends.are_reached(|key| self.buffer.position_of(key))
    }

    fn is_behind_end(&self, topic: &Arc<str>, partition: u32, offset: i64) -> bool {
        let end = self.ends.as_ref().and_then(|ends| ends.of(topic, partition));
        end.is_some_and(|end| offset >= end)
    }

    fn take_events(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.buffer.handle_event(event);
        }
    }

    fn give_back(&mut self) {
        let freed = self.buffer.take_freed();
        if freed > 0 {
            self.link.consumed(freed);
        }
    }

    fn set_paused(&mut self, topic: &str, partition: u32, paused: bool) -> Result<(), ClientError> {
        self.take_events();
        let topic: Arc<str> = topic.into();
        if self.buffer.set_paused(&topic, partition, paused).is_none() {
            return Err(not_assigned(&topic, partition));
        }
        self.link.set_paused(topic, partition, paused);
        Ok(())
    }

    const fn require_group(&self) -> Result<(), ClientError> {
        if self.has_group { Ok(()) } else { Err(ClientError::caller(CallerProblem::NoGroup, Place::NOWHERE)) }
    }
}

impl Stream for Consumer {
    type Item = Result<ConsumedRecord, ClientError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_record(context)
    }
}

impl Batches {
    /// The next batch; waits for one. `None` only where [`ConsumerBuilder::until_end`] ends the stream: the last batch
    /// of a partition may then hold records behind that end. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// As [`Consumer::try_next`].
    pub async fn try_next(&mut self) -> Result<Option<RecordBatch>, ClientError> {
        std::future::poll_fn(|context| self.consumer.poll_batch(context)).await.transpose()
    }

    /// All of this batch, and all before it in its partition, is dealt with; see [`Consumer::mark`].
    pub fn mark(&self, batch: &RecordBatch) {
        if self.consumer.has_group {
            let link = &self.consumer.link;
            link.mark(&batch.topic, batch.partition, batch.next_offset(), batch.leader_epoch());
        }
    }

    /// The consumer, to seek, pause, commit, ask for lag, or close.
    pub const fn consumer(&mut self) -> &mut Consumer {
        &mut self.consumer
    }

    /// The consumer, to read records again.
    #[must_use]
    pub fn into_consumer(self) -> Consumer {
        self.consumer
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch, ClientError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().consumer.poll_batch(context)
    }
}

impl IntoTopics for &str {
    fn into_topics(self) -> Vec<Arc<str>> {
        vec![self.into()]
    }
}

impl IntoTopics for String {
    fn into_topics(self) -> Vec<Arc<str>> {
        vec![self.into()]
    }
}

impl IntoTopics for &String {
    fn into_topics(self) -> Vec<Arc<str>> {
        vec![self.as_str().into()]
    }
}

impl IntoTopics for Arc<str> {
    fn into_topics(self) -> Vec<Arc<str>> {
        vec![self]
    }
}

impl<T: Into<Arc<str>>, const N: usize> IntoTopics for [T; N] {
    fn into_topics(self) -> Vec<Arc<str>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<Arc<str>>> IntoTopics for Vec<T> {
    fn into_topics(self) -> Vec<Arc<str>> {
        self.into_iter().map(Into::into).collect()
    }
}

fn not_assigned(topic: &Arc<str>, partition: u32) -> ClientError {
    ClientError::caller(CallerProblem::NotAssigned, Place::partition(topic, partition))
}
