//! What is sent for each call.

use std::sync::Arc;

use kafka_wire::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use kafka_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};
use kafka_wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use kafka_wire::messages::describe_cluster::DescribeClusterRequest;
use kafka_wire::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use kafka_wire::messages::describe_log_dirs::{DescribableLogDirTopic, DescribeLogDirsRequest};
use kafka_wire::messages::describe_quorum::{DescribeQuorumRequest, QuorumPartition, QuorumTopic};
use kafka_wire::messages::elect_leaders::{
    ElectLeadersChoice, ElectLeadersReplicaEnd, ElectLeadersRequest, ElectLeadersTopic,
};
use kafka_wire::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use kafka_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use kafka_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use kafka_wire::messages::unregister_broker::UnregisterBrokerRequest;
use kafka_wire::{ApiKey, Uuid};
use log_core::Now;

use super::{AdminCall, Call, ConfigChange, ConfigResource, Election, NewTopic, ReplicaEnd, UncleanChoice};
use crate::action::{CallId, ConnectionId};
use crate::core::Core;
use crate::error::ClientError;

/// The replica id by which brokers tell of their own replicas, led or not: Kafka's number for debugging consumers.
const OF_ANY_REPLICA: i32 = -2;

/// The timestamp that stands for the latest offset.
const LATEST: i64 = -1;

/// The one partition of the metadata quorum's log.
pub(super) const METADATA_TOPIC: &str = "__cluster_metadata";

/// The version of DescribeCluster from which on brokers tell who is not alive (KIP-1073).
const TELLS_FENCED: i16 = 2;

