//! Agreement as a model: one linearizable log in memory that every node is shown at its own pace. What is proposed may
//! be lost, agreed late, or agreed by the next leader; what is agreed stays. The world decides when.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use log_core::{DirectoryId, MetadataOffset};
use metadata_core::{
    CommittedEntry, Members, MetadataQuorum, Proposal, QuorumEvent, QuorumMember, QuorumStatus,
};

/// The log that all nodes share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreement {
    shared: Rc<RefCell<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    entries: Vec<Option<Bytes>>,
    members: Members,
    /// Members may not leave: not all brokers have registered yet.
    forming: bool,
    term: u64,
    leader: Option<DirectoryId>,
    term_start: usize,
    nodes: BTreeMap<DirectoryId, Node>,
    proposed: VecDeque<Proposal>,
    lost: u64,
}

/// What one node has been shown.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    visible: usize,
    term: u64,
    leader: Option<DirectoryId>,
    /// Where the term that it knows of began.
    term_start: usize,
}

/// One node's face.
#[derive(Debug)]
pub(crate) struct NodeQuorum {
    own: DirectoryId,
    shared: Rc<RefCell<Shared>>,
    shown: usize,
    shown_leader: Option<(u64, Option<DirectoryId>)>,
}

impl Agreement {
    /// A quorum of these voters, that none leaves before [`Agreement::formed`].
    pub(crate) fn of(members: Members) -> Self {
        let shared = Shared { members, forming: true, ..Shared::default() };
        Self { shared: Rc::new(RefCell::new(shared)) }
    }

    pub(crate) fn formed(&self) {
        self.shared.borrow_mut().forming = false;
    }

    pub(crate) fn node(&self, own: DirectoryId, applied: Option<MetadataOffset>) -> NodeQuorum {
        let shown = applied.map_or(0, |offset| usize::try_from(offset.0 + 1).unwrap_or_default());
        NodeQuorum { own, shared: Rc::clone(&self.shared), shown, shown_leader: None }
    }

    pub(crate) fn leader(&self) -> Option<DirectoryId> {
        self.shared.borrow().leader
    }

    pub(crate) fn term(&self) -> u64 {
        self.shared.borrow().term
    }

    pub(crate) fn len(&self) -> usize {
        self.shared.borrow().entries.len()
    }

    pub(crate) fn entry(&self, index: usize) -> Option<Option<Bytes>> {
        self.shared.borrow().entries.get(index).cloned()
    }

    pub(crate) fn members(&self) -> Members {
        self.shared.borrow().members.clone()
    }

    /// What the leader was asked to agree on and has not begun with.
    pub(crate) fn next_proposed(&self) -> Option<Proposal> {
        self.shared.borrow_mut().proposed.pop_front()
    }

    /// Proposals that nodes made which do not lead any more.
    pub(crate) fn take_lost(&self) -> u64 {
        std::mem::take(&mut self.shared.borrow_mut().lost)
    }

    pub(crate) fn agree(&self, proposal: Proposal) {
        self.shared.borrow_mut().entries.push(Some(proposal.bytes));
    }

    /// Another node leads; a new term begins with a blank entry.
    pub(crate) fn elect(&self, node: DirectoryId) {
        let mut shared = self.shared.borrow_mut();
        shared.term += 1;
        shared.leader = Some(node);
        shared.proposed.clear();
        shared.entries.push(None);
        shared.term_start = shared.entries.len();
    }

    /// A node sees the log up to there, and who leads.
    pub(crate) fn show(&self, node: DirectoryId, upto: usize) {
        let mut shared = self.shared.borrow_mut();
        let (term, leader, term_start) = (shared.term, shared.leader, shared.term_start);
        if shared.members.nodes.contains_key(&node) {
            let known = shared.nodes.entry(node).or_default();
            known.visible = known.visible.max(upto);
            (known.term, known.leader, known.term_start) = (term, leader, term_start);
        }
    }
}

impl Shared {
    fn node(&self, own: DirectoryId) -> Node {
        self.nodes.get(&own).copied().unwrap_or_default()
    }
}

impl MetadataQuorum for NodeQuorum {
    fn propose(&mut self, proposal: Proposal) {
        let mut shared = self.shared.borrow_mut();
        if shared.leader == Some(self.own) && shared.node(self.own).term == shared.term {
            shared.proposed.push_back(proposal);
        } else {
            shared.lost += 1;
        }
    }

    fn poll_event(&mut self) -> Option<QuorumEvent> {
        let shared = self.shared.borrow();
        let node = shared.node(self.own);
        if self.shown < node.visible {
            let new = shared.entries.iter().enumerate().take(node.visible).skip(self.shown);
            let entry = |(index, bytes): (usize, &Option<Bytes>)| CommittedEntry {
                offset: MetadataOffset(i64::try_from(index).unwrap_or(i64::MAX)),
                bytes: bytes.clone(),
            };
            let entries = new.map(entry).collect();
            self.shown = node.visible;
            return Some(QuorumEvent::Committed { entries });
        }
        let is_self = node.leader == Some(self.own);
        let news = (node.term, node.leader);
        if node.term == 0 || self.shown_leader == Some(news) || (is_self && self.shown < node.term_start) {
            return None;
        }
        self.shown_leader = Some(news);
        Some(QuorumEvent::Leader { term: node.term, leader: node.leader, is_self })
    }

    fn applied(&mut self, _: MetadataOffset) {}

    fn offer_snapshot(&mut self, _: MetadataOffset, _: Bytes) {}

    fn form(&mut self, _: QuorumMember) {}

    fn change_members(&mut self, members: Members) {
        let mut shared = self.shared.borrow_mut();
        if shared.leader != Some(self.own) || members.voters.is_empty() || shared.forming {
            return;
        }
        shared.members = members;
        shared.entries.push(None);
    }

    fn status(&self) -> QuorumStatus {
        let shared = self.shared.borrow();
        if !shared.members.nodes.contains_key(&self.own) {
            return QuorumStatus::default();
        }
        let node = shared.node(self.own);
        let last = |entries: usize| i64::try_from(entries).map_or(None, |len| len.checked_sub(1));
        let leads = shared.leader == Some(self.own);
        let matched = |(node, known): (&DirectoryId, &Node)| {
            last(known.visible).filter(|last| *last >= 0).map(|last| (*node, MetadataOffset(last)))
        };
        QuorumStatus {
            term: node.term,
            leader: node.leader,
            members: shared.members.clone(),
            changing: shared.forming,
            committed: last(node.visible).filter(|last| *last >= 0).map(MetadataOffset),
            matched: if leads { shared.nodes.iter().filter_map(matched).collect() } else { BTreeMap::new() },
        }
    }
}
