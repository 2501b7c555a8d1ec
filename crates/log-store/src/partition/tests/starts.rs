//! Start: what lies above the bound after an unclean stop, and what rot below it does.

use log_core::segment::RollPolicy;
use log_core::{LeaderEpoch, LogOffsets, Offset};

use super::*;
use crate::partition::types::{Fault, LogEvent, OpenFacts, StartVerdict};
use crate::testing::{DIR, checked, client_batch, producer};
use crate::{Disk, DiskFault, DiskOperation, FailedSync, LogId, OpenMode, PartitionLog, ReadError};

const FIRST: &str = "topics/00000000000000000000000000000001/0/00000000000000000000.log";

fn synced(count: usize) -> Bench<MemoryDisk> {
    let mut bench = bench();
    bench.append_many(count, 10, 1000);
    bench.settle();
    bench
}

fn pass_five_seconds(bench: &mut Bench<MemoryDisk>) {
    bench.now.mono = bench.now.mono.after(core::time::Duration::from_secs(5));
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
}

fn restart(bench: Bench<MemoryDisk>, seed: u64) -> Bench<MemoryDisk> {
    bench.disk.power_cut(seed);
    Bench::open(bench.disk, options(), false)
}

fn verdict(bench: &Bench<MemoryDisk>) -> StartVerdict {
    bench.recovered.unwrap().verdict
}

#[test]
fn what_was_durable_survives_every_power_cut_and_nothing_is_invented() {
    for seed in 0..150 {
        let mut bench = synced(3);
        bench.append_many(3, 10, 1000);
        bench.disk.write_back(seed * 7);
        let all = bench.read_all(Offset(0)).unwrap();
        let mut bench = restart(bench, seed);
        assert_eq!(bench.log.fault(), None, "seed {seed}");
        let end = bench.log.offsets().log_end();
        assert!(end >= Offset(30) && end <= Offset(60));
        bench.settle();
        assert!(all.starts_with(&bench.read_all(Offset(0)).unwrap()), "seed {seed}");
    }
}

#[test]
fn zeros_after_the_last_batch_are_a_clean_end() {
    let bench = restart(synced(3), 0);
    assert_eq!(verdict(&bench), StartVerdict::Verified);
    assert_eq!(bench.recovered.unwrap().bytes_cut, 0);
}

/// A log whose last batch has lost its sectors from this one on (of about 20), or only this one.
fn torn(bench: &mut Bench<MemoryDisk>, from_sector: u64, only: bool) {
    let file = bench.disk.open(FIRST, OpenMode::Write).unwrap();
    let end = bench.log.size_bytes();
    let first = (end - 10_000).next_multiple_of(512) + from_sector * 512;
    let until = if only { first + 512 } else { end };
    bench.disk.write_at(&file, first, &[&vec![0; (until - first) as usize]]).unwrap();
}

#[test]
fn a_write_that_never_completed_is_a_torn_tail_and_is_cut() {
    let mut bench = synced(2);
    pass_five_seconds(&mut bench);
    bench.append(10, 1000);
    torn(&mut bench, 3, false);
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, options(), false);
    assert_eq!(verdict(&bench), StartVerdict::Verified);
    assert!(bench.recovered.unwrap().bytes_cut > 0);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(20));
    assert_eq!(bench.log.suspect(), None);
    assert_eq!(bench.append(1, 10).base_offset, Offset(20));
}

#[test]
fn s4_s5_s19_a_bad_batch_that_is_not_torn_makes_the_replica_suspect_and_is_kept_aside() {
    for rotten in [true, false] {
        let mut bench = synced(2);
        pass_five_seconds(&mut bench);
        bench.append_many(2, 10, 1000);
        bench.settle();
        if rotten {
            bench.disk.rot(FIRST, bench.log.size_bytes() - 30, 4);
        } else {
            torn(&mut bench, 3, true);
        }
        let tail = bench.log.size_bytes();
        bench.disk.kill_process();
        let mut bench = Bench::open(bench.disk, options(), false);
        assert_eq!(verdict(&bench), StartVerdict::Suspect { at: Offset(30) }, "rotten {rotten}");
        bench.settle();
        assert_eq!(bench.log.suspect(), Some(Offset(30)));
        assert_eq!(bench.log.offsets().log_end(), Offset(30));
        let kept = bench.disk.list(&format!("{DIR}/quarantine")).unwrap();
        assert_eq!(kept.len(), 1);
        assert!(kept[0].len + bench.log.size_bytes() >= tail);
    }
}

