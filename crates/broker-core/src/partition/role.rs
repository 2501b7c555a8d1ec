//! The role of a replica and how it changes: only by an applied record, a finished cut or drop, damage, or the stop.
//!
//! ```text
//!            named as leader, registered, unfenced, nothing cut (L1)
//!   Idle ───────────────────────────────────────────────► Leader
//!    │ ▲                                                    │
//!    │ └─────────── another leader or epoch (L10) ──────────┘
//!    │ another leads                   damage found
//!    └──────────────► Follower    any ─────────────► Damaged ── seat lost, all dropped, reset applied ──► Idle
//!                                                      └─────── elected by an operator, salvaged ──────► Idle
//! ```

use log_core::mutation::{Mutation, on};
use log_core::{BrokerEpoch, LeaderEpoch, MonoTime, Offset, TopicPartition};
use log_store::{Disk, Fault};
use metadata_core::Condition;
use replica_core::{CloseReason, Leader, LeaderStart, LogFacts, PartitionView};

use super::follower::FollowerRole;
use super::leader::LeaderRole;
use super::view::{log_facts, partition_view};
use super::{Partition, StreamTable};
use crate::error::PartitionError;
use crate::message::{self, ControlRequest};
use crate::peer::PartitionAnswer;
use crate::shard::Core;

/// How long a report to Control may stay without effect before it is repeated.
const REPORT_AGAIN: std::time::Duration = std::time::Duration::from_millis(1_500);

#[derive(Debug)]
pub(crate) enum Role {
    /// Nothing is led or followed: no leader, no registration, a cut is running, or a recovery.
    Idle,
    Leader(Box<LeaderRole>),
    Follower(Box<FollowerRole>),
    Damaged(Damaged),
    /// The broker stops, or the replica is removed.
    Closing,
}

/// A damaged replica: served by nobody, until it has lost its seat, dropped all and begun anew, or an operator has elected
/// it.
#[derive(Debug)]
pub(crate) struct Damaged {
    fault: Fault,
    /// The replica epoch under which the damage was reported, or known. Under a later one it was elected in spite of it.
    epoch: Option<BrokerEpoch>,
    step: DamagedStep,
    retry_at: Option<MonoTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DamagedStep {
    /// For the record that takes its seat.
    AwaitingSeatLoss,
    Dropping,
    /// For the record that says it begins anew.
    AwaitingReset,
    /// An operator elected it: for what the log has under way, before what can be read of it is kept.
    AwaitingQuiet,
    Salvaging,
}

impl<D: Disk> Partition<D> {
    /// Brings the role in line with the image.
    pub(crate) fn reconcile(&mut self, core: &mut Core<D>, streams: &mut StreamTable) {
        let Some(topic) = core.image.topic_shared(self.id.topic_id) else { return };
        self.take_topic(topic, core);
        let Some(view) = partition_view(&core.image, self.id) else { return };
        self.clear_suspicion(core, &view);
        match &self.role {
            Role::Closing => return,
            Role::Damaged(_) => return self.reconcile_damaged(core, &view),
            Role::Idle | Role::Leader(_) | Role::Follower(_) => {}
        }
        let registered = registered(core);
        let known = view.replica(core.broker()).is_some_and(|own| own.faulty);
        let reported = registered && std::mem::take(&mut self.reported_faulty);
        if (known || reported) && registered {
            // Reported at the start, or by an earlier process.
            let fault = self.log.fault().unwrap_or(Fault::BelowBound { at: self.log.offsets().log_end() });
            self.become_damaged(core, streams, fault, core.broker_epoch().filter(|_| reported));
            return self.reconcile_damaged(core, &view);
        }
        let ready = (registered || on(Mutation::B1)) && self.recovered && self.log.fault().is_none();
        self.follow_view(core, streams, view, ready);
    }

