//! Producers: from records to acknowledged batches.
//!
//! [`Accumulator`] gathers records on the caller's side; [`lane`] holds what one partition has on its way; this file
//! takes batches over, gives them sequence numbers, and puts them into requests; [`answer`] handles what comes back.
//!
//! The laws of an idempotent producer (KIP-98, KIP-360):
//!
//! 1. A batch gets its sequence when it is first sent, and is sent again with the same bytes while its outcome is not
//!    known. So a broker that has it already drops it.
//! 2. Batches of a partition are sent in order, up to five at once, counted from the oldest whose outcome is not known: a
//!    broker remembers no more, and one that it had forgotten could be neither found nor appended again. When one fails, what follows it waits until all
//!    that are on their way have come back; then they go again in order. Before the first one is acknowledged there is
//!    only one on its way: a broker that knows nothing of a producer takes any first sequence, so a second batch could
//!    get in before the first.
//! 3. A batch that certainly was not appended and will not be sent again leaves a gap: those behind it get new sequences,
//!    once none of them may have been appended.
//! 4. When the outcome of a batch cannot be found out (its time is over, or the broker has lost track of the producer),
//!    it fails as *unknown*, and the producer takes a new id before it sends anything new: under the new id, nothing of
//!    the old one can be mistaken for a repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafka_wire::ApiKey;
use kafka_wire::messages::init_producer_id::InitProducerIdRequest;
use kafka_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use log_core::batch::ProducerStamp;
use log_core::{Compression, MonoTime, Now, ProducerEpoch, ProducerId, Sequence};

use crate::action::{Action, ConnectionId, Delivery, ProducerHandle};
use crate::cluster::TopicState;
use crate::core::{Core, earliest};
use crate::error::{CallerProblem, ClientError, Place, Waiting};
use crate::network::Channel;
use crate::options::{Acks, ProducerOptions};
use crate::purpose::{Purpose, SentBatch};

mod accumulator;
mod answer;
mod lane;

use accumulator::SPARES_MAX;
pub use accumulator::{Accumulator, Appended, Refused};
use lane::{Batch, Lane, Outgoing};

/// The most bytes of batches in one produce request: several partitions share a request, within what brokers take
/// (`socket.request.max.bytes`, 100 MiB) and what can be sent again without regret (a guess).
const REQUEST_BYTES_MAX: usize = 4 << 20;

/// The last version of produce in which transactions work as this client knows them.
const PRODUCE_VERSION_MAX: i16 = 11;

/// A partition, by its topic's name.
type Key = (Arc<str>, u32);

/// One producer.
#[derive(Debug)]
pub(crate) struct Producer {
    handle: ProducerHandle,
    options: ProducerOptions,
    identity: Identity,
    /// Law 4: no new sequences before there is a new id.
    needs_new_id: bool,
    lanes: BTreeMap<Key, Lane>,
    /// The lanes with batches.
    active: BTreeSet<Key>,
    /// Partitions whose batches were ready at the last pull and could not be sent then.
    held: BTreeSet<Key>,
    next_part: u32,
    /// The picture of the cluster that the accumulator was told.
    told_version: u64,
    /// Topics that the accumulator wants and that were asked for.
    asked: BTreeSet<Arc<str>>,
    /// Memory of batches that are done, until the accumulator is at hand; as many as can be done between two pulls.
    spares: Vec<Vec<u8>>,
}

/// Who the producer is to brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// Not idempotent.
    Nobody,
    /// Has to ask, not before this time.
    Wanted { failures: u32, not_before: MonoTime },
    /// Has asked.
    Asked { failures: u32 },
    /// Known.
    Known { id: ProducerId, epoch: ProducerEpoch },
}

impl Producer {
    pub(crate) const fn new(handle: ProducerHandle, options: ProducerOptions) -> Self {
        let identity = if options.idempotent {
            Identity::Wanted { failures: 0, not_before: MonoTime(0) }
        } else {
            Identity::Nobody
        };
        Self {
            handle,
            options,
            identity,
            needs_new_id: false,
            lanes: BTreeMap::new(),
            active: BTreeSet::new(),
            held: BTreeSet::new(),
            next_part: 0,
            told_version: 0,
            asked: BTreeSet::new(),
            spares: Vec::new(),
        }
    }

