//! What is kept of a damaged log, for an operator who elects it (ADR 0016).

use log_core::batch::Batches;
use log_core::segment::RollPolicy;
use log_core::{LeaderEpoch, Offset};

use super::*;
use crate::Disk;
use crate::partition::types::{Fault, LogEvent, StartVerdict};
use crate::testing::DIR;

fn file(base: i64) -> String {
    format!("{DIR}/{base:020}.log")
}

/// A log of ten batches of one record each in segments of three, all durable and committed, none in memory.
fn ten() -> Bench<MemoryDisk> {
    let roll = RollPolicy { segment_bytes: 4_000, ..RollPolicy::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..without_tail() });
    for _ in 0..10 {
        bench.append(1, 1_000);
        bench.commit();
    }
    bench.settle();
    bench.now.mono = bench.now.mono.after(core::time::Duration::from_secs(5));
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
    assert_eq!(bench.log.segment_count(), 4);
    bench.disk.evict();
    bench
}

/// Rots one byte of a batch and reads until the log notices.
fn rot(bench: &mut Bench<MemoryDisk>, base: i64, position: u64) {
    bench.disk.rot(&file(base), position, 1);
    let _ = bench.read_all(Offset(0));
    assert!(bench.log.fault().is_some());
    bench.run();
}

fn salvage(bench: &mut Bench<MemoryDisk>) {
    bench.events.clear();
    bench.log.begin_salvage(&mut bench.disk, LeaderEpoch(9), bench.now).unwrap();
    bench.run();
}

fn offsets(bench: &mut Bench<MemoryDisk>) -> Vec<i64> {
    let start = bench.log.offsets().log_start();
    let bytes = bench.read_all(start).unwrap();
    Batches::new(&bytes).map(|(header, _)| header.base_offset.0).collect()
}

fn quarantined(bench: &mut Bench<MemoryDisk>) -> u64 {
    let copies = bench.disk.list(&format!("{DIR}/quarantine")).unwrap_or_default();
    copies.iter().map(|copy| copy.len).sum()
}

#[test]
fn a_damaged_log_is_kept_up_to_the_damage_and_the_rest_is_copied() {
    let mut bench = ten();
    // In the second batch of the second segment.
    rot(&mut bench, 3, 1_500);
    let total = bench.log.size_bytes();
    salvage(&mut bench);
    assert_eq!((bench.log.fault(), bench.log.is_settled()), (None, true));
    assert!(bench.events.contains(&LogEvent::Recovered { end: Offset(4) }));
    let found = *bench.log.offsets();
    assert_eq!(
        (found.log_end(), found.durable_end(), found.high_watermark()),
        (Offset(4), Offset(4), Offset(4))
    );
    assert_eq!(offsets(&mut bench), [0, 1, 2, 3]);
    assert!(quarantined(&mut bench) >= total - bench.log.size_bytes());
    bench.append(1, 1_000);
    bench.commit();
    bench.disk.power_cut(1);
    let mut bench = Bench::open(bench.disk, options(), false);
    bench.settle();
    assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Verified);
    assert_eq!(offsets(&mut bench), [0, 1, 2, 3, 4]);
}

#[test]
fn a_start_after_any_crash_finds_the_damage_or_what_was_kept() {
    for steps in 0..12 {
        for seed in 0..8 {
            let mut bench = ten();
            rot(&mut bench, 3, 1_500);
            bench.disk.hold(true);
            salvage(&mut bench);
            for _ in 0..steps {
                bench.disk.release_one();
                bench.run();
            }
            bench.disk.power_cut(seed);
            let mut bench = Bench::open(bench.disk, options(), false);
            bench.settle();
            if bench.log.fault().is_none() {
                let end = bench.log.offsets().log_end();
                assert!(end == Offset(4) || end == Offset(10), "{steps} {seed}: {end}");
                assert!(end == Offset(10) || offsets(&mut bench) == [0, 1, 2, 3], "{steps} {seed}");
            }
        }
    }
}

#[test]
fn a_log_whose_bound_cannot_be_read_is_kept_as_far_as_it_goes() {
    let bench = ten();
    let bound = format!("{DIR}/bound");
    for position in [30, 4_126] {
        bench.disk.rot(&bound, position, 0xff);
    }
    bench.disk.power_cut(0);
    let mut bench = Bench::open(bench.disk, options(), false);
    assert_eq!(bench.log.fault(), Some(Fault::BoundUnreadable));
    salvage(&mut bench);
    assert_eq!(offsets(&mut bench), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    bench.append(1, 100);
    bench.commit();
    assert_eq!(bench.log.offsets().durable_end(), Offset(11));
}

#[test]
fn a_log_that_is_shorter_than_its_bound_is_kept_as_far_as_it_goes() {
    let bench = ten();
    bench.disk.shorten(&file(9), 100);
    bench.disk.power_cut(0);
    let mut bench = Bench::open(bench.disk, options(), false);
    assert!(matches!(bench.log.fault(), Some(Fault::BelowBound { .. })));
    salvage(&mut bench);
    assert_eq!(offsets(&mut bench), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn what_was_deleted_does_not_come_back() {
    // Damage in batch 5, with which the log begins, and in batch 4 before it: nothing that can be read is still kept.
    for (position, dropped) in [(2_600, false), (1_500, true)] {
        let mut bench = ten();
        bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(5));
        bench.now.mono = bench.now.mono.after(core::time::Duration::from_secs(5));
        bench.log.tick(&mut bench.disk, bench.now);
        bench.run();
        bench.disk.rot(&file(3), position, 1);
        salvage(&mut bench);
        let found = *bench.log.offsets();
        assert_eq!((found.log_start(), found.log_end()), (Offset(5), Offset(5)));
        assert_eq!(bench.events.contains(&LogEvent::Dropped { start_at: Offset(5) }), dropped);
        assert!(quarantined(&mut bench) > 0);
        bench.append(1, 100);
        bench.commit();
        assert_eq!(offsets(&mut bench), [5]);
    }
}
