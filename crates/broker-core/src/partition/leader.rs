//! Leading: the actions of the leader's machine carried out, pushes read from the log, and those who wait for commits.

use std::collections::{BTreeMap, VecDeque};

use coordinator_core::WriteId;
use kafka_wire::{Records, Rope, Segment};
use log_core::{Offset, TopicPartition};
use log_store::{Disk, ReadError, ReadLimit, ReadOutcome, ReadSlices};
use replica_core::{Leader, LeaderAction, LeaderAlarm, LeaderFrame, Push, PushOrder, StreamId};

use super::coordinate::Coordination;
use super::deletion::Deletion;
use super::doubt::Doubt;
use super::read::{WaitingRead, records_of};
use super::{Partition, Role, StreamTable};
use crate::action::ShardAction;
use crate::error::PartitionError;
use crate::message::{ControlRequest, IsrAttempt, IsrChange, LeaveReason};
use crate::peer::{Origin, PartitionAnswer, Produced};
use crate::repeated::Repeats;
use crate::shard::Core;

/// What only a leader has.
#[derive(Debug)]
pub(crate) struct LeaderRole {
    pub(super) machine: Leader,
    /// Who waits for a commit, in the order of the log.
    parked: VecDeque<(Offset, Parked)>,
    /// Everything below was served, so that nobody waits for it.
    served_to: Offset,
    /// Reads above the end, that wait for proof that this replica leads.
    pub(super) doubts: Vec<Doubt>,
    /// Who waits until records are deleted for good.
    pub(super) deletions: Vec<Deletion>,
    /// The coordinator of the groups of this partition of `__consumer_offsets`.
    pub(super) coordination: Option<Box<Coordination>>,
}

/// What waits for a commit.
#[derive(Debug)]
enum Parked {
    Produce {
        origin: Origin,
        produced: Produced,
    },
    Group(WriteId),
    /// The state of all groups, which replaces everything below this offset.
    NewStart(Offset),
}

impl LeaderRole {
    pub(super) fn new<D: Disk>(
        core: &Core<D>,
        machine: Leader,
        coordinates: bool,
        partition: TopicPartition,
    ) -> Self {
        let coordination = coordinates.then(|| Box::new(Coordination::new(core, &machine, partition)));
        Self {
            served_to: machine.high_watermark(),
            machine,
            parked: VecDeque::new(),
            doubts: Vec::new(),
            deletions: Vec::new(),
            coordination,
        }
    }

    /// The high watermark up to which those who waited are answered.
    pub(super) const fn served_to(&self) -> Offset {
        self.served_to
    }

    /// Whether the partition has no other replica.
    pub(super) fn is_alone(&self) -> bool {
        self.machine.view().replicas.len() == 1
    }

    /// Whether somebody waits for a commit.
    pub(super) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    pub(super) fn park_produce(&mut self, end: Offset, origin: Origin, produced: Produced) {
        self.park(end, Parked::Produce { origin, produced });
    }

    pub(super) fn park_group(&mut self, end: Offset, write: WriteId) {
        self.park(end, Parked::Group(write));
    }

    pub(super) fn park_new_start(&mut self, end: Offset, start: Offset) {
        self.park(end, Parked::NewStart(start));
    }

    /// New ends lie behind all others, but for a duplicate's, which belongs where its original ended.
    fn park(&mut self, end: Offset, parked: Parked) {
        let at = self.parked.partition_point(|(other, _)| *other <= end);
        self.parked.insert(at, (end, parked));
    }

    /// Ends the leadership for all who wait: what becomes of their records is not known.
    pub(super) fn dismiss<D: Disk>(self, core: &mut Core<D>, error: &PartitionError) {
        for (_, parked) in self.parked {
            if let Parked::Produce { origin, .. } = parked {
                core.answer(origin, PartitionAnswer::Failed(error.clone()));
            }
        }
        self.doubts.into_iter().for_each(|doubt| doubt.refuse(core, error));
        self.deletions.into_iter().for_each(|deletion| deletion.refuse(core, error));
        if let Some(coordination) = self.coordination {
            coordination.dismiss(core);
        }
    }
}

