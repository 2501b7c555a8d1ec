//! Joining: who is let in under which id, and when a rebalance begins and ends.

use core::time::Duration;

use log_core::Now;

use super::{Completing, Context, Group, Member, Phase, Preparing};
use crate::command::{Join, JoinRefused, Joined, JoinedMember, Reply, RequestToken};
use crate::error::GroupError;

/// What a member has at least to join again, whatever it asks for (a guess: a round trip on a slow link).
const REBALANCE_TIMEOUT_MIN: Duration = Duration::from_millis(100);

impl Group {
    pub(crate) fn join(&mut self, now: Now, token: RequestToken, join: Join, context: &mut Context<'_>) {
        let asked = join.member_id.clone();
        let admitted = self.check_protocols(&join).and_then(|()| self.check_size(&join, context));
        let admitted = admitted.and_then(|()| match join.member_id.is_empty() {
            true => self.join_anew(now, token, join, context),
            false => self.rejoin(now, token, join, context),
        });
        if let Err((error, id)) = admitted.map_err(Refusal::split) {
            refuse(token, error, id.unwrap_or(asked), context);
        }
    }

    fn join_anew(
        &mut self,
        now: Now,
        token: RequestToken,
        join: Join,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        let id = context.random.member_id(&join.client_id);
        match join.instance_id.as_deref().map(|instance| self.static_member(instance).map(str::to_owned)) {
            Some(Some(old)) => self.replace_static(now, token, join, &old, id, context),
            None if join.member_id_required => {
                self.pending.insert(id.clone(), now.mono.after(join.session_timeout));
                return Err(Refusal { error: GroupError::MemberIdRequired, member_id: Some(id) });
            }
            Some(None) | None => self.admit(now, token, join, id, context),
        }
        Ok(())
    }

    fn rejoin(
        &mut self,
        now: Now,
        token: RequestToken,
        join: Join,
        context: &mut Context<'_>,
    ) -> Result<(), Refusal> {
        let id = join.member_id.clone();
        if self.pending.remove(&id).is_some() {
            self.admit(now, token, join, id, context);
            return Ok(());
        }
        self.check_instance(join.instance_id.as_deref(), &id)?;
        let leads = self.leader.as_deref() == Some(&id);
        let member = self.members.get_mut(&id).ok_or(GroupError::UnknownMember)?;
        let changed = member.protocols != join.protocols;
        member.update(now, &join);
        let settled = match self.phase {
            Phase::Empty => return Err(GroupError::UnknownMember.into()),
            Phase::PreparingRebalance(_) => false,
            Phase::CompletingRebalance(_) => !changed,
            Phase::Stable => !changed && !leads,
        };
        if settled {
            let joined = self.joined(&id, false);
            context.outbox.reply(token, Reply::Joined(Ok(joined)));
            return Ok(());
        }
        self.await_join(&id, token, context);
        self.rebalance(now, context);
        Ok(())
    }

    fn admit(&mut self, now: Now, token: RequestToken, join: Join, id: String, context: &mut Context<'_>) {
        if self.members.is_empty() {
            self.protocol_type = Some(join.protocol_type.clone());
        }
        let order = self.next_join();
        self.members.insert(id.clone(), Member::new(now, join, order));
        self.await_join(&id, token, context);
        self.extend_forming(now, context);
        self.rebalance(now, context);
    }

    /// A static member that restarted: it takes over the old id's place and assignment. No rebalance is needed in a
    /// stable group whose protocol stays; one that is just completing begins again, for the old id is in it.
    fn replace_static(
        &mut self,
        now: Now,
        token: RequestToken,
        join: Join,
        old: &str,
        id: String,
        context: &mut Context<'_>,
    ) {
        let mut member = self.members.remove(old).expect("the static member was just found");
        refuse_waiting(&mut member, GroupError::FencedInstance, context);
        let skip = join.can_skip_assignment;
        let unchanged = member.protocols == join.protocols;
        member.update(now, &join);
        self.members.insert(id.clone(), member);
        let led = self.leader.as_deref() == Some(old);
        if led {
            self.leader = Some(id.clone());
        }
        if matches!(self.phase, Phase::Stable) && unchanged && (!led || skip) {
            let joined = self.joined(&id, led);
            return context.outbox.reply(token, Reply::Joined(Ok(joined)));
        }
        self.await_join(&id, token, context);
        self.rebalance(now, context);
    }