#[test]
fn s20_the_suspect_mark_holds_through_starts_until_it_is_cleared() {
    let mut bench = synced(2);
    bench.append(10, 1000);
    bench.settle();
    bench.disk.rot(FIRST, bench.log.size_bytes() - 30, 4);
    for seed in 0..40 {
        bench = restart(bench, seed);
        assert_eq!(verdict(&bench), StartVerdict::Suspect { at: Offset(20) }, "seed {seed}");
        if seed % 2 == 0 {
            bench.settle();
        }
        if seed % 4 == 0 {
            bench = Bench::open(bench.close(), options(), true);
            assert_eq!(verdict(&bench), StartVerdict::Suspect { at: Offset(20) }, "after a clean stop");
        }
    }
    bench.settle();
    bench.log.clear_suspicion(&mut bench.disk);
    bench.run();
    assert!(bench.events.contains(&LogEvent::SuspicionCleared));
    let bench = restart(bench, 99);
    assert_eq!(verdict(&bench), StartVerdict::Verified);
}

#[test]
fn damage_below_the_bound_keeps_everything_and_is_faulty() {
    let mut bench = synced(3);
    pass_five_seconds(&mut bench);
    let file = bench.disk.open(FIRST, OpenMode::Write).unwrap();
    let half = bench.log.size_bytes() / 2;
    bench.disk.truncate(&file, half).unwrap();
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, options(), false);
    assert_eq!(verdict(&bench), StartVerdict::Faulty(Fault::BelowBound { at: Offset(30) }));
    assert_eq!(bench.read_slices(Offset(0), 100), Err(ReadError::Faulty));
    assert_eq!(bench.try_append(1, 10), Err(crate::AppendError::Faulty));
    assert!(!bench.log.begin_close(&mut bench.disk));
    let file = bench.disk.open(FIRST, OpenMode::Read).unwrap();
    assert_eq!(bench.disk.file_len(&file), Ok(half), "nothing is cut");
    bench.log.begin_drop_all(&mut bench.disk, Offset(7)).unwrap();
    bench.run();
    assert_eq!(bench.log.fault(), None);
    assert_eq!(bench.append(1, 10).base_offset, Offset(7));
}

#[test]
fn committed_records_that_are_missing_are_damage_even_above_the_durable_end_of_the_bound() {
    let mut bench = synced(3);
    bench.log.set_high_watermark(Offset(30));
    pass_five_seconds(&mut bench);
    bench.disk.rot(FIRST, 10, 1);
    bench.disk.kill_process();
    let file = bench.disk.open(FIRST, OpenMode::Write).unwrap();
    bench.disk.truncate(&file, 0).unwrap();
    let bench = Bench::open(bench.disk, options(), false);
    assert!(matches!(verdict(&bench), StartVerdict::Faulty(_)));
}

#[test]
fn an_unreadable_bound_beside_segments_is_damage_and_not_zero() {
    let mut bench = synced(3);
    pass_five_seconds(&mut bench);
    for slot in [0, 4096] {
        bench.disk.rot(&format!("{DIR}/bound"), slot + 20, 1);
    }
    let bench = restart(bench, 0);
    assert_eq!(verdict(&bench), StartVerdict::Faulty(Fault::BoundUnreadable));
}

#[test]
fn one_unreadable_slot_is_survived() {
    for slot in [0, 4096] {
        let mut bench = synced(3);
        pass_five_seconds(&mut bench);
        bench.append(10, 10);
        bench.settle();
        pass_five_seconds(&mut bench);
        bench.disk.rot(&format!("{DIR}/bound"), slot + 20, 1);
        let bench = restart(bench, 0);
        assert_eq!(verdict(&bench), StartVerdict::Verified);
        assert_eq!(bench.log.offsets().log_end(), Offset(40));
    }
}

