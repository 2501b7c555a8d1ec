//! Replicas that are alone: nobody waits for their syncs but by chance (ADR 0014), and nobody else has what they lose.

use broker_core::{ReplicaRole, ReplicaStanding};
use log_core::TopicPartition;
use log_core::batch::check_stored;

use super::committed::identity;
use super::log::{Side, visit};
use crate::plan::MS;
use crate::world::{World, crc, words};

/// How long an append waits for its sync to begin, and a little for the moment at which that is seen.
const SYNC_BEGINS_WITHIN: u64 = 52 * MS;

/// What a replica held when its process ended, from what is committed on.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Where each batch begins, and what it is.
    batches: Vec<(i64, u64)>,
    /// So many of them were on the platter.
    durable: usize,
}

impl World {
    /// A process ends, or its machine loses power: what it held must be there when it leads again; after a power cut, what
    /// was on the platter.
    pub(crate) fn oracle_before_crash(&mut self, broker: usize, power: bool) {
        let id = self.machine(broker).id;
        let alone = self.head.partitions_of(id).filter(|(_, found)| found.replicas.len() == 1);
        for key in alone.map(|(key, _)| key).collect::<Vec<_>>() {
            self.oracle.unsynced.remove(&(broker, key));
            self.note_kept(broker, key, power);
        }
    }

    fn note_kept(&mut self, broker: usize, key: TopicPartition, power: bool) {
        let from = self.oracle.committed_end(key).max(self.oracle.log_start(key));
        let platter = self.sound_from(broker, key, Side::Durable, from);
        // After a sync that failed, what is in the cache is no word of anything.
        let cached = !power && !self.machine(broker).doubtful_cache;
        let before = self.oracle.kept.remove(&(broker, key)).unwrap_or_default();
        let owed = before.batches.into_iter().take(before.durable).filter(|(base, _)| *base >= from);
        for (base, of) in owed {
            if !platter.contains(&(base, of)) {
                return self.kept_nothing(broker, key, base);
            }
        }
        let durable = platter.len();
        let batches = if cached { self.sound_from(broker, key, Side::Cached, from) } else { platter };
        self.oracle.kept.insert((broker, key), Kept { batches, durable });
    }

    /// A replica that is alone leads again.
    pub(super) fn check_kept(&mut self, broker: usize, key: TopicPartition) {
        let Some(kept) = self.oracle.kept.remove(&(broker, key)) else { return };
        let from = self.oracle.committed_end(key).max(self.oracle.log_start(key));
        let present = self.sound_from(broker, key, Side::Cached, from);
        self.coverage.add("batches beyond a high watermark that a start kept", kept.batches.len() as u64);
        for (base, of) in kept.batches.into_iter().filter(|(base, _)| *base >= from) {
            if !present.contains(&(base, of)) {
                return self.kept_nothing(broker, key, base);
            }
        }
    }

    fn kept_nothing(&mut self, broker: usize, key: TopicPartition, base: i64) {
        let text =
            format!("broker {broker} had a batch at {base} of {} at its end, and has lost it", words(key));
        self.oracle.violate("kept", text);
    }

    /// Where sound batches begin, and what they are, from `from` on.
    fn sound_from(&self, broker: usize, key: TopicPartition, side: Side, from: i64) -> Vec<(i64, u64)> {
        let mut sound = Vec::new();
        visit(&self.machine(broker).disk.another_handle(), key, side, from, |header, whole| {
            let is_sound = check_stored(whole, crc).is_ok();
            if is_sound && header.base_offset.0 >= from {
                sound.push((header.base_offset.0, identity(whole)));
            }
            is_sound
        });
        sound
    }

    /// Nothing that a leader alone has appended waits long for a sync to begin.
    pub(super) fn check_sync_begins(&mut self, broker: usize, standing: &ReplicaStanding) {
        let key = standing.partition;
        let alone = self.head.partition(key).is_some_and(|found| found.replicas.len() == 1);
        if !alone {
            return;
        }
        let machine = self.machine(broker);
        let leads = matches!(standing.role, ReplicaRole::Leader(_)) && standing.settled;
        let waits = standing.offsets.log_end() > standing.offsets.durable_end() && machine.disk.held() == 0;
        let paused_until = machine.paused_until;
        if !leads || !waits {
            self.oracle.unsynced.remove(&(broker, key));
            return;
        }
        let now = self.now;
        let since = *self.oracle.unsynced.entry((broker, key)).or_insert_with(|| {
            self.coverage.count("appends that nobody waited for");
            now
        });
        if now.saturating_sub(since.max(paused_until)) > SYNC_BEGINS_WITHIN {
            let waited = (now - since) / MS;
            let text = format!("broker {broker} has not begun to sync {} after {waited} ms", words(key));
            self.oracle.violate("sync", text);
        }
    }
}
