//! Disk full, preallocation (D6), retention, rolls, timestamps, producers, followers, the chain.

use bytes::Bytes;
use core::time::Duration;
use log_core::retention::RetentionPolicy;
use log_core::segment::RollPolicy;
use log_core::{Codecs, LeaderEpoch, Link, Offset, Timestamp};

use super::*;
use crate::partition::types::{LogEvent, Replicated, StartVerdict};
use crate::testing::{DIR, START_MS, checked, client_batch, producer};
use crate::{AppendError, Disk, LogError, LogId, OpenMode, PartitionLog, ReadError};

fn pass(bench: &mut Bench<MemoryDisk>, time: Duration) {
    bench.now.mono = bench.now.mono.after(time);
    bench.now.wall = Timestamp(bench.now.wall.0 + time.as_millis() as i64);
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
}

fn file_len(bench: &mut Bench<MemoryDisk>, name: &str) -> u64 {
    let file = bench.disk.open(&format!("{DIR}/{name}"), OpenMode::Read).unwrap();
    bench.disk.file_len(&file).unwrap()
}

#[test]
fn d6_space_is_preallocated_in_doubling_steps_and_an_empty_log_has_no_segment() {
    let mut bench = bench();
    assert_eq!(bench.log.segment_count(), 0);
    let mut lens = Vec::new();
    for _ in 0..60 {
        bench.append(1, 1 << 20);
        lens.push(file_len(&mut bench, "00000000000000000000.log"));
    }
    lens.dedup();
    assert!(lens.windows(2).all(|pair| pair[1] - pair[0] <= 16 << 20), "{lens:?}");
    assert!(lens.last().unwrap() - bench.log.size_bytes() <= 16 << 20);
    let mut small = Bench::create(MemoryDisk::new(), options());
    small.append(1, 10);
    assert_eq!(file_len(&mut small, "00000000000000000000.log"), 256 * 1024);
    let size = small.log.size_bytes();
    let mut disk = small.close();
    let file = disk.open(&format!("{DIR}/00000000000000000000.log"), OpenMode::Read).unwrap();
    assert_eq!(disk.file_len(&file), Ok(size), "a clean stop truncates to the last batch");
}

#[test]
fn a_full_segment_has_nothing_to_give_back() {
    let roll = RollPolicy { segment_bytes: 4 << 20, ..RollPolicy::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..options() });
    while bench.log.segment_count() < 3 {
        bench.append(1, 100_000);
        bench.settle();
    }
    assert!(file_len(&mut bench, "00000000000000000000.log") > 4_000_000);
    assert_eq!(bench.disk.counters().cuts, 0);
}

#[test]
fn a_checkpoint_of_the_indexes_cuts_no_file() {
    let mut bench = bench();
    // A checkpoint comes every 32 MiB.
    for _ in 0..70 {
        bench.append(1, 1 << 20);
        bench.settle();
    }
    let first = file_len(&mut bench, "00000000000000000000.index");
    assert!(first > 0 && bench.log.segment_count() == 1);
    assert_eq!(bench.disk.counters().cuts, 0);
}

#[test]
fn a_full_disk_refuses_appends_before_the_reserve_and_everything_else_goes_on() {
    let roll = RollPolicy { segment_bytes: 1 << 20, ..RollPolicy::default() };
    let options = LogOptions { reserve_bytes: 2 << 20, roll, ..without_tail() };
    let disk = MemoryDisk::new();
    disk.set_capacity(12 << 20);
    let mut bench = Bench::create(disk, options);
    let error = loop {
        match bench.try_append(1, 100_000) {
            Ok(_) => bench.settle(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, AppendError::DiskFull { reserve, .. } if reserve == 2 << 20), "{error}");
    assert!(bench.disk.free_bytes().unwrap() >= 2 << 20);
    assert_eq!(bench.log.poisoned(), None);
    let end = bench.log.offsets().log_end();
    bench.commit();
    assert_eq!(bench.read_slices(Offset(0), 1).unwrap().next_offset, Offset(1));
    // A restart while it is full.
    let mut bench = Bench::open(bench.close(), options, true);
    assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Clean);
    assert!(matches!(bench.try_append(1, 100_000), Err(AppendError::DiskFull { .. })));
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, options, false);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), end);
    assert!(matches!(bench.try_append(1, 100_000), Err(AppendError::DiskFull { .. })));
    // Space that is freed is used again.
    bench.log.set_high_watermark(end);
    bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(end.0 / 2));
    bench.run();
    assert_eq!(bench.try_append(1, 100_000).unwrap().base_offset, end);
    assert!(matches!(bench.read_slices(Offset(0), 1), Err(ReadError::OutOfRange { .. })));
}

