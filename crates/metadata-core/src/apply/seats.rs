//! The seats of one partition: who leaves, who enters the ELR, who is elected (C4, C5).

use std::collections::BTreeMap;
use std::sync::Arc;

use log_core::mutation::{Mutation, mutated};
use log_core::{BrokerEpoch, BrokerId, TopicPartition};

use crate::config::TopicSettings;
use crate::image::{Broker, ClusterEventKind, Condition, Partition, Standing};
use crate::outcome::Change;

/// One partition while a record changes it.
pub(super) struct Seats<'a> {
    pub(super) partition: Partition,
    pub(super) key: TopicPartition,
    brokers: &'a BTreeMap<BrokerId, Arc<Broker>>,
    min_isr: usize,
    touched: bool,
    events: Vec<ClusterEventKind>,
}

impl<'a> Seats<'a> {
    pub(super) fn new(
        brokers: &'a BTreeMap<BrokerId, Arc<Broker>>,
        settings: &TopicSettings,
        key: TopicPartition,
        partition: Partition,
    ) -> Self {
        let min_isr = crate::image::effective_min_isr(settings, &partition);
        Self { partition, key, brokers, min_isr, touched: false, events: Vec::new() }
    }

    /// Puts the partition back; its epoch grows once if anything changed.
    pub(super) fn finish(
        mut self,
        slot: &mut Arc<Partition>,
        changes: &mut Vec<Change>,
        events: &mut Vec<ClusterEventKind>,
    ) {
        if self.touched || self.partition != **slot {
            self.sort();
            self.partition.partition_epoch.0 += 1;
            *slot = Arc::new(self.partition);
            changes.push(Change::Partition(self.key));
            events.append(&mut self.events);
        }
    }

    /// Makes the partition epoch grow even if nothing else changes.
    pub(super) const fn touch(&mut self) {
        self.touched = true;
    }

    pub(super) fn event(&mut self, kind: ClusterEventKind) {
        self.events.push(kind);
    }

    pub(super) fn set_condition(&mut self, broker: BrokerId, condition: Condition) {
        if let Some(replica) = self.partition.replicas.iter_mut().find(|replica| replica.broker == broker) {
            replica.condition = condition;
        }
    }

    pub(super) fn set_reset(&mut self, broker: BrokerId, reset: Option<BrokerEpoch>) {
        if let Some(replica) = self.partition.replicas.iter_mut().find(|replica| replica.broker == broker) {
            replica.reset = reset;
        }
    }

    /// Some leave the ISR, all in one step: those that `may_enter` picks enter the ELR if fewer than min ISR remain (C4).
    pub(super) fn leave(&mut self, leaving: impl Fn(BrokerId) -> bool, may_enter: impl Fn(BrokerId) -> bool) {
        let (gone, stay) = self.partition.isr.iter().partition(|broker| leaving(**broker));
        let gone: Vec<BrokerId> = gone;
        let stay: Vec<BrokerId> = stay;
        let last = gone.first().copied().filter(|_| stay.is_empty());
        self.partition.isr = stay.into_iter().chain(mutated(Mutation::C4, None, last)).collect();
        if self.partition.sound_isr() < self.min_isr {
            self.enter_elr(gone.into_iter().filter(|broker| may_enter(*broker)));
        }
        self.normalise();
    }

    /// A broker loses its seat for good: what it held is gone or damaged (C3).
    pub(super) fn lose_seat(&mut self, broker: BrokerId) {
        self.partition.isr.retain(|member| *member != broker);
        self.partition.elr.retain(|member| mutated(Mutation::C5, *member != broker, true));
        self.normalise();
    }

    /// An ISR with min ISR sound members empties the ELR (C4).
    pub(super) fn normalise(&mut self) {
        if self.partition.sound_isr() >= mutated(Mutation::C6, self.min_isr, usize::MAX) {
            self.partition.elr.clear();
        }
    }

