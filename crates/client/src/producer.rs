//! The producer: accepts records, and tells what became of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client_core::error::{CallerProblem, ClientError, Place, Waiting};
use client_core::{
    Accumulator, Ack, Acks, Appended, BatchId, Delivery, ProducerHandle, ProducerOptions, Record, Refused,
};
use futures_util::task::AtomicWaker;
use log_core::Compression;
use tokio::sync::Notify;

use crate::driver::{Ahead, Clock, Remote};
use crate::pending::{BatchCell, Pending};

/// Settings of a producer, made by [`Client::producer`](crate::Client::producer).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct ProducerBuilder {
    remote: Arc<Remote>,
    options: ProducerOptions,
}

/// Produces records. Cheap to clone and to share; records of all clones share batches.
///
/// With the default options it is idempotent: a record is neither lost nor doubled by retries, and records of one
/// partition keep the order in which they were accepted.
#[derive(Clone, Debug)]
pub struct Producer {
    handles: Arc<Handles>,
}

/// Shared by all clones; the last one lets the driving task go.
#[derive(Debug)]
struct Handles {
    shared: Arc<ProducerShared>,
    remote: Arc<Remote>,
    handle: ProducerHandle,
}

/// Why [`Producer::try_enqueue`] did not take a record; the record comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryEnqueueError {
    /// The record.
    pub record: Record,
    /// The reason: `BUFFER_FULL` and `TOPIC_NOT_READY` pass by themselves.
    pub error: ClientError,
}

impl ProducerBuilder {
    pub(crate) fn new(remote: Arc<Remote>) -> Self {
        Self { remote, options: ProducerOptions::default() }
    }

    /// When a record counts as delivered. Default [`Acks::All`]; anything else switches idempotence off.
    pub const fn acks(mut self, acks: Acks) -> Self {
        self.options.acks = acks;
        self
    }

    /// Whether brokers drop what is sent twice, which also keeps the order. Default true.
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.options.idempotent = idempotent;
        self
    }

    /// How batches are compressed. Default not at all.
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.options.compression = compression;
        self
    }

    /// How long a batch waits for more records. Even with zero, the default, records that arrive while the connection
    /// is busy share a batch.
    pub const fn linger(mut self, linger: Duration) -> Self {
        self.options.linger = linger;
        self
    }

    /// The most bytes in one batch, before compression; a larger record is refused. Topics allow 1,048,588 by default
    /// (`max.message.bytes`). Default 1,000,000.
    pub const fn batch_bytes_max(mut self, bytes: usize) -> Self {
        self.options.batch_bytes_max = bytes;
        self
    }

    /// The most bytes (keys, values, headers and overhead) of records that are not yet delivered. Default 64 MiB.
    pub const fn buffer_bytes_max(mut self, bytes: usize) -> Self {
        self.options.buffer_bytes_max = bytes;
        self
    }

    /// How long a record may take from being accepted to being delivered, with all retries. Default 2 min.
    pub const fn delivery_timeout(mut self, timeout: Duration) -> Self {
        self.options.delivery_timeout = timeout;
        self
    }

    /// The most produce requests on their way to one broker: 1 to 5. Default 5.
    pub const fn in_flight_max(mut self, requests: usize) -> Self {
        self.options.in_flight_max = requests;
        self
    }

    /// Whether brokers may create a topic that does not exist, if they are configured to. Default true.
    pub const fn auto_create_topics(mut self, allowed: bool) -> Self {
        self.options.auto_create_topics = allowed;
        self
    }

    /// Makes the producer. Nothing is sent yet.
    ///
    /// # Errors
    /// When options do not fit together, or the client is closed.
    pub fn build(self) -> Result<Producer, ClientError> {
        let options = self.options.checked()?;
        let shared = Arc::new(ProducerShared::new(&self.remote, &options));
        let handle = self.remote.open_producer(options, &shared)?;
        Ok(Producer { handles: Arc::new(Handles { shared, remote: self.remote, handle }) })
    }
}