#[test]
fn s8_a_write_that_ran_out_of_space_leaves_no_half_batch_behind_an_append() {
    let mut bench = bench();
    bench.append(10, 100);
    bench.settle();
    bench.disk.fail_next(crate::DiskOperation::Write, crate::DiskFault::Full);
    assert!(matches!(bench.try_append(10, 100), Err(AppendError::Poisoned(_))));
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, options(), false);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(10));
    bench.read_all(Offset(0)).unwrap();
}

#[test]
fn segments_roll_by_time_and_then_fall_to_retention() {
    let roll = RollPolicy { segment_ms: 60_000, ..RollPolicy::default() };
    let retention = RetentionPolicy { retention_ms: Some(300_000), ..RetentionPolicy::default() };
    let options = LogOptions { roll, retention, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for _ in 0..5 {
        bench.append(10, 100);
        bench.commit();
        pass(&mut bench, Duration::from_secs(60));
    }
    assert_eq!(bench.log.segment_count(), 5);
    assert_eq!(bench.log.retention(&mut bench.disk, bench.now), None);
    pass(&mut bench, Duration::from_secs(61));
    let start = bench.log.retention(&mut bench.disk, bench.now);
    assert_eq!(start, Some(Offset(20)));
    let now = bench.now;
    bench.log.advance_log_start(&mut bench.disk, now, Offset(20));
    assert_eq!(bench.log.offsets().log_start(), Offset(20));
    bench.run();
    assert_eq!(bench.log.segment_count(), 3);
    for seed in 0..20 {
        bench.disk.power_cut(seed);
        bench = Bench::open(bench.disk, options, false);
        bench.settle();
        assert_eq!(bench.log.offsets().log_start(), Offset(20));
        assert_eq!(bench.log.offsets().log_end(), Offset(50));
        assert_eq!(bench.log.segment_count(), 3);
    }
}

#[test]
fn retention_by_size_keeps_what_is_asked_and_never_goes_above_the_high_watermark() {
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let retention =
        RetentionPolicy { retention_ms: None, retention_bytes: Some(35_000), ..RetentionPolicy::default() };
    let options = LogOptions { roll, retention, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    bench.append_many(20, 10, 450);
    bench.settle();
    assert_eq!(bench.log.retention(&mut bench.disk, bench.now), None, "nothing is committed");
    bench.commit();
    let start = bench.log.retention(&mut bench.disk, bench.now).unwrap();
    let now = bench.now;
    bench.log.advance_log_start(&mut bench.disk, now, start);
    bench.run();
    assert!(bench.log.size_bytes() >= 35_000 && bench.log.size_bytes() < 50_000);
    assert_eq!(bench.log.retention(&mut bench.disk, bench.now), None);
}

#[test]
fn t12_the_log_start_reaches_the_disk_before_anything_is_deleted_and_stays_below_the_high_watermark() {
    let roll = RollPolicy { segment_bytes: 3_000, ..RollPolicy::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..options() });
    bench.append_many(20, 10, 100);
    bench.settle();
    bench.log.set_high_watermark(Offset(90));
    bench.disk.hold(true);
    let segments = bench.log.segment_count();
    let now = bench.now;
    bench.log.advance_log_start(&mut bench.disk, now, Offset(150));
    assert_eq!(bench.log.offsets().log_start(), Offset(90));
    assert_eq!(bench.log.segment_count(), segments);
    bench.disk.hold(false);
    bench.run();
    assert!(bench.log.segment_count() < segments);
    assert_eq!(bench.log.epochs().entries()[0].start, Offset(90));
}

#[test]
fn a_log_start_is_durable_once_its_bound_is_and_then_no_power_cut_takes_it_back() {
    for seed in 0..20 {
        let mut bench = bench();
        bench.append_many(20, 10, 100);
        bench.settle();
        bench.log.set_high_watermark(Offset(200));
        bench.disk.hold(true);
        let now = bench.now;
        bench.log.advance_log_start(&mut bench.disk, now, Offset(90));
        bench.run();
        assert_eq!(bench.log.durable_log_start(), Offset::ZERO);
        assert!(!bench.events.contains(&LogEvent::DurableLogStart(Offset(90))));
        bench.disk.hold(false);
        bench.run();
        assert_eq!(bench.log.durable_log_start(), Offset(90));
        assert!(bench.events.contains(&LogEvent::DurableLogStart(Offset(90))));
        bench.append(10, 100);
        bench.disk.power_cut(seed);
        let bench = Bench::open(bench.disk, options(), false);
        assert_eq!(bench.log.offsets().log_start(), Offset(90), "seed {seed}");
    }
}

/// A follower's high watermark, and its log start with it, may lie above its durable end, and no bound says so (D3).
#[test]
fn a_log_start_above_the_durable_end_is_written_as_soon_as_that_reaches_it() {
    let mut bench = bench();
    bench.append(10, 100);
    bench.commit();
    bench.disk.hold(true);
    bench.append(10, 100);
    bench.log.sync(&mut bench.disk);
    bench.log.set_high_watermark(Offset(20));
    let now = bench.now;
    bench.log.advance_log_start(&mut bench.disk, now, Offset(15));
    bench.disk.hold(false);
    bench.run();
    assert_eq!(bench.log.durable_log_start(), Offset(15));
}

#[test]
fn the_segment_in_which_the_bound_ends_is_not_deleted_below_the_log_start() {
    let roll = RollPolicy { segment_bytes: 2_000, ..RollPolicy::default() };
    let options = LogOptions { roll, ..options() };
    for seed in 0..10 {
        let mut bench = Bench::create(MemoryDisk::new(), options);
        bench.append(10, 100);
        bench.commit();
        // The next segment is begun and nothing in it is durable yet.
        bench.append(10, 100);
        assert_eq!(bench.log.segment_count(), 2);
        let now = bench.now;
        bench.log.advance_log_start(&mut bench.disk, now, Offset(10));
        bench.run();
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, options, false);
        assert_eq!(bench.log.fault(), None, "seed {seed}");
        bench.settle();
        assert_eq!(bench.log.offsets().log_start(), Offset(10));
    }
}

