//! Fetch: reads committed batches; waits until there are enough of them.
//!
//! Each partition is read once. If that gave too little, the request watches its partitions and reads those again that
//! moved, until it has `min_bytes`, or one partition has all it may give, or something went wrong, or its time is up.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use kafka_wire::messages::fetch::{
    FetchLeaderIdAndEpoch, FetchNodeEndpoint, FetchRequest, FetchResponse, FetchableTopicResponse,
    FetchedPartition,
};
use kafka_wire::{ErrorCode, Records, Uuid};
use log_core::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use log_store::Disk;

use super::topics::{self, Found};
use crate::action::CloseReason;
use crate::error::{PartitionError, partition_code};
use crate::peer::{CallId, FetchCall, Fetched, PartitionAnswer, PartitionCall, PendingId};
use crate::shard::{Ask, Pending, Shard};

/// A Fetch request that is read or waits.
#[derive(Debug)]
pub(crate) struct Fetch<F> {
    ask: Ask,
    topics: Vec<FetchedTopic>,
    parts: Vec<Part<F>>,
    /// Parts whose read is under way.
    reading: usize,
    /// Bytes of all parts read.
    bytes: usize,
    bytes_min: usize,
    bytes_max: usize,
    waits: bool,
    watching: bool,
    started: bool,
}

#[derive(Debug)]
struct FetchedTopic {
    name: String,
    id: Uuid,
    /// The numbers of its partitions.
    partitions: Vec<i32>,
}

#[derive(Debug)]
struct Part<F> {
    found: Found,
    offset: Offset,
    current_leader_epoch: LeaderEpoch,
    bytes_max: u32,
    result: Option<Result<Fetched<F>, PartitionError>>,
    reading: bool,
    watched: bool,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_fetch(&mut self, ask: Ask, request: &FetchRequest<'_>) {
        if request.replica_id >= 0 || request.replica_state.replica_id >= 0 {
            return self.close(ask.connection, CloseReason::FetchAsReplica);
        }
        if request.session_id != 0 {
            let error_code = ErrorCode::FetchSessionIdNotFound;
            return self.respond(ask, &FetchResponse::<D::File> { error_code, ..FetchResponse::default() });
        }
        let limits = self.core.config.limits.at(self.door(ask).kind);
        let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
        let wait = wait.min(limits.fetch_wait_max);
        let asked_max = usize::try_from(request.max_bytes).unwrap_or(0);
        let bytes_max = asked_max.min(limits.fetch_bytes_max as usize);
        let mut fetch = Fetch {
            ask,
            topics: Vec::with_capacity(request.topics.len()),
            parts: Vec::new(),
            reading: 0,
            bytes: 0,
            bytes_min: usize::try_from(request.min_bytes).unwrap_or(0).min(bytes_max),
            bytes_max,
            waits: !wait.is_zero() && request.min_bytes > 0,
            watching: false,
            started: false,
        };
        self.find_parts(&mut fetch, request);
        self.note_use(ask, fetch.parts.iter().filter_map(|part| part.found.as_ref().ok()));
        let id = self.next_pending();
        let deadline = fetch.waits.then(|| self.core.now.mono.after(wait));
        let all = 0..u32::try_from(fetch.parts.len()).unwrap_or(u32::MAX);
        self.wait(id, Pending::Fetch(fetch), deadline);
        self.read_parts(id, all);
    }

    fn find_parts(&self, fetch: &mut Fetch<D::File>, request: &FetchRequest<'_>) {
        let ids = fetch.ask.version >= 13;
        for topic in &request.topics {
            let found = topics::by_id_or_name(&self.core.image, ids, topic.topic_id, &topic.topic);
            fetch.topics.push(FetchedTopic {
                name: topic.topic.clone().into_owned(),
                id: topic.topic_id,
                partitions: topic.partitions.iter().map(|partition| partition.partition).collect(),
            });
            fetch.parts.extend(topic.partitions.iter().map(|partition| Part {
                found: found.and_then(|topic| topics::partition_of(topic, partition.partition)),
                offset: Offset(partition.fetch_offset),
                current_leader_epoch: LeaderEpoch(partition.current_leader_epoch),
                bytes_max: u32::try_from(partition.partition_max_bytes).unwrap_or(0),
                result: None,
                reading: false,
                watched: false,
            }));
        }
    }