impl Producer {
    /// Produces a record and waits for its acknowledgement.
    ///
    /// Dropping the future before the record is accepted (there may be no room, or the topic not known yet) means it
    /// is never sent; afterwards it is delivered, or fails, in the background. It is never sent twice.
    ///
    /// # Errors
    /// When the record is refused, cannot be delivered within the delivery timeout, or its outcome is unknown.
    pub async fn send(&self, record: Record) -> Result<Ack, ClientError> {
        self.enqueue(record).await?.await
    }

    /// Accepts a record: waits only while the buffer is full or the topic's partitions are not known. The result is
    /// the future of its acknowledgement. Records of one caller are accepted in the order of its calls.
    ///
    /// Dropping the future before it is done means the record is not sent.
    ///
    /// # Errors
    /// When the record is refused, or the topic does not become known within the delivery timeout.
    pub async fn enqueue(&self, record: Record) -> Result<Pending, ClientError> {
        match self.handles.shared.append(&record) {
            Ok(pending) => Ok(pending),
            Err(Refused::Error(error)) => Err(error),
            Err(_) => self.handles.shared.append_when_possible(&record).await,
        }
    }

    /// Accepts a record, or says at once why not.
    ///
    /// # Errors
    /// The record itself and the reason.
    #[allow(clippy::result_large_err, reason = "the record is given back")]
    pub fn try_enqueue(&self, record: Record) -> Result<Pending, TryEnqueueError> {
        let limit = self.handles.shared.buffer_bytes_max;
        self.handles.shared.append(&record).map_err(|refused| {
            let error = match refused {
                Refused::Error(error) => error,
                Refused::AwaitRoom => {
                    ClientError::caller(CallerProblem::BufferFull { limit }, Place::NOWHERE)
                }
                Refused::AwaitTopic => {
                    ClientError::caller(CallerProblem::TopicNotReady, Place::topic(&record.topic))
                }
            };
            TryEnqueueError { record, error }
        })
    }

    /// Sends what is there without lingering and waits until every record accepted before this call is delivered or
    /// has failed. Dropping the future changes nothing about that.
    ///
    /// # Errors
    /// The first failure of any record since the last `flush`, whether or not somebody waited for that record.
    pub async fn flush(&self) -> Result<(), ClientError> {
        self.handles.shared.flush().await
    }

    /// Like [`flush`](Self::flush); afterwards the producer and all its clones take no records.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn close(self) -> Result<(), ClientError> {
        self.handles.shared.lock().accumulator.close();
        self.handles.shared.flush().await
    }

    /// Bytes of records that are accepted and not yet delivered, of those that the buffer may hold.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.handles.shared.lock().accumulator.used_bytes()
    }
}

/// What the handles and the driving task share of one producer.
#[derive(Debug)]
pub(crate) struct ProducerShared {
    clock: Clock,
    buffer_bytes_max: usize,
    delivery_timeout: Duration,
    state: Mutex<ProducerState>,
    /// Set by callers, cleared by the driving task before it looks.
    dirty: AtomicBool,
    driver: Arc<AtomicWaker>,
    /// Room, topics or deliveries have changed.
    changed: Notify,
}

/// Behind the lock. It is held for one record, or for taking batches out, never while compressing or sending.
#[derive(Debug)]
pub(crate) struct ProducerState {
    pub(crate) accumulator: Accumulator,
    cells: BTreeMap<BatchId, Open>,
    first_failure: Option<ClientError>,
    ahead: Ahead,
}

#[derive(Debug)]
struct Open {
    cell: Arc<BatchCell>,
    records: u32,
    done: u32,
}

