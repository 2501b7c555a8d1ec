//! D1, D4: syncs and cuts against each other and against power cuts.

use log_core::segment::RollPolicy;
use log_core::{LeaderEpoch, Offset};

use super::*;
use crate::CutError;
use crate::partition::types::{Fault, LogEvent, Replicated, StartVerdict};
use crate::{DiskFault, DiskOperation, FailedSync};

fn cut(bench: &mut Bench<MemoryDisk>, to: i64) -> Result<(), CutError> {
    bench.log.begin_cut(&mut bench.disk, Offset(to))
}

#[test]
fn d1_s14_a_sync_from_before_a_cut_raises_nothing() {
    let mut bench = batches_of_ten(1);
    bench.disk.hold(true);
    bench.append_many(2, 10, 100);
    bench.log.sync(&mut bench.disk);
    cut(&mut bench, 10).unwrap();
    // The first to be released is the old sync; nothing of the cut has happened on disk yet.
    bench.disk.release_one();
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(10));
    bench.disk.hold(false);
    bench.run();
    assert_eq!(bench.log.offsets().durable_end(), Offset(10));
    assert_eq!(bench.events.last(), Some(&LogEvent::CutFinished { at: Offset(10) }));
}

#[test]
fn d1_a_sync_of_a_cut_does_not_vouch_for_a_sync_that_is_under_way() {
    let roll = RollPolicy { segment_bytes: 5000, ..Default::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..options() });
    bench.append(10, 100);
    bench.settle();
    bench.disk.hold(true);
    bench.append_many(6, 10, 100);
    assert!(bench.log.segment_count() > 1);
    bench.log.sync(&mut bench.disk);
    cut(&mut bench, 60).unwrap();
    bench.run();
    assert_eq!(bench.disk.held(), 1, "the cut waits for the sync that carries the older segment");
    bench.disk.hold(false);
    bench.run();
    assert_eq!(bench.events.last(), Some(&LogEvent::CutFinished { at: Offset(60) }));
    assert_eq!(bench.log.offsets().durable_end(), Offset(60));
}

/// Twelve batches of ten: more than the log keeps in memory of a producer.
fn batches_of_one_producer() -> Bench<MemoryDisk> {
    let mut bench = bench();
    for sequence in (0..120).step_by(10) {
        let producer = crate::testing::producer(5, 0, sequence);
        let batch = crate::testing::client_batch(CRC, 1, 10, 50, producer);
        let batch = crate::testing::checked(CRC, batch);
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[batch]).unwrap();
    }
    bench.settle();
    pass_five_seconds(&mut bench);
    bench
}

#[test]
fn p3_a_base_offset_that_rotted_is_damage_when_producers_are_read_again() {
    let mut bench = batches_of_one_producer();
    bench.disk.rot(&format!("{DIR}/00000000000000000000.log"), 3, 1);
    let _ = cut(&mut bench, 20);
    assert!(bench.log.fault().is_some(), "a state without the first batch is not believed");
}

#[test]
fn d4_a_header_that_rotted_is_own_damage_and_not_a_conflict_with_the_leader() {
    let mut bench = batches_of_one_producer();
    bench.log.set_high_watermark(Offset(20));
    // The last offset delta of the first batch: it seems to hold everything up to the place of the cut.
    bench.disk.rot(&format!("{DIR}/00000000000000000000.log"), 26, 0x20);
    assert_eq!(cut(&mut bench, 30), Err(CutError::Faulty));
    assert!(bench.log.fault().is_some());
}

#[test]
fn a_cut_that_the_medium_breaks_off_leaves_the_disk_as_it_was_and_takes_nothing_more() {
    let mut bench = batches_of_one_producer();
    // The search for the place reads once; the producers' state is read again from the batches after that.
    bench.disk.fail_after(1, DiskOperation::Read, DiskFault::Medium);
    assert_eq!(cut(&mut bench, 20), Err(CutError::Faulty));
    assert_eq!(bench.try_append(1, 10), Err(crate::AppendError::Faulty));
    bench.gather();
    assert!(matches!(bench.events.last(), Some(LogEvent::Faulty(_))), "{:?}", bench.events);
    bench.disk.cancel_failures();
    bench.disk.kill_process();
    let mut bench = Bench::open(bench.disk, options(), false);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(120));
}

