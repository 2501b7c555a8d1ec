//! What the group requests share: they go to the group's partition, whose leader coordinates.

mod consumer_group_describe;
mod delete_groups;
mod describe_groups;
mod heartbeat;
mod join_group;
mod leave_group;
mod list_groups;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod sync_group;

use std::time::Duration;

use coordinator_core::command::Reply;
use kafka_wire::ErrorCode;
use log_core::TopicPartition;
use log_store::Disk;

use super::find_coordinator::partition_of_group;
use crate::error::coordinator_code;
use crate::peer::{CallId, GroupAnswer, GroupCall, PartitionAnswer, PartitionCall, PendingId};
use crate::shard::{Ask, Gather, Pending, Shard};
use offset_commit::Commits;
use offset_delete::Deletions;
use offset_fetch::FetchedOffsets;

/// How long a coordinator may take to write a record or to answer.
const WRITE_WAIT: Duration = Duration::from_secs(5);

/// A request to one group that waits for its coordinator.
#[derive(Debug)]
pub(crate) struct GroupRequest {
    ask: Ask,
    kind: GroupKind,
    answer: Result<GroupAnswer, ErrorCode>,
}

#[derive(Debug)]
enum GroupKind {
    Join { member_id: String },
    Sync,
    Heartbeat,
    Leave { members: Vec<(String, Option<String>)> },
    Commit(Commits),
    DeleteOffsets(Deletions),
}

/// A request to several groups that waits for their coordinators.
#[derive(Debug)]
pub(crate) struct GroupsRequest {
    ask: Ask,
    kind: GroupsKind,
    answers: Gather<Result<GroupAnswer, ErrorCode>>,
}

#[derive(Debug)]
enum GroupsKind {
    List { states: Vec<String>, types: Vec<String> },
    Describe { groups: Vec<String> },
    Delete { groups: Vec<String> },
    FetchOffsets(FetchedOffsets),
}

impl<D: Disk> Shard<D> {
    /// Sends a call to the group's coordinator; `wait` is how long it may take, none for as long as the group likes.
    fn start_group(
        &mut self,
        ask: Ask,
        kind: GroupKind,
        group: &str,
        call: GroupCall,
        wait: Option<Duration>,
    ) {
        let id = self.next_pending();
        let request = GroupRequest { ask, kind, answer: Err(ErrorCode::CoordinatorNotAvailable) };
        match self.coordinating(group) {
            Ok(partition) => {
                self.call(CallId { pending: id, part: 0 }, partition, PartitionCall::Group(call));
                let deadline = wait.map(|wait| self.core.now.mono.after(wait));
                self.wait(id, Pending::Group(request), deadline);
            }
            Err(code) => self.finish_group(GroupRequest { answer: Err(code), ..request }),
        }
    }

    /// Sends one call to each coordinator; a part without a partition is answered with its error.
    fn start_groups(
        &mut self,
        ask: Ask,
        kind: GroupsKind,
        calls: Vec<(Result<TopicPartition, ErrorCode>, GroupCall)>,
    ) {
        let id: PendingId = self.next_pending();
        let mut request = GroupsRequest { ask, kind, answers: Gather::new(calls.len()) };
        for (part, (partition, call)) in (0..).zip(calls) {
            match partition {
                Ok(partition) => {
                    self.call(CallId { pending: id, part }, partition, PartitionCall::Group(call));
                }
                Err(code) => request.answers.put(part, Err(code)),
            }
        }
        if request.answers.is_complete() {
            self.finish_groups(request);
        } else {
            let deadline = self.core.now.mono.after(WRITE_WAIT);
            self.wait(id, Pending::Groups(request), Some(deadline));
        }
    }

    /// The partition of a group, if this broker leads it.
    fn coordinating(&self, group: &str) -> Result<TopicPartition, ErrorCode> {
        let partition = partition_of_group(&self.core.image, group).ok_or(ErrorCode::NotCoordinator)?;
        let leader = self.core.image.partition(partition).and_then(|state| state.leader);
        match leader {
            Some(leader) if leader == self.core.broker() => Ok(partition),
            Some(_) => Err(ErrorCode::NotCoordinator),
            None => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }

    pub(crate) fn finish_group(&mut self, request: GroupRequest) {
        let GroupRequest { ask, kind, answer } = request;
        match kind {
            GroupKind::Join { member_id } => self.finish_join(ask, &member_id, reply(answer)),
            GroupKind::Sync => self.finish_sync(ask, reply(answer)),
            GroupKind::Heartbeat => self.finish_heartbeat(ask, answer),
            GroupKind::Leave { members } => self.finish_leave(ask, &members, reply(answer)),
            GroupKind::Commit(commits) => self.finish_commit(ask, &commits, reply(answer)),
            GroupKind::DeleteOffsets(deletions) => self.finish_offset_delete(ask, &deletions, reply(answer)),
        }
    }

    pub(crate) fn finish_groups(&mut self, request: GroupsRequest) {
        let GroupsRequest { ask, kind, answers } = request;
        let answers = answers.into_parts(|| Err(ErrorCode::CoordinatorNotAvailable));
        match kind {
            GroupsKind::List { states, types } => self.finish_list_groups(ask, &states, &types, answers),
            GroupsKind::Describe { groups } => self.finish_describe_groups(ask, &groups, answers),
            GroupsKind::Delete { groups } => self.finish_delete_groups(ask, &groups, answers),
            GroupsKind::FetchOffsets(fetched) => self.finish_offset_fetch(ask, &fetched, answers),
        }
    }
}

impl GroupRequest {
    pub(crate) fn take<F>(&mut self, answer: PartitionAnswer<F>) -> bool {
        self.answer = group_answer(answer);
        true
    }
}

impl GroupsRequest {
    pub(crate) fn take<F>(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        self.answers.put(part, group_answer(answer));
        self.answers.is_complete()
    }
}

fn group_answer<F>(answer: PartitionAnswer<F>) -> Result<GroupAnswer, ErrorCode> {
    match answer {
        PartitionAnswer::Group(answer) => Ok(answer),
        PartitionAnswer::Failed(error) => Err(coordinator_code(&error)),
        PartitionAnswer::Produced(_)
        | PartitionAnswer::Fetched(_)
        | PartitionAnswer::OffsetListed(_)
        | PartitionAnswer::EpochEnd { .. }
        | PartitionAnswer::RecordsDeleted { .. }
        | PartitionAnswer::Sized(_) => Err(ErrorCode::UnknownServerError),
    }
}

fn reply(answer: Result<GroupAnswer, ErrorCode>) -> Result<Reply, ErrorCode> {
    match answer? {
        GroupAnswer::Reply(reply) => Ok(reply),
        GroupAnswer::Heartbeat(_)
        | GroupAnswer::Offsets(_)
        | GroupAnswer::Listed(_)
        | GroupAnswer::Described(_) => Err(ErrorCode::UnknownServerError),
    }
}
