//! A member of a consumer group, in Kafka's classic protocol: finds the coordinator, joins, is given partitions, is heard
//! of, commits, leaves.
//!
//! ```text
//! Joining -> Assigning (only the leader) -> Syncing -> Positioning -> Stable
//!    ^------------- rebalance, unknown member, new generation -----------+      any -> Leaving
//! ```
//!
//! The coordinator is looked for whenever it is not known, in any of these; to lose it changes nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_core::{MonoTime, Now};

use crate::action::{Answer, CallId, ConnectionId};
use crate::cluster::TopicState;
use crate::consumer::{Consumer, Key};
use crate::core::{Core, earliest};
use crate::error::{ClientError, Place, Waiting};
use crate::network::Channel;
use crate::options::GroupOptions;

mod answers;
pub(crate) mod offsets;
pub(crate) mod protocol;
mod requests;

pub(crate) use requests::OFFSET_COMMIT_VERSION_MAX;

/// How long leaving may take in all, in milliseconds: a broker that is gone must not keep a program from ending.
const LEAVE_MS_MAX: u64 = 5000;

/// A member's state.
#[derive(Debug)]
pub(crate) struct Member {
    group: GroupOptions,
    topics: Vec<Arc<str>>,
    phase: Phase,
    coordinator: Option<i32>,
    is_finding: bool,
    member_id: String,
    generation: i32,
    failures: u32,
    not_before: MonoTime,
    next_heartbeat: MonoTime,
    heartbeat_in_flight: bool,
    /// Positions dealt with and not committed: the next offset and the last record's leader epoch.
    marks: BTreeMap<Key, (i64, i32)>,
    /// What the commit on its way holds.
    committing: Option<BTreeMap<Key, (i64, i32)>>,
    /// Calls that wait for everything marked to be committed.
    commit_calls: Vec<(CallId, MonoTime)>,
    next_commit: Option<MonoTime>,
    /// Partitions for which the group has no position yet.
    unset: BTreeSet<Key>,
    /// The numbers of partitions that this member, as the leader, has divided.
    divided: BTreeMap<Arc<str>, u32>,
}

#[derive(Debug)]
enum Phase {
    Joining {
        asked: bool,
    },
    Assigning {
        members: Vec<(String, Vec<Arc<str>>)>,
    },
    Syncing {
        asked: bool,
        assignments: Vec<(String, Vec<u8>)>,
    },
    Positioning {
        asked: bool,
        assigned: Vec<Key>,
    },
    Stable,
    Leaving {
        call: Option<CallId>,
        deadline: MonoTime,
        asked: bool,
        was_member: bool,
    },
    /// The coordinator has refused for good; the consumer was told.
    Refused,
}

impl Member {
    pub(crate) fn new(now: Now, group: GroupOptions, topics: Vec<Arc<str>>) -> Self {
        let next_commit = group.auto_commit.map(|interval| now.mono.after(interval));
        Self {
            group,
            topics,
            phase: Phase::Joining { asked: false },
            coordinator: None,
            is_finding: false,
            member_id: String::new(),
            generation: -1,
            failures: 0,
            not_before: MonoTime(0),
            next_heartbeat: MonoTime(0),
            heartbeat_in_flight: false,
            marks: BTreeMap::new(),
            committing: None,
            commit_calls: Vec::new(),
            next_commit,
            unset: BTreeSet::new(),
            divided: BTreeMap::new(),
        }
    }

    pub(crate) const fn is_stable(&self) -> bool {
        matches!(self.phase, Phase::Stable)
    }