    /// Reads some parts, the limits shared in the order of the request; a part on another shard is read with what the
    /// parts before it left so far, and the answer is trimmed when it is built.
    fn read_parts(&mut self, id: PendingId, parts: impl IntoIterator<Item = u32>) {
        if let Some(Pending::Fetch(fetch)) = self.pending_mut(id) {
            fetch.started = false;
        }
        for part in parts {
            let Some(Pending::Fetch(fetch)) = self.pending_mut(id) else { return };
            let Some((partition, call)) = fetch.next_read(part) else { continue };
            self.call(CallId { pending: id, part }, partition, PartitionCall::Fetch(call));
            self.take_local_answers();
        }
        self.check_fetch(id);
    }

    fn check_fetch(&mut self, id: PendingId) {
        if let Some(Pending::Fetch(fetch)) = self.pending_mut(id) {
            fetch.started = true;
            if fetch.reading == 0 {
                let pending = self.take_pending(id).expect("it was just looked at");
                self.finish_pending(id, pending);
            }
        }
    }

    pub(crate) fn reread_fetch(&mut self, id: PendingId, fetch: Fetch<D::File>, parts: &BTreeSet<u32>) {
        self.put_back(id, Pending::Fetch(fetch));
        self.read_parts(id, parts.iter().copied());
    }

    /// All reads are in: answers, or waits for more.
    pub(crate) fn look_at_fetch(&mut self, id: PendingId, mut fetch: Fetch<D::File>) {
        if fetch.is_enough() {
            return self.finish_fetch(id, fetch);
        }
        let ask = fetch.ask;
        let Some(connection) = self.connections.get_mut(&ask.connection) else {
            // Its client left while it was read.
            return self.unwatch(id, &fetch);
        };
        if !std::mem::replace(&mut fetch.watching, true) {
            connection.park(ask.sequence, id);
            self.core.metrics.fetches_parked += 1;
        }
        let watches = fetch.take_watches();
        self.put_back(id, Pending::Fetch(fetch));
        for (part, partition, seen) in watches {
            self.call(CallId { pending: id, part }, partition, PartitionCall::Watch { seen });
        }
    }

    fn finish_fetch(&mut self, id: PendingId, fetch: Fetch<D::File>) {
        self.unwatch(id, &fetch);
        let ask = fetch.ask;
        let mut leaders = Vec::new();
        let mut budget = Budget { left: fetch.bytes_max, first: true };
        let mut parts = fetch.parts.into_iter();
        let mut responses = Vec::with_capacity(fetch.topics.len());
        for topic in fetch.topics {
            let numbers = topic.partitions.iter();
            let partitions = numbers.zip(&mut parts).map(|(number, part)| {
                let found = part.found;
                let response = partition_response(*number, part, &mut budget);
                self.hint_fetch_leader(response, found, &mut leaders)
            });
            let partitions = partitions.collect();
            responses.push(FetchableTopicResponse {
                topic: Cow::Owned(topic.name),
                topic_id: topic.id,
                partitions,
            });
        }
        let node_endpoints = self.fetch_endpoints(ask, leaders);
        self.respond(ask, &FetchResponse { responses, node_endpoints, ..FetchResponse::default() });
    }

    /// Ends the watches that are left: a partition that moved has ended its own.
    pub(crate) fn unwatch(&mut self, id: PendingId, fetch: &Fetch<D::File>) {
        for (part, asked) in (0_u32..).zip(&fetch.parts) {
            if let Part { found: Ok(partition), watched: true, .. } = asked {
                self.call(CallId { pending: id, part }, *partition, PartitionCall::Unwatch);
            }
        }
    }

    fn hint_fetch_leader(
        &self,
        mut response: FetchedPartition<D::File>,
        found: Found,
        leaders: &mut Vec<BrokerId>,
    ) -> FetchedPartition<D::File> {
        let moved =
            matches!(response.error_code, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
        let state = found.ok().filter(|_| moved).and_then(|found| self.core.image.partition(found));
        if let Some((leader, epoch)) = state.and_then(|state| Some((state.leader?, state.leader_epoch))) {
            response.current_leader = FetchLeaderIdAndEpoch { leader_id: leader.0, leader_epoch: epoch.0 };
            leaders.push(leader);
        }
        response
    }

    fn fetch_endpoints(&self, ask: Ask, mut leaders: Vec<BrokerId>) -> Vec<FetchNodeEndpoint<'static>> {
        let door = self.door(ask);
        leaders.sort_unstable();
        leaders.dedup();
        let addresses = leaders.into_iter().filter_map(|leader| self.address(&door, leader));
        addresses
            .map(|address| FetchNodeEndpoint {
                node_id: address.broker.0,
                host: Cow::Owned(address.host),
                port: address.port,
                rack: address.rack.map(Cow::Owned),
            })
            .collect()
    }
}