    fn await_join(&mut self, id: &str, token: RequestToken, context: &mut Context<'_>) {
        let member = self.members.get_mut(id).expect("the caller looked the member up");
        if let Some(older) = member.joining.replace(token) {
            refuse(older, GroupError::RebalanceInProgress, id.to_owned(), context);
        }
    }

    /// Begins a rebalance if none runs, and ends it if everybody is here.
    pub(crate) fn rebalance(&mut self, now: Now, context: &mut Context<'_>) {
        match self.phase {
            Phase::PreparingRebalance(_) => {}
            Phase::Empty => {
                let forming_until = Some(now.mono.after(self.rebalance_timeout()));
                let deadline = now.mono.after(context.config.initial_rebalance_delay);
                self.phase = Phase::PreparingRebalance(Preparing { deadline, forming_until });
            }
            Phase::CompletingRebalance(_) | Phase::Stable => {
                self.refuse_syncs(GroupError::RebalanceInProgress, context);
                let deadline = now.mono.after(self.rebalance_timeout());
                self.phase = Phase::PreparingRebalance(Preparing { deadline, forming_until: None });
            }
        }
        self.complete_if_all_joined(now, context);
    }

    fn complete_if_all_joined(&mut self, now: Now, context: &mut Context<'_>) {
        let Phase::PreparingRebalance(preparing) = &self.phase else { return };
        let forming = preparing.forming_until.is_some() && !self.members.is_empty();
        let waits = forming && !context.config.initial_rebalance_delay.is_zero();
        let everybody = self.members.values().all(|member| member.joining.is_some());
        if !waits && everybody && self.pending.is_empty() {
            self.complete(now, context);
        }
    }

    fn extend_forming(&mut self, now: Now, context: &Context<'_>) {
        if let Phase::PreparingRebalance(Preparing { deadline, forming_until: Some(until) }) = &mut self.phase
        {
            *deadline = now.mono.after(context.config.initial_rebalance_delay).min(*until);
        }
    }

    /// Ends the joining: a new generation of those who came; static members may still come until their session ends.
    pub(crate) fn complete(&mut self, now: Now, context: &mut Context<'_>) {
        self.members.retain(|_, member| member.joining.is_some() || member.instance_id.is_some());
        if !self.members.is_empty() && self.members.values().all(|member| member.joining.is_none()) {
            let deadline = now.mono.after(self.rebalance_timeout());
            self.phase = Phase::PreparingRebalance(Preparing { deadline, forming_until: None });
            return;
        }
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        self.state_ms = now.wall.0;
        if self.members.is_empty() {
            (self.phase, self.protocol, self.leader) = (Phase::Empty, None, None);
            return self.write_empty(context);
        }
        self.protocol = Some(self.choose_protocol());
        self.leader = Some(self.choose_leader());
        let deadline = now.mono.after(self.rebalance_timeout());
        self.phase = Phase::CompletingRebalance(Completing { deadline, write: None });
        self.answer_joins(now, context);
    }

    fn answer_joins(&mut self, now: Now, context: &mut Context<'_>) {
        let mut waiting = Vec::new();
        for (id, member) in &mut self.members {
            member.session_deadline = now.mono.after(member.session_timeout);
            waiting.extend(member.joining.take().map(|token| (id.clone(), token)));
        }
        for (id, token) in waiting {
            let joined = self.joined(&id, false);
            context.outbox.reply(token, Reply::Joined(Ok(joined)));
        }
    }

