//! Coordinating groups: a partition of `__consumer_offsets` that this replica leads.
//!
//! The coordinator reads its groups from the log up to the start of this leadership, once the high watermark has reached
//! it: what was committed before is then all there, and nothing that may yet be cut is. Afterwards it knows its state
//! from its own records, each replayed when it is committed.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use coordinator_core::command::RequestToken;
use coordinator_core::records::GroupRecord;
use coordinator_core::{CoordinatorAction, GroupCoordinator, GroupError, WriteId};
use log_core::batch::{self, BatchBuilder, BatchSpec, Batches, NewRecord, ProduceRules};
use log_core::{MonoTime, Now, Offset, TopicPartition};
use log_store::{Disk, Fault, LeaderBatch, ReadError, ReadLimit, ReadOutcome, ReadSlices, Slice};
use replica_core::Leader;

use super::read::WaitingRead;
use super::{Partition, Role};
use crate::api::topics::OFFSETS_TOPIC;
use crate::error::PartitionError;
use crate::peer::{GroupAnswer, GroupCall, Origin, PartitionAnswer};
use crate::shard::Core;

/// Bytes of the groups' log read at once.
const LOAD_BYTES: u64 = 1 << 20;

/// How long the coordinator waits before it reads again what it could not read.
const LOAD_AGAIN: Duration = Duration::from_secs(1);

/// The coordinator of the groups of one partition, and who waits for it.
#[derive(Debug)]
pub(super) struct Coordination {
    pub(super) groups: GroupCoordinator,
    loading: Option<Loading>,
    waiting: BTreeMap<RequestToken, Origin>,
    next_token: u64,
    /// Bytes in the log since it was last begun anew.
    pub(super) bytes: u64,
    /// Bytes at which it is next looked whether to begin it anew.
    pub(super) rewrite_at: u64,
}

#[derive(Debug)]
struct Loading {
    next: Offset,
    /// The start of this leadership.
    until: Offset,
    reading: bool,
    /// A read failed: it is made again then. Nothing is ever left out, or a group would begin where it never was.
    retry_at: Option<MonoTime>,
}