/// Lets a job go on until it has removed a file, and not until that is durable; then the process is killed.
fn kill_when_removed(mut bench: Bench<MemoryDisk>, file: &str) -> Bench<MemoryDisk> {
    while bench.disk.open(&format!("{DIR}/{file}"), OpenMode::Read).is_ok() {
        assert!(bench.disk.release_one());
        bench.run();
    }
    bench.disk.kill_process();
    bench.disk.hold(false);
    let mut bench = Bench::open(bench.disk, options(), false);
    bench.settle();
    bench
}

#[test]
fn d4_what_a_killed_drop_removed_does_not_come_back_after_it_was_finished() {
    for seed in 0..20 {
        let mut bench = bench();
        let batch = || {
            let producer = crate::testing::producer(5, 0, 0);
            crate::testing::checked(CRC, crate::testing::client_batch(CRC, 1, 10, 50, producer))
        };
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[batch()]).unwrap();
        bench.settle();
        pass_five_seconds(&mut bench);
        bench.disk.hold(true);
        bench.log.begin_drop_all(&mut bench.disk, Offset(15)).unwrap();
        let bench = kill_when_removed(bench, "00000000000000000000.log");
        assert_eq!(bench.log.offsets().log_end(), Offset(15));
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, options(), false);
        bench.settle();
        let offsets = bench.log.offsets();
        assert_eq!(
            (bench.log.fault(), offsets.log_start(), offsets.log_end()),
            (None, Offset(15), Offset(15))
        );
        let appended = bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(2), &[batch()]).unwrap();
        assert!(!appended.is_duplicate, "seed {seed}");
    }
}

#[test]
fn d4_what_a_killed_cut_removed_does_not_come_back_beside_what_follows() {
    for seed in 0..20 {
        let roll = RollPolicy { segment_bytes: 2_400, ..Default::default() };
        let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..options() });
        bench.append_many(3, 10, 100);
        bench.settle();
        pass_five_seconds(&mut bench);
        assert_eq!(bench.log.segment_count(), 2);
        bench.disk.hold(true);
        cut(&mut bench, 10).unwrap();
        let mut bench = kill_when_removed(bench, "00000000000000000020.log");
        assert_eq!(bench.log.offsets().log_end(), Offset(20), "where the removed segment began");
        bench.append(10, 90);
        bench.settle();
        let expected = bench.read_all(Offset(0)).unwrap();
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, options(), false);
        bench.settle();
        assert_eq!((bench.log.fault(), bench.log.offsets().log_end()), (None, Offset(30)), "seed {seed}");
        assert!(bench.read_all(Offset(0)).unwrap() == expected, "seed {seed}");
    }
}

#[test]
fn d2_s2_what_is_durable_survives_with_its_new_segment_and_directory() {
    for seed in 0..40 {
        let mut bench = bench();
        bench.append(10, 100);
        bench.settle();
        bench.disk.power_cut(seed);
        let bench = Bench::open(bench.disk, options(), false);
        assert_eq!(bench.log.offsets().log_end(), Offset(10), "seed {seed}");
    }
}

#[test]
fn d4_s15_a_cut_lowers_both_slots_before_it_truncates() {
    let mut bench = batches_of_ten(3);
    pass_five_seconds(&mut bench);
    bench.append(10, 100);
    bench.settle();
    pass_five_seconds(&mut bench);
    bench.disk.hold(true);
    cut(&mut bench, 20).unwrap();
    let len = |bench: &mut Bench<MemoryDisk>| {
        let mut disk = bench.disk.another_handle();
        let file = disk.open(&format!("{DIR}/00000000000000000000.log"), OpenMode::Read).unwrap();
        disk.file_len(&file).unwrap()
    };
    let before = len(&mut bench);
    for step in 0..2 {
        assert_eq!(len(&mut bench), before, "step {step}: nothing is truncated yet");
        bench.disk.release_one();
        bench.run();
    }
    let ends = slots(&bench.disk).map(|bound| bound.unwrap().end.offset);
    assert_eq!(ends, [Offset(20), Offset(20)]);
    bench.disk.hold(false);
    bench.run();
    assert!(len(&mut bench) < before);
    assert_eq!(bench.events.last(), Some(&LogEvent::CutFinished { at: Offset(20) }));
}