impl<F> Fetch<F> {
    pub(crate) fn take(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        let result = match answer {
            PartitionAnswer::Fetched(fetched) => Ok(fetched),
            PartitionAnswer::Failed(error) => Err(error),
            PartitionAnswer::Produced(_)
            | PartitionAnswer::OffsetListed(_)
            | PartitionAnswer::EpochEnd { .. }
            | PartitionAnswer::RecordsDeleted { .. }
            | PartitionAnswer::Sized(_)
            | PartitionAnswer::Group(_) => return false,
        };
        if let Some(asked @ Part { result: None, .. }) = self.parts.get_mut(part as usize) {
            self.bytes += result.as_ref().map_or(0, |fetched| fetched.records.len());
            asked.result = Some(result);
            asked.reading = false;
            self.reading -= 1;
        }
        self.started && self.reading == 0
    }

    /// Time is up: whether all reads are in, so that the answer can be built.
    pub(crate) fn expire(&mut self) -> bool {
        self.waits = false;
        self.reading == 0
    }

    /// The next read of a part, in place of what was read before.
    fn next_read(&mut self, part: u32) -> Option<(TopicPartition, FetchCall)> {
        let asked = self.parts.get_mut(part as usize)?;
        let partition = asked.found.ok()?;
        if asked.reading {
            return None;
        }
        asked.reading = true;
        if let Some(Ok(before)) = asked.result.take() {
            self.bytes -= before.records.len();
        }
        asked.watched = false;
        self.reading += 1;
        let left = u32::try_from(self.bytes_max.saturating_sub(self.bytes)).unwrap_or(u32::MAX);
        let call = FetchCall {
            offset: asked.offset,
            current_leader_epoch: asked.current_leader_epoch,
            max_bytes: asked.bytes_max.min(left),
            at_least_one: self.bytes == 0,
        };
        Some((partition, call))
    }

    fn is_enough(&self) -> bool {
        let final_part = |part: &Part<F>| match (&part.found, &part.result) {
            (Err(_), _) | (Ok(_), Some(Err(_))) => true,
            (Ok(_), Some(Ok(fetched))) => fetched.cut_short,
            (Ok(_), None) => false,
        };
        !self.waits || self.bytes >= self.bytes_min || self.parts.iter().any(final_part)
    }

    /// What shall be watched from now on, with the high watermark seen.
    fn take_watches(&mut self) -> Vec<(u32, TopicPartition, Offset)> {
        let mut watches = Vec::new();
        for (number, part) in (0_u32..).zip(&mut self.parts) {
            if let (Ok(partition), Some(Ok(fetched)), false) = (&part.found, &part.result, part.watched) {
                watches.push((number, *partition, fetched.high_watermark));
                part.watched = true;
            }
        }
        watches
    }
}

/// How many more bytes an answer may hold; its first batch always fits.
struct Budget {
    left: usize,
    first: bool,
}

impl Budget {
    fn take<F>(&mut self, records: Records<F>) -> Records<F> {
        let len = records.len();
        if len == 0 || (len > self.left && !self.first) {
            return Records::EMPTY;
        }
        self.first = false;
        self.left = self.left.saturating_sub(len);
        records
    }
}

fn partition_response<F>(number: i32, part: Part<F>, budget: &mut Budget) -> FetchedPartition<F> {
    let failed = |error_code| FetchedPartition {
        partition_index: number,
        error_code,
        high_watermark: -1,
        ..FetchedPartition::default()
    };
    match (part.found, part.result) {
        (Err(code), _) => failed(code),
        (Ok(_), Some(Err(error))) => failed(partition_code(&error)),
        (Ok(_), None) => failed(ErrorCode::RequestTimedOut),
        (Ok(_), Some(Ok(fetched))) => FetchedPartition {
            partition_index: number,
            high_watermark: fetched.high_watermark.0,
            last_stable_offset: fetched.high_watermark.0,
            log_start_offset: fetched.log_start.0,
            records: budget.take(fetched.records),
            ..FetchedPartition::default()
        },
    }
}
