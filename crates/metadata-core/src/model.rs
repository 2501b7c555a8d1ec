//! A model of a metadata quorum for tests and the simulator: one linearizable log in memory that many nodes read at their
//! own pace. Commits can be late or lost, leaders change, nodes are cut off; all under the test's hand.
//!
//! What it does not model is agreement itself: the test says who leads, and an election is allowed only to a voter that
//! reaches a majority of voters.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use log_core::{DirectoryId, MetadataOffset};

use crate::quorum::{
    CommittedEntry, Members, MetadataQuorum, Proposal, QuorumEvent, QuorumMember, QuorumStatus,
};

/// The log that all nodes of a model share.
#[derive(Clone, Debug, Default)]
pub struct ModelCluster {
    shared: Rc<RefCell<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    entries: Vec<Option<Bytes>>,
    /// Entries below this are only in the snapshot.
    purged: usize,
    snapshot: Option<(MetadataOffset, Bytes)>,
    members: Members,
    leader: Option<DirectoryId>,
    term: u64,
    /// Where the leader's own term starts.
    term_start: usize,
    held: bool,
    waiting: VecDeque<Proposal>,
    cut_off: BTreeSet<DirectoryId>,
}

/// One node's face of the model.
#[derive(Debug)]
pub struct ModelQuorum {
    own: DirectoryId,
    shared: Rc<RefCell<Shared>>,
    shown: usize,
    shown_leader: Option<(u64, Option<DirectoryId>)>,
}

impl ModelCluster {
    /// A cluster without nodes or entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A node's face; it goes on after what its copy holds.
    #[must_use]
    pub fn node(&self, own: DirectoryId, applied: Option<MetadataOffset>) -> ModelQuorum {
        let shown = applied.map_or(0, |offset| usize::try_from(offset.0 + 1).unwrap_or_default());
        ModelQuorum { own, shared: Rc::clone(&self.shared), shown, shown_leader: None }
    }

    /// Whether proposals wait from now on until [`Self::commit_next`] or [`Self::lose_next`].
    pub fn hold_commits(&self, held: bool) {
        self.shared.borrow_mut().held = held;
        while !held && self.commit_next() {}
    }

    /// Agrees on the oldest waiting proposal; false if none waits.
    pub fn commit_next(&self) -> bool {
        let mut shared = self.shared.borrow_mut();
        let next = shared.waiting.pop_front();
        let found = next.is_some();
        shared.entries.extend(next.map(|proposal| Some(proposal.bytes)));
        found
    }

    /// Loses the oldest waiting proposal; false if none waits.
    pub fn lose_next(&self) -> bool {
        self.shared.borrow_mut().waiting.pop_front().is_some()
    }

    /// Cuts a node off, or joins it again. A leader that is cut off leads no more.
    pub fn cut_off(&self, node: DirectoryId, cut: bool) {
        let mut shared = self.shared.borrow_mut();
        if cut {
            shared.cut_off.insert(node);
            if shared.leader == Some(node) {
                shared.leader = None;
                shared.waiting.clear();
            }
        } else {
            shared.cut_off.remove(&node);
        }
    }

    /// Elects a voter that is not cut off, if a majority of voters is not; gives whether it leads.
    pub fn elect(&self, node: DirectoryId) -> bool {
        let mut shared = self.shared.borrow_mut();
        let voters = &shared.members.voters;
        let reached = voters.iter().filter(|voter| !shared.cut_off.contains(voter)).count();
        if !voters.contains(&node) || shared.cut_off.contains(&node) || reached * 2 <= voters.len() {
            return false;
        }
        shared.lead(node);
        true
    }

    /// Elects the first voter that is not cut off; gives who leads.
    pub fn elect_any(&self) -> Option<DirectoryId> {
        let voters: Vec<DirectoryId> = self.shared.borrow().members.voters.iter().copied().collect();
        voters.into_iter().find(|voter| self.elect(*voter))
    }

    /// Who leads.
    #[must_use]
    pub fn leader(&self) -> Option<DirectoryId> {
        self.shared.borrow().leader
    }

    /// The members.
    #[must_use]
    pub fn members(&self) -> Members {
        self.shared.borrow().members.clone()
    }

    /// How many entries are agreed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.borrow().entries.len()
    }

    /// Whether nothing is agreed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops the entries that the last offered snapshot holds: nodes behind it get the snapshot.
    pub fn purge(&self) {
        let mut shared = self.shared.borrow_mut();
        let upto = shared.snapshot.as_ref().map(|(upto, _)| upto.0 + 1);
        shared.purged = upto.map_or(0, |next| usize::try_from(next).unwrap_or_default());
    }
}

