//! What each answer means.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::create_partitions::CreatePartitionsResponse;
use kafka_wire::messages::create_topics::{CreatableTopicResult, CreateTopicsResponse};
use kafka_wire::messages::delete_topics::{DeletableTopicResult, DeleteTopicsResponse};
use kafka_wire::messages::describe_cluster::DescribeClusterResponse;
use kafka_wire::messages::describe_configs::{DescribeConfigsResourceResult, DescribeConfigsResponse};
use kafka_wire::messages::describe_log_dirs::{
    DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult,
};
use kafka_wire::messages::describe_quorum::{DescribeQuorumResponse, QuorumPartitionResult, ReplicaState};
use kafka_wire::messages::incremental_alter_configs::IncrementalAlterConfigsResponse;
use kafka_wire::messages::metadata::{MetadataPartition, MetadataResponse, MetadataTopic};
use kafka_wire::{ApiKey, Body, Decode, DecodeError, ErrorCode, decode_response};
use log_core::{Now, TopicId};

use super::{
    AdminAnswer, AdminCall, BrokerDescription, Call, ClusterDescription, ConfigEntry, ConfigResource,
    ConfigSource, CreatedTopic, LogDirDescription, Outcome, PartitionDescription, QuorumDescription,
    QuorumReplica, ReplicaSize, TopicDescription, TopicListing,
};
use crate::action::ConnectionId;
use crate::core::Core;
use crate::error::{ClientError, Place};

/// An answer as it came.
pub(super) struct Incoming<'a> {
    pub(super) now: Now,
    pub(super) connection: ConnectionId,
    pub(super) version: i16,
    pub(super) frame: &'a Bytes,
}

impl<'a> Incoming<'a> {
    /// Decodes it, and leaves the broker alone for as long as it asks for: `pause_ms` finds that in the answer.
    pub(super) fn decode<B: Body + Decode<'a>>(
        &self,
        core: &mut Core,
        pause_ms: impl FnOnce(&B) -> i32,
    ) -> Result<B, DecodeError> {
        let (_, answer) = decode_response::<B>(self.frame, self.version)?;
        core.throttle(self.now, self.connection, pause_ms(&answer));
        Ok(answer)
    }
}

impl Call {
    pub(super) fn outcome(
        &mut self,
        core: &mut Core,
        incoming: &Incoming<'_>,
    ) -> Result<Outcome, DecodeError> {
        match &self.question {
            AdminCall::CreateTopics { .. } => {
                let answer = incoming.decode::<CreateTopicsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(self.created(&answer.topics))
            }
            AdminCall::DeleteTopics(names) => {
                let answer = incoming.decode::<DeleteTopicsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                names.iter().for_each(|name| core.cluster.forget_topic(name));
                Ok(self.deleted(names, &answer.responses))
            }
            AdminCall::CreatePartitions { topic, .. } => {
                let answer =
                    incoming.decode::<CreatePartitionsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                let found = answer.results.first();
                core.cluster.want_update();
                Ok(done(found.map(|found| (found.error_code, &found.error_message)), Place::topic(topic)))
            }
            AdminCall::AlterConfigs { resource, .. } => {
                let answer =
                    incoming.decode::<IncrementalAlterConfigsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                let found = answer.responses.first();
                Ok(done(found.map(|found| (found.error_code, &found.error_message)), place_of(resource)))
            }
            AdminCall::DescribeConfigs(resource) => {
                let answer =
                    incoming.decode::<DescribeConfigsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(configs(&answer, resource))
            }
            AdminCall::DescribeCluster if self.sent == Some(ApiKey::DescribeCluster) => {
                let answer =
                    incoming.decode::<DescribeClusterResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(described_cluster(&answer))
            }
            AdminCall::ListTopics | AdminCall::DescribeTopics(_) | AdminCall::DescribeCluster => {
                let answer = incoming.decode::<MetadataResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(self.metadata_outcome(&answer))
            }
            AdminCall::DescribeQuorum => {
                let answer = incoming.decode::<DescribeQuorumResponse<'_>>(core, |_| 0)?;
                Ok(quorum(&answer))
            }
            AdminCall::DescribeLogDirs { .. } => {
                let answer =
                    incoming.decode::<DescribeLogDirsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(log_dirs(&answer))
            }
            AdminCall::ElectLeaders { .. }
            | AdminCall::ReplicaEnds { .. }
            | AdminCall::UnregisterBroker(_) => self.operators_outcome(core, incoming),
            AdminCall::ListGroups
            | AdminCall::DescribeGroup(_)
            | AdminCall::GroupOffsets(_)
            | AdminCall::SetGroupOffsets { .. }
            | AdminCall::DeleteGroupOffsets { .. }
            | AdminCall::DeleteGroup(_) => self.groups_outcome(core, incoming),
            AdminCall::ListOffsets(_) => Ok(Outcome::Answer(AdminAnswer::Offsets(Vec::new()))),
        }
    }

