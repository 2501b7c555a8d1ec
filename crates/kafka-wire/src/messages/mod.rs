// @generated from schemas/ by cargo xtask codegen
//! The messages: one module for each API, and enums over all of them.

use crate::{ApiKey, NoFile};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, EncodeError, Reader, Rope};

pub mod alter_configs;
pub mod api_versions;
pub mod consumer_group_describe;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_groups;
pub mod describe_log_dirs;
pub mod describe_quorum;
pub mod describe_topic_partitions;
pub mod elect_leaders;
pub mod fetch;
pub mod find_coordinator;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod join_group;
pub mod leave_group;
pub mod list_groups;
pub mod list_offsets;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod sasl_authenticate;
pub mod sasl_handshake;
pub mod sync_group;
pub mod unregister_broker;

/// The body of any request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Appends record batches to partitions.
    Produce(produce::ProduceRequest<'a>),
    /// Reads record batches from partitions; waits for new ones.
    Fetch(fetch::FetchRequest<'a>),
    /// Finds offsets by time, and the ends of partitions.
    ListOffsets(list_offsets::ListOffsetsRequest<'a>),
    /// Describes brokers, topics and partitions.
    Metadata(metadata::MetadataRequest<'a>),
    /// Stores a group's positions.
    OffsetCommit(offset_commit::OffsetCommitRequest<'a>),
    /// Tells a group's positions.
    OffsetFetch(offset_fetch::OffsetFetchRequest<'a>),
    /// Finds the broker that coordinates a group or a transaction.
    FindCoordinator(find_coordinator::FindCoordinatorRequest<'a>),
    /// Enters a consumer group, or enters it again.
    JoinGroup(join_group::JoinGroupRequest<'a>),
    /// Keeps a member in its group.
    Heartbeat(heartbeat::HeartbeatRequest<'a>),
    /// Takes members out of a group.
    LeaveGroup(leave_group::LeaveGroupRequest<'a>),
    /// Gives the leader's assignment to the group, and each member its own.
    SyncGroup(sync_group::SyncGroupRequest<'a>),
    /// Describes groups and their members.
    DescribeGroups(describe_groups::DescribeGroupsRequest<'a>),
    /// Lists the groups that the broker coordinates.
    ListGroups(list_groups::ListGroupsRequest<'a>),
    /// Chooses how the client will authenticate.
    SaslHandshake(sasl_handshake::SaslHandshakeRequest<'a>),
    /// Tells which APIs and versions the broker speaks, and its features.
    ApiVersions(api_versions::ApiVersionsRequest<'a>),
    /// Creates topics.
    CreateTopics(create_topics::CreateTopicsRequest<'a>),
    /// Deletes topics with all their records.
    DeleteTopics(delete_topics::DeleteTopicsRequest<'a>),
    /// Deletes the records before an offset.
    DeleteRecords(delete_records::DeleteRecordsRequest<'a>),
    /// Gives a producer its id and epoch.
    InitProducerId(init_producer_id::InitProducerIdRequest<'a>),
    /// Tells where a leader epoch ends in the log.
    OffsetForLeaderEpoch(offset_for_leader_epoch::OffsetForLeaderEpochRequest<'a>),
    /// Tells the settings of topics and brokers.
    DescribeConfigs(describe_configs::DescribeConfigsRequest<'a>),
    /// Replaces all settings of a resource.
    AlterConfigs(alter_configs::AlterConfigsRequest<'a>),
    /// Tells what a broker's log directories hold.
    DescribeLogDirs(describe_log_dirs::DescribeLogDirsRequest<'a>),
    /// Carries one step of authentication.
    SaslAuthenticate(sasl_authenticate::SaslAuthenticateRequest<'a>),
    /// Adds partitions to topics.
    CreatePartitions(create_partitions::CreatePartitionsRequest<'a>),
    /// Deletes groups that have no members.
    DeleteGroups(delete_groups::DeleteGroupsRequest<'a>),
    /// Elects leaders of partitions: the preferred ones, or unclean ones where nobody leads.
    ElectLeaders(elect_leaders::ElectLeadersRequest<'a>),
    /// Edits settings one by one.
    IncrementalAlterConfigs(incremental_alter_configs::IncrementalAlterConfigsRequest<'a>),
    /// Deletes positions of a group in topics that its members do not read.
    OffsetDelete(offset_delete::OffsetDeleteRequest<'a>),
    /// Describes the voters and observers of the metadata quorum.
    DescribeQuorum(describe_quorum::DescribeQuorumRequest<'a>),
    /// Describes the brokers of the cluster and their addresses.
    DescribeCluster(describe_cluster::DescribeClusterRequest),
    /// Removes a broker that will not come back.
    UnregisterBroker(unregister_broker::UnregisterBrokerRequest),
    /// Describes groups of the consumer protocol (KIP-848) and their members.
    ConsumerGroupDescribe(consumer_group_describe::ConsumerGroupDescribeRequest<'a>),
    /// Describes topics in pages.
    DescribeTopicPartitions(describe_topic_partitions::DescribeTopicPartitionsRequest<'a>),
}

impl<'a> Request<'a> {
    /// The API that the body belongs to.
    pub const fn key(&self) -> ApiKey {
        match self {
            Self::Produce(_) => ApiKey::Produce,
            Self::Fetch(_) => ApiKey::Fetch,
            Self::ListOffsets(_) => ApiKey::ListOffsets,
            Self::Metadata(_) => ApiKey::Metadata,
            Self::OffsetCommit(_) => ApiKey::OffsetCommit,
            Self::OffsetFetch(_) => ApiKey::OffsetFetch,
            Self::FindCoordinator(_) => ApiKey::FindCoordinator,
            Self::JoinGroup(_) => ApiKey::JoinGroup,
            Self::Heartbeat(_) => ApiKey::Heartbeat,
            Self::LeaveGroup(_) => ApiKey::LeaveGroup,
            Self::SyncGroup(_) => ApiKey::SyncGroup,
            Self::DescribeGroups(_) => ApiKey::DescribeGroups,
            Self::ListGroups(_) => ApiKey::ListGroups,
            Self::SaslHandshake(_) => ApiKey::SaslHandshake,
            Self::ApiVersions(_) => ApiKey::ApiVersions,
            Self::CreateTopics(_) => ApiKey::CreateTopics,
            Self::DeleteTopics(_) => ApiKey::DeleteTopics,
            Self::DeleteRecords(_) => ApiKey::DeleteRecords,
            Self::InitProducerId(_) => ApiKey::InitProducerId,
            Self::OffsetForLeaderEpoch(_) => ApiKey::OffsetForLeaderEpoch,
            Self::DescribeConfigs(_) => ApiKey::DescribeConfigs,
            Self::AlterConfigs(_) => ApiKey::AlterConfigs,
            Self::DescribeLogDirs(_) => ApiKey::DescribeLogDirs,
            Self::SaslAuthenticate(_) => ApiKey::SaslAuthenticate,
            Self::CreatePartitions(_) => ApiKey::CreatePartitions,
            Self::DeleteGroups(_) => ApiKey::DeleteGroups,
            Self::ElectLeaders(_) => ApiKey::ElectLeaders,
            Self::IncrementalAlterConfigs(_) => ApiKey::IncrementalAlterConfigs,
            Self::OffsetDelete(_) => ApiKey::OffsetDelete,
            Self::DescribeQuorum(_) => ApiKey::DescribeQuorum,
            Self::DescribeCluster(_) => ApiKey::DescribeCluster,
            Self::UnregisterBroker(_) => ApiKey::UnregisterBroker,
            Self::ConsumerGroupDescribe(_) => ApiKey::ConsumerGroupDescribe,
            Self::DescribeTopicPartitions(_) => ApiKey::DescribeTopicPartitions,
        }
    }

    /// Reads the body of `key` in `version`, which the caller has checked to be accepted.
    #[cfg(feature = "broker")]
    pub fn decode(r: &mut Reader<'a>, key: ApiKey, version: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            ApiKey::Produce => Self::Produce(Decode::decode(r, version)?),
            ApiKey::Fetch => Self::Fetch(Decode::decode(r, version)?),
            ApiKey::ListOffsets => Self::ListOffsets(Decode::decode(r, version)?),
            ApiKey::Metadata => Self::Metadata(Decode::decode(r, version)?),
            ApiKey::OffsetCommit => Self::OffsetCommit(Decode::decode(r, version)?),
            ApiKey::OffsetFetch => Self::OffsetFetch(Decode::decode(r, version)?),
            ApiKey::FindCoordinator => Self::FindCoordinator(Decode::decode(r, version)?),
            ApiKey::JoinGroup => Self::JoinGroup(Decode::decode(r, version)?),
            ApiKey::Heartbeat => Self::Heartbeat(Decode::decode(r, version)?),
            ApiKey::LeaveGroup => Self::LeaveGroup(Decode::decode(r, version)?),
            ApiKey::SyncGroup => Self::SyncGroup(Decode::decode(r, version)?),
            ApiKey::DescribeGroups => Self::DescribeGroups(Decode::decode(r, version)?),
            ApiKey::ListGroups => Self::ListGroups(Decode::decode(r, version)?),
            ApiKey::SaslHandshake => Self::SaslHandshake(Decode::decode(r, version)?),
            ApiKey::ApiVersions => Self::ApiVersions(Decode::decode(r, version)?),
            ApiKey::CreateTopics => Self::CreateTopics(Decode::decode(r, version)?),
            ApiKey::DeleteTopics => Self::DeleteTopics(Decode::decode(r, version)?),
            ApiKey::DeleteRecords => Self::DeleteRecords(Decode::decode(r, version)?),
            ApiKey::InitProducerId => Self::InitProducerId(Decode::decode(r, version)?),
            ApiKey::OffsetForLeaderEpoch => Self::OffsetForLeaderEpoch(Decode::decode(r, version)?),
            ApiKey::DescribeConfigs => Self::DescribeConfigs(Decode::decode(r, version)?),
            ApiKey::AlterConfigs => Self::AlterConfigs(Decode::decode(r, version)?),
            ApiKey::DescribeLogDirs => Self::DescribeLogDirs(Decode::decode(r, version)?),
            ApiKey::SaslAuthenticate => Self::SaslAuthenticate(Decode::decode(r, version)?),
            ApiKey::CreatePartitions => Self::CreatePartitions(Decode::decode(r, version)?),
            ApiKey::DeleteGroups => Self::DeleteGroups(Decode::decode(r, version)?),
            ApiKey::ElectLeaders => Self::ElectLeaders(Decode::decode(r, version)?),
            ApiKey::IncrementalAlterConfigs => Self::IncrementalAlterConfigs(Decode::decode(r, version)?),
            ApiKey::OffsetDelete => Self::OffsetDelete(Decode::decode(r, version)?),
            ApiKey::DescribeQuorum => Self::DescribeQuorum(Decode::decode(r, version)?),
            ApiKey::DescribeCluster => Self::DescribeCluster(Decode::decode(r, version)?),
            ApiKey::UnregisterBroker => Self::UnregisterBroker(Decode::decode(r, version)?),
            ApiKey::ConsumerGroupDescribe => Self::ConsumerGroupDescribe(Decode::decode(r, version)?),
            ApiKey::DescribeTopicPartitions => Self::DescribeTopicPartitions(Decode::decode(r, version)?),
        })
    }

    /// The whole frame of the request.
    #[cfg(feature = "client")]
    pub fn to_frame(
        &self,
        version: i16,
        correlation_id: i32,
        client_id: Option<&str>,
    ) -> Result<Rope, EncodeError> {
        match self {
            Self::Produce(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::Fetch(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::ListOffsets(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::Metadata(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::OffsetCommit(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::OffsetFetch(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::FindCoordinator(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::JoinGroup(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::Heartbeat(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::LeaveGroup(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::SyncGroup(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DescribeGroups(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::ListGroups(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::SaslHandshake(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::ApiVersions(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::CreateTopics(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DeleteTopics(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DeleteRecords(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::InitProducerId(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::OffsetForLeaderEpoch(body) => {
                crate::encode_request(version, correlation_id, client_id, body)
            }
            Self::DescribeConfigs(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::AlterConfigs(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DescribeLogDirs(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::SaslAuthenticate(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::CreatePartitions(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DeleteGroups(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::ElectLeaders(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::IncrementalAlterConfigs(body) => {
                crate::encode_request(version, correlation_id, client_id, body)
            }
            Self::OffsetDelete(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DescribeQuorum(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::DescribeCluster(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::UnregisterBroker(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::ConsumerGroupDescribe(body) => {
                crate::encode_request(version, correlation_id, client_id, body)
            }
            Self::DescribeTopicPartitions(body) => {
                crate::encode_request(version, correlation_id, client_id, body)
            }
        }
    }
}

/// The body of any response. `F` is the handle of files whose ranges are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<'a, F = NoFile> {
    /// Appends record batches to partitions.
    Produce(produce::ProduceResponse<'a>),
    /// Reads record batches from partitions; waits for new ones.
    Fetch(fetch::FetchResponse<'a, F>),
    /// Finds offsets by time, and the ends of partitions.
    ListOffsets(list_offsets::ListOffsetsResponse<'a>),
    /// Describes brokers, topics and partitions.
    Metadata(metadata::MetadataResponse<'a>),
    /// Stores a group's positions.
    OffsetCommit(offset_commit::OffsetCommitResponse<'a>),
    /// Tells a group's positions.
    OffsetFetch(offset_fetch::OffsetFetchResponse<'a>),
    /// Finds the broker that coordinates a group or a transaction.
    FindCoordinator(find_coordinator::FindCoordinatorResponse<'a>),
    /// Enters a consumer group, or enters it again.
    JoinGroup(join_group::JoinGroupResponse<'a>),
    /// Keeps a member in its group.
    Heartbeat(heartbeat::HeartbeatResponse),
    /// Takes members out of a group.
    LeaveGroup(leave_group::LeaveGroupResponse<'a>),
    /// Gives the leader's assignment to the group, and each member its own.
    SyncGroup(sync_group::SyncGroupResponse<'a>),
    /// Describes groups and their members.
    DescribeGroups(describe_groups::DescribeGroupsResponse<'a>),
    /// Lists the groups that the broker coordinates.
    ListGroups(list_groups::ListGroupsResponse<'a>),
    /// Chooses how the client will authenticate.
    SaslHandshake(sasl_handshake::SaslHandshakeResponse<'a>),
    /// Tells which APIs and versions the broker speaks, and its features.
    ApiVersions(api_versions::ApiVersionsResponse<'a>),
    /// Creates topics.
    CreateTopics(create_topics::CreateTopicsResponse<'a>),
    /// Deletes topics with all their records.
    DeleteTopics(delete_topics::DeleteTopicsResponse<'a>),
    /// Deletes the records before an offset.
    DeleteRecords(delete_records::DeleteRecordsResponse<'a>),
    /// Gives a producer its id and epoch.
    InitProducerId(init_producer_id::InitProducerIdResponse),
    /// Tells where a leader epoch ends in the log.
    OffsetForLeaderEpoch(offset_for_leader_epoch::OffsetForLeaderEpochResponse<'a>),
    /// Tells the settings of topics and brokers.
    DescribeConfigs(describe_configs::DescribeConfigsResponse<'a>),
    /// Replaces all settings of a resource.
    AlterConfigs(alter_configs::AlterConfigsResponse<'a>),
    /// Tells what a broker's log directories hold.
    DescribeLogDirs(describe_log_dirs::DescribeLogDirsResponse<'a>),
    /// Carries one step of authentication.
    SaslAuthenticate(sasl_authenticate::SaslAuthenticateResponse<'a>),
    /// Adds partitions to topics.
    CreatePartitions(create_partitions::CreatePartitionsResponse<'a>),
    /// Deletes groups that have no members.
    DeleteGroups(delete_groups::DeleteGroupsResponse<'a>),
    /// Elects leaders of partitions: the preferred ones, or unclean ones where nobody leads.
    ElectLeaders(elect_leaders::ElectLeadersResponse<'a>),
    /// Edits settings one by one.
    IncrementalAlterConfigs(incremental_alter_configs::IncrementalAlterConfigsResponse<'a>),
    /// Deletes positions of a group in topics that its members do not read.
    OffsetDelete(offset_delete::OffsetDeleteResponse<'a>),
    /// Describes the voters and observers of the metadata quorum.
    DescribeQuorum(describe_quorum::DescribeQuorumResponse<'a>),
    /// Describes the brokers of the cluster and their addresses.
    DescribeCluster(describe_cluster::DescribeClusterResponse<'a>),
    /// Removes a broker that will not come back.
    UnregisterBroker(unregister_broker::UnregisterBrokerResponse<'a>),
    /// Describes groups of the consumer protocol (KIP-848) and their members.
    ConsumerGroupDescribe(consumer_group_describe::ConsumerGroupDescribeResponse<'a>),
    /// Describes topics in pages.
    DescribeTopicPartitions(describe_topic_partitions::DescribeTopicPartitionsResponse<'a>),
}

impl<'a> Response<'a> {
    /// Reads the body of `key` in `version`, which the caller has checked to be accepted.
    #[cfg(feature = "client")]
    pub fn decode(r: &mut Reader<'a>, key: ApiKey, version: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            ApiKey::Produce => Self::Produce(Decode::decode(r, version)?),
            ApiKey::Fetch => Self::Fetch(Decode::decode(r, version)?),
            ApiKey::ListOffsets => Self::ListOffsets(Decode::decode(r, version)?),
            ApiKey::Metadata => Self::Metadata(Decode::decode(r, version)?),
            ApiKey::OffsetCommit => Self::OffsetCommit(Decode::decode(r, version)?),
            ApiKey::OffsetFetch => Self::OffsetFetch(Decode::decode(r, version)?),
            ApiKey::FindCoordinator => Self::FindCoordinator(Decode::decode(r, version)?),
            ApiKey::JoinGroup => Self::JoinGroup(Decode::decode(r, version)?),
            ApiKey::Heartbeat => Self::Heartbeat(Decode::decode(r, version)?),
            ApiKey::LeaveGroup => Self::LeaveGroup(Decode::decode(r, version)?),
            ApiKey::SyncGroup => Self::SyncGroup(Decode::decode(r, version)?),
            ApiKey::DescribeGroups => Self::DescribeGroups(Decode::decode(r, version)?),
            ApiKey::ListGroups => Self::ListGroups(Decode::decode(r, version)?),
            ApiKey::SaslHandshake => Self::SaslHandshake(Decode::decode(r, version)?),
            ApiKey::ApiVersions => Self::ApiVersions(Decode::decode(r, version)?),
            ApiKey::CreateTopics => Self::CreateTopics(Decode::decode(r, version)?),
            ApiKey::DeleteTopics => Self::DeleteTopics(Decode::decode(r, version)?),
            ApiKey::DeleteRecords => Self::DeleteRecords(Decode::decode(r, version)?),
            ApiKey::InitProducerId => Self::InitProducerId(Decode::decode(r, version)?),
            ApiKey::OffsetForLeaderEpoch => Self::OffsetForLeaderEpoch(Decode::decode(r, version)?),
            ApiKey::DescribeConfigs => Self::DescribeConfigs(Decode::decode(r, version)?),
            ApiKey::AlterConfigs => Self::AlterConfigs(Decode::decode(r, version)?),
            ApiKey::DescribeLogDirs => Self::DescribeLogDirs(Decode::decode(r, version)?),
            ApiKey::SaslAuthenticate => Self::SaslAuthenticate(Decode::decode(r, version)?),
            ApiKey::CreatePartitions => Self::CreatePartitions(Decode::decode(r, version)?),
            ApiKey::DeleteGroups => Self::DeleteGroups(Decode::decode(r, version)?),
            ApiKey::ElectLeaders => Self::ElectLeaders(Decode::decode(r, version)?),
            ApiKey::IncrementalAlterConfigs => Self::IncrementalAlterConfigs(Decode::decode(r, version)?),
            ApiKey::OffsetDelete => Self::OffsetDelete(Decode::decode(r, version)?),
            ApiKey::DescribeQuorum => Self::DescribeQuorum(Decode::decode(r, version)?),
            ApiKey::DescribeCluster => Self::DescribeCluster(Decode::decode(r, version)?),
            ApiKey::UnregisterBroker => Self::UnregisterBroker(Decode::decode(r, version)?),
            ApiKey::ConsumerGroupDescribe => Self::ConsumerGroupDescribe(Decode::decode(r, version)?),
            ApiKey::DescribeTopicPartitions => Self::DescribeTopicPartitions(Decode::decode(r, version)?),
        })
    }
}

impl<F> Response<'_, F> {
    /// The API that the body belongs to.
    pub const fn key(&self) -> ApiKey {
        match self {
            Self::Produce(_) => ApiKey::Produce,
            Self::Fetch(_) => ApiKey::Fetch,
            Self::ListOffsets(_) => ApiKey::ListOffsets,
            Self::Metadata(_) => ApiKey::Metadata,
            Self::OffsetCommit(_) => ApiKey::OffsetCommit,
            Self::OffsetFetch(_) => ApiKey::OffsetFetch,
            Self::FindCoordinator(_) => ApiKey::FindCoordinator,
            Self::JoinGroup(_) => ApiKey::JoinGroup,
            Self::Heartbeat(_) => ApiKey::Heartbeat,
            Self::LeaveGroup(_) => ApiKey::LeaveGroup,
            Self::SyncGroup(_) => ApiKey::SyncGroup,
            Self::DescribeGroups(_) => ApiKey::DescribeGroups,
            Self::ListGroups(_) => ApiKey::ListGroups,
            Self::SaslHandshake(_) => ApiKey::SaslHandshake,
            Self::ApiVersions(_) => ApiKey::ApiVersions,
            Self::CreateTopics(_) => ApiKey::CreateTopics,
            Self::DeleteTopics(_) => ApiKey::DeleteTopics,
            Self::DeleteRecords(_) => ApiKey::DeleteRecords,
            Self::InitProducerId(_) => ApiKey::InitProducerId,
            Self::OffsetForLeaderEpoch(_) => ApiKey::OffsetForLeaderEpoch,
            Self::DescribeConfigs(_) => ApiKey::DescribeConfigs,
            Self::AlterConfigs(_) => ApiKey::AlterConfigs,
            Self::DescribeLogDirs(_) => ApiKey::DescribeLogDirs,
            Self::SaslAuthenticate(_) => ApiKey::SaslAuthenticate,
            Self::CreatePartitions(_) => ApiKey::CreatePartitions,
            Self::DeleteGroups(_) => ApiKey::DeleteGroups,
            Self::ElectLeaders(_) => ApiKey::ElectLeaders,
            Self::IncrementalAlterConfigs(_) => ApiKey::IncrementalAlterConfigs,
            Self::OffsetDelete(_) => ApiKey::OffsetDelete,
            Self::DescribeQuorum(_) => ApiKey::DescribeQuorum,
            Self::DescribeCluster(_) => ApiKey::DescribeCluster,
            Self::UnregisterBroker(_) => ApiKey::UnregisterBroker,
            Self::ConsumerGroupDescribe(_) => ApiKey::ConsumerGroupDescribe,
            Self::DescribeTopicPartitions(_) => ApiKey::DescribeTopicPartitions,
        }
    }

    /// The whole frame of the response.
    #[cfg(feature = "broker")]
    pub fn to_frame(&self, version: i16, correlation_id: i32) -> Result<Rope<F>, EncodeError>
    where
        F: Clone,
    {
        match self {
            Self::Produce(body) => crate::encode_response(version, correlation_id, body),
            Self::Fetch(body) => crate::encode_response(version, correlation_id, body),
            Self::ListOffsets(body) => crate::encode_response(version, correlation_id, body),
            Self::Metadata(body) => crate::encode_response(version, correlation_id, body),
            Self::OffsetCommit(body) => crate::encode_response(version, correlation_id, body),
            Self::OffsetFetch(body) => crate::encode_response(version, correlation_id, body),
            Self::FindCoordinator(body) => crate::encode_response(version, correlation_id, body),
            Self::JoinGroup(body) => crate::encode_response(version, correlation_id, body),
            Self::Heartbeat(body) => crate::encode_response(version, correlation_id, body),
            Self::LeaveGroup(body) => crate::encode_response(version, correlation_id, body),
            Self::SyncGroup(body) => crate::encode_response(version, correlation_id, body),
            Self::DescribeGroups(body) => crate::encode_response(version, correlation_id, body),
            Self::ListGroups(body) => crate::encode_response(version, correlation_id, body),
            Self::SaslHandshake(body) => crate::encode_response(version, correlation_id, body),
            Self::ApiVersions(body) => crate::encode_response(version, correlation_id, body),
            Self::CreateTopics(body) => crate::encode_response(version, correlation_id, body),
            Self::DeleteTopics(body) => crate::encode_response(version, correlation_id, body),
            Self::DeleteRecords(body) => crate::encode_response(version, correlation_id, body),
            Self::InitProducerId(body) => crate::encode_response(version, correlation_id, body),
            Self::OffsetForLeaderEpoch(body) => crate::encode_response(version, correlation_id, body),
            Self::DescribeConfigs(body) => crate::encode_response(version, correlation_id, body),
            Self::AlterConfigs(body) => crate::encode_response(version, correlation_id, body),
            Self::DescribeLogDirs(body) => crate::encode_response(version, correlation_id, body),
            Self::SaslAuthenticate(body) => crate::encode_response(version, correlation_id, body),
            Self::CreatePartitions(body) => crate::encode_response(version, correlation_id, body),
            Self::DeleteGroups(body) => crate::encode_response(version, correlation_id, body),
            Self::ElectLeaders(body) => crate::encode_response(version, correlation_id, body),
            Self::IncrementalAlterConfigs(body) => crate::encode_response(version, correlation_id, body),
            Self::OffsetDelete(body) => crate::encode_response(version, correlation_id, body),
            Self::DescribeQuorum(body) => crate::encode_response(version, correlation_id, body),
            Self::DescribeCluster(body) => crate::encode_response(version, correlation_id, body),
            Self::UnregisterBroker(body) => crate::encode_response(version, correlation_id, body),
            Self::ConsumerGroupDescribe(body) => crate::encode_response(version, correlation_id, body),
            Self::DescribeTopicPartitions(body) => crate::encode_response(version, correlation_id, body),
        }
    }
}
