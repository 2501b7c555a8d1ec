//! A disk for tests whose handles may cross threads: what a power cut takes is exactly what was not synced.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use log_store::{
    Completed, Completion, DirEntry, Disk, DiskError, DiskFault, DiskOperation, OpenMode, Ticket,
};
use tokio::sync::Notify;

#[derive(Default)]
struct Content {
    cached: Vec<u8>,
    kept: Vec<u8>,
}

/// An open file.
#[derive(Clone)]
pub(super) struct TestFile(Arc<Mutex<Content>>);

impl fmt::Debug for TestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file of a test disk")
    }
}

#[derive(Default)]
struct Names {
    cached: BTreeMap<String, TestFile>,
    kept: BTreeMap<String, TestFile>,
    syncs_fail: bool,
    syncs: usize,
}

/// What survives restarts.
#[derive(Clone, Default)]
pub(super) struct Medium(Arc<Mutex<Names>>);

impl Medium {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap()
    }

    /// A handle that tells `wake` of its completions.
    pub(super) fn disk(&self, wake: Arc<Notify>) -> TestDisk {
        TestDisk { medium: self.clone(), done: VecDeque::new(), wake }
    }

    /// A copy of everything that was synced.
    pub(super) fn copied(&self) -> Self {
        let copied = |(path, file): (&String, &TestFile)| {
            let kept = file.0.lock().unwrap().kept.clone();
            let content = Content { cached: kept.clone(), kept };
            (path.clone(), TestFile(Arc::new(Mutex::new(content))))
        };
        let kept: BTreeMap<String, TestFile> = self.names().kept.iter().map(copied).collect();
        Self(Arc::new(Mutex::new(Names { cached: kept.clone(), kept, ..Names::default() })))
    }

    /// Has it hold what the other one holds.
    pub(super) fn put_back(&self, other: Self) {
        *self.names() = std::mem::take(&mut *other.names());
    }

    /// Everything that was not synced is gone.
    pub(super) fn power_cut(&self) {
        let mut names = self.names();
        names.cached = names.kept.clone();
        for file in names.cached.values() {
            let mut content = file.0.lock().unwrap();
            content.cached = content.kept.clone();
        }
    }

    /// From now on no sync succeeds.
    pub(super) fn fail_syncs(&self) {
        self.names().syncs_fail = true;
    }

    pub(super) fn syncs(&self) -> usize {
        self.names().syncs
    }

    /// Flips a bit of a file.
    pub(super) fn flip(&self, path: &str, position: usize) {
        let file = self.names().cached[path].clone();
        file.0.lock().unwrap().cached[position] ^= 1;
    }

    /// Flips a bit of every 512 bytes of a file.
    pub(super) fn rot(&self, path: &str) {
        let file = self.names().cached[path].clone();
        let mut content = file.0.lock().unwrap();
        content.cached.iter_mut().step_by(512).for_each(|byte| *byte ^= 1);
    }
}

impl Names {
    fn sync(&mut self, files: &[TestFile], dirs: &[&str]) -> Result<Completed, DiskError> {
        if self.syncs_fail {
            return Err(DiskError::new(DiskOperation::Sync, DiskFault::Medium));
        }
        self.syncs += 1;
        for file in files {
            let mut content = file.0.lock().unwrap();
            content.kept = content.cached.clone();
        }
        for dir in dirs {
            self.kept.retain(|name, _| parent(name) != *dir);
            let now = self.cached.iter().filter(|(name, _)| parent(name) == *dir);
            self.kept.extend(now.map(|(name, file)| (name.clone(), file.clone())));
        }
        Ok(Completed::Synced)
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// A handle of a [`Medium`].
pub(super) struct TestDisk {
    medium: Medium,
    done: VecDeque<Completion>,
    wake: Arc<Notify>,
}

impl Disk for TestDisk {
    type File = TestFile;

    fn create_dir(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn list(&mut self, dir: &str) -> Result<Vec<DirEntry>, DiskError> {
        let names = self.medium.names();
        let within = names.cached.iter().filter(|(name, _)| parent(name) == dir);
        let entry = |(name, file): (&String, &TestFile)| DirEntry {
            name: name.rsplit('/').next().unwrap().to_owned(),
            is_dir: false,
            len: file.0.lock().unwrap().cached.len() as u64,
        };
        Ok(within.map(entry).collect())
    }

    fn open(&mut self, path: &str, how: OpenMode) -> Result<TestFile, DiskError> {
        let mut names = self.medium.names();
        if let Some(file) = names.cached.get(path) {
            return Ok(file.clone());
        }
        if matches!(how, OpenMode::Read | OpenMode::Write) {
            return Err(DiskError::new(DiskOperation::Open, DiskFault::NotFound));
        }
        let file = TestFile(Arc::default());
        names.cached.insert(path.to_owned(), file.clone());
        Ok(file)
    }

    fn file_len(&mut self, file: &TestFile) -> Result<u64, DiskError> {
        Ok(file.0.lock().unwrap().cached.len() as u64)
    }

    fn write_at(&mut self, file: &TestFile, position: u64, slices: &[&[u8]]) -> Result<(), DiskError> {
        let bytes = slices.concat();
        let from = usize::try_from(position).unwrap();
        let cached = &mut file.0.lock().unwrap().cached;
        cached.resize(cached.len().max(from + bytes.len()), 0);
        cached[from..from + bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }

    fn read_at(&mut self, file: &TestFile, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let content = file.0.lock().unwrap();
        let rest = content.cached.get(usize::try_from(position).unwrap()..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn read_around_cache(
        &mut self,
        file: &TestFile,
        position: u64,
        into: &mut [u8],
    ) -> Result<usize, DiskError> {
        self.read_at(file, position, into)
    }

    fn read_if_cached(
        &mut self,
        file: &TestFile,
        position: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, DiskError> {
        self.read_at(file, position, into).map(Some)
    }

    fn preallocate(&mut self, _: &TestFile, _: u64, _: u64) -> Result<(), DiskError> {
        Ok(())
    }

    fn truncate(&mut self, file: &TestFile, len: u64) -> Result<(), DiskError> {
        file.0.lock().unwrap().cached.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut names = self.medium.names();
        let file =
            names.cached.remove(from).ok_or(DiskError::new(DiskOperation::Rename, DiskFault::NotFound))?;
        names.cached.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove_file(&mut self, path: &str) -> Result<(), DiskError> {
        self.medium.names().cached.remove(path);
        Ok(())
    }

    fn remove_dir_all(&mut self, path: &str) -> Result<(), DiskError> {
        self.medium.names().cached.retain(|name, _| !name.starts_with(path));
        Ok(())
    }

    fn free_bytes(&mut self) -> Result<u64, DiskError> {
        Ok(u64::MAX)
    }

    fn submit_sync(&mut self, ticket: Ticket, files: &[TestFile], dirs: &[&str]) {
        let result = self.medium.names().sync(files, dirs);
        self.done.push_back(Completion { ticket, result });
        self.wake.notify_one();
    }

    fn submit_read(&mut self, ticket: Ticket, file: &TestFile, position: u64, len: u32) {
        let mut bytes = vec![0; usize::try_from(len).unwrap()];
        let read = self.read_at(file, position, &mut bytes);
        let result = read.map(|read| Completed::Read(Bytes::copy_from_slice(&bytes[..read])));
        self.done.push_back(Completion { ticket, result });
        self.wake.notify_one();
    }

    fn poll(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }
}
