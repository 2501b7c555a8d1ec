//! The calls that a shard makes, answered from memory where the real directory does not have it yet.

use std::sync::Arc;

use log_store::{Completion, DirEntry, Disk, DiskError, DiskFault, DiskOperation, OpenMode, Ticket};
use rustix::io::Errno;

use super::tree::errno_of;
use super::{Request, Unsynced, UnsyncedFile};
use crate::completions::{Answers, Completions, Waker, queue};
use crate::directory::Directory;
use crate::error::{failed, refused};
use crate::file::File;
use crate::handle::Handles;
use crate::path::{below, inside};
use crate::readers::ReadRequest;

/// A log directory whose unsynced part is in memory, as one shard uses it.
#[derive(Debug)]
pub(crate) struct UnsyncedDisk {
    handles: Arc<Handles>,
    answers: Answers,
    completions: Completions,
}

impl UnsyncedDisk {
    pub(crate) fn new(handles: Arc<Handles>, waker: Waker) -> Self {
        let (answers, completions) = queue(waker);
        Self { handles, answers, completions }
    }

    pub(crate) fn wait(&mut self) -> Option<Completion> {
        self.completions.wait()
    }

    fn directory(&self) -> &Directory {
        &self.handles.directory
    }

    fn unsynced(&self) -> &Unsynced {
        self.handles.unsynced.as_ref().expect("this kind of disk is made only of handles that have it")
    }

    /// Checks the path and that the directory may be changed.
    fn change(&self, operation: DiskOperation, paths: &[&str]) -> Result<(), DiskError> {
        self.directory().healthy(operation)?;
        paths.iter().try_for_each(|path| inside(&self.directory().path, path, operation).map(|_| ()))
    }

    fn read(&self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let count = file.read_up_to(position, into).map_err(|error| failed(DiskOperation::Read, &error))?;
        self.directory().counters.bytes_read.add(count as u64);
        Ok(count)
    }
}

/// Says of what an error is an error.
fn of<T>(operation: DiskOperation, result: Result<T, Errno>) -> Result<T, DiskError> {
    result.map_err(|errno| refused(operation, errno))
}

fn overlay(file: &File, operation: DiskOperation) -> Result<&Arc<UnsyncedFile>, DiskError> {
    file.unsynced().ok_or(refused(operation, Errno::BADF))
}

impl Disk for UnsyncedDisk {
    type File = File;

    fn create_dir(&mut self, path: &str) -> Result<(), DiskError> {
        self.directory().healthy(DiskOperation::CreateDir)?;
        below(&self.directory().path, path, DiskOperation::CreateDir)?;
        of(DiskOperation::CreateDir, self.unsynced().tree().create_dir(path))
    }

    fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError> {
        below(&self.directory().path, dir, DiskOperation::List)?;
        of(DiskOperation::List, self.unsynced().tree().list(dir))
    }

    fn open(&mut self, path: &str, how: OpenMode) -> Result<File, DiskError> {
        let operation = DiskOperation::Open;
        inside(&self.directory().path, path, operation)?;
        let new = how == OpenMode::CreateNew;
        let mut tree = self.unsynced().tree();
        let create = new || how == OpenMode::Create;
        let missing = create && matches!(tree.find(path), Err(Errno::NOENT));
        if new || missing {
            self.directory().healthy(operation)?;
        }
        let file = of(operation, tree.open(path, create, new))?;
        let descriptor = of(operation, file.descriptor().try_clone().map_err(errno_of))?;
        Ok(File::with_unsynced(descriptor, path, file))
    }

    fn file_len(&mut self, file: &File) -> Result<u64, DiskError> {
        file.len().map_err(|error| failed(DiskOperation::FileLength, &error))
    }

    fn write_at(&mut self, file: &File, position: u64, slices: &[&[u8]]) -> Result<(), DiskError> {
        let operation = DiskOperation::Write;
        self.directory().healthy(operation)?;
        let bytes = slices.concat();
        let written = overlay(file, operation)?.write(position, &bytes);
        written.map_err(|error| failed(operation, &error))?;
        self.directory().counters.writes.add(1);
        self.directory().counters.bytes_written.add(bytes.len() as u64);
        Ok(())
    }

    fn read_at(&mut self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.read(file, position, into)
    }

    /// What it gives lies in the real file or waits for the next sync.
    fn read_around_cache(&mut self, file: &File, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let count = self.read(file, position, into)?;
        self.directory().counters.bytes_read_around_cache.add(count as u64);
        Ok(count)
    }

    fn read_if_cached(
        &mut self,
        file: &File,
        position: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, DiskError> {
        self.read(file, position, into).map(Some)
    }

    /// The file grows; nothing is reserved.
    fn preallocate(&mut self, file: &File, position: u64, len: u64) -> Result<(), DiskError> {
        let operation = DiskOperation::Preallocate;
        self.directory().healthy(operation)?;
        let file = overlay(file, operation)?;
        file.set_len(file.len().max(position.saturating_add(len)));
        Ok(())
    }

    fn truncate(&mut self, file: &File, len: u64) -> Result<(), DiskError> {
        let operation = DiskOperation::Truncate;
        self.directory().healthy(operation)?;
        overlay(file, operation)?.set_len(len);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        self.change(DiskOperation::Rename, &[from, to])?;
        of(DiskOperation::Rename, self.unsynced().tree().rename(from, to))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), DiskError> {
        self.change(DiskOperation::Remove, &[path])?;
        of(DiskOperation::Remove, self.unsynced().tree().remove_file(path))
    }

    fn remove_dir_all(&mut self, path: &str) -> Result<(), DiskError> {
        self.change(DiskOperation::Remove, &[path])?;
        of(DiskOperation::Remove, self.unsynced().tree().remove_dir_all(path))
    }

    fn free_bytes(&mut self) -> Result<u64, DiskError> {
        self.directory().free_bytes()
    }

    fn submit_sync(&mut self, ticket: Ticket, files: &[File], dirs: &[&str]) {
        self.completions.expect_one();
        self.directory().counters.syncs_submitted.add(1);
        let tree = self.unsynced().tree();
        let directories = dirs.iter().filter_map(|dir| tree.find(dir).ok()).collect();
        drop(tree);
        let files = files.iter().filter_map(File::unsynced).cloned().collect();
        let request = Request { ticket, files, directories, answers: self.answers.clone() };
        if self.unsynced().syncs.send(request).is_err() {
            self.answers.send(ticket, Err(DiskError::new(DiskOperation::Sync, DiskFault::Poisoned)));
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
