//! Each replica after each step: what it shows of itself against the disks and against what is committed.

use broker_core::{LeaderStanding, ReplicaRole, ReplicaStanding};
use log_core::batch::{BatchHeader, check_stored};
use log_core::{BrokerId, LeaderEpoch, TopicPartition};

use super::History;
use super::committed::identity;
use super::history::Attempt;
use super::log::{Side, visit};
use crate::world::{World, crc, index_of, words};

/// What was seen of a replica last.
#[derive(Debug)]
pub(super) struct Watch {
    process: u64,
    standing: ReplicaStanding,
    /// How far its log was held against what is committed.
    verified: i64,
    /// How far its platter was held against its cache.
    durable: i64,
    /// Its log was cut: what it must keep is looked at once it is settled.
    cut: bool,
}

impl Watch {
    /// Whether the replica does the same as before, but for records that come and go.
    fn is_like(&self, standing: &ReplicaStanding) -> bool {
        let before = &self.standing;
        before.role == standing.role
            && before.settled == standing.settled
            && before.offsets.log_start() == standing.offsets.log_start()
    }

    pub(super) const fn log_end(&self) -> i64 {
        self.standing.offsets.log_end().0
    }
}

impl World {
    /// A broker has done something.
    pub(crate) fn oracle_step(&mut self, broker: usize) {
        if self.oracle.violation.is_some() {
            return;
        }
        let Some(running) = self.machine(broker).process.as_ref() else { return };
        let number = running.id.number;
        let standings: Vec<ReplicaStanding> =
            running.shards.iter().flat_map(broker_core::Shard::replicas).collect();
        let some_alone = self.plan.topics.iter().any(|topic| topic.replicas == 1);
        for standing in standings {
            if some_alone {
                self.check_sync_begins(broker, &standing);
            }
            self.oracle_replica(broker, number, standing);
        }
    }

    fn oracle_replica(&mut self, broker: usize, process: u64, standing: ReplicaStanding) {
        let key = standing.partition;
        let same = |before: &Watch| before.process == process && before.standing == standing && !before.cut;
        if self.oracle.watches.get(&(broker, key)).is_some_and(same) {
            return;
        }
        let before = self.oracle.watches.remove(&(broker, key));
        let mut watch = self.watch_anew(broker, process, &standing, before.as_ref());
        if let ReplicaRole::Leader(leader) = &standing.role {
            self.oracle_leader(broker, &standing, leader, before.as_ref());
        }
        if standing.role == ReplicaRole::Damaged && !self.machine(broker).rotten.contains(&key) {
            let text = format!("broker {broker} takes {} for damaged, which it is not", words(key));
            return self.oracle.violate("false damage", text);
        }
        let hollow = self.machine(broker).damaged.contains_key(&key) || standing.role == ReplicaRole::Damaged;
        if !hollow {
            self.check_high_watermark(broker, &standing, &mut watch);
            self.check_durable_end(broker, &standing, &mut watch);
        }
        if watch.cut && standing.settled {
            watch.cut = false;
            self.check_seat_of(broker, key);
        }
        watch.standing = standing;
        self.oracle.watches.insert((broker, key), watch);
    }

    fn watch_anew(
        &mut self,
        broker: usize,
        process: u64,
        standing: &ReplicaStanding,
        before: Option<&Watch>,
    ) -> Watch {
        let key = standing.partition;
        let end = standing.offsets.log_end().0;
        let start = standing.offsets.log_start().0;
        let same = before.filter(|before| before.process == process);
        if same.is_none_or(|before| !before.is_like(standing)) {
            self.trace.note(self.now, || {
                let (offsets, settled) = (standing.offsets, standing.settled);
                format!(
                    "broker {broker}, {}: {:?}, settled {settled}, {offsets:?}",
                    words(key),
                    standing.role
                )
            });
        }
        let cut = same.is_some_and(|before| end < before.standing.offsets.log_end().0);
        if cut {
            self.coverage.count("truncations");
            self.trace.note(self.now, || format!("broker {broker} cuts {} to {end}", words(key)));
            self.at_cut(broker);
        }
        if standing.role == ReplicaRole::Damaged
            && same.is_some_and(|b| b.standing.role != ReplicaRole::Damaged)
        {
            self.coverage.count("damage found");
        }
        let kept = |of: fn(&Watch) -> i64| same.map_or(start, of).min(end).max(start);
        Watch {
            process,
            standing: standing.clone(),
            verified: kept(|before| before.verified),
            durable: kept(|before| before.durable),
            cut: cut || same.is_some_and(|before| before.cut),
        }
    }

