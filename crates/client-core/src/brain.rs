//! The brain as a whole: takes in what the world did and what the caller wants, and gives out actions.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::DecodeError;
use log_core::{MonoTime, Now};

use crate::action::{Action, Answer, CallId, ConnectionId, ConsumerHandle, ProducerHandle};
use crate::address::Address;
use crate::admin::{AdminCall, Calls};
use crate::consumer::{Consumer, SeekTo};
use crate::core::{Core, Environment, earliest};
use crate::error::{ClientError, Damage, NetworkCause, Phase, Place, Waiting};
use crate::metrics::Metrics;
use crate::network::{Lost, Received};
use crate::options::{ClientOptions, ConsumerOptions, ProducerOptions};
use crate::producer::{Accumulator, Producer};
use crate::purpose::Purpose;
use crate::queries::{Asker, Found, Queries};

/// How long a first connection is waited for, at most.
const BOOTSTRAP_MAX: Duration = Duration::from_secs(10);

/// How often every address must have failed before the first connection is given up early. With the delays between,
/// about 1.5 s: a broker that is just starting is waited for, a wrong port is told soon.
const BOOTSTRAP_FAILURES: u32 = 5;

/// The whole client but for its sockets, its clock and its threads. See the crate's documentation for the call order.
#[derive(Debug)]
pub struct ClientBrain {
    core: Core,
    now: Now,
    is_dirty: bool,
    producers: BTreeMap<ProducerHandle, Producer>,
    consumers: BTreeMap<ConsumerHandle, Consumer>,
    queries: Queries,
    calls: Calls,
    bootstraps: Vec<(CallId, MonoTime)>,
}

impl ClientBrain {
    /// A client of the cluster of which `bootstrap` are some brokers. Nothing happens before it is asked for something.
    #[must_use]
    pub fn new(options: ClientOptions, bootstrap: Vec<Address>, environment: Environment) -> Self {
        Self {
            core: Core::new(options, bootstrap, environment),
            now: Now::default(),
            is_dirty: false,
            producers: BTreeMap::new(),
            consumers: BTreeMap::new(),
            queries: Queries::default(),
            calls: Calls::default(),
            bootstraps: Vec::new(),
        }
    }

