//! The disk as the log sees it: plain calls for what answers at once, submitted operations for what may block.
//!
//! Writing into the page cache costs a few microseconds, handing a write to another thread several times that;
//! so the namespace, writes and small reads are calls, and only syncs and cold reads are *submitted* and come
//! back later as a [`Completion`]. Who implements this: `MemoryDisk` here, real files in crate `disk`.

use core::fmt;

use bytes::Bytes;

use crate::error::DiskError;

/// The size in bytes of the smallest piece that a power cut leaves whole or untouched.
pub const SECTOR_BYTES: u64 = 512;

/// A log directory on some medium.
///
/// Paths are relative to the directory and use `/`; an empty path is the directory itself. Nothing that this
/// trait does is durable before a sync that was submitted after it has completed: the bytes and length of a
/// file need the sync of the file, the entries of a directory (names created, renamed, removed) the sync of
/// that directory.
///
/// Completions come in any order. After one failed sync, and after [`DiskError`] `Poisoned`, no write and no
/// sync of this log directory succeeds again in this process, through whichever `Disk` of it.
pub trait Disk {
    /// An open file: cheap to clone; it stays readable when its name is removed.
    type File: Clone + fmt::Debug;

    /// Creates a directory and those above it that are missing; no error if it is there.
    fn create_dir(&mut self, path: &str) -> Result<(), DiskError>;

    /// The entries of a directory, sorted by name.
    fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError>;

    /// Opens a file.
    fn open(&mut self, path: &str, how: OpenMode) -> Result<Self::File, DiskError>;

    /// The length of a file in bytes, preallocated zeros included.
    fn file_len(&mut self, file: &Self::File) -> Result<u64, DiskError>;

    /// Writes the slices one behind the other at `position`, extending the file if need be. After an error
    /// any part of them may have been written.
    fn write_at(&mut self, file: &Self::File, position: u64, slices: &[&[u8]]) -> Result<(), DiskError>;

    /// Reads at `position` until `into` is full or the file ends; gives the number of bytes read. May wait for
    /// the medium.
    fn read_at(&mut self, file: &Self::File, position: u64, into: &mut [u8]) -> Result<usize, DiskError>;

    /// Like `read_at`, but what it gives is on the medium, or has been written again to the cache, so that the
    /// next sync carries it to the medium. For the recovery after a stop that was not clean.
    fn read_around_cache(
        &mut self,
        file: &Self::File,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError>;

    /// Like `read_at`, but gives `None` where it would have to wait for the medium.
    fn read_if_cached(
        &mut self,
        file: &Self::File,
        position: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, DiskError>;

    /// Reserves space; the file grows to `position + len` bytes, and what it grew by reads as zeros.
    fn preallocate(&mut self, file: &Self::File, position: u64, len: u64) -> Result<(), DiskError>;

    /// Cuts a file to `len` bytes, or extends it with zeros.
    fn truncate(&mut self, file: &Self::File, len: u64) -> Result<(), DiskError>;

    /// Renames a file or directory; a file at `to` is replaced.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Removes the name of a file.
    fn remove_file(&mut self, path: &str) -> Result<(), DiskError>;

    /// Removes a directory and all below it.
    fn remove_dir_all(&mut self, path: &str) -> Result<(), DiskError>;

    /// Bytes that can still be allocated.
    fn free_bytes(&mut self) -> Result<u64, DiskError>;

    /// Asks for the bytes and lengths of `files`, then the entries of `dirs`, to be made durable.
    fn submit_sync(&mut self, ticket: Ticket, files: &[Self::File], dirs: &[&str]);

    /// Asks for up to `len` bytes at `position`; fewer come where the file ends.
    fn submit_read(&mut self, ticket: Ticket, file: &Self::File, position: u64, len: u32);

    /// The next completion of what was submitted through this value.
    fn poll(&mut self) -> Option<Completion>;
}

/// Names a log among all that share a `Disk` value; chosen by the caller, it routes completions back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId(pub u64);

/// Names one submitted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The log that submitted it.
    pub log: LogId,
    /// Its number within the log.
    pub sequence: u64,
}

/// The end of a submitted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The operation.
    pub ticket: Ticket,
    /// How it ended.
    pub result: Result<Completed, DiskError>,
}

/// What a submitted operation gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completed {
    /// All that was written to the files, and changed in the directories, before the call is durable.
    Synced,
    /// The bytes that were read.
    Read(Bytes),
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To read; it must exist.
    Read,
    /// To read and write; it must exist.
    Write,
    /// To read and write; made if missing.
    Create,
    /// To read and write; it must not exist.
    CreateNew,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// The name, without the directory.
    pub name: String,
    /// Whether it is a directory itself.
    pub is_dir: bool,
    /// The length of a file in bytes; zero for a directory.
    pub len: u64,
}

/// A directory and all above it up to the log directory: what has to be synced for a new directory's name to last.
pub(crate) fn with_ancestors(dir: &str) -> Vec<&str> {
    let above = dir.rmatch_indices('/').map(|(at, _)| dir.get(..at).expect("a match lies on a character"));
    core::iter::once(dir).chain(above).chain((!dir.is_empty()).then_some("")).collect()
}
