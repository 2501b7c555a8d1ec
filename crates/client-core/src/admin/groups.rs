//! Consumer groups: what is asked of which broker. What the answers mean is in `groups/answers.rs`.
//!
//! A question about one group goes to its coordinator, which is looked for first and again whenever it has moved. The list
//! of all groups is put together from every broker: each tells the groups that it coordinates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafka_wire::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use kafka_wire::messages::delete_groups::DeleteGroupsRequest;
use kafka_wire::messages::describe_groups::DescribeGroupsRequest;
use kafka_wire::messages::list_groups::ListGroupsRequest;
use kafka_wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_wire::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use log_core::Now;

use super::{AdminCall, Call, CommittedOffset};
use crate::action::{CallId, ConnectionId};
use crate::core::Core;
use crate::error::ClientError;
use crate::group::{OFFSET_COMMIT_VERSION_MAX, offsets};
use crate::network::Channel;

mod answers;
pub(super) mod reset;
pub(super) mod types;

use types::GroupListing;

/// Whether groups can be administered. A tab has no calls for it, beyond a group's positions, and its package no room for their code.
pub(super) const ADMINISTERS: bool = cfg!(not(target_arch = "wasm32"));

/// Who has told of its groups, and what.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// The answer about the cluster's brokers that was known before; they are counted by a later one.
    before: u64,
    /// Who was there since.
    seen: BTreeSet<i32>,
    /// Who was asked last.
    asking: Option<i32>,
    asked: BTreeSet<i32>,
    found: BTreeMap<Arc<str>, GroupListing>,
}

impl Census {
    pub(super) fn begin(core: &mut Core) -> Self {
        core.cluster.want_update();
        Self { before: core.cluster.version, ..Self::default() }
    }

    /// When a broker goes, its groups go to others, which may have told theirs before.
    fn begin_again(&mut self, core: &mut Core) {
        *self = Self::begin(core);
    }

    /// The next broker to ask, once it is known who is there.
    fn next(&self, core: &Core) -> Option<i32> {
        if core.cluster.version == self.before {
            return None;
        }
        core.network.broker_ids().find(|id| !self.asked.contains(id))
    }
}

impl AdminCall {
    /// Whether it is about groups, and more than a question for positions.
    pub(super) const fn administers_groups(&self) -> bool {
        matches!(
            self,
            Self::ListGroups
                | Self::DescribeGroup(_)
                | Self::SetGroupOffsets { .. }
                | Self::DeleteGroupOffsets { .. }
                | Self::DeleteGroup(_)
        )
    }

    /// The group whose coordinator has to be asked.
    pub(super) const fn coordinated_group(&self) -> Option<&Arc<str>> {
        match self {
            Self::DescribeGroup(group)
            | Self::GroupOffsets(group)
            | Self::SetGroupOffsets { group, .. }
            | Self::DeleteGroupOffsets { group, .. }
            | Self::DeleteGroup(group) => Some(group),
            _ => None,
        }
    }
}

impl Call {
    /// All groups, once every broker that is there has told its own.
    pub(super) fn listed(&mut self, core: &mut Core) -> Option<Vec<GroupListing>> {
        if !ADMINISTERS
            || !matches!(self.question, AdminCall::ListGroups)
            || core.cluster.version == self.census.before
        {
            return None;
        }
        let there: BTreeSet<i32> = core.network.broker_ids().collect();
        if !self.census.seen.is_subset(&there) {
            self.census.begin_again(core);
            return None;
        }
        let census = &mut self.census;
        census.seen = there;
        (census.asked == census.seen).then(|| std::mem::take(&mut census.found).into_values().collect())
    }

    /// A connection to the next broker that has not told its groups yet.
    pub(super) fn lister(&self, core: &mut Core, now: Now) -> Option<ConnectionId> {
        let broker = self.census.next(core)?;
        core.connection(now, broker, Channel::General)
    }

    pub(super) fn send_groups(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        id: CallId,
    ) -> Result<(), ClientError> {
        if !ADMINISTERS && self.question.administers_groups() {
            return Ok(());
        }
        if let Some(group) = self.question.coordinated_group()
            && self.coordinator.is_none()
        {
            let request = offsets::find_coordinator(group);
            return self.transmit(core, now, connection, id, i16::MAX, &request);
        }
        match &self.question {
            AdminCall::DescribeGroup(group) if self.is_of_consumer_protocol => {
                let group_ids = vec![group.to_string().into()];
                let request = ConsumerGroupDescribeRequest { group_ids, ..Default::default() };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::DescribeGroup(group) => {
                let groups = vec![group.to_string().into()];
                let request = DescribeGroupsRequest { groups, ..Default::default() };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::GroupOffsets(group) => {
                let request = offsets::fetch_offsets(group, None);
                self.transmit(core, now, connection, id, offsets::OFFSET_FETCH_VERSION_MAX, &request)
            }
            AdminCall::SetGroupOffsets { group, offsets } => {
                let request = commit(group, offsets);
                self.transmit(core, now, connection, id, OFFSET_COMMIT_VERSION_MAX, &request)
            }
            AdminCall::DeleteGroupOffsets { group, partitions } => {
                let request = delete_offsets(group, partitions);
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            AdminCall::DeleteGroup(group) => {
                let request = DeleteGroupsRequest { groups_names: vec![group.to_string().into()] };
                self.transmit(core, now, connection, id, i16::MAX, &request)
            }
            _ => {
                self.census.asking = self.census.next(core);
                self.transmit(core, now, connection, id, i16::MAX, &ListGroupsRequest::default())
            }
        }
    }
}

/// As one who is no member: taken while the group has none.
fn commit(group: &Arc<str>, offsets: &[CommittedOffset]) -> OffsetCommitRequest<'static> {
    let one = |found: &CommittedOffset| OffsetCommitRequestPartition {
        partition_index: wire_number(found.partition),
        committed_offset: found.offset,
        committed_leader_epoch: found.leader_epoch,
        committed_metadata: Some("".into()),
    };
    let topics = by_topic(offsets.iter().map(|found| (&found.topic, one(found))));
    let topic = |(name, partitions): (&Arc<str>, _)| OffsetCommitRequestTopic {
        name: name.to_string().into(),
        partitions,
        ..OffsetCommitRequestTopic::default()
    };
    OffsetCommitRequest {
        group_id: group.to_string().into(),
        topics: topics.into_iter().map(topic).collect(),
        ..OffsetCommitRequest::default()
    }
}

fn delete_offsets(group: &Arc<str>, partitions: &[(Arc<str>, u32)]) -> OffsetDeleteRequest<'static> {
    let one = |partition: u32| OffsetDeleteRequestPartition { partition_index: wire_number(partition) };
    let topics = by_topic(partitions.iter().map(|(topic, partition)| (topic, one(*partition))));
    let topic = |(name, partitions): (&Arc<str>, _)| OffsetDeleteRequestTopic {
        name: name.to_string().into(),
        partitions,
    };
    OffsetDeleteRequest {
        group_id: group.to_string().into(),
        topics: topics.into_iter().map(topic).collect(),
    }
}

fn by_topic<'a, T>(all: impl Iterator<Item = (&'a Arc<str>, T)>) -> BTreeMap<&'a Arc<str>, Vec<T>> {
    let mut topics: BTreeMap<&'a Arc<str>, Vec<T>> = BTreeMap::new();
    for (topic, one) in all {
        topics.entry(topic).or_default().push(one);
    }
    topics
}

fn wire_number(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}
