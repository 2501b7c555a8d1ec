//! Proof that this leader still led when somebody asked: its metadata may be late, and another one may lead already. A
//! record that it proposes after the question, and that is applied, was checked against who leads (C1, C2); what it
//! changes does not matter, and mostly it changes nothing.

use log_core::MonoTime;

use super::Leader;
use crate::action::{IsrAnswer, LeaderAction};

/// Questions that wait for a proof.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confirmation {
    /// The newest question: attempts from this one on are made after it.
    wanted: Option<u64>,
    /// No proposal is made for a proof alone before: one is under way, or was made just now.
    not_before: MonoTime,
}

impl Confirmation {
    pub(crate) const fn none(now: MonoTime) -> Self {
        Self { wanted: None, not_before: now }
    }

    pub(crate) fn is_due(&self, now: MonoTime) -> bool {
        self.wanted.is_some() && now >= self.not_before
    }

    /// When a proof that nothing else brings is asked for; `None` while nobody waits, or it is asked for already.
    pub(crate) fn poll_timeout(&self, now: MonoTime) -> Option<MonoTime> {
        self.wanted.and(Some(self.not_before)).filter(|at| *at > now)
    }

    pub(crate) const fn hold_off(&mut self, until: MonoTime) {
        self.not_before = until;
    }
}

impl Leader {
    /// Wants proof that it leads; gives the first attempt that is one. [`LeaderAction::Confirmed`] names an attempt at
    /// least as great once it is there; it never does if another leads.
    pub fn confirm(&mut self, now: MonoTime) -> u64 {
        let from = self.attempts + 1;
        self.confirmation.wanted = Some(from);
        self.settle(now);
        from
    }

    /// An attempt was answered. That it was applied is told by this broker's own copy of the metadata log, for exactly
    /// this attempt: no earlier duplicate is meant.
    pub(super) fn note_confirmation(&mut self, now: MonoTime, attempt: u64, answer: IsrAnswer) {
        let Some(wanted) = self.confirmation.wanted.filter(|_| !self.left) else { return };
        match answer {
            IsrAnswer::Applied => {
                self.actions.push_back(LeaderAction::Confirmed { attempt });
                self.confirmation.wanted = Some(wanted).filter(|wanted| *wanted > attempt);
            }
            IsrAnswer::Refused | IsrAnswer::Unknown if attempt >= wanted => {
                self.confirmation.hold_off(now.after(self.settings.backoff_min));
            }
            IsrAnswer::Refused | IsrAnswer::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use log_core::{BrokerId, LeaderEpoch};

    use super::*;
    use crate::testing::*;

    const ALL: &[BrokerId] = &[LEADER, A, B];

    fn attempts(actions: &[LeaderAction]) -> Vec<u64> {
        let attempt = |action: &LeaderAction| match action {
            LeaderAction::RequestIsr { attempt, proposal } => {
                assert_eq!(proposal.members.len(), ALL.len(), "nothing is to be changed");
                Some(*attempt)
            }
            _ => None,
        };
        actions.iter().filter_map(attempt).collect()
    }

    fn confirmed(actions: &[LeaderAction]) -> Vec<u64> {
        let attempt = |action: &LeaderAction| match action {
            LeaderAction::Confirmed { attempt } => Some(*attempt),
            _ => None,
        };
        actions.iter().filter_map(attempt).collect()
    }

    #[test]
    fn a_change_of_nothing_that_is_applied_is_the_proof() {
        let mut leader = leader(ALL, facts(0, 0, 0, -1));
        assert_eq!(attempts(&leader_actions(&mut leader)), [] as [u64; 0], "nobody asked");
        assert_eq!(leader.confirm(at(1)), 1);
        assert_eq!(attempts(&leader_actions(&mut leader)), [1]);
        leader.handle_isr_answer(at(1), EPOCH, 1, IsrAnswer::Applied);
        assert_eq!(confirmed(&leader_actions(&mut leader)), [1]);
    }

    #[test]
    fn what_was_proposed_before_the_question_proves_nothing_for_it() {
        let mut leader = leader(ALL, facts(0, 0, 0, -1));
        assert_eq!(leader.confirm(at(1)), 1);
        assert_eq!(leader.confirm(at(1)), 2, "the first attempt is made already");
        assert_eq!(attempts(&leader_actions(&mut leader)), [1]);
        leader.handle_isr_answer(at(1), EPOCH, 1, IsrAnswer::Applied);
        let applied = changed(view(ALL), |view| view.partition_epoch.0 += 1);
        leader.handle_view(at(1), applied);
        let actions = leader_actions(&mut leader);
        assert_eq!((confirmed(&actions), attempts(&actions)), (alloc::vec![1], Vec::new()));
        let due = leader.poll_timeout().expect("the second question waits");
        leader.handle_timeout(due);
        assert_eq!(attempts(&leader_actions(&mut leader)), [2]);
    }

    #[test]
    fn a_refusal_proves_nothing_and_is_asked_again() {
        let mut leader = leader(ALL, facts(0, 0, 0, -1));
        leader.confirm(at(1));
        assert_eq!(attempts(&leader_actions(&mut leader)), [1]);
        leader.handle_isr_answer(at(1), EPOCH, 1, IsrAnswer::Refused);
        let other = changed(view(ALL), |view| view.partition_epoch.0 += 1);
        leader.handle_view(at(1), other);
        assert_eq!(confirmed(&leader_actions(&mut leader)), [] as [u64; 0]);
        let due = leader.poll_timeout().expect("the question waits");
        leader.handle_timeout(due);
        assert_eq!(attempts(&leader_actions(&mut leader)), [2]);
    }

    #[test]
    fn an_answer_to_an_earlier_leadership_proves_nothing_for_this_one() {
        let mut before = leader(ALL, facts(0, 0, 0, -1));
        before.confirm(at(1));
        let asked = attempts(&leader_actions(&mut before));
        let later = LeaderEpoch(EPOCH.0 + 2);
        let again = changed(view(ALL), |view| view.leader_epoch = later);
        let mut leader = Leader::new(at(2), leader_start(again, facts(0, 0, 0, -1))).unwrap();
        leader.confirm(at(3));
        assert_eq!(attempts(&leader_actions(&mut leader)), asked, "each leadership counts anew");
        leader.handle_isr_answer(at(4), EPOCH, 1, IsrAnswer::Applied);
        assert_eq!(confirmed(&leader_actions(&mut leader)), [] as [u64; 0]);
        leader.handle_isr_answer(at(5), later, 1, IsrAnswer::Applied);
        assert_eq!(confirmed(&leader_actions(&mut leader)), [1]);
    }

    #[test]
    fn who_does_not_lead_any_more_has_no_proof() {
        let mut leader = leader(ALL, facts(0, 0, 0, -1));
        leader.confirm(at(1));
        let next = changed(view(ALL), |view| {
            view.leader = Some(A);
            view.leader_epoch.0 += 1;
        });
        leader.handle_view(at(2), next);
        leader.handle_isr_answer(at(2), EPOCH, 1, IsrAnswer::Applied);
        assert_eq!(confirmed(&leader_actions(&mut leader)), [] as [u64; 0]);
    }
}