impl Coordination {
    pub(super) fn new<D: Disk>(core: &Core<D>, machine: &Leader, id: TopicPartition) -> Self {
        let partition = u64::from(id.partition.0.cast_unsigned());
        let seed = core.config.seed ^ (partition << 32) ^ core.now.mono.0;
        Self {
            groups: GroupCoordinator::new(core.now, core.config.groups, seed),
            loading: Some(Loading {
                next: Offset(-1),
                until: machine.epoch_start(),
                reading: false,
                retry_at: None,
            }),
            waiting: BTreeMap::new(),
            next_token: 0,
            bytes: 0,
            rewrite_at: core.config.limits.groups_rewrite_bytes,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Now) {
        match &mut self.loading {
            None => self.groups.handle_timeout(now),
            Some(loading) => drop(loading.retry_at.take_if(|at| *at <= now.mono)),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        match &self.loading {
            None => self.groups.poll_timeout(),
            Some(loading) => loading.retry_at,
        }
    }

    fn load_again_later(&mut self, now: Now) {
        if let Some(loading) = &mut self.loading {
            (loading.reading, loading.retry_at) = (false, Some(now.mono.after(LOAD_AGAIN)));
        }
    }

    pub(super) fn handle_written(&mut self, now: Now, write: WriteId, result: Result<(), GroupError>) {
        self.groups.handle_written(now, write, result);
    }

    /// The leadership is over: whoever waits looks for the new coordinator.
    pub(super) fn dismiss<D: Disk>(mut self, core: &mut Core<D>) {
        self.groups.resign(GroupError::NotCoordinator);
        while let Some(action) = self.groups.poll_action() {
            if let CoordinatorAction::Reply { token, reply } = action {
                self.answer(core, token, GroupAnswer::Reply(reply));
            }
        }
    }

    fn answer<D: Disk>(&mut self, core: &mut Core<D>, token: RequestToken, answer: GroupAnswer) {
        if let Some(origin) = self.waiting.remove(&token) {
            core.answer(origin, PartitionAnswer::Group(answer));
        }
    }

    fn token(&mut self, origin: Origin) -> RequestToken {
        self.next_token += 1;
        let token = RequestToken(self.next_token);
        self.waiting.insert(token, origin);
        token
    }

    fn take<D: Disk>(&mut self, core: &mut Core<D>, origin: Origin, call: GroupCall) {
        let now = core.now;
        let answer = match call {
            GroupCall::Join(join) => {
                let token = self.token(origin);
                return self.groups.join(now, token, join);
            }
            GroupCall::Sync(sync) => {
                let token = self.token(origin);
                return self.groups.sync(now, token, sync);
            }
            GroupCall::Leave(leave) => {
                let token = self.token(origin);
                return self.groups.leave(now, token, &leave);
            }
            GroupCall::Commit(commit) => {
                let token = self.token(origin);
                return self.groups.commit(now, token, commit);
            }
            GroupCall::Delete { groups } => {
                let token = self.token(origin);
                return self.groups.delete_groups(token, &groups);
            }
            GroupCall::DeleteOffsets { group, partitions } => {
                let token = self.token(origin);
                return self.groups.delete_offsets(token, &group, partitions);
            }
            GroupCall::Heartbeat(speaker) => GroupAnswer::Heartbeat(self.groups.heartbeat(now, &speaker)),
            GroupCall::FetchOffsets { group, partitions } => {
                GroupAnswer::Offsets(self.offsets(&group, partitions))
            }
            GroupCall::List => GroupAnswer::Listed(self.groups.list()),
            GroupCall::Describe { group } => GroupAnswer::Described(self.groups.describe(&group)),
        };
        core.answer(origin, PartitionAnswer::Group(answer));
    }

    fn offsets(
        &self,
        group: &str,
        partitions: Option<Vec<(String, i32)>>,
    ) -> Vec<(String, i32, Option<coordinator_core::records::CommittedOffset>)> {
        match partitions {
            Some(named) => named
                .into_iter()
                .map(|(topic, partition)| {
                    let committed = self.groups.committed(group, &topic, partition).cloned();
                    (topic, partition, committed)
                })
                .collect(),
            None => self
                .groups
                .all_committed(group)
                .map(|(topic, partition, committed)| (topic.to_owned(), partition, Some(committed.clone())))
                .collect(),
        }
    }

    /// Replays whole batches. A batch that cannot be read holds no group: it is skipped, and said.
    fn replay<D: Disk>(&mut self, core: &Core<D>, bytes: &[u8]) {
        let mut buffer = Vec::new();
        for (header, batch) in Batches::new(bytes) {
            let limit = core.config.limits.decompressed_bytes_max;
            let records = batch::records_of(&header, batch).ok();
            let unpacked = records.and_then(|records| {
                batch::decompress(&header, records, core.config.codecs, limit, &mut buffer).ok()
            });
            let Some(unpacked) = unpacked else {
                tracing::error!(offset = %header.base_offset, "a batch of groups cannot be read");
                continue;
            };
            for record in batch::Records::new(&header, unpacked).flatten() {
                let key = record.key.unwrap_or_default();
                if let Err(error) = self.groups.replay(core.now, key, record.value) {
                    tracing::error!(offset = %record.offset, %error, "a record of groups cannot be read");
                }
            }
        }
    }
}

impl<D: Disk> Partition<D> {
    pub(super) fn is_groups_log(&self) -> bool {
        &*self.topic.name == OFFSETS_TOPIC
    }

    pub(super) fn take_group_call(&mut self, core: &mut Core<D>, origin: Origin, call: GroupCall) {
        let not_leading = self.not_leading();
        let coordination = match &mut self.role {
            Role::Leader(leader) => leader.coordination.as_mut(),
            Role::Idle | Role::Follower(_) | Role::Damaged(_) | Role::Closing => None,
        };
        match coordination {
            Some(coordination) if coordination.loading.is_none() => coordination.take(core, origin, call),
            Some(_) => core.answer(origin, PartitionAnswer::Failed(PartitionError::CoordinatorLoading)),
            None => core.answer(origin, PartitionAnswer::Failed(not_leading)),
        }
    }

    /// A topic is gone, and with it every position in it.
    pub(crate) fn forget_topic(&mut self, name: &str) {
        if let Role::Leader(leader) = &mut self.role
            && let Some(coordination) = &mut leader.coordination
            && coordination.loading.is_none()
        {
            coordination.groups.forget_topic(name);
        }
    }

    /// Loads groups, appends their records, passes on replies.
    pub(super) fn coordinate(&mut self, core: &mut Core<D>) -> bool {
        let Role::Leader(leader) = &mut self.role else { return false };
        let Some(mut coordination) = leader.coordination.take() else { return false };
        let worked = if coordination.loading.is_some() {
            self.load_groups(core, &mut coordination)
        } else {
            self.run_groups(core, &mut coordination)
        };
        if let Role::Leader(leader) = &mut self.role {
            leader.coordination = Some(coordination);
        }
        worked
    }

    fn load_groups(&mut self, core: &mut Core<D>, coordination: &mut Coordination) -> bool {
        let log_start = self.log.offsets().log_start();
        let Some(loading) = coordination.loading.as_mut() else { return false };
        let waits = loading.reading || loading.retry_at.is_some() || self.found.is_some();
        if waits || self.log.offsets().high_watermark() < loading.until {
            return false;
        }
        loading.next = loading.next.max(log_start);
        if loading.next >= loading.until {
            coordination.loading = None;
            coordination.groups.finish_loading(core.now);
            return true;
        }
        let limit = ReadLimit { max_bytes: LOAD_BYTES, end: loading.until, at_least_one: true };
        match self.log.read(&mut core.disk, loading.next, limit) {
            Ok(ReadOutcome::Ready(read)) => self.replay_groups(core, coordination, read),
            Ok(ReadOutcome::Pending(ticket)) => {
                loading.reading = true;
                self.reads.insert(ticket.sequence, WaitingRead::Groups);
            }
            Err(error) => {
                tracing::error!(partition = ?self.id, %error, "the groups cannot be read");
                coordination.load_again_later(core.now);
            }
        }
        true
    }

    fn replay_groups(
        &mut self,
        core: &mut Core<D>,
        coordination: &mut Coordination,
        read: ReadSlices<D::File>,
    ) {
        let Some(loading) = coordination.loading.as_mut() else { return };
        loading.reading = false;
        let (read_bytes, next_offset) = (read.bytes, read.next_offset);
        let pieces = match gather(core, read.slices, loading.next) {
            Ok(pieces) => pieces,
            Err(fault) => return self.found = Some(fault),
        };
        // A read that gives nothing below the end it was given would be repeated for ever.
        loading.next = if read_bytes == 0 { loading.until } else { next_offset };
        coordination.bytes += read_bytes;
        pieces.iter().for_each(|piece| coordination.replay(core, piece));
    }

    pub(super) fn take_group_read(
        &mut self,
        core: &mut Core<D>,
        result: Result<ReadSlices<D::File>, ReadError>,
    ) {
        let Role::Leader(leader) = &mut self.role else { return };
        let Some(mut coordination) = leader.coordination.take() else { return };
        match result {
            Ok(read) => self.replay_groups(core, &mut coordination, read),
            Err(error) => {
                tracing::error!(partition = ?self.id, %error, "the groups cannot be read");
                coordination.load_again_later(core.now);
            }
        }
        if let Role::Leader(leader) = &mut self.role {
            leader.coordination = Some(coordination);
        }
    }

    fn run_groups(&mut self, core: &mut Core<D>, coordination: &mut Coordination) -> bool {
        let mut worked = false;
        if coordination.bytes >= coordination.rewrite_at {
            // What is on its way is not in the state yet: nothing more is appended until it is.
            if coordination.groups.has_pending_writes() {
                return false;
            }
            self.rewrite_groups(core, coordination);
        }
        while let Some(action) = coordination.groups.poll_action() {
            worked = true;
            match action {
                CoordinatorAction::Reply { token, reply } => {
                    coordination.answer(core, token, GroupAnswer::Reply(reply));
                }
                CoordinatorAction::Append { id, records } => match self.append_groups(core, &records) {
                    Ok(appended) => {
                        coordination.bytes += appended.bytes;
                        if let Role::Leader(leader) = &mut self.role {
                            leader.park_group(appended.end, id);
                        }
                    }
                    Err(error) => coordination.handle_written(core.now, id, Err(group_error(&error))),
                },
            }
            if coordination.bytes >= coordination.rewrite_at {
                break;
            }
        }
        worked
    }

    pub(super) fn append_groups(
        &mut self,
        core: &mut Core<D>,
        records: &[GroupRecord],
    ) -> Result<AppendedGroups, PartitionError> {
        if let Role::Leader(leader) = &self.role
            && !leader.machine.accepts_acks_all()
        {
            let view = leader.machine.view();
            let (in_sync, required) = (view.sound_isr_members(), view.effective_min_isr);
            return Err(PartitionError::NotEnoughReplicas { in_sync, required });
        }
        let batch = build(core, records)?;
        let end = self.append_batches(core, std::slice::from_ref(&batch))?.end_offset;
        Ok(AppendedGroups { end, bytes: batch.bytes.len() as u64 })
    }
}

/// What an append of group records gave.
pub(super) struct AppendedGroups {
    pub(super) end: Offset,
    pub(super) bytes: u64,
}

/// The bytes of what was read at `at`; a file that does not give what it held a moment ago is damage.
fn gather<D: Disk>(core: &mut Core<D>, slices: Vec<Slice<D::File>>, at: Offset) -> Result<Vec<Bytes>, Fault> {
    let whole = |slice| match slice {
        Slice::Bytes(bytes) => Ok(bytes),
        Slice::File(range) => {
            let mut bytes = vec![0; usize::try_from(range.len).unwrap_or(0)];
            match core.disk.read_at(&range.file, range.position, &mut bytes) {
                Ok(count) if count == bytes.len() => Ok(bytes.into()),
                Ok(_) => Err(Fault::BadBatch { at }),
                Err(error) => Err(Fault::Unreadable { at, error }),
            }
        }
    };
    slices.into_iter().map(whole).collect()
}

fn build<D: Disk>(core: &Core<D>, records: &[GroupRecord]) -> Result<LeaderBatch, PartitionError> {
    let mut builder = BatchBuilder::new();
    for record in records {
        let record = NewRecord {
            timestamp: core.now.wall,
            key: Some(&record.key),
            value: record.value.as_deref(),
            headers: &[],
        };
        builder.push(&record).map_err(|_| PartitionError::NoRecords)?;
    }
    let bytes = builder.build(&BatchSpec::default(), core.config.codecs, core.config.crc);
    let bytes = bytes.map_err(|_| PartitionError::NoRecords)?;
    let rules = ProduceRules { batch_bytes_max: bytes.len(), ..ProduceRules::at(core.now.wall) };
    super::append::check_batch(core, bytes.into(), &rules).map_err(PartitionError::Batch)
}

fn group_error(error: &PartitionError) -> GroupError {
    match error {
        PartitionError::NotLeader | PartitionError::LeadershipLost | PartitionError::Stopping => {
            GroupError::NotCoordinator
        }
        PartitionError::TimedOut => GroupError::TimedOut,
        PartitionError::Unknown
        | PartitionError::FencedLeaderEpoch { .. }
        | PartitionError::UnknownLeaderEpoch { .. }
        | PartitionError::NotEnoughReplicas { .. }
        | PartitionError::OffsetOutOfRange
        | PartitionError::OffsetNotAvailable
        | PartitionError::Damaged
        | PartitionError::Storage(_)
        | PartitionError::Batch(_)
        | PartitionError::Append(_)
        | PartitionError::NoRecords
        | PartitionError::InternalTopic
        | PartitionError::Policy
        | PartitionError::CoordinatorLoading => GroupError::NotAvailable,
    }
}
