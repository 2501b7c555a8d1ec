//! The small files beside a log: indexes, leader epochs, producers, chains, bounds and their names.
//!
//! The first byte says which. What decodes is encoded again to the same bytes.

#![no_main]

use highwater_fuzz::no_checksum as crc;
use log_core::chain::Chain;
use log_core::directory::{parse_partition_dir, parse_topic_dir};
use log_core::index::{IndexChecksums, OffsetIndex, TimeIndex};
use log_core::segment::SegmentFile;
use log_core::{EpochCache, LeaderEpoch, Link, Offset, ProducerTable, Timestamp};
use log_store::{Disk, LogId, MemoryDisk, OpenMode, SlotFile, directory};

highwater_fuzz::target!(seeds, check);

/// A base offset such as segments have.
const BASE: Offset = Offset(1_000);

fn check(bytes: &[u8]) {
    let Some((kind, file)) = bytes.split_first() else { return };
    match kind % 8 {
        0 => offset_index(file),
        1 => time_index(file),
        2 => epochs(file),
        3 => producers(file),
        4 => chain(file),
        5 => names(file),
        6 => checksums(file),
        _ => small_files(file),
    }
}

fn offset_index(file: &[u8]) {
    let Ok(mut index) = OffsetIndex::decode(BASE, file, 0, crc) else { return };
    assert_eq!(index.encode(), file);
    for offset in [Offset(i64::MIN), Offset::ZERO, BASE, Offset(1_100), Offset(i64::MAX)] {
        let position = index.position_for(offset);
        let _ = (index.position_after(position), index.position_at_most(position));
    }
    index.truncate_to(Offset(1_100));
    assert!(index.last().is_none_or(|entry| entry.last_offset < Offset(1_100)));
}

fn time_index(file: &[u8]) {
    let Ok(mut index) = TimeIndex::decode(BASE, file, 0, crc) else { return };
    assert_eq!(index.encode(), file);
    for timestamp in [i64::MIN, -1, 0, 1_700_000_000_000, i64::MAX] {
        assert!(index.offset_for(Timestamp(timestamp)) >= BASE);
    }
    index.truncate_to(Offset(1_100));
    assert!(index.last().is_none_or(|entry| entry.last_offset < Offset(1_100)));
}

fn epochs(file: &[u8]) {
    let Ok(mut cache) = EpochCache::decode(file, crc) else { return };
    assert_eq!(cache.encode(crc), file);
    for epoch in [-1, 0, 3, i32::MAX] {
        let _ = cache.end_offset_for(LeaderEpoch(epoch), Offset(i64::MAX));
    }
    cache.raise_start_to(Offset(5));
    cache.truncate_to(Offset(50));
    let next = cache.latest().map_or(0, |latest| latest.0.saturating_add(1));
    cache.assign(LeaderEpoch(next), Offset(60));
}

fn producers(file: &[u8]) {
    let Ok((end, mut table)) = ProducerTable::decode(file, crc) else { return };
    assert_eq!(table.encode(end, crc), file);
    let batch = highwater_fuzz::batch(0, &["one"], crc);
    let header = log_core::batch::BatchHeader::parse(&batch).expect("it was just built");
    let _ = table.check(&header, true);
    let _ = table.cut_to(Offset(end.0 / 2));
    table.expire(Timestamp(i64::MAX), 1);
}

fn chain(file: &[u8]) {
    let Ok(chain) = Chain::decode(BASE, file, crc) else { return };
    let header = Chain::header(BASE, chain.start, crc);
    let entries = chain.entries.iter().flat_map(|entry| Chain::entry(BASE, entry, crc));
    let again: Vec<u8> = header.into_iter().chain(entries).collect();
    assert_eq!(again.len(), chain.file_bytes());
    assert_eq!(again, file[..chain.file_bytes()]);
    assert!(chain.floor(Offset(i64::MAX)).is_none_or(|entry| entry == chain.last()));
}

fn checksums(file: &[u8]) {
    let Ok(found) = IndexChecksums::decode(BASE, file, crc) else { return };
    assert_eq!(found.encode(BASE, crc), file);
}

fn names(file: &[u8]) {
    let Ok(name) = std::str::from_utf8(file) else { return };
    if let Ok(segment) = SegmentFile::parse(name) {
        assert_eq!(segment.name(), name);
    }
    let _ = (parse_topic_dir(name), parse_partition_dir(name));
}

/// The format of a directory, and two slots: neither is trusted, both are only read.
fn small_files(bytes: &[u8]) {
    let mut disk = MemoryDisk::new();
    disk.create_dir("slots").expect("a folder is made");
    for name in ["format", "slots/slots"] {
        let file = disk.open(name, OpenMode::Create).expect("a file is made");
        disk.write_at(&file, 0, &[bytes]).expect("it is written");
    }
    let _ = directory::read_format(&mut disk, &[], crc);
    let _ = SlotFile::open(&mut disk, LogId(1), "slots", "slots", *b"FUZZ", crc);
}

fn seeds() -> Vec<Vec<u8>> {
    let batch = highwater_fuzz::batch(1_000, &["one", "two"], crc);
    let header = log_core::batch::BatchHeader::parse(&batch).expect("it was just built");
    let mut offsets = OffsetIndex::new(BASE);
    let mut times = TimeIndex::new(BASE);
    for number in 1..4 {
        let last_offset = Offset(1_000 + number * 10);
        offsets.push(log_core::index::OffsetIndexEntry { last_offset, position: number as u32 * 100 });
        times.push(log_core::index::TimeIndexEntry { timestamp: Timestamp(number * 1_000), last_offset });
    }
    let mut epochs = EpochCache::new();
    epochs.assign(LeaderEpoch(1), Offset(0));
    epochs.assign(LeaderEpoch(3), Offset(40));
    let mut producers = ProducerTable::new();
    producers.append(&header, Timestamp(5));
    let link = Link([7; 32]);
    let entry = log_core::chain::ChainEntry { end: header.next_offset(), link: link.after(&batch) };
    let chain = [Chain::header(BASE, link, crc), Chain::entry(BASE, &entry, crc).to_vec()].concat();
    let files = [
        offsets.encode(),
        times.encode(),
        epochs.encode(crc),
        producers.encode(Offset(2_000), crc),
        chain,
        b"00000000000000001000.log".to_vec(),
        IndexChecksums::of(&offsets, &times, crc).encode(BASE, crc),
        b"HWFM".to_vec(),
    ];
    (0..).zip(files).map(|(kind, file)| [&[kind][..], &file].concat()).collect()
}
