//! Carrying out faults, and ending them. A fault that would break a promise of the product's users is left out: at most
//! one broker's disk is damaged at a time, and only while every record on it has another undamaged copy with a seat.

use log_core::TopicPartition;
use log_core::directory::partition_dir;
use log_store::FailedSync;
use metadata_core::Partition;

use super::machine::{Machine, broker_id, index_of};
use super::queue::{Event, Mend};
use super::{Phase, World};
use crate::dice::Dice;
use crate::plan::{Fault, MS};

impl World {
    pub(super) fn fault(&mut self, number: usize) {
        let Some(planned) = self.plan.faults.get(number).cloned() else { return };
        if !matches!(self.phase, Phase::Faults { .. }) {
            return;
        }
        self.trace.note(self.now, || format!("fault: {:?}", planned.fault));
        match planned.fault {
            Fault::Kill { broker, down, power, seed } => self.kill(broker, down, power.then_some(seed)),
            Fault::KillLeader { down, power, seed } => {
                let leaders: Vec<usize> =
                    self.head.all_partitions().filter_map(|(_, found)| found.leader).map(index_of).collect();
                if !leaders.is_empty() {
                    let broker = Dice::new(seed, 5).pick(&leaders);
                    self.kill(broker, down, power.then_some(seed));
                }
            }
            Fault::KillAll { down, seed } => self.kill_all(down, seed),
            Fault::Stop { broker, down } => self.ask_to_stop(broker, down),
            Fault::Pause { broker, time } => self.pause(broker, time),
            Fault::Cut { from, to, both, time } => self.cut(from, to, both, time),
            Fault::Isolate { broker, time } => self.isolate(broker, time),
            Fault::SlowNetwork { factor, time } => {
                self.coverage.count("slow networks");
                self.net.factor = factor;
                self.plan(self.now + time, Event::Mend(Mend::Network));
            }
            Fault::MinIsr { topic, value } => {
                let replicas = self.plan.topics.get(topic).map_or(0, |topic| i32::from(topic.replicas));
                if value <= replicas && (value >= 2 || !self.anything_damaged()) {
                    self.operator.set_min_isr(topic, value);
                }
            }
            Fault::DeleteTopic { topic, after } => {
                if topic < self.plan.topics.len() {
                    self.operator.unwant(topic);
                    self.plan(self.now + after, Event::Mend(Mend::Topic(topic)));
                }
            }
            Fault::DeleteRecords { topic, seed } => self.ask_to_delete_records(topic, seed),
            Fault::DropClients => self.drop_clients(),
            other => self.disk_or_metadata_fault(other),
        }
    }

    fn disk_or_metadata_fault(&mut self, fault: Fault) {
        match fault {
            Fault::SlowDisk { broker, factor, time } => {
                self.coverage.count("slow disks");
                self.machine_mut(broker).disk_factor = factor;
                self.plan(self.now + time, Event::Mend(Mend::Disk(broker)));
            }
            Fault::FailSync { broker, shows_new, .. } => {
                if self.machine(broker).process.is_none() {
                    return;
                }
                let shows = if shows_new { FailedSync::ShowsNew } else { FailedSync::ShowsOld };
                self.coverage.count("failing syncs ordered");
                self.machine(broker).disk.fail_next_sync(shows);
                self.machine_mut(broker).doubtful_cache = true;
            }
            Fault::WriteBack { broker, seed } => self.machine(broker).disk.write_back(seed),
            Fault::Evict { broker } => self.machine(broker).disk.evict(),
            Fault::Full { broker, time } => self.fill(broker, time),
            Fault::Rot { broker, down, seed } => self.rot(broker, down, seed),
            Fault::Wipe { broker, down } => self.wipe(broker, down),
            Fault::DamageTail { down, seed } => self.damage_tail(down, seed),
            Fault::WipeHolder { down, seed } => self.wipe_holder(down, seed),
            Fault::LoseEnd { seed } => self.die_and_lose_end(seed),
            Fault::SlowMetadata { broker, time } => {
                self.coverage.count("slow metadata");
                self.machine_mut(broker).slow_metadata = true;
                self.plan(self.now + time, Event::Mend(Mend::Metadata(broker)));
            }
            Fault::LoseProposals { permille, time } => {
                self.controlling.lost_permille = permille;
                self.plan(self.now + time, Event::Mend(Mend::Proposals));
            }
            Fault::SlowCommits { time } => {
                self.controlling.slow = true;
                self.plan(self.now + time, Event::Mend(Mend::Commits));
            }
            Fault::FailOver { .. } => self.fail_over(),
            other => self.pointed_fault(other),
        }
    }

