//! Requests that wait for answers of partitions, of Control, for the cluster image or for time.

use log_core::MonoTime;
use log_store::Disk;

use super::{Shard, Timer};
use crate::api;
use crate::message::{AdminAnswer, AdminCommand, AdminError, AdminId, ControlRequest};
use crate::peer::{CallId, PartitionAnswer, PendingId};

/// A waiting request.
#[derive(Debug)]
pub(crate) enum Pending<F> {
    Produce(api::produce::Produce),
    Fetch(api::fetch::Fetch<F>),
    ListOffsets(api::list_offsets::ListOffsets),
    EpochEnds(api::offset_for_leader_epoch::EpochEnds),
    DeleteRecords(api::delete_records::DeleteRecords),
    DescribeLogDirs(api::describe_log_dirs::DescribeLogDirs),
    Metadata(api::metadata::AwaitedMetadata),
    FindCoordinator(api::find_coordinator::AwaitedCoordinators),
    Admin(api::admin::Admin),
    ProducerId(api::init_producer_id::AwaitedProducerId),
    Group(api::groups::GroupRequest),
    Groups(api::groups::GroupsRequest),
}

/// The parts of a request's answer as they come in.
#[derive(Debug)]
pub(crate) struct Gather<T> {
    parts: Vec<Option<T>>,
    missing: usize,
}

impl<T> Gather<T> {
    pub(crate) fn new(parts: usize) -> Self {
        Self { parts: std::iter::repeat_with(|| None).take(parts).collect(), missing: parts }
    }

