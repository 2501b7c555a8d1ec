//! The groups of the world: each with a coordinator that alone answers for it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_wire::messages::consumer_group_describe::{
    ConsumerGroupAssignment, ConsumerGroupDescribeResponse, ConsumerGroupMember,
    ConsumerGroupTopicPartitions, DescribedConsumerGroup,
};
use kafka_wire::messages::delete_groups::{DeletableGroupResult, DeleteGroupsResponse};
use kafka_wire::messages::describe_groups::{DescribeGroupsResponse, DescribedGroup, DescribedGroupMember};
use kafka_wire::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use kafka_wire::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use kafka_wire::messages::leave_group::LeaveGroupResponse;
use kafka_wire::messages::list_groups::{ListGroupsResponse, ListedGroup};
use kafka_wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_wire::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use kafka_wire::messages::offset_fetch::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use kafka_wire::messages::sync_group::SyncGroupResponse;
use kafka_wire::{ErrorCode, Request};

use super::broker::{Fault, Reply, encoded, refused};

#[derive(Clone, Debug, Default)]
pub struct Group {
    pub coordinator: i32,
    /// Of the newer protocol.
    pub is_of_consumer_protocol: bool,
    /// Whether one member is let in; as a rule nobody gets further than to the door.
    pub admits: bool,
    /// Their ids, each with what it has of the topic `t`.
    pub members: BTreeMap<String, Vec<i32>>,
    pub offsets: BTreeMap<(String, i32), i64>,
}

impl Group {
    pub fn at(coordinator: i32) -> Self {
        Self { coordinator, ..Self::default() }
    }

    fn state(&self) -> Cow<'static, str> {
        if self.members.is_empty() { "Empty".into() } else { "Stable".into() }
    }
}

#[derive(Debug, Default)]
pub struct Groups(pub BTreeMap<String, Group>);

impl Groups {
    /// The group, if this broker coordinates it.
    fn at(&self, broker: i32, name: &str) -> Result<&Group, ErrorCode> {
        let group = self.0.get(name).ok_or(ErrorCode::GroupIdNotFound)?;
        if group.coordinator == broker { Ok(group) } else { Err(ErrorCode::NotCoordinator) }
    }

    pub fn answer(
        &mut self,
        broker: i32,
        version: i16,
        correlation: i32,
        body: &Request<'_>,
        fault: Option<&Fault>,
    ) -> Option<Reply> {
        let refusal = refused(fault);
        Some(match body {
            Request::FindCoordinator(asked) => {
                let node_id = self.0.get(&*asked.coordinator_keys[0]).map_or(1, |group| group.coordinator);
                let found = Coordinator { node_id, error_code: refusal, ..Coordinator::default() };
                let answer = FindCoordinatorResponse { coordinators: vec![found], ..Default::default() };
                encoded(version, correlation, &answer)
            }
            Request::ListGroups(_) => encoded(version, correlation, &self.list(broker, refusal)),
            Request::DescribeGroups(asked) => {
                encoded(version, correlation, &self.describe(broker, &asked.groups[0]))
            }
            Request::ConsumerGroupDescribe(asked) => {
                encoded(version, correlation, &self.describe_newer(broker, &asked.group_ids[0]))
            }
            Request::JoinGroup(asked) => encoded(version, correlation, &self.join(broker, asked, refusal)),
            Request::SyncGroup(asked) => {
                let assignment = asked.assignments[0].assignment.to_vec().into();
                let answer = SyncGroupResponse { error_code: refusal, assignment, ..Default::default() };
                encoded(version, correlation, &answer)
            }
            Request::LeaveGroup(asked) => {
                let group = self.0.get_mut(&*asked.group_id).expect("there");
                asked.members.iter().for_each(|member| drop(group.members.remove(&*member.member_id)));
                encoded(version, correlation, &LeaveGroupResponse::default())
            }
            Request::OffsetFetch(asked) => {
                encoded(version, correlation, &self.fetch(broker, &asked.groups[0].group_id))
            }
            Request::OffsetCommit(asked) => {
                encoded(version, correlation, &self.commit(broker, asked, refusal))
            }
            Request::OffsetDelete(asked) => {
                encoded(version, correlation, &self.delete_offsets(broker, asked))
            }
            Request::DeleteGroups(asked) => {
                let name = &*asked.groups_names[0];
                let error_code = match self.at(broker, name) {
                    Ok(group) if !group.members.is_empty() => ErrorCode::NonEmptyGroup,
                    Ok(_) => self.0.remove(name).map_or(ErrorCode::GroupIdNotFound, |_| ErrorCode::None),
                    Err(code) => code,
                };
                let result = DeletableGroupResult { group_id: name.to_owned().into(), error_code };
                let answer = DeleteGroupsResponse { results: vec![result], ..Default::default() };
                encoded(version, correlation, &answer)
            }
            other => panic!("the world has no answer to {:?}", other.key()),
        })
    }

