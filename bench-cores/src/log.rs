//! What a broker and a client do with record batches, and how a log finds a place.

use std::hint::black_box;

use log_core::batch::{
    BatchBuilder, BatchHeader, BatchSpec, NewRecord, ProduceRules, Records, records_of, validate,
};
use log_core::index::{OffsetIndex, OffsetIndexEntry, TimeIndex, TimeIndexEntry};
use log_core::{Codecs, Crc32c, Offset, Timestamp};

/// A batch of the size that Kafka's clients send by default, of small records.
const RECORDS: usize = 150;
const VALUE_BYTES: usize = 100;
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// An entry about every 4 KiB of a segment of 1 GiB would be four times as many: a binary search takes two steps more then.
const INDEX_ENTRIES: u32 = 1 << 16;
const RECORDS_PER_ENTRY: i64 = 38;
const LOOK_UPS: u64 = 256;

/// Values that differ, without chance.
fn values() -> Vec<Vec<u8>> {
    let value = |record: usize| (0..VALUE_BYTES).map(|at| (record * 31 + at * 7) as u8).collect();
    (0..RECORDS).map(value).collect()
}

/// The records, each a millisecond after the one before.
fn fill(builder: &mut BatchBuilder, values: &[Vec<u8>]) {
    for (number, value) in (0..).zip(values) {
        let timestamp = Timestamp(NOW.0 + number);
        let key = value.first_chunk::<8>().map(|key| &key[..]);
        let record = NewRecord { timestamp, key, value: Some(value), headers: &[] };
        builder.push(&record).expect("the batch is short");
    }
}

/// A batch as a client sends it.
pub(crate) fn batch(crc: Crc32c) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    fill(&mut builder, &values());
    builder.build(&BatchSpec::default(), Codecs::PLAIN, crc).expect("the batch is short")
}

/// A broker checks a batch; a consumer reads all of its records.
pub(crate) fn parse(crc: Crc32c) -> Box<dyn FnMut()> {
    let batch = batch(crc);
    let rules = ProduceRules::at(NOW);
    Box::new(move || {
        let batch = black_box(&batch[..]);
        let produced = validate(batch, &rules, crc).expect("the batch is whole");
        assert_eq!(values_of(&produced.header, batch), RECORDS * VALUE_BYTES);
    })
}

fn values_of(header: &BatchHeader, batch: &[u8]) -> usize {
    let records = records_of(header, batch).expect("the batch is whole");
    let records = Records::new(header, records).map(|record| record.expect("the batch is whole"));
    records.map(|record| record.value.map_or(0, <[u8]>::len)).sum()
}

/// A client makes a batch in memory that an earlier one has left.
pub(crate) fn build(crc: Crc32c) -> Box<dyn FnMut()> {
    let values = values();
    let mut memory = Vec::new();
    Box::new(move || {
        let mut builder = BatchBuilder::in_buffer(std::mem::take(&mut memory));
        fill(&mut builder, black_box(&values));
        let batch = builder.build(&BatchSpec::default(), Codecs::PLAIN, crc).expect("the batch is short");
        memory = black_box(batch);
    })
}

/// By offset and by time, all over a segment.
pub(crate) fn look_up(_: Crc32c) -> Box<dyn FnMut()> {
    let base = Offset(1_000_000);
    let (mut offsets, mut times) = (OffsetIndex::new(base), TimeIndex::new(base));
    for entry in 1..=INDEX_ENTRIES {
        let last_offset = base.plus(i64::from(entry) * RECORDS_PER_ENTRY);
        offsets.push(OffsetIndexEntry { last_offset, position: entry * 4096 });
        times.push(TimeIndexEntry { timestamp: Timestamp(NOW.0 + i64::from(entry)), last_offset });
    }
    Box::new(move || {
        for number in 0..LOOK_UPS {
            let entry = (number * 2_654_435_761 % u64::from(INDEX_ENTRIES)) as i64;
            let by_time = times.offset_for(black_box(Timestamp(NOW.0 + entry)));
            let position = offsets.position_for(black_box(base.plus(entry * RECORDS_PER_ENTRY + 7)));
            black_box((by_time, position));
        }
    })
}

/// The checksum of 64 KiB.
pub(crate) fn checksum(crc: Crc32c) -> Box<dyn FnMut()> {
    let bytes: Vec<u8> = (0..64_u32 << 10).map(|at| (at * 31 >> 3) as u8).collect();
    Box::new(move || {
        black_box(crc(0, black_box(&bytes)));
    })
}
