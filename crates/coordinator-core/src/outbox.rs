//! What the coordinator wants done, and what follows once its records are committed.

use std::collections::{BTreeMap, VecDeque};

use crate::command::{Reply, RequestToken};
use crate::error::GroupError;
use crate::records::GroupRecord;

/// Names records handed out to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriteId(pub u64);

/// What the coordinator wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorAction {
    /// Append these records in one batch with acks=all and say how it went by `handle_written`.
    Append {
        /// Names the write.
        id: WriteId,
        /// The records, in order.
        records: Vec<GroupRecord>,
    },
    /// Answer a waiting request.
    Reply {
        /// Which.
        token: RequestToken,
        /// With what.
        reply: Reply,
    },
}

/// What waits for a write to be committed.
#[derive(Debug)]
pub(crate) enum AfterWrite {
    /// The members of a group's generation get their assignments.
    Assign { group: String, generation: i32 },
    /// A request is answered; each part that was refused beforehand keeps its refusal.
    Answer { token: RequestToken, kind: AnswerKind, results: Vec<Result<(), GroupError>> },
    /// Nobody waits.
    Nothing,
}

/// Which reply a list of results becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnswerKind {
    Committed,
    GroupsDeleted,
    OffsetsDeleted,
}

impl AnswerKind {
    pub(crate) fn reply(self, results: Vec<Result<(), GroupError>>) -> Reply {
        match self {
            Self::Committed => Reply::Committed(results),
            Self::GroupsDeleted => Reply::GroupsDeleted(results),
            Self::OffsetsDeleted => Reply::OffsetsDeleted(Ok(results)),
        }
    }
}

/// A write under way.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    pub(crate) records: Vec<GroupRecord>,
    pub(crate) after: AfterWrite,
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) actions: VecDeque<CoordinatorAction>,
    pub(crate) writes: BTreeMap<WriteId, PendingWrite>,
    next_write: u64,
}

impl Outbox {
    pub(crate) fn reply(&mut self, token: RequestToken, reply: Reply) {
        self.actions.push_back(CoordinatorAction::Reply { token, reply });
    }

    pub(crate) fn append(&mut self, records: Vec<GroupRecord>, after: AfterWrite) -> WriteId {
        let id = WriteId(self.next_write);
        self.next_write += 1;
        self.actions.push_back(CoordinatorAction::Append { id, records: records.clone() });
        self.writes.insert(id, PendingWrite { records, after });
        id
    }
}