impl<D: Disk> Partition<D> {
    pub(super) fn act_as_leader(&mut self, core: &mut Core<D>, streams: &mut StreamTable) -> bool {
        let mut worked = false;
        while let Role::Leader(leader) = &mut self.role
            && let Some(action) = leader.machine.poll_action()
        {
            worked = true;
            self.do_leader_action(core, streams, action);
        }
        worked
    }

    fn do_leader_action(&mut self, core: &mut Core<D>, streams: &mut StreamTable, action: LeaderAction) {
        match action {
            LeaderAction::Close { stream, reason } => {
                tracing::debug!(partition = ?self.id, %stream, %reason, "closing a follower's stream");
                self.forget_pushes(stream);
                if streams.remove(&stream).is_some() {
                    core.actions.push_back(ShardAction::CloseReplica { stream });
                }
            }
            LeaderAction::Send { stream, frame } => send_frame(core, stream, &frame),
            LeaderAction::HighWatermark(to) => self.raise_high_watermark(core, to),
            LeaderAction::LowWatermark(to) => self.end_deletions(core, to),
            LeaderAction::Push(order) => self.push(core, order),
            LeaderAction::RequestIsr { attempt, proposal } => {
                let leaving = proposal.leaving.into_iter().map(|(broker, why)| (broker, leave_reason(why)));
                let (partition, leader_epoch) = (self.id, proposal.leader_epoch);
                core.tell_control(ControlRequest::Isr(IsrChange {
                    attempt: IsrAttempt { partition, leader_epoch, number: attempt },
                    broker_epoch: proposal.broker_epoch,
                    partition_epoch: proposal.partition_epoch,
                    members: proposal.members,
                    leaving: leaving.collect(),
                    proven: proposal.proven,
                }));
            }
            LeaderAction::Confirmed { attempt } => self.end_doubts(core, attempt),
            LeaderAction::Resign(_) => {
                if let Some(leader_epoch) = self.leader_epoch() {
                    core.tell_control(ControlRequest::Resign { partition: self.id, leader_epoch });
                }
            }
            LeaderAction::Alarm(alarm) => self.alarm(core, alarm),
            LeaderAction::ScrubBelowHighWatermark { follower } => {
                core.metrics.replication_alarms += 1;
                tracing::warn!(partition = ?self.id, %follower, "logs disagree: checking the own log");
                self.begin_scrub(core);
            }
        }
    }

    fn alarm(&self, core: &mut Core<D>, alarm: LeaderAlarm) {
        core.metrics.replication_alarms += 1;
        tracing::error!(partition = ?self.id, ?alarm, "a follower's log is not what it should be");
    }

    /// Serves up to the new high watermark: to those who wait for a commit, and to those who watch.
    fn raise_high_watermark(&mut self, core: &mut Core<D>, to: Offset) {
        self.log.set_high_watermark(to);
        let Role::Leader(leader) = &mut self.role else { return };
        leader.served_to = to;
        let mut new_start = None;
        while let Some((_, parked)) = leader.parked.pop_front_if(|(end, _)| *end <= to) {
            match parked {
                Parked::Produce { origin, produced } => {
                    core.answer(origin, PartitionAnswer::Produced(produced));
                }
                Parked::Group(write) => {
                    if let Some(coordination) = &mut leader.coordination {
                        coordination.handle_written(core.now, write, Ok(()));
                    }
                }
                Parked::NewStart(start) => new_start = Some(start),
            }
        }
        if let Some(start) = new_start {
            self.raise_log_start(core, start);
        }
        self.wake_watchers(core);
    }

