//! One group: its members, its phase, its committed offsets. Joining is in `join.rs`, assignment in `sync.rs`,
//! leaving and time in `leave.rs`.
//!
//! ```text
//!             join                    all joined, or time is up             leader's assignment committed
//!   Empty ──────────► PreparingRebalance ──────────► CompletingRebalance ──────────► Stable
//!     ▲                 │     ▲                            │                            │
//!     └── nobody joined ┘     └── join, leave, expiry ─────┴────────────────────────────┘
//! ```

mod join;
mod leave;
mod member;
mod sync;

use std::collections::BTreeMap;

use log_core::{MonoTime, Now};

use crate::command::{DescribedGroup, DescribedMember, Speaker};
use crate::config::GroupConfig;
use crate::error::GroupError;
use crate::outbox::{AfterWrite, Outbox, WriteId};
use crate::records::{CommittedOffset, GroupRecord, GroupValue, MemberValue};
pub(crate) use member::Member;

/// What a group's methods need from the coordinator.
pub(crate) struct Context<'a> {
    pub(crate) name: &'a str,
    pub(crate) config: &'a GroupConfig,
    pub(crate) outbox: &'a mut Outbox,
    /// Random bits for member ids.
    pub(crate) random: &'a mut Random,
}

/// A stream of bits from a seed (splitmix64); only uniqueness and unguessability by accident matter.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn member_id(&mut self, client_id: &str) -> String {
        format!("{client_id}-{:016x}{:016x}", self.next(), self.next())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) leader: Option<String>,
    pub(crate) members: BTreeMap<String, Member>,
    /// Ids given out whose join has not come yet, with the time they lapse.
    pub(crate) pending: BTreeMap<String, MonoTime>,
    pub(crate) phase: Phase,
    /// When the group last changed its state, in milliseconds since 1970.
    pub(crate) state_ms: i64,
    pub(crate) offsets: BTreeMap<(String, i32), CommittedOffset>,
    pub(crate) joins: u64,
}

/// What the group waits for.
#[derive(Debug, Default)]
pub(crate) enum Phase {
    /// Nothing: it has no members.
    #[default]
    Empty,
    /// The members to join.
    PreparingRebalance(Preparing),
    /// The leader's assignment, and the record of it.
    CompletingRebalance(Completing),
    /// Nothing: every member has its assignment.
    Stable,
}

#[derive(Debug)]
pub(crate) struct Preparing {
    deadline: MonoTime,
    /// While the group forms: later members move the deadline, never beyond this.
    forming_until: Option<MonoTime>,
}

#[derive(Debug)]
pub(crate) struct Completing {
    deadline: MonoTime,
    write: Option<WriteId>,
}

impl Phase {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance(_) => "PreparingRebalance",
            Self::CompletingRebalance(_) => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

impl Group {
    /// Whether nothing of it is worth keeping.
    pub(crate) fn is_dead(&self) -> bool {
        self.members.is_empty() && self.pending.is_empty() && self.offsets.is_empty()
    }

