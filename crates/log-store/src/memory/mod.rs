//! A simulated medium: a page cache and a platter apart, and everything that can go wrong between them.
//!
//! All handles of one medium share it; each has completions of its own. Threads do not: a medium lives on one
//! thread. Who drives a test chooses what happens: [`MemoryDisk::power_cut`] keeps any subset of what was not
//! synced, [`MemoryDisk::kill_process`] keeps all of it, syncs can be held back, fail or lie, bytes can rot.

mod file;
mod inspect;
mod medium;
#[cfg(test)]
mod tests;
mod tree;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use self::medium::Medium;
use self::tree::NodeId;
use crate::disk::{Completion, DirEntry, Disk, OpenMode, Ticket};
use crate::error::{DiskError, DiskFault, DiskOperation};

/// A handle of a simulated medium.
pub struct MemoryDisk {
    medium: Rc<RefCell<Medium>>,
    handle: u64,
}

/// An open file of a [`MemoryDisk`].
#[derive(Clone)]
pub struct MemoryFile {
    medium: Rc<RefCell<Medium>>,
    id: FileId,
}

/// Which file, and since which start it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    node: NodeId,
    boot: u64,
}

/// The same file of the same medium.
impl PartialEq for MemoryFile {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && Rc::ptr_eq(&self.medium, &other.medium)
    }
}

impl Eq for MemoryFile {}

impl MemoryFile {
    /// Reads what the page cache shows at `position`, until `into` is full or the file ends; gives the number of bytes.
    ///
    /// # Errors
    /// As [`Disk::read_at`].
    pub fn read_at(&self, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.medium.borrow_mut().read_at(&self.id, position, into)
    }
}

/// What later reads show after a failed sync; the platter lacks the data either way, and the next sync says OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedSync {
    /// The cache still shows the new bytes (ext4, XFS).
    ShowsNew,
    /// The cache shows the old bytes again (btrfs).
    ShowsOld,
}

/// What a medium did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes read, by whichever call.
    pub bytes_read: u64,
    /// Bytes read around the cache.
    pub bytes_read_around_cache: u64,
    /// Syncs that completed well.
    pub syncs: u64,
    /// Files made shorter, so that the system had to give space back.
    pub cuts: u64,
}

/// Address and length of each slice of one write: shows that bytes were not copied on their way.
pub type WriteTrace = Vec<(usize, usize)>;

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {} of start {}", self.id.node, self.id.boot)
    }
}

impl fmt::Debug for MemoryDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handle {} of a memory disk", self.handle)
    }
}

