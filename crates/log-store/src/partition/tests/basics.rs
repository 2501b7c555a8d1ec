//! Append, read, sync, close and open.

use core::time::Duration;

use log_core::Offset;
use log_core::batch::Batches;
use log_core::segment::RollPolicy;

use super::*;
use crate::partition::types::{LogEvent, Slice, StartVerdict};
use crate::{AppendError, ReadError};

#[test]
fn what_is_appended_is_read_back_with_offsets_and_epoch() {
    let mut bench = bench();
    let first = bench.append_in(3, 10, 20);
    let second = bench.append_in(3, 5, 20);
    assert_eq!((first.base_offset, first.end_offset), (Offset(0), Offset(10)));
    assert_eq!((second.base_offset, second.end_offset), (Offset(10), Offset(15)));
    bench.commit();
    let bytes = bench.read_all(Offset(0)).unwrap();
    let headers: Vec<_> = Batches::new(&bytes).map(|(header, _)| header).collect();
    assert_eq!(headers.iter().map(|header| header.base_offset.0).collect::<Vec<_>>(), [0, 10]);
    assert!(headers.iter().all(|header| header.leader_epoch.0 == 3));
}

#[test]
fn the_durable_end_follows_the_sync_and_not_the_append() {
    let mut bench = bench();
    bench.disk.hold(true);
    bench.append(1, 10);
    bench.log.sync(&mut bench.disk);
    bench.append(1, 10);
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(0));
    bench.disk.release_one();
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(1));
    assert_eq!(bench.disk.held(), 1, "what was appended meanwhile is synced at once");
    bench.disk.hold(false);
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(2));
}

#[test]
fn what_nobody_waits_for_is_synced_after_a_while() {
    let mut bench = bench();
    bench.append(1, 10);
    bench.log.sync_lazily(&mut bench.disk);
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(0));
    let due = bench.now.mono.after(Duration::from_millis(50));
    assert_eq!(bench.log.poll_timeout(), Some(due));
    bench.now.mono = bench.now.mono.after(Duration::from_millis(20));
    bench.append(1, 10);
    bench.log.sync_lazily(&mut bench.disk);
    assert_eq!(bench.log.poll_timeout(), Some(due), "what came first is not put off by what comes later");
    bench.now.mono = due;
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(2));
}

#[test]
fn what_nobody_waits_for_is_synced_once_it_is_much() {
    let mut bench = bench();
    for _ in 0..8 {
        bench.log.sync_lazily(&mut bench.disk);
        bench.run();
        assert_eq!(bench.log.offsets().durable_end(), Offset(0));
        bench.append(1, 1 << 20);
    }
    bench.log.sync_lazily(&mut bench.disk);
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(8));
}

#[test]
fn a_sync_waits_for_nothing_once_somebody_waits_for_it() {
    let mut bench = bench();
    bench.disk.hold(true);
    bench.append(1, 10);
    bench.log.sync_lazily(&mut bench.disk);
    assert_eq!(bench.disk.held(), 0);
    bench.log.sync(&mut bench.disk);
    assert_eq!(bench.disk.held(), 1);
    bench.append(1, 10);
    bench.log.sync_lazily(&mut bench.disk);
    bench.disk.release_one();
    bench.run();
    assert_eq!(
        (bench.log.offsets().durable_end(), bench.disk.held()),
        (Offset(1), 0),
        "nobody waits any more"
    );
}

#[test]
fn a_sync_takes_all_that_changed_and_nobody_looks_at_older_segments() {
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let small_segments = LogOptions { roll, ..options() };
    for seed in 0..5 {
        let mut bench = Bench::create(MemoryDisk::new(), small_segments);
        for batches in [1, 7, 20] {
            bench.append_many(batches, 10, 450);
            bench.settle();
            assert!(!bench.log.is_dirty());
        }
        // Marked by hand: a log marks only its newest ones.
        bench.log.segments[0].dirty = true;
        assert!(!bench.log.is_dirty());
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, small_segments, false);
        bench.settle();
        assert_eq!(bench.log.offsets().log_end(), Offset(280));
    }
}

#[test]
fn r3_files_are_handed_out_below_the_high_watermark_only() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append(10, 100);
    bench.append(10, 100);
    bench.settle();
    bench.log.set_high_watermark(Offset(10));
    let below = bench.read_slices(Offset(0), 1500).unwrap();
    assert!(matches!(below.slices.as_slice(), [Slice::File(_)]), "{below:?}");
    assert_eq!(below.next_offset, Offset(10));
    let above = bench.read_slices(Offset(10), 1 << 20).unwrap();
    assert!(matches!(above.slices.as_slice(), [Slice::Bytes(_)]), "{above:?}");
}

