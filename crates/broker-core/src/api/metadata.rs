//! Metadata: brokers, topics, partitions; makes topics on first use and then waits for their leaders.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::Uuid;
use kafka_wire::messages::metadata::{
    MetadataBroker, MetadataPartition, MetadataRequest, MetadataResponse, MetadataTopic,
};
use log_core::BrokerId;
use log_store::Disk;
use metadata_core::{ClusterImage, Partition, Refusal, Topic};

use super::endpoints::Address;
use super::topics::{self, OFFSETS_TOPIC};
use crate::error::admin_code;
use crate::message::{AdminAnswer, AdminCommand, AdminError, NewTopic};
use crate::peer::{CallId, PendingId};
use crate::shard::{Ask, Gather, Pending, Shard};

/// Stands for "not asked" where operations allowed would stand.
const OPERATIONS_NOT_ASKED: i32 = i32::MIN;

/// What a Metadata request names.
#[derive(Clone, Debug)]
enum Wanted {
    All,
    Topics(Vec<WantedTopic>),
}

#[derive(Clone, Debug)]
enum WantedTopic {
    Name(String),
    Id(Uuid),
}

/// A Metadata request that waits for topics that it made, and for their leaders.
#[derive(Debug)]
pub(crate) struct AwaitedMetadata {
    ask: Ask,
    wanted: Wanted,
    made: Vec<String>,
    results: Gather<Result<AdminAnswer, AdminError>>,
    expired: bool,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_metadata(&mut self, ask: Ask, request: &MetadataRequest<'_>) {
        let wanted = wanted(ask.version, request);
        let may_create = request.allow_auto_topic_creation || ask.version < 4;
        let missing = if may_create { self.creatable(&wanted) } else { Vec::new() };
        if missing.is_empty() {
            let response = self.metadata_response(ask, &wanted, &[]);
            return self.respond(ask, &response);
        }
        let id = self.next_pending();
        let deadline = self.core.now.mono.after(self.core.config.limits.auto_create_wait);
        for (part, name) in (0..).zip(&missing) {
            let command = AdminCommand::CreateTopic(new_topic(&self.core.image, name));
            self.command(CallId { pending: id, part }, deadline, command);
        }
        let results = Gather::new(missing.len());
        let awaited = AwaitedMetadata { ask, wanted, made: missing, results, expired: false };
        self.wait(id, Pending::Metadata(awaited), Some(deadline));
    }

    /// Topics named that do not exist and may be made now.
    fn creatable(&self, wanted: &Wanted) -> Vec<String> {
        let Wanted::Topics(topics) = wanted else { return Vec::new() };
        if !self.core.image.settings().auto_create_topics {
            return Vec::new();
        }
        let mut missing: Vec<String> = topics
            .iter()
            .filter_map(|topic| match topic {
                WantedTopic::Name(name) => Some(name),
                WantedTopic::Id(_) => None,
            })
            .filter(|name| self.core.image.topic_by_name(name).is_none())
            .filter(|name| metadata_core::names::check(name).is_ok())
            .filter(|name| *name == OFFSETS_TOPIC || !metadata_core::names::is_internal(name))
            .cloned()
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Answers once every topic made has its leaders here, or cannot be made, or time is up.
    pub(crate) fn finish_metadata(&mut self, id: PendingId, awaited: AwaitedMetadata) {
        let led = |name: &String| has_leaders(&self.core.image, name);
        let settled = awaited.results.is_complete()
            && awaited.made.iter().zip(awaited.results.parts()).all(|(name, result)| {
                matches!(result, Some(Err(error)) if !exists_already(error)) || led(name)
            });
        if !settled && !awaited.expired {
            self.awaiting_image.insert(id);
            return self.put_back(id, Pending::Metadata(awaited));
        }
        let AwaitedMetadata { ask, wanted, made, results, expired: _ } = awaited;
        let results = results.into_parts(|| Err(AdminError::TimedOut));
        let refused = made.into_iter().zip(results).filter_map(|(name, result)| {
            let error = result.err().filter(|error| !exists_already(error))?;
            let code = match error {
                AdminError::TimedOut | AdminError::NoController | AdminError::Stopping => {
                    ErrorCode::LeaderNotAvailable
                }
                AdminError::Refused(_) | AdminError::EndsUnknown { .. } => admin_code(&error),
            };
            Some((name, code))
        });
        let refused: Vec<_> = refused.collect();
        let response = self.metadata_response(ask, &wanted, &refused);
        self.respond(ask, &response);
    }

    fn metadata_response(
        &self,
        ask: Ask,
        wanted: &Wanted,
        refused: &[(String, ErrorCode)],
    ) -> MetadataResponse<'static> {
        let door = self.door(ask);
        let live = self.live_addresses(&door);
        let image = &self.core.image;
        let topics = match wanted {
            Wanted::All => image.topics().map(|topic| known_topic(image, topic)).collect(),
            Wanted::Topics(topics) => {
                topics.iter().map(|topic| wanted_topic(image, topic, ask.version, refused)).collect()
            }
        };
        MetadataResponse {
            throttle_time_ms: 0,
            controller_id: self.controller_id(&live),
            brokers: live.into_iter().map(broker).collect(),
            cluster_id: self.cluster_id().map(Cow::Owned),
            topics,
            cluster_authorized_operations: OPERATIONS_NOT_ASKED,
            error_code: ErrorCode::None,
        }
    }
}

