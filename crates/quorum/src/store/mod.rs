//! Raft's log, votes and purge point, kept by the log store's `RecordLog` and `SlotFile`s.
//!
//! ```text
//! <dir>/log/*.records   entries: a version byte and the entry in postcard
//! <dir>/vote            the vote, the same way; written to both slots, so that rot of one loses no vote
//! <dir>/points          where the log begins, and the snapshot that may be under way to the copy
//! ```
//! Whatever raft is told to be done is on the medium: an append calls back after its fsync, a vote, a cut and a purge return
//! after theirs. A failing disk fails everything from then on and is never asked again (D5).

mod entries;
mod files;

use std::fmt::Debug;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytes::Bytes;
use log_core::{DirectoryId, MetadataOffset};
use log_store::{Disk, SlotState};
use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{ErrorSubject, ErrorVerb, OptionalSend, RaftLogReader};
use tokio::sync::Notify;

pub(crate) use entries::{Log, Point, Points};
use files::{Files, Opened, Shared};

use crate::error::{QuorumError, StoreError};
use crate::mailbox::Mailbox;
use crate::network::{decode, encode};
use crate::types::{
    Raft, RaftEntry, RaftLogId, RaftMembership, RaftNodeId, RaftStorageError, RaftVote, offset_of,
};

/// A disk that raft's tasks may share.
pub(crate) trait RaftDisk: Disk<File: Send> + Send + 'static {}

impl<D: Disk<File: Send> + Send + 'static> RaftDisk for D {}

/// What is known of the votes that this node gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Votes {
    Known(Option<RaftVote>),
    /// Neither slot can be read: this node may have voted for anyone.
    Lost,
}

/// See the module; cheap to clone.
pub(crate) struct LogStore<D: Disk> {
    shared: Arc<Shared<D>>,
    log: Log,
    mailbox: Arc<Mailbox>,
    votes: Votes,
}

impl<D: RaftDisk> Clone for LogStore<D> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            log: self.log.clone(),
            mailbox: self.mailbox.clone(),
            votes: self.votes,
        }
    }
}

impl<D: RaftDisk> LogStore<D> {
    /// Opens or makes the store in `dir`. Everything that it then holds is on the medium.
    ///
    /// # Errors
    /// A disk that fails, damaged files.
    pub(crate) async fn open(
        disk: D,
        dir: &str,
        own: DirectoryId,
        disk_wake: Arc<Notify>,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, QuorumError> {
        let Opened { files, points, records, vote } = Files::open(disk, dir, mailbox.clone())?;
        let entries = records
            .into_iter()
            .map(|(index, bytes)| {
                let entry = decode::<RaftEntry>(&bytes).ok().filter(|entry| entry.log_id.index == index);
                entry.ok_or(QuorumError::Entry { index })
            })
            .collect::<Result<_, _>>()?;
        let log = Log::new(points, entries);
        let votes = votes(vote, &log, own.into());
        let shared = Shared::start(files, disk_wake);
        shared.until(Files::is_settled).await.map_err(QuorumError::Store)?;
        Ok(Self { shared, log, mailbox, votes })
    }

    /// Raft's log in memory.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Whether this node cannot know whom it voted for.
    pub(crate) fn votes_are_lost(&self) -> bool {
        self.votes == Votes::Lost
    }

    /// The log id and membership at what the copy has applied.
    ///
    /// # Errors
    /// The raft log holds nothing that says so: entries are missing between it and the copy.
    pub(crate) fn state_at(
        &self,
        applied: Option<MetadataOffset>,
    ) -> Result<(Option<RaftLogId>, RaftMembership), QuorumError> {
        let gap =
            || QuorumError::Gap { first: self.log.first(), applied: applied.map_or(-1, |offset| offset.0) };
        match applied {
            None if self.log.first() == 0 => Ok(Default::default()),
            None => Err(gap()),
            Some(offset) => {
                let point =
                    u64::try_from(offset.0).ok().and_then(|index| self.log.at(index)).ok_or_else(gap)?;
                Ok((Some(point.log_id), point.membership))
            }
        }
    }

    /// Keeps what a snapshot is taken at, before the copy takes it over: after a stop in between the copy alone could not
    /// tell its log id and membership.
    pub(crate) async fn note_snapshot(&self, point: Point) -> Result<(), RaftStorageError> {
        let points = self.log.note_installed(point);
        self.write_points(&points).await
    }

    async fn write_points(&self, points: &Points) -> Result<(), RaftStorageError> {
        let write = |files: &mut Files<D>| files.write_points(&encode(points)?);
        let number = self.shared.change(write).map_err(failed(ErrorSubject::Store, ErrorVerb::Write))?;
        let done = self.shared.until(|files| files.points_durable() >= number).await;
        done.map_err(failed(ErrorSubject::Store, ErrorVerb::Write))
    }
}

/// What the vote file says. A file that lacks what a log must have had is as bad as an unreadable one. The only
/// voter of a quorum contradicts nobody: it goes on above the last term in its log.
fn votes(state: SlotState, log: &Log, own: RaftNodeId) -> Votes {
    let known = match state {
        SlotState::Empty if log.last().is_none() => Some(None),
        SlotState::Empty | SlotState::Unreadable => None,
        SlotState::Written(bytes) => decode::<RaftVote>(&bytes).ok().map(Some),
    };
    let Some(vote) = known else {
        let last = log.last().and_then(|last| log.at(last.index));
        return match last.filter(|point| point.membership.voter_ids().eq([own])) {
            Some(point) => Votes::Known(Some(RaftVote::new(point.log_id.leader_id.term, own))),
            None => Votes::Lost,
        };
    };
    Votes::Known(vote)
}

fn failed(subject: ErrorSubject<RaftNodeId>, verb: ErrorVerb) -> impl FnOnce(StoreError) -> RaftStorageError {
    move |failed| RaftStorageError::from_io_error(subject, verb, std::io::Error::other(failed))
}

impl<D: RaftDisk> RaftLogReader<Raft> for LogStore<D> {
    async fn try_get_log_entries<R>(&mut self, range: R) -> Result<Vec<RaftEntry>, RaftStorageError>
    where
        R: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        Ok(self.log.range(&range))
    }
}

