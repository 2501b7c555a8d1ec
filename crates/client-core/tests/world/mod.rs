//! A client and a cluster in virtual time: the brain with its accumulators and fetch buffers on one side, brokers that do
//! what a script says on the other. Nothing sleeps; a run is a function of its seed.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    missing_docs,
    reason = "each story uses a part of the world"
)]
#![allow(clippy::indexing_slicing, clippy::type_complexity, reason = "a test may panic")]

pub mod broker;
pub mod groups;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use highwater_client_core::{
    Accumulator, Ack, Action, Address, Answer, CallId, ClientBrain, ClientError, ClientOptions, ConnectionId,
    ConsumedRecord, ConsumerHandle, ConsumerOptions, Delivery, Environment, FetchBuffer, NetworkCause,
    ProducerHandle, ProducerOptions, Record, Refused, Start, Subscription,
};
use log_core::{Codecs, MonoTime, Now, Timestamp};

pub use broker::{Cluster, Fault, Reply};

/// One way between client and broker.
const LATENCY: Duration = Duration::from_micros(500);

/// Wall-clock time at the start of every run, in milliseconds since 1970.
const EPOCH_MS: i64 = 1_700_000_000_000;

pub struct World {
    pub brain: ClientBrain,
    pub cluster: Cluster,
    pub now: MonoTime,
    environment: Environment,
    producers: BTreeMap<ProducerHandle, FakeProducer>,
    consumers: BTreeMap<ConsumerHandle, FetchBuffer>,
    answers: BTreeMap<CallId, Result<Answer, ClientError>>,
    connections: BTreeMap<ConnectionId, i32>,
    events: Vec<(MonoTime, u64, Event)>,
    next_event: u64,
    next_call: u64,
    next_handle: u32,
    stood_still: u32,
    /// Addresses that refuse connections.
    pub dead: BTreeSet<i32>,
    /// Addresses that take connections and never say anything.
    pub mute: BTreeSet<i32>,
    /// Every address ever connected to.
    pub dialled: Vec<Address>,
}

struct FakeProducer {
    accumulator: Accumulator,
    /// Where each record went, by its own number.
    places: Vec<(highwater_client_core::BatchId, u32, u32, i64)>,
    deliveries: Vec<Delivery>,
    pull: bool,
}

#[derive(Debug)]
enum Event {
    Connected(ConnectionId),
    Refused(ConnectionId),
    Request(ConnectionId, Bytes),
    Response(ConnectionId, Bytes),
    Closed(ConnectionId),
}

impl World {
    pub fn new(seed: u64, brokers: i32) -> Self {
        Self::with(seed, brokers, ClientOptions::default())
    }

    pub fn with(seed: u64, brokers: i32, options: ClientOptions) -> Self {
        let environment = Environment { seed, codecs: Codecs::PLAIN, crc: crc32c::crc32c_append };
        let bootstrap =
            (1..=brokers).map(|id| Address::parse(&format!("b{id}:9092")).expect("parses")).collect();
        Self {
            brain: ClientBrain::new(options, bootstrap, environment),
            cluster: Cluster::new(brokers),
            now: MonoTime(0),
            environment,
            producers: BTreeMap::new(),
            consumers: BTreeMap::new(),
            answers: BTreeMap::new(),
            connections: BTreeMap::new(),
            events: Vec::new(),
            next_event: 0,
            next_call: 0,
            next_handle: 0,
            stood_still: 0,
            dead: BTreeSet::new(),
            mute: BTreeSet::new(),
            dialled: Vec::new(),
        }
    }

    pub fn clocks(&self) -> Now {
        let ms = i64::try_from(self.now.0 / 1_000_000).expect("short runs");
        Now { mono: self.now, wall: Timestamp(EPOCH_MS + ms) }
    }

