//! Finding the controller: whom heartbeats and proposals go to. A controller that is silent for a second is unknown, and
//! the next voter is tried.

use std::collections::BTreeSet;
use std::time::Duration;

use log_core::{DirectoryId, MonoTime};
use log_store::Disk;
use metadata_core::controller::HEARTBEAT_INTERVAL;
use metadata_core::{Listener, MetadataQuorum, QuorumStatus};

use super::{Control, Peer};

/// How long a controller may be silent before another voter is asked.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// The shortest time between two heartbeats while the controller is being looked for.
const SEARCH_INTERVAL: Duration = Duration::from_millis(200);
/// How long a heartbeat that is due waits for a message of the quorum, whose every second one comes within this time: both then cost the
/// two brokers one waking. Almost four such heartbeats fit into a session.
const COMPANY_WAIT: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(super) struct Finder {
    own: DirectoryId,
    known: Option<DirectoryId>,
    /// When the known one was heard, or became known.
    heard: MonoTime,
    /// The voter that was asked last while none was known.
    asked: Option<DirectoryId>,
    /// From when on the next heartbeat may be sent together with something else.
    beat_from: MonoTime,
    beat_due: MonoTime,
    /// Who answered as the controller last, and when.
    answer: Option<(DirectoryId, MonoTime)>,
}

impl Finder {
    pub(super) const fn new(now: MonoTime, own: DirectoryId) -> Self {
        Self { own, known: None, heard: now, asked: None, beat_from: now, beat_due: now, answer: None }
    }

    /// The node that answered as the controller last, and when: all that a new controller has seen itself of the one before.
    pub(super) const fn last_answer(&self) -> Option<(DirectoryId, MonoTime)> {
        self.answer
    }

    /// The controller, as far as known.
    pub(super) const fn known(&self) -> Option<DirectoryId> {
        self.known
    }

    pub(super) const fn beat_due(&self) -> MonoTime {
        self.beat_due
    }

    /// A message goes to another node, which the next heartbeat may go with.
    pub(super) fn has_company(&mut self, now: MonoTime) {
        if now >= self.beat_from {
            self.hurry(now);
        }
    }

    /// The next heartbeat goes out at once.
    pub(super) fn hurry(&mut self, now: MonoTime) {
        self.beat_due = self.beat_due.min(now);
    }

    /// The quorum says who leads.
    pub(super) fn led_by(&mut self, now: MonoTime, leader: Option<DirectoryId>) {
        if leader != self.known {
            self.known = leader;
            self.heard = now;
            self.hurry(now);
        }
    }

    /// That node answered as the controller.
    pub(super) fn answered(&mut self, now: MonoTime, directory: DirectoryId) {
        self.known = Some(directory);
        self.heard = now;
        self.answer = Some((directory, now));
    }

    /// That node is not the controller, and says who is.
    pub(super) fn denied(&mut self, now: MonoTime, directory: DirectoryId, leader: Option<DirectoryId>) {
        // This node itself would know: an older hint that names it is wrong by now.
        let hint = leader.filter(|leader| *leader != directory && *leader != self.own);
        if self.known.is_none() || self.known == Some(directory) {
            self.known = hint;
            self.heard = now;
            self.beat_due = self.beat_due.min(now.after(SEARCH_INTERVAL));
        }
    }

    /// That node cannot be reached.
    pub(super) fn lost(&mut self, now: MonoTime, directory: DirectoryId) {
        if self.known == Some(directory) {
            self.known = None;
            self.beat_due = self.beat_due.min(now.after(SEARCH_INTERVAL));
        }
    }