    fn push(&mut self, core: &mut Core<D>, order: PushOrder) {
        let from = order.push.base_offset;
        if order.max_bytes == 0 {
            return self.send_push(core, order.stream, order.push, empty_at(from));
        }
        let limit = ReadLimit {
            max_bytes: order.max_bytes as u64,
            end: self.log.offsets().log_end(),
            at_least_one: true,
        };
        match self.log.read(&mut core.disk, from, limit) {
            Ok(ReadOutcome::Ready(read)) => self.send_push(core, order.stream, order.push, read),
            Ok(ReadOutcome::Pending(ticket)) => {
                self.reads
                    .insert(ticket.sequence, WaitingRead::Push { stream: order.stream, push: order.push });
            }
            Err(error) => self.push_failed(core, order.stream, from, &error),
        }
    }

    pub(super) fn send_push(
        &mut self,
        core: &mut Core<D>,
        stream: StreamId,
        push: Push,
        read: ReadSlices<D::File>,
    ) {
        let Role::Leader(leader) = &mut self.role else { return };
        let bytes = usize::try_from(read.bytes).expect("a push is limited to less");
        let next_offset = read.next_offset;
        let action = push_frame(stream, push, read);
        if let ShardAction::ReplicaSend { rope, .. } = &action {
            core.metrics.bytes_replicated_out += rope.len() as u64;
        }
        core.actions.push_back(action);
        leader.machine.handle_pushed(core.now.mono, stream, next_offset, bytes);
    }

    /// The follower's place is gone from the log, or the log cannot be read: the machine hears of either elsewhere; this
    /// push is over.
    pub(super) fn push_failed(
        &mut self,
        core: &mut Core<D>,
        stream: StreamId,
        from: Offset,
        error: &ReadError,
    ) {
        if let Some(left_out) = core.repeated.is_due(core.now.mono, Repeats::Push) {
            tracing::warn!(partition = ?self.id, %stream, %error, left_out, "cannot read what a follower needs");
        }
        if let Role::Leader(leader) = &mut self.role {
            leader.machine.handle_pushed(core.now.mono, stream, from, 0);
        }
    }

    fn forget_pushes(&mut self, stream: StreamId) {
        self.reads
            .retain(|_, read| !matches!(read, WaitingRead::Push { stream: other, .. } if *other == stream));
    }
}

/// A push and the batches that were read for it, as one frame.
pub(super) fn push_frame<F: Clone>(stream: StreamId, push: Push, read: ReadSlices<F>) -> ShardAction<F> {
    let bytes = usize::try_from(read.bytes).expect("a push is limited to less");
    let head = Segment::Bytes(push.encode(bytes).into());
    let batches = records_of(read.slices);
    let rope = Rope::from_segments(std::iter::once(head).chain(batches.segments().iter().cloned()));
    ShardAction::ReplicaSend { stream, rope }
}

pub(super) fn empty_at<F>(offset: Offset) -> ReadSlices<F> {
    ReadSlices { slices: Vec::new(), bytes: 0, next_offset: offset }
}

fn send_frame<D: Disk>(core: &mut Core<D>, stream: StreamId, frame: &LeaderFrame) {
    let head = Segment::Bytes(frame.encode().into());
    let batches = match frame {
        LeaderFrame::Push { batches, .. } => Records::from(batches.clone()),
        LeaderFrame::Refused { .. } | LeaderFrame::Lineage(_) => Records::EMPTY,
    };
    let rope = Rope::from_segments(std::iter::once(head).chain(batches.segments().iter().cloned()));
    core.actions.push_back(ShardAction::ReplicaSend { stream, rope });
}

const fn leave_reason(reason: replica_core::LeaveReason) -> LeaveReason {
    match reason {
        replica_core::LeaveReason::Lagging => LeaveReason::Lagging,
        replica_core::LeaveReason::Behind => LeaveReason::Behind,
    }
}

/// Reads under way, by the number of their ticket.
pub(super) type Reads = BTreeMap<u64, WaitingRead>;
