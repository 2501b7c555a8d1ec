//! What puts out one log and poisons nothing: a medium that does not read, and no room for what has to be copied.

use super::*;
use crate::partition::types::{Fault, LogEvent, StartVerdict};
use crate::{AppendError, DiskFault, DiskOperation};

const FIRST: &str = "topics/00000000000000000000000000000001/0/00000000000000000000.log";

fn bench_of(count: usize) -> Bench<MemoryDisk> {
    let mut bench = bench();
    bench.append_many(count, 10, 1000);
    bench.settle();
    bench
}

fn restart(bench: Bench<MemoryDisk>, seed: u64) -> Bench<MemoryDisk> {
    bench.disk.power_cut(seed);
    Bench::open(bench.disk, options(), false)
}

#[test]
fn a_medium_that_does_not_read_while_a_segment_is_sealed_is_damage_of_this_log_alone() {
    // The indexes of the active segment are not on the disk: to seal it they are built from the batches.
    let mut bench = bench_of(3);
    pass_five_seconds(&mut bench);
    let mut bench = restart(bench, 0);
    bench.settle();
    bench.now.wall.0 += 8 * 24 * 3600 * 1000;
    bench.disk.fail_next(DiskOperation::Read, DiskFault::Medium);
    assert_eq!(bench.try_append(1, 100), Err(AppendError::Faulty));
    bench.run();
    assert_eq!(bench.log.poisoned(), None);
    assert!(matches!(bench.log.fault(), Some(Fault::Unreadable { .. })));
    assert!(bench.events.iter().any(|event| matches!(event, LogEvent::Faulty(_))));
}

#[test]
fn a_suspect_log_that_finds_no_room_for_its_copy_is_out_and_poisons_nothing() {
    let mut bench = bench_of(2);
    bench.append_many(2, 10, 20_000);
    bench.disk.write_back(1);
    // Rot in the first of two batches above the bound: good bytes follow.
    let end = bench.log.offsets().durable_end();
    assert!(end < bench.log.offsets().log_end());
    let position = 2 * 11_000;
    bench.log.sync(&mut bench.disk);
    bench.disk.rot(FIRST, position, 0xff);
    bench.disk.power_cut(1);
    bench.disk.set_capacity(bench.disk.bytes_used() + 10_000);
    let mut bench = Bench::open(bench.disk, options(), false);
    bench.run();
    assert_eq!(bench.log.poisoned(), None);
    assert!(matches!(bench.log.fault(), Some(Fault::NoRoom { .. })), "{:?}", bench.log.fault());
    bench.disk.set_capacity(u64::MAX);
    let mut bench = restart(bench, 2);
    bench.settle();
    let verdict = bench.recovered.unwrap().verdict;
    assert!(matches!(verdict, StartVerdict::Suspect { .. }), "with room it is cut");
    assert_eq!(bench.log.fault(), None);
}