    fn follow_view(
        &mut self,
        core: &mut Core<D>,
        streams: &mut StreamTable,
        view: PartitionView,
        ready: bool,
    ) {
        let now = core.now.mono;
        match &mut self.role {
            Role::Leader(leader) => {
                leader.machine.handle_view(now, view.clone());
                self.act_as_leader(core, streams);
                let Role::Leader(leader) = &self.role else { return };
                if leader.machine.is_leading() {
                    return;
                }
                self.end_leadership(core, &PartitionError::LeadershipLost);
            }
            Role::Follower(follower) => {
                let leads = view.leader == Some(core.broker());
                let own = view.replica(core.broker()).map(|own| own.broker_epoch);
                if !leads && own == Some(follower.own_epoch) {
                    return follower.machine.handle_view(now, view);
                }
                self.end_following(core, streams);
            }
            Role::Idle | Role::Damaged(_) | Role::Closing => {}
        }
        if ready {
            self.take_role(core, view);
        }
    }

    /// Leads or follows, if it may now; asked again after the next record or cut.
    fn take_role(&mut self, core: &mut Core<D>, view: PartitionView) {
        let Some(own_epoch) = view.replica(core.broker()).map(|own| own.broker_epoch) else { return };
        let leads = view.leader == Some(core.broker());
        self.role = match leads {
            true => self.lead(core, view, own_epoch),
            false => Role::Follower(Box::new(FollowerRole::new(
                core,
                view,
                own_epoch,
                log_facts(&self.log),
                self.last_session,
                self.settings,
            ))),
        };
        self.wake_watchers(core);
    }

    fn lead(&mut self, core: &mut Core<D>, view: PartitionView, own_epoch: BrokerEpoch) -> Role {
        let first_batch = self.first_batch(core);
        let start = LeaderStart {
            own: core.broker(),
            own_epoch: Some(own_epoch),
            view,
            log: LogFacts { first_batch, ..log_facts(&self.log) },
            settings: self.settings,
            seed: core.config.seed ^ self.log.id().0,
        };
        match Leader::new(core.now.mono, start) {
            Ok(machine) => {
                core.metrics.leaderships_begun += 1;
                let role = LeaderRole::new(core, machine, self.is_groups_log(), self.id);
                self.next_retention = core.now.mono.after(super::open::first_retention_after(self.log.id()));
                Role::Leader(Box::new(role))
            }
            Err(_) => Role::Idle,
        }
    }

    /// Answers whoever waited for this leadership, and ends it. Its streams are closed already.
    pub(super) fn end_leadership(&mut self, core: &mut Core<D>, error: &PartitionError) {
        self.refuse_incoming(core, error);
        if let Role::Leader(leader) = std::mem::replace(&mut self.role, Role::Idle) {
            self.keep_old_epoch(&leader.machine);
            leader.dismiss(core, error);
        }
        self.refuse_reads(core, error);
        self.wake_watchers(core);
    }

    fn end_following(&mut self, core: &mut Core<D>, streams: &mut StreamTable) {
        if let Role::Follower(follower) = &mut self.role {
            follower.machine.stop(CloseReason::EpochLeft);
            self.act_as_follower(core, streams);
        }
        self.role = Role::Idle;
    }

    /// Leaves whatever role it has, closing its streams.
    pub(super) fn leave(&mut self, core: &mut Core<D>, streams: &mut StreamTable, error: &PartitionError) {
        match &mut self.role {
            Role::Leader(leader) => {
                leader.machine.leave(CloseReason::Stopping);
                self.act_as_leader(core, streams);
                self.end_leadership(core, error);
            }
            Role::Follower(_) => self.end_following(core, streams),
            Role::Idle | Role::Damaged(_) | Role::Closing => {}
        }
    }

    pub(super) fn take_fault(&mut self, core: &mut Core<D>, streams: &mut StreamTable, fault: Fault) {
        core.metrics.replicas_damaged += 1;
        // Damage met by a recovery is what this one found: nobody waits for the rest.
        self.note_recovered(core);
        self.gone |= matches!(self.role, Role::Closing);
        tracing::error!(partition = ?self.id, %fault, "replica is damaged: it gives up its seat, and is copied anew where another one leads");
        self.become_damaged(core, streams, fault, None);
        if let Role::Damaged(damaged) = &mut self.role {
            if damaged.step == DamagedStep::Salvaging {
                // Nothing was cut: the operator may elect it again, when there is room or the medium reads.
                (damaged.step, damaged.fault) = (DamagedStep::AwaitingSeatLoss, fault);
            }
            damaged.report(core, self.id);
        }
    }

