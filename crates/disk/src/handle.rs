//! What the rest of a broker holds of a log directory, and the ways to its threads.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use log_store::{DiskError, DiskOperation};
use rustix::io::Errno;

use crate::commit::{self, SyncRequest};
use crate::completions::Waker;
use crate::counters::DiskCounters;
use crate::directory::Directory;
use crate::error::{self, DirectoryError};
use crate::file_disk::FileDisk;
use crate::readers::{ReadRequest, Readers};
use crate::reaper::{HELD_ABOVE_FREE_BYTES, Reaper};
#[cfg(feature = "unsynced-in-memory")]
use crate::unsynced::{Unsynced, UnsyncedOptions};

/// A log directory that is open in this process; clones are handles of the same one.
///
/// Exactly one is opened per directory and process; [`crate::DirectoryLock`] keeps other processes out.
#[derive(Clone, Debug)]
pub struct DirectoryHandle {
    handles: Arc<Handles>,
}

/// The ways to the threads.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) directory: Arc<Directory>,
    pub(crate) syncs: Sender<SyncRequest>,
    readers: OnceLock<Option<Readers>>,
    pub(crate) reaper: Arc<Reaper>,
    /// Where writes wait for their sync in memory.
    #[cfg(feature = "unsynced-in-memory")]
    pub(crate) unsynced: Option<Unsynced>,
}

impl Handles {
    fn open(path: &Path) -> Result<Self, DirectoryError> {
        let directory = Directory::open(path)
            .map_err(|source| DirectoryError::Unusable { directory: path.to_owned(), source })?;
        let directory = Arc::new(directory);
        let syncs = commit::start(&directory)
            .map_err(|source| DirectoryError::NoThread { directory: path.to_owned(), source })?;
        Ok(Self {
            directory,
            syncs,
            readers: OnceLock::new(),
            reaper: Arc::default(),
            #[cfg(feature = "unsynced-in-memory")]
            unsynced: None,
        })
    }

    /// Hands a cold read over; it fails where no thread can be had.
    pub(crate) fn submit_read(&self, request: ReadRequest) {
        self.directory.counters.reads_submitted.add(1);
        let started = self.readers.get_or_init(|| Readers::start(&self.directory).ok());
        let refused = match started {
            Some(readers) => readers.submit(request).err(),
            None => Some(request),
        };
        if let Some(ReadRequest { ticket, answers, .. }) = refused {
            answers.send(ticket, Err(error::refused(DiskOperation::Read, Errno::AGAIN)));
        }
    }

    /// Removes something by `remove`; the space is given back on another thread, or at once where there is little left.
    pub(crate) fn removing<E>(
        &self,
        path: &Path,
        remove: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_roomy = self.directory.free_bytes().is_ok_and(|free| free >= HELD_ABOVE_FREE_BYTES);
        let held = if is_roomy { self.reaper.hold(path) } else { Vec::new() };
        let result = remove(path);
        self.reaper.reap(held);
        result
    }
}

impl DirectoryHandle {
    /// Opens the directory and starts its sync thread; creates the directory, durably, if it is missing.
    ///
    /// # Errors
    /// It cannot be created or opened, or there is no thread to be had.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let handles = Handles::open(path)?;
        Ok(Self { handles: Arc::new(handles) })
    }

    /// Opens the directory so that what is not synced stays in this process, and is lost when it is killed.
    ///
    /// # Errors
    /// As [`DirectoryHandle::open`].
    #[cfg(feature = "unsynced-in-memory")]
    pub fn open_unsynced(path: &Path, options: UnsyncedOptions) -> Result<Self, DirectoryError> {
        let mut handles = Handles::open(path)?;
        let unsynced = Unsynced::start(&handles.directory, options);
        let unusable = |source| DirectoryError::Unusable { directory: path.to_owned(), source };
        handles.unsynced = Some(unsynced.map_err(unusable)?);
        Ok(Self { handles: Arc::new(handles) })
    }

    /// A disk of this directory, with a queue of completions of its own: one for each shard.
    #[must_use]
    pub fn disk(&self, waker: Waker) -> FileDisk {
        FileDisk::new(Arc::clone(&self.handles), waker)
    }

    /// The directory's path, absolute and without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.handles.directory.path
    }

    /// What poisoned the directory.
    #[must_use]
    pub fn poisoned(&self) -> Option<DiskError> {
        self.handles.directory.poisoned()
    }

    /// What was done so far, through all handles.
    #[must_use]
    pub fn counters(&self) -> DiskCounters {
        self.handles.directory.counters.read()
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Directory> {
        &self.handles.directory
    }
}