    pub(crate) const fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. })
    }

    /// Whether brokers know it as a member, as far as it knows.
    pub(crate) const fn is_known(&self) -> bool {
        !self.member_id.is_empty()
    }

    /// Whether all that is left is to say good-bye.
    fn has_only_to_leave(&self) -> bool {
        match self.phase {
            Phase::Leaving { was_member, .. } => {
                self.committing.is_none() && (!was_member || self.marks.is_empty())
            }
            _ => false,
        }
    }

    pub(crate) fn mark(&mut self, key: Key, next: i64, leader_epoch: i32) {
        self.marks.insert(key, (next, leader_epoch));
    }

    /// Reading begins here. Where the group has no position yet it gets this one, so that what comes while nobody reads is not
    /// passed over by the next who begins at the end; whoever commits by hand says it by hand.
    pub(crate) fn begun(&mut self, key: &Key, offset: i64) {
        if self.unset.remove(key) && self.group.auto_commit.is_some() {
            self.marks.entry(key.clone()).or_insert((offset, -1));
        }
    }

    pub(crate) fn commit(&mut self, now: Now, core: &Core, call: CallId) {
        self.commit_calls.push((call, now.mono.after(core.options.call_timeout)));
    }

    pub(crate) fn leave(&mut self, now: Now, call: Option<CallId>) {
        if self.is_leaving() && call.is_none() {
            return;
        }
        let deadline = MonoTime(now.mono.0 + LEAVE_MS_MAX * 1_000_000);
        let was_member = self.is_stable();
        self.phase = Phase::Leaving { call, deadline, asked: false, was_member };
        self.not_before = MonoTime(0);
    }

    pub(crate) fn poll_timeout(&self, now: Now) -> Option<MonoTime> {
        let retry = Some(self.not_before).filter(|at| *at > now.mono);
        let calls = self.commit_calls.iter().map(|(_, deadline)| *deadline).min();
        let phase = match self.phase {
            Phase::Stable => {
                let heartbeat = Some(self.next_heartbeat).filter(|_| !self.heartbeat_in_flight);
                let commit = self.next_commit.filter(|_| !self.marks.is_empty() && self.committing.is_none());
                earliest(heartbeat.filter(|at| *at > now.mono), commit.filter(|at| *at > now.mono))
            }
            Phase::Leaving { deadline, .. } => Some(deadline),
            _ => None,
        };
        earliest(earliest(retry, calls), phase)
    }

    /// The same may be tried again a little later.
    fn delay(&mut self, core: &mut Core, now: Now) {
        self.failures += 1;
        self.not_before = core.retry_at(now, self.failures);
    }

    fn lose_coordinator(&mut self, core: &mut Core, now: Now) {
        self.coordinator = None;
        core.cluster.want_update();
        self.delay(core, now);
    }

    /// What was asked in this phase has to be asked again.
    const fn ask_again(&mut self) {
        match &mut self.phase {
            Phase::Joining { asked }
            | Phase::Syncing { asked, .. }
            | Phase::Positioning { asked, .. }
            | Phase::Leaving { asked, .. } => *asked = false,
            Phase::Assigning { .. } | Phase::Stable | Phase::Refused => {}
        }
    }
}

impl Consumer {
    /// The member is out of the generation that it was in: joins again, reading nothing meanwhile.
    pub(crate) fn rejoin(&mut self, core: &mut Core, error: &ClientError) {
        let Some(member) = &mut self.member else { return };
        if member.is_leaving() {
            return;
        }
        member.phase = Phase::Joining { asked: false };
        member.generation = -1;
        member.marks.clear();
        member.unset.clear();
        member.divided.clear();
        for (call, _) in std::mem::take(&mut member.commit_calls) {
            core.answer(call, Err(error.clone()));
        }
        self.assign(core, BTreeMap::new(), false);
    }

    pub(crate) fn drive_membership(&mut self, core: &mut Core, now: Now) {
        let Some(member) = &mut self.member else { return };
        expire_commit_calls(member, core, now);
        if let Phase::Leaving { deadline, .. } = member.phase
            && deadline <= now.mono
        {
            return self.finish_leaving(core, false);
        }
        if member.not_before > now.mono || matches!(member.phase, Phase::Refused) {
            return;
        }
        let Some(connection) = self.coordinator_connection(core, now) else { return };
        let Some(member) = &mut self.member else { return };
        match &member.phase {
            Phase::Joining { asked: false } => self.send_join(core, now, connection),
            Phase::Assigning { .. } => self.divide(core, now, connection),
            Phase::Syncing { asked: false, .. } => self.send_sync(core, now, connection),
            Phase::Positioning { asked: false, .. } => self.send_fetch_offsets(core, now, connection),
            Phase::Stable => self.drive_stable(core, now, connection),
            Phase::Leaving { asked: false, .. } => self.drive_leaving(core, now, connection),
            _ => {}
        }
    }

