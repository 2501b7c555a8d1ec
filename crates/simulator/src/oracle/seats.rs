//! Who could be elected has everything that is committed, on its platter (LeaderCandidateCompleteness); and the end of a
//! run, when all replicas are the same.

use log_core::directory::partition_dir;
use log_core::{BrokerEpoch, BrokerId, TopicPartition};
use metadata_core::{ClusterImage, Condition, Partition};

use super::log::{Side, visit};
use crate::world::{ProcessId, World, crc, index_of, words};

impl World {
    fn seats(&self, key: TopicPartition) -> Vec<BrokerId> {
        let found = self.head.partition(key);
        found.map_or_else(Vec::new, |found| found.isr.iter().chain(&found.elr).copied().collect())
    }

    /// Everyone with a seat has what is committed from `from` on.
    pub(super) fn check_seats_from(&mut self, key: TopicPartition, from: i64) {
        for member in self.seats(key) {
            self.check_seat(member, key, from);
        }
    }

    /// A broker has all that is committed, if it has a seat.
    pub(super) fn check_seat_of(&mut self, broker: usize, key: TopicPartition) {
        let id = self.machine(broker).id;
        if self.seats(key).contains(&id) {
            self.check_seat(id, key, self.oracle.log_start(key));
        }
    }

    /// Whether what a replica lacks was lost with its disk, and the broker has registered with the new one since: whoever gives
    /// it a seat again must know that it has everything.
    fn is_on_new_disk(&self, member: BrokerId, key: TopicPartition) -> bool {
        let machine = self.machine(index_of(member));
        let registered = self.head.broker(member).is_some_and(|found| found.directory == machine.directory);
        self.is_hollow(member, key) && registered && !machine.rotten.contains(&key)
    }

    fn check_seat(&mut self, member: BrokerId, key: TopicPartition, from: i64) {
        if !self.is_hollow(member, key) {
            self.check_platter(member, key, from);
        }
    }

    fn check_platter(&mut self, member: BrokerId, key: TopicPartition, from: i64) {
        if self.oracle.violation.is_some() {
            return;
        }
        let to = self.oracle.committed_end(key);
        let from = from.max(self.oracle.log_start(key));
        if from >= to {
            return;
        }
        if let Some(at) = self.first_difference(index_of(member), key, Side::Durable, from, to) {
            let text =
                format!("broker {} has a seat of {} and lacks {at} of {to}", index_of(member), words(key));
            self.oracle.violate("candidate completeness", text);
        }
    }

    /// A partition changed in what is agreed.
    pub(crate) fn oracle_partition_changed(&mut self, before: &ClusterImage, key: TopicPartition) {
        let Some(name) = self.head.topic(key.topic_id).map(|topic| topic.name.to_string()) else { return };
        self.oracle.name_topic(key.topic_id, &name);
        let Some(after) = self.head.partition(key).cloned() else { return };
        let Some(before) = before.partition(key) else { return };
        self.count_changes(before, &after);
        if after.leader_epoch < before.leader_epoch
            || after.leader != before.leader
                && after.leader.is_some()
                && after.leader_epoch == before.leader_epoch
        {
            let text = format!("{} is led by {:?} without a new epoch", words(key), after.leader);
            self.oracle.violate("leader epoch", text);
        }
        let new: Vec<BrokerId> = after.isr.iter().chain(&after.elr).copied().collect();
        for member in new.into_iter().filter(|member| !before.has_seat(*member)) {
            match self.is_on_new_disk(member, key) {
                true => self.check_platter(member, key, self.oracle.log_start(key)),
                false => self.check_seat(member, key, self.oracle.log_start(key)),
            }
        }
    }

    /// A broker is registered: with a new disk it has no seat, not even where nobody else has one.
    pub(crate) fn oracle_registered(&mut self, before: &ClusterImage, broker: BrokerId) {
        let directory = |image: &ClusterImage| image.broker(broker).map(|found| found.directory);
        if directory(before).is_none_or(|known| Some(known) == directory(&self.head)) {
            return;
        }
        let kept = self.head.partitions_of(broker).find(|(_, found)| found.has_seat(broker));
        if let Some((key, _)) = kept {
            let text = format!("broker {} has a new disk and a seat of {}", index_of(broker), words(key));
            self.oracle.violate("new disk", text);
        }
    }

