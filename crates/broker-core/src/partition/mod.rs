//! A partition of this shard: its log, its role, and the requests that wait for it.
//!
//! Whatever happens to a partition is noted first (`take_*`, `call`) and worked on when the burst ends, in
//! [`Partition::settle`]: the batches that came are appended in one write, one sync is asked for, then events of the log
//! and actions of the role's machine are carried out until there are none, then those who waited are answered.

mod append;
mod coordinate;
mod deletion;
mod doubt;
mod follower;
mod leader;
mod list;
mod old_epoch;
mod open;
mod read;
mod rewrite;
mod role;
mod scrub;
mod stream;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use log_core::{MonoTime, Offset, Session, TopicPartition};
use log_store::{Completion, Disk, Fault, LogEvent, LogId, PartitionLog, StartVerdict};
use metadata_core::Topic;
use replica_core::{Leader, Settings, StreamId};

use crate::action::ShardAction;
use crate::error::PartitionError;
use crate::message::{ExitCode, IsrAnswer, IsrAttempt};
use crate::peer::{Origin, PartitionAnswer, PartitionCall};
use crate::shard::{Core, Timer};
use append::Incoming;
pub(crate) use open::{directory, topic_directory};
use read::WaitingRead;
pub(crate) use role::Role;
use scrub::Scrub;

/// Which replication stream belongs to which partition, and on which side.
pub(crate) type StreamTable = BTreeMap<StreamId, crate::shard::StreamUse>;

#[derive(Debug)]
pub(crate) struct Partition<D: Disk> {
    pub(crate) id: TopicPartition,
    topic: Arc<Topic>,
    log: PartitionLog<D>,
    verdict: StartVerdict,
    /// Whether what start-up found is durable.
    recovered: bool,
    /// The registration names it as damaged, and this was not acted upon yet.
    reported_faulty: bool,
    role: Role,
    /// Batches of clients that are checked and not appended yet.
    incoming: Vec<Incoming>,
    /// Reads of cold bytes, by the number of their ticket.
    reads: BTreeMap<u64, WaitingRead>,
    /// Fetches that wait for more than they saw.
    watchers: Vec<Origin>,
    /// Up to here somebody looked for what is committed, and went on without waiting.
    sought_to: Offset,
    next_retention: MonoTime,
    /// No leadership is given up for a full disk before.
    resign_after: MonoTime,
    /// When a leader looks again where its first batch begins, if no file descriptor was free for that.
    first_batch_at: Option<MonoTime>,
    timer: Option<MonoTime>,
    settings: Settings,
    /// The last session that this replica opened as a follower.
    last_session: Session,
    /// When a follower whose log refused an append tries again.
    restart_at: Option<MonoTime>,
    scrub: Option<Scrub>,
    /// Damage that a re-reading found.
    found: Option<Fault>,
    /// The machine of an epoch that was left, which is none but where L10 is broken.
    old_epoch: Option<Box<Leader>>,
    gone: bool,
}

impl<D: Disk> Partition<D> {
    pub(crate) fn log_id(&self) -> LogId {
        self.log.id()
    }

    /// Whether its log may be trusted by the next start without a look.
    pub(crate) fn is_sound(&self) -> bool {
        self.log.fault().is_none() && self.log.poisoned().is_none()
    }

    /// Whether nothing of it is left.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Takes a call; its answer comes at once, when the burst is worked on, or when what it waits for happens.
    pub(crate) fn call(&mut self, core: &mut Core<D>, origin: Origin, call: PartitionCall) {
        match call {
            PartitionCall::Produce(produce) => self.take_produce(core, origin, produce),
            PartitionCall::Fetch(fetch) => self.take_fetch(core, origin, fetch),
            PartitionCall::Watch { seen } => self.watch(core, origin, seen),
            PartitionCall::Unwatch => self.watchers.retain(|watcher| *watcher != origin),
            PartitionCall::ListOffset(list) => self.take_list(core, origin, list),
            PartitionCall::EpochEnd { current_leader_epoch, epoch } => {
                let answer = self.epoch_end(current_leader_epoch, epoch);
                core.answer(origin, answer.unwrap_or_else(PartitionAnswer::Failed));
            }
            PartitionCall::DeleteRecords { to, until } => self.take_deletion(core, origin, to, until),
            PartitionCall::Size => core.answer(origin, PartitionAnswer::Sized(self.size())),
            PartitionCall::Group(group) => self.take_group_call(core, origin, group),
        }
    }

    pub(crate) fn take_completion(&mut self, core: &mut Core<D>, completion: Completion) {
        self.log.handle_completion(&mut core.disk, core.now, completion);
    }

    pub(crate) fn take_isr_answer(&mut self, core: &Core<D>, attempt: IsrAttempt, answer: IsrAnswer) {
        let IsrAttempt { leader_epoch, number, .. } = attempt;
        if let Role::Leader(leader) = &mut self.role {
            let answer = view::isr_answer(answer);
            leader.machine.handle_isr_answer(core.now.mono, leader_epoch, number, answer);
        }
    }

    /// The partition's own timer has come.
    pub(crate) fn take_timeout(&mut self, core: &mut Core<D>) {
        self.timer = None;
        self.log.tick(&mut core.disk, core.now);
        self.scrub_step(core);
        match &mut self.role {
            Role::Leader(leader) => {
                leader.machine.handle_timeout(core.now.mono);
                if let Some(coordination) = &mut leader.coordination {
                    coordination.handle_timeout(core.now);
                }
                self.apply_retention(core);
                self.look_for_first_batch(core);
                self.expire_doubts(core);
            }
            Role::Follower(follower) => {
                follower.machine.handle_timeout(core.now.mono);
                self.restart_follower(core);
            }
            Role::Damaged(damaged) => damaged.retry(core, self.id),
            Role::Idle | Role::Closing => {}
        }
    }

