//! D5: after a failed sync nothing of the directory is written or synced again, through whichever handle.
//!
//! `/dev/full` makes real failures: it refuses each write for lack of space, and it cannot be synced.

use std::os::unix::fs::symlink;

use log_store::{DiskError, DiskFault, DiskOperation};

use super::*;

fn with_unsyncable_file() -> (TempDir, DirectoryHandle, FileDisk, File) {
    let (temp, handle, mut disk) = open();
    symlink("/dev/full", temp.path().join("full")).unwrap();
    let file = disk.open("full", OpenMode::Write).unwrap();
    (temp, handle, disk, file)
}

#[test]
fn a_failed_sync_poisons_every_handle() {
    let (_temp, handle, mut disk, unsyncable) = with_unsyncable_file();
    let mut other = disk_of(&handle);
    let file = file_with(&mut other, "a", b"before");
    assert_eq!(handle.poisoned(), None);
    let error = sync(&mut disk, &[unsyncable], &[]).result.unwrap_err();
    assert_eq!(error.operation, DiskOperation::Sync);
    assert_eq!(handle.poisoned(), Some(error));

    let counters = handle.counters();
    let poisoned = |operation| DiskError::new(operation, DiskFault::Poisoned);
    for disk in [&mut other, &mut disk_of(&handle)] {
        assert_eq!(disk.write_at(&file, 0, &[b"after"]), Err(poisoned(DiskOperation::Write)));
        assert_eq!(disk.truncate(&file, 1), Err(poisoned(DiskOperation::Truncate)));
        assert_eq!(disk.preallocate(&file, 0, 99), Err(poisoned(DiskOperation::Preallocate)));
        assert_eq!(disk.create_dir("d"), Err(poisoned(DiskOperation::CreateDir)));
        assert_eq!(disk.rename("a", "b"), Err(poisoned(DiskOperation::Rename)));
        assert_eq!(disk.remove_file("a"), Err(poisoned(DiskOperation::Remove)));
        assert_eq!(disk.remove_dir_all("a"), Err(poisoned(DiskOperation::Remove)));
        for how in [OpenMode::Create, OpenMode::CreateNew] {
            assert_eq!(disk.open("new", how).unwrap_err(), poisoned(DiskOperation::Open));
        }
        let done = sync(disk, std::slice::from_ref(&file), &[""]);
        assert_eq!(done.result, Err(poisoned(DiskOperation::Sync)));
        // What is there is still read.
        let file = disk.open("a", OpenMode::Create).unwrap();
        let mut into = [0; 6];
        assert_eq!((disk.read_at(&file, 0, &mut into), &into), (Ok(6), b"before"));
    }
    let after = handle.counters();
    assert_eq!((after.bytes_written, after.files_synced), (counters.bytes_written, counters.files_synced));
}

#[test]
fn one_failing_file_fails_all_that_share_the_commit_and_all_later_ones() {
    let (_temp, handle, mut disk, unsyncable) = with_unsyncable_file();
    let good = file_with(&mut disk, "a", b"x");
    disk.submit_sync(ticket(1), &[good.clone(), unsyncable], &[]);
    disk.submit_sync(ticket(2), std::slice::from_ref(&good), &[]);
    assert!(disk.wait().unwrap().result.is_err());
    assert!(disk.wait().unwrap().result.is_err());
    assert_eq!(handle.counters().commits, 0);
}

#[test]
fn a_full_disk_that_took_no_byte_poisons_nothing() {
    let (_temp, handle, mut disk, full) = with_unsyncable_file();
    let error = disk.write_at(&full, 0, &[b"x"]).unwrap_err();
    assert_eq!(error, DiskError::new(DiskOperation::Write, DiskFault::Full));
    assert_eq!(handle.poisoned(), None);
    let file = file_with(&mut disk, "a", b"x");
    assert_eq!(sync(&mut disk, &[file], &[""]).result, Ok(Completed::Synced));
}

#[test]
fn a_refused_write_poisons_nothing() {
    let (_temp, handle, mut disk) = open();
    file_with(&mut disk, "a", b"x");
    let read_only = disk.open("a", OpenMode::Read).unwrap();
    assert!(disk.write_at(&read_only, 0, &[b"y"]).is_err());
    assert!(disk.truncate(&read_only, 0).is_err());
    assert_eq!(handle.poisoned(), None);
}

#[test]
fn a_directory_that_cannot_be_opened_for_its_sync_counts_as_a_failed_sync() {
    let (_temp, handle, mut disk) = open();
    let done = sync(&mut disk, &[], &["../out"]);
    assert_eq!(done.result, Err(DiskError::new(DiskOperation::Sync, DiskFault::Denied)));
    assert!(handle.poisoned().is_some());
}