#[test]
fn d4_t10_no_power_cut_during_a_cut_makes_the_log_faulty_or_suspect() {
    for seed in 0..200 {
        let mut bench = batches_of_ten(5);
        bench.log.set_high_watermark(Offset(20));
        pass_five_seconds(&mut bench);
        bench.disk.hold(true);
        cut(&mut bench, 30).unwrap();
        for _ in 0..seed % 5 {
            bench.disk.release_one();
            bench.run();
        }
        bench.disk.power_cut(seed);
        let bench = Bench::open(bench.disk, options(), false);
        let recovered = bench.recovered.unwrap();
        assert_eq!(recovered.verdict, StartVerdict::Verified, "seed {seed}");
        let end = bench.log.offsets().log_end();
        assert!(end == Offset(50) || end == Offset(30), "seed {seed}: {end}");
    }
}

#[test]
fn d4_t10_s18_a_finished_cut_brings_nothing_back() {
    for seed in 0..100 {
        let mut bench = batches_of_ten(5);
        pass_five_seconds(&mut bench);
        cut(&mut bench, 20).unwrap();
        bench.run();
        bench.append_in(2, 1, 10);
        bench.settle();
        let good = bench.read_all(Offset(0)).unwrap();
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, options(), false);
        assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Verified, "seed {seed}");
        assert_eq!(bench.log.offsets().log_end(), Offset(21));
        bench.settle();
        assert!(bench.read_all(Offset(0)).unwrap() == good);
    }
}

#[test]
fn d4b_the_bound_of_a_cut_is_not_above_the_own_durable_end() {
    let mut bench = batches_of_ten(1);
    bench.disk.hold(true);
    bench.append_many(3, 10, 100);
    cut(&mut bench, 30).unwrap();
    bench.disk.release_one();
    bench.run();
    for bound in slots(&bench.disk).into_iter().flatten() {
        assert!(bound.end.offset <= Offset(10), "{bound:?}");
    }
}

#[test]
fn d4c_a_cut_below_the_high_watermark_is_a_conflict_and_changes_nothing() {
    let mut bench = batches_of_ten(3);
    bench.log.set_high_watermark(Offset(20));
    let conflict = CutError::Conflict { to: Offset(19), high_watermark: Offset(20) };
    assert_eq!(cut(&mut bench, 19), Err(conflict));
    assert_eq!(bench.log.offsets().log_end(), Offset(30));
    assert!(bench.log.is_settled() && bench.log.fault().is_none());
    bench.append(1, 10);
}

#[test]
fn d4_nothing_is_appended_before_the_cut_is_durable() {
    let mut bench = batches_of_ten(3);
    bench.disk.hold(true);
    cut(&mut bench, 10).unwrap();
    assert_eq!(bench.try_append(1, 10).unwrap_err(), crate::AppendError::Cutting);
    assert_eq!(cut(&mut bench, 5), Err(CutError::Cutting));
    assert!(bench.log.is_cutting());
    bench.disk.hold(false);
    bench.run();
    assert_eq!(bench.append(1, 10).base_offset, Offset(10));
}

#[test]
fn d4_t4_a_cut_at_or_above_the_end_finishes_at_once() {
    let mut bench = batches_of_ten(3);
    cut(&mut bench, 30).unwrap();
    bench.gather();
    assert_eq!(bench.events.last(), Some(&LogEvent::CutFinished { at: Offset(30) }));
}

#[test]
fn d4_a_cut_inside_a_batch_goes_to_its_start() {
    let mut bench = batches_of_ten(3);
    cut(&mut bench, 15).unwrap();
    bench.run();
    assert_eq!(bench.events.last(), Some(&LogEvent::CutFinished { at: Offset(10) }));
}

