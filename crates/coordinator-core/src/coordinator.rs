//! All groups of one partition of `__consumer_offsets`.
//!
//! Committed offsets and finished assignments exist here only after their records were committed and replayed;
//! members that are just joining, and their timers, are this value's alone and are lost with it, as the protocol allows:
//! they join again.

use std::collections::{BTreeMap, BTreeSet};

use log_core::{MonoTime, Now};

use crate::command::{
    Commit, DescribedGroup, Join, JoinRefused, Leave, ListedGroup, Reply, RequestToken, Speaker, Sync,
};
use crate::config::GroupConfig;
use crate::error::{GroupError, RecordError};
use crate::group::{Context, Group, Random};
use crate::outbox::{AfterWrite, AnswerKind, CoordinatorAction, Outbox, PendingWrite, WriteId};
use crate::records::{CommittedOffset, GroupRecord, GroupValue, RecordKey};

/// The coordinator of the groups of one partition.
///
/// 1. [`GroupCoordinator::replay`] every record of the partition below its high watermark, then
///    [`GroupCoordinator::finish_loading`].
/// 2. Commands and `handle_*`, each followed by [`GroupCoordinator::poll_action`] until it gives none, and
///    [`GroupCoordinator::poll_timeout`].
/// 3. When the partition's leadership ends, [`GroupCoordinator::resign`], the last actions, and drop it.
#[derive(Debug)]
pub struct GroupCoordinator {
    config: GroupConfig,
    random: Random,
    groups: BTreeMap<String, Group>,
    outbox: Outbox,
    deadlines: BTreeSet<(MonoTime, String)>,
    scheduled: BTreeMap<String, MonoTime>,
    next_expiry: MonoTime,
    loading: bool,
}

impl GroupCoordinator {
    /// An empty coordinator that is loading; `seed` makes member ids.
    #[must_use]
    pub fn new(now: Now, config: GroupConfig, seed: u64) -> Self {
        Self {
            next_expiry: now.mono.after(config.expiry_interval),
            config,
            random: Random(seed),
            groups: BTreeMap::new(),
            outbox: Outbox::default(),
            deadlines: BTreeSet::new(),
            scheduled: BTreeMap::new(),
            loading: true,
        }
    }

    /// Takes one committed record. A kind that this build does not know is skipped.
    ///
    /// # Errors
    /// [`RecordError`] if key or value are malformed; the record is then without effect.
    pub fn replay(&mut self, now: Now, key: &[u8], value: Option<&[u8]>) -> Result<(), RecordError> {
        match GroupRecord::parse_key(key)? {
            RecordKey::Offset { group, topic, partition } => {
                let committed = value.map(CommittedOffset::parse).transpose()?;
                self.replay_offset(group, (topic, partition), committed);
            }
            RecordKey::Group { group } => {
                let value = value.map(GroupValue::parse).transpose()?;
                self.replay_group(now, group, value);
            }
            RecordKey::Unknown { .. } => {}
        }
        Ok(())
    }

    fn replay_offset(&mut self, name: String, at: (String, i32), committed: Option<CommittedOffset>) {
        match committed {
            Some(committed) => {
                self.groups.entry(name).or_default().offsets.insert(at, committed);
            }
            None => {
                if let Some(group) = self.groups.get_mut(&name) {
                    group.offsets.remove(&at);
                    self.bury(&name);
                }
            }
        }
    }

    fn replay_group(&mut self, now: Now, name: String, value: Option<GroupValue>) {
        match value {
            Some(value) => {
                let loading = self.loading;
                self.groups.entry(name).or_default().replay(now, value, loading);
            }
            None => {
                if let Some(group) = self.groups.get_mut(&name)
                    && (self.loading || group.members.is_empty())
                {
                    let offsets = core::mem::take(&mut group.offsets);
                    *group = Group { offsets, ..Group::default() };
                    self.bury(&name);
                }
            }
        }
    }

    /// All records are replayed: members have their whole session timeout from now.
    pub fn finish_loading(&mut self, now: Now) {
        self.loading = false;
        for group in self.groups.values_mut() {
            for member in group.members.values_mut() {
                member.session_deadline = now.mono.after(member.session_timeout);
            }
        }
        let names: Vec<String> = self.groups.keys().cloned().collect();
        names.iter().for_each(|name| self.settle(name));
    }