#[test]
fn s21_after_a_failed_sync_the_page_cache_is_not_believed() {
    for shows in [FailedSync::ShowsNew, FailedSync::ShowsOld] {
        let mut bench = synced(2);
        bench.append_many(2, 10, 1000);
        bench.disk.fail_next_sync(shows);
        bench.log.sync(&mut bench.disk);
        bench.run();
        assert!(bench.log.poisoned().is_some());
        // The process ends with its named code and starts again; the machine goes on.
        bench.disk.kill_process();
        let mut bench = Bench::open(bench.disk, options(), false);
        bench.settle();
        let claimed = bench.log.offsets().durable_end();
        let before = bench.read_all(Offset(0)).unwrap();
        let mut bench = restart(bench, 1);
        assert!(bench.log.offsets().log_end() >= claimed, "{shows:?}");
        bench.settle();
        assert!(bench.read_all(Offset(0)).unwrap().starts_with(&before[..before.len().min(1)]));
    }
}

#[test]
fn s21_a_file_that_a_failed_sync_should_have_cut_is_cut_again() {
    let mut bench = synced(2);
    bench.disk.fail_next_sync(FailedSync::ShowsNew);
    assert!(bench.log.begin_close(&mut bench.disk));
    bench.run();
    assert!(bench.log.poisoned().is_some());
    bench.disk.kill_process();
    // The file ends with its last batch as far as the cache knows; on the medium it is longer.
    let mut bench = Bench::open(bench.disk, options(), false);
    bench.settle();
    bench.now.wall.0 += 8 * 24 * 3600 * 1000;
    bench.append(10, 100);
    bench.settle();
    assert_eq!(bench.log.segment_count(), 2, "the first segment is sealed by its age");
    let before = bench.read_all(Offset(0)).unwrap();
    let mut bench = restart(bench, 1);
    bench.settle();
    assert_eq!(bench.read_all(Offset(0)).unwrap(), before);
    assert_eq!(bench.log.fault(), None);
}

#[test]
fn s21_a_log_whose_first_sync_failed_is_made_anew() {
    for shows in [FailedSync::ShowsNew, FailedSync::ShowsOld] {
        let disk = MemoryDisk::new();
        disk.fail_next_sync(shows);
        let mut bench = Bench::create(disk, options());
        bench.run();
        assert!(bench.log.poisoned().is_some());
        bench.disk.kill_process();
        let mut bench = Bench::open(bench.disk, options(), false);
        bench.settle();
        bench.append(10, 10);
        bench.settle();
        let bench = restart(bench, 1);
        assert_eq!(
            (verdict(&bench), bench.log.offsets().log_end()),
            (StartVerdict::Verified, Offset(10)),
            "{shows:?}"
        );
    }
}

#[test]
fn s6_s17_what_was_recovered_is_durable_before_it_counts() {
    for seed in 0..30 {
        let mut bench = synced(1);
        bench.append_many(3, 10, 1000);
        bench.disk.kill_process();
        let mut bench = Bench::open(bench.disk, options(), false);
        let offsets: &LogOffsets = bench.log.offsets();
        assert_eq!(offsets.log_end(), Offset(40));
        assert!(offsets.durable_end() < Offset(40));
        assert!(!bench.log.is_settled());
        bench.settle();
        assert!(bench.events.contains(&LogEvent::Recovered { end: Offset(40) }));
        let bench = restart(bench, seed);
        assert_eq!(bench.log.offsets().log_end(), Offset(40), "seed {seed}");
    }
}

#[test]
fn a_second_power_cut_during_the_recovery_changes_no_verdict_for_the_worse() {
    for seed in 0..100 {
        let mut bench = synced(2);
        bench.append_many(2, 10, 1000);
        bench.disk.write_back(seed);
        bench.disk.power_cut(seed);
        bench.disk.hold(true);
        let mut bench = Bench::open(bench.disk, options(), false);
        for _ in 0..seed % 6 {
            bench.disk.release_one();
            bench.run();
        }
        let mut bench = restart(bench, seed + 1);
        assert_eq!(bench.log.fault(), None, "seed {seed}");
        bench.settle();
        assert!(bench.log.offsets().log_end() >= Offset(20));
        bench.read_all(Offset(0)).unwrap();
    }
}

