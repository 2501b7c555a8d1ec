//! The administrator's calls: to whom they go, when they are tried again, and what their answers mean.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::{ApiKey, Body, DecodeError, Encode, ErrorCode};
use log_core::{MonoTime, Now};

use crate::action::{Answer, CallId, ConnectionId};
use crate::core::{Core, earliest};
use crate::error::{CallerProblem, ClientError, NetworkError, Place, Waiting};
use crate::network::Channel;
use crate::options::{check_string, check_topic_name};
use crate::purpose::Purpose;
use crate::queries::{Asker, Found, Queries};
use answers::Incoming;
use groups::Census;

mod answers;
mod elections;
mod groups;
mod requests;
mod types;

pub use groups::types::{
    GroupDescription, GroupLag, GroupListing, GroupMember, GroupProtocol, GroupReset, GroupState, ResetTo,
};
pub use types::{
    AdminAnswer, AdminCall, BrokerDescription, ClusterDescription, CommittedOffset, ConfigChange,
    ConfigEntry, ConfigResource, ConfigSource, CreatedTopic, ElectedPartition, Election, LogDirDescription,
    NewTopic, OffsetSpec, PartitionDescription, PartitionOffset, QuorumDescription, QuorumReplica,
    ReplicaEnd, ReplicaSize, TopicDescription, TopicListing, UncleanChoice,
};

/// A topic that one broker does not know may be too new for it: how often to ask before that counts as true. With the
/// delays between, about 0.15 s.
const UNKNOWN_TOPIC_TRIES: u32 = 3;

/// All open calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: BTreeMap<CallId, Call>,
}

#[derive(Debug)]
struct Call {
    question: AdminCall,
    limit: Duration,
    deadline: MonoTime,
    not_before: MonoTime,
    in_flight: bool,
    failures: u32,
    /// It was sent once and its answer lost: what it asked for may have been done.
    may_be_done: bool,
    last_error: Option<ClientError>,
    /// The group's coordinator, for a question about a group.
    coordinator: Option<i32>,
    /// The group is not of the classic protocol: it is asked for by the other.
    is_of_consumer_protocol: bool,
    /// Who has told of its groups, for the list of all groups.
    census: Census,
    /// The request that was sent last, where a question has several.
    sent: Option<ApiKey>,
    /// Offsets found so far, by place in the question.
    offsets: Vec<Option<Result<PartitionOffset, ClientError>>>,
}

/// What an answer comes to.
#[derive(Debug)]
enum Outcome {
    Answer(AdminAnswer),
    Fail(ClientError),
    Retry(ClientError),
    /// The coordinator is found: ask it.
    Coordinator(i32),
    /// Something else has to be asked as well.
    More,
}

impl Calls {
    pub(crate) fn ask(
        &mut self,
        core: &mut Core,
        queries: &mut Queries,
        now: Now,
        id: CallId,
        question: AdminCall,
        limit: Option<Duration>,
    ) {
        if let Err(error) = check(&question) {
            return core.answer(id, Err(error));
        }
        let mut offsets = Vec::new();
        if let AdminCall::ListOffsets(asked) = &question {
            for (index, (topic, partition, spec)) in asked.iter().enumerate() {
                let asker = Asker::Call { call: id, index };
                queries.ask(core, now, asker, (Arc::clone(topic), *partition), *spec, limit);
            }
            offsets = vec![None; asked.len()];
        }
        let census = match question {
            AdminCall::ListGroups => Census::begin(core),
            _ => Census::default(),
        };
        let limit = limit.unwrap_or(core.options.call_timeout);
        let call = Call {
            question,
            limit,
            deadline: now.mono.after(limit),
            not_before: now.mono,
            in_flight: false,
            failures: 0,
            may_be_done: false,
            last_error: None,
            coordinator: None,
            is_of_consumer_protocol: false,
            census,
            sent: None,
            offsets,
        };
        self.open.insert(id, call);
        self.finish_offsets(core, id);
    }

    pub(crate) fn drive(&mut self, core: &mut Core, now: Now) {
        let ids: Vec<CallId> = self.open.keys().copied().collect();
        for id in ids {
            let Some(call) = self.open.get_mut(&id) else { continue };
            // Questions for offsets have their own time limits.
            if matches!(call.question, AdminCall::ListOffsets(_)) {
                continue;
            }
            if call.deadline <= now.mono {
                // An answer that comes later is nobody's.
                call.may_be_done |= call.in_flight;
                let error = call.timed_out(core);
                self.finish(core, id, Err(error));
            } else if !call.in_flight
                && let Some(groups) = call.listed(core)
            {
                self.finish(core, id, Ok(Answer::Admin(AdminAnswer::Groups(groups))));
            } else if !call.in_flight
                && call.not_before <= now.mono
                && let Some(connection) = call.connection(core, now)
            {
                let sent = call.send(core, now, connection, id);
                if let Err(error) = sent {
                    self.finish(core, id, Err(error));
                }
            }
        }
    }

