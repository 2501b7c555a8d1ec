//! The brokers of the world: logs in memory, the producer rules of Kafka, and a script of what goes wrong.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use kafka_wire::messages::api_versions::ApiVersionsResponse;
use kafka_wire::messages::describe_cluster::{DescribeClusterBroker, DescribeClusterResponse};
use kafka_wire::messages::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, FetchedPartition};
use kafka_wire::messages::init_producer_id::InitProducerIdResponse;
use kafka_wire::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use kafka_wire::messages::metadata::{
    MetadataBroker, MetadataPartition, MetadataRequest, MetadataResponse, MetadataTopic,
};
use kafka_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use kafka_wire::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use kafka_wire::{
    ApiKey, Body, DecodeError, Encode, ErrorCode, FileRanges, NoFile, Records, Request, RequestFrame, Rope,
    Uuid, api_version_ranges, api_versions_fallback, encode_response,
};
use log_core::batch::{BatchHeader, Batches, Records as BatchRecords, patch};
use log_core::{LeaderEpoch, Now, Offset};

use super::groups::Groups;

/// Something that goes wrong once, with the next request of an API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every partition of the request is refused so, and nothing is done.
    Refuse(ErrorCode),
    /// It is done, and then refused so.
    DoAndRefuse(ErrorCode),
    /// The connection breaks before anything is done.
    CloseBefore,
    /// It is done, and the connection breaks instead of an answer.
    CloseAfter,
    /// It is done, and no answer ever comes.
    Silence,
    /// This comes instead of an answer.
    Garbage(Bytes),
    /// The answer asks for silence, in milliseconds.
    Throttle(i32),
    /// The client's own records come back with one bit flipped.
    FlipBit(usize),
}

/// What goes back to the client.
#[derive(Debug)]
pub enum Reply {
    Frame(Bytes),
    Later(Duration, Bytes),
    Close,
}

#[derive(Default)]
pub struct Cluster {
    pub brokers: Vec<i32>,
    /// Brokers that belong to the cluster and are not alive.
    pub fenced: Vec<i32>,
    pub topics: BTreeMap<String, Topic>,
    /// What metadata tells instead of the truth.
    pub stale_leaders: BTreeMap<(String, i32), (i32, i32)>,
    faults: BTreeMap<ApiKey, VecDeque<Option<Fault>>>,
    pub handled: Vec<(i32, ApiKey, i16)>,
    pub max_batch_bytes: usize,
    pub auto_create: bool,
    /// Highest versions that brokers speak, where lower than ours.
    pub caps: BTreeMap<ApiKey, i16>,
    pub groups: Groups,
    next_producer: i64,
}

pub struct Topic {
    pub id: Uuid,
    pub partitions: Vec<Partition>,
}

#[derive(Default)]
pub struct Partition {
    /// −1 if nobody leads.
    pub leader: i32,
    pub epoch: i32,
    /// Replicas that metadata tells to be offline.
    pub offline: Vec<i32>,
    pub log: Vec<Bytes>,
    pub log_start: i64,
    pub end: i64,
    /// By producer id: epoch, next sequence, and the last five batches by first sequence with their offsets.
    producers: BTreeMap<i64, (i16, i32, VecDeque<(i32, i64)>)>,
    /// Where each leader epoch begins.
    epochs: Vec<(i32, i64)>,
}

impl Cluster {
    pub fn new(brokers: i32) -> Self {
        Self { brokers: (1..=brokers).collect(), max_batch_bytes: usize::MAX, ..Self::default() }
    }

    pub fn has(&self, name: &str) -> bool {
        self.topics.contains_key(name)
    }

    pub fn create(&mut self, name: &str, partitions: usize) {
        let mut id = [0; 16];
        id[15] = u8::try_from(self.topics.len() + 1).expect("few topics");
        let count = self.brokers.len();
        let one = |index: usize| Partition { leader: self.brokers[index % count], ..Partition::default() };
        let partitions = (0..partitions).map(one).collect();
        self.topics.insert(name.to_owned(), Topic { id: Uuid(id), partitions });
    }

    /// One more partition.
    pub fn grow(&mut self, topic: &str, leader: i32) {
        let topic = self.topics.get_mut(topic).expect("created");
        topic.partitions.push(Partition { leader, ..Partition::default() });
    }

    pub fn partition(&mut self, topic: &str, partition: usize) -> &mut Partition {
        &mut self.topics.get_mut(topic).expect("created").partitions[partition]
    }

