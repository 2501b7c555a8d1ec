//! The background task of a client: it owns the brain and every connection, and carries out what the brain decides.
//!
//! One task, polled as a whole, instead of a task per connection: a request then costs two wake-ups in all (the task's by
//! the caller, the caller's by the task) and nothing but the producers' accumulators is locked.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use client_core::error::ClientError;
use client_core::{
    Action, Address, Answer, CallId, ClientBrain, ClientOptions, ConnectionId, ConsumerEvent, ConsumerHandle,
    Environment, Metrics, ProducerHandle,
};
use futures_util::task::AtomicWaker;
use log_core::{MonoTime, Now};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Sleep;
use tracing::Instrument;

pub(crate) use clock::{Ahead, Clock};
use link::{Link, LinkEvent};
pub(crate) use remote::{ConsumerLink, ConsumerShared, Remote};

use crate::producer::ProducerShared;
use crate::transport::Connector;

mod clock;
mod link;
mod remote;
mod trace;

/// Frames taken from one connection before the others get their turn.
const FRAMES_PER_TURN: usize = 16;

/// What handles ask of the driving task.
#[derive(Debug)]
pub(crate) enum Command {
    Bootstrap(Reply),
    OpenProducer(ProducerHandle, client_core::ProducerOptions, Arc<ProducerShared>),
    ReleaseProducer(ProducerHandle),
    OpenConsumer(ConsumerHandle, client_core::ConsumerOptions, ConsumerEnd, Reply),
    Seek(ConsumerHandle, client_core::SeekTo),
    SetPaused(ConsumerHandle, Arc<str>, u32, bool),
    Stop(ConsumerHandle, Arc<str>, u32),
    Commit(ConsumerHandle, Reply),
    CloseConsumer(ConsumerHandle, Option<Reply>),
    /// With its time limit; none is the client's call timeout.
    Admin(client_core::admin::AdminCall, Option<Duration>, Reply),
    Close(Reply),
}

/// Where a call's answer goes.
pub(crate) type Reply = oneshot::Sender<Result<Answer, ClientError>>;

/// The driving task's side of a consumer.
#[derive(Debug)]
pub(crate) struct ConsumerEnd {
    pub(crate) events: mpsc::UnboundedSender<ConsumerEvent>,
    pub(crate) shared: Weak<ConsumerShared>,
}

/// The driving task's side of a producer.
struct ProducerEnd {
    shared: Arc<ProducerShared>,
    pull: bool,
    /// No handle is left: the end of its records is the end of it.
    is_released: bool,
}

struct Driver {
    brain: ClientBrain,
    clock: Clock,
    connector: Arc<dyn Connector>,
    commands: mpsc::UnboundedReceiver<Command>,
    links: BTreeMap<ConnectionId, Link>,
    producers: BTreeMap<ProducerHandle, ProducerEnd>,
    consumers: BTreeMap<ConsumerHandle, ConsumerEnd>,
    calls: BTreeMap<CallId, Reply>,
    next_call: u64,
    frame_bytes_max: usize,
    timer: Pin<Box<Sleep>>,
    timer_at: Option<MonoTime>,
    waker: Arc<AtomicWaker>,
    metrics: Arc<Mutex<Metrics>>,
    closing: Option<Closing>,
}

/// The client was closed, or its last handle dropped.
#[derive(Default)]
struct Closing {
    replies: Vec<Reply>,
    consumers_told: bool,
}

