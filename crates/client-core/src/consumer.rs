//! Consumers: which partitions they read, from where, and how much ahead.
//!
//! ```text
//! AwaitingOffset --asked--> Asking --answer--> Fetching <--end of the epoch is far enough-- Checking
//!       ^                                        |  \--a leader of a newer epoch------------> ^
//!       |                                        |--position out of range--> Asking (start, then end)
//!       +------------------ seek ----------------+--damage, truncation, refusal--> Stopped
//! ```
//!
//! Truncation (KIP-320): before a partition is read on under a new leader epoch, the new leader is asked where the epoch
//! of the last record read ends. If that is before the position, records that were read are gone from the log, and the
//! consumer is told instead of going on silently.

use std::collections::BTreeMap;
use std::sync::Arc;

use log_core::{MonoTime, Now};

use crate::action::{Action, Answer, CallId, ConsumerEvent, ConsumerHandle};
use crate::admin::{OffsetSpec, PartitionOffset};
use crate::cluster::TopicState;
use crate::core::{Core, earliest};
use crate::error::{CallerProblem, ClientError, LostPosition, Place, Waiting};
use crate::group::Member;
use crate::options::{ConsumerOptions, OnLostPosition, Start, Subscription};
use crate::queries::{Asker, Found, Queries, Why};

mod buffer;
mod ends;
mod epochs;
mod fetch;
mod fetched;

pub use buffer::{FetchBuffer, RecordBatch};
pub use ends::Ends;
pub use fetched::Fetched;

/// A partition, by its topic's name.
pub(crate) type Key = (Arc<str>, u32);

/// Where a consumer shall go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeekTo {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// Where in it.
    pub to: Start,
    /// What [`FetchBuffer::seek`] has named.
    pub generation: u32,
}

/// One consumer.
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(crate) handle: ConsumerHandle,
    pub(crate) options: ConsumerOptions,
    /// The call to be answered when every partition has a position.
    opening: Option<(CallId, MonoTime)>,
    parts: BTreeMap<Key, Part>,
    /// Bytes handed out and not given back.
    buffered_bytes: usize,
    pub(crate) member: Option<Member>,
    assigned_version: u64,
    pub(crate) is_over: bool,
}

/// One partition that is read.
#[derive(Debug)]
struct Part {
    /// Grows with every assignment and seek; answers to what was asked before are dropped.
    generation: u32,
    state: PartState,
    is_paused: bool,
    in_flight: bool,
    failures: u32,
    not_before: MonoTime,
    /// The epoch of the last record read; −1 if none was.
    epoch_read: i32,
    /// The leader's epoch under which reading is known to be safe.
    epoch_checked: i32,
    /// The leader's epoch that the fetch on its way was sent under.
    epoch_asked: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartState {
    AwaitingOffset(Start),
    Asking,
    Fetching { offset: i64 },
    Checking { offset: i64, asked: bool },
    Stopped,
}

impl Consumer {
    pub(crate) fn open(
        core: &mut Core,
        now: Now,
        handle: ConsumerHandle,
        options: ConsumerOptions,
        call: CallId,
    ) -> Self {
        let topics: Vec<Arc<str>> = match &options.subscription {
            Subscription::Topics(topics) => topics.clone(),
            Subscription::Partitions(partitions) => {
                partitions.iter().map(|(topic, _)| Arc::clone(topic)).collect()
            }
        };
        for topic in &topics {
            core.cluster.add_interest(topic, false);
        }
        let member = options.group.clone().map(|group| Member::new(now, group, topics));
        let deadline = now.mono.after(core.options.call_timeout);
        Self {
            handle,
            options,
            opening: Some((call, deadline)),
            parts: BTreeMap::new(),
            buffered_bytes: 0,
            member,
            assigned_version: 0,
            is_over: false,
        }
    }

    /// Does what can be done now: assignment, positions, checks, fetches.
    pub(crate) fn drive(&mut self, core: &mut Core, queries: &mut Queries, now: Now) {
        if self.is_over {
            return;
        }
        self.drive_membership(core, now);
        self.assign_by_metadata(core, now);
        self.ask_positions(core, queries, now);
        self.drive_checks(core, now);
        self.drive_fetches(core, now);
        self.finish_opening(core, now);
    }