impl Shared {
    /// A new term begins with a blank entry, as raft's does; what waited for the old leader is lost.
    fn lead(&mut self, node: DirectoryId) {
        self.term += 1;
        self.leader = Some(node);
        self.waiting.clear();
        self.entries.push(None);
        self.term_start = self.entries.len();
    }
}

impl MetadataQuorum for ModelQuorum {
    fn propose(&mut self, proposal: Proposal) {
        let mut shared = self.shared.borrow_mut();
        if shared.leader != Some(self.own) {
            return;
        }
        if shared.held {
            shared.waiting.push_back(proposal);
        } else {
            shared.entries.push(Some(proposal.bytes));
        }
    }

    fn poll_event(&mut self) -> Option<QuorumEvent> {
        let shared = self.shared.borrow();
        let reached = shared.members.nodes.contains_key(&self.own) && !shared.cut_off.contains(&self.own);
        if reached && self.shown < shared.purged {
            let (upto, bytes) = shared.snapshot.clone()?;
            self.shown = shared.purged;
            return Some(QuorumEvent::Snapshot { upto, bytes });
        }
        if reached && self.shown < shared.entries.len() {
            let new = shared.entries.iter().enumerate().skip(self.shown);
            let entry = |(index, bytes): (usize, &Option<Bytes>)| CommittedEntry {
                offset: MetadataOffset(i64::try_from(index).unwrap_or(i64::MAX)),
                bytes: bytes.clone(),
            };
            let entries = new.map(entry).collect();
            self.shown = shared.entries.len();
            return Some(QuorumEvent::Committed { entries });
        }
        let leader = (shared.term, shared.leader.filter(|_| reached));
        let is_self = leader.1 == Some(self.own);
        if self.shown_leader == Some(leader) || (is_self && self.shown < shared.term_start) {
            return None;
        }
        self.shown_leader = Some(leader);
        Some(QuorumEvent::Leader { term: leader.0, leader: leader.1, is_self })
    }

    fn applied(&mut self, _: MetadataOffset) {}

    fn offer_snapshot(&mut self, upto: MetadataOffset, bytes: Bytes) {
        let mut shared = self.shared.borrow_mut();
        if shared.snapshot.as_ref().is_none_or(|(before, _)| *before < upto) {
            shared.snapshot = Some((upto, bytes));
        }
    }

    fn form(&mut self, own: QuorumMember) {
        let mut shared = self.shared.borrow_mut();
        if shared.members.voters.is_empty() {
            shared.members.voters.insert(own.directory);
            shared.members.nodes.insert(own.directory, own);
            shared.lead(self.own);
        }
    }

    fn change_members(&mut self, members: Members) {
        let mut shared = self.shared.borrow_mut();
        if shared.leader == Some(self.own) && !members.voters.is_empty() {
            shared.members = members;
            shared.entries.push(None);
        }
    }

    fn hand_over(&mut self, among: &BTreeSet<DirectoryId>) -> bool {
        let mut shared = self.shared.borrow_mut();
        let voters = &shared.members.voters;
        let willing = |node: &&DirectoryId| {
            **node != self.own && voters.contains(*node) && !shared.cut_off.contains(*node)
        };
        let next = among.iter().find(willing).copied();
        let leads = shared.leader == Some(self.own);
        if let Some(next) = next.filter(|_| leads) {
            shared.lead(next);
        }
        leads && next.is_some()
    }

    fn status(&self) -> QuorumStatus {
        let shared = self.shared.borrow();
        let last = i64::try_from(shared.entries.len()).unwrap_or(i64::MAX) - 1;
        let committed = (last >= 0).then_some(MetadataOffset(last));
        let reaches = |node: &&DirectoryId| !shared.cut_off.contains(*node);
        let is_leader = shared.leader == Some(self.own);
        if !shared.members.nodes.contains_key(&self.own) {
            return QuorumStatus::default();
        }
        QuorumStatus {
            term: shared.term,
            leader: shared.leader,
            members: shared.members.clone(),
            changing: false,
            committed,
            matched: shared
                .members
                .nodes
                .keys()
                .filter(|node| is_leader && reaches(node))
                .map(|node| (*node, MetadataOffset(last)))
                .collect(),
        }
    }
}