    pub(super) fn mend(&mut self, mend: Mend) {
        match mend {
            Mend::Disk(broker) => self.hurry_disk(broker),
            Mend::Full(broker) => self.machine(broker).disk.set_capacity(u64::MAX),
            Mend::Metadata(broker) => {
                let machine = self.machine_mut(broker);
                (machine.slow_metadata, machine.metadata_upto) = (false, None);
            }
            Mend::Proposals => self.controlling.lost_permille = 0,
            Mend::Commits => self.controlling.slow = false,
            Mend::Network => self.net.factor = 1,
            Mend::Topic(topic) => self.operator.want(topic),
            Mend::Dies(broker, down, power) => self.kill(broker, down, power),
            Mend::LoseEnd(broker, key, seed) => {
                self.lose_end(broker, key, seed);
            }
            Mend::Part(from, to, until) => self.net.cut(from, to, until),
            Mend::Wipes(broker, down) => self.wipe(broker, down),
        }
    }

    pub(super) fn kill(&mut self, broker: usize, down: u64, power: Option<u64>) {
        if self.machine(broker).process.is_none() {
            return;
        }
        self.coverage.count(if power.is_some() { "power cuts" } else { "kills" });
        self.end_process(broker, power);
        self.machine_mut(broker).starting = true;
        self.plan(self.now + down, Event::Start(broker));
    }

    fn kill_all(&mut self, down: u64, seed: u64) {
        self.coverage.count("power cuts of all brokers");
        let mut dice = Dice::new(seed, 6);
        for broker in 0..self.machines.len() {
            self.kill(broker, dice.between(MS, down), Some(dice.throw()));
        }
    }

    pub(super) fn ask_to_stop(&mut self, broker: usize, down: u64) {
        let Some(process) = self.machine(broker).process.as_ref().map(|running| running.id) else { return };
        self.operator.stays_down(broker, down);
        self.with(process, |running, now| running.control.handle_stop(now));
    }

    pub(super) fn pause(&mut self, broker: usize, time: u64) {
        self.coverage.count("pauses");
        let until = self.now + time;
        let machine = self.machine_mut(broker);
        machine.paused_until = machine.paused_until.max(until);
    }

    fn cut(&mut self, from: usize, to: usize, both: bool, time: u64) {
        self.coverage.count(if both { "cut links" } else { "links cut one way" });
        self.net.cut(from, to, self.now + time);
        if both {
            self.net.cut(to, from, self.now + time);
        }
    }

    fn isolate(&mut self, broker: usize, time: u64) {
        self.coverage.count("isolated brokers");
        for other in (0..self.machines.len()).filter(|other| *other != broker) {
            self.net.cut(broker, other, self.now + time);
            self.net.cut(other, broker, self.now + time);
        }
    }

    fn fill(&mut self, broker: usize, time: u64) {
        self.coverage.count("full disks");
        let disk = &self.machine(broker).disk;
        disk.set_capacity(disk.bytes_used() + 40_000);
        self.plan(self.now + time, Event::Mend(Mend::Full(broker)));
    }

    /// Whether a replica somewhere is damaged.
    pub(super) fn anything_damaged(&self) -> bool {
        self.machines.iter().any(|machine| self.is_damaged(machine))
    }

    /// Whether a replica that counts is damaged there, or the disk is lost.
    fn is_damaged(&self, machine: &Machine) -> bool {
        machine.joining || machine.damaged.keys().any(|key| self.head.partition(*key).is_some())
    }

