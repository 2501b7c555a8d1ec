//! Faults of several steps, each for one moment at which a rule is needed and which others meet too rarely.

use std::collections::BTreeMap;

use log_core::{MetadataOffset, TopicId, TopicPartition};
use metadata_core::{Entry, MetadataRecord, Partition, Proposal};

use super::World;
use super::machine::{broker_id, index_of};
use super::queue::{Event, Mend, ProcessId};
use crate::dice::Dice;
use crate::plan::{Fault, MS, US};

/// What is waited for.
#[derive(Debug, Default)]
pub(super) struct Moments {
    /// Brokers that lose power soon after their next start.
    after_start: BTreeMap<usize, u64>,
    /// The next topic that is made brings a power cut.
    at_creation: Option<u64>,
    /// The next follower that is to be let into an ISR is away then; until when that is waited for.
    at_entry: Option<(u64, u64)>,
}

impl World {
    pub(super) fn pointed_fault(&mut self, fault: Fault) {
        match fault {
            Fault::DieTwice { broker, seed } => self.die_twice(broker, seed),
            Fault::StopThenPower { broker, seed } => {
                self.moments.after_start.insert(broker, seed);
                self.ask_to_stop(broker, Dice::new(seed, 15).between(5 * MS, 100 * MS));
            }
            Fault::PowerAtCreation { topic, after, seed } if topic < self.plan.topics.len() => {
                self.operator.unwant(topic);
                self.moments.at_creation = Some(seed);
                self.plan(self.now + after, Event::Mend(Mend::Topic(topic)));
            }
            Fault::PowerInCut { seed } => self.power_in_cut(seed),
            Fault::AwayWhenLetIn { seed } => self.away_when_let_in(seed),
            Fault::Depose { seed } => self.depose(seed),
            _ => {}
        }
    }

    /// What the first process left in the cache, the second finds, and the power cut takes.
    fn die_twice(&mut self, broker: usize, seed: u64) {
        let mut dice = Dice::new(seed, 14);
        self.machine_mut(broker).disk_factor = dice.pick(&[1, 5, 20]);
        let dies = self.now + dice.between(5 * MS, 150 * MS);
        let down = dice.between(MS, 20 * MS);
        self.plan(dies, Event::Mend(Mend::Dies(broker, down, None)));
        let again = dies + down + dice.between(100 * US, dice.clone().pick(&[2 * MS, 20 * MS, 200 * MS]));
        self.plan(again, Event::Mend(Mend::Dies(broker, dice.between(MS, 200 * MS), Some(dice.throw()))));
        self.plan(again + 300 * MS, Event::Mend(Mend::Disk(broker)));
    }

    /// A process has started.
    pub(super) fn after_start(&mut self, broker: usize) {
        if let Some(seed) = self.moments.after_start.remove(&broker) {
            let mut dice = Dice::new(seed, 16);
            let at = self.now + dice.between(20 * MS, 1_500 * MS);
            let down = dice.between(MS, 200 * MS);
            self.plan(at, Event::Mend(Mend::Dies(broker, down, Some(dice.throw()))));
        }
    }

    /// A topic is made: its replicas make folders for it, and their metadata is not synced yet.
    pub(super) fn at_creation(&mut self, topic: TopicId) {
        let Some(seed) = self.moments.at_creation.take() else { return };
        let mut dice = Dice::new(seed, 17);
        let found = self.head.topic(topic).and_then(|found| found.partitions().next());
        let Some(leader) = found.and_then(|(_, partition)| partition.leader) else { return };
        let latest = dice.pick(&[30 * MS, 200 * MS]);
        let (at, down) = (self.now + dice.between(MS, latest), dice.between(MS, 200 * MS));
        self.plan(at, Event::Mend(Mend::Dies(index_of(leader), down, Some(dice.throw()))));
    }

    /// A partition with a leader and at least two more members: the leader and the others.
    fn some_led(&self, dice: &mut Dice) -> Option<(TopicPartition, usize, Vec<usize>)> {
        let led = |(key, found): (TopicPartition, &Partition)| {
            let leader = found.leader?;
            let others = found.isr.iter().filter(|member| **member != leader).map(|member| index_of(*member));
            let others: Vec<usize> = others.collect();
            (others.len() >= 2).then_some((key, index_of(leader), others))
        };
        let all: Vec<_> = self.head.all_partitions().filter_map(led).collect();
        (!all.is_empty()).then(|| all.get(dice.index(all.len())).cloned()).flatten()
    }