    /// A new leader in a new epoch.
    pub fn elect(&mut self, topic: &str, partition: usize, leader: i32) {
        let partition = self.partition(topic, partition);
        partition.leader = leader;
        partition.epoch += 1;
    }

    /// The next requests of the API meet these; `None` lets one pass.
    pub fn script(&mut self, key: ApiKey, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.faults.entry(key).or_default().extend(faults);
    }

    pub fn count(&self, key: ApiKey) -> usize {
        self.handled.iter().filter(|(_, handled, _)| *handled == key).count()
    }

    /// The values in a partition, in order.
    pub fn values(&self, topic: &str, partition: usize) -> Vec<String> {
        let mut values = Vec::new();
        for batch in &self.topics[topic].partitions[partition].log {
            let header = BatchHeader::parse(batch).expect("stored");
            for record in BatchRecords::new(&header, &batch[log_core::batch::HEADER_BYTES..]) {
                let value = record.expect("stored").value.expect("a value").to_vec();
                values.push(String::from_utf8(value).expect("text"));
            }
        }
        values
    }

    /// Cuts a partition's log.
    pub fn truncate(&mut self, topic: &str, partition: usize, end: i64) {
        let partition = self.partition(topic, partition);
        partition.log.retain(|batch| BatchHeader::parse(batch).expect("stored").base_offset.0 < end);
        partition.end = end;
    }

    pub fn handle(&mut self, now: Now, broker: i32, frame: &Bytes) -> Vec<Reply> {
        let request = match RequestFrame::parse(frame) {
            Ok(request) => request,
            Err(DecodeError::UnsupportedVersion { key: ApiKey::ApiVersions, correlation_id, .. }) => {
                return vec![reply(api_versions_fallback(correlation_id))];
            }
            Err(error) => panic!("the client sends no broken requests: {error}"),
        };
        let (key, version) = (request.header.key, request.header.version);
        let correlation = request.header.correlation_id;
        if let Some(cap) = self.caps.get(&ApiKey::ApiVersions)
            && key == ApiKey::ApiVersions
            && version > *cap
        {
            return vec![reply(api_versions_fallback(correlation))];
        }
        self.handled.push((broker, key, version));
        let fault = self.faults.get_mut(&key).and_then(VecDeque::pop_front).flatten();
        match &fault {
            Some(Fault::CloseBefore) => return vec![Reply::Close],
            Some(Fault::Garbage(bytes)) => return vec![Reply::Frame(bytes.clone())],
            _ => {}
        }
        let answer = self.answer(now, broker, version, correlation, &request.body, fault.as_ref());
        match fault {
            Some(Fault::CloseAfter) => vec![Reply::Close],
            Some(Fault::Silence) => Vec::new(),
            _ => answer.into_iter().collect(),
        }
    }

    fn answer(
        &mut self,
        now: Now,
        broker: i32,
        version: i16,
        correlation: i32,
        body: &Request<'_>,
        fault: Option<&Fault>,
    ) -> Option<Reply> {
        match body {
            Request::ApiVersions(_) => Some(encoded(version, correlation, &self.versions())),
            Request::Metadata(asked) => Some(encoded(version, correlation, &self.metadata(asked, fault))),
            Request::DescribeCluster(asked) => {
                Some(encoded(version, correlation, &self.described(asked.include_fenced_brokers)))
            }
            Request::InitProducerId(_) => {
                self.next_producer += 1;
                let error_code = refused(fault);
                let producer_id = self.next_producer;
                let body = InitProducerIdResponse { error_code, producer_id, ..Default::default() };
                Some(encoded(version, correlation, &body))
            }
            Request::Produce(asked) => {
                let answer = self.produce(now, broker, asked, fault);
                (asked.acks != 0).then(|| encoded(version, correlation, &answer))
            }
            Request::Fetch(asked) => Some(self.fetch(broker, version, correlation, asked, fault)),
            Request::ListOffsets(asked) => {
                Some(encoded(version, correlation, &self.list_offsets(broker, asked, fault)))
            }
            Request::OffsetForLeaderEpoch(asked) => {
                Some(encoded(version, correlation, &self.epoch_ends(broker, asked, fault)))
            }
            _ if fault == Some(&Fault::Silence) => None,
            other => self.groups.answer(broker, version, correlation, other, fault),
        }
    }