#[test]
fn a_batch_of_an_epoch_that_the_metadata_does_not_know_is_not_accepted() {
    let mut bench = synced(2);
    pass_five_seconds(&mut bench);
    bench.append_in(9, 10, 100);
    bench.settle();
    bench.disk.kill_process();
    let facts = OpenFacts { clean: false, newest_epoch: LeaderEpoch(8) };
    let opened = PartitionLog::open(&mut bench.disk, LogId(7), DIR, options(), facts, bench.now);
    assert_eq!(opened.unwrap().1.verdict, StartVerdict::Suspect { at: Offset(20) });
}

#[test]
fn a_start_reads_little_whatever_is_retained() {
    let roll = RollPolicy { segment_bytes: 64 << 20, ..RollPolicy::default() };
    let options = LogOptions { roll, ..options() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for _ in 0..200 {
        bench.append(1, 1 << 20);
        bench.log.sync(&mut bench.disk);
        bench.run();
    }
    let size = bench.log.size_bytes();
    assert!(size > 200 << 20);
    bench.disk.kill_process();
    let before = bench.disk.counters().bytes_read;
    let bench = Bench::open(bench.disk, options, false);
    let read = bench.disk.counters().bytes_read - before;
    assert!(read < 64 << 20, "{read} bytes read");
    let counted = bench.log.read_at_start();
    let counted = counted.record_bytes + counted.bookkeeping_bytes;
    assert!(counted >= read / 2, "counted {counted} of {read}");
    assert_eq!(bench.log.offsets().log_end(), Offset(200));
}

#[test]
fn after_a_clean_stop_no_record_byte_is_read_whatever_is_retained() {
    // Several segments, epochs and idempotent producers: all that could make a start walk over batches.
    for (segments, segment_bytes) in [(1, 1 << 30), (5, 40_000), (30, 8_000)] {
        let roll = RollPolicy { segment_bytes, ..RollPolicy::default() };
        let options = LogOptions { roll, ..without_tail() };
        let mut bench = Bench::create(MemoryDisk::new(), options);
        for round in 0..6 {
            for _ in 0..8 {
                bench.append_in(1 + round, 4, 1_000);
            }
            let bytes = client_batch(CRC, 1, 3, 50, producer(77, 0, round * 3));
            let batch = checked(CRC, bytes);
            bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1 + round), &[batch]).unwrap();
            bench.commit();
        }
        assert!(bench.log.segment_count() >= segments, "{}", bench.log.segment_count());
        let end = bench.log.offsets().log_end();
        let disk = bench.close();
        disk.power_cut(3);
        let before = disk.counters().bytes_read;
        let bench = Bench::open(disk, options, true);
        let (recovered, read) = (bench.recovered.unwrap(), bench.disk.counters().bytes_read - before);
        assert_eq!((recovered.verdict, bench.log.offsets().log_end()), (StartVerdict::Clean, end));
        assert_eq!(recovered.read.record_bytes, 0);
        assert_eq!(recovered.read.bookkeeping_bytes, read, "every byte that the disk read is counted");
    }
}

