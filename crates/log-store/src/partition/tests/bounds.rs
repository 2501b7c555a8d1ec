//! D3: what the bound says, and when it is written.

use log_core::Offset;
use log_core::segment::RollPolicy;

use super::*;
use crate::partition::bound::winner;
use crate::partition::types::StartVerdict;

#[test]
fn d3_the_bound_is_zero_before_the_first_append() {
    for seed in 0..20 {
        let bench = bench();
        bench.disk.power_cut(seed);
        let mut bench = Bench::open(bench.disk, options(), false);
        assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Verified);
        bench.settle();
        assert_eq!(bench.append(1, 10).base_offset, Offset(0));
    }
}

#[test]
fn d3_s16_the_bound_is_never_ahead_of_what_was_synced() {
    let mut bench = batches_of_ten(2);
    bench.disk.hold(true);
    bench.append(10, 100);
    bench.log.sync(&mut bench.disk);
    pass_five_seconds(&mut bench);
    assert!(slots(&bench.disk).into_iter().flatten().all(|bound| bound.end.offset <= Offset(20)));
}

#[test]
fn d3_the_bound_is_written_after_five_seconds_and_only_if_it_changed() {
    let mut bench = batches_of_ten(2);
    assert_eq!(winner(slots(&bench.disk)).unwrap().end.offset, Offset(0));
    pass_five_seconds(&mut bench);
    assert_eq!(winner(slots(&bench.disk)).unwrap().end.offset, Offset(20));
    bench.now.mono = bench.now.mono.after(core::time::Duration::from_secs(60));
    bench.log.tick(&mut bench.disk, bench.now);
    let writes = bench.disk.counters();
    assert_eq!(bench.log.poll_timeout().map(|at| at > bench.now.mono), Some(true), "the roll by age");
    pass_five_seconds(&mut bench);
    assert_eq!(bench.disk.counters(), writes);
}

#[test]
fn d3_the_bound_is_written_at_every_24_mib_synced() {
    let mut bench = bench();
    for _ in 0..40 {
        bench.append(1, 1 << 20);
        bench.log.sync(&mut bench.disk);
        bench.run();
    }
    let bound = winner(slots(&bench.disk)).unwrap();
    assert!(bound.end.offset >= Offset(24), "{bound:?}");
}

#[test]
fn d3_a_roll_is_in_the_bound_once_it_is_synced_also_where_nobody_waits() {
    let roll = RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..options() });
    while bench.log.segment_count() < 2 {
        bench.append(1, 3_000);
        bench.log.sync_lazily(&mut bench.disk);
    }
    bench.now.mono = bench.now.mono.after(core::time::Duration::from_millis(50));
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
    let bound = winner(slots(&bench.disk)).unwrap();
    assert_eq!(bound.end.offset, bench.log.offsets().log_end());
}

#[test]
fn d3_one_slot_is_in_flight_and_the_other_stays_readable() {
    let mut bench = batches_of_ten(1);
    pass_five_seconds(&mut bench);
    let before = slots(&bench.disk);
    bench.disk.hold(true);
    bench.append(10, 100);
    bench.log.sync(&mut bench.disk);
    bench.disk.release_one();
    bench.run();
    pass_five_seconds(&mut bench);
    bench.append(10, 100);
    pass_five_seconds(&mut bench);
    let after = slots(&bench.disk);
    let kept = before.iter().zip(&after).filter(|(before, after)| before == after).count();
    assert_eq!(kept, 1, "{before:?} {after:?}");
    assert_eq!(before.map(|bound| bound.is_some()), [true, true]);
}

#[test]
fn d3b_the_high_watermark_of_the_bound_is_at_most_its_durable_end() {
    let mut bench = batches_of_ten(1);
    bench.disk.hold(true);
    bench.append(10, 100);
    bench.log.sync(&mut bench.disk);
    // A follower takes the leader's high watermark up to its appended end.
    bench.log.set_high_watermark(Offset(20));
    pass_five_seconds(&mut bench);
    bench.disk.hold(false);
    for bound in slots(&bench.disk).into_iter().flatten() {
        assert!(bound.high_watermark <= bound.end.offset);
    }
}

#[test]
fn a_start_removes_nothing_for_a_bound_that_may_be_in_the_page_cache_alone() {
    let roll = RollPolicy { segment_bytes: 15_000, ..RollPolicy::default() };
    let small = LogOptions { roll, ..options() };
    let mut removed = 0;
    for seed in 0..60 {
        let mut bench = Bench::create(MemoryDisk::new(), small);
        bench.append_many(5, 10, 1000);
        bench.settle();
        bench.log.set_high_watermark(Offset(50));
        pass_five_seconds(&mut bench);
        let all = bench.read_all(Offset(0)).unwrap();
        bench.disk.hold(true);
        bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(40));
        bench.disk.kill_process();
        let bench = Bench::open(bench.disk, small, false);
        assert_eq!(bench.log.offsets().log_start(), Offset(40), "the page cache has it");
        bench.disk.power_cut(seed);
        bench.disk.hold(false);
        let mut bench = Bench::open(bench.disk, small, false);
        assert_eq!(bench.log.fault(), None, "seed {seed}");
        bench.settle();
        let start = bench.log.offsets().log_start();
        assert!(all.ends_with(&bench.read_all(start).unwrap()), "seed {seed}");
        removed += u32::from(start == Offset(40) && bench.log.segment_count() < 4);
    }
    assert!(removed > 0, "what lies below a durable bound goes");
}

#[test]
fn a_start_takes_no_gap_below_the_log_start_for_damage() {
    let roll = RollPolicy { segment_bytes: 15_000, ..RollPolicy::default() };
    let small = LogOptions { roll, ..options() };
    let mut bench = Bench::create(MemoryDisk::new(), small);
    bench.append_many(5, 10, 1000);
    bench.settle();
    bench.log.set_high_watermark(Offset(50));
    pass_five_seconds(&mut bench);
    bench.disk.hold(true);
    bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(40));
    bench.disk.kill_process();
    // As if the power had failed while segments were removed; the epochs are read from the batches then.
    for name in ["00000000000000000010.log", "leader-epoch-checkpoint"] {
        bench.disk.remove_file(&format!("{DIR}/{name}")).unwrap();
    }
    bench.disk.hold(false);
    let mut bench = Bench::open(bench.disk, small, false);
    assert_eq!(bench.log.fault(), None);
    bench.settle();
    assert_eq!((bench.log.segment_count(), bench.log.offsets().log_start()), (1, Offset(40)));
}
