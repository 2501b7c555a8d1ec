//! Agreement: when proposals are agreed on or lost, when each node sees it, who leads.

use log_core::DirectoryId;
use metadata_core::{Change, Entry, MetadataRecord, Proposal};

use super::queue::Event;
use super::{Phase, World};
use crate::plan::MS;

/// How often the leader of the quorum is heard.
const TICK: u64 = 150 * MS;

/// How long agreement takes at most: what was proposed before the last fault must be agreed on well within the time for
/// healing.
const AGREEMENT_MAX: u64 = 5_000 * MS;

/// How agreement goes at the moment.
#[derive(Debug, Default)]
pub(crate) struct Controlling {
    /// Proposals that are lost, in a thousand.
    pub(crate) lost_permille: u64,
    /// Whether agreement takes long.
    pub(crate) slow: bool,
    last_commit_at: u64,
    /// Proposals under way, in order.
    under_way: u64,
    /// Since when the leader has no majority.
    headless_since: Option<u64>,
}

impl Controlling {
    pub(crate) const fn mend(&mut self) {
        self.lost_permille = 0;
        self.slow = false;
    }
}

impl World {
    /// What nodes have proposed begins its way.
    pub(super) fn take_proposals(&mut self) {
        let lost = self.agreement.take_lost();
        if lost > 0 {
            self.coverage.add("proposals lost at an old leader", lost);
        }
        while let Some(proposal) = self.agreement.next_proposed() {
            if self.dice.permille(self.controlling.lost_permille) {
                self.coverage.count("proposals lost");
                continue;
            }
            let Some(longer) = self.at_proposal(&proposal) else {
                self.coverage.count("proposals lost");
                continue;
            };
            let (soonest, latest) = self.plan.weather.commit;
            let factor = if self.controlling.slow { self.dice.between(1, 60) } else { 1 };
            let takes = (self.dice.between(soonest, latest) * factor).min(AGREEMENT_MAX);
            let at = self.now + takes + longer;
            self.controlling.last_commit_at = at.max(self.controlling.last_commit_at);
            self.controlling.under_way += 1;
            let (term, at) = (self.agreement.term(), self.controlling.last_commit_at);
            self.plan(at, Event::Commit { term, proposal });
        }
    }

    /// A proposal is agreed on, if its leader still leads and reaches a majority.
    pub(super) fn commit(&mut self, term: u64, proposal: Proposal) {
        self.controlling.under_way = self.controlling.under_way.saturating_sub(1);
        if term != self.agreement.term() {
            // The next leader had it in its log, or not.
            if self.dice.permille(300) {
                self.coverage.count("proposals agreed by the next leader");
                self.agree(proposal);
            } else {
                self.coverage.count("proposals lost with their leader");
            }
            return;
        }
        if !self.leader_is_followed() {
            self.controlling.under_way += 1;
            return self.plan_within((30 * MS, 90 * MS), Event::Commit { term, proposal });
        }
        self.agree(proposal);
    }

    fn agree(&mut self, proposal: Proposal) {
        self.agreement.agree(proposal);
        self.apply_agreed();
        self.show_all();
    }

    /// Everything that is agreed is applied to the head, which is what all brokers come to believe.
    pub(super) fn apply_agreed(&mut self) {
        loop {
            let next = self.head.applied().map_or(0, |offset| usize::try_from(offset.0 + 1).unwrap_or(0));
            let Some(entry) = self.agreement.entry(next) else { return };
            let offset = log_core::MetadataOffset(i64::try_from(next).unwrap_or(i64::MAX));
            let Some(bytes) = entry else {
                self.head.skip(offset);
                continue;
            };
            match Entry::decode(offset, &bytes) {
                Ok(entry) => self.apply_to_head(&entry),
                Err(error) => {
                    return self.oracle.violate("metadata", format!("entry {next} is malformed: {error}"));
                }
            }
        }
    }

