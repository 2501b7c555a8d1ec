//! Fetching: which partitions go into which request, and what an answer brings.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::fetch::{self, FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use kafka_wire::{ApiKey, DecodeError, ErrorCode, Uuid, decode_response};
use log_core::Now;
use log_core::batch::Batches;

use super::{Consumer, Key, PartState, lost};
use crate::action::{Action, ConnectionId, ConsumerEvent};
use crate::consumer::Fetched;
use crate::core::Core;
use crate::error::{ClientError, Damage, LostPosition, NetworkError, Place};
use crate::network::Channel;
use crate::options::OnLostPosition;
use crate::purpose::{FetchedPartition, Purpose};
use crate::queries::Queries;

/// The first version that names topics by id.
const TOPIC_IDS_SINCE: i16 = 13;

/// Connections per broker: a partition that becomes ready does not wait for a fetch that waits for others.
const LANES: [u8; 2] = [0, 1];

impl Consumer {
    pub(super) fn drive_fetches(&mut self, core: &mut Core, now: Now) {
        if self.buffered_bytes >= self.options.prefetch_bytes_max {
            return;
        }
        let mut by_leader: BTreeMap<i32, Vec<Key>> = BTreeMap::new();
        for (key, part) in &self.parts {
            let ready =
                matches!(part.state, PartState::Fetching { .. }) && !part.is_paused && !part.in_flight;
            if !ready || part.not_before > now.mono {
                continue;
            }
            match core.cluster.leader(&key.0, key.1).and_then(|leader| leader.broker) {
                Some(broker) => by_leader.entry(broker).or_default().push(key.clone()),
                None => core.cluster.want_update(),
            }
        }
        let leaders = by_leader.len().max(1);
        for (broker, keys) in by_leader {
            if let Some(connection) = self.free_lane(core, now, broker) {
                self.send_fetch(core, now, connection, &keys, leaders);
            }
        }
    }

    /// The first connection without a fetch on its way. The next one is only made when the one before is busy.
    fn free_lane(&self, core: &mut Core, now: Now, broker: i32) -> Option<ConnectionId> {
        for lane in LANES {
            let connection = core.connection(now, broker, Channel::Fetch(self.handle, lane))?;
            if core.network.in_flight(connection) == 0 {
                return Some(connection);
            }
        }
        None
    }