    /// What the client has counted. Bytes in accumulators are the face's to add.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let buffered: usize = self.consumers.values().map(Consumer::buffered_bytes).sum();
        Metrics { consumer_buffer_bytes: buffered as u64, ..self.core.metrics }
    }

    /// Whether a consumer is still leaving its group.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.consumers.values().any(|consumer| !consumer.is_over)
    }

    /// The connection is there: bytes can be sent and received.
    pub fn handle_connected(&mut self, now: Now, connection: ConnectionId) {
        self.at(now);
        self.core.on_connected(now, connection);
    }

    /// The connection could not be made.
    pub fn handle_connection_failed(&mut self, now: Now, connection: ConnectionId, cause: NetworkCause) {
        self.handle_closed(now, connection, cause);
    }

    /// The connection broke, or the broker closed it.
    pub fn handle_closed(&mut self, now: Now, connection: ConnectionId, cause: NetworkCause) {
        self.at(now);
        if let Some(lost) = self.core.on_gone(now, connection, cause) {
            self.on_lost(lost);
        }
    }

    /// A frame has come, without its length prefix. What is kept of it are refcounted slices.
    pub fn handle_frame(&mut self, now: Now, connection: ConnectionId, frame: Bytes) {
        self.at(now);
        match self.core.on_frame(now, connection, frame) {
            Ok(None) => {}
            Ok(Some(received)) => self.on_received(received),
            Err(lost) => self.on_lost(lost),
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Now) {
        self.at(now);
        for lost in self.core.expire_connections(now) {
            self.on_lost(lost);
        }
    }

    /// Answers the call when a broker has been reached and has named the cluster's brokers.
    pub fn bootstrap(&mut self, now: Now, call: CallId) {
        self.at(now);
        let patience = self.core.options.call_timeout.min(BOOTSTRAP_MAX);
        self.bootstraps.push((call, now.mono.after(patience)));
        self.core.cluster.want_update();
    }

    /// A new producer with (checked) options; the face makes an [`Accumulator`] with the same.
    pub fn open_producer(&mut self, now: Now, handle: ProducerHandle, options: ProducerOptions) {
        self.at(now);
        self.producers.insert(handle, Producer::new(handle, options));
    }

    /// Takes out of the accumulator what can be sent now, and tells it about topics. To be called when records were put
    /// in with [`Appended::wake`](crate::Appended::wake), when its timeout is over, and for [`Action::Pull`]. Short: what
    /// takes time is done by [`poll_action`](Self::poll_action).
    pub fn pull(&mut self, now: Now, handle: ProducerHandle, accumulator: &mut Accumulator) {
        self.at(now);
        if let Some(producer) = self.producers.get_mut(&handle) {
            producer.pull(&mut self.core, now, accumulator);
        }
    }

    /// The producer is not needed any more; what it still has on its way fails.
    pub fn close_producer(&mut self, now: Now, handle: ProducerHandle) {
        self.at(now);
        if let Some(mut producer) = self.producers.remove(&handle) {
            producer.abandon(&mut self.core);
        }
    }

    /// A new consumer with (checked) options. The call is answered when its partitions have positions.
    pub fn open_consumer(
        &mut self,
        now: Now,
        handle: ConsumerHandle,
        options: ConsumerOptions,
        call: CallId,
    ) {
        self.at(now);
        let consumer = Consumer::open(&mut self.core, now, handle, options, call);
        self.consumers.insert(handle, consumer);
    }

    /// The caller has read (or dropped) this many bytes of fetched batches.
    pub fn consumed(&mut self, now: Now, handle: ConsumerHandle, bytes: usize) {
        self.at(now);
        if let Some(consumer) = self.consumers.get_mut(&handle) {
            consumer.consumed(bytes);
        }
    }

    /// Goes on somewhere else in a partition.
    pub fn seek(&mut self, now: Now, handle: ConsumerHandle, seek: SeekTo) {
        self.at(now);
        if let Some(consumer) = self.consumers.get_mut(&handle) {
            consumer.seek(&mut self.core, &seek);
        }
    }

    /// Stops or continues fetching a partition.
    pub fn set_paused(
        &mut self,
        now: Now,
        handle: ConsumerHandle,
        topic: &Arc<str>,
        partition: u32,
        paused: bool,
    ) {
        self.at(now);
        if let Some(consumer) = self.consumers.get_mut(&handle) {
            consumer.set_paused(topic, partition, paused);
        }
    }

    /// The reader has found damage in a partition: nothing more is fetched of it before a seek.
    pub fn stop(&mut self, now: Now, handle: ConsumerHandle, topic: &Arc<str>, partition: u32) {
        self.at(now);
        if let Some(consumer) = self.consumers.get_mut(&handle) {
            consumer.stop(topic, partition);
        }
    }

    /// Everything of a partition before the offset `next` is dealt with. Committed in the background, by
    /// [`commit`](Self::commit) and by [`close_consumer`](Self::close_consumer).
    pub fn mark(
        &mut self,
        handle: ConsumerHandle,
        topic: Arc<str>,
        partition: u32,
        next: i64,
        leader_epoch: i32,
    ) {
        let consumer = self.consumers.get_mut(&handle);
        if let Some(member) = consumer.and_then(|consumer| consumer.member_reading(&topic, partition)) {
            member.mark((topic, partition), next, leader_epoch);
            self.is_dirty = true;
        }
    }

    /// Commits what is marked.
    pub fn commit(&mut self, now: Now, handle: ConsumerHandle, call: CallId) {
        self.at(now);
        let member = self.consumers.get_mut(&handle).and_then(|consumer| consumer.member.as_mut());
        match member {
            Some(member) => member.commit(now, &self.core, call),
            None => self.core.answer(call, Err(ClientError::Closed)),
        }
    }

    /// Commits what is marked and leaves the group; answers the call, if there is one, when that is done.
    pub fn close_consumer(&mut self, now: Now, handle: ConsumerHandle, call: Option<CallId>) {
        self.at(now);
        self.queries.forget_consumer(handle);
        match self.consumers.get_mut(&handle) {
            Some(consumer) => consumer.close(&mut self.core, now, call),
            None => {
                if let Some(call) = call {
                    self.core.answer(call, Ok(Answer::Done));
                }
            }
        }
    }

    /// Asks something as an administrator; it fails when it is not answered within the call timeout.
    pub fn admin(&mut self, now: Now, call: CallId, question: AdminCall) {
        self.admin_within(now, call, question, None);
    }

    /// The same with a time limit of its own; none is the call timeout.
    pub fn admin_within(&mut self, now: Now, call: CallId, question: AdminCall, limit: Option<Duration>) {
        self.at(now);
        self.calls.ask(&mut self.core, &mut self.queries, now, call, question, limit);
    }

    /// The next thing to do. To be called until it gives `None`, after every other call.
    pub fn poll_action(&mut self) -> Option<Action> {
        while self.core.actions.is_empty() && std::mem::take(&mut self.is_dirty) {
            self.drive();
        }
        self.core.actions.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) has to be called at the latest, if nothing else happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        let now = self.now;
        let mut due = earliest(self.core.network_timeout(now), self.core.metadata_timeout(now));
        due = earliest(due, earliest(self.queries.poll_timeout(now), self.calls.poll_timeout(now)));
        due = earliest(due, self.bootstraps.iter().map(|(_, deadline)| *deadline).min());
        due = earliest(due, self.producers.values().filter_map(|producer| producer.poll_timeout(now)).min());
        earliest(due, self.consumers.values().filter_map(|consumer| consumer.poll_timeout(now)).min())
    }

    fn at(&mut self, now: Now) {
        self.now = now;
        self.is_dirty = true;
    }

    /// Gives every part its turn.
    fn drive(&mut self) {
        let (core, now) = (&mut self.core, self.now);
        for found in self.queries.drive(core, now) {
            hand_over(core, &mut self.queries, &mut self.calls, &mut self.consumers, now, found);
        }
        self.calls.drive(core, now);
        self.producers.values_mut().for_each(|producer| producer.drive(core, now));
        for consumer in self.consumers.values_mut() {
            consumer.drive(core, &mut self.queries, now);
        }
        let over: Vec<ConsumerHandle> = self
            .consumers
            .iter()
            .filter(|(_, consumer)| consumer.is_over)
            .map(|(handle, _)| *handle)
            .collect();
        for handle in over {
            self.consumers.remove(&handle);
            self.queries.forget_consumer(handle);
            core.close_channels(handle);
        }
        // Last, since any of the others may have found that it needs it.
        core.drive_metadata(now);
        // Consumers may have asked for offsets after questions had their turn.
        self.is_dirty = self.queries.is_fresh();
        self.drive_bootstraps();
    }

    fn drive_bootstraps(&mut self) {
        if self.bootstraps.is_empty() {
            return;
        }
        let (core, now) = (&mut self.core, self.now);
        let hopeless = core.network.all_seeds_failed(BOOTSTRAP_FAILURES);
        for (call, deadline) in std::mem::take(&mut self.bootstraps) {
            let last = core.network.last_error().cloned();
            if core.cluster.is_known() {
                core.answer(call, Ok(Answer::Done));
            } else if let (true, Some(error)) = (hopeless, last.clone()) {
                core.answer(call, Err(error.into()));
            } else if deadline <= now.mono {
                let after = core.options.call_timeout.min(BOOTSTRAP_MAX);
                let (waiting, place) = (Waiting::Bootstrap, Place::NOWHERE);
                let cause = last.map(|error| Box::new(error.into()));
                core.answer(call, Err(ClientError::TimedOut { waiting, after, cause, place }));
            } else {
                self.bootstraps.push((call, deadline));
            }
        }
    }

    fn on_received(&mut self, received: Received) {
        let connection = received.connection;
        if let Err(error) = self.on_answer(received) {
            let lost = self.core.refuse(self.now, connection, Damage::Answer(error));
            self.on_lost(lost);
        }
    }

    fn on_answer(&mut self, received: Received) -> Result<(), DecodeError> {
        let Received { connection, purpose, version, frame } = received;
        let (core, now) = (&mut self.core, self.now);
        match purpose {
            Purpose::Versions => Ok(()),
            Purpose::Metadata => {
                let lost =
                    core.on_metadata(now, version, &frame).inspect_err(|_| core.on_metadata_lost(now))?;
                lost.into_iter().for_each(|lost| self.on_lost(lost));
                Ok(())
            }
            Purpose::Produce { producer, batches } => match self.producers.get_mut(&producer) {
                Some(producer) => producer.on_produced(core, now, connection, &batches, version, &frame),
                None => Ok(()),
            },
            Purpose::ProducerId { producer } => match self.producers.get_mut(&producer) {
                Some(producer) => producer.on_producer_id(core, now, version, &frame),
                None => Ok(()),
            },
            Purpose::ListOffsets { queries } => {
                let found = self.queries.on_answer(core, now, connection, &queries, version, &frame)?;
                for found in found {
                    hand_over(core, &mut self.queries, &mut self.calls, &mut self.consumers, now, found);
                }
                Ok(())
            }
            Purpose::Fetch { consumer, partitions } => match self.consumers.get_mut(&consumer) {
                Some(consumer) => {
                    let answer = (connection, version, &frame);
                    consumer.on_fetched(core, &mut self.queries, now, answer, &partitions)
                }
                None => Ok(()),
            },
            Purpose::EpochEnds { consumer, partitions } => match self.consumers.get_mut(&consumer) {
                Some(consumer) => consumer.on_epoch_ends(core, now, version, &frame, &partitions),
                None => Ok(()),
            },
            Purpose::Group { consumer, step } => match self.consumers.get_mut(&consumer) {
                Some(consumer) => consumer.on_group_answer(core, now, &step, version, &frame),
                None => Ok(()),
            },
            Purpose::Call { call } => self.calls.on_answer(core, now, call, connection, version, &frame),
        }
    }

    /// Everybody whose answer will not come is told.
    fn on_lost(&mut self, lost: Lost) {
        let (core, now) = (&mut self.core, self.now);
        let Lost { purposes, error } = lost;
        // A broker that cannot be reached may not be the leader any more. An idle connection that ends says nothing.
        if error.phase != Phase::Exchange || !purposes.is_empty() {
            core.cluster.want_update();
        }
        for purpose in purposes {
            match purpose {
                Purpose::Versions => {}
                Purpose::Metadata => core.on_metadata_lost(now),
                Purpose::Produce { producer, batches } => {
                    if let Some(producer) = self.producers.get_mut(&producer) {
                        producer.on_lost(core, now, &batches, &error);
                    }
                }
                Purpose::ProducerId { producer } => {
                    if let Some(producer) = self.producers.get_mut(&producer) {
                        producer.on_producer_id_lost(core, now);
                    }
                }
                Purpose::ListOffsets { queries } => self.queries.on_lost(core, now, &queries, &error),
                Purpose::Fetch { consumer, partitions } => {
                    if let Some(consumer) = self.consumers.get_mut(&consumer) {
                        consumer.on_fetch_lost(core, now, &partitions, &error);
                    }
                }
                Purpose::EpochEnds { consumer, partitions } => {
                    if let Some(consumer) = self.consumers.get_mut(&consumer) {
                        consumer.on_epoch_ends_lost(core, now, &partitions);
                    }
                }
                Purpose::Group { consumer, step } => {
                    if let Some(consumer) = self.consumers.get_mut(&consumer) {
                        consumer.on_group_lost(core, now, &step, &error);
                    }
                }
                Purpose::Call { call } => self.calls.on_lost(core, now, call, &error),
            }
        }
    }
}

/// An offset goes to whom asked for it.
fn hand_over(
    core: &mut Core,
    queries: &mut Queries,
    calls: &mut Calls,
    consumers: &mut BTreeMap<ConsumerHandle, Consumer>,
    now: Now,
    found: Found,
) {
    match found.asker {
        Asker::Call { .. } => calls.on_found(core, found),
        Asker::Consumer { consumer, .. } => {
            if let Some(consumer) = consumers.get_mut(&consumer) {
                consumer.on_found(core, queries, now, found);
            }
        }
    }
}