/// Starts the background task of a client on the current runtime.
pub(crate) fn spawn(
    options: ClientOptions,
    bootstrap: Vec<Address>,
    connector: Arc<dyn Connector>,
) -> Remote {
    let (sender, commands) = mpsc::unbounded_channel();
    let (clock, seed) = (Clock::start(), clock::seed());
    let environment = Environment { seed, codecs: compression::CODECS, crc: crc32c::crc32c_append };
    let (waker, metrics) = (Arc::new(AtomicWaker::new()), Arc::new(Mutex::new(Metrics::default())));
    let (frame_bytes_max, client_id) = (options.frame_bytes_max, Arc::clone(&options.client_id));
    let driver = Driver {
        brain: ClientBrain::new(options, bootstrap, environment),
        clock,
        connector,
        commands,
        links: BTreeMap::new(),
        producers: BTreeMap::new(),
        consumers: BTreeMap::new(),
        calls: BTreeMap::new(),
        next_call: 0,
        frame_bytes_max,
        timer: Box::pin(tokio::time::sleep_until(clock.instant(MonoTime(0)))),
        timer_at: None,
        waker: Arc::clone(&waker),
        metrics: Arc::clone(&metrics),
        closing: None,
    };
    tokio::spawn(driver.instrument(tracing::info_span!("highwater_client", %client_id)));
    Remote::new(sender, waker, metrics, clock, environment)
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.waker.register(context.waker());
        loop {
            let now = this.clock.now();
            let mut progress = this.poll_commands(now, context);
            progress |= this.poll_links(now, context);
            progress |= this.poll_shared(now);
            progress |= this.poll_timer(now, context);
            progress |= this.act(now);
            progress |= this.close_consumers(now);
            if !progress {
                break;
            }
        }
        this.publish_metrics();
        if this.is_finished() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Driver {
    fn poll_commands(&mut self, now: Now, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        loop {
            match self.commands.poll_recv(context) {
                Poll::Pending => return progress,
                Poll::Ready(Some(command)) => self.on_command(now, command),
                // No handle is left.
                Poll::Ready(None) if self.closing.is_some() => return progress,
                Poll::Ready(None) => self.begin_closing(None),
            }
            progress = true;
        }
    }

    fn on_command(&mut self, now: Now, command: Command) {
        match command {
            Command::Bootstrap(reply) => {
                let call = self.new_call(reply);
                self.brain.bootstrap(now, call);
            }
            Command::OpenProducer(handle, options, shared) => {
                self.brain.open_producer(now, handle, options);
                self.producers.insert(handle, ProducerEnd { shared, pull: true, is_released: false });
            }
            Command::ReleaseProducer(handle) => {
                if let Some(producer) = self.producers.get_mut(&handle) {
                    producer.shared.lock().accumulator.close();
                    producer.is_released = true;
                    producer.pull = true;
                }
            }
            Command::OpenConsumer(handle, options, end, reply) => {
                let call = self.new_call(reply);
                self.consumers.insert(handle, end);
                self.brain.open_consumer(now, handle, options, call);
            }
            Command::Seek(handle, to) => self.brain.seek(now, handle, to),
            Command::SetPaused(handle, topic, partition, paused) => {
                self.brain.set_paused(now, handle, &topic, partition, paused);
            }
            Command::Stop(handle, topic, partition) => self.brain.stop(now, handle, &topic, partition),
            Command::Commit(handle, reply) => {
                self.collect_consumer(now, handle);
                let call = self.new_call(reply);
                self.brain.commit(now, handle, call);
            }
            Command::CloseConsumer(handle, reply) => {
                self.collect_consumer(now, handle);
                let call = reply.map(|reply| self.new_call(reply));
                self.brain.close_consumer(now, handle, call);
                self.consumers.remove(&handle);
            }
            Command::Admin(question, limit, reply) => {
                let call = self.new_call(reply);
                self.brain.admin_within(now, call, question, limit);
            }
            Command::Close(reply) => self.begin_closing(Some(reply)),
        }
    }

    fn new_call(&mut self, reply: Reply) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        self.calls.insert(call, reply);
        call
    }

    fn poll_links(&mut self, now: Now, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        let mut broken = Vec::new();
        for (connection, link) in &mut self.links {
            for _ in 0..FRAMES_PER_TURN {
                match link.poll(context) {
                    Poll::Pending => break,
                    Poll::Ready(LinkEvent::Connected) => {
                        tracing::debug!(connection = connection.0, "connected");
                        self.brain.handle_connected(now, *connection);
                    }
                    Poll::Ready(LinkEvent::Frame(frame)) => {
                        trace::answer(*connection, &frame);
                        self.brain.handle_frame(now, *connection, frame);
                    }
                    Poll::Ready(LinkEvent::Broken { cause, was_open }) => {
                        tracing::debug!(connection = connection.0, %cause, was_open, "connection broken");
                        broken.push(*connection);
                        if was_open {
                            self.brain.handle_closed(now, *connection, cause);
                        } else {
                            self.brain.handle_connection_failed(now, *connection, cause);
                        }
                        break;
                    }
                }
                progress = true;
            }
        }
        for connection in &broken {
            self.links.remove(connection);
        }
        progress || !broken.is_empty()
    }

    /// What producers and consumers have left for this task without a message.
    fn poll_shared(&mut self, now: Now) -> bool {
        let mut progress = false;
        for (handle, producer) in &mut self.producers {
            let asked = producer.shared.take_dirty() || std::mem::take(&mut producer.pull);
            if asked {
                self.brain.pull(now, *handle, &mut producer.shared.lock().accumulator);
                progress = true;
            }
        }
        let dirty: Vec<ConsumerHandle> = self
            .consumers
            .iter()
            .filter(|(_, end)| end.shared.upgrade().is_some_and(|shared| shared.take_dirty()))
            .map(|(handle, _)| *handle)
            .collect();
        for handle in dirty {
            self.collect_consumer(now, handle);
            progress = true;
        }
        progress
    }

    /// Takes over what a consumer has read and marked.
    fn collect_consumer(&mut self, now: Now, handle: ConsumerHandle) {
        let Some(shared) = self.consumers.get(&handle).and_then(|end| end.shared.upgrade()) else { return };
        let consumed = shared.take_consumed();
        if consumed > 0 {
            self.brain.consumed(now, handle, consumed);
        }
        for ((topic, partition), (offset, leader_epoch)) in shared.take_marks() {
            self.brain.mark(handle, topic, partition, offset, leader_epoch);
        }
    }

    /// What is due is looked at before the next moment is named: a batch whose linger is over would name the end of its
    /// time instead.
    fn poll_timer(&mut self, now: Now, context: &mut Context<'_>) -> bool {
        if self.timer_at.is_some_and(|at| at <= now.mono) {
            self.timer_at = None;
            self.brain.handle_timeout(now);
            self.producers.values_mut().for_each(|producer| producer.pull = true);
            return true;
        }
        let lingering =
            self.producers.values().filter_map(|end| end.shared.lock().accumulator.poll_timeout(now.mono));
        let due = lingering.chain(self.brain.poll_timeout()).min();
        if self.timer_at != due {
            self.timer_at = due;
            self.timer.as_mut().reset(self.clock.instant(due.unwrap_or(MonoTime(u64::MAX))));
        }
        // Registers for the wake-up; a moment that has come while this was done is seen in the next round.
        due.is_some() && self.timer.as_mut().poll(context).is_ready()
    }

    fn act(&mut self, now: Now) -> bool {
        let mut progress = false;
        while let Some(action) = self.brain.poll_action() {
            progress = true;
            match action {
                Action::Connect { connection, address } => {
                    tracing::debug!(connection = connection.0, %address, "connecting");
                    let link = Link::new(self.connector.connect(address), self.frame_bytes_max);
                    self.links.insert(connection, link);
                }
                Action::Send { connection, frame } => {
                    if let Some(link) = self.links.get_mut(&connection) {
                        trace::request(connection, &frame);
                        link.send(frame);
                    }
                }
                Action::Close { connection } => {
                    self.links.remove(&connection);
                }
                Action::Delivered { producer, delivery } => {
                    if let Some(end) = self.producers.get(&producer) {
                        end.shared.complete(delivery);
                    }
                }
                Action::Pull { producer } => {
                    if let Some(end) = self.producers.get_mut(&producer) {
                        end.pull = true;
                    }
                }
                Action::ProducerChanged { producer } => {
                    if let Some(end) = self.producers.get(&producer) {
                        end.shared.notify();
                    }
                }
                Action::Consumer { consumer, event } => {
                    if let Some(end) = self.consumers.get(&consumer) {
                        // A consumer that is gone has sent its `CloseConsumer` already.
                        let _ = end.events.send(event);
                    }
                }
                Action::Answered { call, result } => {
                    if let Some(reply) = self.calls.remove(&call) {
                        let _ = reply.send(result);
                    }
                }
            }
        }
        progress |= self.release_producers(now);
        progress
    }

    /// Producers without a handle and without a record.
    fn release_producers(&mut self, now: Now) -> bool {
        let over: Vec<ProducerHandle> = self
            .producers
            .iter()
            .filter(|(_, end)| end.is_released && end.shared.is_idle())
            .map(|(handle, _)| *handle)
            .collect();
        for handle in &over {
            self.brain.close_producer(now, *handle);
            self.producers.remove(handle);
        }
        !over.is_empty()
    }

    fn publish_metrics(&self) {
        let mut metrics = self.brain.metrics();
        for end in self.producers.values() {
            metrics.producer_buffer_bytes += end.shared.lock().accumulator.used_bytes() as u64;
        }
        *self.metrics.lock().unwrap_or_else(PoisonError::into_inner) = metrics;
    }

    fn begin_closing(&mut self, reply: Option<Reply>) {
        self.closing.get_or_insert_default().replies.extend(reply);
        for end in self.producers.values_mut() {
            end.shared.lock().accumulator.close();
            end.pull = true;
        }
    }

    /// On the way out, consumers leave their groups when producers have delivered what they held.
    fn close_consumers(&mut self, now: Now) -> bool {
        let delivered = self.producers.values().all(|end| end.shared.is_idle());
        match &mut self.closing {
            Some(closing) if delivered && !closing.consumers_told => closing.consumers_told = true,
            _ => return false,
        }
        for handle in self.consumers.keys().copied().collect::<Vec<_>>() {
            self.collect_consumer(now, handle);
            self.brain.close_consumer(now, handle, None);
            self.consumers.remove(&handle);
        }
        true
    }

    fn is_finished(&self) -> bool {
        let told = self.closing.as_ref().is_some_and(|closing| closing.consumers_told);
        told && !self.brain.is_leaving() && !self.links.values().any(Link::is_writing)
    }
}

/// The end of the task, also when its runtime is shut down: whoever waits is told.
impl Drop for Driver {
    fn drop(&mut self) {
        let mut first_failure = None;
        for end in self.producers.values() {
            first_failure = first_failure.or(end.shared.fail_all());
        }
        for reply in self.closing.take().into_iter().flat_map(|closing| closing.replies) {
            // Who does not wait any more does not need the answer.
            let _ = reply.send(first_failure.clone().map_or(Ok(Answer::Done), Err));
        }
        for (_, reply) in std::mem::take(&mut self.calls) {
            let _ = reply.send(Err(ClientError::Closed));
        }
    }
}