    pub(crate) fn poll_timeout(&self, now: Now) -> Option<MonoTime> {
        let parts = self.parts.values().map(|part| part.not_before).filter(|at| *at > now.mono).min();
        let opening = self.opening.map(|(_, deadline)| deadline);
        let member = self.member.as_ref().and_then(|member| member.poll_timeout(now));
        earliest(earliest(parts, opening), member)
    }

    /// Bytes handed out and not given back.
    pub(crate) const fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// The caller has read (or dropped) this many bytes of batches.
    pub(crate) const fn consumed(&mut self, bytes: usize) {
        self.buffered_bytes = self.buffered_bytes.saturating_sub(bytes);
    }

    pub(crate) fn seek(&mut self, core: &mut Core, seek: &SeekTo) {
        let key = (Arc::clone(&seek.topic), seek.partition);
        let Some(part) = self.parts.get_mut(&key) else { return };
        part.restart(seek.generation, seek.to);
        self.begin_where_told(core, &key);
    }

    pub(crate) fn set_paused(&mut self, topic: &Arc<str>, partition: u32, paused: bool) {
        if let Some(part) = self.parts.get_mut(&(Arc::clone(topic), partition)) {
            part.is_paused = paused;
        }
    }

    /// The reader has found damage: nothing more is fetched of the partition before a seek.
    pub(crate) fn stop(&mut self, topic: &Arc<str>, partition: u32) {
        if let Some(part) = self.parts.get_mut(&(Arc::clone(topic), partition)) {
            part.generation += 1;
            part.state = PartState::Stopped;
        }
    }

    /// The member, if it reads this partition: marks of what has gone to another member are not its to commit.
    pub(crate) fn member_reading(&mut self, topic: &Arc<str>, partition: u32) -> Option<&mut Member> {
        self.parts.get(&(Arc::clone(topic), partition))?;
        self.member.as_mut()
    }

    /// These partitions are read from now on, each from its start; those that are read already go on where they are.
    pub(crate) fn assign(&mut self, core: &mut Core, starts: BTreeMap<Key, Start>, keep: bool) {
        let mut old = std::mem::take(&mut self.parts);
        for (key, start) in starts {
            let before = old.remove(&key);
            let part = match before {
                Some(part) if keep => part,
                Some(mut part) => {
                    part.restart(part.generation + 1, start);
                    part
                }
                None => Part::new(start),
            };
            self.parts.insert(key, part);
        }
        let told = self
            .parts
            .iter()
            .map(|((topic, partition), part)| (Arc::clone(topic), *partition, part.generation));
        let event = ConsumerEvent::Assigned(told.collect());
        core.emit(Action::Consumer { consumer: self.handle, event });
        for key in self.parts.keys().cloned().collect::<Vec<_>>() {
            self.begin_where_told(core, &key);
        }
    }

    /// An offset that was asked for.
    pub(crate) fn on_found(&mut self, core: &mut Core, queries: &mut Queries, now: Now, found: Found) {
        let Asker::Consumer { generation, why, .. } = found.asker else { return };
        let key = (found.topic, found.partition);
        let Some(part) = self.parts.get_mut(&key) else { return };
        if part.generation != generation || part.state != PartState::Asking {
            return;
        }
        match (found.result, why) {
            (Err(error), _) => self.fail_part(core, now, &key, error),
            (Ok(answer), Why::Begin) => self.begin_at(core, &key, &answer),
            (Ok(answer), Why::LostStart { position }) => {
                self.on_lost_start(core, queries, now, &key, position, answer.offset.unwrap_or(0));
            }
            (Ok(answer), Why::LostEnd { position }) => {
                let log_end = answer.offset.unwrap_or(0);
                self.fail_part(core, now, &key, lost(&key, position, LostPosition::BeyondLogEnd { log_end }));
            }
        }
    }