    fn versions(&self) -> ApiVersionsResponse<'static> {
        let mut api_keys = api_version_ranges(|_| true);
        for api in &mut api_keys {
            let cap = ApiKey::from_number(api.api_key).and_then(|key| self.caps.get(&key));
            api.max_version = cap.copied().unwrap_or(api.max_version).min(api.max_version);
        }
        api_keys.retain(|api| api.max_version >= api.min_version);
        ApiVersionsResponse { api_keys, ..Default::default() }
    }

    fn described(&self, with_fenced: bool) -> DescribeClusterResponse<'static> {
        let broker = |id: &i32, is_fenced| DescribeClusterBroker {
            broker_id: *id,
            host: format!("b{id}").into(),
            port: 9092,
            is_fenced,
            ..Default::default()
        };
        let live = self.brokers.iter().map(|id| broker(id, false));
        let fenced = self.fenced.iter().filter(|_| with_fenced).map(|id| broker(id, true));
        let (cluster_id, brokers) = ("world".into(), live.chain(fenced).collect());
        DescribeClusterResponse { cluster_id, controller_id: 1, brokers, ..Default::default() }
    }

    fn metadata(&mut self, asked: &MetadataRequest<'_>, fault: Option<&Fault>) -> MetadataResponse<'static> {
        let names: Vec<String> = match &asked.topics {
            Some(topics) => {
                topics.iter().filter_map(|topic| topic.name.as_deref().map(str::to_owned)).collect()
            }
            None => self.topics.keys().cloned().collect(),
        };
        for name in &names {
            if self.auto_create && asked.allow_auto_topic_creation && !self.topics.contains_key(name) {
                self.create(name, 1);
            }
        }
        let brokers = self.brokers.iter().map(|id| MetadataBroker {
            node_id: *id,
            host: format!("b{id}").into(),
            port: 9092,
            rack: None,
        });
        MetadataResponse {
            brokers: brokers.collect(),
            cluster_id: Some("world".into()),
            controller_id: 1,
            topics: names.iter().map(|name| self.metadata_topic(name, fault)).collect(),
            ..Default::default()
        }
    }

    fn metadata_topic(&self, name: &str, fault: Option<&Fault>) -> MetadataTopic<'static> {
        let refused = refused(fault);
        let Some(topic) = self.topics.get(name).filter(|_| refused.is_ok()) else {
            let error_code = if refused.is_ok() { ErrorCode::UnknownTopicOrPartition } else { refused };
            return MetadataTopic { error_code, name: Some(name.to_owned().into()), ..Default::default() };
        };
        let partitions = (0..).zip(&topic.partitions).map(|(index, partition)| {
            let told = self.stale_leaders.get(&(name.to_owned(), index));
            let (leader_id, leader_epoch) = told.copied().unwrap_or((partition.leader, partition.epoch));
            let offline_replicas = partition.offline.clone();
            MetadataPartition {
                partition_index: index,
                leader_id,
                leader_epoch,
                offline_replicas,
                ..Default::default()
            }
        });
        MetadataTopic {
            name: Some(name.to_owned().into()),
            topic_id: topic.id,
            partitions: partitions.collect(),
            ..Default::default()
        }
    }

    fn produce(
        &mut self,
        now: Now,
        broker: i32,
        asked: &ProduceRequest<'_>,
        fault: Option<&Fault>,
    ) -> ProduceResponse<'static> {
        let mut responses = Vec::new();
        for topic in &asked.topic_data {
            let mut partition_responses = Vec::new();
            for data in &topic.partition_data {
                let records = data.records.clone().expect("records");
                let result = match fault {
                    Some(Fault::Refuse(code)) => Err(*code),
                    Some(Fault::DoAndRefuse(code)) => {
                        let _ = self.append(now, broker, &topic.name, data.index, &records);
                        Err(*code)
                    }
                    _ => self.append(now, broker, &topic.name, data.index, &records),
                };
                partition_responses.push(PartitionProduceResponse {
                    index: data.index,
                    error_code: result.err().unwrap_or(ErrorCode::None),
                    base_offset: result.unwrap_or(-1),
                    ..Default::default()
                });
            }
            responses.push(TopicProduceResponse { name: topic.name.to_string().into(), partition_responses });
        }
        let throttle_time_ms = throttle(fault);
        ProduceResponse { responses, throttle_time_ms, ..Default::default() }
    }

    fn append(
        &mut self,
        _: Now,
        broker: i32,
        topic: &str,
        index: i32,
        records: &Bytes,
    ) -> Result<i64, ErrorCode> {
        let max = self.max_batch_bytes;
        let topic = self.topics.get_mut(topic).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let index = usize::try_from(index).expect("not negative");
        let partition = topic.partitions.get_mut(index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        if partition.leader != broker {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let header = log_core::batch::check_stored(records, crc32c::crc32c_append)
            .expect("the client's batches are whole");
        assert_eq!(header.batch_bytes, records.len(), "one batch per partition");
        if records.len() > max {
            return Err(ErrorCode::MessageTooLarge);
        }
        partition.append(records, &header)
    }

    fn fetch(
        &mut self,
        broker: i32,
        version: i16,
        correlation: i32,
        asked: &FetchRequest<'_>,
        fault: Option<&Fault>,
    ) -> Reply {
        let mut has_something = !refused(fault).is_ok();
        let mut responses = Vec::new();
        for topic in &asked.topics {
            let name = self.name_of(&topic.topic, topic.topic_id);
            let mut partitions = Vec::new();
            for wanted in &topic.partitions {
                let found = name.as_ref().and_then(|name| self.topics.get(name));
                let index = usize::try_from(wanted.partition).expect("not negative");
                let found = found.and_then(|topic| topic.partitions.get(index));
                let answer = fetched(found, broker, wanted.fetch_offset, wanted.current_leader_epoch, fault);
                has_something |= !answer.error_code.is_ok() || !answer.records.is_empty();
                partitions.push(FetchedPartition { partition_index: wanted.partition, ..answer });
            }
            responses.push(FetchableTopicResponse {
                topic: topic.topic.to_string().into(),
                topic_id: topic.topic_id,
                partitions,
            });
        }
        let body = FetchResponse { responses, throttle_time_ms: throttle(fault), ..Default::default() };
        let frame = frame_of(encode_response(version, correlation, &body).expect("encodes"));
        let wait = Duration::from_millis(u64::try_from(asked.max_wait_ms).expect("not negative"));
        if has_something { Reply::Frame(frame) } else { Reply::Later(wait, frame) }
    }

    fn list_offsets(
        &self,
        broker: i32,
        asked: &ListOffsetsRequest<'_>,
        fault: Option<&Fault>,
    ) -> ListOffsetsResponse<'static> {
        let topics = asked.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|wanted| {
                let index = usize::try_from(wanted.partition_index).expect("not negative");
                let found = self.topics.get(&*topic.name).and_then(|topic| topic.partitions.get(index));
                let (error_code, offset) = match found {
                    _ if !refused(fault).is_ok() => (refused(fault), -1),
                    None => (ErrorCode::UnknownTopicOrPartition, -1),
                    Some(partition) if partition.leader != broker => (ErrorCode::NotLeaderOrFollower, -1),
                    Some(partition) => match wanted.timestamp {
                        -1 => (ErrorCode::None, partition.end),
                        -2 => (ErrorCode::None, partition.log_start),
                        _ => (ErrorCode::None, -1),
                    },
                };
                let partition_index = wanted.partition_index;
                ListOffsetsPartitionResponse { partition_index, error_code, offset, ..Default::default() }
            });
            ListOffsetsTopicResponse { name: topic.name.to_string().into(), partitions: partitions.collect() }
        });
        let throttle_time_ms = throttle(fault);
        ListOffsetsResponse { topics: topics.collect(), throttle_time_ms }
    }

    fn epoch_ends(
        &self,
        broker: i32,
        asked: &OffsetForLeaderEpochRequest<'_>,
        fault: Option<&Fault>,
    ) -> OffsetForLeaderEpochResponse<'static> {
        let topics = asked.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|wanted| {
                let index = usize::try_from(wanted.partition).expect("not negative");
                let partition = &self.topics[&*topic.topic].partitions[index];
                let error_code = match refused(fault) {
                    ErrorCode::None if partition.leader != broker => ErrorCode::NotLeaderOrFollower,
                    code => code,
                };
                let (leader_epoch, end_offset) = partition.epoch_end(wanted.leader_epoch);
                EpochEndOffset { error_code, partition: wanted.partition, leader_epoch, end_offset }
            });
            OffsetForLeaderTopicResult {
                topic: topic.topic.to_string().into(),
                partitions: partitions.collect(),
            }
        });
        OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() }
    }

    fn name_of(&self, name: &str, id: Uuid) -> Option<String> {
        if id.is_none() {
            return Some(name.to_owned());
        }
        self.topics.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name.clone())
    }
}

