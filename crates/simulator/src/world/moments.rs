//! Faults of several steps, each for one moment at which a rule is needed and which others meet too rarely.

use std::collections::BTreeMap;

use log_core::{BrokerId, MetadataOffset, TopicId, TopicPartition};
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
    /// Something happens when the next follower is to be let into an ISR.
    at_entry: Option<AtEntry>,
    /// A leader is shown nothing until this broker is let in again after it was fenced.
    at_unfencing: Option<Blind>,
    /// A broker loses power as soon as it cuts a log.
    in_cut: Option<(usize, u64)>,
}

/// A follower is to be let into an ISR.
#[derive(Clone, Copy, Debug)]
struct AtEntry {
    seed: u64,
    /// Until when that is waited for.
    until: u64,
    then: Then,
}

/// What happens when a follower is to be let into an ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It goes away.
    Away,
    /// The leader is shown nothing, and the controller hears nothing of the follower.
    Blind,
    /// The leader is shown nothing, and the follower loses its disk.
    BlindAndWiped,
}

/// A leader that is shown nothing.
#[derive(Clone, Copy, Debug)]
struct Blind {
    leader: usize,
    follower: usize,
    /// What it asks for is lost until then.
    loses: bool,
    seed: u64,
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
            Fault::Repeat { seed } => self.repeat(seed, Then::Blind),
            Fault::WipeRemembered { seed } => self.wipe_remembered(seed),
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