    /// One follower gets what the others do not, and does not sync it; another one is elected, so that it has to cut.
    fn power_in_cut(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 18);
        let Some((_, leader, others)) = self.some_led(&mut dice) else { return };
        let ahead = dice.pick(&others);
        self.machine_mut(ahead).disk_factor = dice.pick(&[10, 30, 100]);
        let dies = self.now + dice.between(50 * MS, 500 * MS);
        for other in others.into_iter().filter(|other| *other != ahead) {
            self.net.cut(leader, other, dies);
        }
        self.plan(dies, Event::Mend(Mend::Dies(leader, dice.between(MS, 30 * MS), Some(dice.throw()))));
        let again = dies + dice.between(30 * MS, 1_200 * MS);
        self.plan(again, Event::Mend(Mend::Dies(ahead, dice.between(MS, 200 * MS), Some(dice.throw()))));
        self.plan(again + 500 * MS, Event::Mend(Mend::Disk(ahead)));
    }

    /// A follower stands still until it has left the ISR; then its return is waited for.
    fn away_when_let_in(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 19);
        let Some((_, _, others)) = self.some_led(&mut dice) else { return };
        let away = (self.plan.lag_max_ms + 500) * MS;
        self.pause(dice.pick(&others), away);
        self.moments.at_entry = Some((dice.throw(), self.now + away + 4_000 * MS));
    }

    /// How much longer it takes to agree on this: a member that it lets in goes away meanwhile.
    pub(super) fn at_proposal(&mut self, proposal: &Proposal) -> u64 {
        let Some((seed, _)) = self.moments.at_entry.filter(|(_, until)| self.now < *until) else { return 0 };
        let Ok(entry) = Entry::decode(MetadataOffset(0), &proposal.bytes) else { return 0 };
        let MetadataRecord::ChangeIsr(change) = entry.record else { return 0 };
        let Some(found) = self.head.partition(change.partition) else { return 0 };
        let new = change.isr.iter().map(|(member, _)| *member).find(|member| !found.isr.contains(member));
        let (Some(new), Some(leader)) = (new.map(index_of), found.leader.map(index_of)) else { return 0 };
        self.moments.at_entry = None;
        self.coverage.count("followers away when they are let in");
        let mut dice = Dice::new(seed, 20);
        let at = self.now + dice.between(0, 100 * MS);
        if dice.permille(500) {
            self.plan(at, Event::Mend(Mend::Dies(new, 5_000 * MS, None)));
        } else {
            self.pause(new, 5_000 * MS);
            self.net.cut(leader, new, self.now + 5_000 * MS);
        }
        dice.between(1_000 * MS, 2_300 * MS)
    }

    /// The leader of a partition and the controller do not reach each other until the leader is fenced. Whoever follows
    /// it beside the controller's broker hears of its successor late.
    fn depose(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 21);
        let Some((_, leader, others)) = self.some_led(&mut dice) else { return };
        let next = dice.pick(&others);
        let directory = self.machine(next).directory;
        if !self.agreement.members().voters.contains(&directory) || !self.machine(next).is_up(self.now) {
            return;
        }
        self.elect(directory);
        let until = self.now + dice.between(2_700 * MS, 4_200 * MS);
        self.net.cut(leader, next, until);
        self.net.cut(next, leader, until);
        for other in others.into_iter().filter(|other| *other != next) {
            self.machine_mut(other).no_metadata_until = until + dice.between(1_000 * MS, 4_000 * MS);
        }
    }

    /// What a process has applied by now.
    pub(super) fn note_applied(&mut self, process: ProcessId) {
        let applied = self.running(process).and_then(|running| running.control.image().applied());
        let machine = self.machine_mut(process.broker);
        debug_assert_eq!(machine.id, broker_id(process.broker));
        machine.applied = machine.applied.max(applied);
    }
}