    /// Without a group: all partitions of the topics, or those chosen.
    fn assign_by_metadata(&mut self, core: &mut Core, now: Now) {
        if self.member.is_some() || self.assigned_version == core.cluster.version {
            return;
        }
        let wanted: Vec<Key> = match &self.options.subscription {
            Subscription::Topics(topics) => {
                let mut all = Vec::new();
                for topic in topics {
                    match core.cluster.topic(topic) {
                        TopicState::Ready(known) => {
                            all.extend(known.partitions.keys().map(|index| (Arc::clone(topic), *index)));
                        }
                        TopicState::Failed(error) => return self.fail(core, now, error),
                        TopicState::Unknown => return,
                    }
                }
                all
            }
            Subscription::Partitions(partitions) => {
                for (topic, partition) in partitions {
                    match core.cluster.topic(topic) {
                        TopicState::Ready(known) if known.partitions.contains_key(partition) => {}
                        TopicState::Ready(known) => {
                            let count = u32::try_from(known.partitions.len()).unwrap_or(u32::MAX);
                            let problem = CallerProblem::NoSuchPartition { partitions: count };
                            let place = Place::partition(topic, *partition);
                            return self.fail(core, now, ClientError::caller(problem, place));
                        }
                        TopicState::Failed(error) => return self.fail(core, now, error),
                        TopicState::Unknown => return,
                    }
                }
                partitions.clone()
            }
        };
        self.assigned_version = core.cluster.version;
        if wanted.iter().all(|key| self.parts.contains_key(key)) && wanted.len() == self.parts.len() {
            return;
        }
        // Partitions that a topic gets while it is read are new: all of their records are.
        let start = if self.parts.is_empty() { self.options.start } else { Start::Earliest };
        self.assign(core, wanted.into_iter().map(|key| (key, start)).collect(), true);
    }

    fn ask_positions(&mut self, core: &mut Core, queries: &mut Queries, now: Now) {
        for (key, part) in &mut self.parts {
            let PartState::AwaitingOffset(start) = part.state else { continue };
            let spec = match start {
                Start::Earliest => OffsetSpec::Earliest,
                Start::Latest => OffsetSpec::Latest,
                Start::Timestamp(at) => OffsetSpec::Timestamp(at),
                Start::Offset(offset) => {
                    part.state = PartState::Fetching { offset };
                    continue;
                }
            };
            part.state = PartState::Asking;
            let asker =
                Asker::Consumer { consumer: self.handle, generation: part.generation, why: Why::Begin };
            queries.ask(core, now, asker, key.clone(), spec, None);
        }
    }

    /// A start that needs no question.
    fn begin_where_told(&mut self, core: &mut Core, key: &Key) {
        let Some(part) = self.parts.get_mut(key) else { return };
        if let PartState::AwaitingOffset(Start::Offset(offset)) = part.state {
            part.state = PartState::Fetching { offset };
            let generation = part.generation;
            self.begun(core, key, generation, offset);
        }
    }

    fn begun(&mut self, core: &mut Core, key: &Key, generation: u32, offset: i64) {
        if let Some(member) = &mut self.member {
            member.begun(key, offset);
        }
        self.tell_position(core, key, generation, offset);
    }

    fn begin_at(&mut self, core: &mut Core, key: &Key, answer: &PartitionOffset) {
        let Some(part) = self.parts.get_mut(key) else { return };
        let Some(offset) = answer.offset else {
            // No record has such a time: the next one that arrives will.
            part.state = PartState::AwaitingOffset(Start::Latest);
            return;
        };
        part.state = PartState::Fetching { offset };
        let generation = part.generation;
        self.begun(core, key, generation, offset);
    }

    fn tell_position(&self, core: &mut Core, key: &Key, generation: u32, offset: i64) {
        let (topic, partition) = (Arc::clone(&key.0), key.1);
        let event = ConsumerEvent::Positioned { topic, partition, generation, offset };
        core.emit(Action::Consumer { consumer: self.handle, event });
    }

    /// The position is out of range: ask where the log starts, to see on which side.
    fn lose_position(&mut self, core: &mut Core, queries: &mut Queries, now: Now, key: &Key, position: i64) {
        let Some(part) = self.parts.get_mut(key) else { return };
        part.state = PartState::Asking;
        let why = Why::LostStart { position };
        let asker = Asker::Consumer { consumer: self.handle, generation: part.generation, why };
        queries.ask(core, now, asker, key.clone(), OffsetSpec::Earliest, None);
    }