impl Partition {
    /// Kafka's rules for producers: the last five batches are known, the next one follows, a new epoch begins at 0.
    fn append(&mut self, records: &Bytes, header: &BatchHeader) -> Result<i64, ErrorCode> {
        let (id, epoch, sequence) = (header.producer_id.0, header.producer_epoch.0, header.base_sequence.0);
        if id >= 0 {
            if let Some((known_epoch, next, recent)) = self.producers.get(&id) {
                if epoch < *known_epoch {
                    return Err(ErrorCode::InvalidProducerEpoch);
                }
                if let Some((_, offset)) = recent.iter().find(|(first, _)| *first == sequence) {
                    return Ok(*offset);
                }
                if sequence != *next {
                    return Err(ErrorCode::OutOfOrderSequenceNumber);
                }
            }
            let entry = self.producers.entry(id).or_insert((epoch, 0, VecDeque::new()));
            *entry = (epoch, sequence + header.record_count, std::mem::take(&mut entry.2));
            entry.2.push_back((sequence, self.end));
            if entry.2.len() > 5 {
                entry.2.pop_front();
            }
        }
        let base = self.end;
        let mut stored = records.to_vec();
        patch::assign_in_place(&mut stored, Offset(base), LeaderEpoch(self.epoch));
        if self.epochs.last().is_none_or(|(last, _)| *last < self.epoch) {
            self.epochs.push((self.epoch, base));
        }
        self.end += i64::from(header.record_count);
        self.log.push(stored.into());
        Ok(base)
    }