#[test]
fn d4_a_cut_across_segments_removes_the_later_ones() {
    let roll = RollPolicy { segment_bytes: 5000, ..Default::default() };
    for to in [0, 10, 70, 130, 290] {
        let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..without_tail() });
        bench.append_many(30, 10, 100);
        bench.settle();
        let all = bench.read_all(Offset(0)).unwrap();
        cut(&mut bench, to).unwrap();
        bench.run();
        let end = bench.log.offsets().log_end();
        assert_eq!(end, Offset(to));
        let kept = bench.read_all(Offset(0)).unwrap();
        assert!(all.starts_with(&kept));
        bench.append_many(30, 10, 100);
        bench.commit();
        let disk = bench.close();
        let bench = Bench::open(disk, options(), true);
        assert_eq!(bench.log.offsets().log_end(), Offset(to + 300));
    }
}

#[test]
fn d7_epochs_are_cut_with_the_log_and_survive_power_cuts() {
    for seed in 0..30 {
        let mut bench = bench();
        for epoch in 1..5 {
            bench.append_in(epoch, 10, 100);
        }
        bench.settle();
        pass_five_seconds(&mut bench);
        cut(&mut bench, 20).unwrap();
        bench.run();
        bench.append_in(7, 10, 100);
        bench.settle();
        if seed % 2 == 0 {
            pass_five_seconds(&mut bench);
        }
        let epochs = bench.log.epochs().clone();
        assert_eq!(epochs.latest(), Some(LeaderEpoch(7)));
        bench.disk.power_cut(seed);
        let bench = Bench::open(bench.disk, options(), false);
        assert_eq!(bench.log.epochs(), &epochs, "seed {seed}");
    }
}

#[test]
fn d7_a_checkpoint_that_disagrees_is_rebuilt() {
    let mut bench = bench();
    for epoch in 1..5 {
        bench.append_in(epoch, 10, 100);
    }
    bench.commit();
    let epochs = bench.log.epochs().clone();
    let mut disk = bench.close();
    let path = format!("{DIR}/leader-epoch-checkpoint");
    for damage in 0..2 {
        if damage == 0 {
            disk.rot(&path, 20, 1);
        } else {
            disk.remove_file(&path).unwrap();
        }
        let bench = Bench::open(disk, options(), true);
        assert_eq!(bench.log.epochs(), &epochs);
        disk = bench.disk;
    }
}

#[test]
fn t11_a_batch_that_was_cut_is_no_duplicate_when_it_is_sent_again() {
    let mut bench = bench();
    let sent = |sequence| {
        let producer = crate::testing::producer(5, 0, sequence);
        crate::testing::checked(CRC, crate::testing::client_batch(CRC, 1, 10, 50, producer))
    };
    for sequence in [0, 10] {
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[sent(sequence)]).unwrap();
    }
    bench.settle();
    let again = bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[sent(10)]).unwrap();
    assert!(again.is_duplicate);
    assert_eq!((again.base_offset, again.end_offset), (Offset(10), Offset(20)));
    cut(&mut bench, 10).unwrap();
    bench.run();
    let again = bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(2), &[sent(10)]).unwrap();
    assert!(!again.is_duplicate);
    assert_eq!(again.base_offset, Offset(10));
}

#[test]
fn dropping_all_begins_anew_at_the_given_offset_through_any_power_cut() {
    for seed in 0..150 {
        let mut bench = batches_of_ten(3);
        pass_five_seconds(&mut bench);
        bench.disk.hold(true);
        bench.log.begin_drop_all(&mut bench.disk, Offset(1000)).unwrap();
        for _ in 0..seed % 7 {
            bench.disk.release_one();
            bench.run();
        }
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, options(), false);
        bench.settle();
        assert_eq!(bench.log.fault(), None, "seed {seed}");
        let end = bench.log.offsets().log_end();
        assert!(end == Offset(1000) || end == Offset(30), "seed {seed}: {end}");
        if seed % 7 >= 5 {
            assert_eq!(end, Offset(1000), "seed {seed}");
        }
    }
}