    fn joined(&self, id: &str, skip_assignment: bool) -> Joined {
        let protocol = self.protocol.clone().unwrap_or_default();
        let leader = self.leader.clone().unwrap_or_default();
        let seen = |(id, member): (&String, &Member)| JoinedMember {
            member_id: id.clone(),
            instance_id: member.instance_id.clone(),
            subscription: member.subscription(&protocol),
        };
        let members = if leader == id { self.members.iter().map(seen).collect() } else { Vec::new() };
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            member_id: id.to_owned(),
            leader,
            skip_assignment,
            members,
            protocol,
        }
    }

    fn check_protocols(&self, join: &Join) -> Result<(), Refusal> {
        if join.protocol_type.is_empty() || join.protocols.is_empty() {
            return Err(GroupError::InconsistentProtocol.into());
        }
        let me = |id: &str, member: &Member| {
            id == join.member_id || (member.instance_id.is_some() && member.instance_id == join.instance_id)
        };
        let mut others = self.members.iter().filter(|(id, member)| !me(id, member)).peekable();
        if others.peek().is_none() {
            return Ok(());
        }
        let others: Vec<&Member> = others.map(|(_, member)| member).collect();
        let shared = |name: &str| others.iter().all(|member| member.supports(name));
        let fits = self.protocol_type.as_deref() == Some(&join.protocol_type);
        if fits && join.protocols.iter().any(|(name, _)| shared(name)) {
            Ok(())
        } else {
            Err(GroupError::InconsistentProtocol.into())
        }
    }

    fn check_size(&self, join: &Join, context: &Context<'_>) -> Result<(), Refusal> {
        let known = self.members.contains_key(&join.member_id) || self.pending.contains_key(&join.member_id);
        let full = self.members.len() + self.pending.len() >= context.config.members_max;
        if full && !known { Err(GroupError::GroupFull.into()) } else { Ok(()) }
    }

    /// Of the assignors that all know, the one that most prefer; of equals the first by name.
    fn choose_protocol(&self) -> String {
        let shared = |name: &str| self.members.values().all(|member| member.supports(name));
        let mut votes = std::collections::BTreeMap::<&str, usize>::new();
        for member in self.members.values() {
            let preferred = member.protocols.iter().map(|(name, _)| name.as_str()).find(|name| shared(name));
            *votes.entry(preferred.unwrap_or_default()).or_default() += 1;
        }
        let best = votes.iter().max_by(|one, other| one.1.cmp(other.1).then(other.0.cmp(one.0)));
        best.map(|(name, _)| (*name).to_owned()).unwrap_or_default()
    }

    /// The present leader while it is here, else whoever is here and joined first.
    fn choose_leader(&self) -> String {
        let here = |id: &String| self.members.get(id).is_some_and(|member| member.joining.is_some());
        if let Some(leader) = self.leader.as_ref().filter(|id| here(id)) {
            return leader.clone();
        }
        let joined = self.members.iter().filter(|(_, member)| member.joining.is_some());
        joined.min_by_key(|(_, member)| member.order).map(|(id, _)| id.clone()).unwrap_or_default()
    }

    /// The longest that any member asked for. Static members may be waited for again and again, so that none is no time.
    pub(crate) fn rebalance_timeout(&self) -> Duration {
        let asked = self.members.values().map(|member| member.rebalance_timeout).max();
        asked.unwrap_or_default().max(REBALANCE_TIMEOUT_MIN)
    }
}

struct Refusal {
    error: GroupError,
    member_id: Option<String>,
}

impl Refusal {
    fn split(self) -> (GroupError, Option<String>) {
        (self.error, self.member_id)
    }
}

impl From<GroupError> for Refusal {
    fn from(error: GroupError) -> Self {
        Self { error, member_id: None }
    }
}

fn refuse(token: RequestToken, error: GroupError, member_id: String, context: &mut Context<'_>) {
    context.outbox.reply(token, Reply::Joined(Err(JoinRefused { error, member_id })));
}

/// Answers what a member still waits for with an error.
pub(crate) fn refuse_waiting(member: &mut Member, error: GroupError, context: &mut Context<'_>) {
    if let Some(token) = member.joining.take() {
        refuse(token, error, String::new(), context);
    }
    if let Some(token) = member.syncing.take() {
        context.outbox.reply(token, Reply::Synced(Err(error)));
    }
}