    fn list(&self, broker: i32, error_code: ErrorCode) -> ListGroupsResponse<'static> {
        let here = self.0.iter().filter(|(_, group)| group.coordinator == broker && error_code.is_ok());
        let listed = here.map(|(name, group)| ListedGroup {
            group_id: name.clone().into(),
            protocol_type: "consumer".into(),
            group_state: group.state(),
            group_type: if group.is_of_consumer_protocol { "consumer" } else { "classic" }.into(),
        });
        ListGroupsResponse { error_code, groups: listed.collect(), ..Default::default() }
    }

    /// A member is one from its id on, and leads.
    fn join(
        &mut self,
        broker: i32,
        asked: &JoinGroupRequest<'_>,
        refusal: ErrorCode,
    ) -> JoinGroupResponse<'static> {
        let failed = |error_code| JoinGroupResponse { error_code, ..Default::default() };
        match self.at(broker, &asked.group_id) {
            Ok(group) if !group.admits => return failed(ErrorCode::RebalanceInProgress),
            Ok(_) if !refusal.is_ok() => return failed(refusal),
            Ok(_) => {}
            Err(code) => return failed(code),
        }
        let group = self.0.get_mut(&*asked.group_id).expect("just seen");
        group.members.entry("m".to_owned()).or_default();
        if asked.member_id.is_empty() {
            let error_code = ErrorCode::MemberIdRequired;
            return JoinGroupResponse { error_code, member_id: "m".into(), ..Default::default() };
        }
        let member = JoinGroupResponseMember {
            member_id: "m".into(),
            group_instance_id: None,
            metadata: asked.protocols[0].metadata.to_vec().into(),
        };
        JoinGroupResponse {
            generation_id: 1,
            protocol_name: Some("range".into()),
            leader: "m".into(),
            member_id: "m".into(),
            members: vec![member],
            ..Default::default()
        }
    }

    fn describe(&self, broker: i32, name: &str) -> DescribeGroupsResponse<'static> {
        let group = match self.at(broker, name) {
            Ok(group) if group.is_of_consumer_protocol => failed(ErrorCode::GroupIdNotFound),
            Ok(group) => DescribedGroup {
                group_state: group.state(),
                protocol_type: "consumer".into(),
                protocol_data: if group.members.is_empty() { "" } else { "range" }.into(),
                members: group.members.iter().map(classic_member).collect(),
                ..DescribedGroup::default()
            },
            Err(code) => failed(code),
        };
        DescribeGroupsResponse { groups: vec![group], ..Default::default() }
    }

    fn describe_newer(&self, broker: i32, name: &str) -> ConsumerGroupDescribeResponse<'static> {
        let group = match self.at(broker, name) {
            Ok(group) if group.is_of_consumer_protocol => DescribedConsumerGroup {
                group_state: group.state(),
                assignor_name: "uniform".into(),
                members: group.members.iter().map(newer_member).collect(),
                ..DescribedConsumerGroup::default()
            },
            Ok(_) => newer_failed(ErrorCode::GroupIdNotFound),
            Err(code) => newer_failed(code),
        };
        ConsumerGroupDescribeResponse { groups: vec![group], ..Default::default() }
    }

    fn fetch(&self, broker: i32, name: &str) -> OffsetFetchResponse<'static> {
        let found = self.at(broker, name);
        let error_code = found.err().filter(|code| *code == ErrorCode::NotCoordinator).unwrap_or_default();
        let one = |((topic, partition), offset): (&(String, i32), &i64)| OffsetFetchResponseTopics {
            name: topic.clone().into(),
            partitions: vec![OffsetFetchResponsePartitions {
                partition_index: *partition,
                committed_offset: *offset,
                ..Default::default()
            }],
            ..Default::default()
        };
        let topics = found.map(|group| group.offsets.iter().map(one).collect()).unwrap_or_default();
        let group = OffsetFetchResponseGroup { topics, error_code, ..Default::default() };
        OffsetFetchResponse { groups: vec![group], ..Default::default() }
    }

    fn commit(
        &mut self,
        broker: i32,
        asked: &OffsetCommitRequest<'_>,
        refusal: ErrorCode,
    ) -> OffsetCommitResponse<'static> {
        assert_eq!((asked.generation_id_or_member_epoch, &*asked.member_id), (-1, ""), "no member");
        let error_code = match self.at(broker, &asked.group_id) {
            Err(ErrorCode::NotCoordinator) => ErrorCode::NotCoordinator,
            Ok(group) if !group.members.is_empty() => ErrorCode::UnknownMemberId,
            _ => refusal,
        };
        let group = self.0.entry(asked.group_id.to_string()).or_insert_with(|| Group::at(broker));
        let mut topics = Vec::new();
        for topic in &asked.topics {
            for partition in topic.partitions.iter().filter(|_| error_code.is_ok()) {
                let key = (topic.name.to_string(), partition.partition_index);
                group.offsets.insert(key, partition.committed_offset);
            }
            let partitions = topic.partitions.iter().map(|partition| OffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code,
            });
            topics.push(OffsetCommitResponseTopic {
                name: topic.name.to_string().into(),
                partitions: partitions.collect(),
                ..Default::default()
            });
        }
        OffsetCommitResponse { topics, ..Default::default() }
    }

    /// Members of the world read `t`.
    fn delete_offsets(
        &mut self,
        broker: i32,
        asked: &OffsetDeleteRequest<'_>,
    ) -> OffsetDeleteResponse<'static> {
        if let Err(error_code) = self.at(broker, &asked.group_id) {
            return OffsetDeleteResponse { error_code, ..Default::default() };
        }
        let group = self.0.get_mut(&*asked.group_id).expect("just seen");
        let topics = asked.topics.iter().map(|topic| OffsetDeleteResponseTopic {
            name: topic.name.to_string().into(),
            partitions: topic
                .partitions
                .iter()
                .map(|partition| {
                    let is_read = !group.members.is_empty() && topic.name == "t";
                    if !is_read {
                        group.offsets.remove(&(topic.name.to_string(), partition.partition_index));
                    }
                    OffsetDeleteResponsePartition {
                        partition_index: partition.partition_index,
                        error_code: if is_read { ErrorCode::GroupSubscribedToTopic } else { ErrorCode::None },
                    }
                })
                .collect(),
        });
        OffsetDeleteResponse { topics: topics.collect(), ..Default::default() }
    }
}

