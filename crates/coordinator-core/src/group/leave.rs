//! Leaving, on request and by silence.

use log_core::Now;

use super::join::refuse_waiting;
use super::{Context, Group, Member, Phase};
use crate::command::LeavingMember;
use crate::error::GroupError;

impl Group {
    /// Removes the members named; the results are in the order asked.
    pub(crate) fn leave(
        &mut self,
        now: Now,
        leaving: &[LeavingMember],
        context: &mut Context<'_>,
    ) -> Vec<Result<(), GroupError>> {
        let before = (self.members.len(), self.pending.len());
        let results = leaving.iter().map(|member| self.remove_named(member, context)).collect();
        if (self.members.len(), self.pending.len()) != before {
            self.after_removal(now, context);
        }
        results
    }

    fn remove_named(&mut self, leaving: &LeavingMember, context: &mut Context<'_>) -> Result<(), GroupError> {
        if self.pending.remove(&leaving.member_id).is_some() {
            return Ok(());
        }
        let id = match &leaving.instance_id {
            Some(instance) => {
                let holder = self.static_member(instance).ok_or(GroupError::UnknownMember)?.to_owned();
                if !leaving.member_id.is_empty() && leaving.member_id != holder {
                    return Err(GroupError::FencedInstance);
                }
                holder
            }
            None => leaving.member_id.clone(),
        };
        let mut member = self.members.remove(&id).ok_or(GroupError::UnknownMember)?;
        refuse_waiting(&mut member, GroupError::UnknownMember, context);
        Ok(())
    }

    fn after_removal(&mut self, now: Now, context: &mut Context<'_>) {
        match self.phase {
            Phase::Empty => {}
            Phase::PreparingRebalance(_) | Phase::CompletingRebalance(_) | Phase::Stable => {
                self.rebalance(now, context);
            }
        }
    }

    /// Acts on every deadline that has come.
    pub(crate) fn handle_timeout(&mut self, now: Now, context: &mut Context<'_>) {
        let pending = self.pending.len();
        self.pending.retain(|_, deadline| *deadline > now.mono);
        let lapsed = self.pending.len() != pending;
        match &self.phase {
            Phase::PreparingRebalance(preparing) if preparing.deadline <= now.mono => {
                self.complete(now, context);
            }
            Phase::CompletingRebalance(completing)
                if completing.write.is_none() && completing.deadline <= now.mono =>
            {
                self.remove_where(now, context, |member| member.syncing.is_none());
            }
            Phase::Empty | Phase::PreparingRebalance(_) | Phase::CompletingRebalance(_) | Phase::Stable => {}
        }
        self.remove_where(now, context, |member| {
            let waits = member.joining.is_some() || member.syncing.is_some();
            !waits && member.session_deadline <= now.mono
        });
        if lapsed {
            self.after_removal(now, context);
        }
    }

    /// Answers whoever waits; the group is not used afterwards.
    pub(crate) fn abandon(&mut self, error: GroupError, context: &mut Context<'_>) {
        for member in self.members.values_mut() {
            refuse_waiting(member, error, context);
        }
    }

    fn remove_where(&mut self, now: Now, context: &mut Context<'_>, gone: impl Fn(&Member) -> bool) {
        let before = self.members.len();
        self.members.retain(|_, member| !gone(member));
        if self.members.len() != before {
            self.after_removal(now, context);
        }
    }
}
