//! Raft's log in memory: readers and questions about an index are answered from here, without the disk.
//!
//! Locks: raft's replication tasks read while its core appends; no holder waits.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::{EntryPayload, OptionalSend, RaftLogReader};
use serde::{Deserialize, Serialize};

use crate::types::{Raft, RaftEntry, RaftLogId, RaftMembership, RaftStorageError};

/// A place in the log, and who was a member there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) log_id: RaftLogId,
    pub(crate) membership: RaftMembership,
}

/// The places that the entries themselves do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Points {
    /// The last entry that was purged.
    pub(crate) purged: Option<Point>,
    /// The last entry of a snapshot that the copy takes over or has taken over.
    pub(crate) installed: Option<Point>,
}

/// See the head of this file; a cheap handle.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    points: Points,
    /// Everything after the purged point, without gaps.
    entries: VecDeque<RaftEntry>,
}

impl Log {
    pub(crate) fn new(points: Points, entries: VecDeque<RaftEntry>) -> Self {
        Self { state: Arc::new(Mutex::new(State { points, entries })) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a holder panics only on a gap in raft's log, which ends raft")
    }

    /// The index of the first entry that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.state().first()
    }

    /// The last entry, purged or not.
    pub(crate) fn last(&self) -> Option<RaftLogId> {
        let state = self.state();
        state.entries.back().map(|entry| entry.log_id).or_else(|| state.purged())
    }

    /// The last entry that was purged.
    pub(crate) fn purged(&self) -> Option<RaftLogId> {
        self.state().purged()
    }

    /// The log id at `index` and the membership there; none where this log does not reach.
    pub(crate) fn at(&self, index: u64) -> Option<Point> {
        self.state().at(index)
    }

    pub(crate) fn range(&self, range: &impl RangeBounds<u64>) -> Vec<RaftEntry> {
        let state = self.state();
        let first = state.first();
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => first,
        };
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        let wanted =
            state.entries.iter().skip(skipped).take_while(|entry| range.contains(&entry.log_id.index));
        wanted.cloned().collect()
    }

    /// # Panics
    /// On a gap: raft appends what follows its last entry.
    pub(super) fn append(&self, entries: Vec<RaftEntry>) {
        let mut state = self.state();
        for entry in entries {
            assert_eq!(entry.log_id.index, state.end(), "an appended entry follows the last one");
            state.entries.push_back(entry);
        }
    }

    /// Removes the entries from index `from` on.
    pub(super) fn truncate(&self, from: u64) {
        let mut state = self.state();
        let kept = usize::try_from(from.saturating_sub(state.first())).unwrap_or(usize::MAX);
        state.entries.truncate(kept);
    }

    /// Takes note of a snapshot under way; gives what has to be durable before it is handed on.
    pub(super) fn note_installed(&self, point: Point) -> Points {
        let mut state = self.state();
        state.points.installed = Some(point);
        state.points.clone()
    }

    /// What has to be durable before the entries up to `point` may go.
    pub(super) fn points_after_purge(&self, point: Point) -> Points {
        let installed = self.state().points.installed.clone();
        let installed = installed.filter(|installed| installed.log_id.index > point.log_id.index);
        Points { purged: Some(point), installed }
    }

    /// Removes the entries up to `point`.
    pub(super) fn purge(&self, point: Point) {
        let points = self.points_after_purge(point.clone());
        let mut state = self.state();
        while state.entries.front().is_some_and(|entry| entry.log_id.index <= point.log_id.index) {
            state.entries.pop_front();
        }
        state.points = points;
    }
}

impl State {
    fn purged(&self) -> Option<RaftLogId> {
        self.points.purged.as_ref().map(|point| point.log_id)
    }

    fn first(&self) -> u64 {
        self.purged().map_or(0, |purged| purged.index + 1)
    }

    fn end(&self) -> u64 {
        self.first() + self.entries.len() as u64
    }

    fn at(&self, index: u64) -> Option<Point> {
        let known = [&self.points.purged, &self.points.installed];
        let Some(place) = index.checked_sub(self.first()).filter(|_| index < self.end()) else {
            return known.into_iter().flatten().find(|point| point.log_id.index == index).cloned();
        };
        let upto = usize::try_from(place).ok()?;
        let log_id = self.entries.get(upto)?.log_id;
        let changed = self.entries.iter().take(upto + 1).rev().find_map(membership_in);
        let before = || self.points.purged.as_ref().map(|point| point.membership.clone());
        Some(Point { log_id, membership: changed.or_else(before).unwrap_or_default() })
    }
}

fn membership_in(entry: &RaftEntry) -> Option<RaftMembership> {
    match &entry.payload {
        EntryPayload::Membership(membership) => {
            Some(RaftMembership::new(Some(entry.log_id), membership.clone()))
        }
        EntryPayload::Blank | EntryPayload::Normal(_) => None,
    }
}

impl RaftLogReader<Raft> for Log {
    async fn try_get_log_entries<R>(&mut self, range: R) -> Result<Vec<RaftEntry>, RaftStorageError>
    where
        R: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        Ok(self.range(&range))
    }
}
