//! A producer: idempotent with several batches in flight, each tried again until its outcome is known; or plain, with one
//! in flight that is tried once. It asks for acknowledgements of all members, of the leader alone, or for none.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use kafka_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use kafka_wire::messages::produce::ProduceResponse;
use kafka_wire::{ErrorCode, decode_response, response_correlation_id};
use log_core::batch::ProducerStamp;
use log_core::{LeaderEpoch, ProducerEpoch, ProducerId, Sequence, Timestamp};

use super::wire::{self, INIT, PRODUCE};
use super::{Known, Wish};
use crate::oracle::{Attempt, identity};
use crate::plan::{MS, Plan};
use crate::world::World;

/// Batches of one partition in flight, counted from the oldest whose outcome is not known: no more than a broker remembers,
/// or it may have forgotten the oldest when that is sent again.
const WINDOW: usize = 5;

/// Batches of one partition that are not settled.
const BACKLOG: usize = 8;

/// How long an answer may take before the connection is given up.
const PATIENCE: u64 = 6_000 * MS;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Producer {
    number: u64,
    idempotent: bool,
    record_bytes: (u64, u64),
    acks: i16,
    identity: Option<(ProducerId, ProducerEpoch)>,
    /// When the identity was asked for.
    asked: Option<u64>,
    correlation: i32,
    made: u64,
    lanes: Vec<Lane>,
    /// Requests in flight: the lane, the batch.
    requests: BTreeMap<i32, Request>,
}

#[derive(Debug)]
struct Request {
    lane: usize,
    batch: u64,
    known: Known,
    sent: u64,
    /// The epoch in which the broker was seen leading then.
    led: Option<LeaderEpoch>,
}

/// One partition.
#[derive(Debug)]
struct Lane {
    name: String,
    partition: i32,
    known: Option<Known>,
    next_sequence: i32,
    /// How many batches were made.
    made: usize,
    batches: VecDeque<Batch>,
    /// Who must know the last batch of this identity that was acknowledged.
    kept: Option<Keeper>,
    not_before: u64,
}

/// Who must know a batch that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeper {
    /// Every leader.
    All,
    /// This broker, as long as it leads in this epoch.
    Leader(usize, LeaderEpoch),
}

#[derive(Debug)]
struct Batch {
    number: u64,
    /// Its place among the batches of its partition.
    place: usize,
    bytes: Bytes,
    identity: u64,
    in_flight: bool,
    tried: bool,
}

impl Producer {
    pub(super) fn new(plan: &Plan, number: u64, idempotent: bool, acks: i16) -> Self {
        let partitions = plan
            .topics
            .iter()
            .flat_map(|topic| (0..topic.partitions).map(|index| (topic.name.clone(), index)));
        let lane = |(name, partition)| Lane {
            name,
            partition,
            known: None,
            next_sequence: 0,
            made: 0,
            batches: VecDeque::new(),
            kept: None,
            not_before: 0,
        };
        let lanes = partitions.map(lane).collect();
        let record_bytes = plan.record_bytes;
        Self { number, idempotent, record_bytes, acks, lanes, ..Self::default() }
    }

    pub(super) fn unfinished(&self) -> Option<String> {
        let waits = self.lanes.iter().find(|lane| !lane.batches.is_empty())?;
        let batches: Vec<_> = waits.batches.iter().map(|batch| (batch.number, batch.in_flight)).collect();
        Some(format!("producer {} waits for {}-{}: {batches:?}", self.number, waits.name, waits.partition))
    }

    pub(super) fn handle_time(&mut self, world: &mut World) -> Vec<Wish> {
        let mut wishes = self.give_up(world.now);
        if self.idempotent && self.identity.is_none() {
            wishes.extend(self.ask_identity(world));
            return wishes;
        }
        if !world.is_healing() {
            let lane = world.dice.index(self.lanes.len());
            self.make(world, lane);
        }
        for lane in 0..self.lanes.len() {
            wishes.extend(self.pump(world, lane));
        }
        wishes
    }

    fn ask_identity(&mut self, world: &mut World) -> Option<Wish> {
        if self.asked.is_some_and(|asked| world.now - asked < 2_500 * MS) {
            return None;
        }
        self.asked = Some(world.now);
        self.correlation += 1;
        let request =
            InitProducerIdRequest { producer_id: -1, producer_epoch: -1, ..InitProducerIdRequest::default() };
        let broker = world.dice.index(world.machines.len());
        Some(Wish::Send { broker, frame: wire::frame(self.correlation, INIT, &request) })
    }