    fn send_fetch(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        keys: &[Key],
        leaders: usize,
    ) {
        let ids_known = keys.iter().all(|key| !core.cluster.topic_id(&key.0).is_none());
        let highest = if ids_known { i16::MAX } else { TOPIC_IDS_SINCE - 1 };
        let Some(version) = core.network.version(connection, ApiKey::Fetch, highest) else {
            let error = core.unsupported(connection, ApiKey::Fetch);
            return keys.iter().for_each(|key| self.fail_part(core, now, key, error.clone()));
        };
        let mut topics: Vec<FetchTopic<'_>> = Vec::new();
        let mut partitions = Vec::new();
        for key in keys {
            let Some(part) = self.parts.get_mut(key) else { continue };
            let PartState::Fetching { offset } = part.state else { continue };
            part.in_flight = true;
            part.epoch_asked = core.cluster.leader(&key.0, key.1).map_or(-1, |leader| leader.epoch);
            let asked = FetchPartition {
                partition: i32::try_from(key.1).unwrap_or(i32::MAX),
                current_leader_epoch: part.epoch_asked,
                fetch_offset: offset,
                partition_max_bytes: wire_bytes(self.options.partition_bytes_max),
                ..FetchPartition::default()
            };
            match topics.last_mut() {
                Some(topic) if *topic.topic == *key.0 => topic.partitions.push(asked),
                _ => topics.push(FetchTopic {
                    topic: key.0.to_string().into(),
                    topic_id: core.cluster.topic_id(&key.0),
                    partitions: vec![asked],
                }),
            }
            let (topic, partition, generation) = (Arc::clone(&key.0), key.1, part.generation);
            partitions.push(FetchedPartition { topic, partition, generation, offset });
        }
        let max_wait = self.options.fetch_wait_max;
        let request = FetchRequest {
            max_wait_ms: i32::try_from(max_wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: wire_bytes(self.options.fetch_bytes_min),
            max_bytes: self.request_bytes(leaders),
            topics,
            ..FetchRequest::default()
        };
        let patience = core.options.request_timeout + max_wait;
        let purpose = Purpose::Fetch { consumer: self.handle, partitions };
        core.send(now, connection, version, &request, purpose, patience);
    }

    /// Every leader may answer at once: together they may bring half of what may wait, beyond what waits already.
    fn request_bytes(&self, leaders: usize) -> i32 {
        let share = self.options.prefetch_bytes_max / (2 * leaders);
        let least = self.options.partition_bytes_max.min(self.options.fetch_bytes_max);
        wire_bytes(share.clamp(least, self.options.fetch_bytes_max.max(least)))
    }

    pub(crate) fn on_fetched(
        &mut self,
        core: &mut Core,
        queries: &mut Queries,
        now: Now,
        (connection, version, frame): (ConnectionId, i16, &Bytes),
        asked: &[FetchedPartition],
    ) -> Result<(), DecodeError> {
        let (_, answer) = decode_response::<FetchResponse<'_>>(frame, version).inspect_err(|_| {
            self.fetch_failed(core, now, asked);
        })?;
        core.metrics.fetches += 1;
        core.throttle(now, connection, answer.throttle_time_ms);
        if !answer.error_code.is_ok() {
            core.cluster.want_update();
            self.fetch_failed(core, now, asked);
            return Ok(());
        }
        let mut found: BTreeMap<Key, fetch::FetchedPartition> = BTreeMap::new();
        for topic in answer.responses {
            let name = match topic.topic_id {
                Uuid::NONE => Some(Arc::from(&*topic.topic)),
                id => core.cluster.topic_name(id),
            };
            let Some(name) = name else { continue };
            for partition in topic.partitions {
                if let Ok(index) = u32::try_from(partition.partition_index) {
                    found.insert((Arc::clone(&name), index), partition);
                }
            }
        }
        for asked in asked {
            let key = (Arc::clone(&asked.topic), asked.partition);
            let Some(part) = self.parts.get_mut(&key).filter(|part| part.generation == asked.generation)
            else {
                continue;
            };
            part.in_flight = false;
            match found.remove(&key) {
                Some(partition) => self.on_partition(core, queries, now, asked, partition),
                // The topic was deleted and made anew meanwhile, or the broker had nothing to say.
                None => self.delay(core, now, &key),
            }
        }
        Ok(())
    }

    pub(crate) fn on_fetch_lost(
        &mut self,
        core: &mut Core,
        now: Now,
        asked: &[FetchedPartition],
        _: &NetworkError,
    ) {
        core.cluster.want_update();
        self.fetch_failed(core, now, asked);
    }

    fn fetch_failed(&mut self, core: &mut Core, now: Now, asked: &[FetchedPartition]) {
        for asked in asked {
            let key = (Arc::clone(&asked.topic), asked.partition);
            if let Some(part) = self.parts.get_mut(&key)
                && part.generation == asked.generation
            {
                part.in_flight = false;
                self.delay(core, now, &key);
            }
        }
    }

    fn delay(&mut self, core: &mut Core, now: Now, key: &Key) {
        if let Some(part) = self.parts.get_mut(key) {
            part.failures += 1;
            part.not_before = core.retry_at(now, part.failures);
        }
    }

    fn on_partition(
        &mut self,
        core: &mut Core,
        queries: &mut Queries,
        now: Now,
        asked: &FetchedPartition,
        answer: fetch::FetchedPartition,
    ) {
        let key = (Arc::clone(&asked.topic), asked.partition);
        match answer.error_code {
            ErrorCode::None => self.on_records(core, now, asked, answer),
            ErrorCode::OffsetOutOfRange => match self.options.on_lost_position {
                // The answer may say where the log starts; then one question is saved.
                OnLostPosition::Fail if answer.log_start_offset > asked.offset => {
                    let log_start = answer.log_start_offset;
                    let how = LostPosition::BelowLogStart { log_start };
                    self.fail_part(core, now, &key, lost(&key, asked.offset, how));
                }
                _ => self.lose_position(core, queries, now, &key, asked.offset),
            },
            code if code.is_retriable() => {
                if code.asks_for_refresh() {
                    core.cluster.want_update();
                }
                self.delay(core, now, &key);
            }
            code => {
                let place = Place::offset(&key.0, key.1, asked.offset);
                self.fail_part(core, now, &key, ClientError::broker(code, None, place));
            }
        }
    }

    fn on_records(
        &mut self,
        core: &mut Core,
        now: Now,
        asked: &FetchedPartition,
        answer: fetch::FetchedPartition,
    ) {
        let key = (Arc::clone(&asked.topic), asked.partition);
        let bytes = answer.records.into_bytes();
        let Some(part) = self.parts.get_mut(&key) else { return };
        (part.failures, part.not_before) = (0, log_core::MonoTime(0));
        // The broker led in the epoch that was asked under, or it would have refused.
        part.epoch_checked = part.epoch_checked.max(part.epoch_asked);
        if bytes.is_empty() {
            return;
        }
        let mut batches = Batches::new(&bytes);
        let last = batches.by_ref().last();
        let whole = bytes.len() - batches.rest().len();
        let Some((header, _)) = last else {
            // Not even one batch can be told apart: the reader finds out what is wrong, and where.
            part.state = PartState::Stopped;
            return self.hand_out(core, asked, bytes, asked.offset, answer.high_watermark);
        };
        let next = header.next_offset().0;
        if next <= asked.offset {
            let place = Place::offset(&key.0, key.1, asked.offset);
            let damage = Damage::Rule("the broker sent only batches that end before the offset asked for");
            return self.fail_part(core, now, &key, ClientError::Damaged { damage, place, resume_at: None });
        }
        part.epoch_read = header.leader_epoch.0;
        part.state = PartState::Fetching { offset: next };
        self.hand_out(core, asked, bytes.slice(..whole), next, answer.high_watermark);
    }

    fn hand_out(
        &mut self,
        core: &mut Core,
        asked: &FetchedPartition,
        records: Bytes,
        next: i64,
        high_watermark: i64,
    ) {
        core.metrics.fetched_bytes += records.len() as u64;
        self.buffered_bytes += records.len();
        let fetched = Fetched {
            topic: Arc::clone(&asked.topic),
            partition: asked.partition,
            generation: asked.generation,
            from: asked.offset,
            next,
            records,
            high_watermark,
        };
        let event = ConsumerEvent::Fetched(fetched);
        core.emit(Action::Consumer { consumer: self.handle, event });
    }
}

fn wire_bytes(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}