#[test]
fn damage_found_by_a_read_is_never_served() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(30, 10, 1000);
    bench.commit();
    let disk = bench.close();
    disk.rot(FIRST, 50_000, 2);
    let mut bench = Bench::open(disk, without_tail(), true);
    assert_eq!(verdict(&bench), StartVerdict::Clean);
    bench.log.set_high_watermark(Offset(300));
    let mut good = Vec::new();
    let mut from = Offset(0);
    let error = loop {
        match bench.read_slices(from, 2000) {
            Ok(found) => {
                from = found.next_offset;
                good.extend(bench.bytes_of(&found).unwrap());
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error, ReadError::Faulty);
    assert!(from < Offset(300) && good.len() < 50_000);
    assert!(bench.log.fault().is_some());
    assert!(bench.events.iter().any(|event| matches!(event, LogEvent::Faulty(_))));
    assert_eq!(bench.read_slices(Offset(0), 100), Err(ReadError::Faulty));
}

#[test]
fn a_medium_that_does_not_read_is_damage() {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(3, 10, 1000);
    bench.commit();
    let mut bench = Bench::open(bench.close(), without_tail(), true);
    bench.disk.evict();
    bench.disk.hold(true);
    let limit = crate::ReadLimit { max_bytes: 1000, end: Offset(30), at_least_one: true };
    bench.log.read(&mut bench.disk, Offset(0), limit).unwrap();
    bench.disk.fail_next(DiskOperation::Read, DiskFault::Medium);
    bench.disk.hold(false);
    bench.run();
    assert!(matches!(bench.log.fault(), Some(Fault::Unreadable { .. })), "{:?}", bench.events);
}

#[test]
fn s10_a_wrong_index_is_rebuilt_and_not_believed() {
    use log_core::index::{IndexChecksums, OffsetIndex, OffsetIndexEntry, TimeIndex};
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    bench.append_many(50, 10, 1000);
    bench.commit();
    let before = bench.read_all(Offset(0)).unwrap();
    let mut disk = bench.close();
    let mut wrong = OffsetIndex::new(Offset(0));
    wrong.push(OffsetIndexEntry { last_offset: Offset(100), position: 77_777 });
    let times = TimeIndex::new(Offset(0));
    let checksums = IndexChecksums::of(&wrong, &times, CRC).encode(Offset(0), CRC);
    let files = [(".index", wrong.encode()), (".timeindex", times.encode()), (".checksums", checksums)];
    for (suffix, bytes) in files {
        let file = disk.open(&FIRST.replace(".log", suffix), OpenMode::Write).unwrap();
        disk.truncate(&file, 0).unwrap();
        disk.write_at(&file, 0, &[&bytes]).unwrap();
    }
    for cold in [true, false] {
        let mut bench = Bench::open(disk, without_tail(), true);
        if cold {
            bench.disk.evict();
        }
        let found = bench.read_slices(Offset(200), 1).unwrap();
        assert_eq!(found.next_offset, Offset(210), "cold {cold}");
        assert!(bench.read_all(Offset(0)).unwrap() == before);
        assert_eq!(bench.log.fault(), None);
        disk = bench.disk;
        disk.kill_process();
    }
}

#[test]
fn hostile_bytes_in_any_file_give_a_verdict_and_never_a_panic() {
    use proptest::test_runner::{Config, TestRunner};
    let names =
        ["bound", "leader-epoch-checkpoint", "00000000000000000000.log", "00000000000000000000.index"];
    let more = [
        "00000000000000000000.timeindex",
        "00000000000000000000.checksums",
        "00000000000000000100.snapshot",
        "00000000000000000000.chain",
    ];
    let strategy =
        (0..names.len() + more.len(), 0..100_000_u64, proptest::collection::vec(0..=255_u8, 0..200));
    let mut runner = TestRunner::new(Config::with_cases(300));
    let run = runner.run(&(strategy, proptest::bool::ANY), |((which, at, bytes), clean)| {
        let mut bench = Bench::create(MemoryDisk::new(), without_tail());
        bench.append_many(10, 10, 500);
        bench.commit();
        while bench.log.chain_step(&mut bench.disk, 1 << 20) > 0 {}
        let before = bench.read_all(Offset(0)).unwrap();
        let mut disk = bench.close();
        let path = format!("{DIR}/{}", names.iter().chain(&more).nth(which).unwrap());
        let file = disk.open(&path, OpenMode::Create).unwrap();
        let len = disk.file_len(&file).unwrap();
        disk.write_at(&file, at % (len + 1), &[&bytes]).unwrap();
        disk.kill_process();
        let mut bench = Bench::open(disk, without_tail(), clean);
        bench.settle();
        if let Ok(read) = bench.read_all(bench.log.offsets().log_start()) {
            proptest::prop_assert!(before.starts_with(&read));
        }
        bench.log.chain_step(&mut bench.disk, 1 << 20);
        Ok(())
    });
    run.unwrap();
}

/// A log whose third batch of ten lies in a second segment, killed when the first was durable; then the medium lost what
/// came after, but not the files that were written beside: a snapshot and indexes that know of the lost batches.
fn lost_behind_its_snapshot() -> Bench<MemoryDisk> {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    let send = |bench: &mut Bench<MemoryDisk>, tag| {
        let sequence = i32::try_from(tag).unwrap() * 10;
        let batch = client_batch(CRC, tag, 10, 1000, producer(5, 0, sequence));
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[checked(CRC, batch)]).unwrap();
    };
    send(&mut bench, 0);
    bench.settle();
    pass_five_seconds(&mut bench);
    let durable = bench.log.size_bytes();
    send(&mut bench, 1);
    send(&mut bench, 2);
    assert_eq!(bench.log.segment_count(), 2);
    let file = bench.disk.open(FIRST, OpenMode::Write).unwrap();
    bench.disk.truncate(&file, durable).unwrap();
    bench.disk.remove_file(&FIRST.replace("00000.log", "00020.log")).unwrap();
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, small_segments(), false);
    assert_eq!(verdict(&bench), StartVerdict::Verified);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(10));
    bench
}