impl Call {
    pub(super) fn send(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        id: CallId,
    ) -> Result<(), ClientError> {
        let timeout_ms = i32::try_from(core.options.request_timeout.as_millis()).unwrap_or(i32::MAX);
        match &self.question {
            AdminCall::CreateTopics { topics, validate_only } => {
                let topics = topics.clone();
                let topics = topics.iter().map(creatable).collect();
                let request = CreateTopicsRequest { topics, timeout_ms, validate_only: *validate_only };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::DeleteTopics(names) => {
                let names = names.clone();
                let request = DeleteTopicsRequest {
                    topics: names
                        .iter()
                        .map(|name| DeleteTopicState { name: Some((&**name).into()), topic_id: Uuid::NONE })
                        .collect(),
                    topic_names: names.iter().map(|name| (&**name).into()).collect(),
                    timeout_ms,
                };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::CreatePartitions { topic, total } => {
                let name = topic.to_string().into();
                let count = i32::try_from(*total).unwrap_or(i32::MAX);
                let topics = vec![CreatePartitionsTopic { name, count, assignments: None }];
                let request = CreatePartitionsRequest { topics, timeout_ms, validate_only: false };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::ListTopics => self.send_metadata(core, now, connection, id, None),
            AdminCall::DescribeCluster => self.send_describe_cluster(core, now, connection, id),
            AdminCall::DescribeTopics(names) => {
                let names = names.iter().map(ToString::to_string).collect();
                self.send_metadata(core, now, connection, id, Some(names))
            }
            AdminCall::DescribeConfigs(resource) => {
                let request = describe(resource);
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::AlterConfigs { resource, changes } => {
                let (resource_type, resource_name) = wire_resource(resource);
                let changes = changes.clone();
                let configs = changes.iter().map(alterable).collect();
                let resource =
                    AlterConfigsResource { resource_type, resource_name: resource_name.into(), configs };
                let request =
                    IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::DescribeQuorum => {
                let partitions = vec![QuorumPartition { partition_index: 0 }];
                let topics = vec![QuorumTopic { topic_name: METADATA_TOPIC.into(), partitions }];
                self.transmit(core, now, connection, id, i16::MAX, &DescribeQuorumRequest { topics })
            }
            AdminCall::DescribeLogDirs { partitions, .. } => {
                let wanted = partitions.clone();
                let topics = wanted.as_ref().map(|topics| topics.iter().map(log_dir_topic).collect());
                self.transmit(core, now, connection, id, i16::MAX, &DescribeLogDirsRequest { topics })
            }
            AdminCall::ElectLeaders { .. }
            | AdminCall::ReplicaEnds { .. }
            | AdminCall::UnregisterBroker(_) => self.send_operators(core, now, connection, id, timeout_ms),
            AdminCall::ListGroups
            | AdminCall::DescribeGroup(_)
            | AdminCall::GroupOffsets(_)
            | AdminCall::SetGroupOffsets { .. }
            | AdminCall::DeleteGroupOffsets { .. }
            | AdminCall::DeleteGroup(_) => self.send_groups(core, now, connection, id),
            // Those go by the shared questions for offsets.
            AdminCall::ListOffsets(_) => Ok(()),
        }
    }

    /// What only an operator asks for.
    fn send_operators(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        id: CallId,
        timeout_ms: i32,
    ) -> Result<(), ClientError> {
        match &self.question {
            AdminCall::ElectLeaders { election, partitions } => {
                let (election, partitions) = (election.clone(), partitions.clone());
                let request = elect(&election, partitions.as_deref(), timeout_ms);
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::ReplicaEnds { topic, partitions, .. } => {
                let topic = Arc::clone(topic);
                let request = replica_ends(&topic, partitions);
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::UnregisterBroker(broker_id) => {
                let request = UnregisterBrokerRequest { broker_id: *broker_id };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            _ => Ok(()),
        }
    }

    /// A broker that cannot tell who is not alive is asked what all can tell.
    fn send_describe_cluster(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        id: CallId,
    ) -> Result<(), ClientError> {
        let version = core.network.version(connection, ApiKey::DescribeCluster, i16::MAX);
        if version.is_none_or(|version| version < TELLS_FENCED) {
            return self.send_metadata(core, now, connection, id, Some(Vec::new()));
        }
        let request = DescribeClusterRequest { include_fenced_brokers: true, ..Default::default() };
        self.transmit(core, now, connection, id, i16::MAX, &request)
    }

    fn send_metadata(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        id: CallId,
        names: Option<Vec<String>>,
    ) -> Result<(), ClientError> {
        let topics = names.map(|names| {
            let named = |name: String| MetadataRequestTopic { topic_id: Uuid::NONE, name: Some(name.into()) };
            names.into_iter().map(named).collect()
        });
        let request =
            MetadataRequest { topics, allow_auto_topic_creation: false, ..MetadataRequest::default() };
        self.transmit(core, now, connection, id, i16::MAX, &request)
    }
}

fn describe(resource: &ConfigResource) -> DescribeConfigsRequest<'static> {
    let (resource_type, resource_name) = wire_resource(resource);
    let resource = DescribeConfigsResource {
        resource_type,
        resource_name: resource_name.into(),
        configuration_keys: None,
    };
    DescribeConfigsRequest { resources: vec![resource], include_synonyms: false, include_documentation: true }
}

fn log_dir_topic((name, partitions): &(Arc<str>, Vec<u32>)) -> DescribableLogDirTopic<'_> {
    DescribableLogDirTopic { name: (&**name).into(), partitions: numbers(partitions) }
}

fn elect<'a>(
    election: &'a Election,
    partitions: Option<&'a [(Arc<str>, Vec<u32>)]>,
    timeout_ms: i32,
) -> ElectLeadersRequest<'a> {
    let topic = |(name, partitions): &'a (Arc<str>, Vec<u32>)| ElectLeadersTopic {
        topic: (&**name).into(),
        partitions: numbers(partitions),
    };
    // Kafka's numbers of election types.
    let (election_type, choices) = match election {
        Election::Preferred => (0, Vec::new()),
        Election::Unclean(choices) => (1, choices.iter().map(choice).collect()),
    };
    let topic_partitions = partitions.map(|topics| topics.iter().map(topic).collect());
    ElectLeadersRequest { election_type, topic_partitions, timeout_ms, choices }
}

fn choice(choice: &UncleanChoice) -> ElectLeadersChoice<'_> {
    let shown = |end: &ReplicaEnd| ElectLeadersReplicaEnd {
        broker_id: end.broker,
        last_epoch: end.last_epoch.unwrap_or(-1),
        end: end.end.unwrap_or(-1),
    };
    ElectLeadersChoice {
        topic: (&*choice.topic).into(),
        partition_index: i32::try_from(choice.partition).unwrap_or(i32::MAX),
        leader_epoch: choice.leader_epoch,
        leader_id: choice.leader,
        shown: choice.shown.iter().map(shown).collect(),
    }
}

fn replica_ends<'a>(topic: &'a str, partitions: &[u32]) -> ListOffsetsRequest<'a> {
    let asked = |partition_index| ListOffsetsPartition {
        partition_index,
        timestamp: LATEST,
        ..ListOffsetsPartition::default()
    };
    let partitions = numbers(partitions).into_iter().map(asked).collect();
    ListOffsetsRequest {
        replica_id: OF_ANY_REPLICA,
        topics: vec![ListOffsetsTopic { name: topic.into(), partitions }],
        ..ListOffsetsRequest::default()
    }
}

fn numbers(partitions: &[u32]) -> Vec<i32> {
    partitions.iter().map(|partition| i32::try_from(*partition).unwrap_or(i32::MAX)).collect()
}

fn creatable(topic: &NewTopic) -> CreatableTopic<'_> {
    let configs = topic
        .configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig { name: (&**name).into(), value: Some((&**value).into()) });
    CreatableTopic {
        name: (&*topic.name).into(),
        num_partitions: topic.partitions.map_or(-1, |count| i32::try_from(count).unwrap_or(i32::MAX)),
        replication_factor: topic.replication.map_or(-1, |count| i16::try_from(count).unwrap_or(i16::MAX)),
        assignments: Vec::new(),
        configs: configs.collect(),
    }
}

fn alterable(change: &ConfigChange) -> AlterableConfig<'_> {
    match change {
        ConfigChange::Set(name, value) => {
            AlterableConfig { name: (&**name).into(), config_operation: 0, value: Some((&**value).into()) }
        }
        ConfigChange::Delete(name) => {
            AlterableConfig { name: (&**name).into(), config_operation: 1, value: None }
        }
    }
}

/// The type and name of a resource: Kafka's numbers are 2 for topics and 4 for brokers.
fn wire_resource(resource: &ConfigResource) -> (i8, String) {
    match resource {
        ConfigResource::Topic(name) => (2, name.to_string()),
        ConfigResource::Broker(id) => (4, id.to_string()),
    }
}