    /// A broker is let in under a registration: only one that has applied it can do what it is there for.
    pub(crate) fn oracle_let_in(&mut self, broker: BrokerId, registration: BrokerEpoch) {
        let applied = self.machine(index_of(broker)).applied;
        if applied.is_none_or(|applied| applied.0 < registration.0) {
            let text = format!(
                "broker {} is let in as {registration}, and has applied {applied:?}",
                index_of(broker)
            );
            self.oracle.violate("let in", text);
        }
    }

    fn count_changes(&mut self, before: &Partition, after: &Partition) {
        let counted = [
            ("elections", after.leader_epoch > before.leader_epoch),
            ("partitions without a leader", after.leader.is_none() && before.leader.is_some()),
            ("isr shrinks", after.isr.len() < before.isr.len()),
            ("isr expansions", after.isr.len() > before.isr.len()),
            ("elr entries", after.elr.len() > before.elr.len()),
        ];
        for (what, _) in counted.into_iter().filter(|(_, happened)| *happened) {
            self.coverage.count(what);
        }
        let condition = |of: &Partition, wanted: fn(&Condition) -> bool| {
            of.replicas.iter().filter(|replica| wanted(&replica.condition)).count()
        };
        let suspects = |condition: &Condition| matches!(condition, Condition::Suspect { .. });
        if condition(after, suspects) > condition(before, suspects) {
            self.coverage.count("replicas suspected");
        }
        let faulty = |condition: &Condition| *condition == Condition::Faulty;
        if condition(after, faulty) > condition(before, faulty) {
            self.coverage.count("replicas found faulty");
        }
    }

    /// A process is gone; with it, perhaps, what was not synced.
    pub(crate) fn oracle_after_crash(&mut self, broker: usize) {
        let keys: Vec<TopicPartition> =
            self.head.partitions_of(self.machine(broker).id).map(|(key, _)| key).collect();
        for key in keys {
            self.check_seat_of(broker, key);
            if !self.machine(broker).damaged.contains_key(&key) {
                self.check_bound(broker, key);
            }
        }
    }

    /// What the bound on a platter claims is on the platter.
    fn check_bound(&mut self, broker: usize, key: TopicPartition) {
        let dir = partition_dir(&key);
        let disk = self.machine(broker).disk.another_handle();
        let bound = disk.with_durable(&format!("{dir}/bound"), |bytes| log_store::read_bound(bytes, crc));
        let Some(Some(bound)) = bound else { return };
        let (claimed, high_watermark) = (bound.durable_end.0, bound.high_watermark.0);
        if high_watermark > claimed {
            let text = format!(
                "broker {broker}: {} bound at {claimed}, high watermark {high_watermark}",
                words(key)
            );
            return self.oracle.violate("bound", text);
        }
        let names = disk.durable_names(&dir).unwrap_or_default();
        let bases = names.iter().filter_map(|name| name.strip_suffix(".log")?.parse::<i64>().ok());
        // Below the log start files may be gone, each for itself.
        let first = bases.min().map(|first| first.max(self.oracle.log_start(key)));
        let Some(first) = first.filter(|first| *first < claimed) else { return };
        let reached = visit(&disk, key, Side::Durable, first, |_, _| true);
        if reached < claimed {
            let text =
                format!("broker {broker}: {} bound at {claimed}, the platter holds {reached}", words(key));
            self.oracle.violate("bound", text);
        }
    }

    pub(crate) const fn oracle_before_start(&mut self, _broker: usize) {}

