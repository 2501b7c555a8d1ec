//! A quorum of one node without a network: what it is asked for is agreed at once. Control's own copy is the log.

use std::collections::VecDeque;

use bytes::Bytes;
use log_core::MetadataOffset;

use crate::quorum::{CommittedEntry, MetadataQuorum, Proposal, QuorumEvent, QuorumMember, QuorumStatus};

/// A quorum of one node, for brokers in memory and for tests.
#[derive(Debug, Default)]
pub struct SoloQuorum {
    next: i64,
    own: Option<QuorumMember>,
    leads: bool,
    events: VecDeque<QuorumEvent>,
}

impl SoloQuorum {
    /// A quorum that goes on after what Control's copy holds: none in a new directory.
    #[must_use]
    pub fn new(applied: Option<MetadataOffset>, own: QuorumMember) -> Self {
        let mut quorum = Self { next: applied.map_or(0, |offset| offset.0 + 1), ..Self::default() };
        if applied.is_some() {
            quorum.lead(own);
        }
        quorum
    }

    fn lead(&mut self, own: QuorumMember) {
        self.leads = true;
        self.commit(None);
        self.events.push_back(QuorumEvent::Leader { term: 1, leader: Some(own.directory), is_self: true });
        self.own = Some(own);
    }

    fn commit(&mut self, bytes: Option<Bytes>) {
        let entry = CommittedEntry { offset: MetadataOffset(self.next), bytes };
        self.next += 1;
        self.events.push_back(QuorumEvent::Committed { entries: vec![entry] });
    }
}

impl MetadataQuorum for SoloQuorum {
    fn propose(&mut self, proposal: Proposal) {
        if self.leads {
            self.commit(Some(proposal.bytes));
        }
    }

    fn poll_event(&mut self) -> Option<QuorumEvent> {
        self.events.pop_front()
    }

    fn applied(&mut self, _: MetadataOffset) {}

    fn offer_snapshot(&mut self, _: MetadataOffset, _: Bytes) {}

    fn form(&mut self, own: QuorumMember) {
        if !self.leads {
            self.lead(own);
        }
    }

    fn change_members(&mut self, _: crate::quorum::Members) {}

    fn status(&self) -> QuorumStatus {
        let own = self.own.clone();
        let mut status = QuorumStatus { term: u64::from(self.leads), ..QuorumStatus::default() };
        status.leader = own.as_ref().map(|member| member.directory);
        status.committed = (self.next > 0).then(|| MetadataOffset(self.next - 1));
        if let Some(own) = own {
            status.members.voters.insert(own.directory);
            status.matched.insert(own.directory, MetadataOffset(self.next - 1));
            status.members.nodes.insert(own.directory, own);
        }
        status
    }
}
