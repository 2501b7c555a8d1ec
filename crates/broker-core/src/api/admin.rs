//! What the administrative requests share: each part becomes a command to Control, all outcomes together the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_wire::ErrorCode;
use log_core::MonoTime;
use log_store::Disk;

use super::alter_configs::AlteredConfigs;
use super::create_partitions::CreatedPartitions;
use super::create_topics::CreatedTopics;
use super::delete_topics::DeletedTopics;
use super::describe_quorum::DescribedQuorum;
use super::elect_leaders::ElectedLeaders;
use crate::error::admin_code;
use crate::message::{AdminAnswer, AdminCommand, AdminError};
use crate::peer::CallId;
use crate::shard::{Ask, Gather, Pending, Shard};

/// An administrative request that waits for Control.
#[derive(Debug)]
pub(crate) struct Admin {
    ask: Ask,
    kind: AdminKind,
    results: Gather<AdminResult>,
}

/// What was asked, as far as the answer repeats it.
#[derive(Debug)]
pub(crate) enum AdminKind {
    CreateTopics(CreatedTopics),
    DeleteTopics(DeletedTopics),
    CreatePartitions(CreatedPartitions),
    AlterConfigs(AlteredConfigs),
    DescribeQuorum(DescribedQuorum),
    ElectLeaders(ElectedLeaders),
    UnregisterBroker,
}

pub(crate) type AdminResult = Result<AdminAnswer, Failure>;

/// Why a part of an administrative request failed, in the protocol's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<AdminError> for Failure {
    fn from(error: AdminError) -> Self {
        Self { code: admin_code(&error), message: error.to_string() }
    }
}

/// Each name's first part and how often the name is there, in the order of the request: clients keep results by name, so that
/// a name has one result.
pub(crate) fn each_once<'a, T>(parts: &'a [T], name: impl Fn(&'a T) -> &'a str) -> Vec<(&'a T, usize)> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    parts.iter().for_each(|part| *times.entry(name(part)).or_default() += 1);
    parts.iter().filter_map(|part| times.remove(name(part)).map(|times| (part, times))).collect()
}

/// What is named more than once is refused: which of its parts is meant, nobody can say.
pub(crate) fn check_times(times: usize) -> Result<(), Failure> {
    match times {
        1 => Ok(()),
        _ => Err(Failure::new(ErrorCode::InvalidRequest, "the topic is named more than once in the request")),
    }
}

impl<D: Disk> Shard<D> {
    /// Sends the commands of a request; parts that were refused already are not sent.
    pub(crate) fn start_admin(
        &mut self,
        ask: Ask,
        kind: AdminKind,
        timeout_ms: i32,
        parts: Vec<Result<AdminCommand, Failure>>,
    ) {
        let id = self.next_pending();
        let deadline = self.admin_deadline(timeout_ms);
        let mut admin = Admin { ask, kind, results: Gather::new(parts.len()) };
        for (part, command) in (0..).zip(parts) {
            match command {
                Ok(command) => self.command(CallId { pending: id, part }, deadline, command),
                Err(failure) => admin.results.put(part, Err(failure)),
            }
        }
        if admin.results.is_complete() {
            self.finish_admin(admin);
        } else {
            self.wait(id, Pending::Admin(admin), Some(deadline));
        }
    }

    fn admin_deadline(&self, timeout_ms: i32) -> MonoTime {
        let timeout = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        self.core.now.mono.after(timeout.min(self.core.config.limits.admin_timeout_max))
    }

    pub(crate) fn finish_admin(&mut self, admin: Admin) {
        let Admin { ask, kind, results } = admin;
        let results = results.into_parts(|| Err(AdminError::TimedOut.into()));
        match kind {
            AdminKind::CreateTopics(created) => self.finish_create_topics(ask, &created, results),
            AdminKind::DeleteTopics(deleted) => self.finish_delete_topics(ask, &deleted, results),
            AdminKind::CreatePartitions(created) => self.finish_create_partitions(ask, &created, results),
            AdminKind::AlterConfigs(altered) => self.finish_alter_configs(ask, &altered, results),
            AdminKind::DescribeQuorum(described) => self.finish_describe_quorum(ask, &described, results),
            AdminKind::ElectLeaders(elected) => self.finish_elect_leaders(ask, &elected, results),
            AdminKind::UnregisterBroker => self.finish_unregister_broker(ask, results),
        }
    }
}

impl Admin {
    pub(crate) fn take(&mut self, part: u32, result: Result<AdminAnswer, AdminError>) -> bool {
        self.results.put(part, result.map_err(Failure::from));
        self.results.is_complete()
    }
}