    fn on_lost_start(
        &mut self,
        core: &mut Core,
        queries: &mut Queries,
        now: Now,
        key: &Key,
        position: i64,
        log_start: i64,
    ) {
        let Some(part) = self.parts.get_mut(key) else { return };
        if position >= log_start {
            let why = Why::LostEnd { position };
            let asker = Asker::Consumer { consumer: self.handle, generation: part.generation, why };
            return queries.ask(core, now, asker, key.clone(), OffsetSpec::Latest, None);
        }
        match self.options.on_lost_position {
            OnLostPosition::Earliest => {
                part.state = PartState::Fetching { offset: log_start };
                let generation = part.generation;
                self.tell_position(core, key, generation, log_start);
            }
            OnLostPosition::Latest => part.state = PartState::AwaitingOffset(Start::Latest),
            OnLostPosition::Fail => {
                let below = LostPosition::BelowLogStart { log_start };
                self.fail_part(core, now, key, lost(key, position, below));
            }
        }
    }

    /// Stops a partition and says why.
    fn fail_part(&mut self, core: &mut Core, now: Now, key: &Key, error: ClientError) {
        if let Some(part) = self.parts.get_mut(key) {
            part.state = PartState::Stopped;
        }
        self.fail(core, now, error);
    }

    /// Tells the one who reads from the consumer, or who opens it: that is the end of it then.
    pub(crate) fn fail(&mut self, core: &mut Core, now: Now, error: ClientError) {
        match self.opening.take() {
            Some((call, _)) => {
                core.answer(call, Err(error));
                self.close(core, now, None);
            }
            None => {
                let event = ConsumerEvent::Failed(error);
                core.emit(Action::Consumer { consumer: self.handle, event });
            }
        }
    }

    fn finish_opening(&mut self, core: &mut Core, now: Now) {
        let Some((call, deadline)) = self.opening else { return };
        let assigned = match &self.member {
            Some(member) => member.is_stable(),
            None => !self.parts.is_empty(),
        };
        let positioned =
            |part: &Part| !matches!(part.state, PartState::AwaitingOffset(_) | PartState::Asking);
        if assigned && self.parts.values().all(positioned) {
            self.opening = None;
            core.answer(call, Ok(Answer::Done));
        } else if deadline <= now.mono {
            let unplaced = self.parts.iter().find(|(_, part)| !positioned(part)).map(|(key, _)| key.clone());
            let leaderless = unplaced.as_ref().and_then(|key| core.cluster.leaderless(&key.0, key.1));
            let cause = leaderless.or_else(|| core.network.last_error().cloned().map(Into::into));
            let waiting = match unplaced {
                Some(_) => Waiting::Position,
                None if self.member.is_some() => Waiting::Group,
                None => Waiting::Metadata,
            };
            let place = unplaced.map_or(Place::NOWHERE, |key| Place::partition(&key.0, key.1));
            let (after, cause) = (core.options.call_timeout, cause.map(Box::new));
            self.fail(core, now, ClientError::TimedOut { waiting, after, cause, place });
        }
    }

    /// The one end of a consumer: it reads nothing more, who still opens it is told, and a member that its group waits for
    /// commits what is marked and leaves first. The call is answered when that is done.
    pub(crate) fn close(&mut self, core: &mut Core, now: Now, call: Option<CallId>) {
        self.parts.clear();
        if let Some((opening, _)) = self.opening.take() {
            core.answer(opening, Err(ClientError::Closed));
        }
        match &mut self.member {
            Some(member) => {
                member.leave(now, call);
                // The group waits for those that it knows.
                if !member.is_known() {
                    self.finish_leaving(core, true);
                }
            }
            None => {
                self.is_over = true;
                if let Some(call) = call {
                    core.answer(call, Ok(Answer::Done));
                }
            }
        }
    }
}

impl Part {
    const fn new(start: Start) -> Self {
        Self {
            generation: 1,
            state: PartState::AwaitingOffset(start),
            is_paused: false,
            in_flight: false,
            failures: 0,
            not_before: MonoTime(0),
            epoch_read: -1,
            epoch_checked: -1,
            epoch_asked: -1,
        }
    }

    /// Reading begins anew: what was asked before is of no interest any more.
    fn restart(&mut self, generation: u32, start: Start) {
        let is_paused = self.is_paused;
        let generation = generation.max(self.generation + 1);
        *self = Self { generation, is_paused, ..Self::new(start) };
    }
}

fn lost(key: &Key, position: i64, lost: LostPosition) -> ClientError {
    ClientError::PositionLost { lost, place: Place::offset(&key.0, key.1, position) }
}