#[test]
fn an_offset_is_found_by_its_timestamp_across_segments() {
    let roll = RollPolicy { segment_bytes: 8_000, ..RollPolicy::default() };
    let options = LogOptions { roll, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for _ in 0..40 {
        bench.append(10, 100);
        bench.now.wall = Timestamp(bench.now.wall.0 + 1000);
    }
    bench.commit();
    for reopened in [false, true] {
        let end = bench.log.offsets().log_end();
        let find = |bench: &mut Bench<MemoryDisk>, ms: i64| {
            let at = Timestamp(START_MS + ms);
            let found = bench.log.offset_for_timestamp(&mut bench.disk, at, end, Codecs::PLAIN).unwrap();
            found.map(|found| (found.offset.0, found.timestamp.0 - START_MS))
        };
        assert_eq!(find(&mut bench, -5), Some((0, 0)));
        for batch in 0..40 {
            assert_eq!(find(&mut bench, batch * 1000), Some((batch * 10, batch * 1000)), "{reopened}");
            assert_eq!(find(&mut bench, batch * 1000 - 1), Some((batch * 10, batch * 1000)));
        }
        assert_eq!(find(&mut bench, 39_001), None);
        let max = bench.log.max_timestamp(&mut bench.disk, end, Codecs::PLAIN).unwrap().unwrap();
        assert_eq!((max.offset, max.timestamp.0), (Offset(390), START_MS + 39_000));
        let below = bench.log.max_timestamp(&mut bench.disk, Offset(205), Codecs::PLAIN).unwrap().unwrap();
        assert_eq!(below.offset, Offset(200));
        let none = bench.log.offset_for_timestamp(
            &mut bench.disk,
            Timestamp(START_MS + 20_000),
            Offset(200),
            Codecs::PLAIN,
        );
        assert_eq!(none, Ok(None), "nothing at or above the end that is asked for");
        bench = Bench::open(bench.close(), options, true);
    }
}

#[test]
fn p1_p2_duplicates_get_the_first_offsets_and_gaps_are_refused() {
    let mut bench = bench();
    let send = |bench: &mut Bench<MemoryDisk>, id, sequence| {
        let batch = checked(CRC, client_batch(CRC, 1, 10, 50, producer(id, 0, sequence)));
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[batch])
    };
    assert_eq!(send(&mut bench, 1, 10), Err(AppendError::OutOfOrderSequence), "P2");
    for sequence in 0..6 {
        send(&mut bench, 1, sequence * 10).unwrap();
    }
    let again = send(&mut bench, 1, 10).unwrap();
    assert_eq!((again.base_offset, again.end_offset, again.is_duplicate), (Offset(10), Offset(20), true));
    assert_eq!(send(&mut bench, 1, 0), Err(AppendError::OutOfOrderSequence), "outside the window of five");
    assert_eq!(send(&mut bench, 1, 70), Err(AppendError::OutOfOrderSequence));
    // The state survives clean and unclean stops.
    for clean in [true, false] {
        let disk = if clean {
            bench.close()
        } else {
            bench.disk.kill_process();
            bench.disk
        };
        bench = Bench::open(disk, options(), clean);
        bench.settle();
        assert!(send(&mut bench, 1, 50).unwrap().is_duplicate);
        assert_eq!(send(&mut bench, 1, 70), Err(AppendError::OutOfOrderSequence));
    }
    let named_before = LogOptions { name_used_before: true, ..options() };
    bench.log.set_options(named_before);
    assert!(send(&mut bench, 2, 70).is_ok(), "P2: the topic's name had been used before");
}