    /// Takes a part; one that is there already is kept.
    pub(crate) fn put(&mut self, part: u32, value: T) {
        if let Some(slot @ None) = self.parts.get_mut(part as usize) {
            *slot = Some(value);
            self.missing -= 1;
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = Option<&T>> {
        self.parts.iter().map(Option::as_ref)
    }

    /// All parts in order; those that did not come are made up.
    pub(crate) fn into_parts(self, missing: impl Fn() -> T) -> Vec<T> {
        self.parts.into_iter().map(|part| part.unwrap_or_else(&missing)).collect()
    }
}

/// What a waiting request got.
#[derive(Debug)]
pub(crate) enum Arrived<F> {
    Partition(PartitionAnswer<F>),
    Admin(Result<AdminAnswer, AdminError>),
}

impl<D: Disk> Shard<D> {
    pub(crate) fn next_pending(&mut self) -> PendingId {
        self.next_pending += 1;
        PendingId(self.next_pending)
    }

    /// Lets a request wait, at most until the deadline.
    pub(crate) fn wait(&mut self, id: PendingId, pending: Pending<D::File>, deadline: Option<MonoTime>) {
        if let Some(deadline) = deadline {
            self.core.reschedule(Timer::Pending(id), None, Some(deadline));
            self.deadlines.insert(id, deadline);
        }
        self.pending.insert(id, pending);
    }

    pub(super) fn take_answer(&mut self, call: CallId, answer: PartitionAnswer<D::File>) {
        self.arrive(call, Arrived::Partition(answer));
    }

    pub(super) fn take_admin_answer(&mut self, id: AdminId, result: Result<AdminAnswer, AdminError>) {
        if let Some(call) = self.admin.remove(&id) {
            self.arrive(call, Arrived::Admin(result));
        }
    }

    /// Hands a command to Control; its outcome arrives as a part of a waiting request.
    pub(crate) fn command(&mut self, call: CallId, deadline: MonoTime, command: AdminCommand) {
        self.next_admin += 1;
        let id = AdminId(self.next_admin);
        self.admin.insert(id, call);
        self.core.tell_control(ControlRequest::Admin { id, deadline, command });
    }

    fn arrive(&mut self, call: CallId, arrived: Arrived<D::File>) {
        let Some(pending) = self.pending.get_mut(&call.pending) else { return };
        let done = match (pending, arrived) {
            (Pending::Produce(produce), Arrived::Partition(answer)) => produce.take(call.part, answer),
            (Pending::Fetch(fetch), Arrived::Partition(answer)) => fetch.take(call.part, answer),
            (Pending::ListOffsets(list), Arrived::Partition(answer)) => list.take(call.part, answer),
            (Pending::EpochEnds(ends), Arrived::Partition(answer)) => ends.take(call.part, answer),
            (Pending::DeleteRecords(delete), Arrived::Partition(answer)) => delete.take(call.part, answer),
            (Pending::DescribeLogDirs(describe), Arrived::Partition(answer)) => {
                describe.take(call.part, answer)
            }
            (Pending::Group(group), Arrived::Partition(answer)) => group.take(answer),
            (Pending::Groups(groups), Arrived::Partition(answer)) => groups.take(call.part, answer),
            (Pending::Admin(admin), Arrived::Admin(result)) => admin.take(call.part, result),
            (Pending::ProducerId(waiting), Arrived::Admin(result)) => {
                waiting.take(result, &mut self.producer_ids)
            }
            (Pending::Metadata(metadata), Arrived::Admin(result)) => metadata.take(call.part, result),
            (Pending::FindCoordinator(find), Arrived::Admin(result)) => find.take(result),
            (_, Arrived::Partition(_) | Arrived::Admin(_)) => false,
        };
        if done && let Some(pending) = self.take_pending(call.pending) {
            self.finish_pending(call.pending, pending);
        }
    }

    pub(crate) fn pending_mut(&mut self, id: PendingId) -> Option<&mut Pending<D::File>> {
        self.pending.get_mut(&id)
    }

    pub(crate) fn take_pending(&mut self, id: PendingId) -> Option<Pending<D::File>> {
        self.pending.remove(&id)
    }

    /// Lets a request wait on, with the deadline that it has.
    pub(crate) fn put_back(&mut self, id: PendingId, pending: Pending<D::File>) {
        self.pending.insert(id, pending);
    }

    /// Answers of this shard's own partitions reach their requests now, not at the end of the burst.
    pub(crate) fn take_local_answers(&mut self) {
        let own = self.core.config.shard;
        while let Some((origin, answer)) = self.core.answers.pop_front_if(|(origin, _)| origin.shard == own) {
            self.take_answer(origin.call, answer);
        }
    }

    /// Everything a request waits for is there, or it waits no longer.
    pub(crate) fn finish_pending(&mut self, id: PendingId, pending: Pending<D::File>) {
        self.awaiting_image.remove(&id);
        match pending {
            Pending::Produce(produce) => self.finish_produce(produce),
            Pending::Fetch(fetch) => self.look_at_fetch(id, fetch),
            Pending::ListOffsets(list) => self.finish_list_offsets(list),
            Pending::EpochEnds(ends) => self.finish_epoch_ends(ends),
            Pending::DeleteRecords(delete) => self.finish_delete_records(delete),
            Pending::DescribeLogDirs(describe) => self.finish_describe_log_dirs(describe),
            Pending::Metadata(metadata) => self.finish_metadata(id, metadata),
            Pending::FindCoordinator(find) => self.finish_find_coordinator(id, find),
            Pending::Admin(admin) => self.finish_admin(admin),
            Pending::ProducerId(waiting) => self.finish_producer_id(&waiting),
            Pending::Group(group) => self.finish_group(group),
            Pending::Groups(groups) => self.finish_groups(groups),
        }
        if !self.pending.contains_key(&id) {
            self.forget_deadline(id);
        }
    }

    /// Whoever asked is gone; a Fetch that is answered already is left alone.
    pub(super) fn drop_fetch(&mut self, id: PendingId) {
        if let Some(Pending::Fetch(fetch)) = self.pending.remove(&id) {
            self.unwatch(id, &fetch);
            self.forget_deadline(id);
        }
    }

    fn forget_deadline(&mut self, id: PendingId) {
        let deadline = self.deadlines.remove(&id);
        self.core.reschedule(Timer::Pending(id), deadline, None);
    }

    pub(super) fn expire_pending(&mut self, id: PendingId) {
        self.deadlines.remove(&id);
        let Some(mut pending) = self.pending.remove(&id) else { return };
        match &mut pending {
            Pending::Fetch(fetch) => {
                if !fetch.expire() {
                    return self.put_back(id, pending);
                }
            }
            Pending::Metadata(metadata) => metadata.expire(),
            Pending::FindCoordinator(find) => find.expire(),
            Pending::Produce(_)
            | Pending::ListOffsets(_)
            | Pending::EpochEnds(_)
            | Pending::DeleteRecords(_)
            | Pending::DescribeLogDirs(_)
            | Pending::Admin(_)
            | Pending::ProducerId(_)
            | Pending::Group(_)
            | Pending::Groups(_) => {}
        }
        self.finish_pending(id, pending);
    }

    /// The image changed: those who waited for that look again.
    pub(super) fn wake_image_waiters(&mut self) {
        for id in std::mem::take(&mut self.awaiting_image) {
            if let Some(pending) = self.pending.remove(&id) {
                self.finish_pending(id, pending);
            }
        }
    }
}
