//! A process without a free file descriptor goes on with what it has open. A file of its own: the limit is the process's.

use std::fs;
use std::sync::Arc;

use highwater_disk::{DirectoryHandle, FileDisk};
use log_core::segment::RollPolicy;
use log_core::{Crc32c, Offset};
use log_store::testing::Bench;
use log_store::{
    AppendError, Completed, Disk, DiskError, DiskFault, DiskOperation, LogId, LogOptions, OpenMode, Ticket,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const CRC: Crc32c = crc32c::crc32c_append;

/// While it lives no descriptor is free.
struct Filled {
    before: Rlimit,
    _files: Vec<fs::File>,
}

impl Filled {
    fn new() -> Self {
        let before = getrlimit(Resource::Nofile);
        let limit = Rlimit { current: Some(64), ..before };
        setrlimit(Resource::Nofile, limit).expect("the limit is lowered");
        let files: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
        assert!(!files.is_empty());
        Self { before, _files: files }
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.before).expect("the limit is raised again");
    }
}

/// One test, since the limit holds for all that run beside each other.
#[test]
fn without_a_descriptor_appends_are_refused_and_syncs_go_on() {
    let temp = tempfile::tempdir().expect("a directory is made");
    let handle = DirectoryHandle::open(temp.path()).expect("a directory is opened");
    a_directory_is_synced_with_its_file_system(&handle, handle.disk(Arc::new(|| {})));
    a_roll_waits(handle.disk(Arc::new(|| {})));
    assert_eq!(handle.poisoned(), None);
}

fn a_directory_is_synced_with_its_file_system(handle: &DirectoryHandle, mut disk: FileDisk) {
    disk.create_dir("dir").expect("a directory is made");
    let file = disk.open("dir/file", OpenMode::Create).expect("a file is made");
    disk.write_at(&file, 0, &[b"bytes"]).expect("the file is written");
    let filled = Filled::new();
    let refused = disk.open("dir/file", OpenMode::Read).expect_err("none is free");
    assert_eq!(refused, DiskError::new(DiskOperation::Open, DiskFault::NoDescriptor));
    let ticket = Ticket { log: LogId(1), sequence: 1 };
    disk.submit_sync(ticket, &[file], &["dir"]);
    let completion = disk.wait().expect("a sync is under way");
    assert_eq!(completion.result, Ok(Completed::Synced));
    assert_eq!(handle.counters().file_system_syncs, 1);
    drop(filled);
}

fn a_roll_waits(disk: FileDisk) {
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let options = LogOptions { reserve_bytes: 0, roll, ..LogOptions::new(CRC) };
    let mut bench = Bench::create(disk, options);
    bench.settle();
    bench.append_many(2, 10, 450);
    let filled = Filled::new();
    let refused = bench.try_append(10, 450);
    assert!(matches!(refused, Err(AppendError::Disk(error)) if error.lacks_descriptor()), "{refused:?}");
    bench.settle();
    assert_eq!(bench.log.offsets().durable_end(), Offset(20));
    drop(filled);
    bench.append(10, 450);
    bench.settle();
    assert_eq!((bench.log.offsets().durable_end(), bench.log.segment_count()), (Offset(30), 2));
}