#[test]
fn producer_state_comes_back_from_snapshots_after_many_appends() {
    let mut bench = bench();
    for sequence in 0..80 {
        let batch = checked(CRC, client_batch(CRC, 1, 1, 1 << 20, producer(3, 0, sequence)));
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[batch]).unwrap();
        bench.log.sync(&mut bench.disk);
        bench.run();
    }
    let producers = bench.log.producers().latest(log_core::ProducerId(3));
    for seed in 0..3 {
        bench.disk.power_cut(seed);
        bench = Bench::open(bench.disk, options(), false);
        assert_eq!(bench.log.offsets().log_end(), Offset(80));
        assert_eq!(bench.log.producers().latest(log_core::ProducerId(3)), producers);
        bench.settle();
    }
}

fn bytes_of(bench: &mut Bench<MemoryDisk>, from: i64) -> Bytes {
    let found = bench.read_slices(Offset(from), 1 << 20).unwrap();
    Bytes::from(bench.bytes_of(&found).unwrap())
}

#[test]
fn t6_a_follower_appends_only_what_continues_its_log_and_its_stream() {
    let mut leader = bench();
    leader.append_in(1, 10, 100);
    leader.append_in(3, 10, 100);
    let first = bytes_of(&mut leader, 0);
    let second = bytes_of(&mut leader, 10);
    let mut follower = bench();
    let push = |bench: &mut Bench<MemoryDisk>, stream, bytes: &Bytes| {
        bench.log.append_replicated(&mut bench.disk, bench.now, LeaderEpoch(stream), bytes.clone())
    };
    let gap = AppendError::NotContinuous { expected: Offset(0), found: Offset(10) };
    assert_eq!(push(&mut follower, 3, &second), Err(gap));
    let above = push(&mut follower, 2, &first);
    let newer = AppendError::EpochAboveStream { batch: LeaderEpoch(3), stream: LeaderEpoch(2) };
    let first_only = Replicated { end: Offset(10), rest: Some(newer) };
    assert_eq!(above, Ok(first_only), "the batch of the stream's epoch; the newer one is left out");
    assert_eq!(push(&mut follower, 2, &second), Err(newer));
    let mut rotten = second.to_vec();
    rotten[70] ^= 1;
    let damaged = AppendError::Damaged { at: Offset(10) };
    assert_eq!(push(&mut follower, 3, &Bytes::from(rotten)), Err(damaged));
    assert_eq!(push(&mut follower, 3, &second.slice(..50)), Err(damaged));
    assert_eq!(push(&mut follower, 3, &second), Ok(Replicated { end: Offset(20), rest: None }));
    assert_eq!(follower.log.epochs(), leader.log.epochs());
    assert!(follower.read_all(Offset(0)).unwrap() == leader.read_all(Offset(0)).unwrap());
}

#[test]
fn a_push_across_a_roll_is_appended_whole() {
    let mut leader = bench();
    leader.append_many(50, 10, 100);
    let bytes = bytes_of(&mut leader, 0);
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let mut follower = Bench::create(MemoryDisk::new(), LogOptions { roll, ..without_tail() });
    let end = follower.log.append_replicated(&mut follower.disk, follower.now, LeaderEpoch(1), bytes.clone());
    assert_eq!(end, Ok(Replicated { end: Offset(500), rest: None }));
    assert!(follower.log.segment_count() > 5);
    follower.commit();
    assert!(follower.read_all(Offset(0)).unwrap() == bytes);
}

