//! A consumer: reads its partitions from the first offset to the last, now and then again from the beginning, and asks for
//! the latest offset. Every answer is held against what is committed.

use bytes::Bytes;
use kafka_wire::messages::fetch::{FetchResponse, FetchedPartition};
use kafka_wire::messages::list_offsets::ListOffsetsResponse;
use kafka_wire::{ErrorCode, decode_response, response_correlation_id};
use log_core::TopicPartition;
use log_core::batch::Batches;

use super::wire::{self, FETCH, LIST};
use super::{Known, Wish};
use crate::plan::{MS, Plan};
use crate::world::World;

/// How long an answer may take before the connection is given up.
const PATIENCE: u64 = 5_000 * MS;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Consumer {
    number: u64,
    correlation: i32,
    lanes: Vec<Lane>,
}

/// One partition.
#[derive(Debug)]
struct Lane {
    name: String,
    partition: i32,
    known: Option<Known>,
    /// What the position is of.
    of: Option<TopicPartition>,
    position: i64,
    asked: Option<Asked>,
    not_before: u64,
    /// The greatest latest offset that was told, and under which epoch.
    latest: Option<(i32, i64)>,
    /// Whether the partition is being read from its first offset to its last after the last fault.
    reading_through: bool,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    correlation: i32,
    known: Known,
    named_epoch: bool,
    latest: bool,
    sent: u64,
    /// Below this offset everything was known to be gone then.
    gone: i64,
}

impl Consumer {
    pub(super) fn new(plan: &Plan, number: u64) -> Self {
        let partitions = plan
            .topics
            .iter()
            .flat_map(|topic| (0..topic.partitions).map(|index| (topic.name.clone(), index)));
        let lane = |(name, partition)| Lane {
            name,
            partition,
            known: None,
            of: None,
            position: 0,
            asked: None,
            not_before: 0,
            latest: None,
            reading_through: false,
        };
        Self { number, correlation: 0, lanes: partitions.map(lane).collect() }
    }

    pub(super) fn unfinished(&self, world: &World) -> Option<String> {
        let lane = self.lanes.iter().find(|lane| !lane.is_through(world))?;
        let end = lane.known.map(|known| world.oracle.committed_end(known.key));
        Some(format!("consumer {} is not through, of {end:?}: {lane:?}", self.number))
    }

    pub(super) fn handle_time(&mut self, world: &mut World) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for lane in 0..self.lanes.len() {
            wishes.extend(self.ask(world, lane));
        }
        wishes
    }

    fn ask(&mut self, world: &mut World, lane: usize) -> Option<Wish> {
        let lane = self.lanes.get_mut(lane)?;
        if let Some(asked) = lane.asked {
            return (world.now - asked.sent > PATIENCE).then(|| Wish::Drop { broker: asked.known.leader });
        }
        if world.now < lane.not_before {
            return None;
        }
        if lane.known.is_none() || world.dice.permille(50) {
            let known = world.describe(&lane.name, lane.partition, lane.known);
            lane.take_known(known);
        }
        let known = lane.known?;
        lane.rewind(world);
        self.correlation += 1;
        let named_epoch = world.dice.permille(700);
        let epoch = if named_epoch { known.epoch.0 } else { -1 };
        let latest = world.dice.permille(150);
        let correlation = self.correlation;
        world.coverage.count(if latest { "latest offsets asked for" } else { "fetches" });
        let gone = world.oracle.gone(known.key);
        lane.asked = Some(Asked { correlation, known, named_epoch, latest, sent: world.now, gone });
        let frame = if latest {
            wire::list_latest(correlation, &lane.name, lane.partition, epoch)
        } else {
            let wait_ms = world.dice.pick(&[0, 30, 300]);
            wire::fetch(correlation, known.key, lane.position, epoch, wait_ms)
        };
        Some(Wish::Send { broker: known.leader, frame })
    }

    pub(super) fn handle_frame(&mut self, world: &mut World, _broker: usize, frame: &Bytes) -> Vec<Wish> {
        let Ok(correlation) = response_correlation_id(frame) else { return Vec::new() };
        let of = |lane: &&mut Lane| lane.asked.is_some_and(|asked| asked.correlation == correlation);
        let Some(lane) = self.lanes.iter_mut().find(of) else { return Vec::new() };
        let Some(asked) = lane.asked.take() else { return Vec::new() };
        if asked.latest {
            lane.take_latest(world, asked, frame);
        } else {
            lane.take_fetched(world, asked, frame);
        }
        Vec::new()
    }

    pub(super) fn handle_closed(&mut self, broker: usize) {
        for lane in &mut self.lanes {
            if lane.asked.take_if(|asked| asked.known.leader == broker).is_some() {
                lane.known = None;
            }
        }
    }
}

impl Lane {
    /// What was read stays read, unless it is of another topic of the name.
    fn take_known(&mut self, known: Option<Known>) {
        let of = known.map(|known| known.key);
        if of.is_some() && of != self.of {
            self.position = 0;
            self.latest = None;
            self.of = of;
        }
        self.known = known;
    }