    fn coordinator_connection(&mut self, core: &mut Core, now: Now) -> Option<ConnectionId> {
        let member = self.member.as_mut()?;
        let Some(broker) = member.coordinator else {
            if !member.is_finding {
                self.send_find_coordinator(core, now);
            }
            return None;
        };
        // A request to join may wait at the broker for all others, and whatever comes behind it on its connection waits with it.
        let leaves = member.has_only_to_leave();
        let channel = if leaves { Channel::General } else { Channel::Group(self.handle) };
        let connection = core.connection(now, broker, channel);
        // One that cannot be reached was named before the others knew: they name another once they do.
        if connection.is_none() && !core.network.may_be_reached(now, broker) {
            member.lose_coordinator(core, now);
        }
        connection
    }

    /// The leader's work: needs the partitions of every topic that any member reads.
    fn divide(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        let Phase::Assigning { members } = &member.phase else { return };
        let mut divided = BTreeMap::new();
        for topic in members.iter().flat_map(|(_, topics)| topics) {
            match core.cluster.topic(topic) {
                TopicState::Ready(known) => {
                    let count = u32::try_from(known.partitions.len()).unwrap_or(u32::MAX);
                    divided.insert(Arc::clone(topic), count);
                }
                TopicState::Failed(_) => {
                    divided.insert(Arc::clone(topic), 0);
                }
                TopicState::Unknown => {
                    core.cluster.add_interest(topic, false);
                    core.cluster.want_update();
                    return;
                }
            }
        }
        let assigned = protocol::assign_range(members, |topic| divided.get(topic).copied().unwrap_or(0));
        let assignments = assigned
            .into_iter()
            .map(|(member, partitions)| (member, protocol::encode_assignment(&partitions)))
            .collect();
        member.divided = divided;
        member.phase = Phase::Syncing { asked: false, assignments };
        self.send_sync(core, now, connection);
    }

    fn drive_stable(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        let grown = member.divided.iter().any(|(topic, count)| match core.cluster.topic(topic) {
            TopicState::Ready(known) => u32::try_from(known.partitions.len()) != Ok(*count),
            TopicState::Failed(_) | TopicState::Unknown => false,
        });
        if grown {
            let code = kafka_wire::ErrorCode::RebalanceInProgress;
            return self.rejoin(core, &ClientError::broker(code, None, Place::NOWHERE));
        }
        if member.next_heartbeat <= now.mono && !member.heartbeat_in_flight {
            self.send_heartbeat(core, now, connection);
        }
        let Some(member) = &mut self.member else { return };
        if member.committing.is_some() {
            return;
        }
        if member.marks.is_empty() {
            for (call, _) in std::mem::take(&mut member.commit_calls) {
                core.answer(call, Ok(Answer::Done));
            }
            return;
        }
        let due = member.next_commit.is_some_and(|at| at <= now.mono);
        if due || !member.commit_calls.is_empty() {
            self.send_commit(core, now, connection);
        }
    }

    fn drive_leaving(&mut self, core: &mut Core, now: Now, connection: ConnectionId) {
        let Some(member) = &mut self.member else { return };
        let Phase::Leaving { was_member, .. } = member.phase else { return };
        if member.committing.is_some() {
            return;
        }
        if was_member && !member.marks.is_empty() {
            return self.send_commit(core, now, connection);
        }
        self.send_leave(core, now, connection);
    }

    /// The end of a member: tells who waits whether what was marked is committed.
    pub(crate) fn finish_leaving(&mut self, core: &mut Core, in_time: bool) {
        self.is_over = true;
        let Some(member) = &mut self.member else { return };
        let Phase::Leaving { call, .. } = member.phase else { return };
        let committed = member.marks.is_empty();
        let result = if committed || in_time {
            Ok(Answer::Done)
        } else {
            let after = core::time::Duration::from_millis(LEAVE_MS_MAX);
            Err(ClientError::TimedOut { waiting: Waiting::Group, after, cause: None, place: Place::NOWHERE })
        };
        for call in call.into_iter().chain(member.commit_calls.drain(..).map(|(call, _)| call)) {
            core.answer(call, result.clone());
        }
    }
}

fn expire_commit_calls(member: &mut Member, core: &mut Core, now: Now) {
    let late = member.commit_calls.extract_if(.., |(_, deadline)| *deadline <= now.mono);
    for (call, _) in late.collect::<Vec<_>>() {
        let (waiting, after) = (Waiting::Group, core.options.call_timeout);
        core.answer(call, Err(ClientError::TimedOut { waiting, after, cause: None, place: Place::NOWHERE }));
    }
}