    /// One follower gets what the others do not, and syncs slowly; another one is elected, so that it has to cut. Meanwhile it
    /// loses power.
    fn power_in_cut(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 18);
        let Some((_, leader, others)) = self.some_led(&mut dice) else { return };
        let ahead = dice.pick(&others);
        self.machine_mut(ahead).disk_factor = dice.pick(&[10, 30, 100]);
        let parts = self.now + dice.between(50 * MS, 500 * MS);
        let dies = parts + dice.between(5 * MS, 150 * MS);
        for other in others.into_iter().filter(|other| *other != ahead) {
            self.plan(parts, Event::Mend(Mend::Part(leader, other, dies)));
        }
        self.plan(dies, Event::Mend(Mend::Dies(leader, dice.between(MS, 30 * MS), Some(dice.throw()))));
        self.moments.in_cut = Some((ahead, dice.throw()));
        self.plan(dies + 2_000 * MS, Event::Mend(Mend::Disk(ahead)));
    }

    /// A broker has begun to cut a log: in memory that is done at once, on its disk it takes several syncs.
    pub(crate) fn at_cut(&mut self, broker: usize) {
        let Some((_, seed)) = self.moments.in_cut.take_if(|(waited, _)| *waited == broker) else { return };
        let mut dice = Dice::new(seed, 22);
        let sync = self.plan.weather.sync.1 * self.machine(broker).disk_factor;
        let at = self.now + dice.between(0, (4 * sync).min(2_000 * MS));
        self.coverage.count("power cuts while a log is cut");
        self.plan(at, Event::Mend(Mend::Dies(broker, dice.between(MS, 200 * MS), Some(dice.throw()))));
    }

    /// A follower stands still until it has left the ISR; then its return is waited for.
    fn away_when_let_in(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 19);
        let Some((_, _, others)) = self.some_led(&mut dice) else { return };
        let away = (self.plan.lag_max_ms + 500) * MS;
        self.pause(dice.pick(&others), away);
        let until = self.now + away + 4_000 * MS;
        self.moments.at_entry = Some(AtEntry { seed: dice.throw(), until, then: Then::Away });
    }

    /// The same, with a controller that is neither the leader nor that follower.
    fn repeat(&mut self, seed: u64, then: Then) {
        let mut dice = Dice::new(seed, 23);
        let Some((_, _, others)) = self.some_led(&mut dice) else { return };
        if self.moments.at_unfencing.is_some() {
            return;
        }
        let follower = dice.pick(&others);
        let third = others.into_iter().find(|other| *other != follower);
        let Some(third) = third.filter(|third| self.may_lead_quorum(*third)) else { return };
        self.elect(self.machine(third).directory);
        let away = (self.plan.lag_max_ms + 500) * MS;
        self.pause(follower, away);
        let until = self.now + away + 4_000 * MS;
        self.moments.at_entry = Some(AtEntry { seed: dice.throw(), until, then });
    }

    /// How much longer it takes to agree on this, where it lets a member in that is waited for; none if it is lost.
    pub(super) fn at_proposal(&mut self, proposal: &Proposal) -> Option<u64> {
        let waits = self.moments.at_entry.filter(|waits| self.now < waits.until);
        let Some((leader, new)) = self.let_in_by(proposal) else { return Some(0) };
        if self.moments.at_unfencing.is_some_and(|blind| blind.loses && blind.follower == new) {
            return None;
        }
        let Some(waits) = waits else { return Some(0) };
        self.moments.at_entry = None;
        if waits.then != Then::Away {
            let lost = self.blind(leader, new, waits.seed, waits.then);
            return (!lost).then_some(0);
        }
        self.coverage.count("followers away when they are let in");
        let mut dice = Dice::new(waits.seed, 20);
        let at = self.now + dice.between(0, 100 * MS);
        if dice.permille(500) {
            self.plan(at, Event::Mend(Mend::Dies(new, 5_000 * MS, None)));
        } else {
            self.pause(new, 5_000 * MS);
            self.net.cut(leader, new, self.now + 5_000 * MS);
        }
        Some(dice.between(1_000 * MS, 2_300 * MS))
    }

    /// The leader that proposes a member, and that member.
    fn let_in_by(&self, proposal: &Proposal) -> Option<(usize, usize)> {
        if self.moments.at_entry.is_none() && self.moments.at_unfencing.is_none() {
            return None;
        }
        let entry = Entry::decode(MetadataOffset(0), &proposal.bytes).ok()?;
        let MetadataRecord::ChangeIsr(change) = entry.record else { return None };
        let found = self.head.partition(change.partition)?;
        let new = change.isr.iter().map(|(member, _)| *member).find(|member| !found.isr.contains(member))?;
        Some((index_of(found.leader?), index_of(new)))
    }

    /// A leader asked for a member and does not see that it got it: it asks again and again. Meanwhile the controller hears
    /// nothing of that member until it is fenced; or its disk is lost, and the request with it. Gives whether it is lost.
    fn blind(&mut self, leader: usize, follower: usize, seed: u64, then: Then) -> bool {
        let controller = self.agreement.leader().and_then(|directory| self.broker_of(directory));
        let Some(controller) = controller.filter(|found| *found != leader && *found != follower) else {
            return false;
        };
        let loses = then == Then::BlindAndWiped;
        let mut dice = Dice::new(seed, 24);
        if !loses {
            let heals = self.now + dice.between(2_600 * MS, 3_400 * MS);
            self.net.cut(follower, controller, heals);
            self.net.cut(controller, follower, heals);
        } else if self.may_wipe(follower) {
            self.wipe(follower, dice.between(50 * MS, 300 * MS));
        } else {
            return false;
        }
        let patience = self.now + 9_000 * MS;
        self.machine_mut(leader).no_metadata_until = patience;
        self.plan(patience, Event::Mend(Mend::Metadata(leader)));
        self.moments.at_unfencing = Some(Blind { leader, follower, loses, seed: dice.throw() });
        self.coverage.count("leaders shown nothing after a request");
        loses
    }

    /// A broker is let in: a leader that was shown nothing sees the log up to here, later, and what it asked for again after
    /// that. From now on the member gets nothing of it.
    pub(super) fn at_unfencing(&mut self, broker: BrokerId, offset: MetadataOffset) {
        let is_it = |blind: &mut Blind| broker_id(blind.follower) == broker;
        let Some(Blind { leader, follower, seed, .. }) = self.moments.at_unfencing.take_if(is_it) else {
            return;
        };
        let mut dice = Dice::new(seed, 25);
        let sees = self.now + dice.between(300 * MS, 2_500 * MS);
        let machine = self.machine_mut(leader);
        machine.no_metadata_until = sees;
        machine.metadata_upto = usize::try_from(offset.0 + 1).ok();
        self.plan(sees + dice.between(500 * MS, 1_500 * MS), Event::Mend(Mend::Metadata(leader)));
        let parted = sees + 1_500 * MS;
        self.net.cut(leader, follower, parted);
        self.net.cut(follower, leader, parted);
        self.coverage.count("members let in again, unseen by their leader");
    }

    /// A leader knows of a follower that it has everything, and its disk is lost.
    fn wipe_remembered(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 26);
        if dice.permille(500) {
            return self.repeat(dice.throw(), Then::BlindAndWiped);
        }
        let Some((_, _, others)) = self.some_led(&mut dice) else { return };
        for (number, topic) in self.plan.topics.clone().into_iter().enumerate() {
            self.operator.set_min_isr(number, i32::from(topic.replicas));
        }
        let at = self.now + dice.between(500 * MS, 2_000 * MS);
        self.plan(at, Event::Mend(Mend::Wipes(dice.pick(&others), dice.between(50 * MS, 300 * MS))));
    }

    /// Whether a broker may become the controller now.
    fn may_lead_quorum(&self, broker: usize) -> bool {
        let machine = self.machine(broker);
        self.agreement.members().voters.contains(&machine.directory) && machine.is_up(self.now)
    }

    /// The leader of a partition and the controller do not reach each other until the leader is fenced. Whoever follows
    /// it beside the controller's broker hears of its successor late.
    fn depose(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 21);
        let Some((_, leader, others)) = self.some_led(&mut dice) else { return };
        let next = dice.pick(&others);
        if !self.may_lead_quorum(next) {
            return;
        }
        self.elect(self.machine(next).directory);
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
