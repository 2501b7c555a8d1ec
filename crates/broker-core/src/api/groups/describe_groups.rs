//! DescribeGroups: groups with their members.

use std::borrow::Cow;

use coordinator_core::command::{DescribedGroup as Known, DescribedMember};
use kafka_wire::ErrorCode;
use kafka_wire::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};
use log_store::Disk;

use super::{GroupsKind, GroupsRequest};
use crate::peer::{GroupAnswer, GroupCall};
use crate::shard::{Ask, Gather, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_describe_groups(&mut self, ask: Ask, request: &DescribeGroupsRequest<'_>) {
        let groups: Vec<String> = request.groups.iter().map(|group| group.clone().into_owned()).collect();
        let calls: Vec<_> = groups
            .iter()
            .map(|group| (self.coordinating(group), GroupCall::Describe { group: group.clone() }))
            .collect();
        let kind = GroupsKind::Describe { groups };
        if calls.is_empty() {
            return self.finish_groups(GroupsRequest { ask, kind, answers: Gather::new(0) });
        }
        self.start_groups(ask, kind, calls);
    }

    pub(super) fn finish_describe_groups(
        &mut self,
        ask: Ask,
        groups: &[String],
        answers: Vec<Result<GroupAnswer, ErrorCode>>,
    ) {
        let groups = groups.iter().zip(answers).map(|(group, answer)| match answer {
            Ok(GroupAnswer::Described(Some(known))) => described(group, known),
            Ok(GroupAnswer::Described(None)) => dead(ask, group),
            Ok(_) => failed(group, ErrorCode::UnknownServerError),
            Err(code) => failed(group, code),
        });
        let groups = groups.collect();
        self.respond(ask, &DescribeGroupsResponse { throttle_time_ms: 0, groups });
    }
}

fn described(group: &str, known: Known) -> DescribedGroup<'_> {
    DescribedGroup {
        error_code: ErrorCode::None,
        error_message: None,
        group_id: Cow::Borrowed(group),
        group_state: Cow::Borrowed(known.state),
        protocol_type: Cow::Owned(known.protocol_type),
        protocol_data: Cow::Owned(known.protocol),
        members: known.members.into_iter().map(member).collect(),
        authorized_operations: i32::MIN,
    }
}

/// An unknown group is a dead one; from version 6 on that is an error as well.
fn dead(ask: Ask, group: &str) -> DescribedGroup<'_> {
    let is_error = ask.version >= 6;
    DescribedGroup {
        error_code: if is_error { ErrorCode::GroupIdNotFound } else { ErrorCode::None },
        error_message: is_error.then(|| Cow::Owned(format!("group {group} does not exist"))),
        group_id: Cow::Borrowed(group),
        group_state: Cow::Borrowed("Dead"),
        authorized_operations: i32::MIN,
        ..DescribedGroup::default()
    }
}

fn failed(group: &str, error_code: ErrorCode) -> DescribedGroup<'_> {
    DescribedGroup {
        error_code,
        group_id: Cow::Borrowed(group),
        authorized_operations: i32::MIN,
        ..DescribedGroup::default()
    }
}

fn member(member: DescribedMember) -> DescribedGroupMember<'static> {
    DescribedGroupMember {
        member_id: Cow::Owned(member.member_id),
        group_instance_id: member.instance_id.map(Cow::Owned),
        client_id: Cow::Owned(member.client_id),
        client_host: Cow::Owned(member.client_host),
        member_metadata: Cow::Owned(member.subscription.into()),
        member_assignment: Cow::Owned(member.assignment.into()),
    }
}
