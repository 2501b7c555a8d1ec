//! From a frame to its handler.

use bytes::Bytes;
use kafka_wire::{ApiKey, DecodeError, Request, RequestFrame};
use log_store::Disk;

use super::Shard;
use crate::action::CloseReason;
use crate::connection::Sequence;
use crate::door::ConnectionId;

/// A request that is to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) connection: ConnectionId,
    pub(crate) sequence: Sequence,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
}

impl<D: Disk> Shard<D> {
    pub(super) fn start_request(&mut self, connection: ConnectionId, sequence: Sequence, frame: &Bytes) {
        match RequestFrame::parse(frame) {
            Ok(RequestFrame { header, body }) => {
                let (version, correlation_id) = (header.version, header.correlation_id);
                let ask = Ask { connection, sequence, version, correlation_id };
                *self.core.metrics.requests.entry(header.key).or_default() += 1;
                self.dispatch(ask, header.client_id.as_deref().unwrap_or_default(), body);
            }
            Err(DecodeError::UnsupportedVersion { key: ApiKey::ApiVersions, correlation_id, .. }) => {
                let ask = Ask { connection, sequence, version: 0, correlation_id };
                self.finish_request(ask, Some(kafka_wire::api_versions_fallback(correlation_id)));
            }
            Err(error) => {
                self.core.metrics.requests_malformed += 1;
                self.close(connection, CloseReason::Malformed(error));
            }
        }
    }

    fn dispatch(&mut self, ask: Ask, client_id: &str, body: Request<'_>) {
        match body {
            Request::Produce(request) => self.handle_produce(ask, request),
            Request::Fetch(request) => self.handle_fetch(ask, &request),
            Request::ListOffsets(request) => self.handle_list_offsets(ask, &request),
            Request::Metadata(request) => self.handle_metadata(ask, &request),
            Request::OffsetCommit(request) => self.handle_offset_commit(ask, &request),
            Request::OffsetFetch(request) => self.handle_offset_fetch(ask, &request),
            Request::FindCoordinator(request) => self.handle_find_coordinator(ask, &request),
            Request::JoinGroup(request) => self.handle_join_group(ask, client_id, &request),
            Request::Heartbeat(request) => self.handle_heartbeat(ask, &request),
            Request::LeaveGroup(request) => self.handle_leave_group(ask, &request),
            Request::SyncGroup(request) => self.handle_sync_group(ask, &request),
            Request::DescribeGroups(request) => self.handle_describe_groups(ask, &request),
            Request::ListGroups(request) => self.handle_list_groups(ask, &request),
            Request::SaslHandshake(request) => self.handle_sasl_handshake(ask, &request),
            Request::ApiVersions(request) => self.handle_api_versions(ask, &request),
            Request::CreateTopics(request) => self.handle_create_topics(ask, &request),
            Request::DeleteTopics(request) => self.handle_delete_topics(ask, &request),
            Request::DeleteRecords(request) => self.handle_delete_records(ask, &request),
            Request::InitProducerId(request) => self.handle_init_producer_id(ask, &request),
            Request::OffsetForLeaderEpoch(request) => self.handle_offset_for_leader_epoch(ask, &request),
            Request::DescribeConfigs(request) => self.handle_describe_configs(ask, &request),
            Request::AlterConfigs(request) => self.handle_alter_configs(ask, &request),
            Request::SaslAuthenticate(request) => self.handle_sasl_authenticate(ask, &request),
            Request::CreatePartitions(request) => self.handle_create_partitions(ask, &request),
            Request::DeleteGroups(request) => self.handle_delete_groups(ask, &request),
            Request::OffsetDelete(request) => self.handle_offset_delete(ask, &request),
            Request::ConsumerGroupDescribe(request) => self.handle_consumer_group_describe(ask, &request),
            Request::ElectLeaders(request) => self.handle_elect_leaders(ask, &request),
            Request::IncrementalAlterConfigs(request) => {
                self.handle_incremental_alter_configs(ask, &request);
            }
            Request::DescribeLogDirs(request) => self.handle_describe_log_dirs(ask, &request),
            Request::DescribeQuorum(request) => self.handle_describe_quorum(ask, &request),
            Request::DescribeCluster(request) => self.handle_describe_cluster(ask, &request),
            Request::UnregisterBroker(request) => self.handle_unregister_broker(ask, &request),
            Request::DescribeTopicPartitions(request) => {
                self.handle_describe_topic_partitions(ask, &request);
            }
        }
    }
}