    fn oracle_leader(
        &mut self,
        broker: usize,
        standing: &ReplicaStanding,
        leader: &LeaderStanding,
        before: Option<&Watch>,
    ) {
        let key = standing.partition;
        let epoch = leader.epoch.0;
        let led = before.is_some_and(
            |before| matches!(&before.standing.role, ReplicaRole::Leader(led) if led.epoch == leader.epoch),
        );
        if !led {
            self.check_kept(broker, key);
            self.coverage.count("leaderships begun");
            self.trace.note(self.now, || format!("broker {broker} leads {} in epoch {epoch}", words(key)));
            let other = *self.oracle.leaders.entry((key, epoch)).or_insert(broker);
            if other != broker {
                let text = format!("brokers {other} and {broker} both lead epoch {epoch} of {}", words(key));
                return self.oracle.violate("one leader", text);
            }
        }
        let present = self.head.partition(key).is_some_and(|found| {
            found.leader == Some(self.machine(broker).id) && found.leader_epoch == leader.epoch
        });
        if present {
            self.check_superset(broker, key, leader);
            self.check_gone(broker, standing);
        }
        if let Some(before) = before.filter(|_| led) {
            self.check_refusal(broker, standing, leader, before);
        }
        let committed = self.oracle.committed_end(key);
        if standing.offsets.high_watermark().0 > committed {
            self.oracle_commit(broker, standing, leader);
        }
        // What is committed in a step, retention may delete in the same.
        self.check_log_start(broker, standing);
    }

    /// A leader that knows too few members takes nothing that a client wants committed.
    fn check_refusal(
        &mut self,
        broker: usize,
        standing: &ReplicaStanding,
        leader: &LeaderStanding,
        before: &Watch,
    ) {
        let below = |leader: &LeaderStanding| leader.sound_isr < leader.min_isr;
        let was_below = matches!(&before.standing.role, ReplicaRole::Leader(leader) if below(leader));
        let (from, to) = (before.standing.offsets.log_end(), standing.offsets.log_end());
        if was_below && below(leader) && to > from && !self.all_weak(broker, standing.partition, from.0, to.0)
        {
            let text = format!(
                "leader {broker} appends {from} to {to} below min ISR to {}",
                words(standing.partition)
            );
            self.oracle.violate("min isr", text);
        }
    }

    /// Whether clients let a leader take alone what it has from one offset up to another.
    fn all_weak(&self, broker: usize, key: TopicPartition, from: i64, to: i64) -> bool {
        let batches = self.batches(broker, key, from, to);
        batches.last().is_some_and(|(last, _)| last.next_offset().0 == to)
            && batches.iter().all(|(_, whole)| self.oracle.history.is_weak(identity(whole)))
    }

    /// The leader that counts believes in no smaller ISR than the controller.
    fn check_superset(&mut self, broker: usize, key: TopicPartition, leader: &LeaderStanding) {
        let Some(found) = self.head.partition(key) else { return };
        if leader.sound_isr < leader.min_isr {
            return;
        }
        let outside = |member: &&BrokerId| !leader.maximal_isr.contains(member);
        let missing: Vec<BrokerId> = found.isr.iter().chain(&found.elr).filter(outside).copied().collect();
        if !missing.is_empty() {
            let text = format!(
                "leader {broker} of {} counts on {:?}, but {missing:?} have seats too",
                words(key),
                leader.maximal_isr
            );
            self.oracle.violate("quorum superset", text);
        }
    }

    fn check_log_start(&mut self, broker: usize, standing: &ReplicaStanding) {
        let (key, start) = (standing.partition, standing.offsets.log_start().0);
        if self.oracle.deleted.contains(&key.topic_id) {
            // Whoever does not know it yet goes on with settings that nobody can look up any more.
            return;
        }
        let retains =
            self.head.topic(key.topic_id).is_some_and(|topic| topic.settings.retention_bytes.is_some());
        let end = self.oracle.committed_end(key);
        let found = self.oracle.committed.entry(key).or_default();
        if start <= found.start {
            return;
        }
        let allowed = if retains { end } else { found.may_start };
        if start > allowed {
            let text = format!("leader {broker} begins {} at {start}, allowed is {allowed}", words(key));
            return self.oracle.violate("deletion", text);
        }
        found.start = start;
        self.coverage.count("log starts raised");
    }