    /// Takes batches that are ready out of the accumulator, as many as can be sent now, and tells it about topics.
    pub(crate) fn pull(&mut self, core: &mut Core, now: Now, accumulator: &mut Accumulator) {
        self.tell_topics(core, now, accumulator);
        self.spares.drain(..).for_each(|buffer| accumulator.recycle(buffer));
        for expired in accumulator.take_expired(now.mono) {
            let batch = Batch::from_open(expired.batch, self.next_part());
            let error = self.timed_out(core, &expired.topic, expired.partition, None);
            self.fail(core, &batch, error);
        }
        self.held.clear();
        for key in accumulator.ready(now.mono) {
            if self.lanes.get(&key).is_some_and(Lane::has_unsent) || self.slot(core, now, &key).is_none() {
                self.held.insert(key);
                continue;
            }
            if let Some(open) = accumulator.take(&key.0, key.1) {
                let batch = Batch::from_open(open, self.next_part());
                if accumulator.has_batches(&key.0, key.1) {
                    self.held.insert(key.clone());
                }
                self.lanes.entry(key.clone()).or_default().push(batch);
                self.active.insert(key);
            }
        }
    }

    /// Sends what can be sent.
    pub(crate) fn drive(&mut self, core: &mut Core, now: Now) {
        if self.told_version != core.cluster.version {
            core.emit(Action::Pull { producer: self.handle });
        }
        self.expire(core, now);
        self.drive_identity(core, now);
        while let Some((connection, keys)) = self.next_request(core, now) {
            self.send(core, now, connection, &keys);
        }
        self.ask_for_held(core, now);
    }

    /// What was held at the last pull is asked for when it can be sent.
    fn ask_for_held(&mut self, core: &mut Core, now: Now) {
        for key in self.held.clone() {
            let busy = self.lanes.get(&key).is_some_and(Lane::has_unsent);
            if !busy && self.slot(core, now, &key).is_some() {
                core.emit(Action::Pull { producer: self.handle });
                return self.held.clear();
            }
        }
    }

    /// When something is due: a retry, or the end of a batch's time.
    pub(crate) fn poll_timeout(&self, now: Now) -> Option<MonoTime> {
        let lanes = self.active.iter().filter_map(|key| self.lanes.get(key));
        let due = lanes.filter_map(|lane| lane.due(now.mono, self.options.delivery_timeout)).min();
        let identity = match self.identity {
            Identity::Wanted { not_before, .. } if not_before > now.mono => Some(not_before),
            _ => None,
        };
        earliest(due, identity)
    }

    /// What is still on its way fails: the producer is closed.
    pub(crate) fn abandon(&mut self, core: &mut Core) {
        for (key, mut lane) in std::mem::take(&mut self.lanes) {
            for batch in lane.drain() {
                let place = Place::partition(&key.0, key.1);
                let error = match batch.was_sent() {
                    true => ClientError::UnknownOutcome { cause: Some(Box::new(ClientError::Closed)), place },
                    false => ClientError::Closed,
                };
                self.fail(core, &batch, error);
            }
        }
        self.active.clear();
    }

    fn tell_topics(&mut self, core: &mut Core, now: Now, accumulator: &mut Accumulator) {
        let all = self.told_version != core.cluster.version;
        self.told_version = core.cluster.version;
        let names: Vec<Arc<str>> = if all {
            accumulator.topics().cloned().collect()
        } else {
            accumulator.wanted_topics().cloned().collect()
        };
        if names.is_empty() {
            return;
        }
        for name in accumulator.wanted_topics() {
            if self.asked.insert(Arc::clone(name)) {
                core.cluster.add_interest(name, self.options.auto_create_topics);
            }
        }
        let mut is_told = false;
        for name in names {
            match core.cluster.topic(&name) {
                TopicState::Ready(topic) => {
                    is_told = true;
                    let partitions = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
                    let led = topic.partitions.iter().filter(|(_, leader)| leader.broker.is_some());
                    let available = led.map(|(index, _)| *index).collect();
                    accumulator.topic_ready(&name, partitions, available);
                    self.asked.remove(&name);
                }
                // Those who do not ask for it are not told again.
                TopicState::Failed(_) if !self.asked.contains(&name) => {}
                TopicState::Failed(error) => {
                    is_told = true;
                    accumulator.topic_failed(now.mono, &name, error);
                    core.cluster.drop_interest(&name);
                    self.asked.remove(&name);
                }
                TopicState::Unknown => {}
            }
        }
        // Whoever waits for a topic looks again when told, and makes the face pull again: news of nothing would go round
        // and round.
        if is_told {
            core.emit(Action::ProducerChanged { producer: self.handle });
        }
    }

    /// A connection to the partition's leader over which one more request may go.
    fn slot(&self, core: &mut Core, now: Now, key: &Key) -> Option<ConnectionId> {
        let Some(broker) = core.cluster.leader(&key.0, key.1).and_then(|leader| leader.broker) else {
            core.cluster.add_interest(&key.0, self.options.auto_create_topics);
            core.cluster.want_update();
            return None;
        };
        let connection = core.connection(now, broker, Channel::Produce)?;
        (core.network.in_flight(connection) < self.options.in_flight_max).then_some(connection)
    }

