//! What clients were told, and what they read: judged by itself, without a look at any disk.

use std::collections::BTreeMap;

use log_core::TopicPartition;

/// What is known of a batch that a client wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// No answer yet.
    Waiting,
    /// Acknowledged at this offset of that partition.
    Acknowledged(TopicPartition, i64),
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
}

impl History {
    pub(crate) fn attempt(&mut self, _name: &str, _partition: i32, identity: u64) {
        self.attempts.insert(identity, Attempt::Waiting);
    }

    pub(crate) fn settle(&mut self, _name: &str, _partition: i32, identity: u64, outcome: Attempt) {
        self.attempts.insert(identity, outcome);
    }

    pub(super) fn of(&self, identity: u64) -> Option<Attempt> {
        self.attempts.get(&identity).copied()
    }

    /// A client reads a batch.
    ///
    /// Errors: what contradicts what was read before, or what was written.
    pub(super) fn read(&mut self, key: TopicPartition, base: i64, identity: u64) -> Result<(), String> {
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
        if let Some(other) = other.filter(|other| *other != base) {
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
}