    /// Reads again from the beginning: now and then, and once after the last fault.
    fn rewind(&mut self, world: &mut World) {
        if world.is_healing() {
            if !self.reading_through && world.oracle_quiet() {
                self.reading_through = true;
                self.position = 0;
            }
        } else if world.dice.permille(8) {
            self.position = 0;
        }
    }

    fn is_through(&self, world: &World) -> bool {
        let Some(known) = self.known else { return false };
        let end = world.oracle.committed_end(known.key);
        world.topic_now(&self.name) == Some(known.key.topic_id)
            && self.reading_through
            && self.position >= end
    }

    fn refused(&mut self, world: &mut World) {
        self.known = self.known.filter(|_| world.dice.permille(500));
        if self.known.is_none() {
            let known = world.describe(&self.name, self.partition, None);
            self.take_known(known);
        }
        self.not_before = world.now + world.dice.between(10 * MS, 200 * MS);
    }

    fn take_fetched(&mut self, world: &mut World, asked: Asked, frame: &Bytes) {
        let Ok((_, response)) = decode_response::<FetchResponse<'_>>(frame, FETCH) else {
            return world.oracle.violate("protocol", "an answer to Fetch cannot be read".to_owned());
        };
        let answered =
            response.responses.into_iter().next().and_then(|topic| topic.partitions.into_iter().next());
        let Some(answer) = answered else { return self.refused(world) };
        if self.known.map(|known| known.key) != Some(asked.known.key) {
            return;
        }
        world.trace.note(world.now, || {
            let (error, bytes) = (answer.error_code, answer.records.len());
            let (of, from) = (format!("{}-{}", self.name, self.partition), self.position);
            format!("a consumer reads {of} from {from}: {error:?}, {bytes} bytes, {}", answer.high_watermark)
        });
        match answer.error_code {
            ErrorCode::None => self.take_records(world, asked, answer),
            ErrorCode::OffsetOutOfRange => {
                world.oracle_out_of_range(asked.known.key, self.position, asked.known.epoch);
                self.position = world.oracle.log_start(asked.known.key);
                self.refused(world);
            }
            _ => self.refused(world),
        }
    }

    fn take_records(&mut self, world: &mut World, asked: Asked, answer: FetchedPartition) {
        world.oracle_served_to(asked.known.key, answer.high_watermark);
        let bytes = answer.records.into_bytes();
        // A leader that was replaced, and does not know it, may have what was deleted since.
        let present = asked.named_epoch && world.leads(asked.known);
        let mut batches = Batches::new(&bytes);
        for (header, whole) in &mut batches {
            if present && header.next_offset().0 <= asked.gone {
                let text = format!(
                    "a fetch from {} gives what lies below {}, which was gone before",
                    self.position, asked.gone
                );
                world.oracle.violate("gone", text);
            }
            if header.next_offset().0 <= self.position {
                world.oracle.violate("read", format!("a fetch from {} gives {header:?}", self.position));
            }
            if header.base_offset.0 > self.position
                && self.position >= world.oracle.log_start(asked.known.key)
            {
                let text = format!("a fetch from {} skips to {}", self.position, header.base_offset);
                world.oracle.violate("skip", text);
            }
            world.oracle_read(asked.known.key, &header, whole);
            world.coverage.count("batches read");
            self.position = header.next_offset().0;
        }
        if world.plan.workload.consumers_rest && !world.is_healing() {
            self.not_before = world.now + world.dice.between(0, 2_000 * MS);
        }
    }

    fn take_latest(&mut self, world: &mut World, asked: Asked, frame: &Bytes) {
        let Ok((_, response)) = decode_response::<ListOffsetsResponse<'_>>(frame, LIST) else {
            return world.oracle.violate("protocol", "an answer to ListOffsets cannot be read".to_owned());
        };
        let answer = response.topics.first().and_then(|topic| topic.partitions.first());
        let Some(answer) = answer.filter(|answer| answer.error_code == ErrorCode::None) else {
            return self.refused(world);
        };
        // By name: of a topic that was made again, the answer may be of either.
        if !asked.named_epoch
            || world.oracle.was_deleted(&self.name)
            || self.known.map(|known| known.key) != Some(asked.known.key)
        {
            return;
        }
        world.coverage.count("latest offsets told");
        let told = (asked.known.epoch.0, answer.offset);
        if let Some((epoch, offset)) =
            self.latest.filter(|(epoch, offset)| told.0 >= *epoch && told.1 < *offset)
        {
            let text = format!(
                "the latest offset of {}-{} was {offset} in epoch {epoch}, and is {} in epoch {}",
                self.name, self.partition, told.1, told.0
            );
            world.oracle.violate("latest offset goes back", text);
        }
        self.latest = self.latest.max(Some(told));
    }
}
