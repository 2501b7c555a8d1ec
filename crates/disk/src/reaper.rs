//! Files whose names are removed, let go of on a thread of their own.
//!
//! The system frees a file's blocks when its last name and its last descriptor are gone, on the thread that lets go of the
//! last of them, and where the file system discards what it frees that takes tens of milliseconds for a segment. So whoever
//! removes a name holds the file meanwhile and hands it over, and so does the last who has such a file open, however long
//! after: a shard never frees what is large.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use rustix::fs::{CWD, Mode, OFlags};

/// Where less is free than this, in bytes, whoever removes a file needs the space (a guess: some seconds of appends).
pub(crate) const HELD_ABOVE_FREE_BYTES: u64 = 1 << 30;

/// How many are held at once; what is removed beyond is freed at once, by who lets go of it.
const HELD_MAX: usize = 64;

/// The way to the thread, which starts with the first file for it and ends when this is gone.
#[derive(Debug, Default)]
pub(crate) struct Reaper {
    removed: OnceLock<Option<Sender<OwnedFd>>>,
    held: Arc<AtomicUsize>,
}

impl Reaper {
    /// Takes hold of a file, or of all files in a directory, before the name is removed.
    pub(crate) fn hold(&self, path: &Path) -> Vec<OwnedFd> {
        let mut files = Vec::new();
        hold_all(path, self.room(), &mut files);
        files
    }

    /// The names are gone: lets go of the files on the thread.
    pub(crate) fn reap(&self, files: Vec<OwnedFd>) {
        if files.is_empty() {
            return;
        }
        // Without the thread they are let go of here.
        let Some(removed) = self.removed.get_or_init(|| start(&self.held)) else { return };
        for file in files {
            self.held.fetch_add(1, Ordering::Relaxed);
            if removed.send(file).is_err() {
                self.held.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Whoever has it is about to close it: if it has no name any more, that happens on the thread, or here where there is little
    /// space left.
    pub(crate) fn before_close(&self, file: &fs::File) {
        let is_removed = file.metadata().is_ok_and(|found| found.nlink() == 0 && found.len() > 0);
        if is_removed && self.room() > 0 && is_roomy(file) {
            self.reap(file.try_clone().into_iter().map(OwnedFd::from).collect());
        }
    }

    fn room(&self) -> usize {
        HELD_MAX.saturating_sub(self.held.load(Ordering::Relaxed))
    }
}

fn is_roomy(file: &fs::File) -> bool {
    let found = rustix::fs::fstatvfs(file);
    found.is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= HELD_ABOVE_FREE_BYTES)
}

fn start(held: &Arc<AtomicUsize>) -> Option<Sender<OwnedFd>> {
    let (sender, receiver) = channel();
    let held = Arc::clone(held);
    thread::Builder::new().name("disk-reap".to_owned()).spawn(move || run(&receiver, &held)).ok()?;
    Some(sender)
}

/// Links are not followed: what they lead to is not removed.
fn hold_all(path: &Path, room: usize, files: &mut Vec<OwnedFd>) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if found.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| hold_all(&entry.path(), room, files));
    } else if found.is_file() && found.len() > 0 && files.len() < room {
        files.extend(descriptor(path));
    }
}

/// Holds the file without opening it; nothing where that fails, since then it is freed at once.
fn descriptor(path: &Path) -> Option<OwnedFd> {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn run(removed: &Receiver<OwnedFd>, held: &AtomicUsize) {
    while let Ok(file) = removed.recv() {
        drop(file);
        held.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reaper whose files come out here.
    fn reaper() -> (Reaper, Receiver<OwnedFd>) {
        let (sender, receiver) = channel();
        (Reaper { removed: Some(sender).into(), held: Arc::default() }, receiver)
    }

    fn links_of(file: &OwnedFd) -> u64 {
        fs::File::from(file.try_clone().unwrap()).metadata().unwrap().nlink()
    }

    fn full(path: &Path) -> fs::File {
        fs::write(path, "x").unwrap();
        fs::File::open(path).unwrap()
    }

    #[test]
    fn a_removed_file_is_let_go_of_by_the_thread() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        full(&path);
        let (reaper, receiver) = reaper();
        let files = reaper.hold(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(files.iter().map(links_of).collect::<Vec<_>>(), [0]);
        reaper.reap(files);
        assert_eq!(reaper.held.load(Ordering::Relaxed), 1);
        let held = Arc::clone(&reaper.held);
        drop(reaper);
        run(&receiver, &held);
        assert_eq!(held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_still_has_a_removed_file_open_leaves_it_to_the_thread() {
        let temp = tempfile::tempdir().unwrap();
        let (removed, kept) = (temp.path().join("a"), temp.path().join("b"));
        let files = [full(&removed), full(&kept)];
        fs::remove_file(&removed).unwrap();
        let (reaper, receiver) = reaper();
        files.iter().for_each(|file| reaper.before_close(file));
        assert_eq!(receiver.try_iter().map(|file| links_of(&file)).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn the_files_of_a_directory_are_held_up_to_a_number() {
        let temp = tempfile::tempdir().unwrap();
        let below = temp.path().join("below");
        fs::create_dir(&below).unwrap();
        full(&below.join("full"));
        fs::write(below.join("empty"), "").unwrap();
        std::os::unix::fs::symlink(temp.path(), below.join("loop")).unwrap();
        let (reaper, _receiver) = reaper();
        let first = reaper.hold(temp.path());
        assert_eq!(first.len(), 1);
        reaper.reap(first);
        (0..HELD_MAX).for_each(|number| drop(full(&below.join(number.to_string()))));
        let others = reaper.hold(temp.path());
        assert_eq!(others.len(), HELD_MAX - 1);
        reaper.reap(others);
        assert!(reaper.hold(temp.path()).is_empty());
        let open = full(&below.join("full"));
        fs::remove_dir_all(&below).unwrap();
        reaper.before_close(&open);
        assert_eq!(reaper.held.load(Ordering::Relaxed), HELD_MAX, "beyond that who has it frees it");
    }

    #[test]
    fn nothing_is_held_of_what_is_not_there() {
        let temp = tempfile::tempdir().unwrap();
        assert!(reaper().0.hold(&temp.path().join("none")).is_empty());
    }
}
