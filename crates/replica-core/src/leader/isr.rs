//! The ISR as its leader sees it: who may enter, who has to leave, what is undecided (L4 to L7).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use log_core::{BrokerId, MonoTime, Offset, PartitionEpoch};

use super::progress::Progress;
use super::{Leader, LeaderIdentity};
use crate::action::{IsrAnswer, IsrProposal, LeaderAction, LeaveReason};
use crate::mutation::{Mutation, on};
use crate::view::{PartitionView, ReplicaView};

/// A proposal that is undecided: until a record with a higher partition epoch is applied, whatever the answers say.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// What was proposed first; a retry is these bytes again.
    pub(crate) proposal: IsrProposal,
    /// Members of the proposal that are not in the committed ISR: they count in the maximal ISR.
    pub(crate) added: Vec<BrokerId>,
    /// Number of the newest attempt.
    attempt: u64,
    /// An attempt was refused: further ones change nothing and are built afresh.
    refused: bool,
    /// When the next attempt is made.
    pub(crate) next_try: MonoTime,
}

/// One read of the state that decides who is in and who is out.
struct Judged<'a> {
    identity: &'a LeaderIdentity,
    view: &'a PartitionView,
    followers: &'a BTreeMap<BrokerId, Progress>,
    high_watermark: Offset,
    low_watermark: Offset,
}

impl Judged<'_> {
    /// L4: the durable end, acknowledged in a session of this epoch under the current broker epoch, has reached the
    /// high watermark and the epoch start; and what was or may have been said to be gone is gone there (L11).
    fn has_caught_up(&self, replica: &ReplicaView) -> bool {
        let Some(progress) = self.followers.get(&replica.broker) else { return false };
        let end = if on(Mutation::H15) { Some(progress.appended) } else { progress.durable };
        let same_registration = progress.broker_epoch == replica.broker_epoch || on(Mutation::H10);
        let started = |end: Offset| end >= self.identity.epoch_start || on(Mutation::H7);
        let gone = self.low_watermark.max(self.identity.first_log_start);
        let deleted = progress.log_start >= gone || !self.view.confirms_log_starts || on(Mutation::L4);
        !progress.behind
            && same_registration
            && deleted
            && end.is_some_and(|end| end >= self.high_watermark && started(end))
    }

    fn may_enter(&self, replica: &ReplicaView) -> bool {
        let streams = self.followers.get(&replica.broker).is_some_and(|progress| progress.cursor().is_some());
        let fit = !replica.fenced && !replica.shutting_down && !replica.faulty;
        fit && streams && self.has_caught_up(replica)
    }

    fn is_proven(&self, replica: &ReplicaView) -> bool {
        replica.broker == self.identity.own || self.has_caught_up(replica)
    }

    /// Those that the controller would refuse as members.
    fn must_leave(replica: &ReplicaView) -> Option<LeaveReason> {
        match (replica.faulty, replica.shutting_down) {
            (true, _) => Some(LeaveReason::Behind),
            (false, true) => Some(LeaveReason::Lagging),
            (false, false) => None,
        }
    }

    fn additions(&self) -> Vec<BrokerId> {
        let outside = self.view.replicas.iter().filter(|replica| !self.view.in_isr(replica.broker));
        outside.filter(|replica| self.may_enter(replica)).map(|replica| replica.broker).collect()
    }

    fn suspicion_can_end(&self) -> bool {
        let members = self.view.replicas.iter().filter(|replica| self.view.in_isr(replica.broker));
        members.into_iter().any(|replica| replica.suspect && self.is_proven(replica))
    }

    /// The proposal of the committed ISR, plus `added`, minus `leaving`.
    fn proposal(&self, added: &[BrokerId], leaving: Vec<(BrokerId, LeaveReason)>) -> IsrProposal {
        let stays =
            |broker: BrokerId| self.view.in_isr(broker) && leaving.iter().all(|(left, _)| *left != broker);
        let mut members: Vec<&ReplicaView> = (self.view.replicas.iter())
            .filter(|replica| stays(replica.broker) || added.contains(&replica.broker))
            .collect();
        members.sort_by_key(|replica| replica.broker);
        let proven =
            members.iter().filter(|member| self.is_proven(member)).map(|member| member.broker).collect();
        IsrProposal {
            broker_epoch: self.identity.own_epoch,
            leader_epoch: self.identity.epoch,
            partition_epoch: self.view.partition_epoch,
            members: members.iter().map(|member| (member.broker, member.broker_epoch)).collect(),
            leaving,
            proven,
        }
    }
}

