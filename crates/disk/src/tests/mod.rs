//! The laws of `Disk` on real files, group commit, poison, a full disk.

mod full;
mod laws;
mod logs;
mod poison;

use std::sync::Arc;
use std::sync::mpsc::channel;

use log_store::{Completed, Completion, Disk, LogId, OpenMode, Ticket};
use tempfile::TempDir;

use crate::{DirectoryHandle, File, FileDisk};

const fn ticket(sequence: u64) -> Ticket {
    Ticket { log: LogId(7), sequence }
}

/// A handle whose waker does nothing: the test waits or polls.
fn disk_of(handle: &DirectoryHandle) -> FileDisk {
    handle.disk(Arc::new(|| {}))
}

fn open() -> (TempDir, DirectoryHandle, FileDisk) {
    let temp = tempfile::tempdir().unwrap();
    let handle = DirectoryHandle::open(temp.path()).unwrap();
    let disk = disk_of(&handle);
    (temp, handle, disk)
}

fn file_with(disk: &mut FileDisk, path: &str, bytes: &[u8]) -> File {
    let file = disk.open(path, OpenMode::Create).unwrap();
    disk.write_at(&file, 0, &[bytes]).unwrap();
    file
}

fn sync(disk: &mut FileDisk, files: &[File], dirs: &[&str]) -> Completion {
    disk.submit_sync(ticket(1), files, dirs);
    disk.wait().unwrap()
}

fn assert_send<T: Send>(_: &T) {}

#[test]
fn a_disk_moves_to_its_shards_thread_and_a_file_is_read_from_any() {
    fn assert_shared<T: Send + Sync>(_: &T) {}
    let (_temp, handle, mut disk) = open();
    let file = file_with(&mut disk, "a", b"bytes");
    assert_send(&disk);
    assert_shared(&file);
    assert_shared(&handle);
}

#[test]
fn syncs_that_come_while_one_is_running_share_the_next_one() {
    let (_temp, handle, mut disk) = open();
    let file = file_with(&mut disk, "a", b"bytes");
    // The waker is called by the sync thread: this one holds it after its first commit.
    let (entered, has_entered) = channel();
    let (release, released) = channel::<()>();
    let gate = std::sync::Mutex::new(released);
    let mut first = handle.disk(Arc::new(move || {
        entered.send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
    }));
    first.submit_sync(ticket(0), std::slice::from_ref(&file), &[]);
    has_entered.recv().unwrap();
    let mut shards: Vec<_> = (0..4).map(|_| disk_of(&handle)).collect();
    for sequence in 0..100 {
        for shard in &mut shards {
            shard.submit_sync(ticket(sequence), std::slice::from_ref(&file), &[""]);
        }
    }
    drop(release);
    for shard in &mut shards {
        for sequence in 0..100 {
            let completion = shard.wait().unwrap();
            assert_eq!(completion, Completion { ticket: ticket(sequence), result: Ok(Completed::Synced) });
        }
        assert_eq!(shard.wait(), None);
    }
    let counters = handle.counters();
    assert_eq!((counters.syncs_submitted, counters.commits), (401, 2));
    assert_eq!((counters.files_synced, counters.directories_synced), (2, 1));
    assert!(counters.sync_latency.min <= counters.sync_latency.max);
}

#[test]
fn each_disk_gets_its_own_completions_and_its_waker_is_called() {
    let (_temp, handle, _) = open();
    let (woken, wakes) = channel();
    let mut one = handle.disk(Arc::new(move || {
        let _ = woken.send(());
    }));
    let mut other = disk_of(&handle);
    let file = file_with(&mut one, "a", b"0123456789");
    one.submit_read(ticket(1), &file, 2, 3);
    wakes.recv().unwrap();
    assert_eq!(one.poll().unwrap().result, Ok(Completed::Read(b"234"[..].into())));
    assert_eq!((one.poll(), other.poll()), (None, None));
    other.submit_sync(ticket(2), &[file], &[]);
    assert_eq!(other.wait().unwrap().ticket, ticket(2));
    assert_eq!(one.poll(), None);
}

#[test]
fn what_was_submitted_is_answered_although_the_handle_is_gone() {
    let (_temp, handle, mut disk) = open();
    let file = file_with(&mut disk, "a", b"0123456789");
    drop(handle);
    disk.submit_sync(ticket(1), &[file], &[""]);
    assert_eq!(disk.wait().unwrap().result, Ok(Completed::Synced));
}
