//! The log store's disk on real files: positioned writes, group commit, preallocation.
//!
//! ```text
//! shard 1 ── FileDisk ──┬─ plain calls: pwritev, pread, fallocate, rename ... on the shard's own thread
//! shard 2 ── FileDisk ──┤
//! Control ── FileDisk ──┴─ submitted:   syncs ──> one sync thread per directory (group commit)
//!                                       cold reads ──> two reader threads, started by the first of them
//!                       removed files ──> one thread that gives their space back, started by the first of them
//!                          completions come back through a queue per FileDisk, which calls the shard's waker
//! ```
//!
//! How it is used: take the [`DirectoryLock`], open the [`DirectoryHandle`], make one [`FileDisk`] of it for each
//! shard and one for Control, and move each to its thread. When the waker is called, call `poll` until it gives
//! nothing. The threads end when the last handle is gone, that for removed
//! files when it has given back what it holds.
//!
//! Nothing here waits for another thread in a call that a shard makes; threads talk through channels and atomics.

#![forbid(unsafe_code)]

mod commit;
mod completions;
mod counters;
mod direct;
mod directory;
mod error;
mod file;
mod file_disk;
mod handle;
mod lock;
mod path;
mod readers;
mod real_disk;
mod reaper;
#[cfg(test)]
mod tests;
#[cfg(feature = "unsynced-in-memory")]
mod unsynced;
mod write;

pub use completions::Waker;
pub use counters::{DiskCounters, SyncLatency};
pub use error::{DirectoryError, LockError};
pub use file::File;
pub use file_disk::FileDisk;
pub use handle::DirectoryHandle;
pub use lock::{DirectoryLock, LOCK_FILE_NAME, LockHolder};
#[cfg(feature = "unsynced-in-memory")]
pub use unsynced::UnsyncedOptions;