    /// Whether a broker's disk may be damaged: no other is, and whatever it holds is elsewhere too.
    pub(super) fn may_damage(&self, broker: usize) -> bool {
        let id = broker_id(broker);
        let others = self.machines.iter().filter(|machine| machine.index != broker);
        let others_whole = others.into_iter().all(|machine| !self.is_damaged(machine));
        let safe = |(key, found): (TopicPartition, &Partition)| {
            let min_isr = self.head.topic(key.topic_id).map_or(0, |topic| topic.settings.min_insync_replicas);
            let seats = found.isr.iter().chain(&found.elr);
            let elsewhere = seats.filter(|other| **other != id && !found.is_suspect(**other)).count();
            min_isr >= 2 && elsewhere >= 1 && found.replicas.len() >= 3
        };
        others_whole
            && self.head.partitions_of(id).all(safe)
            && !self.operator.single_copies
            && !self.machine(broker).joining
    }

    /// Whether more than half of the quorum's voters still have their directories without this broker's: it may not lose
    /// a second one before the place of the first is taken.
    fn quorum_outlives(&self, broker: usize) -> bool {
        let voters = self.agreement.members().voters;
        let left =
            voters.iter().filter(|voter| self.broker_of(**voter).is_some_and(|of| of != broker)).count();
        left * 2 > voters.len()
    }

    /// A broker is down, and a byte of a replica of it rots meanwhile.
    fn rot(&mut self, broker: usize, down: u64, seed: u64) {
        if !self.may_damage(broker) {
            return;
        }
        let mut dice = Dice::new(seed, 7);
        let power = dice.permille(500).then(|| dice.throw());
        if self.machine(broker).process.is_some() {
            self.kill(broker, down, power);
        }
        let partitions: Vec<TopicPartition> =
            self.head.partitions_of(broker_id(broker)).map(|(key, _)| key).collect();
        if partitions.is_empty() {
            return;
        }
        let key = dice.pick(&partitions);
        let dir = partition_dir(&key);
        let machine = self.machine_mut(broker);
        let files: Vec<String> = machine.disk.cached_names(&dir).unwrap_or_default();
        let files: Vec<&String> =
            files.iter().filter(|name| name.contains('.') || *name == "bound").collect();
        if files.is_empty() {
            return;
        }
        let path = format!("{dir}/{}", dice.pick(&files));
        let written = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let length = machine.disk.with_durable(&path, written).unwrap_or_default();
        if length == 0 {
            return;
        }
        let position = dice.below(length as u64);
        machine.disk.rot(&path, position, 1 << dice.below(8));
        machine.damaged.insert(key, ());
        machine.rotten.insert(key);
        self.coverage.count("bytes rotten");
        self.trace.note(self.now, || format!("broker {broker}: byte {position} of {path} rots"));
    }

    /// A disk is lost.
    pub(super) fn wipe(&mut self, broker: usize, down: u64) {
        if self.may_wipe(broker) {
            self.lose_disk(broker, down);
        }
    }

    pub(super) fn may_wipe(&self, broker: usize) -> bool {
        self.may_damage(broker) && self.quorum_outlives(broker)
    }

    /// The only disk with a seat of some partition is lost. From then on the operator looks whether the topics on it still
    /// have a replica that counts.
    fn wipe_holder(&mut self, down: u64, seed: u64) {
        let only = |found: &Partition| match (found.isr.as_slice(), found.elr.as_slice()) {
            ([only], []) | ([], [only]) => Some(index_of(*only)),
            _ => None,
        };
        let holders: Vec<usize> = self.head.all_partitions().filter_map(|(_, found)| only(found)).collect();
        if holders.is_empty() || self.anything_damaged() {
            return;
        }
        let broker = Dice::new(seed, 10).pick(&holders);
        if !self.quorum_outlives(broker) {
            return;
        }
        self.coverage.count("disks lost that alone had a seat");
        self.operator.mourn(self.head.partitions_of(broker_id(broker)).map(|(key, _)| key.topic_id));
        self.lose_disk(broker, down);
    }

    fn lose_disk(&mut self, broker: usize, down: u64) {
        if self.machine(broker).process.is_some() {
            self.end_process(broker, None);
        }
        self.coverage.count("disks lost");
        let keys: Vec<TopicPartition> =
            self.head.partitions_of(broker_id(broker)).map(|(key, _)| key).collect();
        let machine = self.machine_mut(broker);
        machine.wipe();
        machine.starting = false;
        machine.damaged = keys.into_iter().map(|key| (key, ())).collect();
        self.oracle.forget_broker(broker);
        // The operator needs the time to bring the new disk.
        self.operator.stays_down(broker, down);
    }
}