fn small_segments() -> LogOptions {
    let roll = RollPolicy { segment_bytes: 22_000, ..RollPolicy::default() };
    LogOptions { roll, ..without_tail() }
}

#[test]
fn s12_a_snapshot_that_outlived_its_batches_is_not_believed_later() {
    let mut bench = lost_behind_its_snapshot();
    // Another leader wrote other batches at those offsets.
    for _ in 0..4 {
        bench.append_in(2, 5, 100);
    }
    bench.commit();
    pass_five_seconds(&mut bench);
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, small_segments(), false);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(30));
    let lost = checked(CRC, client_batch(CRC, 1, 10, 1000, producer(5, 0, 10)));
    let again = bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(2), &[lost]).unwrap();
    assert!(!again.is_duplicate, "it was lost with the power and is nowhere in the log");
    assert_eq!(again.base_offset, Offset(30));
}

#[test]
fn s12_indexes_that_outlived_their_batches_are_no_damage_later() {
    let mut bench = lost_behind_its_snapshot();
    for _ in 0..10 {
        bench.append_in(2, 1, 1500);
    }
    bench.commit();
    pass_five_seconds(&mut bench);
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, small_segments(), false);
    bench.settle();
    assert_eq!((bench.log.fault(), bench.log.offsets().log_end()), (None, Offset(20)));
    bench.read_all(Offset(0)).unwrap();
}

#[test]
fn a_medium_that_does_not_read_at_a_start_costs_the_replica_and_not_the_start() {
    let reads = |disk: &MemoryDisk, good| disk.fail_after(good, DiskOperation::Read, DiskFault::Medium);
    let mut failed = 0;
    for good in 0..12 {
        let mut bench = synced(3);
        pass_five_seconds(&mut bench);
        bench.append_many(2, 10, 1000);
        bench.settle();
        bench.disk.kill_process();
        reads(&bench.disk, good);
        let facts = OpenFacts { clean: false, newest_epoch: LeaderEpoch(9) };
        let opened = PartitionLog::open(&mut bench.disk, LogId(7), DIR, options(), facts, bench.now);
        let (log, recovered) = opened.expect("an answer about the log, not an error of the start");
        match recovered.verdict {
            StartVerdict::Faulty(_) => {
                failed += 1;
                assert!(log.fault().is_some());
            }
            verdict => assert_eq!(verdict, StartVerdict::Verified, "{good} reads went well"),
        }
        bench.disk.cancel_failures();
        bench.disk.kill_process();
        let mut bench = Bench::open(bench.disk, options(), false);
        bench.settle();
        assert_eq!(bench.log.offsets().log_end(), Offset(50), "nothing was changed on the disk");
    }
    assert!(failed > 0);
}

#[test]
fn names_that_only_the_cache_knows_are_synced_by_the_next_process() {
    for seed in 0..20 {
        let mut disk = MemoryDisk::new();
        disk.hold(true);
        PartitionLog::create(&mut disk, LogId(7), DIR, options(), log_core::Now::default()).unwrap();
        disk.kill_process();
        let mut bench = Bench::open(disk, options(), false);
        bench.settle();
        let _ = bench.append(1, 100);
        bench.settle();
        let bench = restart(bench, seed);
        assert_eq!(bench.log.offsets().log_end(), Offset(1), "seed {seed}");
    }
}
