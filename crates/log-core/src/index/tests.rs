//! Both indexes against a plain list of batches, and their files.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::batch::BatchHeader;
use crate::error::FileError;
use crate::limits::INDEX_INTERVAL_BYTES;
use crate::offset::Offset;
use crate::testing::{CONTAINER_FIELDS, CRC, annotated, every_cut_and_flip_is_refused, stored_batch};
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

/// The three files of a segment's indexes.
fn files(indexes: &SegmentIndexes) -> (Vec<u8>, Vec<u8>, IndexChecksums) {
    let checksums = IndexChecksums::of(&indexes.offsets, &indexes.times, CRC);
    (indexes.offsets.encode(), indexes.times.encode(), checksums)
}

#[test]
fn the_bytes_of_index_files_are_frozen() {
    let (offsets, times, checksums) = files(&sample());
    insta::assert_snapshot!("offset_index", annotated(&offsets, &[(4, "relative offset"), (4, "position")]));
    let entry = [(8, "timestamp"), (4, "relative offset")];
    insta::assert_snapshot!("time_index", annotated(&times, &[entry, entry].concat()));
    let crcs = [(4, "crc-32c of .index"), (4, "crc-32c of .timeindex")];
    let own = [&[(8, "base offset")][..], &crcs, &[(8, "greatest timestamp")]].concat();
    let fields = [&CONTAINER_FIELDS[..], &own].concat();
    insta::assert_snapshot!("index_checksums", annotated(&checksums.encode(BASE, CRC), &fields));
}

#[test]
fn checksums_of_the_first_version_are_read_and_say_no_greatest_timestamp() {
    let (_, _, checksums) = files(&sample());
    assert_eq!(checksums.max_timestamp, Some(Timestamp(40)));
    assert_eq!(files(&SegmentIndexes::new(BASE)).2.max_timestamp, Some(Timestamp::NONE));
    let first = IndexChecksums { max_timestamp: None, ..checksums };
    let file = first.encode(BASE, CRC);
    assert_eq!((file.len(), file[5]), (16 + 16, 1));
    assert_eq!(IndexChecksums::decode(BASE, &file, CRC), Ok(first));
}

#[test]
fn every_cut_and_flip_of_an_index_file_is_refused() {
    let (offsets, times, checksums) = files(&sample());
    every_cut_and_flip_is_refused(&offsets, |file| OffsetIndex::decode(BASE, file, checksums.offsets, CRC));
    every_cut_and_flip_is_refused(&times, |file| TimeIndex::decode(BASE, file, checksums.times, CRC));
    let file = checksums.encode(BASE, CRC);
    every_cut_and_flip_is_refused(&file, |file| IndexChecksums::decode(BASE, file, CRC));
}

#[test]
fn an_index_of_another_segment_is_refused() {
    let (offsets, _, checksums) = files(&sample());
    let other = OffsetIndex::decode(Offset(999), &offsets, checksums.offsets, CRC);
    assert!(matches!(other, Err(FileError::Checksum { .. })));
    let other = IndexChecksums::decode(Offset(999), &checksums.encode(BASE, CRC), CRC);
    assert_eq!(other, Err(FileError::Entry { entry: 0 }));
}

#[test]
fn an_index_file_holds_nothing_but_entries() {
    let indexes = sample();
    let (offsets, times, _) = files(&indexes);
    assert_eq!(offsets.len(), 8 * indexes.offsets.len());
    assert_eq!(times.len(), 12 * indexes.times.len());
    let (offsets, times, _) = files(&SegmentIndexes::new(BASE));
    assert!(offsets.is_empty() && times.is_empty());
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
        let (offsets, times, checksums) = files(&indexes);
        let decoded = OffsetIndex::decode(BASE, &offsets, checksums.offsets, CRC);
        prop_assert_eq!(decoded.as_ref(), Ok(&indexes.offsets));
        let decoded = TimeIndex::decode(BASE, &times, checksums.times, CRC);
        prop_assert_eq!(decoded.as_ref(), Ok(&indexes.times));
        prop_assert_eq!(IndexChecksums::decode(BASE, &checksums.encode(BASE, CRC), CRC), Ok(checksums));
    }

    #[test]
    fn arbitrary_bytes_are_refused(file in proptest::collection::vec(0..=255_u8, 1..200), checksum: u32) {
        prop_assert!(OffsetIndex::decode(BASE, &file, checksum, CRC).is_err());
        prop_assert!(TimeIndex::decode(BASE, &file, checksum, CRC).is_err());
        prop_assert!(IndexChecksums::decode(BASE, &file, CRC).is_err());
    }
}
