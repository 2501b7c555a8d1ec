//! The handles' side of the driving task: commands go over a channel, counts and marks over shared memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client_core::admin::{AdminAnswer, AdminCall, OffsetSpec, PartitionOffset};
use client_core::error::ClientError;
use client_core::{
    Answer, ConsumerEvent, ConsumerHandle, ConsumerOptions, Environment, FetchBuffer, Metrics,
    ProducerHandle, ProducerOptions, SeekTo, Start,
};
use futures_util::task::AtomicWaker;
use tokio::sync::{mpsc, oneshot};

use super::clock::{self, Clock};
use super::{Command, ConsumerEnd, Reply};
use crate::producer::ProducerShared;

/// Reaches the driving task.
pub(crate) struct Remote {
    commands: mpsc::UnboundedSender<Command>,
    driver: Arc<AtomicWaker>,
    metrics: Arc<Mutex<Metrics>>,
    clock: Clock,
    environment: Environment,
    handles: AtomicU32,
}

/// Positions that are dealt with, by topic and partition: the next offset and the last record's leader epoch.
type Marks = BTreeMap<(Arc<str>, u32), (i64, i32)>;

/// What a consumer tells the driving task without a message for each record.
#[derive(Debug, Default)]
pub(crate) struct ConsumerShared {
    consumed_bytes: AtomicUsize,
    marks: Mutex<Marks>,
    /// Set with a wake-up.
    dirty: AtomicBool,
    /// Set without one: marks can wait until the task is up for another reason.
    is_marked: AtomicBool,
}

/// A consumer's way to the driving task; dropped, it closes the consumer.
#[derive(Debug)]
pub(crate) struct ConsumerLink {
    remote: Arc<Remote>,
    handle: ConsumerHandle,
    shared: Arc<ConsumerShared>,
    is_closed: bool,
}

impl Remote {
    pub(super) const fn new(
        commands: mpsc::UnboundedSender<Command>,
        driver: Arc<AtomicWaker>,
        metrics: Arc<Mutex<Metrics>>,
        clock: Clock,
        environment: Environment,
    ) -> Self {
        Self { commands, driver, metrics, clock, environment, handles: AtomicU32::new(0) }
    }

    pub(crate) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn driver_waker(&self) -> Arc<AtomicWaker> {
        Arc::clone(&self.driver)
    }

    pub(crate) fn seed(&self) -> u64 {
        clock::seed()
    }

