//! The metadata log of one partition, and the controller's rules as far as replication needs them (C1 to C5).

use alloc::vec::Vec;

use log_core::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch};

use super::id;
use crate::action::{IsrProposal, LeaveReason};
use crate::testing::PARTITION;
use crate::view::{PartitionView, ReplicaView};

/// The epoch under which all brokers are registered at first.
pub(crate) const FIRST_EPOCH: BrokerEpoch = BrokerEpoch(1);

/// The log: what the partition was after each record, and who registered by it.
pub(crate) struct Metadata {
    pub(crate) history: Vec<PartitionView>,
    /// (record, broker, incarnation)
    pub(crate) registrations: Vec<(usize, BrokerId, u64)>,
}

impl Metadata {
    pub(crate) fn new(brokers: usize, min_isr: usize) -> Self {
        let replica = |broker| ReplicaView {
            broker: id(broker),
            broker_epoch: FIRST_EPOCH,
            fenced: false,
            shutting_down: false,
            faulty: false,
            suspect: false,
        };
        let first = PartitionView {
            partition: PARTITION,
            leader: Some(id(0)),
            leader_epoch: LeaderEpoch(0),
            partition_epoch: PartitionEpoch(0),
            isr: (0..brokers).map(id).collect(),
            elr: Vec::new(),
            effective_min_isr: min_isr.min(brokers),
            confirms_log_starts: true,
            replicas: (0..brokers).map(replica).collect(),
        };
        Self { history: Vec::from([first]), registrations: Vec::new() }
    }

    /// The newest state.
    pub(crate) fn head(&self) -> &PartitionView {
        self.history.last().expect("there is a first one")
    }

    fn record(&mut self, view: PartitionView) {
        self.history.push(view);
    }

    /// C3. A new disk costs every seat.
    pub(crate) fn register(&mut self, broker: BrokerId, incarnation: u64, new_disk: bool) {
        let mut view = self.head().clone();
        let record = self.history.len();
        let replica = replica_mut(&mut view, broker);
        replica.broker_epoch = BrokerEpoch(100 + record as i64);
        replica.fenced = true;
        if new_disk && view.has_seat(broker) {
            view.isr.retain(|member| *member != broker);
            view.elr.retain(|member| *member != broker);
            view.partition_epoch.0 += 1;
        }
        if view.leader == Some(broker) {
            elect(&mut view, None);
        }
        self.record(view);
        self.registrations.push((record, broker, incarnation));
    }

    /// C4. Whoever leaves while fewer than min ISR remain enters the ELR.
    pub(crate) fn fence(&mut self, broker: BrokerId) {
        let mut view = self.head().clone();
        replica_mut(&mut view, broker).fenced = true;
        if view.in_isr(broker) {
            view.isr.retain(|member| *member != broker);
            leave(&mut view, &[broker]);
            view.partition_epoch.0 += 1;
        }
        elect_if_needed(&mut view);
        self.record(view);
    }

    pub(crate) fn unfence(&mut self, broker: BrokerId) {
        let mut view = self.head().clone();
        replica_mut(&mut view, broker).fenced = false;
        elect_if_needed(&mut view);
        self.record(view);
    }

    /// Another unfenced member of the ISR leads from now on.
    pub(crate) fn prefer(&mut self, broker: BrokerId) {
        let mut view = self.head().clone();
        let fit = view.replica(broker).is_some_and(|replica| !replica.fenced);
        if view.in_isr(broker) && fit && view.leader != Some(broker) {
            elect(&mut view, Some(broker));
            self.record(view);
        }
    }

    /// C1 and C2, checked when applied.
    pub(crate) fn change_isr(&mut self, from: BrokerId, proposal: &IsrProposal) -> bool {
        let view = self.head();
        let current = view.leader == Some(from)
            && view.leader_epoch == proposal.leader_epoch
            && view.partition_epoch == proposal.partition_epoch
            && view.replica(from).is_some_and(|replica| replica.broker_epoch == proposal.broker_epoch);
        let fit = |(member, epoch): &(BrokerId, BrokerEpoch)| {
            let known = view.replica(*member).filter(|replica| replica.broker_epoch == *epoch);
            known.is_some_and(|replica| view.in_isr(*member) || !replica.fenced)
        };
        let leads = proposal.members.iter().any(|(member, _)| *member == from);
        if !(current && leads && proposal.members.iter().all(fit)) {
            return false;
        }
        let mut view = view.clone();
        let members: Vec<BrokerId> = proposal.members.iter().map(|(member, _)| *member).collect();
        let behind = |broker: &BrokerId| proposal.leaving.contains(&(*broker, LeaveReason::Behind));
        let gone: Vec<BrokerId> =
            view.isr.iter().copied().filter(|member| !members.contains(member) && !behind(member)).collect();
        view.elr.retain(|member| !members.contains(member));
        view.isr = members;
        leave(&mut view, &gone);
        view.partition_epoch.0 += 1;
        self.record(view);
        true
    }
}

fn replica_mut(view: &mut PartitionView, broker: BrokerId) -> &mut ReplicaView {
    view.replicas.iter_mut().find(|replica| replica.broker == broker).expect("all brokers are replicas")
}

fn leave(view: &mut PartitionView, gone: &[BrokerId]) {
    if view.has_min_isr() {
        view.elr.clear();
    } else {
        view.elr.extend_from_slice(gone);
    }
}

fn elect_if_needed(view: &mut PartitionView) {
    let leads =
        |leader: BrokerId| view.in_isr(leader) && view.replica(leader).is_some_and(|replica| !replica.fenced);
    if !view.leader.is_some_and(leads) {
        elect(view, None);
    }
}

/// C5: an unfenced member of the ISR, else of the ELR.
fn elect(view: &mut PartitionView, preferred: Option<BrokerId>) {
    let fit = |broker: &BrokerId| view.replica(*broker).is_some_and(|replica| !replica.fenced);
    let found = preferred.or_else(|| view.isr.iter().chain(&view.elr).copied().find(fit));
    view.leader = found;
    view.partition_epoch.0 += 1;
    let Some(leader) = found else { return };
    view.leader_epoch.0 += 1;
    if !view.in_isr(leader) {
        let gone = core::mem::take(&mut view.isr);
        view.isr = Vec::from([leader]);
        view.elr.retain(|member| *member != leader);
        leave(view, &gone);
    }
}