    /// A new batch for a partition.
    fn make(&mut self, world: &mut World, lane: usize) {
        let (identity, number, record_bytes) = (self.identity, self.number, self.record_bytes);
        let Some(found) = self.lanes.get_mut(lane).filter(|found| found.batches.len() < BACKLOG) else {
            return;
        };
        if !self.idempotent && !found.batches.is_empty() {
            return;
        }
        let count = world.dice.pick(&[1, 1, 2, 3]);
        let values: Vec<Vec<u8>> = (0..count)
            .map(|_| {
                self.made += 1;
                let mut value = format!("{number}/{}/", self.made).into_bytes();
                let length = world.dice.between(record_bytes.0, record_bytes.1);
                value.resize(value.len() + length as usize, b'a' + (self.made % 26) as u8);
                value
            })
            .collect();
        let stamp = identity.map(|(id, epoch)| {
            let base_sequence = Sequence(found.next_sequence);
            ProducerStamp { id, epoch, base_sequence }
        });
        found.next_sequence += count;
        let wall = Timestamp(1_700_000_000_000 + (world.now / MS).cast_signed());
        let bytes = wire::batch(stamp, &values, wall);
        let identity = identity_of(&bytes);
        world.oracle.history.attempt(identity, self.acks == -1);
        found.made += 1;
        let (number, place) = (self.made, found.made);
        found.batches.push_back(Batch { number, place, bytes, identity, in_flight: false, tried: false });
    }

    /// Sends what may be sent: everything in order, unless an earlier batch failed and others are still on their way.
    fn pump(&mut self, world: &mut World, lane: usize) -> Vec<Wish> {
        let Some(found) = self.lanes.get_mut(lane) else { return Vec::new() };
        let flying = found.batches.iter().filter(|batch| batch.in_flight).count();
        let first_waits = found.batches.front().is_some_and(|batch| !batch.in_flight);
        if world.now < found.not_before || found.batches.is_empty() || (first_waits && flying > 0) {
            return Vec::new();
        }
        if found.known.is_none() || first_waits {
            found.known = world.describe(&found.name, found.partition, found.known);
        }
        let Some(known) = found.known else { return Vec::new() };
        let mut wishes = Vec::new();
        let upto = found.batches.front().map_or(0, |oldest| oldest.place + WINDOW);
        let sendable = found.batches.iter_mut().filter(|batch| !batch.in_flight && batch.place < upto);
        for batch in sendable.take(WINDOW - flying.min(WINDOW)) {
            self.correlation += 1;
            (batch.in_flight, batch.tried) = (true, true);
            if self.acks != 0 {
                let led = world.oracle_leads(known.leader, known.key);
                let request = Request { lane, batch: batch.number, known, sent: world.now, led };
                self.requests.insert(self.correlation, request);
            }
            let (number, name, partition) = (batch.number, &found.name, found.partition);
            world.trace.note(world.now, || {
                let leader = known.leader;
                format!(
                    "producer {} sends batch {number} of {name}-{partition} to broker {leader}",
                    self.number
                )
            });
            let frame =
                wire::produce(self.correlation, &found.name, found.partition, self.acks, batch.bytes.clone());
            wishes.push(Wish::Send { broker: known.leader, frame });
        }
        if self.acks == 0 {
            // Nobody will say what became of them.
            for batch in found.batches.drain(..) {
                world.coverage.count("batches sent without waiting");
                world.oracle.history.settle(batch.identity, Attempt::Unknown);
            }
        }
        wishes
    }

