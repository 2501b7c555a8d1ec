//! Both indexes against a plain list of batches, and their files.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::batch::BatchHeader;
use crate::error::FileError;
use crate::limits::INDEX_INTERVAL_BYTES;
use crate::offset::Offset;
use crate::testing::{CRC, annotated, every_cut_and_flip_is_refused, stored_batch};
use crate::time::Timestamp;

const BASE: Offset = Offset(1000);

#[derive(Clone, Copy, Debug)]
struct Placed {
    header: BatchHeader,
    position: u32,
}

/// Batches of these offset counts, lengths and max timestamps, one after the other from [`BASE`] on.
fn placed(batches: &[(i32, usize, i64)]) -> Vec<Placed> {
    let template = BatchHeader::parse(&stored_batch(0, 0, &[b"v"])).unwrap();
    let (mut base_offset, mut position) = (BASE, 0);
    let place = |&(offsets, batch_bytes, timestamp): &(i32, usize, i64)| {
        let header = BatchHeader {
            base_offset,
            batch_bytes,
            last_offset_delta: offsets - 1,
            max_timestamp: Timestamp(timestamp),
            ..template
        };
        let placed = Placed { header, position };
        base_offset = header.next_offset();
        position += batch_bytes as u32;
        placed
    };
    batches.iter().map(place).collect()
}

fn indexed(batches: &[Placed]) -> SegmentIndexes {
    let mut indexes = SegmentIndexes::new(BASE);
    batches.iter().for_each(|batch| indexes.on_batch(&batch.header, batch.position));
    indexes
}

fn batches() -> impl Strategy<Value = Vec<Placed>> {
    proptest::collection::vec((1..50_i32, 61..9000_usize, 0..1000_i64), 0..40)
        .prop_map(|batches| placed(&batches))
}

fn sample() -> SegmentIndexes {
    let mut indexes = indexed(&placed(&[(5, 3000, 10), (5, 3000, 30), (5, 3000, 20), (5, 3000, 40)]));
    indexes.seal();
    indexes
}

#[test]
fn entries_come_about_every_interval() {
    let indexes = sample();
    assert_eq!(indexes.offsets.len(), 1);
    let entry = OffsetIndexEntry { last_offset: Offset(1014), position: 6000 };
    assert_eq!(indexes.offsets.last(), Some(entry));
    let sealed = TimeIndexEntry { timestamp: Timestamp(40), last_offset: Offset(1019) };
    assert_eq!(indexes.times.last(), Some(sealed));
}

#[test]
fn the_bytes_of_index_files_are_frozen() {
    let indexes = sample();
    let fields = [(4, "relative offset"), (4, "position"), (4, "trailer"), (4, "crc-32c")];
    insta::assert_snapshot!("offset_index", annotated(&indexes.offsets.encode(CRC), &fields));
    let entry = [(8, "timestamp"), (4, "relative offset")];
    let fields = [&entry[..], &entry, &[(4, "trailer"), (4, "crc-32c"), (4, "trailer")]].concat();
    insta::assert_snapshot!("time_index", annotated(&indexes.times.encode(CRC), &fields));
}

#[test]
fn every_cut_and_flip_of_an_index_file_is_refused() {
    let indexes = sample();
    let file = indexes.offsets.encode(CRC);
    every_cut_and_flip_is_refused(&file, |file| OffsetIndex::decode(BASE, file, CRC));
    let file = indexes.times.encode(CRC);
    every_cut_and_flip_is_refused(&file, |file| TimeIndex::decode(BASE, file, CRC));
}

#[test]
fn an_index_of_another_segment_is_refused() {
    let file = sample().offsets.encode(CRC);
    let other = OffsetIndex::decode(Offset(999), &file, CRC);
    assert!(matches!(other, Err(FileError::Checksum { .. })));
}

#[test]
fn the_trailers_read_as_empty_slots() {
    let indexes = sample();
    let file = indexes.offsets.encode(CRC);
    assert_eq!(file[file.len() - 8..file.len() - 4], [0; 4]);
    let file = indexes.times.encode(CRC);
    assert_eq!(file[file.len() - 4..], [0; 4]);
    assert!(file[file.len() - 12] == 0x7f);
}

proptest! {
    #[test]
    fn an_offset_is_found_by_a_short_scan(batches in batches()) {
        let index = indexed(&batches).offsets;
        for batch in &batches {
            for offset in batch.header.base_offset.0..=batch.header.last_offset().0 {
                let start = index.position_for(Offset(offset));
                prop_assert!(start <= batch.position);
                prop_assert!(batches.iter().any(|batch| batch.position == start));
                // One interval, one batch that crossed it, and one whose end the entry names.
                prop_assert!(u64::from(batch.position - start) <= INDEX_INTERVAL_BYTES + 3 * 9000);
            }
        }
        prop_assert_eq!(index.position_for(Offset(0)), 0);
    }

    #[test]
    fn a_timestamp_is_found_by_a_scan_from_the_offset_given(batches in batches(), target in 0..1000_i64) {
        let mut indexes = indexed(&batches);
        indexes.seal();
        let start = indexes.times.offset_for(Timestamp(target));
        let reaches = |batch: &&Placed| batch.header.max_timestamp >= Timestamp(target);
        if let Some(first) = batches.iter().find(reaches) {
            prop_assert!(start <= first.header.last_offset());
        }
        let max = batches.iter().map(|batch| batch.header.max_timestamp).max();
        prop_assert_eq!(indexes.max_timestamp(), max.unwrap_or(Timestamp::NONE));
    }

    #[test]
    fn a_cut_index_names_no_batch_that_is_gone(batches in batches(), kept in 0..40_usize) {
        let mut indexes = indexed(&batches);
        let kept = &batches[..kept.min(batches.len())];
        let end = kept.last().map_or(BASE, |last| last.header.next_offset());
        indexes.truncate_to(end);
        prop_assert!(indexes.offsets.last().is_none_or(|last| last.last_offset < end));
        prop_assert!(indexes.times.last().is_none_or(|last| last.last_offset < end));
        let max = kept.iter().map(|batch| batch.header.max_timestamp).max();
        prop_assert!(indexes.max_timestamp() <= max.unwrap_or(Timestamp::NONE));
    }

    #[test]
    fn files_are_read_back(batches in batches()) {
        let indexes = indexed(&batches);
        let offsets = OffsetIndex::decode(BASE, &indexes.offsets.encode(CRC), CRC);
        prop_assert_eq!(offsets.as_ref(), Ok(&indexes.offsets));
        let times = TimeIndex::decode(BASE, &indexes.times.encode(CRC), CRC);
        prop_assert_eq!(times.as_ref(), Ok(&indexes.times));
    }

    #[test]
    fn arbitrary_bytes_are_refused(file: Vec<u8>) {
        prop_assert!(OffsetIndex::decode(BASE, &file, CRC).is_err());
        prop_assert!(TimeIndex::decode(BASE, &file, CRC).is_err());
    }
}