impl Leader {
    fn judged(&self) -> Judged<'_> {
        Judged {
            identity: &self.identity,
            view: &self.view,
            followers: &self.followers,
            high_watermark: self.log.high_watermark,
            low_watermark: self.low_watermark,
        }
    }

    /// Whether `broker` is in the maximal ISR: committed, or added by an undecided proposal.
    pub(crate) fn in_maximal_isr(&self, broker: BrokerId) -> bool {
        let added = self.pending.as_ref().is_some_and(|pending| pending.added.contains(&broker));
        self.view.in_isr(broker) || (added && !on(Mutation::H1))
    }

    /// Members of the maximal ISR whose ends the high watermark waits for.
    pub(crate) fn holds_high_watermark(&self, broker: BrokerId) -> bool {
        let removed = self
            .pending
            .as_ref()
            .is_some_and(|pending| pending.proposal.leaving.iter().any(|(left, _)| *left == broker));
        let cut_off = || {
            self.followers
                .get(&broker)
                .is_some_and(|progress| progress.lag.is_overdue(self.now, self.settings.lag_max))
        };
        let breached = (removed && on(Mutation::H2)) || (on(Mutation::H13) && cut_off());
        self.in_maximal_isr(broker) && !breached
    }

    /// Proposes what the ISR should become, if it should change and nothing is undecided.
    pub(crate) fn propose(&mut self, now: MonoTime) {
        let own_fit =
            self.view.replica(self.identity.own).is_some_and(|own| Judged::must_leave(own).is_none());
        if self.pending.is_some() || now < self.propose_after || !own_fit {
            return;
        }
        let (judged, due) = (self.judged(), self.due_to_leave(now));
        let added = judged.additions();
        let proof_due = self.confirmation.is_due(now);
        if added.is_empty() && due.is_empty() && !judged.suspicion_can_end() && !proof_due {
            return;
        }
        let proposal = judged.proposal(&added, self.with_unfit(due));
        self.request(now, proposal, added);
    }

    /// Members that have to leave: behind, or lagging too long.
    fn due_to_leave(&self, now: MonoTime) -> Vec<(BrokerId, LeaveReason)> {
        let reason = |broker: &BrokerId| {
            let progress = self.followers.get(broker)?;
            let reason = if progress.behind {
                LeaveReason::Behind
            } else if progress.lag.is_overdue(now, self.settings.lag_max) {
                LeaveReason::Lagging
            } else {
                return None;
            };
            Some((*broker, reason))
        };
        self.view.isr.iter().filter_map(reason).collect()
    }

    /// Adds the members that the controller would refuse in any proposal.
    fn with_unfit(&self, mut leaving: Vec<(BrokerId, LeaveReason)>) -> Vec<(BrokerId, LeaveReason)> {
        let own = self.identity.own;
        for replica in self.view.replicas.iter().filter(|replica| replica.broker != own) {
            let listed = leaving.iter().any(|(left, _)| *left == replica.broker);
            if let (true, false, Some(reason)) =
                (self.view.in_isr(replica.broker), listed, Judged::must_leave(replica))
            {
                leaving.push((replica.broker, reason));
            }
        }
        leaving.sort_by_key(|(broker, _)| *broker);
        leaving
    }

    fn request(&mut self, now: MonoTime, proposal: IsrProposal, added: Vec<BrokerId>) {
        self.attempts += 1;
        let (attempt, next_try) = (self.attempts, now.after(self.settings.isr_answer_timeout));
        self.actions.push_back(LeaderAction::RequestIsr { attempt, proposal: proposal.clone() });
        self.confirmation.hold_off(now.after(self.settings.backoff_max));
        self.pending = Some(Pending { proposal, added, attempt, refused: false, next_try });
    }

    /// Sends an undecided proposal again: the same bytes, or after a refusal one that adds nobody and is built afresh,
    /// which forces a higher partition epoch. Refreshed broker epochs of additions could seat a wiped follower (L6).
    pub(crate) fn retry(&mut self, now: MonoTime) {
        let Some(pending) = &self.pending else { return };
        if now < pending.next_try {
            return;
        }
        if on(Mutation::H12) {
            self.pending = None;
            return;
        }
        let proposal = if pending.refused {
            self.judged().proposal(&[], self.with_unfit(Vec::new()))
        } else if on(Mutation::H11) {
            self.judged().proposal(&pending.added, pending.proposal.leaving.clone())
        } else {
            pending.proposal.clone()
        };
        self.attempts += 1;
        let (attempt, next_try) = (self.attempts, now.after(self.settings.isr_answer_timeout));
        self.actions.push_back(LeaderAction::RequestIsr { attempt, proposal });
        let pending = self.pending.as_mut().expect("it was there above");
        (pending.attempt, pending.next_try) = (attempt, next_try);
    }

    /// Takes a hint on the newest attempt: when to try again, and how. What is pending stays pending.
    pub(crate) fn on_answer(&mut self, now: MonoTime, attempt: u64, answer: IsrAnswer) {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.attempt == attempt) else {
            return;
        };
        match answer {
            IsrAnswer::Applied => {}
            IsrAnswer::Refused => {
                pending.refused = true;
                pending.next_try = now.after(self.isr_backoff.next(&self.settings));
                if on(Mutation::H16) {
                    self.pending = None;
                }
            }
            IsrAnswer::Unknown => pending.next_try = now.after(self.isr_backoff.next(&self.settings)),
        }
    }

    /// A record with partition epoch `applied` is applied: it decides what was proposed under a lower one.
    pub(crate) fn decide(&mut self, now: MonoTime, applied: PartitionEpoch) {
        let Some(pending) = self.pending.take_if(|pending| applied > pending.proposal.partition_epoch) else {
            return;
        };
        let took_effect = self.view.isr.len() == pending.proposal.members.len()
            && pending.proposal.members.iter().all(|(member, _)| self.view.in_isr(*member));
        if took_effect {
            self.isr_backoff.reset();
        } else if pending.refused {
            self.propose_after = now.after(self.isr_backoff.next(&self.settings));
        }
    }
}