    /// A member enters a group, or enters it again. Answered by [`Reply::Joined`].
    pub fn join(&mut self, now: Now, token: RequestToken, join: Join) {
        if let Err(error) = self.check_join(&join) {
            let refused = JoinRefused { error, member_id: join.member_id };
            return self.outbox.reply(token, Reply::Joined(Err(refused)));
        }
        let name = join.group.clone();
        self.groups.entry(name.clone()).or_default();
        self.with_group(&name, |group, context| group.join(now, token, join, context));
    }

    fn check_join(&self, join: &Join) -> Result<(), GroupError> {
        if join.group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        let bounds = self.config.session_timeout_min..=self.config.session_timeout_max;
        if !bounds.contains(&join.session_timeout) {
            return Err(GroupError::InvalidSessionTimeout);
        }
        if !join.member_id.is_empty() && !self.groups.contains_key(&join.group) {
            return Err(GroupError::UnknownMember);
        }
        Ok(())
    }

    /// A member asks for its assignment. Answered by [`Reply::Synced`].
    pub fn sync(&mut self, now: Now, token: RequestToken, sync: Sync) {
        let name = sync.speaker.group.clone();
        if !self.groups.contains_key(&name) {
            return self.outbox.reply(token, Reply::Synced(Err(GroupError::UnknownMember)));
        }
        self.with_group(&name, |group, context| group.sync(now, token, sync, context));
    }

    /// A member lives.
    ///
    /// # Errors
    /// [`GroupError`], as the member must learn it: [`GroupError::RebalanceInProgress`] asks it to join again.
    pub fn heartbeat(&mut self, now: Now, speaker: &Speaker) -> Result<(), GroupError> {
        let group = self.groups.get_mut(&speaker.group).ok_or(GroupError::UnknownMember)?;
        let result = group.heartbeat(now, speaker);
        self.settle(&speaker.group);
        result
    }

    /// Members leave. Answered by [`Reply::Left`].
    pub fn leave(&mut self, now: Now, token: RequestToken, leave: &Leave) {
        let mut results = vec![Err(GroupError::UnknownMember); leave.members.len()];
        self.with_group(&leave.group, |group, context| {
            results = group.leave(now, &leave.members, context);
        });
        self.outbox.reply(token, Reply::Left(results));
    }

    /// Commits offsets. Answered by [`Reply::Committed`] once the records are committed.
    pub fn commit(&mut self, now: Now, token: RequestToken, commit: Commit) {
        let count = commit.offsets.len();
        if let Err(error) = self.check_commit(now, &commit.speaker) {
            return self.outbox.reply(token, Reply::Committed(vec![Err(error); count]));
        }
        let limit = self.config.offset_metadata_bytes_max;
        let (mut records, mut results) = (Vec::new(), Vec::with_capacity(count));
        for offset in commit.offsets {
            if offset.metadata.len() > limit {
                results.push(Err(GroupError::MetadataTooLarge));
                continue;
            }
            results.push(Ok(()));
            let committed = CommittedOffset {
                offset: offset.offset,
                leader_epoch: offset.leader_epoch,
                metadata: offset.metadata,
                commit_ms: now.wall.0,
            };
            let group = &commit.speaker.group;
            records.push(GroupRecord::offset(group, &offset.topic, offset.partition, Some(&committed)));
        }
        self.write_for(token, AnswerKind::Committed, records, results);
    }

    fn check_commit(&mut self, now: Now, speaker: &Speaker) -> Result<(), GroupError> {
        match self.groups.get_mut(&speaker.group) {
            Some(group) => {
                let result = group.check_commit(now, speaker);
                self.settle(&speaker.group);
                result
            }
            None if speaker.generation < 0 => Ok(()),
            None => Err(GroupError::IllegalGeneration),
        }
    }

    /// Deletes groups that have no members, with their offsets. Answered by [`Reply::GroupsDeleted`].
    pub fn delete_groups(&mut self, token: RequestToken, names: &[String]) {
        let (mut records, mut results) = (Vec::new(), Vec::with_capacity(names.len()));
        for name in names {
            results.push(match self.groups.get(name) {
                None => Err(GroupError::GroupNotFound),
                Some(group) if !group.members.is_empty() => Err(GroupError::NonEmptyGroup),
                Some(group) => {
                    let tombstone = |(topic, partition): &(String, i32)| {
                        GroupRecord::offset(name, topic, *partition, None)
                    };
                    records.extend(group.offsets.keys().map(tombstone));
                    records.push(GroupRecord::group(name, None));
                    Ok(())
                }
            });
        }
        self.write_for(token, AnswerKind::GroupsDeleted, records, results);
    }

