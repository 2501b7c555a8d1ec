//! Several batches in one write are tried against what is known of their producers alone, however many others there are.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use highwater_log_store::{Disk, LeaderBatch, LogId, LogOptions, MemoryDisk, PartitionLog};
use log_core::batch::{BatchBuilder, BatchSpec, NewRecord, ProduceRules, ProducerStamp, validate};
use log_core::{
    Codecs, Crc32c, LeaderEpoch, MonoTime, Now, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp,
};

const CRC: Crc32c = crc32c::crc32c_append;
const NOW: Now = Now { mono: MonoTime(1), wall: Timestamp(1_700_000_000_000) };

fn batch(producer: i64, sequence: i32) -> LeaderBatch {
    let mut builder = BatchBuilder::new();
    let record = NewRecord { timestamp: NOW.wall, key: None, value: Some(b"v"), headers: &[] };
    builder.push(&record).unwrap();
    let (id, epoch, base_sequence) = (ProducerId(producer), ProducerEpoch(0), Sequence(sequence));
    let spec =
        BatchSpec { producer: Some(ProducerStamp { id, epoch, base_sequence }), ..BatchSpec::default() };
    let bytes = bytes::Bytes::from(builder.build(&spec, Codecs::PLAIN, CRC).unwrap());
    let produced = validate(&bytes, &ProduceRules::at(NOW.wall), CRC).unwrap();
    LeaderBatch { bytes, produced }
}

/// Bytes that one append of two batches allocates in a log that knows so many producers.
fn allocated_beside(producers: i64) -> u64 {
    let mut disk = MemoryDisk::new();
    let options = LogOptions { reserve_bytes: 0, ..LogOptions::new(CRC) };
    let mut log = PartitionLog::create(&mut disk, LogId(7), "0", options, NOW).unwrap();
    while let Some(completion) = disk.poll() {
        log.handle_completion(&mut disk, NOW, completion);
    }
    for producer in 0..producers {
        log.append(&mut disk, NOW, LeaderEpoch(1), &[batch(producer, 0)]).unwrap();
    }
    let both = [batch(0, 1), batch(1, 1)];
    let append = || {
        let appended = log.append(&mut disk, NOW, LeaderEpoch(1), &both).unwrap();
        assert_eq!(appended.base_offset, Offset(producers));
    };
    allocation_counter::measure(append).bytes_total
}

#[test]
fn other_producers_cost_an_append_of_several_batches_nothing() {
    let (few, many) = (allocated_beside(2), allocated_beside(2_000));
    assert!(many < few + (16 << 10), "{few} bytes beside 2 producers, {many} beside 2000");
}