    pub(crate) fn poll_timeout(&self, now: Now) -> Option<MonoTime> {
        let own = self.open.values().filter(|call| !matches!(call.question, AdminCall::ListOffsets(_)));
        let waiting = own.clone().filter(|call| !call.in_flight);
        let retry = waiting.map(|call| call.not_before).filter(|at| *at > now.mono).min();
        earliest(retry, own.map(|call| call.deadline).min())
    }

    pub(crate) fn on_answer(
        &mut self,
        core: &mut Core,
        now: Now,
        id: CallId,
        connection: ConnectionId,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let Some(call) = self.open.get_mut(&id) else { return Ok(()) };
        call.in_flight = false;
        let incoming = Incoming { now, connection, version, frame };
        let outcome = call.outcome(core, &incoming).inspect_err(|_| {
            call.may_be_done = true;
            call.delay(core, now, None);
        })?;
        match outcome {
            Outcome::Answer(AdminAnswer::Done) => self.finish(core, id, Ok(Answer::Done)),
            Outcome::Answer(answer) => self.finish(core, id, Ok(Answer::Admin(answer))),
            Outcome::Fail(error) => self.finish(core, id, Err(error)),
            Outcome::Coordinator(broker) => call.coordinator = Some(broker),
            Outcome::More => {}
            Outcome::Retry(error) => {
                let code = error.broker_code().unwrap_or(ErrorCode::None);
                if code == ErrorCode::UnknownTopicOrPartition && call.failures >= UNKNOWN_TOPIC_TRIES {
                    self.finish(core, id, Err(error));
                    return Ok(());
                }
                call.coordinator = None;
                call.may_be_done |= code == ErrorCode::RequestTimedOut;
                core.cluster.want_update();
                call.delay(core, now, Some(error));
            }
        }
        Ok(())
    }

    pub(crate) fn on_lost(&mut self, core: &mut Core, now: Now, id: CallId, error: &NetworkError) {
        let Some(call) = self.open.get_mut(&id) else { return };
        call.in_flight = false;
        // To look for the coordinator does nothing yet.
        call.may_be_done |= call.sent != Some(ApiKey::FindCoordinator);
        call.coordinator = None;
        call.census = Census::begin(core);
        call.delay(core, now, Some(error.clone().into()));
    }

    /// An offset that a call has asked for.
    pub(crate) fn on_found(&mut self, core: &mut Core, found: Found) {
        let Asker::Call { call, index } = found.asker else { return };
        if let Some(slot) = self.open.get_mut(&call).and_then(|call| call.offsets.get_mut(index)) {
            *slot = Some(found.result);
        }
        self.finish_offsets(core, call);
    }

    fn finish_offsets(&mut self, core: &mut Core, id: CallId) {
        let complete = self.open.get(&id).is_some_and(|call| {
            matches!(call.question, AdminCall::ListOffsets(_)) && call.offsets.iter().all(Option::is_some)
        });
        if complete && let Some(call) = self.open.remove(&id) {
            let offsets = call.offsets.into_iter().flatten().collect();
            core.answer(id, Ok(Answer::Admin(AdminAnswer::Offsets(offsets))));
        }
    }

    fn finish(&mut self, core: &mut Core, id: CallId, result: Result<Answer, ClientError>) {
        if self.open.remove(&id).is_some() {
            core.answer(id, result);
        }
    }
}

impl Call {
    /// The connection to whom the question has to go.
    fn connection(&mut self, core: &mut Core, now: Now) -> Option<ConnectionId> {
        // One that cannot be reached was named before the others knew: they name another once they do.
        if let Some(id) = self.coordinator
            && !core.network.may_be_reached(now, id)
        {
            self.coordinator = None;
            core.cluster.want_update();
            self.delay(core, now, None);
            return None;
        }
        let broker = match &self.question {
            AdminCall::CreateTopics { .. }
            | AdminCall::DeleteTopics(_)
            | AdminCall::CreatePartitions { .. }
            | AdminCall::ElectLeaders { .. }
            | AdminCall::UnregisterBroker(_) => {
                core.cluster.controller.filter(|id| core.network.is_known(*id))
            }
            AdminCall::DescribeConfigs(ConfigResource::Broker(id))
            | AdminCall::AlterConfigs { resource: ConfigResource::Broker(id), .. }
            | AdminCall::DescribeLogDirs { broker: id, .. }
            | AdminCall::ReplicaEnds { broker: id, .. } => Some(*id),
            AdminCall::ListGroups => return self.lister(core, now),
            question if question.coordinated_group().is_some() => self.coordinator,
            _ => None,
        };
        match broker {
            // A broker that is not there is looked for until the call's time is over.
            Some(id) if !core.network.is_known(id) => {
                core.cluster.want_update();
                None
            }
            Some(id) => core.connection(now, id, Channel::General),
            None => core.any_connection(now),
        }
    }

