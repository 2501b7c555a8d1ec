//! Files whose names are removed, held for a moment, so that what they took is given back on a thread of its own.
//!
//! The system frees a file's blocks when its last name and its last descriptor are gone, on the thread that lets go of the
//! last of them, and where the file system discards what it frees that takes tens of milliseconds for a segment. A shard
//! lets go of a file right after it removed the name: within that moment.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};

/// How long a removed file is held (a guess: who still reads it does so for less).
const HELD: Duration = Duration::from_millis(250);

/// Where less is free than this, in bytes, whoever removes a file needs the space (a guess: some seconds of appends).
pub(crate) const HELD_ABOVE_FREE_BYTES: u64 = 1 << 30;

/// How many are held at once; what is removed beyond is freed at once, by who removes it.
const HELD_MAX: usize = 64;

/// The way to the thread.
#[derive(Debug)]
pub(crate) struct Reaper {
    removed: Sender<Removed>,
    held: Arc<AtomicUsize>,
}

/// Files that have no name any more.
#[derive(Debug)]
pub(crate) struct Removed {
    files: Vec<OwnedFd>,
    since: Instant,
}

impl Reaper {
    pub(crate) fn start() -> io::Result<Self> {
        let (removed, receiver) = channel();
        let held = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&held);
        thread::Builder::new().name("disk-reap".to_owned()).spawn(move || run(&receiver, &counted))?;
        Ok(Self { removed, held })
    }

    /// Takes hold of a file, or of all files in a directory, before the name is removed.
    pub(crate) fn hold(&self, path: &Path) -> Removed {
        let room = HELD_MAX.saturating_sub(self.held.load(Ordering::Relaxed));
        let mut files = Vec::new();
        hold_all(path, room, &mut files);
        self.held.fetch_add(files.len(), Ordering::Relaxed);
        Removed { files, since: Instant::now() }
    }

    /// The names are gone: lets go of the files after the moment.
    pub(crate) fn reap(&self, removed: Removed) {
        if !removed.files.is_empty() {
            // Without the thread they are let go of here.
            let _ = self.removed.send(removed);
        }
    }
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

fn run(removed: &Receiver<Removed>, held: &AtomicUsize) {
    while let Ok(Removed { files, since }) = removed.recv() {
        thread::sleep(HELD.saturating_sub(since.elapsed()));
        let count = files.len();
        drop(files);
        held.fetch_sub(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn reaper() -> (Reaper, Receiver<Removed>) {
        let (removed, receiver) = channel();
        (Reaper { removed, held: Arc::default() }, receiver)
    }

    fn links_of(file: &OwnedFd) -> u64 {
        fs::File::from(file.try_clone().unwrap()).metadata().unwrap().nlink()
    }

    fn full(path: &Path) {
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn a_removed_file_is_there_until_it_is_let_go_of() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        full(&path);
        let (reaper, receiver) = reaper();
        let begun = Instant::now();
        let held = reaper.hold(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(held.files.iter().map(links_of).collect::<Vec<_>>(), [0]);
        reaper.reap(held);
        drop(reaper.removed);
        run(&receiver, &reaper.held);
        assert_eq!(reaper.held.load(Ordering::Relaxed), 0);
        assert!(begun.elapsed() >= HELD, "it was held for a moment");
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
        assert_eq!(reaper.hold(temp.path()).files.len(), 1);
        (0..HELD_MAX).for_each(|number| full(&below.join(number.to_string())));
        assert_eq!(reaper.hold(temp.path()).files.len(), HELD_MAX - 1);
        assert!(reaper.hold(temp.path()).files.is_empty());
    }

    #[test]
    fn nothing_is_held_of_what_is_not_there() {
        let temp = tempfile::tempdir().unwrap();
        assert!(reaper().0.hold(&temp.path().join("none")).files.is_empty());
    }
}
