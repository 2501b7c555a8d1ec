//! Where the bytes of a fetch are: the segment, the place in it, how far the answer goes. No record is read.

use std::hint::black_box;

use log_core::segment::RollPolicy;
use log_core::{Crc32c, Offset};
use log_store::testing::Bench;
use log_store::{LogOptions, MemoryDisk, ReadLimit, ReadOutcome};

const SEGMENT_BYTES: u64 = 128 << 10;
const TAIL_BYTES: usize = 64 << 10;
const BATCHES: usize = 192;
const RECORDS: usize = 16;
const VALUE_BYTES: usize = 240;

/// Consumers that begin somewhere, and how often each goes on where it stopped.
const CONSUMERS: i64 = 16;
const FETCHES: usize = 4;
const FETCH_BYTES: u64 = 40 << 10;

/// Plans fetches all over a log of several segments, at its tail too.
pub(crate) fn plan(crc: Crc32c) -> Box<dyn FnMut()> {
    let roll = RollPolicy { segment_bytes: SEGMENT_BYTES, ..RollPolicy::default() };
    let options = LogOptions { roll, tail_bytes_max: TAIL_BYTES, ..LogOptions::new(crc) };
    let mut bench = Bench::create(MemoryDisk::new(), options);
    bench.append_many(BATCHES, RECORDS, VALUE_BYTES);
    bench.commit();
    assert!(bench.log.segment_count() > 4, "an index of one segment alone is no look-up");
    Box::new(move || {
        let end = bench.log.offsets().log_end();
        for consumer in 0..CONSUMERS {
            let mut from = Offset(end.0 * consumer / CONSUMERS + 5);
            for _ in 0..FETCHES {
                from = fetch(&mut bench, from, end);
            }
        }
    })
}

fn fetch(bench: &mut Bench<MemoryDisk>, from: Offset, end: Offset) -> Offset {
    let limit = ReadLimit { max_bytes: FETCH_BYTES, end, at_least_one: true };
    let planned = bench.log.read(&mut bench.disk, black_box(from), limit).expect("the log is whole");
    let ReadOutcome::Ready(found) = black_box(planned) else { panic!("a memory disk is never cold") };
    found.next_offset
}