    /// The broker has forgotten all producers (retention, expiry).
    pub fn forget_producers(&mut self) {
        self.producers.clear();
    }

    /// This producer's next sequence is not what the producer believes.
    pub fn disturb_producers(&mut self) {
        for (_, next, recent) in self.producers.values_mut() {
            *next += 1000;
            recent.clear();
        }
    }

    fn epoch_end(&self, epoch: i32) -> (i32, i64) {
        let known = self.epochs.iter().rev().find(|(start, _)| *start <= epoch);
        let next = self.epochs.iter().find(|(start, _)| *start > epoch).map_or(self.end, |(_, at)| *at);
        known.map_or((-1, -1), |(found, _)| (*found, next.min(self.end)))
    }
}

fn fetched(
    partition: Option<&Partition>,
    broker: i32,
    offset: i64,
    epoch: i32,
    fault: Option<&Fault>,
) -> FetchedPartition {
    let refuse = |error_code| FetchedPartition { error_code, ..Default::default() };
    let Some(partition) = partition else { return refuse(ErrorCode::UnknownTopicId) };
    if !refused(fault).is_ok() {
        return refuse(refused(fault));
    }
    if partition.leader != broker {
        return refuse(ErrorCode::NotLeaderOrFollower);
    }
    if epoch >= 0 && epoch < partition.epoch {
        return refuse(ErrorCode::FencedLeaderEpoch);
    }
    if offset < partition.log_start || offset > partition.end {
        return refuse(ErrorCode::OffsetOutOfRange);
    }
    let mut records = Vec::new();
    for batch in &partition.log {
        if BatchHeader::parse(batch).expect("stored").next_offset().0 > offset {
            records.extend_from_slice(batch);
        }
    }
    if let Some(Fault::FlipBit(at)) = fault
        && let Some(byte) = records.get_mut(*at)
    {
        *byte ^= 1;
    }
    assert!(Batches::new(&records).count() <= partition.log.len());
    FetchedPartition {
        high_watermark: partition.end,
        log_start_offset: partition.log_start,
        records: Records::from(Bytes::from(records)),
        ..Default::default()
    }
}

pub(super) fn refused(fault: Option<&Fault>) -> ErrorCode {
    match fault {
        Some(Fault::Refuse(code) | Fault::DoAndRefuse(code)) => *code,
        _ => ErrorCode::None,
    }
}

fn throttle(fault: Option<&Fault>) -> i32 {
    if let Some(Fault::Throttle(ms)) = fault { *ms } else { 0 }
}

pub(super) fn encoded<B: Body + Encode + FileRanges<NoFile>>(
    version: i16,
    correlation: i32,
    body: &B,
) -> Reply {
    reply(encode_response(version, correlation, body).expect("answers fit"))
}

fn reply(rope: Rope) -> Reply {
    Reply::Frame(frame_of(rope))
}

fn frame_of(rope: Rope) -> Bytes {
    rope.into_bytes().slice(4..)
}
