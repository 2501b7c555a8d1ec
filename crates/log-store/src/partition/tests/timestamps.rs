//! The greatest timestamp of a full segment: retention and searches by time know it without reading an index.

use log_core::index::{IndexChecksums, SegmentIndexes};
use log_core::retention::RetentionPolicy;
use log_core::segment::RollPolicy;
use log_core::{Codecs, Offset, Timestamp};

use super::*;
use crate::testing::START_MS;
use crate::{Disk, OpenMode};

/// The files of the first segment, without what each is.
const FIRST: &str = "topics/00000000000000000000000000000001/0/00000000000000000000";

/// Segments of ten records of 5,000 bytes in so many batches, a second apart, after a clean stop and a start.
fn sealed_and_reopened(segments: usize, batches: usize, options: LogOptions) -> Bench<MemoryDisk> {
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for _ in 0..segments {
        bench.append_many(batches, 10 / batches, 5_000);
        bench.now.wall = Timestamp(bench.now.wall.0 + 1_000);
    }
    bench.commit();
    assert_eq!(bench.log.segment_count(), segments);
    let now = bench.now;
    let mut bench = Bench::open(bench.close(), options, true);
    bench.now.wall = now.wall;
    bench.commit();
    bench
}

/// Bytes of the file that says a segment's greatest timestamp.
const CHECKSUMS_BYTES: u64 = 40;

#[test]
fn retention_after_a_start_reads_of_no_more_than_the_first_segment_that_stays() {
    let roll = RollPolicy { segment_bytes: 60_000, ..RollPolicy::default() };
    let retention = RetentionPolicy { retention_ms: Some(100_000), ..RetentionPolicy::default() };
    let options = LogOptions { roll, retention, ..without_tail() };
    let mut bench = sealed_and_reopened(20, 1, options);
    let look = |bench: &mut Bench<MemoryDisk>| {
        let before = bench.disk.counters().bytes_read;
        let start = bench.log.retention(&mut bench.disk, bench.now);
        (start, bench.disk.counters().bytes_read - before)
    };
    assert_eq!(look(&mut bench), (None, CHECKSUMS_BYTES));
    assert_eq!(look(&mut bench), (None, 0), "it is known now");
    bench.now.wall = Timestamp(START_MS + 102_500);
    assert_eq!(look(&mut bench), (Some(Offset(30)), 3 * CHECKSUMS_BYTES));
    let by_size = RetentionPolicy { retention_ms: None, retention_bytes: Some(1), ..retention };
    bench.log.set_options(LogOptions { retention: by_size, ..options });
    assert_eq!(look(&mut bench), (Some(Offset(190)), 0));
}

#[test]
fn a_search_by_time_after_a_start_reads_no_index_of_the_segments_that_it_passes_over() {
    let roll = RollPolicy { segment_bytes: 52_000, ..RollPolicy::default() };
    let mut bench = sealed_and_reopened(20, 10, LogOptions { roll, ..without_tail() });
    let mut search = || {
        let before = bench.disk.counters().bytes_read;
        let (at, end) = (Timestamp(START_MS + 18_000), Offset(200));
        let found = bench.log.offset_for_timestamp(&mut bench.disk, at, end, Codecs::PLAIN).unwrap();
        assert_eq!(found.unwrap().offset, Offset(180));
        bench.disk.counters().bytes_read - before
    };
    let (first, again) = (search(), search());
    let indexes_of_one = CHECKSUMS_BYTES + 10 * (8 + 12);
    assert!(first <= again + 19 * CHECKSUMS_BYTES + indexes_of_one, "{first} bytes, and again {again}");
}

#[test]
fn the_greatest_timestamp_of_a_segment_that_an_older_version_closed_is_in_its_time_index() {
    let roll = RollPolicy { segment_bytes: 60_000, ..RollPolicy::default() };
    let retention = RetentionPolicy { retention_ms: Some(100_000), ..RetentionPolicy::default() };
    let mut bench = sealed_and_reopened(3, 1, LogOptions { roll, retention, ..without_tail() });
    let path = format!("{FIRST}.checksums");
    let file = bench.disk.open(&path, OpenMode::Write).unwrap();
    let mut bytes = vec![0; CHECKSUMS_BYTES as usize];
    bench.disk.read_at(&file, 0, &mut bytes).unwrap();
    let checksums = IndexChecksums::decode(Offset(0), &bytes, CRC).unwrap();
    let older = IndexChecksums { max_timestamp: None, ..checksums }.encode(Offset(0), CRC);
    bench.disk.truncate(&file, 0).unwrap();
    bench.disk.write_at(&file, 0, &[&older]).unwrap();
    assert_eq!(bench.log.retention(&mut bench.disk, bench.now), None);
    bench.now.wall = Timestamp(START_MS + 100_500);
    assert_eq!(bench.log.retention(&mut bench.disk, bench.now), Some(Offset(10)));
}