    pub(super) fn handle_frame(&mut self, world: &mut World, _broker: usize, frame: &Bytes) -> Vec<Wish> {
        let Ok(correlation) = response_correlation_id(frame) else { return Vec::new() };
        let Some(request) = self.requests.remove(&correlation) else {
            self.take_identity(frame);
            return Vec::new();
        };
        let Ok((_, response)) = decode_response::<ProduceResponse<'_>>(frame, PRODUCE) else {
            world.oracle.violate("protocol", "an answer to Produce cannot be read".to_owned());
            return Vec::new();
        };
        let answered = response.responses.first().and_then(|topic| topic.partition_responses.first());
        let Some(answer) = answered else { return Vec::new() };
        self.settle(world, &request, answer.error_code, answer.base_offset);
        self.pump(world, request.lane)
    }

    fn take_identity(&mut self, frame: &Bytes) {
        if !self.idempotent || self.identity.is_some() {
            return;
        }
        self.asked = None;
        if let Ok((_, answer)) = decode_response::<InitProducerIdResponse>(frame, INIT)
            && answer.error_code == ErrorCode::None
        {
            self.identity = Some((ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch)));
        }
    }

    /// An answer came for a batch.
    fn settle(&mut self, world: &mut World, request: &Request, error: ErrorCode, base_offset: i64) {
        let Some(lane) = self.lanes.get_mut(request.lane) else { return };
        let Some(at) = lane.batches.iter().position(|batch| batch.number == request.batch) else { return };
        let Some(batch) = lane.batches.get_mut(at) else { return };
        batch.in_flight = false;
        let (name, partition, identity, number) =
            (lane.name.clone(), lane.partition, batch.identity, batch.number);
        world.trace.note(world.now, || {
            format!(
                "producer {} hears of batch {number} of {name}-{partition}: {error:?} {base_offset}",
                self.number
            )
        });
        let leads = world.oracle_leads(request.known.leader, request.known.key);
        let led_throughout = request.led.filter(|led| leads == Some(*led));
        let leader = led_throughout.map(|epoch| Keeper::Leader(request.known.leader, epoch));
        if error == ErrorCode::None {
            world.coverage.count("batches acknowledged");
            lane.batches.remove(at);
            if self.acks == -1 {
                lane.kept = Some(Keeper::All);
                return world.oracle_acknowledged(&name, partition, identity, base_offset);
            }
            lane.kept = leader;
            world.coverage.count("batches acknowledged by the leader alone");
            let producer = (!self.idempotent).then_some(self.number);
            return world.oracle.history.appended(&name, partition, identity, base_offset, producer);
        }
        world.coverage.count("batches refused");
        lane.known = None;
        lane.not_before = world.now + world.dice.between(5 * MS, 150 * MS);
        if !self.idempotent {
            lane.batches.remove(at);
            let definite = error == ErrorCode::NotEnoughReplicas;
            let outcome = if definite { Attempt::Failed } else { Attempt::Unknown };
            return world.oracle.history.settle(identity, outcome);
        }
        // A leader that was replaced, and does not know it, may lack what was acknowledged since.
        let present = world.leads(request.known);
        if error == ErrorCode::OutOfOrderSequenceNumber && at == 0 && present {
            // What is known of batches goes with their records.
            let deleted = world.oracle.log_start(request.known.key) > 0;
            let known = lane.kept == Some(Keeper::All) || lane.kept.is_some() && lane.kept == leader;
            self.lost_place(world, request.lane, known && !deleted);
        }
    }

    /// The broker does not know the sequence before the oldest unsettled batch, although it was acknowledged.
    fn lost_place(&mut self, world: &mut World, lane: usize, acknowledged: bool) {
        let Some(found) = self.lanes.get(lane) else { return };
        if acknowledged && !world.oracle.was_deleted(&found.name) {
            let text = format!(
                "producer {} is out of order at {}-{} although everything before is acknowledged",
                self.number, found.name, found.partition
            );
            return world.oracle.violate("producer state", text);
        }
        world.coverage.count("producer identities begun anew");
        self.begin_anew(world);
    }

    /// Another identity: what was not settled under the old one stays unknown.
    fn begin_anew(&mut self, world: &mut World) {
        self.identity = None;
        self.requests.clear();
        for lane in &mut self.lanes {
            for batch in lane.batches.drain(..) {
                world.oracle.history.settle(batch.identity, Attempt::Unknown);
            }
            lane.next_sequence = 0;
            lane.kept = None;
        }
    }

    /// The connection to a broker is gone: nobody knows what became of the requests on it.
    pub(super) fn handle_closed(&mut self, world: &mut World, broker: usize) {
        let gone = self.requests.extract_if(.., |_, request| request.known.leader == broker);
        for (_, request) in gone.collect::<Vec<_>>() {
            let Some(lane) = self.lanes.get_mut(request.lane) else { continue };
            let Some(at) = lane.batches.iter().position(|batch| batch.number == request.batch) else {
                continue;
            };
            lane.known = None;
            lane.not_before = world.now + world.dice.between(5 * MS, 150 * MS);
            if self.idempotent {
                if let Some(batch) = lane.batches.get_mut(at) {
                    batch.in_flight = false;
                }
            } else if let Some(batch) = lane.batches.remove(at) {
                world.oracle.history.settle(batch.identity, Attempt::Unknown);
            }
        }
    }

    /// Connections on which an answer takes too long.
    fn give_up(&self, now: u64) -> Vec<Wish> {
        let late = self.requests.values().filter(|request| now - request.sent > PATIENCE);
        late.map(|request| Wish::Drop { broker: request.known.leader }).collect()
    }
}

fn identity_of(bytes: &Bytes) -> u64 {
    identity(bytes)
}
