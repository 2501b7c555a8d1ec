//! What must hold, whatever happens. The oracles know nothing of the rules by which brokers work: they see disks, what
//! each replica shows of itself, the metadata that is agreed, and what clients were told.

mod alone;
mod committed;
mod deleted;
mod history;
mod log;
mod replicas;
mod seats;

use std::collections::{BTreeMap, BTreeSet};

use log_core::{TopicId, TopicPartition};

use alone::Kept;
use committed::Committed;
pub(crate) use committed::identity;
pub(crate) use history::{Attempt, History};
pub(crate) use log::{Placed, last_segment};
use replicas::Watch;

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which oracle saw it.
    pub oracle: &'static str,
    /// What it saw.
    pub text: String,
}

/// What the oracles remember.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) violation: Option<Violation>,
    pub(crate) history: History,
    committed: BTreeMap<TopicPartition, Committed>,
    watches: BTreeMap<(usize, TopicPartition), Watch>,
    /// Who was seen leading each epoch.
    leaders: BTreeMap<(TopicPartition, i32), usize>,
    names: BTreeMap<TopicId, String>,
    deleted: BTreeSet<TopicId>,
    /// What replicas that are alone must hold when they lead again.
    kept: BTreeMap<(usize, TopicPartition), Kept>,
    /// Since when something that such a one appended waits for a sync to begin.
    unsynced: BTreeMap<(usize, TopicPartition), u64>,
}

impl Oracle {
    /// Notes a violation, if it is the first.
    pub(crate) fn violate(&mut self, oracle: &'static str, text: String) {
        #[cfg(highwater_mutations)]
        if crate::mutations::is_passed_over(oracle) {
            return;
        }
        if self.violation.is_none() {
            self.violation = Some(Violation { oracle, text });
        }
    }

    /// The offset after the last record that is known to be committed.
    pub(crate) fn committed_end(&self, key: TopicPartition) -> i64 {
        self.committed.get(&key).map_or(0, Committed::end)
    }

    /// The first offset that a leader keeps.
    pub(crate) fn log_start(&self, key: TopicPartition) -> i64 {
        self.committed.get(&key).map_or(0, |found| found.start)
    }

    /// The start of the committed batch that holds an offset; the offset itself if none does.
    pub(crate) fn boundary_below(&self, key: TopicPartition, offset: i64) -> i64 {
        let held = self.committed.get(&key).and_then(|found| found.from(offset).next());
        held.map_or(offset, |entry| entry.base.min(offset))
    }

    /// Records below an offset may be deleted.
    pub(crate) fn allow_deletion(&mut self, key: TopicPartition, offset: i64) {
        let found = self.committed.entry(key).or_default();
        found.may_start = found.may_start.max(offset);
    }

    pub(crate) fn forget_topic(&mut self, topic: TopicId) {
        self.deleted.insert(topic);
        self.watches.retain(|(_, key), _| key.topic_id != topic);
        self.kept.retain(|(_, key), _| key.topic_id != topic);
    }

    /// A broker's disk is gone.
    pub(crate) fn forget_broker(&mut self, broker: usize) {
        self.watches.retain(|(of, _), _| *of != broker);
        self.kept.retain(|(of, _), _| *of != broker);
    }

    /// Whether a topic of that name was ever deleted.
    pub(crate) fn was_deleted(&self, name: &str) -> bool {
        self.deleted.iter().any(|topic| self.names.get(topic).is_some_and(|of| of == name))
    }

    pub(crate) fn name_topic(&mut self, topic: TopicId, name: &str) {
        self.names.entry(topic).or_insert_with(|| name.to_owned());
    }
}
