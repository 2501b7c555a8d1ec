//! The state machine that raft sees: it hands committed entries to `Control` and waits until they are applied there.
//!
//! `Control` appends the entries to this broker's copy of the metadata log, fsyncs them and applies them (Q1);
//! only then does `apply` return, so raft's last applied index never runs ahead of the copy. Snapshots go the same way:
//! `Control` offers them, raft passes them on, and a received one is installed by `Control`.

use std::sync::Arc;

use bytes::Bytes;
use log_store::Disk;
use metadata_core::{CommittedEntry, QuorumEvent};
use openraft::storage::{RaftStateMachine, Snapshot};
use openraft::{EntryPayload, ErrorSubject, ErrorVerb, OptionalSend, RaftSnapshotBuilder, SnapshotMeta};

use crate::mailbox::{Closed, Mailbox};
use crate::store::{LogStore, Point, RaftDisk};
use crate::types::{
    Applied, Raft, RaftEntry, RaftLogId, RaftMembership, RaftNode, RaftNodeId, RaftStorageError, offset_of,
};

type Meta = SnapshotMeta<RaftNodeId, RaftNode>;

/// The latest snapshot that `Control` offered or received.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) meta: Meta,
    pub(crate) bytes: Bytes,
}

/// See the head of this file.
pub(crate) struct Machine<D: Disk> {
    mailbox: Arc<Mailbox>,
    store: LogStore<D>,
    last_applied: Option<RaftLogId>,
    membership: RaftMembership,
}

impl<D: RaftDisk> Machine<D> {
    /// A machine that goes on after `last_applied`, which the copy holds.
    pub(crate) fn new(
        mailbox: Arc<Mailbox>,
        store: LogStore<D>,
        (last_applied, membership): (Option<RaftLogId>, RaftMembership),
    ) -> Self {
        Self { mailbox, store, last_applied, membership }
    }

    fn note(&mut self, entry: RaftEntry) -> CommittedEntry {
        self.last_applied = Some(entry.log_id);
        let bytes = match entry.payload {
            EntryPayload::Blank => None,
            EntryPayload::Normal(payload) => Some(payload.0),
            EntryPayload::Membership(membership) => {
                self.membership = RaftMembership::new(Some(entry.log_id), membership);
                None
            }
        };
        CommittedEntry { offset: offset_of(entry.log_id.index), bytes }
    }
}

fn stopping(closed: Closed) -> RaftStorageError {
    let cause = std::io::Error::other(closed);
    RaftStorageError::from_io_error(ErrorSubject::StateMachine, ErrorVerb::Write, cause)
}

impl<D: RaftDisk> RaftStateMachine<Raft> for Machine<D> {
    type SnapshotBuilder = Offered;

    async fn applied_state(&mut self) -> Result<(Option<RaftLogId>, RaftMembership), RaftStorageError> {
        Ok((self.last_applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Applied>, RaftStorageError>
    where
        I: IntoIterator<Item = RaftEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<CommittedEntry> = entries.into_iter().map(|entry| self.note(entry)).collect();
        let answers = vec![Applied; entries.len()];
        if let Some(last) = entries.last() {
            let upto = last.offset;
            self.mailbox.post(QuorumEvent::Committed { entries });
            self.mailbox.applied_up_to(upto).await.map_err(stopping)?;
        }
        Ok(answers)
    }

    async fn get_snapshot_builder(&mut self) -> Offered {
        Offered { mailbox: self.mailbox.clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Bytes>, RaftStorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(&mut self, meta: &Meta, snapshot: Box<Bytes>) -> Result<(), RaftStorageError> {
        let Some(last) = meta.last_log_id else { return Ok(()) };
        self.store.note_snapshot(Point { log_id: last, membership: meta.last_membership.clone() }).await?;
        let upto = offset_of(last.index);
        self.mailbox.keep_image(Image { meta: meta.clone(), bytes: (*snapshot).clone() });
        self.mailbox.post(QuorumEvent::Snapshot { upto, bytes: *snapshot });
        self.mailbox.applied_up_to(upto).await.map_err(stopping)?;
        self.last_applied = Some(last);
        self.membership = meta.last_membership.clone();
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Raft>>, RaftStorageError> {
        Ok(self.mailbox.image().map(|image| image.snapshot()))
    }
}

impl Image {
    /// What `Control` made after applying everything up to and including `point`.
    pub(crate) fn new(point: Point, bytes: Bytes) -> Self {
        let Point { log_id, membership } = point;
        let snapshot_id = format!("{}-{}", log_id.leader_id.term, log_id.index);
        Self { meta: Meta { last_log_id: Some(log_id), last_membership: membership, snapshot_id }, bytes }
    }

    fn snapshot(&self) -> Snapshot<Raft> {
        Snapshot { meta: self.meta.clone(), snapshot: Box::new(self.bytes.clone()) }
    }
}

/// Answers raft's wish for a snapshot with the one that `Control` offered last.
pub(crate) struct Offered {
    mailbox: Arc<Mailbox>,
}

impl RaftSnapshotBuilder<Raft> for Offered {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Raft>, RaftStorageError> {
        let none = || {
            let cause = std::io::Error::other("no snapshot was offered");
            RaftStorageError::from_io_error(ErrorSubject::StateMachine, ErrorVerb::Read, cause)
        };
        self.mailbox.image().map(|image| image.snapshot()).ok_or_else(none)
    }
}
