//! The calls that a shard makes, each made of the system at once.

use std::fs;
use std::io;
use std::io::IoSliceMut;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use log_store::{Completion, DirEntry, Disk, DiskError, DiskFault, DiskOperation, OpenMode, Ticket};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};

use crate::commit::SyncRequest;
use crate::completions::{Answers, Completions, Waker, queue};
use crate::direct::DirectBuffer;
use crate::directory::Directory;
use crate::error::{failed, refused};
use crate::file::{File, retried};
use crate::handle::Handles;
use crate::path::{below, inside};
use crate::readers::ReadRequest;

/// A log directory as one shard uses it.
///
/// Where a sync is told of a directory that is no longer there, that part of it is done: a removed directory has
/// no entries to keep, and the removal itself is an entry of the directory above.
#[derive(Debug)]
pub(crate) struct RealDisk {
    handles: Arc<Handles>,
    answers: Answers,
    completions: Completions,
    buffer: DirectBuffer,
}

impl RealDisk {
    pub(crate) fn new(handles: Arc<Handles>, waker: Waker) -> Self {
        let (answers, completions) = queue(waker);
        Self { handles, answers, completions, buffer: DirectBuffer::default() }
    }

    pub(crate) fn wait(&mut self) -> Option<Completion> {
        self.completions.wait()
    }

    fn directory(&self) -> &Directory {
        &self.handles.directory
    }

    fn root(&self) -> &Path {
        &self.handles.directory.path
    }
}

impl Disk for RealDisk {
    type File = File;

    fn create_dir(&mut self, path: &str) -> Result<(), DiskError> {
        let operation = DiskOperation::CreateDir;
        self.directory().healthy(operation)?;
        let path = below(self.root(), path, operation)?;
        fs::create_dir_all(path).map_err(|error| failed(operation, &error))
    }

    fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError> {
        let path = below(self.root(), dir, DiskOperation::List)?;
        let entries = fs::read_dir(&path).and_then(entries_of);
        entries.map_err(|error| failed(DiskOperation::List, &error))
    }

    fn open(&mut self, path: &str, how: OpenMode) -> Result<File, DiskError> {
        let operation = DiskOperation::Open;
        let full = inside(self.root(), path, operation)?;
        let mut options = fs::OpenOptions::new();
        options.read(true).write(how != OpenMode::Read);
        match how {
            OpenMode::Read | OpenMode::Write => {}
            OpenMode::CreateNew => {
                self.directory().healthy(operation)?;
                options.create_new(true);
            }
            // A poisoned directory still opens what is there.
            OpenMode::Create => {
                options.create(self.directory().healthy(operation).is_ok());
            }
        }
        let opened = options.open(full).and_then(|file| File::new(file, path, &self.handles.reaper));
        opened.map_err(|error| match failed(operation, &error) {
            error if error.is_not_found() && how == OpenMode::Create => {
                self.directory().healthy(operation).err().unwrap_or(error)
            }
            error => error,
        })
    }

    fn file_len(&mut self, file: &File) -> Result<u64, DiskError> {
        file.len().map_err(|error| failed(DiskOperation::FileLength, &error))
    }

    fn write_at(&mut self, file: &File, position: u64, slices: &[&[u8]]) -> Result<(), DiskError> {
        self.directory().write(file, position, slices)
    }

    fn read_at(&mut self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let count = file.read_up_to(position, into).map_err(|error| failed(DiskOperation::Read, &error))?;
        self.directory().counters.bytes_read.add(count as u64);
        Ok(count)
    }

    fn read_around_cache(&mut self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.handles.directory.read_around_cache(&mut self.buffer, file, position, into)
    }

    fn read_if_cached(
        &mut self,
        file: &File,
        position: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, DiskError> {
        let found = match read_without_waiting(file, position, into) {
            // The file system knows no such reads. In memory none of them waits; elsewhere any of them may.
            Err(Errno::OPNOTSUPP | Errno::INVAL) if self.directory().in_memory => {
                return self.read_at(file, position, into).map(Some);
            }
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INVAL) => None,
            Err(errno) => return Err(refused(DiskOperation::Read, errno)),
            Ok(count) => Some(count),
        };
        let counters = &self.directory().counters;
        match found {
            Some(count) => {
                counters.cache_hits.add(1);
                counters.bytes_read.add(count as u64);
            }
            None => counters.cache_misses.add(1),
        }
        Ok(found)
    }

    fn preallocate(&mut self, file: &File, position: u64, len: u64) -> Result<(), DiskError> {
        self.directory().preallocate(file, position, len)
    }

    fn truncate(&mut self, file: &File, len: u64) -> Result<(), DiskError> {
        self.directory().truncate(file, len)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let operation = DiskOperation::Rename;
        self.directory().healthy(operation)?;
        let from = inside(self.root(), from, operation)?;
        let to = inside(self.root(), to, operation)?;
        fs::rename(from, to).map_err(|error| failed(operation, &error))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), DiskError> {
        let operation = DiskOperation::Remove;
        self.directory().healthy(operation)?;
        let path = inside(self.root(), path, operation)?;
        self.handles.removing(&path, |path| fs::remove_file(path)).map_err(|error| failed(operation, &error))
    }

    fn remove_dir_all(&mut self, path: &str) -> Result<(), DiskError> {
        let operation = DiskOperation::Remove;
        self.directory().healthy(operation)?;
        let path = inside(self.root(), path, operation)?;
        self.handles
            .removing(&path, |path| fs::remove_dir_all(path))
            .map_err(|error| failed(operation, &error))
    }

    fn free_bytes(&mut self) -> Result<u64, DiskError> {
        self.directory().free_bytes()
    }