#[test]
fn indexes_from_before_the_end_of_a_segment_are_not_believed_after_a_start() {
    let roll = RollPolicy { segment_bytes: 30_000, ..RollPolicy::default() };
    let options = LogOptions { roll, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for _ in 0..6 {
        bench.append(10, 1_000);
        bench.now.wall = Timestamp(bench.now.wall.0 + 1_000);
    }
    let segments = bench.log.segment_count();
    assert!(segments > 2);
    // As if of the first segment's indexes only an earlier checkpoint had reached the medium.
    let earlier = SegmentIndexes::new(Offset(0));
    let checksums = IndexChecksums::of(&earlier.offsets, &earlier.times, CRC).encode(Offset(0), CRC);
    let files = [
        (".index", earlier.offsets.encode()),
        (".timeindex", earlier.times.encode()),
        (".checksums", checksums),
    ];
    for (suffix, bytes) in files {
        let file = bench.disk.open(&format!("{FIRST}{suffix}"), OpenMode::Write).unwrap();
        bench.disk.truncate(&file, 0).unwrap();
        bench.disk.write_at(&file, 0, &[&bytes]).unwrap();
    }
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, options, false);
    bench.settle();
    let mut bench = Bench::open(bench.close(), options, true);
    assert_eq!(bench.log.segment_count(), segments);
    let at = Timestamp(START_MS + 1_000);
    let found = bench.log.offset_for_timestamp(&mut bench.disk, at, Offset(60), Codecs::PLAIN);
    assert_eq!(found.unwrap().unwrap().offset, Offset(10));
}

/// The offset that carries the greatest timestamp, and what a search for `at` finds.
fn times(bench: &mut Bench<MemoryDisk>, at: i64) -> (Option<i64>, Option<i64>) {
    let end = bench.log.offsets().log_end();
    let greatest = bench.log.max_timestamp(&mut bench.disk, end, Codecs::PLAIN).unwrap();
    let at = Timestamp(START_MS + at);
    let found = bench.log.offset_for_timestamp(&mut bench.disk, at, end, Codecs::PLAIN).unwrap();
    (greatest.map(|found| found.offset.0), found.map(|found| found.offset.0))
}

#[test]
fn after_a_cut_the_greatest_timestamp_is_that_of_what_is_left_and_of_what_follows() {
    let append_at = |bench: &mut Bench<MemoryDisk>, at: i64| {
        bench.now.wall = Timestamp(START_MS + at);
        bench.append(1, 1_000);
    };
    let roll = RollPolicy { segment_bytes: 4_500, ..RollPolicy::default() };
    let options = LogOptions { roll, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    // Fewer bytes than lie between two entries of an index: what the cut leaves is in none.
    for at in [10, 20, 30] {
        append_at(&mut bench, at);
    }
    bench.settle();
    bench.log.begin_cut(&mut bench.disk, Offset(2)).unwrap();
    bench.run();
    assert_eq!(times(&mut bench, 15), (Some(1), Some(1)));
    append_at(&mut bench, 15);
    assert_eq!(times(&mut bench, 15), (Some(1), Some(1)), "the timestamp of the one before is greater");
    append_at(&mut bench, 40);
    assert_eq!(times(&mut bench, 30), (Some(3), Some(3)));
    bench.settle();
    bench.log.begin_cut(&mut bench.disk, Offset(3)).unwrap();
    bench.run();
    // What is written about the segment when it is full has to know it too.
    for at in [12, 14] {
        append_at(&mut bench, at);
    }
    bench.commit();
    assert_eq!(bench.log.segment_count(), 2);
    let mut bench = Bench::open(bench.close(), options, true);
    assert_eq!(times(&mut bench, 16), (Some(1), Some(1)), "after a stop");
    bench.commit();
    bench.settle();
    bench.disk.power_cut(1);
    let mut bench = Bench::open(bench.disk, options, false);
    bench.settle();
    assert_eq!(times(&mut bench, 16), (Some(1), Some(1)), "after a power cut");
}
