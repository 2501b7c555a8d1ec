//! What clients were told, and what they read: judged by itself, without a look at any disk.

use std::collections::{BTreeMap, BTreeSet};

use log_core::TopicPartition;

use super::committed::Committed;

/// What is known of a batch that a client wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// No answer yet.
    Waiting,
    /// Acknowledged at this offset of that partition.
    Acknowledged(TopicPartition, i64),
    /// A leader took it at this offset; nobody promised that it stays.
    Appended(i64),
    /// Refused for good: nothing was appended.
    Failed,
    /// Nobody knows.
    Unknown,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct History {
    attempts: BTreeMap<u64, Attempt>,
    /// The batch that was read at each offset.
    reads: BTreeMap<TopicPartition, BTreeMap<i64, u64>>,
    read_at: BTreeMap<(TopicPartition, u64), i64>,
    /// Batches that a leader may take alone.
    weak: BTreeSet<u64>,
    /// What leaders took alone of each partition, by name.
    appended: BTreeMap<(String, i32), Vec<Taken>>,
}

/// A batch that a leader took alone.
#[derive(Clone, Copy, Debug)]
struct Taken {
    identity: u64,
    /// Its producer, if that had nothing else under way.
    plain: Option<u64>,
}

/// What became of batches that leaders took alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fates {
    pub(super) kept: u64,
    pub(super) lost: u64,
}

impl History {
    /// A client begins to write a batch; `by_all` if it waits for all members.
    pub(crate) fn attempt(&mut self, identity: u64, by_all: bool) {
        self.attempts.insert(identity, Attempt::Waiting);
        if !by_all {
            self.weak.insert(identity);
        }
    }

    pub(crate) fn settle(&mut self, identity: u64, outcome: Attempt) {
        self.attempts.insert(identity, outcome);
    }

    /// A client is told that a leader has taken a batch; `plain` is its producer, if that waits for each answer before it
    /// writes more.
    pub(crate) fn appended(
        &mut self,
        name: &str,
        partition: i32,
        identity: u64,
        base: i64,
        plain: Option<u64>,
    ) {
        self.settle(identity, Attempt::Appended(base));
        self.appended.entry((name.to_owned(), partition)).or_default().push(Taken { identity, plain });
    }

    /// Whether a leader may take a batch alone.
    pub(super) fn is_weak(&self, identity: u64) -> bool {
        self.weak.contains(&identity)
    }

    pub(super) fn of(&self, identity: u64) -> Option<Attempt> {
        self.attempts.get(&identity).copied()
    }

    /// A client reads a batch. Below `start` records are deleted: a batch that stood there may come again (P2).
    ///
    /// Errors: what contradicts what was read before, or what was written.
    pub(super) fn read(
        &mut self,
        key: TopicPartition,
        base: i64,
        identity: u64,
        start: i64,
    ) -> Result<(), String> {
        match self.attempts.get(&identity) {
            None => return Err(format!("phantom: nobody wrote what is read at {base}")),
            Some(Attempt::Failed) => return Err(format!("aborted read: what is read at {base} was refused")),
            Some(_) => {}
        }
        let before = self.reads.entry(key).or_default().insert(base, identity);
        if before.is_some_and(|before| before != identity) {
            return Err(format!("inconsistent offset: {base} was read before, and held another batch"));
        }
        let other = self.read_at.insert((key, identity), base);
        if let Some(other) = other.filter(|other| *other != base && *other >= start) {
            return Err(format!("duplicate: the batch at {base} was read at {other} too"));
        }
        Ok(())
    }

    /// The end: everything acknowledged that is not deleted was read where it was acknowledged.
    ///
    /// Errors: what is lost.
    pub(super) fn check_end(&self, kept: impl Fn(TopicPartition, i64) -> bool) -> Result<u64, String> {
        let mut seen = 0;
        for (identity, attempt) in &self.attempts {
            let Attempt::Acknowledged(key, base) = attempt else { continue };
            if !kept(*key, *base) {
                continue;
            }
            let read = self.reads.get(key).and_then(|reads| reads.get(base));
            if read != Some(identity) {
                let partition = key.partition;
                return Err(format!(
                    "lost write: acknowledged at {base} of partition {partition}, never read"
                ));
            }
            seen += 1;
        }
        Ok(seen)
    }

    /// What leaders took alone of a partition may be lost. What is not is committed where it was acknowledged, and in the
    /// order in which its producer was told.
    ///
    /// Errors: what is elsewhere, or out of order.
    pub(super) fn check_appended(
        &self,
        name: &str,
        partition: i32,
        committed: &Committed,
    ) -> Result<Fates, String> {
        let mut fates = Fates::default();
        let mut last: BTreeMap<u64, i64> = BTreeMap::new();
        let taken = self.appended.get(&(name.to_owned(), partition));
        for Taken { identity, plain } in taken.into_iter().flatten() {
            let Some(found) = committed.offset_of(*identity) else {
                fates.lost += 1;
                continue;
            };
            fates.kept += 1;
            if self.attempts.get(identity) != Some(&Attempt::Appended(found)) {
                let told = self.attempts.get(identity);
                return Err(format!("told as {told:?}, and committed at {found}"));
            }
            let before = plain.and_then(|producer| last.insert(producer, found));
            if let Some(before) = before.filter(|before| *before > found) {
                return Err(format!("reordered: what is at {found} was written after what is at {before}"));
            }
        }
        Ok(fates)
    }
}