impl Default for MemoryDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryDisk {
    /// A handle of a new, empty medium without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self { medium: Rc::new(RefCell::new(Medium::new())), handle: 0 }
    }

    /// Another handle of the same medium.
    #[must_use]
    pub fn another_handle(&self) -> Self {
        let handle = self.medium.borrow_mut().new_handle();
        Self { medium: Rc::clone(&self.medium), handle }
    }

    /// Limits the medium to this many bytes.
    pub fn set_capacity(&self, bytes: u64) {
        self.medium.borrow_mut().capacity = bytes;
    }

    /// The process dies, the machine does not: completions are lost, the page cache stays.
    pub fn kill_process(&self) {
        self.medium.borrow_mut().start_again();
    }

    /// Power is lost: of what was not synced each sector, length and name survives or not, as the seed decides.
    pub fn power_cut(&self, seed: u64) {
        self.medium.borrow_mut().power_cut(seed);
    }

    /// The kernel writes some of the dirty sectors back on its own, as the seed decides.
    pub fn write_back(&self, seed: u64) {
        self.medium.borrow_mut().write_back(seed);
    }

    /// Holds submitted operations back until they are released.
    pub fn hold(&self, held: bool) {
        self.medium.borrow_mut().hold(held);
    }

    /// How many operations are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.medium.borrow().held.len()
    }

    /// Lets the oldest operation that is held back happen; `false` if there is none.
    pub fn release_one(&self) -> bool {
        self.medium.borrow_mut().release_one()
    }

    /// The next sync fails. The medium is poisoned from then on until a restart, unless that is switched off.
    pub fn fail_next_sync(&self, shows: FailedSync) {
        self.medium.borrow_mut().failing_syncs.push_back(shows);
    }

    /// Forgets the failures that were ordered and have not happened.
    pub fn cancel_failures(&self) {
        let medium = &mut *self.medium.borrow_mut();
        medium.failing_syncs.clear();
        medium.failing.clear();
    }

    /// Whether a failed sync poisons the medium (as at first) or the disk forgets it.
    pub fn set_poisoning(&self, poisoning: bool) {
        self.medium.borrow_mut().poisoning = poisoning;
    }

    /// Makes syncs a lie: they say OK and carry nothing.
    pub fn set_syncs_lie(&self, lie: bool) {
        self.medium.borrow_mut().syncs_lie = lie;
    }

    /// The next call of this kind fails; a write has written half of its bytes by then.
    pub fn fail_next(&self, operation: DiskOperation, fault: DiskFault) {
        self.fail_after(0, operation, fault);
    }

    /// Like [`MemoryDisk::fail_next`], but so many calls of this kind go well before.
    pub fn fail_after(&self, good: usize, operation: DiskOperation, fault: DiskFault) {
        self.medium.borrow_mut().failing.push_back((good, DiskError::new(operation, fault)));
    }

    /// Flips the bits of `mask` in the byte at `position`: on the platter, and in the cache if it is clean there.
    pub fn rot(&self, path: &str, position: u64, mask: u8) {
        let medium = &mut *self.medium.borrow_mut();
        if let Some(file) = medium.tree.find(path).and_then(|id| medium.tree.file(id)) {
            file.rot(position as usize, mask);
        }
    }

    /// A file loses everything from `len` on, on the platter and in the cache, as by a fault of the file system.
    pub fn shorten(&self, path: &str, len: u64) {
        let medium = &mut *self.medium.borrow_mut();
        if let Some(file) = medium.tree.find(path).and_then(|id| medium.tree.file(id)) {
            file.shorten(len as usize);
        }
    }

    /// The page cache drops all clean files.
    pub fn evict(&self) {
        self.evict_from(0);
    }

    /// The page cache drops each clean file from byte `position` on.
    pub fn evict_from(&self, position: u64) {
        self.medium.borrow_mut().tree.files().for_each(|file| file.evict(position));
    }

    /// What was done so far.
    #[must_use]
    pub fn counters(&self) -> MemoryCounters {
        self.medium.borrow().counters
    }

    /// Starts to note the slices of each write.
    pub fn trace_writes(&self) {
        self.medium.borrow_mut().trace = Some(Vec::new());
    }

    /// The writes noted since [`MemoryDisk::trace_writes`] or the last call.
    #[must_use]
    pub fn take_write_trace(&self) -> Vec<WriteTrace> {
        self.medium.borrow_mut().trace.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn create_dir(&mut self, path: &str) -> Result<(), DiskError> {
        self.medium.borrow_mut().create_dir(path)
    }

    fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError> {
        self.medium.borrow_mut().list(dir)
    }

    fn open(&mut self, path: &str, how: OpenMode) -> Result<MemoryFile, DiskError> {
        let id = self.medium.borrow_mut().open(path, how)?;
        Ok(MemoryFile { medium: Rc::clone(&self.medium), id })
    }

    fn file_len(&mut self, file: &MemoryFile) -> Result<u64, DiskError> {
        let medium = &mut *self.medium.borrow_mut();
        medium.file(&file.id, DiskOperation::FileLength).map(|node| node.len() as u64)
    }

    fn write_at(&mut self, file: &MemoryFile, position: u64, slices: &[&[u8]]) -> Result<(), DiskError> {
        self.medium.borrow_mut().write_at(&file.id, position, slices)
    }

    fn read_at(&mut self, file: &MemoryFile, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.medium.borrow_mut().read_at(&file.id, position, into)
    }

    fn read_around_cache(
        &mut self,
        file: &MemoryFile,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError> {
        self.medium.borrow_mut().read_around_cache(&file.id, position, into)
    }

    fn read_if_cached(
        &mut self,
        file: &MemoryFile,
        position: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, DiskError> {
        let medium = &mut *self.medium.borrow_mut();
        let cached = medium.file(&file.id, DiskOperation::Read)?.cached_bytes(position);
        let count = into.len().min(usize::try_from(cached).unwrap_or(usize::MAX));
        match into.get_mut(..count) {
            Some(into) if cached > 0 => medium.read_at(&file.id, position, into).map(Some),
            _ => Ok(None),
        }
    }

    fn preallocate(&mut self, file: &MemoryFile, position: u64, len: u64) -> Result<(), DiskError> {
        self.medium.borrow_mut().preallocate(&file.id, position, len)
    }

    fn truncate(&mut self, file: &MemoryFile, len: u64) -> Result<(), DiskError> {
        self.medium.borrow_mut().truncate(&file.id, len)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let medium = &mut *self.medium.borrow_mut();
        medium.may_change(DiskOperation::Rename)?;
        medium.tree.rename(from, to).map_err(|fault| DiskError::new(DiskOperation::Rename, fault))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), DiskError> {
        let medium = &mut *self.medium.borrow_mut();
        medium.may_change(DiskOperation::Remove)?;
        medium.tree.remove(path).map_err(|fault| DiskError::new(DiskOperation::Remove, fault))
    }

    fn remove_dir_all(&mut self, path: &str) -> Result<(), DiskError> {
        self.remove_file(path)
    }

    fn free_bytes(&mut self) -> Result<u64, DiskError> {
        Ok(self.medium.borrow().free_bytes())
    }

    fn submit_sync(&mut self, ticket: Ticket, files: &[MemoryFile], dirs: &[&str]) {
        let files: Vec<FileId> = files.iter().map(|file| file.id).collect();
        self.medium.borrow_mut().submit_sync(self.handle, ticket, &files, dirs);
    }

    fn submit_read(&mut self, ticket: Ticket, file: &MemoryFile, position: u64, len: u32) {
        self.medium.borrow_mut().submit_read(self.handle, ticket, &file.id, position, len);
    }

    fn poll(&mut self) -> Option<Completion> {
        self.medium.borrow_mut().poll(self.handle)
    }
}

/// A small deterministic generator (splitmix64): the seed decides, never the machine.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