#[test]
fn a_push_of_which_only_a_part_finds_room_says_so() {
    let mut leader = bench();
    leader.append_many(50, 10, 100);
    let bytes = bytes_of(&mut leader, 0);
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let mut follower = Bench::create(MemoryDisk::new(), LogOptions { roll, ..without_tail() });
    let used = u64::MAX - follower.disk.free_bytes().unwrap();
    follower.disk.set_capacity(used + follower.log.options().reserve_bytes / 2 + 30_000);
    let mut push = |bytes: Bytes| {
        follower.log.append_replicated(&mut follower.disk, follower.now, LeaderEpoch(1), bytes)
    };
    let part = push(bytes.clone()).unwrap();
    assert!(part.end > Offset(0) && part.end < Offset(500), "{part:?}");
    assert!(matches!(part.rest, Some(AppendError::DiskFull { .. })), "{part:?}");
    follower.disk.set_capacity(u64::MAX);
    let rest = bytes_of(&mut leader, part.end.0);
    let end = follower.log.append_replicated(&mut follower.disk, follower.now, LeaderEpoch(1), rest);
    assert_eq!(end, Ok(Replicated { end: Offset(500), rest: None }));
    follower.commit();
    assert!(follower.read_all(Offset(0)).unwrap() == bytes);
}

#[test]
fn two_replicas_have_equal_links_whatever_their_segments_and_steps() {
    let mut leader = bench();
    leader.append_many(40, 10, 1000);
    leader.commit();
    let bytes = leader.read_all(Offset(0)).unwrap();
    let mut expected = Link::START;
    for (_, batch) in log_core::batch::Batches::new(&bytes) {
        expected = expected.after(batch);
    }
    while leader.log.chain_step(&mut leader.disk, 1 << 20) > 0 {}
    let end = leader.log.chain_end().unwrap();
    assert_eq!((end.end, end.link), (Offset(400), expected));
    let roll = RollPolicy { segment_bytes: 50_000, ..RollPolicy::default() };
    let options = LogOptions { roll, ..without_tail() };
    let mut follower = Bench::create(MemoryDisk::new(), options);
    let push = Bytes::from(bytes);
    follower.log.append_replicated(&mut follower.disk, follower.now, LeaderEpoch(1), push).unwrap();
    follower.settle();
    assert_eq!(follower.log.chain_step(&mut follower.disk, 20_000), 0, "nothing is committed");
    for reopened in [false, true] {
        follower.log.set_high_watermark(if reopened { Offset(400) } else { Offset(250) });
        for _ in 0..200 {
            follower.log.chain_step(&mut follower.disk, 20_000);
        }
        let reached = follower.log.chain_end().unwrap();
        assert!(reached.end <= follower.log.offsets().high_watermark());
        follower = Bench::open(follower.close(), options, true);
    }
    follower.log.set_high_watermark(Offset(400));
    for _ in 0..200 {
        follower.log.chain_step(&mut follower.disk, 20_000);
    }
    let link = follower.log.link_at_or_before(&mut follower.disk, Offset(400)).unwrap();
    let same = leader.log.link_at_or_before(&mut leader.disk, link.end);
    assert!(link.end >= Offset(350), "{link:?}");
    if same.is_some_and(|same| same.end == link.end) {
        assert_eq!(same, Some(link));
    }
}

#[test]
fn the_chain_finds_damage() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(40, 10, 1000);
    bench.commit();
    bench.disk.rot(&format!("{DIR}/00000000000000000000.log"), 5000, 1);
    bench.log.chain_step(&mut bench.disk, 1 << 20);
    bench.gather();
    assert!(bench.events.iter().any(|event| matches!(event, LogEvent::Faulty(_))));
}

#[test]
fn the_chain_finds_a_length_that_reaches_beyond_the_segment() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(40, 10, 1000);
    bench.commit();
    // The second byte of the first batch's length.
    bench.disk.rot(&format!("{DIR}/00000000000000000000.log"), 9, 0x20);
    bench.log.chain_step(&mut bench.disk, 1 << 20);
    bench.gather();
    assert!(bench.events.iter().any(|event| matches!(event, LogEvent::Faulty(_))));
}