    pub(crate) fn metrics(&self) -> Metrics {
        *self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn bootstrap(&self) -> Result<(), ClientError> {
        self.ask(Command::Bootstrap).await.map(drop)
    }

    pub(crate) async fn close(&self) -> Result<(), ClientError> {
        self.ask(Command::Close).await.map(drop)
    }

    pub(crate) fn open_producer(
        &self,
        options: ProducerOptions,
        shared: &Arc<ProducerShared>,
    ) -> Result<ProducerHandle, ClientError> {
        let handle = ProducerHandle(self.next_handle());
        self.tell(Command::OpenProducer(handle, options, Arc::clone(shared)))?;
        Ok(handle)
    }

    pub(crate) fn release_producer(&self, handle: ProducerHandle) {
        // A task that is gone has nothing to release.
        let _ = self.tell(Command::ReleaseProducer(handle));
    }

    pub(crate) fn fetch_buffer(&self, options: &ConsumerOptions) -> FetchBuffer {
        FetchBuffer::new(options, self.environment.codecs, self.environment.crc)
    }

    pub(crate) async fn open_consumer(
        remote: &Arc<Self>,
        options: ConsumerOptions,
    ) -> Result<(ConsumerLink, mpsc::UnboundedReceiver<ConsumerEvent>), ClientError> {
        let handle = ConsumerHandle(remote.next_handle());
        let shared = Arc::new(ConsumerShared::default());
        let (events, receiver) = mpsc::unbounded_channel();
        let end = ConsumerEnd { events, shared: Arc::downgrade(&shared) };
        let link = ConsumerLink { remote: Arc::clone(remote), handle, shared, is_closed: false };
        remote.ask(|reply| Command::OpenConsumer(handle, options, end, reply)).await?;
        Ok((link, receiver))
    }

    pub(crate) async fn admin(
        &self,
        call: AdminCall,
        limit: Option<Duration>,
    ) -> Result<AdminAnswer, ClientError> {
        match self.ask(|reply| Command::Admin(call, limit, reply)).await? {
            Answer::Admin(answer) => Ok(answer),
            Answer::Done => Ok(AdminAnswer::Done),
        }
    }

    pub(crate) async fn list_offsets(
        &self,
        asked: Vec<(Arc<str>, u32, OffsetSpec)>,
        limit: Option<Duration>,
    ) -> Result<Vec<Result<PartitionOffset, ClientError>>, ClientError> {
        match self.admin(AdminCall::ListOffsets(asked), limit).await? {
            AdminAnswer::Offsets(offsets) => Ok(offsets),
            _ => Err(ClientError::Closed),
        }
    }

    fn next_handle(&self) -> u32 {
        self.handles.fetch_add(1, Ordering::Relaxed)
    }

    fn tell(&self, command: Command) -> Result<(), ClientError> {
        self.commands.send(command).map_err(|_| ClientError::Closed)
    }

    async fn ask(&self, command: impl FnOnce(Reply) -> Command) -> Result<Answer, ClientError> {
        let (reply, answer) = oneshot::channel();
        self.tell(command(reply))?;
        answer.await.unwrap_or(Err(ClientError::Closed))
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

impl ConsumerShared {
    /// True once after something was left here.
    pub(super) fn take_dirty(&self) -> bool {
        self.dirty.swap(false, Ordering::AcqRel) | self.is_marked.swap(false, Ordering::AcqRel)
    }

    pub(super) fn take_consumed(&self) -> usize {
        self.consumed_bytes.swap(0, Ordering::AcqRel)
    }

    pub(super) fn take_marks(&self) -> Marks {
        std::mem::take(&mut *self.marks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ConsumerLink {
    pub(crate) const fn remote(&self) -> &Arc<Remote> {
        &self.remote
    }

    /// Costs a short lock; the driving task looks at it when it is up for another reason.
    pub(crate) fn mark(&self, topic: &Arc<str>, partition: u32, next: i64, leader_epoch: i32) {
        let mut marks = self.shared.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = marks.entry((Arc::clone(topic), partition)).or_insert((next, leader_epoch));
        if mark.0 <= next {
            *mark = (next, leader_epoch);
        }
        self.shared.is_marked.store(true, Ordering::Release);
    }

    pub(crate) fn consumed(&self, bytes: usize) {
        self.shared.consumed_bytes.fetch_add(bytes, Ordering::AcqRel);
        if !self.shared.dirty.swap(true, Ordering::AcqRel) {
            self.remote.driver.wake();
        }
    }

    pub(crate) async fn commit(&self) -> Result<(), ClientError> {
        self.remote.ask(|reply| Command::Commit(self.handle, reply)).await.map(drop)
    }

    pub(crate) fn seek(&self, topic: Arc<str>, partition: u32, to: Start, generation: u32) {
        self.tell(Command::Seek(self.handle, SeekTo { topic, partition, to, generation }));
    }

    pub(crate) fn set_paused(&self, topic: Arc<str>, partition: u32, paused: bool) {
        self.tell(Command::SetPaused(self.handle, topic, partition, paused));
    }

    pub(crate) fn stop(&self, topic: Arc<str>, partition: u32) {
        self.tell(Command::Stop(self.handle, topic, partition));
    }

    pub(crate) async fn close(mut self) -> Result<(), ClientError> {
        self.is_closed = true;
        self.remote.ask(|reply| Command::CloseConsumer(self.handle, Some(reply))).await.map(drop)
    }

    fn tell(&self, command: Command) {
        // A closed client says so at the next read.
        let _ = self.remote.tell(command);
    }
}

impl Drop for ConsumerLink {
    fn drop(&mut self) {
        if !self.is_closed {
            self.tell(Command::CloseConsumer(self.handle, None));
        }
    }
}
