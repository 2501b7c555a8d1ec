//! A disk that runs full in the midst of a write. Needs the right to mount a small memory file system; without
//! it these tests say so and show nothing.

use std::path::Path;
use std::process::Command;

use log_store::{DiskError, DiskFault, DiskOperation};

use super::*;

/// Small enough to fill at once, large enough for a few files.
const BYTES: usize = 256 << 10;

struct Mounted {
    temp: TempDir,
}

impl Mounted {
    fn new() -> Option<Self> {
        let temp = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={BYTES}"), "highwater-test"])
            .arg(temp.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("skipped: this user may not mount a file system");
        }
        mounted.then(|| Self { temp })
    }

    fn path(&self) -> &Path {
        self.temp.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: the sync thread may hold the directory a moment longer.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn on_small_disk(test: impl FnOnce(&DirectoryHandle, &mut FileDisk)) {
    let Some(mounted) = Mounted::new() else { return };
    let handle = DirectoryHandle::open(mounted.path()).unwrap();
    let mut disk = disk_of(&handle);
    test(&handle, &mut disk);
}

fn full(operation: DiskOperation) -> DiskError {
    DiskError::new(operation, DiskFault::Full)
}

#[test]
fn a_write_cut_short_by_a_full_disk_is_undone_and_poisons_nothing() {
    on_small_disk(|handle, disk| {
        let file = file_with(disk, "a", &[1; 5000]);
        let big = vec![2; BYTES];
        assert_eq!(disk.write_at(&file, 5000, &[&big, &big]), Err(full(DiskOperation::Write)));
        assert_eq!((disk.file_len(&file), handle.poisoned()), (Ok(5000), None));
        let mut into = [0; 6000];
        assert_eq!((disk.read_at(&file, 0, &mut into), into[4999]), (Ok(5000), 1));
        // The space is there again, and so is the way to use it.
        disk.write_at(&file, 5000, &[&[3; 5000]]).unwrap();
        assert_eq!(sync(disk, &[file], &[""]).result, Ok(Completed::Synced));
    });
}

#[test]
fn a_write_cut_short_inside_a_file_poisons_since_it_cannot_be_undone() {
    on_small_disk(|handle, disk| {
        let file = file_with(disk, "a", &[1; 5000]);
        let error = disk.write_at(&file, 100, &[&vec![2; BYTES]]).unwrap_err();
        assert_eq!(error, DiskError::new(DiskOperation::Write, DiskFault::Poisoned));
        assert_eq!(handle.poisoned(), Some(full(DiskOperation::Write)));
    });
}

#[test]
fn space_that_cannot_be_reserved_leaves_the_file_as_it_was() {
    on_small_disk(|handle, disk| {
        let file = file_with(disk, "a", &[1; 5000]);
        let error = disk.preallocate(&file, 5000, 4 * BYTES as u64);
        assert_eq!(error, Err(full(DiskOperation::Preallocate)));
        assert_eq!((disk.file_len(&file), handle.poisoned()), (Ok(5000), None));
        let free = disk.free_bytes().unwrap();
        assert!(free > 0 && free < BYTES as u64);
        disk.preallocate(&file, 5000, free - 8192).unwrap();
        assert!(disk.free_bytes().unwrap() <= 8192);
        disk.remove_file("a").unwrap();
        drop(file);
        assert!(disk.free_bytes().unwrap() > free);
    });
}

#[test]
fn a_memory_file_system_reads_around_and_probes_its_cache() {
    on_small_disk(|handle, disk| {
        let file = file_with(disk, "a", &[7; 9000]);
        let mut into = [0; 5000];
        assert_eq!((disk.read_around_cache(&file, 4001, &mut into), into[4998]), (Ok(4999), 7));
        assert_eq!(disk.read_if_cached(&file, 8999, &mut into), Ok(Some(1)));
        assert_eq!(handle.counters().bytes_read_around_cache, 4999);
    });
}

#[test]
fn a_lock_is_got_on_a_full_disk_that_was_locked_before() {
    let Some(mounted) = Mounted::new() else { return };
    drop(crate::DirectoryLock::acquire(mounted.path(), "first").unwrap());
    let handle = DirectoryHandle::open(mounted.path()).unwrap();
    let mut disk = disk_of(&handle);
    let file = disk.open("a", OpenMode::Create).unwrap();
    let free = disk.free_bytes().unwrap();
    disk.preallocate(&file, 0, free).unwrap();
    assert_eq!(disk.free_bytes(), Ok(0));
    let _lock = crate::DirectoryLock::acquire(mounted.path(), "second").unwrap();
    let holder = crate::DirectoryLock::holder(mounted.path()).unwrap().unwrap();
    assert_eq!(holder.what, "second");
}
