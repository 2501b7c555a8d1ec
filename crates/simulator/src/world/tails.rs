//! Damage at the end of a log, where a start looks: while its leader is away for long, a follower starts whose last synced
//! batch rotted, or whose file lost its end.

use log_core::TopicPartition;
use log_core::directory::partition_dir;
use log_store::read_bound;
use metadata_core::Partition;

use super::World;
use super::machine::{crc, index_of};
use super::queue::{Event, Mend};
use crate::dice::Dice;
use crate::oracle::{Placed, last_segment};
use crate::plan::MS;

impl World {
    /// Kills the leader of a partition for longer than a session lasts, and a follower with a seat for `down`, and damages the
    /// end of the follower's log meanwhile. In half of all cases it dies again within its start.
    pub(super) fn damage_tail(&mut self, down: u64, seed: u64) {
        let mut dice = Dice::new(seed, 9);
        let Some((key, leader, follower)) = self.some_victim(&mut dice) else { return };
        let Some((path, batches)) = last_segment(&self.machine(follower).disk, key) else { return };
        let committed = self.oracle.committed_end(key);
        let Some(last) = batches.last().filter(|last| last.next_offset <= committed) else { return };
        self.kill(leader, dice.between(3_500 * MS, 6_000 * MS), None);
        self.kill(follower, down.min(500 * MS), None);
        // A file that ends above the bound would look like one that never was longer.
        let bound = self.bound_of(follower, key);
        let below_bound = batches.iter().rfind(|batch| batch.next_offset <= bound);
        match below_bound.filter(|_| dice.permille(400)) {
            Some(Placed { from, .. }) => {
                self.machine(follower).disk.shorten(&path, *from);
                self.trace.note(self.now, || format!("broker {follower}: {path} ends at {from}"));
            }
            None => {
                let position = dice.between(last.from, last.to - 1);
                self.machine(follower).disk.rot(&path, position, 1 << dice.below(8));
                self.trace.note(self.now, || format!("broker {follower}: byte {position} of {path} rots"));
            }
        }
        let machine = self.machine_mut(follower);
        machine.damaged.insert(key, ());
        machine.rotten.insert(key);
        self.coverage.count("ends of logs damaged");
        if dice.permille(500) {
            let at = self.now + down.min(500 * MS) + dice.between(MS, 60 * MS);
            self.plan(at, Event::Mend(Mend::Dies(follower, dice.between(10 * MS, 200 * MS), None)));
        }
    }

    /// A partition, its leader and a follower whose log may be damaged.
    fn some_victim(&self, dice: &mut Dice) -> Option<(TopicPartition, usize, usize)> {
        let all = self.head.all_partitions();
        let led: Vec<_> = all.filter_map(|(key, found)| self.victim(key, found, dice)).collect();
        (!led.is_empty()).then(|| dice.pick(&led))
    }

    /// The first member after the leader, which is elected next, dies with it, and its log loses an end below its bound: at
    /// once where a bound stands in the midst of a segment, else after a stop, which leaves one at the end of the log.
    pub(super) fn die_and_lose_end(&mut self, seed: u64) {
        let mut dice = Dice::new(seed, 12);
        let next = |(key, found): (TopicPartition, &Partition)| {
            let next = found.isr.iter().find(|member| Some(**member) != found.leader)?;
            Some((key, index_of(*next)))
        };
        let mut all: Vec<_> = self.head.all_partitions().filter_map(next).collect();
        while !all.is_empty() {
            let (key, follower) = all.swap_remove(dice.index(all.len()));
            if self.lose_end(follower, key, dice.throw()) {
                return;
            }
            if all.is_empty() {
                self.ask_to_stop(follower, dice.between(10 * MS, 100 * MS));
                let returned = self.now + dice.between(1_200 * MS, 3_000 * MS);
                self.plan(returned, Event::Mend(Mend::LoseEnd(follower, key, dice.throw())));
            }
        }
    }

    /// A leader and a member die, and the member's log loses its last committed batches below its bound; whether it can be.
    pub(super) fn lose_end(&mut self, broker: usize, key: TopicPartition, seed: u64) -> bool {
        let mut dice = Dice::new(seed, 13);
        let found = self.head.partition(key);
        let member = found.is_some_and(|found| found.isr.contains(&self.machine(broker).id));
        let Some(leader) = found.and_then(|found| found.leader).map(index_of) else { return false };
        if !member || leader == broker || self.machine(broker).process.is_none() || !self.may_damage(broker) {
            return false;
        }
        let Some((path, batches)) = last_segment(&self.machine(broker).disk, key) else { return false };
        let known = self.bound_of(broker, key).min(self.oracle.committed_end(key));
        let known: Vec<Placed> = batches.into_iter().filter(|batch| batch.next_offset <= known).collect();
        if known.is_empty() {
            return false;
        }
        let lost = dice.index(known.len().min(3));
        let Some(first) = known.iter().rev().nth(lost) else { return false };
        self.kill(leader, dice.between(3_500 * MS, 6_000 * MS), None);
        self.kill(broker, dice.between(50 * MS, 600 * MS), None);
        self.machine(broker).disk.shorten(&path, first.from);
        self.trace.note(self.now, || format!("broker {broker}: {path} ends at {}", first.from));
        let machine = self.machine_mut(broker);
        machine.damaged.insert(key, ());
        machine.rotten.insert(key);
        self.coverage.count("ends of logs lost below their bounds");
        true
    }

    /// The leader of a partition, and another member of the ISR whose disk may be damaged.
    fn victim(
        &self,
        key: TopicPartition,
        found: &Partition,
        dice: &mut Dice,
    ) -> Option<(TopicPartition, usize, usize)> {
        let leader = found.leader?;
        let others = found.isr.iter().filter(|member| **member != leader).map(|member| index_of(*member));
        let others: Vec<usize> = others
            .filter(|other| self.machine(*other).process.is_some() && self.may_damage(*other))
            .collect();
        (!others.is_empty()).then(|| (key, index_of(leader), dice.pick(&others)))
    }

    /// Below what a platter says that everything is durable.
    fn bound_of(&self, broker: usize, key: TopicPartition) -> i64 {
        let path = format!("{}/bound", partition_dir(&key));
        let bound = self.machine(broker).disk.with_durable(&path, |bytes| read_bound(bytes, crc));
        bound.flatten().map_or(0, |bound| bound.durable_end.0)
    }
}