    fn become_damaged(
        &mut self,
        core: &mut Core<D>,
        streams: &mut StreamTable,
        fault: Fault,
        epoch: Option<BrokerEpoch>,
    ) {
        if matches!(self.role, Role::Damaged(_) | Role::Closing) {
            return;
        }
        self.scrub = None;
        self.leave(core, streams, &PartitionError::Damaged);
        let step = DamagedStep::AwaitingSeatLoss;
        self.role = Role::Damaged(Damaged { fault, epoch, step, retry_at: None });
    }

    /// C3: a faulty replica that is out of ISR and ELR drops all and begins anew as an empty follower. Not while nobody leads: then there
    /// is nobody to copy from, and what it has may be all that is left (ADR 0013).
    fn reconcile_damaged(&mut self, core: &mut Core<D>, view: &PartitionView) {
        let own = core.broker();
        let Role::Damaged(damaged) = &mut self.role else { return };
        let faulty = view.replica(own).is_some_and(|replica| replica.faulty);
        let epoch = view.replica(own).map(|replica| replica.broker_epoch);
        if faulty && registered(core) {
            damaged.epoch = epoch;
        }
        let elected = view.leader == Some(own) && damaged.epoch.is_some() && epoch != damaged.epoch;
        match damaged.step {
            DamagedStep::AwaitingSeatLoss if elected && !faulty && registered(core) => {
                (damaged.step, damaged.retry_at) = (DamagedStep::AwaitingQuiet, None);
            }
            DamagedStep::AwaitingSeatLoss
                if faulty && !view.has_seat(own) && view.leader.is_some() && registered(core) =>
            {
                damaged.retry_at = None;
                if self.log.begin_drop_all(&mut core.disk, Offset::ZERO).is_ok() {
                    damaged.step = DamagedStep::Dropping;
                }
            }
            DamagedStep::AwaitingSeatLoss if !faulty => damaged.report(core, self.id),
            DamagedStep::AwaitingReset if !faulty => {
                self.role = Role::Idle;
                if let Some(view) = partition_view(&core.image, self.id) {
                    self.take_role(core, view);
                }
            }
            DamagedStep::AwaitingReset
            | DamagedStep::AwaitingSeatLoss
            | DamagedStep::Dropping
            | DamagedStep::AwaitingQuiet
            | DamagedStep::Salvaging => {}
        }
    }

    /// An operator elected this damaged replica: what can be read of it is kept, and leads (ADR 0016). Once nothing of what the log
    /// asked the disk for is on its way.
    pub(super) fn salvage_if_elected(&mut self, core: &mut Core<D>) {
        let Role::Damaged(damaged) = &mut self.role else { return };
        if damaged.step != DamagedStep::AwaitingQuiet || !self.log.is_quiet() {
            return;
        }
        let Some(state) = core.image.partition(self.id) else { return };
        match self.log.begin_salvage(&mut core.disk, state.leader_epoch, core.now) {
            Ok(()) => {
                let end = self.log.offsets().log_end();
                tracing::warn!(partition = ?self.id, %end, "elected though it was damaged: what follows is lost");
                damaged.step = DamagedStep::Salvaging;
            }
            Err(error) => {
                tracing::error!(partition = ?self.id, %error, "a damaged replica cannot be salvaged");
                damaged.step = DamagedStep::AwaitingSeatLoss;
                damaged.report(core, self.id);
            }
        }
    }

    /// What could be read of a damaged log is durable: it takes the role that it was elected for.
    pub(super) fn end_salvage(&mut self) {
        if matches!(&self.role, Role::Damaged(damaged) if damaged.step == DamagedStep::Salvaging) {
            self.role = Role::Idle;
        }
    }