    /// Elects a leader if there is none or the present one cannot go on: a leader that has registered anew is not active,
    /// so that its leadership ends with its registration (C3). Every election makes the leader epoch grow.
    pub(super) fn elect(&mut self) {
        if self.leader_can_go_on() {
            return;
        }
        self.partition.leader = None;
        if let Some(elected) = self.candidate() {
            self.seat_leader(elected);
        }
    }

    /// Makes a member of ISR or ELR the leader. One of the ELR becomes the whole ISR; if that is below min ISR, the former
    /// ISR members become eligible in their turn.
    pub(super) fn seat_leader(&mut self, elected: BrokerId) {
        self.end_suspicion(elected);
        if !self.partition.isr.contains(&elected) {
            let former = std::mem::replace(&mut self.partition.isr, vec![elected]);
            self.partition.elr.retain(|member| *member != elected);
            if self.partition.sound_isr() < self.min_isr {
                self.enter_elr(former.into_iter());
            }
        }
        self.normalise();
        self.partition.leader = Some(elected);
        self.partition.leader_epoch.0 += mutated(Mutation::C8, 1, 0);
    }

    pub(super) fn is_active(&self, broker: BrokerId) -> bool {
        self.brokers.get(&broker).is_some_and(|found| found.standing == Standing::Active)
    }

    fn leader_can_go_on(&self) -> bool {
        let goes_on = |leader| {
            self.partition.isr.contains(&leader)
                && self.is_active(leader)
                && !self.partition.is_faulty(leader)
        };
        self.partition.leader.is_some_and(goes_on)
    }

    /// Whom C5 elects now: an active sound member of the ISR, else of the ELR; else, when every member is suspect, the
    /// one with the most, if it is active.
    fn candidate(&self) -> Option<BrokerId> {
        let sound = |seats: &[BrokerId]| {
            let electable = |broker: &BrokerId| {
                seats.contains(broker)
                    && self.is_active(*broker)
                    && mutated(Mutation::C18, self.condition(*broker) == Some(Condition::Sound), true)
            };
            self.partition.replica_brokers().find(electable)
        };
        sound(&self.partition.isr).or_else(|| sound(&self.partition.elr)).or_else(|| self.best_suspect())
    }

    fn best_suspect(&self) -> Option<BrokerId> {
        let seats = self.partition.replica_brokers().filter(|broker| self.partition.has_seat(*broker));
        let mut best = None;
        for broker in seats {
            let Some(Condition::Suspect { last_epoch, end }) = self.condition(broker) else { return None };
            let rank = (last_epoch, end, self.is_active(broker));
            if best.is_none_or(|(most, _)| rank > most) {
                best = Some((rank, broker));
            }
        }
        best.filter(|((.., active), _)| *active).map(|(_, broker)| broker)
    }

    fn condition(&self, broker: BrokerId) -> Option<Condition> {
        self.partition.replica(broker).map(|replica| replica.condition)
    }

    /// Being elected ends suspicion (C5), and is recorded.
    fn end_suspicion(&mut self, elected: BrokerId) {
        if let Some(Condition::Suspect { last_epoch, end }) = self.condition(elected) {
            self.event(ClusterEventKind::SuspectElected {
                partition: self.key,
                leader: elected,
                last_epoch,
                end,
            });
            self.set_condition(elected, Condition::Sound);
        }
    }

    fn enter_elr(&mut self, entering: impl Iterator<Item = BrokerId>) {
        for broker in entering {
            if !self.partition.is_faulty(broker) && !self.partition.has_seat(broker) {
                self.partition.elr.push(broker);
            }
        }
    }

    /// ISR and ELR stand in the order of preference, so that equal sets are equal lists.
    fn sort(&mut self) {
        let order: Vec<BrokerId> = self.partition.replica_brokers().collect();
        let position = |broker: &BrokerId| order.iter().position(|other| other == broker);
        self.partition.isr.sort_by_key(position);
        self.partition.elr.sort_by_key(position);
    }
}