    fn created(&self, answers: &[CreatableTopicResult<'_>]) -> Outcome {
        let AdminCall::CreateTopics { topics, .. } = &self.question else {
            return Outcome::Answer(AdminAnswer::Done);
        };
        let mut results = Vec::with_capacity(topics.len());
        for topic in topics {
            let Some(found) = answers.iter().find(|answer| *answer.name == *topic.name) else {
                return Outcome::Retry(unanswered(&topic.name));
            };
            let mine = self.may_be_done && found.error_code == ErrorCode::TopicAlreadyExists;
            let refused = !found.error_code.is_ok() && !mine;
            if refused && topics.len() == 1 {
                return again_or_fail(
                    found.error_code,
                    text(&found.error_message),
                    Place::topic(&topic.name),
                );
            }
            results.push(if refused {
                Err(error(found.error_code, &found.error_message, Place::topic(&topic.name)))
            } else {
                Ok(CreatedTopic {
                    name: Arc::clone(&topic.name),
                    id: TopicId(found.topic_id.0),
                    partitions: u32::try_from(found.num_partitions).ok().or(topic.partitions),
                    replication: u16::try_from(found.replication_factor).ok().or(topic.replication),
                })
            });
        }
        Outcome::Answer(AdminAnswer::Created(results))
    }

    fn deleted(&self, names: &[Arc<str>], answers: &[DeletableTopicResult<'_>]) -> Outcome {
        let mut results = Vec::with_capacity(names.len());
        for name in names {
            let Some(found) = answers.iter().find(|answer| answer.name.as_deref() == Some(&**name)) else {
                return Outcome::Retry(unanswered(name));
            };
            let gone = self.may_be_done && found.error_code == ErrorCode::UnknownTopicOrPartition;
            let refused = !found.error_code.is_ok() && !gone;
            if refused && names.len() == 1 {
                return again_or_fail(found.error_code, text(&found.error_message), Place::topic(name));
            }
            results.push(if refused {
                Err(error(found.error_code, &found.error_message, Place::topic(name)))
            } else {
                Ok(())
            });
        }
        Outcome::Answer(AdminAnswer::Deleted(results))
    }

    fn metadata_outcome(&self, answer: &MetadataResponse<'_>) -> Outcome {
        match &self.question {
            AdminCall::ListTopics => {
                let mut topics: Vec<TopicListing> = answer.topics.iter().filter_map(listing).collect();
                topics.sort_by(|one, two| one.name.cmp(&two.name));
                Outcome::Answer(AdminAnswer::Topics(topics))
            }
            AdminCall::DescribeTopics(names) => {
                let mut by_name: BTreeMap<&str, &MetadataTopic<'_>> = answer
                    .topics
                    .iter()
                    .filter_map(|topic| topic.name.as_deref().map(|name| (name, topic)))
                    .collect();
                let mut described = Vec::with_capacity(names.len());
                for name in names {
                    let Some(topic) = by_name.remove(&**name) else {
                        return Outcome::Retry(unanswered(name));
                    };
                    let code = topic.error_code;
                    if code.is_ok() {
                        described.push(Ok(description(name, topic)));
                    } else if names.len() == 1 {
                        return again_or_fail(code, None, Place::topic(name));
                    } else {
                        described.push(Err(error(code, &None, Place::topic(name))));
                    }
                }
                Outcome::Answer(AdminAnswer::Described(described))
            }
            _ => Outcome::Answer(AdminAnswer::Cluster(cluster(answer))),
        }
    }
}

fn listing(topic: &MetadataTopic<'_>) -> Option<TopicListing> {
    let name: Arc<str> = topic.name.as_deref()?.into();
    let replicas = topic.partitions.iter().min_by_key(|partition| partition.partition_index);
    Some(TopicListing {
        name,
        id: TopicId(topic.topic_id.0),
        is_internal: topic.is_internal,
        partitions: u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX),
        replication: replicas
            .map_or(0, |partition| u16::try_from(partition.replica_nodes.len()).unwrap_or(u16::MAX)),
    })
}

fn description(name: &Arc<str>, topic: &MetadataTopic<'_>) -> TopicDescription {
    let mut partitions: Vec<PartitionDescription> = topic.partitions.iter().map(partition).collect();
    partitions.sort_by_key(|partition| partition.partition);
    TopicDescription {
        name: Arc::clone(name),
        id: TopicId(topic.topic_id.0),
        is_internal: topic.is_internal,
        partitions,
    }
}

fn partition(answer: &MetadataPartition) -> PartitionDescription {
    PartitionDescription {
        partition: u32::try_from(answer.partition_index).unwrap_or(u32::MAX),
        leader: (answer.leader_id >= 0).then_some(answer.leader_id),
        leader_epoch: answer.leader_epoch,
        replicas: answer.replica_nodes.clone(),
        in_sync: answer.isr_nodes.clone(),
        offline: answer.offline_replicas.clone(),
    }
}

fn described_cluster(answer: &DescribeClusterResponse<'_>) -> Outcome {
    if !answer.error_code.is_ok() {
        return again_or_fail(answer.error_code, text(&answer.error_message), Place::NOWHERE);
    }
    let all = |fenced: bool| {
        let chosen = answer.brokers.iter().filter(|broker| broker.is_fenced == fenced);
        by_id(chosen.map(|found| broker(found.broker_id, &found.host, found.port, found.rack.as_deref())))
    };
    Outcome::Answer(AdminAnswer::Cluster(ClusterDescription {
        cluster_id: Some((*answer.cluster_id).into()),
        controller: (answer.controller_id >= 0).then_some(answer.controller_id),
        brokers: all(false),
        fenced: all(true),
    }))
}

fn cluster(answer: &MetadataResponse<'_>) -> ClusterDescription {
    let brokers = answer.brokers.iter();
    let brokers =
        by_id(brokers.map(|found| broker(found.node_id, &found.host, found.port, found.rack.as_deref())));
    ClusterDescription {
        cluster_id: answer.cluster_id.as_deref().map(Into::into),
        controller: (answer.controller_id >= 0).then_some(answer.controller_id),
        brokers,
        fenced: Vec::new(),
    }
}

fn broker(id: i32, host: &str, port: i32, rack: Option<&str>) -> BrokerDescription {
    BrokerDescription {
        id,
        host: host.into(),
        port: u16::try_from(port).unwrap_or(0),
        rack: rack.map(Into::into),
    }
}

fn by_id(brokers: impl Iterator<Item = BrokerDescription>) -> Vec<BrokerDescription> {
    let mut brokers: Vec<BrokerDescription> = brokers.collect();
    brokers.sort_by_key(|broker| broker.id);
    brokers
}

fn configs(answer: &DescribeConfigsResponse<'_>, resource: &ConfigResource) -> Outcome {
    let place = place_of(resource);
    let Some(found) = answer.results.first() else {
        return Outcome::Answer(AdminAnswer::Configs(Vec::new()));
    };
    if !found.error_code.is_ok() {
        return again_or_fail(found.error_code, text(&found.error_message), place);
    }
    let mut entries: Vec<ConfigEntry> = found.configs.iter().map(config).collect();
    entries.sort_by(|one, two| one.name.cmp(&two.name));
    Outcome::Answer(AdminAnswer::Configs(entries))
}

fn config(found: &DescribeConfigsResourceResult<'_>) -> ConfigEntry {
    ConfigEntry {
        name: (*found.name).into(),
        value: found.value.as_deref().map(Into::into),
        // Kafka's numbers of ConfigSource.
        source: match found.config_source {
            1 => ConfigSource::Topic,
            2 | 3 => ConfigSource::DynamicBroker,
            4 => ConfigSource::StaticBroker,
            5 => ConfigSource::Default,
            other => ConfigSource::Other(other),
        },
        is_read_only: found.read_only,
        is_sensitive: found.is_sensitive,
        documentation: found.documentation.as_deref().map(Into::into),
    }
}

fn log_dirs(answer: &DescribeLogDirsResponse<'_>) -> Outcome {
    if !answer.error_code.is_ok() {
        return again_or_fail(answer.error_code, None, Place::NOWHERE);
    }
    let described = answer.results.iter().map(|found| match found.error_code {
        ErrorCode::None => Ok(log_dir(found)),
        code => Err(ClientError::broker(code, Some(Arc::from(&*found.log_dir)), Place::NOWHERE)),
    });
    Outcome::Answer(AdminAnswer::LogDirs(described.collect()))
}

fn log_dir(found: &DescribeLogDirsResult<'_>) -> LogDirDescription {
    let mut replicas = Vec::new();
    for topic in &found.topics {
        let name: Arc<str> = Arc::from(&*topic.name);
        // Replicas that are still on their way into a directory are none yet.
        let there = topic.partitions.iter().filter(|partition| !partition.is_future_key);
        replicas.extend(there.filter_map(|partition| replica_size(&name, partition)));
    }
    LogDirDescription {
        path: (*found.log_dir).into(),
        free_bytes: u64::try_from(found.usable_bytes).ok(),
        replicas,
    }
}

fn replica_size(topic: &Arc<str>, found: &DescribeLogDirsPartition) -> Option<ReplicaSize> {
    Some(ReplicaSize {
        topic: Arc::clone(topic),
        partition: u32::try_from(found.partition_index).ok()?,
        bytes: u64::try_from(found.partition_size).ok()?,
        lag: u64::try_from(found.offset_lag).unwrap_or(0),
    })
}

fn quorum(answer: &DescribeQuorumResponse<'_>) -> Outcome {
    if !answer.error_code.is_ok() {
        return again_or_fail(answer.error_code, text(&answer.error_message), Place::NOWHERE);
    }
    let Some(found) = answer.topics.first().and_then(|topic| topic.partitions.first()) else {
        return Outcome::Retry(error(ErrorCode::UnknownServerError, &None, Place::NOWHERE));
    };
    if !found.error_code.is_ok() {
        return again_or_fail(found.error_code, text(&found.error_message), Place::NOWHERE);
    }
    Outcome::Answer(AdminAnswer::Quorum(quorum_of(found)))
}

fn quorum_of(found: &QuorumPartitionResult<'_>) -> QuorumDescription {
    let replica = |state: &ReplicaState| QuorumReplica {
        id: state.replica_id,
        log_end_offset: state.log_end_offset,
        last_fetch_timestamp: state.last_fetch_timestamp,
        last_caught_up_timestamp: state.last_caught_up_timestamp,
    };
    QuorumDescription {
        leader: (found.leader_id >= 0).then_some(found.leader_id),
        leader_epoch: found.leader_epoch,
        high_watermark: found.high_watermark,
        voters: found.current_voters.iter().map(replica).collect(),
        observers: found.observers.iter().map(replica).collect(),
    }
}

/// The outcome of a call with a single thing to be done.
pub(super) fn done(found: Option<(ErrorCode, &Option<Cow<'_, str>>)>, place: Place) -> Outcome {
    match found {
        Some((ErrorCode::None, _)) => Outcome::Answer(AdminAnswer::Done),
        Some((code, message)) => again_or_fail(code, text(message), place),
        None => Outcome::Retry(error(ErrorCode::UnknownServerError, &None, place)),
    }
}

pub(super) fn again_or_fail(code: ErrorCode, message: Option<Arc<str>>, place: Place) -> Outcome {
    let error = ClientError::broker(code, message, place);
    if code.is_retriable() { Outcome::Retry(error) } else { Outcome::Fail(error) }
}

pub(super) fn error(code: ErrorCode, message: &Option<Cow<'_, str>>, place: Place) -> ClientError {
    ClientError::broker(code, text(message), place)
}

fn unanswered(topic: &Arc<str>) -> ClientError {
    ClientError::broker(ErrorCode::UnknownServerError, None, Place::topic(topic))
}

pub(super) fn text(message: &Option<Cow<'_, str>>) -> Option<Arc<str>> {
    message.as_deref().map(Arc::from)
}

fn place_of(resource: &ConfigResource) -> Place {
    match resource {
        ConfigResource::Topic(name) => Place::topic(name),
        ConfigResource::Broker(_) => Place::NOWHERE,
    }
}