impl AwaitedMetadata {
    pub(crate) fn take(&mut self, part: u32, result: Result<AdminAnswer, AdminError>) -> bool {
        self.results.put(part, result);
        self.results.is_complete()
    }

    pub(crate) fn expire(&mut self) {
        self.expired = true;
    }
}

/// The topic to make for a name that is used for the first time.
pub(crate) fn new_topic(image: &ClusterImage, name: &str) -> NewTopic {
    if name != OFFSETS_TOPIC {
        return NewTopic { name: name.to_owned(), ..NewTopic::default() };
    }
    // Positions outlive any retention: the coordinator drops those of groups that are gone, and begins the log anew when
    // it has grown; small segments let the old part go soon.
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    NewTopic {
        name: name.to_owned(),
        partitions: Some(image.settings().offsets_topic_partitions),
        configs: vec![
            set("retention.ms", "-1"),
            set("retention.bytes", "-1"),
            set("segment.bytes", "16777216"),
        ],
        ..NewTopic::default()
    }
}

/// Whether all partitions of a topic have a leader that lives.
pub(crate) fn has_leaders(image: &ClusterImage, name: &str) -> bool {
    let led = |partition: &Partition| partition.leader.is_some();
    image.topic_by_name(name).is_some_and(|topic| topic.partitions().all(|(_, partition)| led(partition)))
}

pub(crate) fn exists_already(error: &AdminError) -> bool {
    matches!(error, AdminError::Refused(Refusal::TopicExists { .. }))
}

/// Version 0 has no null: an empty list asks for all topics; later an empty list asks for none.
fn wanted(version: i16, request: &MetadataRequest<'_>) -> Wanted {
    let Some(topics) = request.topics.as_ref().filter(|topics| version > 0 || !topics.is_empty()) else {
        return Wanted::All;
    };
    let topics = topics.iter().map(|topic| match &topic.name {
        Some(name) => WantedTopic::Name(name.clone().into_owned()),
        None => WantedTopic::Id(topic.topic_id),
    });
    Wanted::Topics(topics.collect())
}

fn wanted_topic(
    image: &ClusterImage,
    wanted: &WantedTopic,
    version: i16,
    refused: &[(String, ErrorCode)],
) -> MetadataTopic<'static> {
    let found = match wanted {
        WantedTopic::Name(name) => image.topic_by_name(name),
        WantedTopic::Id(id) => topics::by_id(image, *id).ok(),
    };
    if let Some(topic) = found {
        return known_topic(image, topic);
    }
    let (name, topic_id, error_code) = match wanted {
        WantedTopic::Name(name) => (Some(name.clone()), Uuid::NONE, name_error(name, refused)),
        WantedTopic::Id(id) => ((version < 12).then(String::new), *id, ErrorCode::UnknownTopicId),
    };
    MetadataTopic {
        error_code,
        name: name.map(Cow::Owned),
        topic_id,
        topic_authorized_operations: OPERATIONS_NOT_ASKED,
        ..MetadataTopic::default()
    }
}

fn name_error(name: &str, refused: &[(String, ErrorCode)]) -> ErrorCode {
    if metadata_core::names::check(name).is_err() {
        return ErrorCode::InvalidTopicException;
    }
    let refusal = refused.iter().find(|(refused, _)| refused == name);
    refusal.map_or(ErrorCode::UnknownTopicOrPartition, |(_, code)| *code)
}

fn known_topic(image: &ClusterImage, topic: &Topic) -> MetadataTopic<'static> {
    let partitions = topic.partitions();
    MetadataTopic {
        error_code: ErrorCode::None,
        name: Some(Cow::Owned(topic.name.to_string())),
        topic_id: topics::uuid(topic.id),
        is_internal: topic.is_internal(),
        partitions: partitions.map(|(id, state)| known_partition(image, id.partition.0, state)).collect(),
        topic_authorized_operations: OPERATIONS_NOT_ASKED,
    }
}

fn known_partition(image: &ClusterImage, index: i32, state: &Partition) -> MetadataPartition {
    MetadataPartition {
        error_code: if state.leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable },
        partition_index: index,
        leader_id: state.leader.map_or(-1, |leader| leader.0),
        leader_epoch: state.leader_epoch.0,
        replica_nodes: numbers(state.replica_brokers()),
        isr_nodes: numbers(state.isr.iter().copied()),
        offline_replicas: offline(image, state),
    }
}

pub(crate) fn numbers(brokers: impl Iterator<Item = BrokerId>) -> Vec<i32> {
    brokers.map(|broker| broker.0).collect()
}

/// Replicas whose broker does not live, and those that are damaged, as Kafka tells those on a disk that has failed.
pub(crate) fn offline(image: &ClusterImage, state: &Partition) -> Vec<i32> {
    let lives = |broker: BrokerId| image.broker(broker).is_some_and(metadata_core::Broker::is_active);
    numbers(state.replica_brokers().filter(|broker| !lives(*broker) || state.is_faulty(*broker)))
}

fn broker(address: Address) -> MetadataBroker<'static> {
    MetadataBroker {
        node_id: address.broker.0,
        host: Cow::Owned(address.host),
        port: address.port,
        rack: address.rack.map(Cow::Owned),
    }
}
