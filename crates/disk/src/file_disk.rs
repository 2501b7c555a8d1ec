//! `Disk` for the log store: real files, or in builds for tests also files whose unsynced part is in memory.

use std::sync::Arc;

use log_store::{Completion, DirEntry, Disk, DiskError, OpenMode, Ticket};

use crate::completions::Waker;
use crate::file::File;
use crate::handle::Handles;
use crate::real_disk::RealDisk;
#[cfg(feature = "unsynced-in-memory")]
use crate::unsynced::UnsyncedDisk;

/// A log directory as one shard uses it; made by [`crate::DirectoryHandle::disk`], moved to the shard's thread.
#[derive(Debug)]
pub struct FileDisk {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Real(RealDisk),
    #[cfg(feature = "unsynced-in-memory")]
    Unsynced(UnsyncedDisk),
}

/// Passes a call on, so that who uses a disk need not know which it is.
macro_rules! pass_on {
    ($self:ident, $disk:ident => $call:expr) => {
        match &mut $self.kind {
            Kind::Real($disk) => $call,
            #[cfg(feature = "unsynced-in-memory")]
            Kind::Unsynced($disk) => $call,
        }
    };
}

impl FileDisk {
    pub(crate) fn new(handles: Arc<Handles>, waker: Waker) -> Self {
        #[cfg(feature = "unsynced-in-memory")]
        if handles.unsynced.is_some() {
            return Self { kind: Kind::Unsynced(UnsyncedDisk::new(handles, waker)) };
        }
        Self { kind: Kind::Real(RealDisk::new(handles, waker)) }
    }

    /// Waits for the next completion; `None` if nothing is under way. For boot and tools, not for a shard.
    pub fn wait(&mut self) -> Option<Completion> {
        pass_on!(self, disk => disk.wait())
    }
}

impl Disk for FileDisk {
    type File = File;

    fn create_dir(&mut self, path: &str) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.create_dir(path))
    }

    fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError> {
        pass_on!(self, disk => disk.list(dir))
    }

    fn open(&mut self, path: &str, how: OpenMode) -> Result<File, DiskError> {
        pass_on!(self, disk => disk.open(path, how))
    }

    fn file_len(&mut self, file: &File) -> Result<u64, DiskError> {
        pass_on!(self, disk => disk.file_len(file))
    }

    fn write_at(&mut self, file: &File, position: u64, slices: &[&[u8]]) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.write_at(file, position, slices))
    }

    fn read_at(&mut self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        pass_on!(self, disk => disk.read_at(file, position, into))
    }

    fn read_around_cache(&mut self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        pass_on!(self, disk => disk.read_around_cache(file, position, into))
    }

    fn read_if_cached(
        &mut self,
        file: &File,
        position: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, DiskError> {
        pass_on!(self, disk => disk.read_if_cached(file, position, into))
    }

    fn preallocate(&mut self, file: &File, position: u64, len: u64) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.preallocate(file, position, len))
    }

    fn truncate(&mut self, file: &File, len: u64) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.truncate(file, len))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.rename(from, to))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.remove_file(path))
    }

    fn remove_dir_all(&mut self, path: &str) -> Result<(), DiskError> {
        pass_on!(self, disk => disk.remove_dir_all(path))
    }

    fn free_bytes(&mut self) -> Result<u64, DiskError> {
        pass_on!(self, disk => disk.free_bytes())
    }

    fn submit_sync(&mut self, ticket: Ticket, files: &[File], dirs: &[&str]) {
        pass_on!(self, disk => disk.submit_sync(ticket, files, dirs));
    }

    fn submit_read(&mut self, ticket: Ticket, file: &File, position: u64, len: u32) {
        pass_on!(self, disk => disk.submit_read(ticket, file, position, len));
    }

    fn poll(&mut self) -> Option<Completion> {
        pass_on!(self, disk => disk.poll())
    }
}