impl<D: RaftDisk> RaftLogStorage<Raft> for LogStore<D> {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<Raft>, RaftStorageError> {
        Ok(LogState { last_purged_log_id: self.log.purged(), last_log_id: self.log.last() })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.log.clone()
    }

    async fn save_vote(&mut self, vote: &RaftVote) -> Result<(), RaftStorageError> {
        let bytes = encode(vote).map_err(|e| failed(ErrorSubject::Vote, ErrorVerb::Write)(e.into()))?;
        for _slot in 0..2 {
            let write = self.shared.change(|files| files.write_vote(&bytes));
            let number = write.map_err(failed(ErrorSubject::Vote, ErrorVerb::Write))?;
            let done = self.shared.until(|files| files.vote_durable() >= number).await;
            done.map_err(failed(ErrorSubject::Vote, ErrorVerb::Write))?;
        }
        self.votes = Votes::Known(Some(*vote));
        Ok(())
    }

    async fn read_vote(&mut self) -> Result<Option<RaftVote>, RaftStorageError> {
        Ok(match self.votes {
            Votes::Known(vote) => vote,
            Votes::Lost => None,
        })
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<Raft>) -> Result<(), RaftStorageError>
    where
        I: IntoIterator<Item = RaftEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<RaftEntry> = entries.into_iter().collect();
        let records =
            entries.iter().map(|entry| encode(entry).map(Bytes::from)).collect::<Result<Vec<_>, _>>();
        let records = records.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Write)(e.into()))?;
        self.log.append(entries);
        let appended = self.shared.change(|files| files.append(records, callback));
        appended.map_err(failed(ErrorSubject::Logs, ErrorVerb::Write))
    }

    async fn truncate(&mut self, log_id: RaftLogId) -> Result<(), RaftStorageError> {
        self.log.truncate(log_id.index);
        let cut = self.shared.change(|files| files.truncate(log_id.index));
        cut.map_err(failed(ErrorSubject::Logs, ErrorVerb::Delete))?;
        let done = self.shared.until(|files| !files.is_cutting()).await;
        done.map_err(failed(ErrorSubject::Logs, ErrorVerb::Delete))
    }

    /// Waits until the copy holds what is removed here: raft asks for this before a snapshot is installed.
    async fn purge(&mut self, log_id: RaftLogId) -> Result<(), RaftStorageError> {
        let error = failed(ErrorSubject::Logs, ErrorVerb::Delete);
        if self.mailbox.applied_up_to(offset_of(log_id.index)).await.is_err() {
            return Err(error(StoreError::Closed));
        }
        let Some(point) = self.log.at(log_id.index).filter(|point| point.log_id == log_id) else {
            return Err(error(StoreError::Unknown { index: log_id.index }));
        };
        self.write_points(&self.log.points_after_purge(point.clone())).await?;
        self.log.purge(point);
        self.shared.change(|files| files.purge(log_id.index + 1)).map_err(error)?;
        let done = self.shared.until(|files| !files.is_cutting()).await;
        done.map_err(failed(ErrorSubject::Logs, ErrorVerb::Delete))
    }
}