    /// Deletes offsets of a group whose members do not consume the topic; of one whose members are no consumers none at all.
    /// Answered by [`Reply::OffsetsDeleted`].
    pub fn delete_offsets(&mut self, token: RequestToken, name: &str, partitions: Vec<(String, i32)>) {
        let Some(group) = self.groups.get(name) else {
            return self.outbox.reply(token, Reply::OffsetsDeleted(Err(GroupError::GroupNotFound)));
        };
        // Nothing says what members of another kind read.
        if !group.members.is_empty() && !group.is_of_consumers() {
            return self.outbox.reply(token, Reply::OffsetsDeleted(Err(GroupError::NonEmptyGroup)));
        }
        let (mut records, mut results) = (Vec::new(), Vec::with_capacity(partitions.len()));
        for (topic, partition) in partitions {
            let subscribed = group.is_subscribed(&topic);
            results.push(if subscribed { Err(GroupError::SubscribedToTopic) } else { Ok(()) });
            if !subscribed && group.offsets.contains_key(&(topic.clone(), partition)) {
                records.push(GroupRecord::offset(name, &topic, partition, None));
            }
        }
        self.write_for(token, AnswerKind::OffsetsDeleted, records, results);
    }

    /// Drops every committed offset of a deleted topic.
    pub fn forget_topic(&mut self, topic: &str) {
        let mut records = Vec::new();
        for (name, group) in &self.groups {
            let of_topic = group.offsets.keys().filter(|(held, _)| held == topic);
            records.extend(of_topic.map(|(_, partition)| GroupRecord::offset(name, topic, *partition, None)));
        }
        if !records.is_empty() {
            self.outbox.append(records, AfterWrite::Nothing);
        }
    }