fn failed(error_code: ErrorCode) -> DescribedGroup<'static> {
    DescribedGroup { error_code, ..DescribedGroup::default() }
}

fn newer_failed(error_code: ErrorCode) -> DescribedConsumerGroup<'static> {
    DescribedConsumerGroup { error_code, ..DescribedConsumerGroup::default() }
}

fn classic_member((id, assigned): (&String, &Vec<i32>)) -> DescribedGroupMember<'static> {
    // ConsumerProtocol, version 0: one topic, `t`.
    let mut assignment = b"\0\0\0\0\0\x01\0\x01t".to_vec();
    assignment.extend(i32::try_from(assigned.len()).expect("few").to_be_bytes());
    assigned.iter().for_each(|partition| assignment.extend(partition.to_be_bytes()));
    assignment.extend((-1_i32).to_be_bytes());
    DescribedGroupMember {
        member_id: id.clone().into(),
        client_id: "app".into(),
        client_host: "/10.0.0.7".into(),
        member_assignment: assignment.into(),
        ..DescribedGroupMember::default()
    }
}

fn newer_member((id, assigned): (&String, &Vec<i32>)) -> ConsumerGroupMember<'static> {
    let topic = ConsumerGroupTopicPartitions {
        topic_name: "t".into(),
        partitions: assigned.clone(),
        ..Default::default()
    };
    ConsumerGroupMember {
        member_id: id.clone().into(),
        client_id: "app".into(),
        client_host: "/10.0.0.7".into(),
        assignment: ConsumerGroupAssignment { topic_partitions: vec![topic] },
        ..ConsumerGroupMember::default()
    }
}