    /// A leader's high watermark passes what was committed before.
    fn oracle_commit(&mut self, broker: usize, standing: &ReplicaStanding, leader: &LeaderStanding) {
        let (key, to) = (standing.partition, standing.offsets.high_watermark().0);
        if leader.sound_isr < leader.min_isr {
            let text = format!(
                "leader {broker} commits {} up to {to} with {} of {} members",
                words(key),
                leader.sound_isr,
                leader.min_isr
            );
            return self.oracle.violate("min isr", text);
        }
        let from = self.oracle.committed_end(key);
        let any_first = self.head.topic(key.topic_id).is_none_or(|topic| topic.name_used_before)
            || self.oracle.log_start(key) > 0;
        let batches = self.sound_batches(broker, key, leader, from, to);
        let history = &self.oracle.history;
        let committed = self.oracle.committed.entry(key).or_default();
        let mut pushed = batches.iter().map(|(header, whole)| {
            not_failed(history, header, whole).and_then(|()| committed.push(header, whole, any_first))
        });
        if let Some(Err(wrong)) = pushed.find(Result::is_err) {
            return self.oracle.violate("committed", format!("{}: {wrong}", words(key)));
        }
        let reached = self.oracle.committed_end(key);
        if reached != to {
            let text =
                format!("leader {broker} commits {} up to {to}, its log reaches {reached}", words(key));
            return self.oracle.violate("committed", text);
        }
        self.coverage.count("commits");
        self.check_seats_from(key, from);
    }

    /// What a leader commits: as its own log holds it, or where that is rotten, which it need not know, a member's. Not a
    /// member's before its own: a disk may be lost since the member said that it has it.
    fn sound_batches(
        &self,
        leads: usize,
        key: TopicPartition,
        leader: &LeaderStanding,
        from: i64,
        to: i64,
    ) -> Vec<(BatchHeader, Vec<u8>)> {
        let own = self.batches(leads, key, from, to);
        if !self.machine(leads).rotten.contains(&key) {
            return own;
        }
        let is_whole = |batches: &Vec<(BatchHeader, Vec<u8>)>| {
            let sound = batches.iter().all(|(_, whole)| check_stored(whole, crc).is_ok());
            sound && batches.last().map_or(from, |(header, _)| header.next_offset().0) == to
        };
        let members = leader.maximal_isr.iter().map(|member| self.batches(index_of(*member), key, from, to));
        std::iter::once(own.clone()).chain(members).find(is_whole).unwrap_or(own)
    }

    /// The batches of a log as a process sees them, from one offset up to another.
    fn batches(&self, broker: usize, key: TopicPartition, from: i64, to: i64) -> Vec<(BatchHeader, Vec<u8>)> {
        let mut batches = Vec::new();
        visit(&self.machine(broker).disk.another_handle(), key, Side::Cached, from, |header, whole| {
            let below = header.next_offset().0 <= to;
            if below {
                batches.push((*header, whole.to_vec()));
            }
            below
        });
        batches
    }

    /// Everything below a high watermark is what was committed there.
    fn check_high_watermark(&mut self, broker: usize, standing: &ReplicaStanding, watch: &mut Watch) {
        let (key, to) = (standing.partition, standing.offsets.high_watermark().0);
        let start = standing.offsets.log_start().0;
        if to > self.oracle.committed_end(key).max(start) {
            let end = self.oracle.committed_end(key);
            let text = format!(
                "broker {broker} has a high watermark of {to} for {}, {end} is committed",
                words(key)
            );
            return self.oracle.violate("high watermark", text);
        }
        // Below the leader's log start nobody reads, and rot is not looked for.
        let from = watch.verified.max(start).max(self.oracle.log_start(key));
        watch.verified = watch.verified.max(to);
        if from >= to {
            return;
        }
        if let Some(at) = self.first_difference(broker, key, Side::Cached, from, to) {
            let text = format!("broker {broker} differs from what is committed of {} at {at}", words(key));
            self.oracle.violate("log matching", text);
        }
    }

    /// What a replica says is durable is on its platter.
    fn check_durable_end(&mut self, broker: usize, standing: &ReplicaStanding, watch: &mut Watch) {
        let (key, to) = (standing.partition, standing.offsets.durable_end().0);
        let from = watch.durable.max(standing.offsets.log_start().0);
        watch.durable = watch.durable.max(to);
        if from >= to {
            return;
        }
        let disk = self.machine(broker).disk.another_handle();
        let mut seen: Vec<(i64, u64)> = Vec::new();
        visit(&disk, key, Side::Cached, from, |header, whole| {
            seen.push((header.base_offset.0, identity(whole)));
            header.next_offset().0 < to
        });
        let mut on_platter: Vec<(i64, u64)> = Vec::new();
        let reached = visit(&disk, key, Side::Durable, from, |header, whole| {
            on_platter.push((header.base_offset.0, identity(whole)));
            header.next_offset().0 < to
        });
        if reached < to || seen != on_platter {
            let text = format!("broker {broker} says {to} of {} is durable, {reached} is", words(key));
            self.oracle.violate("durable end", text);
        }
    }