    /// Whom a heartbeat goes to now, if one is due: the known controller, else the next voter.
    pub(super) fn next_beat(
        &mut self,
        now: MonoTime,
        leads: bool,
        others: &[DirectoryId],
    ) -> Option<DirectoryId> {
        if now < self.beat_due {
            return None;
        }
        if leads {
            (self.known, self.heard) = (Some(self.own), now);
        }
        if self.known == Some(self.own) && !leads || now >= self.heard.after(SILENCE_MAX) {
            self.known = None;
        }
        if let Some(known) = self.known {
            self.beat_from = now.after(HEARTBEAT_INTERVAL);
            self.beat_due = self.beat_from.after(COMPANY_WAIT);
            return Some(known);
        }
        self.beat_due = now.after(SEARCH_INTERVAL);
        self.beat_from = self.beat_due;
        let after = others.iter().copied().find(|other| Some(*other) > self.asked);
        self.asked = after.or_else(|| others.first().copied());
        self.asked
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// Nodes that may know the controller, in order: the voters, or, for a node that the quorum does not know any more, the
    /// brokers that its image names.
    pub(super) fn who_may_know(&self, quorum: &QuorumStatus) -> Vec<DirectoryId> {
        let voters = quorum.members.voters.iter().copied();
        let brokers = self.image.brokers().map(|broker| broker.directory);
        let all: BTreeSet<DirectoryId> =
            if quorum.members.voters.is_empty() { brokers.collect() } else { voters.collect() };
        all.into_iter().filter(|directory| *directory != self.config.directory).collect()
    }

    /// The other voters of the quorum, if this node is one: whom an election is held with.
    #[must_use]
    pub fn fellow_voters(&self) -> Vec<Peer> {
        let quorum = self.quorum.status();
        let own = self.config.directory;
        if !quorum.members.voters.contains(&own) {
            return Vec::new();
        }
        let others = quorum.members.voters.iter().filter(|voter| **voter != own);
        others.filter_map(|voter| self.peer(&quorum, *voter)).collect()
    }

    /// A node as a peer to be dialled.
    pub(super) fn peer(&self, quorum: &QuorumStatus, directory: DirectoryId) -> Option<Peer> {
        if let Some(node) = quorum.members.nodes.get(&directory) {
            return Some(Peer { directory, broker: node.broker, addresses: node.addresses.clone() });
        }
        let broker = self.image.broker_of_directory(directory)?;
        let reached = broker.endpoints_of(Listener::Replica);
        let addresses = reached.map(|endpoint| (endpoint.host.clone(), endpoint.port)).collect();
        Some(Peer { directory, broker: broker.id, addresses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: DirectoryId = DirectoryId([1; 16]);
    const TWO: DirectoryId = DirectoryId([2; 16]);
    const THREE: DirectoryId = DirectoryId([3; 16]);

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    #[test]
    fn a_controller_that_is_silent_for_a_second_is_unknown_and_each_voter_is_asked_in_turn() {
        let mut finder = Finder::new(at(0), OWN);
        finder.led_by(at(0), Some(TWO));
        let mut beat = |ms| finder.next_beat(at(ms), false, &[TWO, THREE]);
        assert_eq!((beat(0), beat(649), beat(650)), (Some(TWO), None, Some(TWO)));
        assert_eq!((beat(1_300), beat(1_500), beat(1_700)), (Some(TWO), Some(THREE), Some(TWO)));
    }

    #[test]
    fn a_heartbeat_goes_with_a_message_that_comes_when_it_is_due_and_with_none_before() {
        let mut finder = Finder::new(at(0), OWN);
        finder.led_by(at(0), Some(TWO));
        let mut with_company = |ms| {
            finder.has_company(at(ms));
            finder.next_beat(at(ms), false, &[TWO])
        };
        assert_eq!((with_company(0), with_company(320), with_company(499)), (Some(TWO), None, None));
        assert_eq!((with_company(640), with_company(960)), (Some(TWO), None));
    }

    #[test]
    fn a_hint_that_names_this_node_while_it_does_not_lead_is_wrong() {
        let mut finder = Finder::new(at(0), OWN);
        finder.denied(at(0), TWO, Some(OWN));
        assert_eq!(finder.known(), None);
        finder.led_by(at(0), Some(OWN));
        assert_eq!(finder.next_beat(at(600), false, &[TWO]), Some(TWO));
        finder.denied(at(700), TWO, Some(THREE));
        assert_eq!(finder.known(), Some(THREE));
    }
}