impl ProducerShared {
    fn new(remote: &Remote, options: &ProducerOptions) -> Self {
        let accumulator = Accumulator::new(options, remote.seed());
        let state = ProducerState {
            accumulator,
            cells: BTreeMap::new(),
            first_failure: None,
            ahead: Ahead::default(),
        };
        Self {
            clock: remote.clock(),
            buffer_bytes_max: options.buffer_bytes_max,
            delivery_timeout: options.delivery_timeout,
            state: Mutex::new(state),
            dirty: AtomicBool::new(false),
            driver: remote.driver_waker(),
            changed: Notify::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ProducerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once after callers have asked for the driving task.
    pub(crate) fn take_dirty(&self) -> bool {
        self.dirty.swap(false, Ordering::AcqRel)
    }

    /// Someone who waits for room, a topic or a flush may look again.
    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Some records of a batch are done.
    pub(crate) fn complete(&self, delivery: Delivery) {
        self.lock().complete(delivery);
        self.notify();
    }

    /// Whether nothing is waiting or on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().cells.is_empty()
    }

    /// The driving task is gone: whoever waits is told. Gives the first failure that nobody has asked for yet.
    pub(crate) fn fail_all(&self) -> Option<ClientError> {
        let mut state = self.lock();
        state.fail_all();
        let first = state.first_failure.clone();
        drop(state);
        self.notify();
        first
    }

    fn wake_driver(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            self.driver.wake();
        }
    }

    fn append(&self, record: &Record) -> Result<Pending, Refused> {
        let mono = self.clock.mono();
        let (result, wake) = {
            let mut state = self.lock();
            let now = state.ahead.at(mono);
            let result = state.append(now, record);
            let wake = !matches!(result, Ok((_, false)) | Err(Refused::AwaitRoom));
            (result, wake)
        };
        if wake {
            self.wake_driver();
        }
        result.map(|(pending, _)| pending)
    }

    async fn append_when_possible(&self, record: &Record) -> Result<Pending, ClientError> {
        let deadline = tokio::time::Instant::now() + self.delivery_timeout;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.append(record) {
                Ok(pending) => return Ok(pending),
                Err(Refused::Error(error)) => return Err(error),
                Err(Refused::AwaitRoom | Refused::AwaitTopic) => {}
            }
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                return Err(self.timed_out(&record.topic));
            }
        }
    }

    fn timed_out(&self, topic: &Arc<str>) -> ClientError {
        let (waiting, place) = (Waiting::Metadata, Place::topic(topic));
        ClientError::TimedOut { waiting, after: self.delivery_timeout, cause: None, place }
    }

    async fn flush(&self) -> Result<(), ClientError> {
        let upto = {
            let mut state = self.lock();
            state.accumulator.flush();
            state.accumulator.next_batch()
        };
        self.wake_driver();
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let mut state = self.lock();
                let done = state.cells.keys().next().is_none_or(|oldest| *oldest >= upto);
                if done {
                    return state.first_failure.take().map_or(Ok(()), Err);
                }
            }
            changed.await;
        }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.remote.release_producer(self.handle);
    }
}

impl ProducerState {
    fn append(&mut self, now: log_core::Now, record: &Record) -> Result<(Pending, bool), Refused> {
        let Appended { batch, index, partition, timestamp, wake, .. } =
            self.accumulator.append(now, record)?;
        let open =
            self.cells.entry(batch).or_insert_with(|| Open { cell: Arc::default(), records: 0, done: 0 });
        open.records += 1;
        Ok((Pending { cell: Arc::clone(&open.cell), index, partition, timestamp }, wake))
    }

    /// Some records of a batch are done.
    fn complete(&mut self, delivery: Delivery) {
        self.accumulator.release(delivery.bytes);
        if let (Err(error), None) = (&delivery.result, &self.first_failure) {
            self.first_failure = Some(error.clone());
        }
        let Some(open) = self.cells.get_mut(&delivery.batch) else { return };
        let cell = Arc::clone(&open.cell);
        open.done += delivery.count;
        if open.done >= open.records {
            self.cells.remove(&delivery.batch);
        }
        cell.complete(delivery);
    }

    /// The driving task is gone: nothing that is still here will be delivered, as far as anybody can know.
    fn fail_all(&mut self) {
        self.accumulator.close();
        for (batch, open) in std::mem::take(&mut self.cells) {
            let error = ClientError::UnknownOutcome {
                cause: Some(Box::new(ClientError::Closed)),
                place: Place::NOWHERE,
            };
            self.first_failure.get_or_insert(error.clone());
            open.cell.complete(Delivery {
                batch,
                first: 0,
                count: open.records,
                bytes: 0,
                result: Err(error),
            });
        }
    }
}

impl std::fmt::Display for TryEnqueueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for TryEnqueueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