    fn delay(&mut self, core: &mut Core, now: Now, error: Option<ClientError>) {
        self.failures += 1;
        self.not_before = core.retry_at(now, self.failures);
        if error.is_some() {
            self.last_error = error;
        }
    }

    fn timed_out(&self, core: &Core) -> ClientError {
        let cause = self.last_error.clone().or_else(|| core.network.last_error().cloned().map(Into::into));
        let (cause, place) = (cause.map(Box::new), Place::NOWHERE);
        if self.may_be_done && self.changes_something() {
            return ClientError::UnknownOutcome { cause, place };
        }
        ClientError::TimedOut { waiting: Waiting::Answer, after: self.limit, cause, place }
    }

    const fn changes_something(&self) -> bool {
        match &self.question {
            AdminCall::CreateTopics { validate_only, .. } => !*validate_only,
            AdminCall::DeleteTopics(_)
            | AdminCall::CreatePartitions { .. }
            | AdminCall::AlterConfigs { .. }
            | AdminCall::ElectLeaders { .. }
            | AdminCall::UnregisterBroker(_)
            | AdminCall::SetGroupOffsets { .. }
            | AdminCall::DeleteGroupOffsets { .. }
            | AdminCall::DeleteGroup(_) => true,
            _ => false,
        }
    }

    fn transmit<B: Body + Encode>(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        id: CallId,
        highest: i16,
        body: &B,
    ) -> Result<(), ClientError> {
        let Some(version) = core.network.version(connection, B::KEY, highest) else {
            return Err(core.unsupported(connection, B::KEY));
        };
        self.in_flight = true;
        self.sent = Some(B::KEY);
        // A broker takes its time for what changes the cluster; a little more is given to the way back.
        let patience = core.options.request_timeout + core.options.request_timeout / 4;
        core.send(now, connection, version, body, Purpose::Call { call: id }, patience);
        Ok(())
    }
}

/// Refuses what no broker would take.
fn check(question: &AdminCall) -> Result<(), ClientError> {
    if !groups::ADMINISTERS && question.administers_groups() {
        let problem =
            CallerProblem::Option { option: "group", must: "be administered from outside of a browser" };
        return Err(ClientError::caller(problem, Place::NOWHERE));
    }
    if let Some(group) = question.coordinated_group() {
        check_string("group", group)?;
    }
    match question {
        AdminCall::CreateTopics { topics, .. } => topics.iter().try_for_each(|topic| {
            check_topic_name(&topic.name)?;
            topic.configs.iter().try_for_each(|(name, value)| check_config(name, value))
        }),
        AdminCall::DeleteTopics(topics) | AdminCall::DescribeTopics(topics) => {
            topics.iter().try_for_each(check_topic_name)
        }
        AdminCall::CreatePartitions { topic, .. }
        | AdminCall::DescribeConfigs(ConfigResource::Topic(topic)) => check_topic_name(topic),
        AdminCall::AlterConfigs { resource, changes } => {
            if let ConfigResource::Topic(topic) = resource {
                check_topic_name(topic)?;
            }
            changes.iter().try_for_each(|change| match change {
                ConfigChange::Set(name, value) => check_config(name, value),
                ConfigChange::Delete(name) => check_config(name, ""),
            })
        }
        AdminCall::ReplicaEnds { topic, .. } => check_topic_name(topic),
        AdminCall::DescribeLogDirs { partitions: Some(asked), .. }
        | AdminCall::ElectLeaders { partitions: Some(asked), .. } => {
            asked.iter().try_for_each(|(topic, _)| check_topic_name(topic))
        }
        AdminCall::ListOffsets(asked) => asked.iter().try_for_each(|(topic, _, _)| check_topic_name(topic)),
        AdminCall::SetGroupOffsets { offsets, .. } => {
            offsets.iter().try_for_each(|found| check_topic_name(&found.topic))
        }
        AdminCall::DeleteGroupOffsets { partitions, .. } => {
            partitions.iter().try_for_each(|(topic, _)| check_topic_name(topic))
        }
        _ => Ok(()),
    }
}

fn check_config(name: &str, value: &str) -> Result<(), ClientError> {
    check_string("config", name)?;
    check_string("config", value)
}