    /// The partitions whose next batches go into one request, with its connection.
    fn next_request(&mut self, core: &mut Core, now: Now) -> Option<(ConnectionId, Vec<Key>)> {
        let stamped = self.options.idempotent;
        if stamped && !matches!(self.identity, Identity::Known { .. }) {
            return None;
        }
        let mut chosen: Option<(ConnectionId, Vec<Key>)> = None;
        let mut bytes = 0;
        for key in self.active.clone() {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            if stamped {
                lane.resequence();
            }
            let Some(size) = lane.sendable(now.mono, stamped, self.needs_new_id) else { continue };
            let Some(connection) = self.slot(core, now, &key) else { continue };
            match &mut chosen {
                None => chosen = Some((connection, vec![key])),
                Some((first, keys)) if *first == connection && bytes + size <= REQUEST_BYTES_MAX => {
                    keys.push(key)
                }
                Some(_) => continue,
            }
            bytes += size;
        }
        chosen
    }

    fn send(&mut self, core: &mut Core, now: Now, connection: ConnectionId, keys: &[Key]) {
        let Some(version) = core.network.version(connection, ApiKey::Produce, PRODUCE_VERSION_MAX) else {
            let error = core.unsupported(connection, ApiKey::Produce);
            return self.fail_all(core, keys, &error);
        };
        let mut topics: Vec<TopicProduceData<'_>> = Vec::new();
        let mut batches = Vec::new();
        for key in keys {
            let Some((records, batch)) = self.seal_next(core, key, version) else { continue };
            let data = PartitionProduceData { index: wire_partition(key.1), records: Some(records) };
            match topics.last_mut() {
                Some(topic) if *topic.name == *key.0 => topic.partition_data.push(data),
                _ => topics.push(TopicProduceData { name: (&*key.0).into(), partition_data: vec![data] }),
            }
            batches.push(batch);
        }
        if batches.is_empty() {
            return;
        }
        let timeout_ms = i32::try_from(core.options.request_timeout.as_millis()).unwrap_or(i32::MAX);
        let request = ProduceRequest {
            transactional_id: None,
            acks: self.options.acks.wire(),
            timeout_ms,
            topic_data: topics,
        };
        if self.options.acks == Acks::None {
            core.send_unanswered(connection, version, &request);
            return self.deliver_unacknowledged(core, now, &batches);
        }
        // A broker answers within the request's own time limit; a little more is given to the way back.
        let patience = core.options.request_timeout + core.options.request_timeout / 4;
        let purpose = Purpose::Produce { producer: self.handle, batches };
        core.send(now, connection, version, &request, purpose, patience);
    }

    /// The bytes of a lane's next batch, with its sequence in them.
    fn seal_next(&mut self, core: &mut Core, key: &Key, version: i16) -> Option<(bytes::Bytes, SentBatch)> {
        let identity = self.identity;
        let stamp = |base_sequence| match identity {
            Identity::Known { id, epoch } => Some(ProducerStamp { id, epoch, base_sequence }),
            _ => None,
        };
        let environment = core.environment;
        let compression = self.options.compression;
        if compression == Compression::Zstd && version < 7 {
            self.refuse_next(core, key, CallerProblem::Codec(log_core::CodecError::Unavailable(compression)));
            return None;
        }
        let lane = self.lanes.get_mut(key)?;
        match lane.seal_next(compression, environment, stamp) {
            Ok(Outgoing { records, id, part, is_repeat, left }) => {
                left.into_iter().for_each(|buffer| self.keep_spare(buffer));
                let bytes = records.len() as u64;
                if is_repeat {
                    core.metrics.batches_resent += 1;
                } else {
                    core.metrics.batches_sent += 1;
                    core.metrics.batch_bytes_sent += bytes;
                }
                Some((records, SentBatch { topic: Arc::clone(&key.0), partition: key.1, batch: id, part }))
            }
            Err(problem) => {
                self.refuse_next(core, key, problem);
                None
            }
        }
    }

    /// The next batch of a lane cannot be made: that is the caller's to know.
    fn refuse_next(&mut self, core: &mut Core, key: &Key, problem: CallerProblem) {
        let batch = self.lanes.get_mut(key).and_then(Lane::take_unsent);
        if let Some(batch) = batch {
            self.fail(core, &batch, ClientError::caller(problem, Place::partition(&key.0, key.1)));
        }
        self.tidy(key);
    }

    fn fail_all(&mut self, core: &mut Core, keys: &[Key], error: &ClientError) {
        for key in keys {
            if let Some(batch) = self.lanes.get_mut(key).and_then(Lane::take_unsent) {
                self.fail(core, &batch, error.clone());
            }
            self.tidy(key);
        }
    }