    pub fn call(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call)
    }

    pub fn producer(&mut self, options: ProducerOptions) -> ProducerHandle {
        let options = options.checked().expect("fits");
        self.next_handle += 1;
        let handle = ProducerHandle(self.next_handle);
        let accumulator = Accumulator::new(&options, self.environment.seed);
        self.brain.open_producer(self.clocks(), handle, options);
        let producer = FakeProducer { accumulator, places: Vec::new(), deliveries: Vec::new(), pull: true };
        self.producers.insert(handle, producer);
        handle
    }

    /// Puts a record in, waiting (in virtual time) as the face does. Gives the record's number.
    pub fn produce(&mut self, handle: ProducerHandle, record: &Record) -> Result<usize, ClientError> {
        for _ in 0..100_000 {
            let now = self.clocks();
            let producer = self.producers.get_mut(&handle).expect("open");
            match producer.accumulator.append(now, record) {
                Ok(appended) => {
                    producer.pull |= appended.wake;
                    let place = (appended.batch, appended.index, appended.partition, appended.timestamp);
                    producer.places.push(place);
                    return Ok(producer.places.len() - 1);
                }
                Err(Refused::Error(error)) => return Err(error),
                Err(_) => producer.pull = true,
            }
            self.step();
        }
        panic!("the record was never accepted");
    }

    /// What became of a record, if that is known.
    pub fn outcome(&self, handle: ProducerHandle, record: usize) -> Option<Result<Ack, ClientError>> {
        let producer = &self.producers[&handle];
        let (batch, index, partition, timestamp) = producer.places[record];
        let mut covering = producer.deliveries.iter().filter(|delivery| {
            delivery.batch == batch && delivery.first <= index && index < delivery.first + delivery.count
        });
        let delivery = covering.next()?;
        assert!(covering.next().is_none(), "a record is done only once");
        Some(delivery.result.clone().map(|placed| {
            let offset = match placed.base_offset {
                -1 => -1,
                base => base + i64::from(index - delivery.first),
            };
            Ack { partition, offset, timestamp }
        }))
    }

    /// Runs until the record is done.
    pub fn await_record(&mut self, handle: ProducerHandle, record: usize) -> Result<Ack, ClientError> {
        self.run_until("the record to be done", |world| world.outcome(handle, record))
    }

    pub fn send(&mut self, handle: ProducerHandle, record: &Record) -> Result<Ack, ClientError> {
        let number = self.produce(handle, record)?;
        self.await_record(handle, number)
    }

    pub fn buffered_bytes(&self, handle: ProducerHandle) -> usize {
        self.producers[&handle].accumulator.used_bytes()
    }

    pub fn consumer(&mut self, options: ConsumerOptions) -> Result<ConsumerHandle, ClientError> {
        let (handle, call) = self.begin_consumer(options);
        self.await_answer(call).map(|_| handle)
    }

    /// A consumer whose partitions need not have positions yet.
    pub fn begin_consumer(&mut self, options: ConsumerOptions) -> (ConsumerHandle, CallId) {
        let options = options.checked().expect("fits");
        self.next_handle += 1;
        let handle = ConsumerHandle(self.next_handle);
        let buffer = FetchBuffer::new(&options, self.environment.codecs, self.environment.crc);
        self.consumers.insert(handle, buffer);
        let call = self.call();
        self.brain.open_consumer(self.clocks(), handle, options, call);
        (handle, call)
    }

    pub fn buffer(&mut self, handle: ConsumerHandle) -> &mut FetchBuffer {
        self.consumers.get_mut(&handle).expect("open")
    }

    /// Runs until the consumer has a record or an error.
    pub fn read(&mut self, handle: ConsumerHandle) -> Result<ConsumedRecord, ClientError> {
        self.run_until("a record", |world| world.poll_read(handle))
    }

    pub fn poll_read(&mut self, handle: ConsumerHandle) -> Option<Result<ConsumedRecord, ClientError>> {
        let now = self.clocks();
        let buffer = self.consumers.get_mut(&handle).expect("open");
        let next = buffer.next_record();
        let freed = buffer.take_freed();
        self.brain.consumed(now, handle, freed);
        next
    }

    pub fn seek(&mut self, handle: ConsumerHandle, topic: &str, partition: u32, to: Start) {
        let topic: Arc<str> = topic.into();
        let generation = self.buffer(handle).seek(&topic, partition).expect("assigned");
        let seek = highwater_client_core::SeekTo { topic, partition, to, generation };
        self.brain.seek(self.clocks(), handle, seek);
    }

    pub fn await_answer(&mut self, call: CallId) -> Result<Answer, ClientError> {
        self.run_until("an answer", |world| world.answers.remove(&call))
    }

    pub fn run_until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..200_000 {
            if let Some(result) = done(self) {
                return result;
            }
            self.step();
        }
        panic!("waited in vain for {what}");
    }

    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now.after(duration);
        while self.now < end {
            self.step_at_most(end);
        }
    }

    /// The broker's process is gone: its connections break, its address refuses.
    pub fn kill(&mut self, broker: i32) {
        self.dead.insert(broker);
        let gone: Vec<ConnectionId> =
            self.connections.iter().filter(|(_, id)| **id == broker).map(|(id, _)| *id).collect();
        for connection in gone {
            self.close(connection);
        }
    }

    pub fn revive(&mut self, broker: i32) {
        self.dead.remove(&broker);
    }

    /// Whatever the client does at this moment, then the next thing that happens.
    pub fn step(&mut self) {
        self.step_at_most(MonoTime(u64::MAX));
    }

    fn step_at_most(&mut self, end: MonoTime) {
        self.act();
        let now = self.now;
        let due = self.producers.values().filter_map(|producer| producer.accumulator.poll_timeout(now));
        let due = due.chain(self.brain.poll_timeout()).min();
        let event = self.events.iter().map(|(at, number, _)| (*at, *number)).min();
        match (due, event) {
            (due, Some((at, number))) if due.is_none_or(|due| at <= due.max(now)) && at <= end => {
                self.now = self.now.max(at);
                let index = self.events.iter().position(|(_, other, _)| *other == number).expect("just seen");
                let (_, _, event) = self.events.swap_remove(index);
                self.happen(event);
            }
            (Some(due), _) if due <= end => {
                // A moment that has come already must lead somewhere, or a real clock would be asked without a pause.
                self.stood_still = if due > now { 0 } else { self.stood_still + 1 };
                assert!(self.stood_still < 20, "the brain asks for a time in the past, again and again");
                self.now = self.now.max(due);
                self.brain.handle_timeout(self.clocks());
                self.producers.values_mut().for_each(|producer| producer.pull = true);
            }
            _ if end < MonoTime(u64::MAX) => self.now = end,
            _ => self.now = self.now.after(Duration::from_millis(10)),
        }
        self.act();
    }

    fn act(&mut self) {
        loop {
            let now = self.clocks();
            for (handle, producer) in &mut self.producers {
                if std::mem::take(&mut producer.pull) {
                    self.brain.pull(now, *handle, &mut producer.accumulator);
                }
            }
            let mut progress = false;
            while let Some(action) = self.brain.poll_action() {
                progress = true;
                self.on_action(action);
            }
            if !progress {
                return;
            }
        }
    }

    fn on_action(&mut self, action: Action) {
        match action {
            Action::Connect { connection, address } => {
                self.dialled.push(address.clone());
                let broker: i32 = address.host.trim_start_matches('b').parse().unwrap_or(0);
                let event = if self.dead.contains(&broker) || broker == 0 {
                    Event::Refused(connection)
                } else {
                    self.connections.insert(connection, broker);
                    Event::Connected(connection)
                };
                self.schedule(LATENCY, event);
            }
            Action::Send { connection, frame } => {
                let frame = frame.into_bytes().slice(4..);
                self.schedule(LATENCY, Event::Request(connection, frame));
            }
            Action::Close { connection } => {
                self.connections.remove(&connection);
            }
            Action::Delivered { producer, delivery } => {
                let producer = self.producers.get_mut(&producer).expect("open");
                producer.accumulator.release(delivery.bytes);
                producer.deliveries.push(delivery);
            }
            Action::Pull { producer } => self.producers.get_mut(&producer).expect("open").pull = true,
            Action::ProducerChanged { .. } => {}
            Action::Consumer { consumer, event } => self.buffer(consumer).handle_event(event),
            Action::Answered { call, result } => {
                assert!(self.answers.insert(call, result).is_none(), "a call is answered only once");
            }
        }
    }

    fn happen(&mut self, event: Event) {
        let now = self.clocks();
        match event {
            Event::Connected(connection) if self.connections.contains_key(&connection) => {
                self.brain.handle_connected(now, connection);
            }
            Event::Refused(connection) => {
                self.brain.handle_connection_failed(now, connection, NetworkCause::Refused);
            }
            Event::Request(connection, frame) => {
                let Some(broker) = self.connections.get(&connection).copied() else { return };
                if self.mute.contains(&broker) {
                    return;
                }
                for reply in self.cluster.handle(now, broker, &frame) {
                    self.on_reply(connection, reply);
                }
            }
            Event::Response(connection, frame) if self.connections.contains_key(&connection) => {
                self.brain.handle_frame(now, connection, frame);
            }
            Event::Closed(connection) => self.close(connection),
            Event::Connected(_) | Event::Response(..) => {}
        }
    }

    fn on_reply(&mut self, connection: ConnectionId, reply: Reply) {
        match reply {
            Reply::Frame(frame) => self.schedule(LATENCY, Event::Response(connection, frame)),
            Reply::Later(after, frame) => self.schedule(after, Event::Response(connection, frame)),
            Reply::Close => self.schedule(LATENCY, Event::Closed(connection)),
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        if self.connections.remove(&connection).is_some() {
            self.brain.handle_closed(self.clocks(), connection, NetworkCause::Closed);
        }
    }

    fn schedule(&mut self, after: Duration, event: Event) {
        self.next_event += 1;
        self.events.push((self.now.after(after), self.next_event, event));
    }
}

/// A consumer of one topic from its beginning.
pub fn from_the_beginning(topic: &str) -> ConsumerOptions {
    let mut options = ConsumerOptions::new(Subscription::Topics(vec![topic.into()]));
    options.start = Start::Earliest;
    options
}

/// A record to partition 0.
pub fn to_zero(topic: &str, value: &str) -> Record {
    Record::to(topic).partition(0).value(value.to_owned())
}

/// The value of a record, as text.
pub fn text(record: &ConsumedRecord) -> String {
    String::from_utf8(record.value.clone().unwrap_or_default().to_vec()).expect("text")
}
