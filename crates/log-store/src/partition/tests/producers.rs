//! What a log remembers of its producers after a start or a cut: only what batches say that check.

use log_core::segment::RollPolicy;
use log_core::{LeaderEpoch, Offset, ProducerId};

use super::*;
use crate::Disk;
use crate::partition::types::{Fault, StartVerdict};
use crate::testing::{DIR, checked, client_batch, producer};

const FIRST: &str = "topics/00000000000000000000000000000001/0/00000000000000000000.log";

/// Where in a batch the last bytes of these fields stand.
const LEADER_EPOCH_AT: u64 = 15;
const PRODUCER_ID_AT: u64 = 50;
const BASE_SEQUENCE_AT: u64 = 56;

/// Appends the producer's batch of ten records with this number.
fn send(bench: &mut Bench<MemoryDisk>, number: i32, value_bytes: usize) {
    let batch = client_batch(CRC, 1, 10, value_bytes, producer(5, 0, number * 10));
    bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[checked(CRC, batch)]).unwrap();
}

/// A log with seven batches of one producer, all below the bound, and the bytes of one.
fn seven_batches() -> (Bench<MemoryDisk>, u64) {
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    (0..7).for_each(|number| send(&mut bench, number, 100));
    bench.settle();
    pass_five_seconds(&mut bench);
    let bytes = bench.log.size_bytes() / 7;
    (bench, bytes)
}

#[test]
fn a_start_does_not_learn_of_producers_from_a_header_that_rotted() {
    // The epoch is what no checksum covers.
    for field in [LEADER_EPOCH_AT, PRODUCER_ID_AT, BASE_SEQUENCE_AT] {
        let (bench, bytes) = seven_batches();
        bench.disk.rot(FIRST, 3 * bytes + field, 1);
        bench.disk.kill_process();
        let bench = Bench::open(bench.disk, without_tail(), false);
        let fault = Fault::BadBatch { at: Offset(30) };
        assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Faulty(fault), "byte {field}");
    }
}

#[test]
fn a_cut_does_not_learn_of_producers_from_a_header_that_rotted() {
    let (mut bench, bytes) = seven_batches();
    bench.disk.rot(FIRST, bytes + BASE_SEQUENCE_AT, 1);
    // Of the five that are remembered none is left: what was before them is read again.
    bench.log.begin_cut(&mut bench.disk, Offset(20)).unwrap();
    assert_eq!(bench.log.fault(), Some(Fault::BadBatch { at: Offset(10) }));
}

#[test]
fn a_batch_whose_epoch_rotted_is_damage_to_whoever_looks_at_it() {
    type Look = fn(&mut Bench<MemoryDisk>) -> bool;
    let looks: [Look; 3] = [
        |bench| bench.read_slices(Offset(0), 1 << 20).is_err(),
        |bench| {
            let (codecs, end) = (log_core::Codecs::PLAIN, Offset(70));
            bench.log.offset_for_timestamp(&mut bench.disk, log_core::Timestamp(1), end, codecs).is_err()
        },
        |bench| bench.log.chain_step(&mut bench.disk, 1 << 20) == 0,
    ];
    for (number, look) in looks.into_iter().enumerate() {
        let mut bench = Bench::create(MemoryDisk::new(), without_tail());
        // As many bytes as are hashed at once.
        (0..7).for_each(|number| send(&mut bench, number, 1_000));
        let mut bench = Bench::open(bench.close(), without_tail(), true);
        bench.log.set_high_watermark(Offset(70));
        bench.disk.rot(FIRST, LEADER_EPOCH_AT, 2);
        assert!(look(&mut bench), "look {number}");
        assert!(matches!(bench.log.fault(), Some(Fault::BadBatch { .. })), "look {number}");
    }
}

/// The snapshots in the directory, oldest first.
fn snapshots(disk: &mut MemoryDisk) -> Vec<String> {
    let names = disk.list(DIR).unwrap().into_iter().map(|entry| format!("{DIR}/{}", entry.name));
    names.filter(|name| name.ends_with(".snapshot")).collect()
}

#[test]
fn a_start_reads_little_to_know_its_producers_also_where_the_newest_snapshot_rotted() {
    let roll = RollPolicy { segment_bytes: 1 << 30, ..RollPolicy::default() };
    let options = LogOptions { roll, ..options() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for number in 0..160 {
        send(&mut bench, number, 100 << 10);
        bench.commit();
    }
    pass_five_seconds(&mut bench);
    let producers = bench.log.producers().latest(ProducerId(5));
    let found = snapshots(&mut bench.disk);
    assert_eq!(found.len(), 2, "{found:?}");
    bench.disk.rot(&found[1], 30, 1);
    bench.disk.kill_process();
    let before = bench.disk.counters().bytes_read;
    let bench = Bench::open(bench.disk, options, false);
    let read = bench.disk.counters().bytes_read - before;
    assert!(read < 128 << 20, "{read} bytes read");
    assert_eq!(bench.log.producers().latest(ProducerId(5)), producers);
}

#[test]
fn a_cut_below_the_end_of_a_clean_stop_begins_at_a_snapshot() {
    let roll = RollPolicy { segment_bytes: 20_000, ..RollPolicy::default() };
    let options = LogOptions { roll, ..without_tail() };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    for number in 0..20 {
        send(&mut bench, number, 1000);
        bench.commit();
    }
    // What stands above the high watermark is cut after a clean stop.
    (20..28).for_each(|number| send(&mut bench, number, 100));
    bench.settle();
    let mut bench = Bench::open(bench.close(), options, true);
    bench.disk.evict();
    let before = bench.disk.counters().bytes_read;
    bench.log.begin_cut(&mut bench.disk, Offset(200)).unwrap();
    let read = bench.disk.counters().bytes_read - before;
    assert_eq!(bench.log.fault(), None);
    assert!(read < 3 * 20_000, "{read} of {} bytes read", bench.log.size_bytes());
    let again = checked(CRC, client_batch(CRC, 1, 10, 1000, producer(5, 0, 190)));
    bench.run();
    let appended = bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[again]).unwrap();
    assert_eq!((appended.is_duplicate, appended.base_offset), (true, Offset(190)));
}