#[test]
fn a_header_that_rotted_hides_nothing_from_readers_for_ever() {
    // The last offset delta of the first batch, below and above what the log holds.
    for (position, mask) in [(26, 0x40), (26, 0x10), (25, 0x10)] {
        for start in [0, 5, 150] {
            let mut bench = Bench::create(MemoryDisk::new(), without_tail());
            bench.append_many(40, 10, 100);
            bench.commit();
            bench.disk.rot(&format!("{DIR}/00000000000000000000.log"), position, mask);
            bench.log.set_high_watermark(Offset(400));
            let found = bench.read_slices(Offset(start), 1 << 20);
            let told = matches!(found, Err(ReadError::Faulty)) && bench.log.fault().is_some();
            let served = found.is_ok_and(|found| found.bytes > 0);
            assert!(told || served, "byte {position} by {mask}: nothing at {start}, and nobody is told");
        }
    }
}

#[test]
fn the_chain_waits_for_space_and_a_medium_that_does_not_read_is_damage_of_the_log_alone() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(40, 10, 1000);
    bench.commit();
    bench.disk.fail_next(crate::DiskOperation::Open, crate::DiskFault::NoDescriptor);
    bench.log.chain_step(&mut bench.disk, 50_000);
    assert_eq!((bench.log.poisoned(), bench.log.fault()), (None, None));
    bench.disk.cancel_failures();
    for _ in 0..3 {
        bench.disk.fail_next(crate::DiskOperation::Write, crate::DiskFault::Full);
        assert_eq!(bench.log.chain_step(&mut bench.disk, 50_000), 0);
        assert_eq!((bench.log.poisoned(), bench.log.fault()), (None, None));
    }
    assert!(bench.log.chain_step(&mut bench.disk, 50_000) > 0);
    bench.disk.fail_next(crate::DiskOperation::Read, crate::DiskFault::Medium);
    assert_eq!(bench.log.chain_step(&mut bench.disk, 50_000), 0);
    assert_eq!(bench.log.poisoned(), None);
    assert!(bench.log.fault().is_some() && bench.log.has_events());
}

#[test]
fn a_thousand_logs_open_quickly_after_a_clean_stop() {
    let mut disk = MemoryDisk::new();
    let mut bench = Bench::create(disk.another_handle(), options());
    bench.append_many(100, 10, 1000);
    bench.commit();
    bench.close();
    let before = disk.counters().bytes_read;
    let facts = crate::OpenFacts { clean: true, newest_epoch: LeaderEpoch(1) };
    for _ in 0..1000 {
        let now = log_core::Now::default();
        let opened = PartitionLog::open(&mut disk, LogId(1), DIR, options(), facts, now);
        assert_eq!(opened.unwrap().1.verdict, StartVerdict::Clean);
    }
    let read = disk.counters().bytes_read - before;
    assert!(read / 1000 < 9000, "{read} bytes for a thousand logs");
}

#[test]
fn from_the_batch_that_holds_the_log_start_on_the_log_can_be_copied() {
    let mut bench = bench();
    bench.append(3, 10);
    bench.append(4, 10);
    bench.commit();
    bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(5));
    assert!(matches!(bench.read_slices(Offset(3), 1), Err(ReadError::OutOfRange { .. })), "nobody asked");
    assert_eq!(bench.log.first_batch(&mut bench.disk).unwrap(), Offset(3));
    assert_eq!(bench.read_slices(Offset(3), 1).unwrap().next_offset, Offset(7));
    assert!(matches!(bench.read_slices(Offset(2), 1), Err(ReadError::OutOfRange { .. })));
    bench.settle();
    let disk = bench.close();
    let mut bench = Bench::open(disk, options(), true);
    assert_eq!(bench.log.offsets().log_start(), Offset(5));
    assert_eq!(bench.log.first_batch(&mut bench.disk).unwrap(), Offset(3), "also after a start");
    bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(7));
    assert_eq!(bench.log.first_batch(&mut bench.disk).unwrap(), Offset(7), "nothing is left");
}

#[test]
fn a_log_is_made_only_where_the_reserve_stays_untouched() {
    let mut disk = MemoryDisk::new();
    disk.set_capacity(9_999);
    let options = LogOptions { reserve_bytes: 10_000, ..options() };
    let now = bench().now;
    let refused = PartitionLog::create(&mut disk, LogId(1), DIR, options, now).unwrap_err();
    assert!(matches!(refused, LogError::Disk(error) if error.is_full()), "{refused}");
    assert!(disk.list("topics").is_err(), "nothing was made");
    disk.set_capacity(100_000);
    PartitionLog::create(&mut disk, LogId(1), DIR, options, now).unwrap();
}
