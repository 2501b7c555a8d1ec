//! What a member sends.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_wire::messages::heartbeat::HeartbeatRequest;
use kafka_wire::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use kafka_wire::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use kafka_wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_wire::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use kafka_wire::{ApiKey, Body, Encode};
use log_core::Now;

use super::{Phase, offsets, protocol};
use crate::action::ConnectionId;
use crate::consumer::Consumer;
use crate::core::Core;
use crate::purpose::{GroupStep, Purpose};

/// Later versions name topics by id.
pub(crate) const OFFSET_COMMIT_VERSION_MAX: i16 = 9;

impl Consumer {
    pub(super) fn send_find_coordinator(&mut self, core: &mut Core, now: Now) {
        let Some(connection) = core.any_connection(now) else { return };
        let Some(member) = &mut self.member else { return };
        let Some(version) = core.network.version(connection, ApiKey::FindCoordinator, i16::MAX) else {
            let error = core.unsupported(connection, ApiKey::FindCoordinator);
            return self.refuse_membership(core, now, error);
        };
        member.is_finding = true;
        let request = offsets::find_coordinator(&member.group.name);
        let patience = core.options.request_timeout;
        let purpose = Purpose::Group { consumer: self.handle, step: GroupStep::FindCoordinator };
        core.send(now, connection, version, &request, purpose, patience);
    }

    pub(super) fn send_join(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        member.phase = Phase::Joining { asked: true };
        let group = &member.group;
        let request = JoinGroupRequest {
            group_id: group.name.to_string().into(),
            session_timeout_ms: i32::try_from(group.session_timeout.as_millis()).unwrap_or(i32::MAX),
            rebalance_timeout_ms: i32::try_from(group.rebalance_timeout.as_millis()).unwrap_or(i32::MAX),
            member_id: member.member_id.clone().into(),
            protocol_type: protocol::CONSUMER.into(),
            protocols: vec![JoinGroupRequestProtocol {
                name: protocol::RANGE.into(),
                metadata: protocol::encode_subscription(&member.topics).into(),
            }],
            ..JoinGroupRequest::default()
        };
        // The answer comes when all members have joined.
        let patience = group.rebalance_timeout + core.options.request_timeout;
        self.ask_coordinator(core, now, connection, &request, GroupStep::Join, patience);
    }

    pub(super) fn send_sync(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        let Phase::Syncing { asked, assignments } = &mut member.phase else { return };
        *asked = true;
        let assignments = assignments
            .iter()
            .map(|(member, bytes)| SyncGroupRequestAssignment {
                member_id: member.clone().into(),
                assignment: bytes.clone().into(),
            })
            .collect();
        let request = SyncGroupRequest {
            group_id: member.group.name.to_string().into(),
            generation_id: member.generation,
            member_id: member.member_id.clone().into(),
            protocol_type: Some(protocol::CONSUMER.into()),
            protocol_name: Some(protocol::RANGE.into()),
            assignments,
            ..SyncGroupRequest::default()
        };
        let patience = member.group.rebalance_timeout + core.options.request_timeout;
        self.ask_coordinator(core, now, connection, &request, GroupStep::Sync, patience);
    }

    pub(super) fn send_fetch_offsets(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        let Phase::Positioning { asked, assigned } = &mut member.phase else { return };
        *asked = true;
        let mut topics: BTreeMap<Arc<str>, Vec<i32>> = BTreeMap::new();
        for (topic, partition) in assigned.iter() {
            topics.entry(Arc::clone(topic)).or_default().push(i32::try_from(*partition).unwrap_or(i32::MAX));
        }
        let request = offsets::fetch_offsets(&member.group.name, Some(&topics));
        let patience = core.options.request_timeout;
        self.ask_coordinator(core, now, connection, &request, GroupStep::FetchOffsets, patience);
    }

    pub(super) fn send_heartbeat(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        member.heartbeat_in_flight = true;
        let request = HeartbeatRequest {
            group_id: member.group.name.to_string().into(),
            generation_id: member.generation,
            member_id: member.member_id.clone().into(),
            group_instance_id: None,
        };
        let patience = member.group.session_timeout.min(core.options.request_timeout);
        self.ask_coordinator(core, now, connection, &request, GroupStep::Heartbeat, patience);
    }

    pub(super) fn send_commit(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        let mut topics: BTreeMap<&Arc<str>, Vec<OffsetCommitRequestPartition<'_>>> = BTreeMap::new();
        for ((topic, partition), (next, leader_epoch)) in &member.marks {
            topics.entry(topic).or_default().push(OffsetCommitRequestPartition {
                partition_index: i32::try_from(*partition).unwrap_or(i32::MAX),
                committed_offset: *next,
                committed_leader_epoch: *leader_epoch,
                committed_metadata: Some("".into()),
            });
        }
        let topics = topics
            .into_iter()
            .map(|(name, partitions)| OffsetCommitRequestTopic {
                name: name.to_string().into(),
                partitions,
                ..OffsetCommitRequestTopic::default()
            })
            .collect();
        let request = OffsetCommitRequest {
            group_id: member.group.name.to_string().into(),
            generation_id_or_member_epoch: member.generation,
            member_id: member.member_id.clone().into(),
            topics,
            ..OffsetCommitRequest::default()
        };
        member.committing = Some(member.marks.clone());
        let patience = core.options.request_timeout;
        self.ask_coordinator(core, now, connection, &request, GroupStep::Commit, patience);
    }

    pub(super) fn send_leave(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        if let Phase::Leaving { asked, .. } = &mut member.phase {
            *asked = true;
        }
        let identity =
            MemberIdentity { member_id: member.member_id.clone().into(), ..MemberIdentity::default() };
        let request = LeaveGroupRequest {
            group_id: member.group.name.to_string().into(),
            member_id: member.member_id.clone().into(),
            members: vec![identity],
        };
        let patience = core.options.request_timeout;
        self.ask_coordinator(core, now, connection, &request, GroupStep::Leave, patience);
    }

    fn ask_coordinator<B: Body + Encode>(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        request: &B,
        step: GroupStep,
        patience: core::time::Duration,
    ) {
        let highest = if B::KEY == ApiKey::OffsetCommit || B::KEY == ApiKey::OffsetFetch {
            OFFSET_COMMIT_VERSION_MAX
        } else {
            i16::MAX
        };
        match core.network.version(connection, B::KEY, highest) {
            Some(version) => {
                let purpose = Purpose::Group { consumer: self.handle, step };
                core.send(now, connection, version, request, purpose, patience);
            }
            None => {
                let error = core.unsupported(connection, B::KEY);
                self.refuse_membership(core, now, error);
            }
        }
    }
}