    /// The committed offset of a partition.
    #[must_use]
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.groups.get(group)?.offsets.get(&(topic.to_owned(), partition))
    }

    /// All committed offsets of a group, by topic and partition.
    pub fn all_committed(&self, group: &str) -> impl Iterator<Item = (&str, i32, &CommittedOffset)> {
        let offsets = self.groups.get(group).into_iter().flat_map(|group| &group.offsets);
        offsets.map(|((topic, partition), committed)| (topic.as_str(), *partition, committed))
    }

    /// Every group.
    #[must_use]
    pub fn list(&self) -> Vec<ListedGroup> {
        let listed = |(name, group): (&String, &Group)| ListedGroup {
            group: name.clone(),
            protocol_type: group.protocol_type.clone().unwrap_or_default(),
            state: group.phase.name(),
        };
        self.groups.iter().map(listed).collect()
    }

    /// One group in detail.
    #[must_use]
    pub fn describe(&self, group: &str) -> Option<DescribedGroup> {
        self.groups.get(group).map(Group::describe)
    }

    /// The records that make the present state again, for a log that shall begin anew.
    #[must_use]
    pub fn snapshot(&self) -> Vec<GroupRecord> {
        let mut records = Vec::new();
        self.groups.iter().for_each(|(name, group)| group.snapshot(name, &mut records));
        records
    }

    /// Whether records were handed out whose fate is not known yet: a [`GroupCoordinator::snapshot`] lacks them.
    #[must_use]
    pub fn has_pending_writes(&self) -> bool {
        let queued = |action: &CoordinatorAction| matches!(action, CoordinatorAction::Append { .. });
        let not_taken = self.outbox.actions.iter().filter(|action| queued(action)).count();
        self.outbox.writes.len() > not_taken
    }

    /// Records handed out by [`CoordinatorAction::Append`] are committed, or were not appended, or nobody knows.
    pub fn handle_written(&mut self, now: Now, id: WriteId, result: Result<(), GroupError>) {
        let Some(PendingWrite { records, after }) = self.outbox.writes.remove(&id) else { return };
        if result.is_ok() {
            for record in &records {
                let replayed = self.replay(now, &record.key, record.value.as_deref());
                debug_assert!(replayed.is_ok(), "a record made here is well formed: {replayed:?}");
            }
        }
        match after {
            AfterWrite::Assign { group, generation } => self.with_group(&group, |group, context| {
                if group.generation == generation {
                    group.on_assignment_written(now, id, result, context);
                }
            }),
            AfterWrite::Answer { token, kind, results } => {
                let results = results.into_iter().map(|one| one.and(result)).collect();
                self.outbox.reply(token, kind.reply(results));
            }
            AfterWrite::Nothing => {}
        }
    }

    /// Sessions, rebalances and offsets that have run out.
    pub fn handle_timeout(&mut self, now: Now) {
        // Each group acts once: one whose next deadline is this moment again must not hold up everybody else.
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= now.mono);
        for name in due.map(|(_, name)| name.clone()).collect::<Vec<_>>() {
            self.unschedule(&name);
            self.with_group(&name, |group, context| group.handle_timeout(now, context));
        }
        if self.next_expiry <= now.mono {
            self.next_expiry = now.mono.after(self.config.expiry_interval);
            self.expire_offsets(now);
        }
    }

    fn expire_offsets(&mut self, now: Now) {
        let retention_ms = i64::try_from(self.config.offsets_retention.as_millis()).unwrap_or(i64::MAX);
        let mut records = Vec::new();
        for (name, group) in self.groups.iter().filter(|(_, group)| group.members.is_empty()) {
            let mut kept = 0_usize;
            for ((topic, partition), committed) in &group.offsets {
                let since = if group.generation > 0 { group.state_ms } else { committed.commit_ms };
                if now.wall.0.saturating_sub(since.max(committed.commit_ms)) > retention_ms {
                    records.push(GroupRecord::offset(name, topic, *partition, None));
                } else {
                    kept += 1;
                }
            }
            if kept == 0 && group.generation > 0 && group.pending.is_empty() {
                records.push(GroupRecord::group(name, None));
            }
        }
        if !records.is_empty() {
            self.outbox.append(records, AfterWrite::Nothing);
        }
    }

    /// The partition's leadership is over: whoever waits is told to look for the new coordinator.
    pub fn resign(&mut self, error: GroupError) {
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            self.with_group(&name, |group, context| group.abandon(error, context));
        }
        for (_, write) in core::mem::take(&mut self.outbox.writes) {
            if let AfterWrite::Answer { token, kind, results } = write.after {
                let results = results.into_iter().map(|one| one.and(Err(error))).collect();
                self.outbox.reply(token, kind.reply(results));
            }
        }
    }

    /// What shall be done next.
    pub fn poll_action(&mut self) -> Option<CoordinatorAction> {
        self.outbox.actions.pop_front()
    }

    /// When [`GroupCoordinator::handle_timeout`] is next needed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        let group = self.deadlines.first().map(|(at, _)| *at);
        Some(group.map_or(self.next_expiry, |at| at.min(self.next_expiry)))
    }

    fn write_for(
        &mut self,
        token: RequestToken,
        kind: AnswerKind,
        records: Vec<GroupRecord>,
        results: Vec<Result<(), GroupError>>,
    ) {
        if records.is_empty() {
            self.outbox.reply(token, kind.reply(results));
        } else {
            self.outbox.append(records, AfterWrite::Answer { token, kind, results });
        }
    }

    /// Runs a change of one group and looks after its timer; nothing if there is no such group.
    fn with_group(&mut self, name: &str, change: impl FnOnce(&mut Group, &mut Context<'_>)) {
        let Some(group) = self.groups.get_mut(name) else { return };
        let mut context =
            Context { name, config: &self.config, outbox: &mut self.outbox, random: &mut self.random };
        change(group, &mut context);
        self.settle(name);
    }

    fn settle(&mut self, name: &str) {
        self.unschedule(name);
        self.bury(name);
        if let Some(at) = self.groups.get(name).and_then(Group::next_deadline) {
            self.deadlines.insert((at, name.to_owned()));
            self.scheduled.insert(name.to_owned(), at);
        }
    }

    fn unschedule(&mut self, name: &str) {
        if let Some(at) = self.scheduled.remove(name) {
            self.deadlines.remove(&(at, name.to_owned()));
        }
    }

    fn bury(&mut self, name: &str) {
        if self.groups.get(name).is_some_and(Group::is_dead) {
            self.groups.remove(name);
        }
    }
}
