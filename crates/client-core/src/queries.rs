//! Questions for offsets (by time, or the ends), from consumers and admins alike: those to the same leader share a request.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopic,
};
use kafka_wire::{ApiKey, DecodeError, ErrorCode, decode_response};
use log_core::{MonoTime, Now};

use crate::action::{CallId, ConnectionId, ConsumerHandle};
use crate::admin::{OffsetSpec, PartitionOffset};
use crate::cluster::TopicState;
use crate::core::{Core, earliest};
use crate::error::{CallerProblem, ClientError, NetworkError, Place, Waiting};
use crate::network::Channel;
use crate::purpose::Purpose;

/// The first version that knows the greatest timestamp.
const MAX_TIMESTAMP_SINCE: i16 = 7;

/// All open questions.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    next: u64,
    open: BTreeMap<u64, Query>,
    /// Something was asked since the last time that questions were sent.
    is_fresh: bool,
}

/// Who has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// An admin's call: the place of the answer in it.
    Call { call: CallId, index: usize },
    /// A consumer, for a partition in this generation.
    Consumer { consumer: ConsumerHandle, generation: u32, why: Why },
}

/// What a consumer needs the offset for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// To begin there.
    Begin,
    /// Its position was out of range: the log's start, to compare.
    LostStart { position: i64 },
    /// Its position is beyond the end: the log's end, to tell.
    LostEnd { position: i64 },
}

/// An answer for who has asked.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) asker: Asker,
    pub(crate) topic: Arc<str>,
    pub(crate) partition: u32,
    pub(crate) result: Result<PartitionOffset, ClientError>,
}

#[derive(Debug)]
struct Query {
    asker: Asker,
    topic: Arc<str>,
    partition: u32,
    spec: OffsetSpec,
    in_flight: bool,
    not_before: MonoTime,
    failures: u32,
    limit: Duration,
    deadline: MonoTime,
    last_error: Option<ClientError>,
}

impl Queries {
    pub(crate) fn ask(
        &mut self,
        core: &mut Core,
        now: Now,
        asker: Asker,
        (topic, partition): (Arc<str>, u32),
        spec: OffsetSpec,
        limit: Option<Duration>,
    ) {
        let limit = limit.unwrap_or(core.options.call_timeout);
        core.cluster.add_interest(&topic, false);
        let (not_before, failures, last_error) = (now.mono, 0, None);
        let query = Query {
            asker,
            topic,
            partition,
            spec,
            in_flight: false,
            not_before,
            failures,
            limit,
            deadline: now.mono.after(limit),
            last_error,
        };
        self.open.insert(self.next, query);
        self.next += 1;
        self.is_fresh = true;
    }

    /// Sends what can be sent; gives what has failed for good.
    pub(crate) fn drive(&mut self, core: &mut Core, now: Now) -> Vec<Found> {
        self.is_fresh = false;
        let mut done = Vec::new();
        let mut by_leader: BTreeMap<i32, Vec<u64>> = BTreeMap::new();
        for (id, query) in &self.open {
            // An answer that comes after the time is over is nobody's.
            if query.deadline > now.mono && (query.in_flight || query.not_before > now.mono) {
                continue;
            }
            match leader_of(core, query, now) {
                Ok(Some(broker)) => by_leader.entry(broker).or_default().push(*id),
                Ok(None) => core.cluster.want_update(),
                Err(error) => done.push((*id, error)),
            }
        }
        for (broker, ids) in by_leader {
            if let Some(connection) = core.connection(now, broker, Channel::General) {
                self.send(core, now, connection, &ids);
            }
        }
        done.into_iter().filter_map(|(id, error)| self.finish(id, Err(error))).collect()
    }

    pub(crate) const fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    pub(crate) fn poll_timeout(&self, now: Now) -> Option<MonoTime> {
        let waiting = self.open.values().filter(|query| !query.in_flight);
        let retry = waiting.map(|query| query.not_before).filter(|at| *at > now.mono).min();
        earliest(retry, self.open.values().map(|query| query.deadline).min())
    }