#[test]
fn d4_a_place_to_cut_that_cannot_be_read_is_damage_and_no_conflict() {
    for damage in [true, false] {
        let mut bench = batches_of_ten(5);
        bench.settle();
        let fault = if damage { DiskFault::Medium } else { DiskFault::Os(24) };
        bench.disk.fail_next(DiskOperation::Read, fault);
        let error = bench.log.begin_cut(&mut bench.disk, Offset(25)).unwrap_err();
        let expected =
            if damage { matches!(error, CutError::Faulty) } else { matches!(error, CutError::Disk(_)) };
        assert!(expected, "{error}");
        let faulty = matches!(bench.log.fault(), Some(Fault::Unreadable { .. }));
        assert_eq!(faulty, damage, "{:?}", bench.log.fault());
        assert_eq!(bench.log.offsets().log_end(), Offset(50), "nothing is cut");
    }
}

#[test]
fn a_dropped_log_takes_replicated_batches_where_it_begins() {
    let mut leader = batches_of_ten(5);
    let bytes = leader.read_slices(Offset(20), 1 << 20).unwrap();
    let bytes = bytes::Bytes::from(leader.bytes_of(&bytes).unwrap());
    let mut follower = batches_of_ten(1);
    follower.log.begin_drop_all(&mut follower.disk, Offset(20)).unwrap();
    follower.run();
    assert_eq!(follower.events.last(), Some(&LogEvent::Dropped { start_at: Offset(20) }));
    let end = follower.log.append_replicated(&mut follower.disk, follower.now, LeaderEpoch(1), bytes.clone());
    assert_eq!(end, Ok(Replicated { end: Offset(50), rest: None }));
    follower.settle();
    assert!(follower.read_all(Offset(20)).unwrap() == bytes);
    follower.disk.power_cut(1);
    let follower = Bench::open(follower.disk, options(), false);
    assert_eq!(follower.log.offsets().log_end(), Offset(50));
    assert_eq!(follower.log.offsets().log_start(), Offset(20));
}

#[test]
fn d5_s1_a_failed_sync_poisons_and_is_never_believed_when_tried_again() {
    for poisoning in [true, false] {
        let mut bench = batches_of_ten(1);
        bench.disk.set_poisoning(poisoning);
        bench.append(10, 100);
        bench.disk.fail_next_sync(FailedSync::ShowsNew);
        bench.log.sync(&mut bench.disk);
        bench.run();
        assert!(matches!(bench.events.last(), Some(LogEvent::Poisoned(_))));
        assert!(matches!(bench.try_append(1, 10), Err(crate::AppendError::Poisoned(_))));
        bench.log.sync(&mut bench.disk);
        bench.run();
        assert_eq!(bench.log.offsets().durable_end(), Offset(10));
        assert!(!bench.log.begin_close(&mut bench.disk), "B3: no clean mark");
    }
}

#[test]
fn d5_an_error_after_bytes_may_be_out_poisons() {
    let mut bench = batches_of_ten(1);
    bench.disk.fail_next(DiskOperation::Write, DiskFault::Medium);
    assert!(matches!(bench.try_append(10, 100), Err(crate::AppendError::Poisoned(_))));
    bench.gather();
    assert!(matches!(bench.events.last(), Some(LogEvent::Poisoned(_))));
    assert_eq!(bench.log.offsets().log_end(), Offset(10));
}

#[test]
fn s13_another_log_of_a_poisoned_directory_gets_no_acknowledgement() {
    let mut bench = batches_of_ten(1);
    let mut other = bench.disk.another_handle();
    other.create_dir("other").unwrap();
    let file = other.open("other/file", OpenMode::Create).unwrap();
    bench.disk.fail_next_sync(FailedSync::ShowsOld);
    let ticket = crate::Ticket { log: crate::LogId(9), sequence: 0 };
    other.submit_sync(ticket, &[file], &[]);
    assert!(other.poll().unwrap().result.is_err());
    bench.disk.set_poisoning(true);
    let refused = bench.try_append(1, 10);
    bench.log.sync(&mut bench.disk);
    bench.run();
    assert!(refused.is_err() || bench.log.poisoned().is_some());
    assert_eq!(bench.log.offsets().durable_end(), Offset(10));
}