    fn submit_sync(&mut self, ticket: Ticket, files: &[File], dirs: &[&str]) {
        self.completions.expect_one();
        self.directory().counters.syncs_submitted.add(1);
        let (directories, whole) = match open_directories(self.directory(), dirs) {
            Ok(opened) => opened,
            Err(error) => {
                // What cannot be synced is no better than what failed to sync.
                self.directory().poison(error, "a directory");
                return self.answers.send(ticket, Err(error));
            }
        };
        let answers = self.answers.clone();
        let request = SyncRequest { ticket, files: files.to_vec(), directories, whole, answers };
        if self.handles.syncs.send(request).is_err() {
            let error = DiskError::new(DiskOperation::Sync, DiskFault::Poisoned);
            self.directory().poison(error, "the sync thread is gone");
            self.answers.send(ticket, Err(error));
        }
    }

    fn submit_read(&mut self, ticket: Ticket, file: &File, position: u64, len: u32) {
        self.completions.expect_one();
        let answers = self.answers.clone();
        self.handles.submit_read(ReadRequest { ticket, file: file.clone(), position, len, answers });
    }

    fn poll(&mut self) -> Option<Completion> {
        self.completions.poll()
    }
}

impl Directory {
    /// Where the file system cannot reserve, the file only grows. After a failure it has its former length.
    fn preallocate(&self, file: &File, position: u64, len: u64) -> Result<(), DiskError> {
        let operation = DiskOperation::Preallocate;
        self.healthy(operation)?;
        let before = file.len().map_err(|error| failed(operation, &error))?;
        let end = position.saturating_add(len);
        let reserved = match len {
            0 => Err(Errno::OPNOTSUPP),
            _ => retried(|| rustix::fs::fallocate(file.raw(), FallocateFlags::empty(), position, len)),
        };
        let reserved = match reserved {
            Err(Errno::OPNOTSUPP) if end > before => retried(|| rustix::fs::ftruncate(file.raw(), end)),
            Err(Errno::OPNOTSUPP) => Ok(()),
            reserved => reserved,
        };
        if let Err(errno) = reserved {
            // Space taken before the disk was full goes back. It holds zeros: if that fails nothing is wrong.
            let _ = retried(|| rustix::fs::ftruncate(file.raw(), before));
            return Err(self.change_failed(refused(operation, errno), file));
        }
        file.grew_to(end);
        Ok(())
    }

    pub(crate) fn free_bytes(&self) -> Result<u64, DiskError> {
        let found = rustix::fs::fstatvfs(&self.root);
        let found = found.map_err(|errno| refused(DiskOperation::FreeBytes, errno))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn truncate(&self, file: &File, len: u64) -> Result<(), DiskError> {
        let operation = DiskOperation::Truncate;
        self.healthy(operation)?;
        retried(|| rustix::fs::ftruncate(file.raw(), len))
            .map_err(|errno| self.change_failed(refused(operation, errno), file))?;
        file.set_known_len(len);
        Ok(())
    }

    /// Whether a sync of the file system covers what is at `path`.
    fn syncs_with_file_system(&self, path: &Path) -> bool {
        self.may_sync_file_system && fs::metadata(path).is_ok_and(|found| found.dev() == self.device)
    }

    /// A medium that fails in the midst of a change leaves an unknown state.
    fn change_failed(&self, error: DiskError, file: &File) -> DiskError {
        if error.fault == DiskFault::Medium {
            self.poison(error, file.path());
        }
        error
    }
}

/// The entries of a directory, sorted. One that another shard removes meanwhile is left out: it is no fault of the rest.
fn entries_of(found: impl IntoIterator<Item = io::Result<fs::DirEntry>>) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in found {
        match entry_of(&entry?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            entry => entries.push(entry?),
        }
    }
    entries.sort();
    Ok(entries)
}

/// Names that are not UTF-8 are none of ours; they are shown with the marks of what could not be read.
fn entry_of(entry: &fs::DirEntry) -> io::Result<DirEntry> {
    let own = entry.metadata()?;
    let found = if own.is_symlink() { fs::metadata(entry.path()).unwrap_or(own) } else { own };
    Ok(DirEntry {
        name: entry.file_name().to_string_lossy().into_owned(),
        is_dir: found.is_dir(),
        len: if found.is_dir() { 0 } else { found.len() },
    })
}

/// Reads only what the page cache has; `AGAIN` where some of it is missing.
fn read_without_waiting(file: &File, position: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let mut count = 0;
    while let Some(rest) = into.get_mut(count..).filter(|rest| !rest.is_empty()) {
        let place = &mut [IoSliceMut::new(rest)];
        let from = position + count as u64;
        match retried(|| rustix::io::preadv2(file.raw(), place, from, ReadWriteFlags::NOWAIT))? {
            0 => break,
            read => count += read,
        }
    }
    Ok(count)
}

/// The directories, and whether the file system as a whole has to be synced in place of one for which no descriptor is free.
fn open_directories(directory: &Directory, dirs: &[&str]) -> Result<(Vec<fs::File>, bool), DiskError> {
    let (mut opened, mut whole) = (Vec::with_capacity(dirs.len()), false);
    for dir in dirs {
        let path = below(&directory.path, dir, DiskOperation::Sync)?;
        match fs::File::open(&path) {
            Ok(file) => opened.push(file),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => match failed(DiskOperation::Sync, &error) {
                error if error.lacks_descriptor() && directory.syncs_with_file_system(&path) => whole = true,
                error => return Err(error),
            },
        }
    }
    Ok((opened, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_goes_while_it_is_listed_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["0", "1", "2"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let found: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
        fs::remove_dir(dir.path().join("1")).unwrap();
        let entries = entries_of(found).unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["0", "2"]);
    }
}
