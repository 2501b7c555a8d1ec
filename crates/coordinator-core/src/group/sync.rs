//! Assignment: the leader brings it, its record is committed, every member gets its part.

use std::collections::BTreeMap;

use bytes::Bytes;
use log_core::Now;

use super::{Context, Group, Phase};
use crate::command::{Reply, RequestToken, Sync, Synced};
use crate::error::GroupError;
use crate::outbox::{AfterWrite, WriteId};
use crate::records::GroupRecord;

impl Group {
    pub(crate) fn sync(&mut self, now: Now, token: RequestToken, sync: Sync, context: &mut Context<'_>) {
        if let Err(error) = self.check_sync(&sync) {
            return context.outbox.reply(token, Reply::Synced(Err(error)));
        }
        let id = sync.speaker.member_id.clone();
        self.touch(now, &id);
        if matches!(self.phase, Phase::Stable) {
            let synced = self.synced(&id);
            return context.outbox.reply(token, Reply::Synced(synced));
        }
        let member = self.members.get_mut(&id).expect("check_sync found the member");
        if let Some(older) = member.syncing.replace(token) {
            context.outbox.reply(older, Reply::Synced(Err(GroupError::RebalanceInProgress)));
        }
        if self.leader.as_deref() == Some(&id) {
            self.write_assignments(now, sync.assignments.into_iter().collect(), context);
        }
    }

    fn check_sync(&self, sync: &Sync) -> Result<(), GroupError> {
        self.check_speaker(&sync.speaker)?;
        let differs = |said: &Option<String>, own: &Option<String>| said.is_some() && said != own;
        if differs(&sync.protocol_type, &self.protocol_type) || differs(&sync.protocol, &self.protocol) {
            return Err(GroupError::InconsistentProtocol);
        }
        match self.phase {
            Phase::Empty => Err(GroupError::UnknownMember),
            Phase::PreparingRebalance(_) => Err(GroupError::RebalanceInProgress),
            Phase::CompletingRebalance(_) | Phase::Stable => Ok(()),
        }
    }

    fn write_assignments(&mut self, now: Now, assigned: BTreeMap<String, Bytes>, context: &mut Context<'_>) {
        self.state_ms = now.wall.0;
        let record = GroupRecord::group(context.name, Some(&self.value(&assigned)));
        let Phase::CompletingRebalance(completing) = &mut self.phase else { return };
        if completing.write.is_none() {
            let after = AfterWrite::Assign { group: context.name.to_owned(), generation: self.generation };
            completing.write = Some(context.outbox.append(vec![record], after));
        }
    }

    /// The assignment's record is committed and replayed, or it failed.
    pub(crate) fn on_assignment_written(
        &mut self,
        now: Now,
        id: WriteId,
        result: Result<(), GroupError>,
        context: &mut Context<'_>,
    ) {
        match &self.phase {
            Phase::CompletingRebalance(completing) if completing.write == Some(id) => {}
            Phase::CompletingRebalance(_) | Phase::Empty | Phase::PreparingRebalance(_) | Phase::Stable => {
                return;
            }
        }
        if let Err(error) = result {
            self.refuse_syncs(error, context);
            return self.rebalance(now, context);
        }
        self.phase = Phase::Stable;
        let mut waiting = Vec::new();
        for (id, member) in &mut self.members {
            member.session_deadline = now.mono.after(member.session_timeout);
            waiting.extend(member.syncing.take().map(|token| (id.clone(), token)));
        }
        for (id, token) in waiting {
            let synced = self.synced(&id);
            context.outbox.reply(token, Reply::Synced(synced));
        }
    }

    pub(crate) fn refuse_syncs(&mut self, error: GroupError, context: &mut Context<'_>) {
        for member in self.members.values_mut() {
            member.assignment = Bytes::new();
            if let Some(token) = member.syncing.take() {
                context.outbox.reply(token, Reply::Synced(Err(error)));
            }
        }
    }

    fn synced(&self, id: &str) -> Result<Synced, GroupError> {
        let member = self.members.get(id).ok_or(GroupError::UnknownMember)?;
        Ok(Synced {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol: self.protocol.clone().unwrap_or_default(),
            assignment: member.assignment.clone(),
        })
    }
}