    fn drive_identity(&mut self, core: &mut Core, now: Now) {
        if self.needs_new_id && self.active.iter().filter_map(|key| self.lanes.get(key)).all(Lane::is_settled)
        {
            self.needs_new_id = false;
            self.lanes.values_mut().for_each(Lane::forget_sequences);
            self.identity = Identity::Wanted { failures: 0, not_before: MonoTime(0) };
        }
        let Identity::Wanted { failures, not_before } = self.identity else { return };
        if not_before > now.mono {
            return;
        }
        let Some(connection) = core.any_connection(now) else { return };
        let Some(version) = core.network.version(connection, ApiKey::InitProducerId, i16::MAX) else {
            let error = core.unsupported(connection, ApiKey::InitProducerId);
            let keys: Vec<Key> = self.active.iter().cloned().collect();
            return self.fail_all(core, &keys, &error);
        };
        let request = InitProducerIdRequest { transaction_timeout_ms: i32::MAX, ..Default::default() };
        self.identity = Identity::Asked { failures };
        let patience = core.options.request_timeout;
        core.send(
            now,
            connection,
            version,
            &request,
            Purpose::ProducerId { producer: self.handle },
            patience,
        );
    }

    /// Batches whose time is over and that are not on their way.
    fn expire(&mut self, core: &mut Core, now: Now) {
        for key in self.active.clone() {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            let expired = lane.take_expired(now.mono, self.options.delivery_timeout);
            for batch in expired {
                let cause = core.cluster.leaderless(&key.0, key.1).or_else(|| batch.last_error.clone());
                if batch.may_be_appended {
                    self.needs_new_id |= self.options.idempotent;
                    let place = Place::partition(&key.0, key.1);
                    self.fail(
                        core,
                        &batch,
                        ClientError::UnknownOutcome { cause: cause.map(Box::new), place },
                    );
                } else {
                    let error = self.timed_out(core, &key.0, key.1, cause);
                    self.fail(core, &batch, error);
                }
            }
            self.tidy(&key);
        }
    }

    fn deliver_unacknowledged(&mut self, core: &mut Core, now: Now, batches: &[SentBatch]) {
        for sent in batches {
            let key = (Arc::clone(&sent.topic), sent.partition);
            if let Some(batch) = self.lanes.get_mut(&key).and_then(|lane| lane.take(sent.batch, sent.part)) {
                self.deliver(core, now, &batch, -1, None);
            }
            self.tidy(&key);
        }
    }

    fn deliver(&self, core: &mut Core, now: Now, batch: &Batch, base_offset: i64, time: Option<i64>) {
        core.metrics.records_delivered += u64::from(batch.count);
        core.metrics.batches_delivered += 1;
        core.metrics.delivery_time += now.mono.since(batch.created);
        self.complete(core, batch, Ok(crate::action::Placed { base_offset, log_append_time: time }));
    }

    /// Memory for batches to come; what a small or a compressed one has left is not worth its place.
    fn keep_spare(&mut self, buffer: Vec<u8>) {
        if self.spares.len() < SPARES_MAX && buffer.capacity() >= self.options.batch_bytes_max / 2 {
            self.spares.push(buffer);
        }
    }

    fn fail(&self, core: &mut Core, batch: &Batch, error: ClientError) {
        core.metrics.records_failed += u64::from(batch.count);
        self.complete(core, batch, Err(error));
    }

    fn complete(&self, core: &mut Core, batch: &Batch, result: Result<crate::action::Placed, ClientError>) {
        let Batch { id, first, count, charged_bytes, .. } = *batch;
        let delivery = Delivery { batch: id, first, count, bytes: charged_bytes, result };
        core.emit(Action::Delivered { producer: self.handle, delivery });
    }

    fn timed_out(
        &self,
        core: &Core,
        topic: &Arc<str>,
        partition: u32,
        cause: Option<ClientError>,
    ) -> ClientError {
        let cause = core
            .cluster
            .leaderless(topic, partition)
            .or(cause)
            .or_else(|| core.network.last_error().cloned().map(Into::into))
            .map(Box::new);
        let (waiting, after) = (Waiting::Delivery, self.options.delivery_timeout);
        ClientError::TimedOut { waiting, after, cause, place: Place::partition(topic, partition) }
    }

    fn tidy(&mut self, key: &Key) {
        if self.lanes.get(key).is_none_or(Lane::is_empty) {
            self.active.remove(key);
        }
    }

    const fn next_part(&mut self) -> u32 {
        self.next_part = self.next_part.wrapping_add(1);
        self.next_part
    }
}

/// Partitions come from brokers, which number them with 31 bits.
fn wire_partition(partition: u32) -> i32 {
    i32::try_from(partition).expect("partitions are numbered with 31 bits")
}

/// The sequence behind `count` records from `base` on; wraps from the greatest to 0.
fn sequence_after(base: Sequence, count: u32) -> Sequence {
    base.plus(i32::try_from(count).expect("a batch counts its records with 31 bits"))
}
