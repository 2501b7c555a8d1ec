//! Consumer groups, for administrators: seen, moved and deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use client_core::admin::{
    AdminAnswer, AdminCall, CommittedOffset, GroupDescription, GroupLag, GroupListing, GroupReset,
    OffsetSpec, ResetTo,
};
use client_core::error::ClientError;

use super::Admin;

/// Groups may belong to any client of the cluster.
impl Admin {
    /// All groups, by name, as every broker tells those that it coordinates.
    ///
    /// # Errors
    /// Network trouble, also if a single broker does not answer: its groups would be missing.
    pub async fn list_groups(&self) -> Result<Vec<GroupListing>, ClientError> {
        match self.call(AdminCall::ListGroups).await? {
            AdminAnswer::Groups(groups) => Ok(groups),
            _ => Err(ClientError::Closed),
        }
    }

    /// One group with its members and the partitions that each has, by the classic or the consumer protocol.
    ///
    /// # Errors
    /// `GROUP_ID_NOT_FOUND` if there is none; network trouble.
    pub async fn describe_group(&self, group: impl Into<Arc<str>>) -> Result<GroupDescription, ClientError> {
        match self.call(AdminCall::DescribeGroup(group.into())).await? {
            AdminAnswer::Group(group) => Ok(group),
            _ => Err(ClientError::Closed),
        }
    }

    /// What a group has committed, over all topics; nothing for a group that does not exist.
    ///
    /// # Errors
    /// Refusals of the group's coordinator; network trouble.
    pub async fn group_offsets(
        &self,
        group: impl Into<Arc<str>>,
    ) -> Result<Vec<CommittedOffset>, ClientError> {
        match self.call(AdminCall::GroupOffsets(group.into())).await? {
            AdminAnswer::Committed(offsets) => Ok(offsets),
            _ => Err(ClientError::Closed),
        }
    }

    /// How far a group is behind, in every partition that it has committed or that one of its members has, by topic and
    /// partition. A partition whose end nobody tells, as of a topic that is deleted, carries the error.
    ///
    /// # Errors
    /// `GROUP_ID_NOT_FOUND` if there is no such group; network trouble.
    pub async fn group_lag(&self, group: impl Into<Arc<str>>) -> Result<Vec<GroupLag>, ClientError> {
        let group = group.into();
        let described = self.describe_group(Arc::clone(&group)).await?;
        let committed = self.group_offsets(group).await?;
        let assigned = described.members.into_iter().flat_map(|member| member.assigned);
        let mut wanted: BTreeMap<(Arc<str>, u32), Option<i64>> = assigned.map(|key| (key, None)).collect();
        wanted.extend(committed.into_iter().map(|at| ((at.topic, at.partition), Some(at.offset))));
        let asked =
            wanted.keys().map(|(topic, partition)| (Arc::clone(topic), *partition, OffsetSpec::Latest));
        let ends = self.remote.list_offsets(asked.collect(), self.limit).await?;
        let lags = wanted.into_iter().zip(ends).map(|(((topic, partition), committed), end)| {
            let end = end.map(|found| found.offset.unwrap_or(0));
            GroupLag { topic, partition, committed, end }
        });
        Ok(lags.collect())
    }

    /// Where a group would go on if it were reset: one result for each of the given partitions, in order. Changes nothing;
    /// [`set_group_offsets`](Self::set_group_offsets) does.
    ///
    /// # Errors
    /// Network trouble; those of single partitions, as `NOTHING_COMMITTED` where there is nothing to shift, are in the list.
    pub async fn plan_group_reset(
        &self,
        group: impl Into<Arc<str>>,
        partitions: Vec<(Arc<str>, u32)>,
        to: ResetTo,
    ) -> Result<Vec<GroupReset>, ClientError> {
        let committed = self.group_offsets(group).await?;
        let questions = to.questions();
        let asked = partitions.iter().flat_map(|(topic, partition)| {
            questions.iter().map(|spec| (Arc::clone(topic), *partition, *spec))
        });
        let answers = self.remote.list_offsets(asked.collect(), self.limit).await?;
        let by_partition = partitions.into_iter().zip(answers.chunks(questions.len()));
        Ok(by_partition.map(|(partition, answers)| to.reset(partition, &committed, answers)).collect())
    }

    /// Commits positions for a group that has no members, which go on there when they come: one result for each, in order.
    /// A group that does not exist is made by it.
    ///
    /// # Errors
    /// `NON_EMPTY_GROUP` while the group has members: they would not notice, and commit their own. Network trouble; those of single
    /// partitions, as `UNKNOWN_TOPIC_OR_PARTITION`, are in the list.
    pub async fn set_group_offsets(
        &self,
        group: impl Into<Arc<str>>,
        offsets: Vec<CommittedOffset>,
    ) -> Result<Vec<Result<(), ClientError>>, ClientError> {
        let group = group.into();
        self.change_group_offsets(AdminCall::SetGroupOffsets { group, offsets }).await
    }

    /// Deletes positions of a group: one result for each partition, in order. One that has none counts as deleted.
    ///
    /// # Errors
    /// `GROUP_ID_NOT_FOUND` if there is no such group; [`ClientError::Unsupported`] by brokers that cannot; network trouble. Those of
    /// single partitions, as `GROUP_SUBSCRIBED_TO_TOPIC` while a member reads the topic, are in the list.
    pub async fn delete_group_offsets(
        &self,
        group: impl Into<Arc<str>>,
        partitions: Vec<(Arc<str>, u32)>,
    ) -> Result<Vec<Result<(), ClientError>>, ClientError> {
        let group = group.into();
        self.change_group_offsets(AdminCall::DeleteGroupOffsets { group, partitions }).await
    }

    /// Deletes a group that has no members, with all that it has committed.
    ///
    /// # Errors
    /// `NON_EMPTY_GROUP` while it has members; `GROUP_ID_NOT_FOUND` if there is none; network trouble.
    pub async fn delete_group(&self, group: impl Into<Arc<str>>) -> Result<(), ClientError> {
        self.call(AdminCall::DeleteGroup(group.into())).await.map(drop)
    }

    async fn change_group_offsets(
        &self,
        call: AdminCall,
    ) -> Result<Vec<Result<(), ClientError>>, ClientError> {
        match self.call(call).await? {
            AdminAnswer::GroupOffsetsChanged(results) => Ok(results),
            _ => Err(ClientError::Closed),
        }
    }
}
