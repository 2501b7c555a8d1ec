//! The files of raft's log behind one lock, and the task that takes the disk's completions.
//!
//! Locks: raft's core writes and the task takes completions; no holder waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use log_core::Crc32c;
use log_core::container::Container;
use log_store::{
    Completion, Disk, LogId, Record, RecordLog, RecordLogError, RecordLogOptions, SlotFile, SlotState,
};
use openraft::storage::LogFlushed;
use tokio::sync::{Notify, oneshot, watch};

use super::RaftDisk;
use super::entries::Points;
use crate::error::{QuorumError, StoreError};
use crate::mailbox::Mailbox;
use crate::network::decode;
use crate::types::Raft;

const CRC: Crc32c = crc32c::crc32c_append;

const LOG: LogId = LogId(1);
const VOTES: LogId = LogId(2);
const POINTS: LogId = LogId(3);

const VOTE_MAGIC: [u8; 4] = *b"HWRV";
const POINTS_CONTAINER: Container = Container { magic: *b"HWRP", version: 1 };

/// Two memberships of some thousand nodes with their addresses fit.
const POINTS_SLOT_BYTES: usize = 256 << 10;

/// What was found at the start.
pub(super) struct Opened<D: Disk> {
    pub(super) files: Files<D>,
    pub(super) points: Points,
    pub(super) records: Vec<Record>,
    pub(super) vote: SlotState,
}

/// The files and what waits for them.
pub(super) struct Files<D: Disk> {
    disk: D,
    log: RecordLog<D>,
    votes: SlotFile<D>,
    points: SlotFile<D>,
    /// Appends by the end of their last entry, until it is durable.
    flushing: VecDeque<(u64, LogFlushed<Raft>)>,
    failed: Option<StoreError>,
    mailbox: Arc<Mailbox>,
}

impl<D: Disk> Files<D> {
    pub(super) fn open(mut disk: D, dir: &str, mailbox: Arc<Mailbox>) -> Result<Opened<D>, QuorumError> {
        let (points, state) =
            SlotFile::open_sized(&mut disk, POINTS, dir, "points", POINTS_CONTAINER, CRC, POINTS_SLOT_BYTES)?;
        let known = match state {
            SlotState::Empty => Points::default(),
            SlotState::Written(bytes) => decode(&bytes).map_err(|_| QuorumError::Points)?,
            SlotState::Unreadable => return Err(QuorumError::Points),
        };
        let first = known.purged.as_ref().map_or(0, |purged| purged.log_id.index + 1);
        let options = RecordLogOptions::new(CRC);
        let (log, records) = RecordLog::open(&mut disk, LOG, &format!("{dir}/log"), options, first)?;
        let (votes, vote) = SlotFile::open(&mut disk, VOTES, dir, "vote", VOTE_MAGIC, CRC)?;
        let files = Self { disk, log, votes, points, flushing: VecDeque::new(), failed: None, mailbox };
        Ok(Opened { files, points: known, records, vote })
    }

    pub(super) fn append(
        &mut self,
        records: Vec<Bytes>,
        flushed: LogFlushed<Raft>,
    ) -> Result<(), StoreError> {
        for record in records {
            self.log.append(&mut self.disk, record)?;
        }
        self.flushing.push_back((self.log.end(), flushed));
        self.log.sync(&mut self.disk);
        Ok(())
    }

    pub(super) fn truncate(&mut self, from: u64) -> Result<(), StoreError> {
        Ok(self.log.truncate(&mut self.disk, from)?)
    }

    /// Removes the records below `next`; where the log ends before it, it begins anew there.
    pub(super) fn purge(&mut self, next: u64) -> Result<(), StoreError> {
        if self.log.end() < next {
            return Ok(self.log.restart_at(&mut self.disk, next)?);
        }
        self.log.purge(&mut self.disk, next)?;
        self.log.sync(&mut self.disk);
        Ok(())
    }

    pub(super) fn write_vote(&mut self, bytes: &[u8]) -> Result<u64, StoreError> {
        Ok(self.votes.write(&mut self.disk, bytes)?)
    }

    pub(super) fn write_points(&mut self, bytes: &[u8]) -> Result<u64, StoreError> {
        Ok(self.points.write(&mut self.disk, bytes)?)
    }

    pub(super) fn vote_durable(&self) -> u64 {
        self.votes.durable()
    }

    pub(super) fn points_durable(&self) -> u64 {
        self.points.durable()
    }

    pub(super) fn is_cutting(&self) -> bool {
        self.log.is_cutting()
    }

    /// Whether all records, the vote and the points are on the medium.
    pub(super) fn is_settled(&self) -> bool {
        let log = !self.log.is_cutting() && self.log.durable_end() == self.log.end();
        log && self.votes.is_settled() && self.points.is_settled()
    }

    /// Takes all completions; whether there were any.
    fn take_completions(&mut self) -> bool {
        let mut any = false;
        while let Some(completion) = self.disk.poll() {
            any = true;
            if self.failed.is_none()
                && let Err(error) = self.complete(&completion)
            {
                self.fail(error.into());
            }
        }
        let durable = self.log.durable_end();
        while let Some((_, flushed)) = self.flushing.pop_front_if(|(end, _)| *end <= durable) {
            flushed.log_io_completed(Ok(()));
        }
        any
    }