#[test]
fn r3_after_a_start_a_range_is_checked_once_before_its_file_is_handed_out() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(20, 10, 100);
    bench.commit();
    let disk = bench.close();
    let mut bench = Bench::open(disk, without_tail(), true);
    assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Clean);
    bench.log.set_high_watermark(Offset(200));
    let first = bench.read_slices(Offset(50), 4000).unwrap();
    assert!(matches!(first.slices.as_slice(), [Slice::Bytes(_)]));
    let again = bench.read_slices(Offset(50), 4000).unwrap();
    assert!(matches!(again.slices.as_slice(), [Slice::File(_)]));
    assert_eq!(first.next_offset, again.next_offset);
    assert_eq!(bench.bytes_of(&first).unwrap(), bench.bytes_of(&again).unwrap());
}

#[test]
fn a_file_is_handed_out_only_if_the_page_cache_has_all_of_the_range() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(3, 10, 20_000);
    bench.commit();
    let len = bench.log.segments[0].bytes;
    for cold in [0, 1, len / 2, len - 1] {
        bench.disk.evict_from(cold);
        let from_medium = bench.read_slices(Offset(0), len).unwrap();
        assert!(matches!(from_medium.slices.as_slice(), [Slice::Bytes(_)]), "cold from {cold}");
        let cached = bench.read_slices(Offset(0), len).unwrap();
        assert!(matches!(cached.slices.as_slice(), [Slice::File(_)]), "cold from {cold}");
        assert_eq!((from_medium.bytes, cached.bytes), (len, len));
        assert_eq!(bench.bytes_of(&from_medium).unwrap(), bench.bytes_of(&cached).unwrap());
    }
}

#[test]
fn a_closed_log_opens_with_everything_and_scans_nothing() {
    let mut bench = bench();
    bench.append_many(1000, 10, 1000);
    bench.commit();
    let before = bench.read_all(Offset(0)).unwrap();
    let disk = bench.close();
    let mut bench = Bench::open(disk, options(), true);
    let recovered = bench.recovered.unwrap();
    assert_eq!(recovered.verdict, StartVerdict::Clean);
    assert_eq!(recovered.read.record_bytes, 0, "{recovered:?}");
    assert!(recovered.read.bookkeeping_bytes < 10_000, "{recovered:?}");
    assert_eq!(bench.log.offsets().log_end(), Offset(10_000));
    assert_eq!(bench.log.offsets().high_watermark(), Offset(10_000));
    assert!(bench.read_all(Offset(0)).unwrap() == before);
    let next = bench.append(1, 10);
    assert_eq!(next.base_offset, Offset(10_000));
}

#[test]
fn a_killed_process_loses_nothing_that_was_appended() {
    let mut bench = bench();
    bench.append_many(50, 10, 1000);
    let before = bench.read_all(Offset(0)).unwrap();
    let disk = bench.disk;
    disk.kill_process();
    let mut bench = Bench::open(disk, options(), false);
    assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Verified);
    assert!(!bench.log.is_settled());
    bench.settle();
    assert!(bench.events.contains(&LogEvent::Recovered { end: Offset(500) }));
    assert!(bench.read_all(Offset(0)).unwrap() == before);
}

#[test]
fn segments_roll_by_size_and_are_read_across() {
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let options = LogOptions { roll, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    bench.append_many(30, 10, 100);
    bench.commit();
    assert!(bench.log.segment_count() > 3);
    let before = bench.read_all(Offset(0)).unwrap();
    assert_eq!(Batches::new(&before).count(), 30);
    for offset in 0..300 {
        let found = bench.read_slices(Offset(offset), 1).unwrap();
        assert_eq!(found.next_offset, Offset(offset / 10 * 10 + 10));
    }
    let disk = bench.close();
    let mut bench = Bench::open(disk, options, true);
    assert!(bench.read_all(Offset(0)).unwrap() == before);
}

#[test]
fn offsets_outside_the_log_are_refused_and_its_end_is_empty() {
    let mut bench = bench();
    bench.append(10, 10);
    let error = bench.read_slices(Offset(11), 100).unwrap_err();
    assert!(matches!(error, ReadError::OutOfRange { .. }));
    assert_eq!(bench.read_slices(Offset(10), 100).unwrap().bytes, 0);
}

#[test]
fn an_older_leader_epoch_appends_nothing() {
    let mut bench = bench();
    bench.append_in(5, 1, 10);
    let batch = bench.batch(1, 10);
    let error = bench.log.append(&mut bench.disk, bench.now, log_core::LeaderEpoch(4), &[batch]);
    assert!(matches!(error, Err(AppendError::OldEpoch { .. })));
    assert_eq!(bench.log.offsets().log_end(), Offset(1));
}

#[test]
fn record_bytes_go_to_the_disk_from_the_receive_buffer() {
    let mut bench = bench();
    let batch = bench.batch(1, 1 << 20);
    let buffer = batch.bytes.as_ptr() as usize..batch.bytes.as_ptr() as usize + batch.bytes.len();
    bench.disk.trace_writes();
    bench.log.append(&mut bench.disk, bench.now, log_core::LeaderEpoch(1), &[batch]).unwrap();
    let trace = bench.disk.take_write_trace();
    let [(_, header), (address, len)] = trace[0][..] else { panic!("{trace:?}") };
    assert_eq!(header, 61);
    assert!(buffer.contains(&address) && address + len == buffer.end);
}
