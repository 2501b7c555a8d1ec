//! For tests: a disk on which `kill -9` acts like a power cut.
//!
//! The kernel keeps the page cache of a killed process, so killing brokers never shows a missing sync. Here
//! nothing goes to the real directory before the sync that covers it: bytes and lengths of a file wait in memory
//! (`file`), new files have no name yet (`O_TMPFILE`), and names made, renamed and removed wait in a tree (`tree`)
//! until their directory is synced (`medium`). Space is not reserved, and real syncs are not made: the processes
//! die in these tests, not the machine.
//!
//! Locks: this is compiled for tests only; no shard of a release ever runs it.

mod disk;
mod file;
mod medium;
mod tree;

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use log_store::{Completed, DiskError, DiskOperation, Ticket};

use self::tree::{NodeId, Tree};
use crate::completions::Answers;
use crate::directory::Directory;
use crate::error::failed;

pub(crate) use self::disk::UnsyncedDisk;
pub(crate) use self::file::UnsyncedFile;

/// How an unsynced disk behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsyncedOptions {
    /// Syncs say OK and carry nothing to the real directory: a test of durability must fail.
    pub sync_lies: bool,
    /// How long each group commit takes at least: widens the time in which a kill hits what is not synced.
    pub sync_takes: Duration,
}

/// The tree of a directory and the way to the thread that carries parts of it out.
#[derive(Debug)]
pub(crate) struct Unsynced {
    tree: Arc<Mutex<Tree>>,
    syncs: Sender<Request>,
}

/// A sync to be done and whom to tell.
#[derive(Debug)]
struct Request {
    ticket: Ticket,
    files: Vec<Arc<UnsyncedFile>>,
    directories: Vec<NodeId>,
    answers: Answers,
}

impl Unsynced {
    pub(crate) fn start(directory: &Arc<Directory>, options: UnsyncedOptions) -> io::Result<Self> {
        let tree = Arc::new(Mutex::new(Tree::load(&directory.path)?));
        let (syncs, receiver) = channel();
        let (directory, shared) = (Arc::clone(directory), Arc::clone(&tree));
        thread::Builder::new()
            .name("disk-sync-unsynced".to_owned())
            .spawn(move || run(&directory, &shared, options, &receiver))?;
        Ok(Self { tree, syncs })
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }
}

/// A panic of another thread has ended the test already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(directory: &Directory, tree: &Mutex<Tree>, options: UnsyncedOptions, requests: &Receiver<Request>) {
    while let Ok(first) = requests.recv() {
        let batch: Vec<Request> = std::iter::once(first).chain(requests.try_iter()).collect();
        let result = commit(directory, tree, options, &batch);
        for request in batch {
            request.answers.send(request.ticket, result.map(|()| Completed::Synced));
        }
    }
}

fn commit(
    directory: &Directory,
    tree: &Mutex<Tree>,
    options: UnsyncedOptions,
    batch: &[Request],
) -> Result<(), DiskError> {
    directory.healthy(DiskOperation::Sync)?;
    let begun = Instant::now();
    if !options.sync_takes.is_zero() {
        thread::sleep(options.sync_takes);
    }
    if !options.sync_lies {
        carry_out(directory, tree, batch).map_err(|error| {
            let error = failed(DiskOperation::Sync, &error);
            directory.poison(error, "a file or directory that was kept in memory");
            error
        })?;
    }
    directory.counters.committed(begun.elapsed());
    Ok(())
}

fn carry_out(directory: &Directory, tree: &Mutex<Tree>, batch: &[Request]) -> io::Result<()> {
    for file in batch.iter().flat_map(|request| &request.files) {
        if file.is_dirty() {
            file.sync()?;
            directory.counters.files_synced.add(1);
        }
    }
    for id in batch.iter().flat_map(|request| &request.directories) {
        if lock(tree).sync_directory(*id)? {
            directory.counters.directories_synced.add(1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