    pub(crate) fn describe(&self) -> DescribedGroup {
        let stable = matches!(self.phase, Phase::Stable);
        let protocol = self.protocol.clone().filter(|_| stable).unwrap_or_default();
        DescribedGroup {
            state: self.phase.name(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            members: self.members.iter().map(|(id, member)| describe_member(id, member, &protocol)).collect(),
            protocol,
        }
    }

    pub(crate) fn heartbeat(&mut self, now: Now, speaker: &Speaker) -> Result<(), GroupError> {
        self.check_speaker(speaker)?;
        self.touch(now, &speaker.member_id);
        match self.phase {
            Phase::Empty => Err(GroupError::UnknownMember),
            Phase::PreparingRebalance(_) => Err(GroupError::RebalanceInProgress),
            Phase::CompletingRebalance(_) | Phase::Stable => Ok(()),
        }
    }

    /// Whether this speaker may commit now. One without membership may while the group has no members.
    pub(crate) fn check_commit(&mut self, now: Now, speaker: &Speaker) -> Result<(), GroupError> {
        if speaker.generation < 0 && speaker.member_id.is_empty() && self.members.is_empty() {
            return Ok(());
        }
        self.check_speaker(speaker)?;
        if matches!(self.phase, Phase::CompletingRebalance(_)) {
            return Err(GroupError::RebalanceInProgress);
        }
        self.touch(now, &speaker.member_id);
        Ok(())
    }

    pub(crate) fn check_speaker(&self, speaker: &Speaker) -> Result<(), GroupError> {
        self.check_instance(speaker.instance_id.as_deref(), &speaker.member_id)?;
        if speaker.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        Ok(())
    }

    /// A static id must still belong to the member that names it; any member must be known.
    fn check_instance(&self, instance_id: Option<&str>, member_id: &str) -> Result<(), GroupError> {
        if let Some(instance) = instance_id {
            match self.static_member(instance) {
                Some(holder) if holder != member_id => return Err(GroupError::FencedInstance),
                Some(_) => return Ok(()),
                None => return Err(GroupError::UnknownMember),
            }
        }
        if self.members.contains_key(member_id) { Ok(()) } else { Err(GroupError::UnknownMember) }
    }

    fn static_member(&self, instance_id: &str) -> Option<&str> {
        let holds = |member: &Member| member.instance_id.as_deref() == Some(instance_id);
        self.members.iter().find(|(_, member)| holds(member)).map(|(id, _)| id.as_str())
    }

    fn touch(&mut self, now: Now, member_id: &str) {
        if let Some(member) = self.members.get_mut(member_id) {
            member.session_deadline = now.mono.after(member.session_timeout);
        }
    }

    /// Takes a group record: at load it makes the members, while the group lives it brings their assignments.
    pub(crate) fn replay(&mut self, now: Now, value: GroupValue, loading: bool) {
        if loading {
            return self.load(now, value);
        }
        if value.generation == self.generation {
            for stored in value.members {
                if let Some(member) = self.members.get_mut(&stored.member_id) {
                    member.assignment = stored.assignment;
                }
            }
        }
    }

    fn load(&mut self, now: Now, value: GroupValue) {
        self.generation = value.generation;
        self.protocol_type = Some(value.protocol_type).filter(|kind| !kind.is_empty());
        self.leader = value.leader;
        self.state_ms = value.state_ms;
        self.members.clear();
        for stored in value.members {
            let order = self.next_join();
            let protocol = value.protocol.clone().unwrap_or_default();
            self.members.insert(stored.member_id.clone(), Member::restored(now, stored, protocol, order));
        }
        self.protocol = value.protocol;
        self.phase = if self.members.is_empty() { Phase::Empty } else { Phase::Stable };
    }

    /// The record of the group as it stands, with these assignments.
    pub(crate) fn value(&self, assignments: &BTreeMap<String, bytes::Bytes>) -> GroupValue {
        let protocol = self.protocol.clone().unwrap_or_default();
        let member = |(id, member): (&String, &Member)| MemberValue {
            member_id: id.clone(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            rebalance_timeout_ms: millis(member.rebalance_timeout),
            session_timeout_ms: millis(member.session_timeout),
            subscription: member.subscription(&protocol),
            assignment: assignments.get(id).cloned().unwrap_or_default(),
        };
        GroupValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            state_ms: self.state_ms,
            members: self.members.iter().map(member).collect(),
        }
    }

    /// Whether its members, if there are any, are consumers.
    pub(crate) fn is_of_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some("consumer")
    }

    /// Whether a member's subscription names the topic; one that cannot be read is taken to name every topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        let mut subscriptions = self.members.values().flat_map(|member| member.protocols.first());
        self.is_of_consumers() && subscriptions.any(|(_, subscription)| names_topic(subscription, topic))
    }

    /// The records that make the group again as far as it is durable.
    pub(crate) fn snapshot(&self, name: &str, into: &mut Vec<GroupRecord>) {
        for ((topic, partition), committed) in &self.offsets {
            into.push(GroupRecord::offset(name, topic, *partition, Some(committed)));
        }
        if self.generation > 0 {
            let held = self.members.iter().map(|(id, member)| (id.clone(), member.assignment.clone()));
            into.push(GroupRecord::group(name, Some(&self.value(&held.collect()))));
        }
    }

    /// The earliest time at which the group has to act.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        let phase = match &self.phase {
            Phase::PreparingRebalance(preparing) => Some(preparing.deadline),
            Phase::CompletingRebalance(completing) if completing.write.is_none() => Some(completing.deadline),
            Phase::CompletingRebalance(_) | Phase::Empty | Phase::Stable => None,
        };
        let waits = |member: &&Member| member.joining.is_none() && member.syncing.is_none();
        let sessions = self.members.values().filter(waits).map(|member| member.session_deadline);
        phase.into_iter().chain(sessions).chain(self.pending.values().copied()).min()
    }

    fn write_empty(&mut self, context: &mut Context<'_>) {
        let record = GroupRecord::group(context.name, Some(&self.value(&BTreeMap::new())));
        context.outbox.append(vec![record], AfterWrite::Nothing);
    }

    fn next_join(&mut self) -> u64 {
        self.joins += 1;
        self.joins
    }
}

fn describe_member(id: &str, member: &Member, protocol: &str) -> DescribedMember {
    DescribedMember {
        member_id: id.to_owned(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        subscription: member.subscription(protocol),
        assignment: member.assignment.clone(),
    }
}

fn millis(duration: core::time::Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

/// Looks for a topic in a consumer's subscription: `i16 version | i32 count | { i16 length | name }`.
fn names_topic(subscription: &[u8], topic: &str) -> bool {
    let Some((count, mut rest)) = subscription.get(2..).and_then(|rest| rest.split_first_chunk::<4>()) else {
        return true;
    };
    for _ in 0..i32::from_be_bytes(*count) {
        let Some((length, tail)) = rest.split_first_chunk::<2>() else { return true };
        let Some((name, tail)) = tail.split_at_checked(usize::from(u16::from_be_bytes(*length))) else {
            return true;
        };
        if name == topic.as_bytes() {
            return true;
        }
        rest = tail;
    }
    false
}
