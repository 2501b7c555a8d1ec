//! What brokers tell of groups.

use std::sync::Arc;

use kafka_wire::messages::consumer_group_describe::{
    ConsumerGroupDescribeResponse, ConsumerGroupMember, DescribedConsumerGroup,
};
use kafka_wire::messages::delete_groups::DeleteGroupsResponse;
use kafka_wire::messages::describe_groups::{DescribeGroupsResponse, DescribedGroup, DescribedGroupMember};
use kafka_wire::messages::list_groups::{ListGroupsResponse, ListedGroup};
use kafka_wire::messages::offset_commit::OffsetCommitResponse;
use kafka_wire::messages::offset_delete::OffsetDeleteResponse;
use kafka_wire::{ApiKey, DecodeError, ErrorCode};

use super::ADMINISTERS;
use super::types::{GroupDescription, GroupListing, GroupMember, GroupProtocol, GroupState};
use crate::admin::answers::{Incoming, again_or_fail, done, text};
use crate::admin::{AdminAnswer, AdminCall, Call, Outcome};
use crate::core::Core;
use crate::error::{ClientError, Place};
use crate::group::{offsets, protocol};

/// The state of a group that is not there, as brokers told it before that became an error.
const DEAD: &str = "Dead";

/// What a group with members is refused with: they would not go on where somebody else says.
const HAS_MEMBERS: &str = "the group has members: stop them first, positions are theirs while they run";

impl Call {
    pub(in crate::admin) fn groups_outcome(
        &mut self,
        core: &mut Core,
        incoming: &Incoming<'_>,
    ) -> Result<Outcome, DecodeError> {
        if !ADMINISTERS && self.question.administers_groups() {
            return Ok(Outcome::More);
        }
        let Some(coordinator) = self.coordinator else {
            return match self.question {
                AdminCall::ListGroups => self.on_groups(core, incoming),
                _ => {
                    let found = offsets::coordinator_of(incoming.version, incoming.frame)?;
                    Ok(found.map_or_else(refused, Outcome::Coordinator))
                }
            };
        };
        match &self.question {
            AdminCall::DescribeGroup(group) if self.is_of_consumer_protocol => {
                let answer =
                    incoming.decode::<ConsumerGroupDescribeResponse<'_>>(core, |it| it.throttle_time_ms)?;
                let found = answer.groups.first().map(|found| (found.error_code, found));
                Ok(described(found, |found| consumer_group(group, coordinator, found)))
            }
            AdminCall::DescribeGroup(group) => {
                let answer = incoming.decode::<DescribeGroupsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                let found = answer.groups.first().map(|found| (existing(found), found));
                let outcome = described(found, |found| classic_group(group, coordinator, found));
                Ok(self.or_by_consumer_protocol(core, incoming, outcome))
            }
            AdminCall::GroupOffsets(_) => {
                let found = offsets::committed(incoming.version, incoming.frame)?;
                let answer = |offsets| Outcome::Answer(AdminAnswer::Committed(offsets));
                Ok(found.map_or_else(refused, answer))
            }
            AdminCall::SetGroupOffsets { offsets, .. } => {
                let answer = incoming.decode::<OffsetCommitResponse<'_>>(core, |it| it.throttle_time_ms)?;
                let codes = answer.topics.iter().flat_map(|topic| {
                    topic.partitions.iter().map(|it| (&*topic.name, it.partition_index, it.error_code))
                });
                let asked = offsets.iter().map(|found| (&found.topic, found.partition));
                Ok(self.after_a_lost_answer(changed(asked, &codes.collect::<Vec<_>>())))
            }
            AdminCall::DeleteGroupOffsets { partitions, .. } => {
                let answer = incoming.decode::<OffsetDeleteResponse<'_>>(core, |it| it.throttle_time_ms)?;
                if !answer.error_code.is_ok() {
                    return Ok(refused(answer.error_code));
                }
                let codes = answer.topics.iter().flat_map(|topic| {
                    topic.partitions.iter().map(|it| (&*topic.name, it.partition_index, it.error_code))
                });
                let asked = partitions.iter().map(|(topic, partition)| (topic, *partition));
                Ok(changed(asked, &codes.collect::<Vec<_>>()))
            }
            _ => {
                let answer = incoming.decode::<DeleteGroupsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(self.deleted_group(answer.results.first().map(|found| found.error_code)))
            }
        }
    }

    fn on_groups(&mut self, core: &mut Core, incoming: &Incoming<'_>) -> Result<Outcome, DecodeError> {
        let answer = incoming.decode::<ListGroupsResponse<'_>>(core, |it| it.throttle_time_ms)?;
        if !answer.error_code.is_ok() {
            self.census.begin_again(core);
            return Ok(refused(answer.error_code));
        }
        self.census.asked.extend(self.census.asking.take());
        let listed = answer.groups.iter().map(listing);
        self.census.found.extend(listed.map(|listing| (Arc::clone(&listing.group), listing)));
        Ok(Outcome::More)
    }

    /// A group that the one protocol does not know may be of the other, if the broker knows that.
    fn or_by_consumer_protocol(&mut self, core: &Core, incoming: &Incoming<'_>, outcome: Outcome) -> Outcome {
        let missing = matches!(&outcome, Outcome::Fail(error)
            if error.broker_code() == Some(ErrorCode::GroupIdNotFound));
        let key = ApiKey::ConsumerGroupDescribe;
        if missing && core.network.version(incoming.connection, key, i16::MAX).is_some() {
            self.is_of_consumer_protocol = true;
            return Outcome::More;
        }
        outcome
    }