    pub(super) fn take_dropped(&mut self, core: &mut Core<D>, streams: &mut StreamTable, start_at: Offset) {
        self.end_salvage();
        if let Role::Damaged(damaged) = &mut self.role {
            damaged.step = DamagedStep::AwaitingReset;
            return damaged.report(core, self.id);
        }
        self.take_cut_finished(core, streams, start_at);
    }

    /// C5: the mark is cleared once the record that ends the suspicion is applied, under the present registration.
    fn clear_suspicion(&mut self, core: &mut Core<D>, view: &PartitionView) {
        let cleared = view.replica(core.broker()).is_some_and(|own| !own.suspect);
        if cleared && registered(core) && self.log.suspect().is_some() {
            self.log.clear_suspicion(&mut core.disk);
        }
    }

    pub(super) fn leader_epoch(&self) -> Option<LeaderEpoch> {
        match &self.role {
            Role::Leader(leader) => Some(leader.machine.epoch()),
            Role::Idle | Role::Follower(_) | Role::Damaged(_) | Role::Closing => None,
        }
    }

    /// A cut of the follower's log is done; whoever could not take a role, or drop a damaged log, because of it may now.
    pub(super) fn take_cut_finished(&mut self, core: &mut Core<D>, streams: &mut StreamTable, at: Offset) {
        match &mut self.role {
            Role::Follower(follower) => {
                follower.machine.handle_cut_finished(core.now.mono, log_facts(&self.log));
                tracing::debug!(partition = ?self.id, %at, "cut");
            }
            Role::Idle | Role::Damaged(_) => self.reconcile(core, streams),
            Role::Leader(_) | Role::Closing => {}
        }
    }
}

impl Damaged {
    /// Tells Control what it waits for, and again if that has no effect.
    fn report<D: Disk>(&mut self, core: &mut Core<D>, partition: TopicPartition) {
        let Some(state) = core.image.partition(partition) else { return };
        let partition_epoch = state.partition_epoch;
        let known = state.replica(core.broker()).is_some_and(|own| own.condition == Condition::Faulty);
        self.retry_at = Some(core.now.mono.after(REPORT_AGAIN));
        match self.step {
            DamagedStep::AwaitingSeatLoss if !known && registered(core) => {
                self.epoch = core.image.replica_epoch(partition, core.broker());
                let fault = fault_of(self.fault);
                core.tell_control(ControlRequest::ReportFaulty { partition, partition_epoch, fault });
            }
            DamagedStep::AwaitingReset => {
                core.tell_control(ControlRequest::ReplicaReset { partition, partition_epoch });
            }
            DamagedStep::AwaitingSeatLoss
            | DamagedStep::Dropping
            | DamagedStep::AwaitingQuiet
            | DamagedStep::Salvaging => {}
        }
    }

    pub(super) fn retry<D: Disk>(&mut self, core: &mut Core<D>, partition: TopicPartition) {
        self.report(core, partition);
    }

    pub(super) fn retry_at(&self) -> Option<MonoTime> {
        self.retry_at
    }
}

/// Whether this incarnation's registration is the applied one.
fn registered<D: Disk>(core: &Core<D>) -> bool {
    let applied = core.image.broker(core.broker()).map(|broker| broker.epoch);
    core.broker_epoch().is_some_and(|own| applied == Some(own))
}

const fn fault_of(fault: Fault) -> message::Fault {
    match fault {
        Fault::BoundUnreadable => message::Fault::Lost,
        Fault::BelowBound { at } | Fault::BadBatch { at } | Fault::Unreadable { at, .. } => {
            message::Fault::Damaged { at }
        }
        _ => message::Fault::Lost,
    }
}

impl<D: Disk> Partition<D> {
    /// Answers everything that waits and is not appended.
    pub(super) fn refuse_incoming(&mut self, core: &mut Core<D>, error: &PartitionError) {
        for incoming in self.incoming.drain(..) {
            core.answer(incoming.origin, PartitionAnswer::Failed(error.clone()));
        }
    }
}
