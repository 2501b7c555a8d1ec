//! The shared state of a simulated medium: its tree, its waiting operations, its faults.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::file::{Carried, FileNode};
use super::tree::{NodeId, Tree};
use super::{Dice, FailedSync, FileId, MemoryCounters, WriteTrace};
use crate::disk::{Completed, Completion, DirEntry, OpenMode, Ticket};
use crate::error::{DiskError, DiskFault, DiskOperation};

pub(super) struct Medium {
    pub(super) tree: Tree,
    pub(super) capacity: u64,
    pub(super) poisoning: bool,
    pub(super) syncs_lie: bool,
    pub(super) failing_syncs: VecDeque<FailedSync>,
    /// Each with how many calls of its kind go well before.
    pub(super) failing: VecDeque<(usize, DiskError)>,
    pub(super) counters: MemoryCounters,
    pub(super) trace: Option<Vec<WriteTrace>>,
    pub(super) held: VecDeque<Waiting>,
    poisoned: bool,
    holding: bool,
    boot: u64,
    handles: u64,
    ready: BTreeMap<u64, VecDeque<Completion>>,
}

pub(super) struct Waiting {
    handle: u64,
    ticket: Ticket,
    work: Work,
}

enum Work {
    Sync { files: Vec<(NodeId, Carried)>, dirs: Vec<(NodeId, u64)> },
    Read { file: FileId, position: u64, len: u32 },
}

impl Medium {
    pub(super) fn new() -> Self {
        Self {
            tree: Tree::new(),
            capacity: u64::MAX,
            poisoning: true,
            syncs_lie: false,
            failing_syncs: VecDeque::new(),
            failing: VecDeque::new(),
            counters: MemoryCounters::default(),
            trace: None,
            held: VecDeque::new(),
            poisoned: false,
            holding: false,
            boot: 0,
            handles: 0,
            ready: BTreeMap::new(),
        }
    }

