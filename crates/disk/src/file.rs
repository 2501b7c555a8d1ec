//! An open file of the log: cheap to clone, readable from any thread, with a descriptor for `sendfile`.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use crate::reaper::Reaper;
#[cfg(feature = "unsynced-in-memory")]
use crate::unsynced::UnsyncedFile;

/// An open file. It stays readable when its name is removed; its last clone closes it.
#[derive(Clone)]
pub struct File {
    opened: Arc<Opened>,
}

struct Opened {
    file: fs::File,
    path: String,
    /// Which file system it lies on: a sync of the directory's file system does not cover another one.
    device: u64,
    /// The length that this process gave the file, or found when it opened it.
    known_len: AtomicU64,
    reaper: Arc<Reaper>,
    /// What the descriptor does not show yet.
    #[cfg(feature = "unsynced-in-memory")]
    unsynced: Option<Arc<UnsyncedFile>>,
}

impl File {
    pub(crate) fn new(file: fs::File, path: &str, reaper: &Arc<Reaper>) -> io::Result<Self> {
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(Errno::ISDIR.into());
        }
        let opened = Opened {
            file,
            path: path.to_owned(),
            device: found.dev(),
            known_len: AtomicU64::new(found.len()),
            reaper: Arc::clone(reaper),
            #[cfg(feature = "unsynced-in-memory")]
            unsynced: None,
        };
        Ok(Self { opened: Arc::new(opened) })
    }

    #[cfg(feature = "unsynced-in-memory")]
    pub(crate) fn with_unsynced(file: fs::File, path: &str, unsynced: Arc<UnsyncedFile>) -> Self {
        let (device, known_len, reaper) = (0, AtomicU64::new(0), Arc::default());
        let opened =
            Opened { file, path: path.to_owned(), device, known_len, reaper, unsynced: Some(unsynced) };
        Self { opened: Arc::new(opened) }
    }

    #[cfg(feature = "unsynced-in-memory")]
    pub(crate) fn unsynced(&self) -> Option<&Arc<UnsyncedFile>> {
        self.opened.unsynced.as_ref()
    }

    /// The descriptor, where it shows all that was written to the file: `sendfile` may take the bytes from it.
    /// `None` where some of them are elsewhere (only in builds for tests): then [`File::read_exact_at`] has them.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        #[cfg(feature = "unsynced-in-memory")]
        if self.unsynced().is_some_and(|unsynced| unsynced.is_dirty()) {
            return None;
        }
        Some(self.opened.file.as_fd())
    }

    /// Reads exactly as many bytes as `into` takes, from `position` in bytes; may wait for the medium.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before, else what the system says.
    pub fn read_exact_at(&self, position: u64, into: &mut [u8]) -> io::Result<()> {
        let count = self.read_up_to(position, into)?;
        if count < into.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Reads until `into` is full or the file ends.
    pub(crate) fn read_up_to(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        #[cfg(feature = "unsynced-in-memory")]
        if let Some(unsynced) = self.unsynced() {
            return unsynced.read_up_to(position, into);
        }
        read_up_to(&self.opened.file, position, into)
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        #[cfg(feature = "unsynced-in-memory")]
        if let Some(unsynced) = self.unsynced() {
            return Ok(unsynced.len());
        }
        self.opened.file.metadata().map(|found| found.len())
    }

    pub(crate) fn raw(&self) -> &fs::File {
        &self.opened.file
    }

    pub(crate) fn path(&self) -> &str {
        &self.opened.path
    }

    pub(crate) fn device(&self) -> u64 {
        self.opened.device
    }

    /// What tells opened files apart.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.opened).addr()
    }

    pub(crate) fn known_len(&self) -> u64 {
        self.opened.known_len.load(Ordering::Relaxed)
    }

    pub(crate) fn grew_to(&self, len: u64) {
        self.opened.known_len.fetch_max(len, Ordering::Relaxed);
    }

    pub(crate) fn set_known_len(&self, len: u64) {
        self.opened.known_len.store(len, Ordering::Relaxed);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.reaper.before_close(&self.file);
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.opened.path)
    }
}

/// Reads until `into` is full or the file ends.
pub(crate) fn read_up_to(file: &fs::File, position: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while let Some(rest) = into.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, position + count as u64) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// Calls again what a signal interrupted.
pub(crate) fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