    fn deleted_group(&self, code: Option<ErrorCode>) -> Outcome {
        let gone = self.may_be_done && code == Some(ErrorCode::GroupIdNotFound);
        let code = if gone { Some(ErrorCode::None) } else { code };
        self.after_a_lost_answer(done(code.map(|code| (code, &None)), Place::NOWHERE))
    }

    /// A refusal by members that came after an earlier try, which may have been taken, does not say that nothing was done.
    fn after_a_lost_answer(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Fail(error)
                if self.may_be_done && error.broker_code() == Some(ErrorCode::NonEmptyGroup) =>
            {
                let cause = Some(Box::new(error));
                Outcome::Fail(ClientError::UnknownOutcome { cause, place: Place::NOWHERE })
            }
            outcome => outcome,
        }
    }
}

fn refused(code: ErrorCode) -> Outcome {
    again_or_fail(code, None, Place::NOWHERE)
}

fn described<T>(found: Option<(ErrorCode, &T)>, description: impl FnOnce(&T) -> GroupDescription) -> Outcome {
    match found {
        Some((ErrorCode::None, found)) => Outcome::Answer(AdminAnswer::Group(description(found))),
        Some((code, _)) => refused(code),
        None => refused(ErrorCode::GroupIdNotFound),
    }
}

fn existing(found: &DescribedGroup<'_>) -> ErrorCode {
    match found.error_code {
        ErrorCode::None if found.group_state == DEAD => ErrorCode::GroupIdNotFound,
        code => code,
    }
}

fn listing(found: &ListedGroup<'_>) -> GroupListing {
    GroupListing {
        group: (*found.group_id).into(),
        protocol: GroupProtocol::named(&found.group_type),
        protocol_type: (*found.protocol_type).into(),
        state: (!found.group_state.is_empty()).then(|| GroupState::named(&found.group_state)),
    }
}

fn classic_group(group: &Arc<str>, coordinator: i32, found: &DescribedGroup<'_>) -> GroupDescription {
    let of_consumers = found.protocol_type == protocol::CONSUMER;
    let members = found.members.iter().map(|member| classic_member(member, of_consumers));
    GroupDescription {
        group: Arc::clone(group),
        protocol: GroupProtocol::Classic,
        protocol_type: (*found.protocol_type).into(),
        state: GroupState::named(&found.group_state),
        assignor: (*found.protocol_data).into(),
        coordinator,
        members: by_id(members),
    }
}

fn classic_member(found: &DescribedGroupMember<'_>, of_consumers: bool) -> GroupMember {
    // Only consumers say what they have in a way that can be read here. One that says it in another is shown without.
    let assigned = protocol::decode_assignment(&found.member_assignment).ok().filter(|_| of_consumers);
    GroupMember {
        member_id: (*found.member_id).into(),
        instance_id: text(&found.group_instance_id),
        client_id: (*found.client_id).into(),
        host: host(&found.client_host),
        assigned: assigned.unwrap_or_default(),
    }
}

fn consumer_group(
    group: &Arc<str>,
    coordinator: i32,
    found: &DescribedConsumerGroup<'_>,
) -> GroupDescription {
    GroupDescription {
        group: Arc::clone(group),
        protocol: GroupProtocol::Consumer,
        protocol_type: protocol::CONSUMER.into(),
        state: GroupState::named(&found.group_state),
        assignor: (*found.assignor_name).into(),
        coordinator,
        members: by_id(found.members.iter().map(consumer_member)),
    }
}

fn consumer_member(found: &ConsumerGroupMember<'_>) -> GroupMember {
    let mut assigned = Vec::new();
    for topic in &found.assignment.topic_partitions {
        let name: Arc<str> = (*topic.topic_name).into();
        let numbers = topic.partitions.iter().filter_map(|number| u32::try_from(*number).ok());
        assigned.extend(numbers.map(|number| (Arc::clone(&name), number)));
    }
    GroupMember {
        member_id: (*found.member_id).into(),
        instance_id: text(&found.instance_id),
        client_id: (*found.client_id).into(),
        host: host(&found.client_host),
        assigned,
    }
}

/// Java writes an address as `name/address`, without a name `/address`.
fn host(told: &str) -> Arc<str> {
    told.strip_prefix('/').unwrap_or(told).into()
}

fn by_id(members: impl Iterator<Item = GroupMember>) -> Vec<GroupMember> {
    let mut members: Vec<GroupMember> = members.collect();
    members.sort_by(|one, two| one.member_id.cmp(&two.member_id));
    members
}

/// One result for each partition that was asked for. What one of them has to be tried again for, all are tried again for:
/// to do it twice is to do it once.
fn changed<'a>(
    asked: impl Iterator<Item = (&'a Arc<str>, u32)>,
    codes: &[(&str, i32, ErrorCode)],
) -> Outcome {
    let mut results = Vec::new();
    for (topic, partition) in asked {
        let told = codes
            .iter()
            .find(|(name, index, _)| *name == &**topic && u32::try_from(*index) == Ok(partition))
            .map_or(ErrorCode::UnknownServerError, |(_, _, code)| *code);
        let place = Place::partition(topic, partition);
        results.push(match told {
            ErrorCode::None => Ok(()),
            // Whoever is no member is told so only while there are members.
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration | ErrorCode::StaleMemberEpoch => {
                let error =
                    ClientError::broker(ErrorCode::NonEmptyGroup, Some(HAS_MEMBERS.into()), Place::NOWHERE);
                return Outcome::Fail(error);
            }
            code if code.is_retriable() && code != ErrorCode::UnknownTopicOrPartition => {
                return Outcome::Retry(ClientError::broker(code, None, place));
            }
            code => Err(ClientError::broker(code, None, place)),
        });
    }
    Outcome::Answer(AdminAnswer::GroupOffsetsChanged(results))
}