    /// Works on everything that was noted, until the partition rests.
    pub(crate) fn settle(&mut self, core: &mut Core<D>, streams: &mut StreamTable) {
        loop {
            if let Some(fault) = self.found.take() {
                self.take_fault(core, streams, fault);
            }
            self.append_incoming(core);
            self.salvage_if_elected(core);
            let mut worked = false;
            while let Some(event) = self.log.poll_event() {
                self.take_event(core, streams, event);
                worked = true;
            }
            worked |= self.act(core, streams);
            worked |= self.push_from_old_epoch(core);
            worked |= self.coordinate(core);
            if !worked && self.incoming.is_empty() && self.found.is_none() {
                break;
            }
        }
        if self.durability_is_awaited() {
            self.log.sync(&mut core.disk);
        } else {
            self.log.sync_lazily(&mut core.disk);
        }
        if self.log.poisoned().is_some() {
            core.actions.push_back(ShardAction::Stop(ExitCode::DirectoryPoisoned));
        }
        self.schedule(core);
    }

    /// Whether anybody waits for what was appended to be durable. The leader of other replicas does not know of all who
    /// wait for it, and a follower of none.
    fn durability_is_awaited(&self) -> bool {
        let sought = self.log.offsets().durable_end() < self.sought_to;
        match &self.role {
            Role::Leader(leader) => {
                !leader.is_alone() || leader.has_parked() || !self.watchers.is_empty() || sought
            }
            Role::Follower(_) | Role::Idle | Role::Damaged(_) | Role::Closing => true,
        }
    }

    fn take_event(&mut self, core: &mut Core<D>, streams: &mut StreamTable, event: LogEvent<D::File>) {
        let now = core.now.mono;
        match event {
            LogEvent::DurableEnd(end) => match &mut self.role {
                Role::Leader(leader) => leader.machine.handle_durable(now, end),
                Role::Follower(follower) => follower.machine.handle_durable(now, end),
                Role::Idle | Role::Damaged(_) | Role::Closing => {}
            },
            LogEvent::DurableLogStart(start) => match &mut self.role {
                Role::Leader(leader) => leader.machine.handle_durable_log_start(now, start),
                Role::Follower(follower) => follower.machine.handle_durable_log_start(now, start),
                Role::Idle | Role::Damaged(_) | Role::Closing => {}
            },
            LogEvent::Recovered { .. } => {
                self.note_recovered(core);
                self.end_salvage();
                self.reconcile(core, streams);
            }
            LogEvent::CutFinished { at } => self.take_cut_finished(core, streams, at),
            LogEvent::Dropped { start_at } => {
                // A start that finds a drop half done ends it, and is over with it.
                self.note_recovered(core);
                self.take_dropped(core, streams, start_at);
            }
            LogEvent::ReadReady { ticket, result } => self.take_read(core, ticket, result),
            LogEvent::SuspicionCleared => {}
            LogEvent::Faulty(fault) => self.take_fault(core, streams, fault),
            LogEvent::Poisoned(_) => {
                core.actions.push_back(ShardAction::Stop(ExitCode::DirectoryPoisoned));
            }
            LogEvent::Closed => self.gone = true,
            _ => {}
        }
    }

    pub(super) fn note_recovered(&mut self, core: &mut Core<D>) {
        if !std::mem::replace(&mut self.recovered, true) {
            core.metrics.logs_recovering = core.metrics.logs_recovering.saturating_sub(1);
        }
    }

    /// The role's machine says what to do.
    fn act(&mut self, core: &mut Core<D>, streams: &mut StreamTable) -> bool {
        match &self.role {
            Role::Leader(_) => self.act_as_leader(core, streams),
            Role::Follower(_) => self.act_as_follower(core, streams),
            Role::Idle | Role::Damaged(_) | Role::Closing => false,
        }
    }

    /// Those who watch look again.
    fn wake_watchers(&mut self, core: &mut Core<D>) {
        core.moved.extend(self.watchers.drain(..));
    }

    /// Why this partition does not lead, if it does not.
    fn not_leading(&self) -> PartitionError {
        match &self.role {
            Role::Damaged(_) => PartitionError::Damaged,
            Role::Closing => PartitionError::Stopping,
            Role::Leader(_) | Role::Follower(_) | Role::Idle => PartitionError::NotLeader,
        }
    }

    fn schedule(&mut self, core: &mut Core<D>) {
        let role = match &self.role {
            Role::Leader(leader) => {
                let groups = leader.coordination.as_ref().and_then(|groups| groups.poll_timeout());
                let retention = self.retains().then_some(self.next_retention);
                let doubt = leader.doubts.iter().map(doubt::Doubt::until).min();
                let timers = [leader.machine.poll_timeout(), groups, retention, doubt, self.first_batch_at];
                timers.into_iter().flatten().min()
            }
            Role::Follower(follower) => {
                follower.machine.poll_timeout().into_iter().chain(self.restart_at).min()
            }
            Role::Damaged(damaged) => damaged.retry_at(),
            Role::Idle | Role::Closing => None,
        };
        let scrub = self.scrub.as_ref().map(|scrub| scrub.at);
        let next = role.into_iter().chain(self.log.poll_timeout()).chain(scrub).min();
        core.reschedule(Timer::Partition(self.id), self.timer, next);
        self.timer = next;
    }

    /// Somebody who does not wait finds less committed than the log holds, and may look again.
    fn note_sought(&mut self) {
        self.sought_to = self.log.offsets().log_end();
    }

    fn high_watermark(&self) -> Offset {
        self.log.offsets().high_watermark()
    }
}