    /// Every folder of a topic belongs to a topic that the broker's copy of the metadata knows: metadata on a disk is never
    /// older than the batches.
    pub(crate) fn look_aside(&mut self, process: ProcessId, image: &ClusterImage) {
        let broker = process.broker;
        let running = self.machine_mut(broker).process.as_mut().filter(|running| running.id == process);
        if running.is_none_or(|running| std::mem::replace(&mut running.looked_aside, true)) {
            return;
        }
        let names = self.machine(broker).disk.cached_names("topics").unwrap_or_default();
        for name in names {
            let topic = log_core::directory::parse_topic_dir(&name);
            let known = topic
                .is_some_and(|topic| image.topic(topic).is_some() || image.deleted_topic(topic).is_some());
            if !known {
                let text =
                    format!("broker {broker} starts with a folder of topic {name}, which it does not know");
                self.oracle.violate("metadata first", text);
            }
        }
    }

    /// Replicas that were damaged, and are whole again.
    pub(crate) fn oracle_look_at_damage(&mut self) {
        for broker in 0..self.machines.len() {
            let keys: Vec<TopicPartition> = self.machine(broker).damaged.keys().copied().collect();
            for key in keys {
                if self.is_whole_again(broker, key) {
                    self.machine_mut(broker).damaged.remove(&key);
                    self.coverage.count("damaged replicas whole again");
                }
            }
        }
    }

    fn is_whole_again(&self, broker: usize, key: TopicPartition) -> bool {
        // Of a deleted topic nobody is told any more; a broker that does not know it yet may go on with it.
        let Some(found) = self.head.partition(key) else { return false };
        let machine = self.machine(broker);
        let Some(running) = machine.process.as_ref().filter(|_| !machine.joining) else { return false };
        // Before a process has registered, its seat is one that the process before it had, which saw nothing of the damage.
        let registered =
            self.head.broker(machine.id).is_some_and(|known| known.incarnation == running.incarnation);
        if !registered || !found.isr.contains(&machine.id) {
            return false;
        }
        let sound = found.replica(machine.id).is_some_and(|replica| replica.condition == Condition::Sound);
        let (from, to) = (self.oracle.log_start(key), self.oracle.committed_end(key));
        // What it holds beyond cannot be held against anything yet, and what is rotten there may still be committed.
        let watch = self.oracle.watches.get(&(broker, key));
        let nothing_beyond = watch.is_some_and(|watch| watch.log_end() <= to);
        sound && nothing_beyond && self.first_difference(broker, key, Side::Durable, from, to).is_none()
    }

    /// Everything is well: all replicas are the same, and clients have read all that was acknowledged.
    pub(crate) fn oracle_end(&mut self) {
        let all: Vec<(TopicPartition, Vec<BrokerId>)> =
            self.head.all_partitions().map(|(key, found)| (key, found.replica_brokers().collect())).collect();
        for (key, replicas) in all {
            let (from, to) = (self.oracle.log_start(key), self.oracle.committed_end(key));
            for replica in replicas.into_iter().filter(|replica| !self.is_hollow(*replica, key)) {
                let broker = index_of(replica);
                if let Some(at) = self.first_difference(broker, key, Side::Cached, from, to) {
                    let text = format!("broker {broker} lacks {at} of {to} of {} in the end", words(key));
                    return self.oracle.violate("healing", text);
                }
            }
        }
        let gone = &self.oracle.deleted;
        let kept = |key: TopicPartition, base: i64| {
            !gone.contains(&key.topic_id) && base >= self.oracle.log_start(key)
        };
        match self.oracle.history.check_end(kept) {
            Ok(seen) => self.coverage.add("acknowledged batches read in the end", seen),
            Err(wrong) => self.oracle.violate("client history", wrong),
        }
        self.check_appended();
    }

    /// What leaders acknowledged alone, in topics whose name no other had.
    fn check_appended(&mut self) {
        for (key, committed) in &self.oracle.committed {
            let Some(name) = self.oracle.names.get(&key.topic_id) else { continue };
            if self.oracle.was_deleted(name) {
                continue;
            }
            match self.oracle.history.check_appended(name, key.partition.0, committed) {
                Ok(fates) => {
                    self.coverage.add("batches of a leader alone that stayed", fates.kept);
                    self.coverage.add("batches of a leader alone that were lost", fates.lost);
                }
                Err(wrong) => {
                    let text = format!("a batch of {name}-{} was {wrong}", key.partition);
                    return self.oracle.violate("acknowledged", text);
                }
            }
        }
    }
}