    /// The first offset from `from` to `to` at which a replica does not hold what is committed.
    pub(super) fn first_difference(
        &self,
        broker: usize,
        key: TopicPartition,
        side: Side,
        from: i64,
        to: i64,
    ) -> Option<i64> {
        let committed = self.oracle.committed.get(&key)?;
        let disk = self.machine(broker).disk.another_handle();
        let mut next = from;
        let mut expected = committed.from(from);
        visit(&disk, key, side, from, |header, whole| {
            let same = expected
                .next()
                .is_some_and(|entry| entry.base == header.base_offset.0 && entry.bytes.as_ref() == whole);
            if same {
                next = header.next_offset().0;
            }
            same && next < to
        });
        (next < to).then_some(next)
    }

    /// A client is told a high watermark.
    pub(crate) fn oracle_served_to(&mut self, key: TopicPartition, to: i64) {
        let end = self.oracle.committed_end(key).max(self.oracle.log_start(key));
        if to > end {
            let text =
                format!("a client is told that {} is served up to {to}, {end} is committed", words(key));
            self.oracle.violate("uncommitted read", text);
        }
    }

    /// A client reads a batch.
    pub(crate) fn oracle_read(&mut self, key: TopicPartition, header: &BatchHeader, whole: &[u8]) {
        let base = header.base_offset.0;
        let entry = self.oracle.committed.get(&key).and_then(|committed| committed.at(base));
        let same = entry.is_some_and(|entry| entry.bytes.as_ref() == whole);
        if !same {
            let what = if entry.is_some() { "differs from what is" } else { "is not" };
            let text = format!("what is read at {base} of {} {what} committed", words(key));
            return self.oracle.violate("uncommitted read", text);
        }
        let start = self.oracle.log_start(key);
        if let Err(wrong) = self.oracle.history.read(key, base, identity(whole), start) {
            self.oracle.violate("client history", format!("{}: {wrong}", words(key)));
        }
    }

    /// A client is told that a batch is committed.
    pub(crate) fn oracle_acknowledged(&mut self, name: &str, partition: i32, of: u64, base: i64) {
        let named = |key: &TopicPartition| {
            key.partition.0 == partition
                && self.oracle.names.get(&key.topic_id).is_some_and(|found| found == name)
        };
        let at = self.oracle.committed.iter().filter(|(key, _)| named(key));
        let mut at = at.filter(|(_, committed)| committed.offset_of(of) == Some(base));
        let found = at.next().map(|(key, _)| *key);
        match found {
            Some(key) => self.oracle.history.settle(of, Attempt::Acknowledged(key, base)),
            None => {
                let text = format!(
                    "a batch is acknowledged at {base} of {name}-{partition}, and not committed there"
                );
                self.oracle.violate("acknowledged", text);
            }
        }
    }

    /// The epoch in which a broker is seen leading a partition.
    pub(crate) fn oracle_leads(&self, broker: usize, key: TopicPartition) -> Option<LeaderEpoch> {
        match &self.oracle.watches.get(&(broker, key))?.standing.role {
            ReplicaRole::Leader(leader) => Some(leader.epoch),
            _ => None,
        }
    }

    /// Whether no client has anything left to write.
    pub(crate) fn oracle_quiet(&self) -> bool {
        self.clients.iter().all(|client| match client {
            crate::client::Client::Producer(_) => client.unfinished(self).is_none(),
            crate::client::Client::Consumer(_) => true,
        })
    }

    /// The leaders that are seen in a process, for traces.
    pub(crate) fn is_hollow(&self, broker: BrokerId, key: TopicPartition) -> bool {
        self.machine(index_of(broker)).damaged.contains_key(&key)
    }
}

/// Nothing that a client was told is refused for good is committed.
fn not_failed(history: &History, header: &BatchHeader, whole: &[u8]) -> Result<(), String> {
    match history.of(identity(whole)) {
        Some(Attempt::Failed) => Err(format!("the batch at {} was refused for good", header.base_offset)),
        None => Err(format!("nobody wrote the batch at {}", header.base_offset)),
        Some(_) => Ok(()),
    }
}