    fn complete(&mut self, completion: &Completion) -> Result<(), RecordLogError> {
        self.log.handle_completion(&mut self.disk, completion)?;
        self.votes.handle_completion(&mut self.disk, completion)?;
        self.points.handle_completion(&mut self.disk, completion)?;
        Ok(())
    }

    /// Nothing that was not durable by now is ever acknowledged (D5).
    fn fail(&mut self, error: StoreError) {
        for (_, flushed) in self.flushing.drain(..) {
            flushed.log_io_completed(Err(std::io::Error::other(error.clone())));
        }
        self.failed = Some(error);
        self.mailbox.poison();
    }
}

/// The files for whoever writes, and a signal for whoever waits.
pub(super) struct Shared<D: Disk> {
    files: Mutex<Files<D>>,
    moved: watch::Sender<()>,
    /// Its end tells the task below to end.
    _alive: oneshot::Sender<()>,
}

impl<D: RaftDisk> Shared<D> {
    /// Starts the task that takes completions whenever `disk_wake` is told.
    pub(super) fn start(files: Files<D>, disk_wake: Arc<Notify>) -> Arc<Self> {
        let (alive, mut ended) = oneshot::channel();
        let shared =
            Arc::new(Self { files: Mutex::new(files), moved: watch::Sender::new(()), _alive: alive });
        let weak = Arc::downgrade(&shared);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = disk_wake.notified() => {}
                    _ = &mut ended => return,
                }
                match weak.upgrade() {
                    Some(shared) => shared.take_completions(&mut shared.files()),
                    None => return,
                }
            }
        });
        shared.take_completions(&mut shared.files());
        shared
    }

    fn files(&self) -> MutexGuard<'_, Files<D>> {
        self.files.lock().expect("no holder of this lock panics, unless the disk does")
    }

    fn take_completions(&self, files: &mut Files<D>) {
        if files.take_completions() {
            self.moved.send_replace(());
        }
    }

    /// Changes something on the disk, unless it has failed before. An error is the end of it.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Files<D>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut files = self.files();
        if let Some(error) = &files.failed {
            return Err(error.clone());
        }
        let changed = change(&mut files);
        if let Err(error) = &changed {
            files.fail(error.clone());
        }
        self.take_completions(&mut files);
        changed
    }

    /// Waits until `done`, or until the disk fails.
    pub(super) async fn until(&self, done: impl Fn(&Files<D>) -> bool) -> Result<(), StoreError> {
        let mut moved = self.moved.subscribe();
        loop {
            {
                let files = self.files();
                if let Some(error) = &files.failed {
                    return Err(error.clone());
                }
                if done(&files) {
                    return Ok(());
                }
            }
            moved.changed().await.map_err(|_| StoreError::Closed)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use log_store::MemoryDisk;
    use openraft::{CommittedLeaderId, Membership};

    use super::*;
    use crate::network::encode;
    use crate::store::Point;
    use crate::types::{RaftLogId, RaftMembership};

    fn open(disk: &MemoryDisk) -> Opened<MemoryDisk> {
        let mailbox = Arc::new(Mailbox::new(None, Box::new(|| {})));
        Files::open(disk.another_handle(), "metadata", mailbox).unwrap()
    }

    fn settle(files: &mut Files<MemoryDisk>) {
        while files.take_completions() {}
        assert!(files.is_settled());
    }

    /// Points that say that everything up to entry 100 is purged: a snapshot has overtaken the log.
    fn overtaken() -> Points {
        let leader = CommittedLeaderId::new(2, log_core::DirectoryId([7; 16]).into());
        let membership = RaftMembership::new(None, Membership::new(vec![], ()));
        Points { purged: Some(Point { log_id: RaftLogId::new(leader, 100), membership }), installed: None }
    }

    #[test]
    fn a_start_removes_no_entry_for_points_that_may_be_in_the_page_cache_alone() {
        let (mut kept, mut lost) = (0, 0);
        for seed in 0..60 {
            let disk = MemoryDisk::new();
            let mut files = open(&disk).files;
            settle(&mut files);
            for entry in [b"a", b"b", b"c"] {
                files.log.append(&mut files.disk, Bytes::from_static(entry)).unwrap();
            }
            files.log.sync(&mut files.disk);
            settle(&mut files);
            disk.hold(true);
            files.write_points(&encode(&overtaken()).unwrap()).unwrap();
            disk.kill_process();
            disk.hold(true);
            let started = open(&disk);
            assert_eq!((started.points, started.records.len()), (overtaken(), 0), "the page cache has them");
            assert!(!started.files.is_settled(), "raft is shown nothing yet");
            disk.power_cut(seed);
            disk.hold(false);
            let mut again = open(&disk);
            let entries = again.records.len();
            match again.points.purged {
                Some(_) => kept += u32::from(entries == 0),
                None => lost += u32::from(entries == 3),
            }
            assert_eq!(kept + lost, u32::try_from(seed).unwrap() + 1, "seed {seed}: {entries} entries");
            settle(&mut again.files);
        }
        assert!(kept > 0 && lost > 0, "{kept} {lost}");
    }
}