    fn apply_to_head(&mut self, entry: &Entry) {
        let before = self.head.clone();
        let outcome = self.head.apply(entry);
        self.trace.count(entry.offset.0.unsigned_abs());
        self.trace.note(self.now, || {
            let result = outcome.result.as_ref().map(|_| "done").map_err(ToString::to_string);
            format!("entry {} agreed: {:?}: {result:?}", entry.offset, entry.record)
        });
        if self.head.feature_level() > before.feature_level() && before.feature_level() > 0 {
            self.coverage.count("feature levels raised");
        }
        if outcome.result.is_err() {
            self.coverage.count("records refused when applied");
        }
        if let (MetadataRecord::RegisterBroker(registered), true) = (&entry.record, outcome.result.is_ok()) {
            self.oracle_registered(&before, registered.broker);
        }
        if let (MetadataRecord::UnfenceBroker(let_in), true) = (&entry.record, outcome.result.is_ok()) {
            self.oracle_let_in(let_in.broker, let_in.broker_epoch);
            self.at_unfencing(let_in.broker, entry.offset);
        }
        for change in outcome.changes {
            match change {
                Change::Partition(key) => self.oracle_partition_changed(&before, key),
                Change::TopicCreated(topic) => {
                    self.coverage.count("topics created");
                    self.at_creation(topic);
                }
                Change::TopicDeleted(topic) => {
                    self.coverage.count("topics deleted");
                    self.oracle.forget_topic(topic);
                }
                _ => {}
            }
        }
        if let Some(law) = self.head.broken_law() {
            self.oracle.violate("image", format!("entry {}: {law}", entry.offset));
        }
    }

    fn show_all(&mut self) {
        let upto = self.agreement.len();
        for broker in 0..self.machines.len() {
            self.plan_show(broker, upto);
        }
    }

    fn plan_show(&mut self, broker: usize, upto: usize) {
        let (soonest, latest) = self.plan.weather.show;
        let slow = if self.machine(broker).slow_metadata { self.dice.between(0, 5_000 * MS) } else { 0 };
        let at = self.now + self.dice.between(soonest, latest) + slow;
        self.plan(at, Event::Show { broker, upto });
    }

    /// A node sees the log up to there, if the leader reaches it.
    pub(super) fn show(&mut self, broker: usize, upto: usize) {
        let Some(leader) = self.agreement.leader().and_then(|leader| self.broker_of(leader)) else { return };
        if !self.machine(leader).is_up(self.now)
            || !self.machine(broker).is_up(self.now)
            || !self.net.connects(leader, broker, self.now)
            || self.now < self.machine(broker).no_metadata_until
        {
            return;
        }
        let upto = self.machine(broker).metadata_upto.map_or(upto, |most| most.min(upto));
        self.agreement.show(self.machine(broker).directory, upto);
        let process = self.machine(broker).process.as_ref().map(|running| running.id);
        if let Some(process) = process {
            self.with(process, |running, now| running.control.handle_quorum(now));
        }
    }

    /// The quorum's heartbeat: nodes that were away catch up, and a leader without a majority is replaced.
    pub(super) fn tick(&mut self) {
        self.plan(self.now + TICK, Event::Tick);
        self.show_late();
        if self.leader_is_followed() {
            self.controlling.headless_since = None;
            return;
        }
        let since = *self.controlling.headless_since.get_or_insert(self.now);
        let patience = self.dice.between(800 * MS, 1_200 * MS);
        if self.now - since >= patience {
            self.fail_over();
        }
    }

    fn show_late(&mut self) {
        let upto = self.agreement.len();
        for broker in 0..self.machines.len() {
            if !self.machine(broker).slow_metadata || self.dice.permille(50) {
                self.plan_show(broker, upto);
            }
        }
    }

    /// Another voter leads, if there is one that reaches a majority.
    pub(super) fn fail_over(&mut self) {
        let able: Vec<DirectoryId> =
            self.voters().into_iter().filter(|voter| self.reaches_majority(*voter)).collect();
        if able.is_empty() {
            return;
        }
        let leader = self.dice.pick(&able);
        self.coverage.count("controller elections");
        self.controlling.headless_since = None;
        self.elect(leader);
    }

    pub(super) fn elect(&mut self, leader: DirectoryId) {
        self.agreement.elect(leader);
        self.trace.note(self.now, || format!("{leader} leads the quorum"));
        self.apply_agreed();
        self.show_all();
    }

    fn voters(&self) -> Vec<DirectoryId> {
        self.agreement.members().voters.into_iter().collect()
    }

    fn leader_is_followed(&self) -> bool {
        self.phase == Phase::Forming
            || self.agreement.leader().is_some_and(|leader| self.reaches_majority(leader))
    }

    fn reaches_majority(&self, node: DirectoryId) -> bool {
        let Some(broker) = self.broker_of(node).filter(|broker| self.machine(*broker).is_up(self.now)) else {
            return false;
        };
        let voters = self.voters();
        let reached = voters.iter().filter_map(|voter| self.broker_of(*voter)).filter(|other| {
            *other == broker
                || self.machine(*other).is_up(self.now) && self.net.connects(broker, *other, self.now)
        });
        reached.count() * 2 > voters.len()
    }
}