    pub(crate) fn on_answer(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        ids: &[u64],
        version: i16,
        frame: &Bytes,
    ) -> Result<Vec<Found>, DecodeError> {
        let (_, answer) = decode_response::<ListOffsetsResponse<'_>>(frame, version).inspect_err(|_| {
            self.put_back(core, now, ids, None);
        })?;
        core.throttle(now, connection, answer.throttle_time_ms);
        let mut done = Vec::new();
        for id in ids {
            let Some(query) = self.open.get(id) else { continue };
            let found = answer
                .topics
                .iter()
                .filter(|topic| *topic.name == *query.topic)
                .flat_map(|topic| topic.partitions.iter())
                .find(|partition| u32::try_from(partition.partition_index) == Ok(query.partition));
            let Some(found) = found else {
                self.put_back(core, now, &[*id], None);
                continue;
            };
            let code = found.error_code;
            if code.is_retriable() {
                if code.asks_for_refresh() {
                    core.cluster.want_update();
                }
                let place = Place::partition(&query.topic, query.partition);
                self.put_back(core, now, &[*id], Some(ClientError::broker(code, None, place)));
                continue;
            }
            let result = query.result(found);
            done.extend(self.finish(*id, result));
        }
        Ok(done)
    }

    pub(crate) fn on_lost(&mut self, core: &mut Core, now: Now, ids: &[u64], error: &NetworkError) {
        core.cluster.want_update();
        self.put_back(core, now, ids, Some(error.clone().into()));
    }

    /// Questions of a consumer that is gone, or of a partition that went elsewhere, need no answer.
    pub(crate) fn forget_consumer(&mut self, handle: ConsumerHandle) {
        self.open.retain(
            |_, query| !matches!(query.asker, Asker::Consumer { consumer, .. } if consumer == handle),
        );
    }

    fn put_back(&mut self, core: &mut Core, now: Now, ids: &[u64], error: Option<ClientError>) {
        for id in ids {
            let Some(query) = self.open.get_mut(id) else { continue };
            query.in_flight = false;
            query.failures += 1;
            query.not_before = core.retry_at(now, query.failures);
            if error.is_some() {
                query.last_error.clone_from(&error);
            }
        }
    }

    fn send(&mut self, core: &mut Core, now: Now, connection: ConnectionId, ids: &[u64]) {
        let version = core.network.version(connection, ApiKey::ListOffsets, i16::MAX);
        let mut topics: BTreeMap<Arc<str>, Vec<ListOffsetsPartition>> = BTreeMap::new();
        let mut sent = Vec::new();
        for id in ids {
            let Some(query) = self.open.get_mut(id) else { continue };
            let asked = topics.entry(Arc::clone(&query.topic)).or_default();
            let index = i32::try_from(query.partition).unwrap_or(i32::MAX);
            // A partition may stand in a request only once: a second question for it goes into the next one.
            if asked.iter().any(|other| other.partition_index == index) {
                continue;
            }
            let known = version
                .filter(|version| query.spec != OffsetSpec::MaxTimestamp || *version >= MAX_TIMESTAMP_SINCE);
            if known.is_none() {
                query.deadline = now.mono;
                query.last_error = Some(core.unsupported(connection, ApiKey::ListOffsets));
                continue;
            }
            let epoch = core.cluster.leader(&query.topic, query.partition).map_or(-1, |leader| leader.epoch);
            asked.push(ListOffsetsPartition {
                partition_index: index,
                current_leader_epoch: epoch,
                timestamp: query.spec.wire(),
            });
            query.in_flight = true;
            sent.push(*id);
        }
        let Some(version) = version.filter(|_| !sent.is_empty()) else { return };
        let topics = topics
            .iter()
            .filter(|(_, partitions)| !partitions.is_empty())
            .map(|(name, partitions)| ListOffsetsTopic {
                name: (&**name).into(),
                partitions: partitions.clone(),
            })
            .collect();
        let patience = core.options.request_timeout;
        let timeout_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        let request = ListOffsetsRequest { replica_id: -1, isolation_level: 0, topics, timeout_ms };
        core.send(now, connection, version, &request, Purpose::ListOffsets { queries: sent }, patience);
    }

    fn finish(&mut self, id: u64, result: Result<PartitionOffset, ClientError>) -> Option<Found> {
        let query = self.open.remove(&id)?;
        Some(Found { asker: query.asker, topic: query.topic, partition: query.partition, result })
    }
}

/// The broker to ask; none while that is not known. An error when there is no hope, or no time left.
fn leader_of(core: &Core, query: &Query, now: Now) -> Result<Option<i32>, ClientError> {
    let place = Place::partition(&query.topic, query.partition);
    if query.deadline <= now.mono {
        let leaderless = core.cluster.leaderless(&query.topic, query.partition);
        let last = || core.network.last_error().cloned().map(Into::into);
        let cause = leaderless.or_else(|| query.last_error.clone()).or_else(last);
        if let Some(unsupported @ ClientError::Unsupported { .. }) = cause {
            return Err(unsupported);
        }
        let (waiting, after) = (Waiting::Answer, query.limit);
        return Err(ClientError::TimedOut { waiting, after, cause: cause.map(Box::new), place });
    }
    match core.cluster.topic(&query.topic) {
        TopicState::Unknown => Ok(None),
        TopicState::Failed(error) => Err(error),
        TopicState::Ready(topic) => match topic.partitions.get(&query.partition) {
            Some(leader) => Ok(leader.broker),
            None => {
                let partitions = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
                Err(ClientError::caller(CallerProblem::NoSuchPartition { partitions }, place))
            }
        },
    }
}

impl Query {
    fn result(&self, answer: &ListOffsetsPartitionResponse) -> Result<PartitionOffset, ClientError> {
        if answer.error_code != ErrorCode::None {
            let place = Place::partition(&self.topic, self.partition);
            return Err(ClientError::broker(answer.error_code, None, place));
        }
        Ok(PartitionOffset {
            topic: Arc::clone(&self.topic),
            partition: self.partition,
            offset: (answer.offset >= 0).then_some(answer.offset),
            timestamp: (answer.timestamp >= 0).then_some(answer.timestamp),
            leader_epoch: answer.leader_epoch,
        })
    }
}

impl OffsetSpec {
    /// How the question stands on the wire.
    const fn wire(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => -3,
            Self::Timestamp(at) if at >= 0 => at,
            // Times before 1970 are before every record; negative numbers mean other things on the wire.
            Self::Timestamp(_) => 0,
        }
    }
}
