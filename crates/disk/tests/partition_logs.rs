//! A partition's log on real files keeps the promises that it keeps on the simulated medium.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use highwater_disk::{DirectoryHandle, FileDisk};
use log_core::batch::Batches;
use log_core::retention::RetentionPolicy;
use log_core::segment::RollPolicy;
use log_core::{Crc32c, LeaderEpoch, Offset};
use log_store::testing::{Bench, DIR};
use log_store::{LogOptions, ReadError, Slice, StartVerdict};
use tempfile::TempDir;

const CRC: Crc32c = crc32c::crc32c_append;

fn options() -> LogOptions {
    LogOptions { reserve_bytes: 0, tail_bytes_max: 0, ..LogOptions::new(CRC) }
}

fn small_segments() -> LogOptions {
    LogOptions { roll: RollPolicy { segment_bytes: 50_000, ..RollPolicy::default() }, ..options() }
}

/// A directory; each call of `disk` is a new process as far as the log can tell.
struct Home {
    temp: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().expect("a directory is made") }
    }

    fn disk(&self) -> FileDisk {
        let handle = DirectoryHandle::open(self.temp.path()).expect("a directory is opened");
        handle.disk(Arc::new(|| {}))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(DIR).join(name)
    }

    fn create(&self, options: LogOptions) -> Bench<FileDisk> {
        let mut bench = Bench::create(self.disk(), options);
        bench.settle();
        bench
    }

    fn open(&self, options: LogOptions, clean: bool) -> Bench<FileDisk> {
        Bench::open(self.disk(), options, clean)
    }

    fn flip(&self, name: &str, position: u64) {
        let file = OpenOptions::new().read(true).write(true).open(self.path(name));
        let file = file.expect("the file is there");
        let mut byte = [0];
        file.read_exact_at(&mut byte, position).expect("the position lies in the file");
        file.write_all_at(&[byte[0] ^ 4], position).expect("the file is written");
    }
}

fn verdict(bench: &Bench<FileDisk>) -> StartVerdict {
    bench.recovered.expect("the log was opened").verdict
}

/// Events hold files, which know no equality: their text does.
fn happened(bench: &Bench<FileDisk>, wanted: &str) -> bool {
    bench.events.iter().any(|event| format!("{event:?}") == wanted)
}

#[test]
fn what_is_appended_is_durable_read_back_and_found_after_a_clean_stop() {
    let home = Home::new();
    let mut bench = home.create(small_segments());
    bench.append_many(100, 10, 500);
    bench.commit();
    assert!(bench.log.segment_count() > 5);
    let before = bench.read_all(Offset(0)).unwrap();
    assert_eq!(Batches::new(&before).count(), 100);
    drop(bench.close());
    let mut bench = home.open(small_segments(), true);
    assert_eq!(verdict(&bench), StartVerdict::Clean);
    let read = bench.recovered.unwrap().read;
    assert_eq!(read.record_bytes, 0);
    assert!(read.bookkeeping_bytes < 20_000);
    assert_eq!(bench.log.offsets().high_watermark(), Offset(1000));
    assert!(bench.read_all(Offset(0)).unwrap() == before);
    let again = bench.read_slices(Offset(0), 20_000).unwrap();
    assert!(matches!(again.slices[..], [Slice::File(_)]), "checked by the first read");
}

#[test]
fn a_process_that_was_killed_loses_nothing_that_it_appended() {
    let home = Home::new();
    let mut bench = home.create(options());
    bench.append_many(20, 10, 1000);
    bench.settle();
    bench.append_many(20, 10, 1000);
    let before = bench.read_all(Offset(0)).unwrap();
    drop(bench);
    let mut bench = home.open(options(), false);
    assert_eq!(verdict(&bench), StartVerdict::Verified);
    bench.settle();
    assert!(happened(&bench, "Recovered { end: Offset(400) }"));
    assert!(bench.read_all(Offset(0)).unwrap() == before);
    assert_eq!(bench.append(1, 10).base_offset, Offset(400));
}

#[test]
fn a_cut_is_durable_and_appended_to() {
    let home = Home::new();
    let mut bench = home.create(small_segments());
    bench.append_many(50, 10, 500);
    bench.settle();
    bench.log.begin_cut(&mut bench.disk, Offset(125)).unwrap();
    bench.run_until(|bench| happened(bench, "CutFinished { at: Offset(120) }"));
    bench.append_in(2, 10, 100);
    bench.settle();
    let before = bench.read_all(Offset(0)).unwrap();
    drop(bench);
    let mut bench = home.open(small_segments(), false);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(130));
    assert_eq!(bench.log.last_epoch(), LeaderEpoch(2));
    assert!(bench.read_all(Offset(0)).unwrap() == before);
}

#[test]
fn a_flipped_byte_in_a_sealed_segment_is_never_served_and_the_log_begins_anew() {
    let home = Home::new();
    let mut bench = home.create(small_segments());
    bench.append_many(50, 10, 500);
    bench.commit();
    drop(bench.close());
    home.flip("00000000000000000000.log", 30_000);
    let mut bench = home.open(small_segments(), true);
    assert_eq!(verdict(&bench), StartVerdict::Clean, "below the bound nothing is read at a start");
    assert_eq!(bench.read_all(Offset(0)), Err(ReadError::Faulty));
    assert!(bench.log.fault().is_some());
    bench.log.begin_drop_all(&mut bench.disk, Offset(500)).unwrap();
    bench.run_until(|bench| happened(bench, "Dropped { start_at: Offset(500) }"));
    assert_eq!(bench.append(1, 10).base_offset, Offset(500));
    assert!(!home.path("00000000000000000000.log").exists());
}

#[test]
fn a_rotten_last_batch_makes_the_replica_suspect_until_the_mark_is_cleared() {
    let home = Home::new();
    let mut bench = home.create(options());
    bench.append_many(3, 10, 1000);
    bench.settle();
    let last = bench.log.size_bytes() - 50;
    drop(bench);
    home.flip("00000000000000000000.log", last);
    for _ in 0..2 {
        let mut bench = home.open(options(), false);
        assert_eq!(verdict(&bench), StartVerdict::Suspect { at: Offset(20) });
        bench.settle();
    }
    assert!(home.path("quarantine").read_dir().unwrap().count() > 0);
    let mut bench = home.open(options(), false);
    bench.settle();
    bench.log.clear_suspicion(&mut bench.disk);
    bench.run_until(|bench| happened(bench, "SuspicionCleared"));
    drop(bench);
    assert_eq!(verdict(&home.open(options(), false)), StartVerdict::Verified);
}

#[test]
fn retention_unlinks_and_a_range_in_flight_stays_readable() {
    let home = Home::new();
    let retention = RetentionPolicy { retention_bytes: Some(100_000), ..RetentionPolicy::default() };
    let options = LogOptions { retention, ..small_segments() };
    let mut bench = home.create(options);
    bench.append_many(100, 10, 500);
    bench.commit();
    let held = bench.read_slices(Offset(0), 20_000).unwrap();
    let before = bench.bytes_of(&held).unwrap();
    let start = bench.log.retention(&mut bench.disk, bench.now).unwrap();
    let now = bench.now;
    bench.log.advance_log_start(&mut bench.disk, now, start);
    let first = home.path("00000000000000000000.log");
    bench.run_until(|_| !first.exists());
    assert!(bench.bytes_of(&held).unwrap() == before);
    drop(bench);
    let bench = home.open(options, false);
    assert_eq!(bench.log.offsets().log_start(), start);
}