    pub(super) fn new_handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }

    pub(super) fn start_again(&mut self) {
        self.boot += 1;
        self.poisoned = false;
        self.holding = false;
        self.held.clear();
        self.ready.clear();
        self.failing.clear();
        self.failing_syncs.clear();
    }

    pub(super) fn power_cut(&mut self, seed: u64) {
        self.tree.lose_power(&mut Dice(seed));
        self.start_again();
    }

    pub(super) fn write_back(&mut self, seed: u64) {
        let mut dice = Dice(seed);
        self.tree.files().for_each(|file| file.write_back(&mut dice));
    }

    pub(super) fn hold(&mut self, held: bool) {
        self.holding = held;
        while !self.holding && self.release_one() {}
    }

    pub(super) fn free_bytes(&self) -> u64 {
        if self.capacity == u64::MAX {
            return u64::MAX;
        }
        self.capacity.saturating_sub(self.tree.bytes_used())
    }

    /// Whether the medium may be changed now; takes an error that was ordered for the operation.
    pub(super) fn may_change(&mut self, operation: DiskOperation) -> Result<(), DiskError> {
        self.check_health(operation)?;
        self.may_fail(operation)
    }

    fn check_health(&self, operation: DiskOperation) -> Result<(), DiskError> {
        if self.poisoned { Err(DiskError::new(operation, DiskFault::Poisoned)) } else { Ok(()) }
    }

    fn may_fail(&mut self, operation: DiskOperation) -> Result<(), DiskError> {
        let ordered = self.failing.iter().position(|(_, error)| error.operation == operation);
        let Some(at) = ordered else { return Ok(()) };
        if let Some((good, _)) = self.failing.get_mut(at).filter(|(good, _)| *good > 0) {
            *good -= 1;
            return Ok(());
        }
        self.failing.remove(at).map_or(Ok(()), |(_, error)| Err(error))
    }

    pub(super) fn file(
        &mut self,
        file: &FileId,
        operation: DiskOperation,
    ) -> Result<&mut FileNode, DiskError> {
        if file.boot != self.boot {
            return Err(DiskError::new(operation, DiskFault::Stale));
        }
        self.tree.file(file.node).ok_or(DiskError::new(operation, DiskFault::NotFound))
    }

    pub(super) fn create_dir(&mut self, path: &str) -> Result<(), DiskError> {
        self.may_change(DiskOperation::CreateDir)?;
        self.tree.create_dir(path).map_err(|fault| DiskError::new(DiskOperation::CreateDir, fault))
    }

    pub(super) fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError> {
        self.may_fail(DiskOperation::List)?;
        self.tree.list(dir)
    }

    pub(super) fn open(&mut self, path: &str, how: OpenMode) -> Result<FileId, DiskError> {
        self.may_fail(DiskOperation::Open)?;
        let failed = |fault| DiskError::new(DiskOperation::Open, fault);
        let node = match (self.tree.find(path), how) {
            (Some(_), OpenMode::CreateNew) => return Err(failed(DiskFault::AlreadyExists)),
            (Some(node), _) => node,
            (None, OpenMode::Read | OpenMode::Write) => return Err(failed(DiskFault::NotFound)),
            (None, OpenMode::Create | OpenMode::CreateNew) => {
                self.check_health(DiskOperation::Open)?;
                self.tree.create_file(path).map_err(failed)?
            }
        };
        let file = FileId { node, boot: self.boot };
        self.file(&file, DiskOperation::Open).map(|_| file)
    }

    pub(super) fn write_at(
        &mut self,
        file: &FileId,
        position: u64,
        slices: &[&[u8]],
    ) -> Result<(), DiskError> {
        let failure = self.may_change(DiskOperation::Write).err();
        if failure.is_some_and(|error| error.fault == DiskFault::Poisoned) {
            return failure.map_or(Ok(()), Err);
        }
        if let Some(trace) = &mut self.trace {
            trace.push(slices.iter().map(|slice| (slice.as_ptr() as usize, slice.len())).collect());
        }
        let mut bytes = slices.concat();
        let full = self.grow_would_overflow(file, position, bytes.len() as u64, DiskOperation::Write).err();
        let failure = failure.or(full);
        if failure.is_some() {
            bytes.truncate(bytes.len() / 2);
        }
        self.counters.bytes_written += bytes.len() as u64;
        self.file(file, DiskOperation::Write)?.write(position as usize, &bytes);
        if failure.is_some_and(|error| !error.is_full()) {
            self.poisoned = self.poisoning;
        }
        failure.map_or(Ok(()), Err)
    }

    pub(super) fn read_at(
        &mut self,
        file: &FileId,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError> {
        self.may_fail(DiskOperation::Read)?;
        let node = self.file(file, DiskOperation::Read)?;
        node.warm(position.saturating_add(into.len() as u64));
        let count = node.read(position as usize, into);
        self.counters.bytes_read += count as u64;
        Ok(count)
    }

    pub(super) fn read_around_cache(
        &mut self,
        file: &FileId,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError> {
        self.may_fail(DiskOperation::Read)?;
        let count = self.file(file, DiskOperation::Read)?.read_around_cache(position as usize, into);
        self.counters.bytes_read += count as u64;
        self.counters.bytes_read_around_cache += count as u64;
        Ok(count)
    }

    pub(super) fn preallocate(&mut self, file: &FileId, position: u64, len: u64) -> Result<(), DiskError> {
        self.may_change(DiskOperation::Preallocate)?;
        self.grow_would_overflow(file, position, len, DiskOperation::Preallocate)?;
        let node = self.file(file, DiskOperation::Preallocate)?;
        let end = (position + len) as usize;
        if end > node.len() {
            node.resize(end);
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, file: &FileId, len: u64) -> Result<(), DiskError> {
        self.may_change(DiskOperation::Truncate)?;
        let node = self.file(file, DiskOperation::Truncate)?;
        let shortens = (node.len() as u64) > len;
        node.resize(len as usize);
        self.counters.cuts += u64::from(shortens);
        Ok(())
    }

    fn grow_would_overflow(
        &mut self,
        file: &FileId,
        position: u64,
        len: u64,
        operation: DiskOperation,
    ) -> Result<(), DiskError> {
        if self.capacity == u64::MAX {
            return Ok(());
        }
        let before = self.file(file, operation)?.len() as u64;
        let grows = (position + len).saturating_sub(before);
        if grows > self.free_bytes() { Err(DiskError::new(operation, DiskFault::Full)) } else { Ok(()) }
    }

    pub(super) fn submit_sync(&mut self, handle: u64, ticket: Ticket, files: &[FileId], dirs: &[&str]) {
        let boot = self.boot;
        let files = files.iter().filter(|file| file.boot == boot).map(|file| file.node);
        let files: Vec<_> =
            files.filter_map(|node| self.tree.file(node).map(|file| (node, file.carry()))).collect();
        let dirs: Vec<_> = dirs.iter().filter_map(|dir| self.tree.find(dir)).collect();
        let dirs: Vec<_> =
            dirs.into_iter().filter_map(|id| self.tree.dir(id).map(|dir| (id, dir.changes()))).collect();
        self.submit(Waiting { handle, ticket, work: Work::Sync { files, dirs } });
    }

    pub(super) fn submit_read(
        &mut self,
        handle: u64,
        ticket: Ticket,
        file: &FileId,
        position: u64,
        len: u32,
    ) {
        let file = *file;
        self.submit(Waiting { handle, ticket, work: Work::Read { file, position, len } });
    }

    fn submit(&mut self, waiting: Waiting) {
        self.held.push_back(waiting);
        while !self.holding && self.release_one() {}
    }

    pub(super) fn release_one(&mut self) -> bool {
        self.release_nth(0)
    }

    pub(super) fn release_nth(&mut self, nth: usize) -> bool {
        let Some(Waiting { handle, ticket, work }) = self.held.remove(nth) else { return false };
        let result = match work {
            Work::Sync { files, dirs } => self.sync(files, dirs).map(|()| Completed::Synced),
            Work::Read { file, position, len } => self.read(&file, position, len).map(Completed::Read),
        };
        self.ready.entry(handle).or_default().push_back(Completion { ticket, result });
        true
    }

    fn sync(&mut self, files: Vec<(NodeId, Carried)>, dirs: Vec<(NodeId, u64)>) -> Result<(), DiskError> {
        if self.poisoned {
            return Err(DiskError::new(DiskOperation::Sync, DiskFault::Poisoned));
        }
        if let Some(shows) = self.failing_syncs.pop_front() {
            self.poisoned = self.poisoning;
            for (node, _) in files {
                if let Some(file) = self.tree.file(node) {
                    file.forget(shows == FailedSync::ShowsOld);
                }
            }
            return Err(DiskError::new(DiskOperation::Sync, DiskFault::Medium));
        }
        self.counters.syncs += 1;
        if self.syncs_lie {
            return Ok(());
        }
        for (node, carried) in files {
            if let Some(file) = self.tree.file(node) {
                file.settle(carried);
            }
        }
        for (node, changes) in dirs {
            if let Some(dir) = self.tree.dir(node) {
                dir.settle(changes);
            }
        }
        Ok(())
    }

    fn read(&mut self, file: &FileId, position: u64, len: u32) -> Result<Bytes, DiskError> {
        let there = self.file(file, DiskOperation::Read)?.len() as u64;
        let count = u64::from(len).min(there.saturating_sub(position));
        let mut bytes = vec![0; count as usize];
        let count = self.read_at(file, position, &mut bytes)?;
        bytes.truncate(count);
        Ok(Bytes::from(bytes))
    }

    pub(super) fn poll(&mut self, handle: u64) -> Option<Completion> {
        self.ready.get_mut(&handle)?.pop_front()
    }
}
