//! The record log on a simulated disk: what survives a power cut, and what is taken for damage.

use proptest::prelude::*;

use super::format::HEADER_BYTES;
use super::*;
use crate::MemoryDisk;

const CRC: Crc32c = crc32c::crc32c_append;
const OPTIONS: RecordLogOptions = RecordLogOptions { crc: CRC, file_bytes_max: 200 };
type Log = RecordLog<MemoryDisk>;

fn open(disk: &mut MemoryDisk, from: u64) -> Result<(Log, Vec<Record>), RecordLogError> {
    let (mut log, records) = Log::open(disk, LogId(7), "raft", OPTIONS, from)?;
    settle(&mut log, disk);
    Ok((log, records))
}

fn settle(log: &mut Log, disk: &mut MemoryDisk) {
    while let Some(completion) = disk.poll() {
        log.handle_completion(disk, &completion).unwrap();
    }
}

fn append(log: &mut Log, disk: &mut MemoryDisk, texts: &[&str]) {
    for text in texts {
        log.append(disk, Bytes::copy_from_slice(text.as_bytes())).unwrap();
    }
    log.sync(disk);
    settle(log, disk);
}

fn texts(records: &[Record]) -> Vec<(u64, String)> {
    records.iter().map(|(index, bytes)| (*index, String::from_utf8(bytes.to_vec()).unwrap())).collect()
}

#[test]
fn synced_records_survive_a_power_cut_and_later_ones_may_not() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    append(&mut log, &mut disk, &["a", "b"]);
    assert_eq!(log.durable_end(), 2);
    log.append(&mut disk, Bytes::from_static(b"c")).unwrap();
    assert_eq!((log.end(), log.durable_end()), (3, 2));
    for seed in 0..20 {
        disk.power_cut(seed);
        let (_, records) = open(&mut disk, 0).unwrap();
        assert_eq!(texts(&records)[..2], [(0, "a".to_owned()), (1, "b".to_owned())]);
    }
}

#[test]
fn d4_a_cut_is_durable_before_anything_is_appended_behind_it() {
    for seed in 0..50 {
        let mut disk = MemoryDisk::new();
        let (mut log, _) = open(&mut disk, 0).unwrap();
        append(&mut log, &mut disk, &["a", "old b", "old c", "old d"]);
        disk.hold(true);
        log.truncate(&mut disk, 1).unwrap();
        log.append(&mut disk, Bytes::from_static(b"new b")).unwrap();
        assert_eq!((log.end(), log.durable_end()), (2, 1));
        disk.power_cut(seed);
        let (_, records) = open(&mut disk, 0).unwrap();
        let found = texts(&records);
        assert!(found.iter().all(|(_, text)| text != "new b"), "{found:?}");
        assert_eq!(found[0], (0, "a".to_owned()));
    }
}

#[test]
fn records_that_came_during_a_cut_are_written_after_it() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    append(&mut log, &mut disk, &["a", "old b"]);
    log.truncate(&mut disk, 1).unwrap();
    assert_eq!(log.append(&mut disk, Bytes::from_static(b"new b")).unwrap(), 1);
    settle(&mut log, &mut disk);
    assert_eq!((log.end(), log.durable_end()), (2, 2));
    disk.power_cut(1);
    assert_eq!(texts(&open(&mut disk, 0).unwrap().1), [(0, "a".to_owned()), (1, "new b".to_owned())]);
}

#[test]
fn whole_files_are_purged_and_a_log_may_begin_late() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 5).unwrap();
    let long = "x".repeat(150);
    append(&mut log, &mut disk, &[&long, &long, &long, &long]);
    log.purge(&mut disk, 8).unwrap();
    log.sync(&mut disk);
    settle(&mut log, &mut disk);
    let (log, records) = open(&mut disk, 8).unwrap();
    assert_eq!(indexes(&records), [8]);
    assert_eq!(log.end(), 9);
    assert!(matches!(open(&mut disk, 2), Err(RecordLogError::Missing { index: 2, .. })));
}

/// Six records, two in each file, opened again for those from the fifth on.
fn opened_for_the_last_file(disk: &mut MemoryDisk) -> Log {
    let (mut log, _) = open(disk, 0).unwrap();
    let long = "x".repeat(150);
    append(&mut log, disk, &[&long, &long, &long, &long, &long, &long]);
    let (log, records) = open(disk, 4).unwrap();
    assert_eq!((indexes(&records), log.end()), (vec![4, 5], 6));
    log
}

fn indexes(records: &[Record]) -> Vec<u64> {
    records.iter().map(|(index, _)| *index).collect()
}

fn files(disk: &mut MemoryDisk) -> Vec<u64> {
    disk.list("raft").unwrap().iter().filter_map(|entry| format::parse_file_name(&entry.name)).collect()
}

#[test]
fn a_start_that_needs_less_may_be_followed_by_one_that_needs_more_until_a_purge() {
    let mut disk = MemoryDisk::new();
    let mut log = opened_for_the_last_file(&mut disk);
    disk.power_cut(1);
    assert_eq!(indexes(&open(&mut disk, 0).unwrap().1), [0, 1, 2, 3, 4, 5]);
    log.purge(&mut disk, 3).unwrap();
    assert_eq!(files(&mut disk), [2, 4]);
    log.purge(&mut disk, 4).unwrap();
    log.sync(&mut disk);
    settle(&mut log, &mut disk);
    disk.power_cut(2);
    assert_eq!(files(&mut disk), [4]);
    assert!(matches!(open(&mut disk, 2), Err(RecordLogError::Missing { index: 2, .. })));
}

#[test]
fn a_start_does_not_read_the_files_that_it_does_not_need() {
    let mut disk = MemoryDisk::new();
    opened_for_the_last_file(&mut disk);
    disk.rot("raft/00000000000000000000.records", 3, 1);
    let before = disk.counters().bytes_read;
    assert_eq!(indexes(&open(&mut disk, 4).unwrap().1), [4, 5]);
    assert_eq!(disk.counters().bytes_read - before, 2 * (HEADER_BYTES as u64 + 150));
    assert!(
        matches!(open(&mut disk, 0), Err(RecordLogError::Damaged { index: 0, .. })),
        "who needs it sees it"
    );
}

#[test]
fn a_cut_keeps_the_files_that_were_not_read_as_long_as_it_does_not_reach_them() {
    let mut disk = MemoryDisk::new();
    let mut log = opened_for_the_last_file(&mut disk);
    log.truncate(&mut disk, 4).unwrap();
    settle(&mut log, &mut disk);
    append(&mut log, &mut disk, &["new"]);
    assert_eq!(files(&mut disk), [0, 2, 4]);
    assert_eq!(texts(&open(&mut disk, 0).unwrap().1)[4..], [(4, "new".to_owned())]);
    log.truncate(&mut disk, 3).unwrap();
    settle(&mut log, &mut disk);
    append(&mut log, &mut disk, &["new"]);
    assert_eq!((files(&mut disk), log.end()), (vec![3], 4));
    assert_eq!(texts(&open(&mut disk, 3).unwrap().1), [(3, "new".to_owned())]);
}

#[test]
fn a_log_that_is_overtaken_leaves_no_file_behind() {
    let mut disk = MemoryDisk::new();
    let mut log = opened_for_the_last_file(&mut disk);
    log.restart_at(&mut disk, 10).unwrap();
    settle(&mut log, &mut disk);
    append(&mut log, &mut disk, &["k"]);
    assert_eq!(files(&mut disk), [10]);
    assert_eq!(texts(&open(&mut disk, 10).unwrap().1), [(10, "k".to_owned())]);
    let mut disk = MemoryDisk::new();
    opened_for_the_last_file(&mut disk);
    let (mut log, records) = open(&mut disk, 10).unwrap();
    assert_eq!((records.len(), log.end()), (0, 10));
    append(&mut log, &mut disk, &["k"]);
    log.purge(&mut disk, 10).unwrap();
    assert_eq!(files(&mut disk), [10]);
}

#[test]
fn a_log_overtaken_by_a_snapshot_begins_anew() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    append(&mut log, &mut disk, &["a", "b"]);
    log.restart_at(&mut disk, 10).unwrap();
    settle(&mut log, &mut disk);
    append(&mut log, &mut disk, &["k"]);
    let (log, records) = open(&mut disk, 10).unwrap();
    assert_eq!((texts(&records), log.end()), (vec![(10, "k".to_owned())], 11));
}

#[test]
fn a_log_of_one_empty_file_that_is_overtaken_begins_anew() {
    let mut disk = MemoryDisk::new();
    disk.create_dir("raft").unwrap();
    disk.open("raft/00000000000000000000.records", OpenMode::Create).unwrap();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    log.restart_at(&mut disk, 10).unwrap();
    append(&mut log, &mut disk, &["k"]);
    assert_eq!(files(&mut disk), [10]);
    assert_eq!(texts(&open(&mut disk, 10).unwrap().1), [(10, "k".to_owned())]);
}

#[test]
fn a_log_overtaken_twice_goes_on_each_time() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 5).unwrap();
    for next in [10, 20] {
        log.restart_at(&mut disk, next).unwrap();
        settle(&mut log, &mut disk);
        assert!(!log.is_cutting());
    }
    append(&mut log, &mut disk, &["u"]);
    assert_eq!((log.end(), log.durable_end()), (21, 21));
}

#[test]
fn d4_a_second_cut_during_a_cut_is_durable_too_before_anything_is_appended_behind_it() {
    for seed in 0..50 {
        let mut disk = MemoryDisk::new();
        let (mut log, _) = open(&mut disk, 0).unwrap();
        append(&mut log, &mut disk, &["a", "old b", "old c", "old d"]);
        disk.hold(true);
        log.truncate(&mut disk, 3).unwrap();
        log.truncate(&mut disk, 1).unwrap();
        log.append(&mut disk, Bytes::from_static(b"new b")).unwrap();
        assert!(disk.release_one());
        let completion = disk.poll().unwrap();
        log.handle_completion(&mut disk, &completion).unwrap();
        assert!(log.is_cutting());
        disk.power_cut(seed);
        let (_, records) = open(&mut disk, 0).unwrap();
        assert!(texts(&records).iter().all(|(_, text)| text != "new b"));
    }
}

#[test]
fn a_log_that_ends_below_the_first_record_needed_begins_there() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    append(&mut log, &mut disk, &["a", "b"]);
    let (mut log, records) = open(&mut disk, 10).unwrap();
    assert!(records.is_empty());
    append(&mut log, &mut disk, &["k"]);
    assert_eq!(texts(&open(&mut disk, 10).unwrap().1), [(10, "k".to_owned())]);
}

#[test]
fn a_start_that_needs_only_later_records_removes_none_before_it_is_told_to() {
    for seed in 0..50 {
        let mut disk = MemoryDisk::new();
        let (mut log, _) = open(&mut disk, 0).unwrap();
        append(&mut log, &mut disk, &["a", "b"]);
        disk.hold(true);
        let (mut log, records) = Log::open(&mut disk, LogId(7), "raft", OPTIONS, 10).unwrap();
        assert_eq!((log.end(), log.durable_end(), records.len()), (10, 10, 0));
        // What says that only later ones are needed may be lost with the power.
        log.append(&mut disk, Bytes::from_static(b"c")).unwrap();
        disk.power_cut(seed);
        disk.hold(false);
        let found = texts(&open(&mut disk, 0).unwrap().1);
        assert_eq!(found, [(0, "a".to_owned()), (1, "b".to_owned())], "seed {seed}");
        let (mut log, _) = open(&mut disk, 10).unwrap();
        append(&mut log, &mut disk, &["c"]);
        disk.power_cut(seed);
        assert_eq!(texts(&open(&mut disk, 10).unwrap().1), [(10, "c".to_owned())]);
        assert_eq!(files(&mut disk), [0, 10]);
        let (mut log, _) = open(&mut disk, 10).unwrap();
        log.purge(&mut disk, 10).unwrap();
        assert_eq!(files(&mut disk), [10]);
    }
}

#[test]
fn a_flipped_bit_of_a_synced_record_is_damage_and_never_a_torn_end() {
    for position in 0..58 {
        let mut disk = MemoryDisk::new();
        let (mut log, _) = open(&mut disk, 0).unwrap();
        append(&mut log, &mut disk, &["a", "b"]);
        disk.rot("raft/00000000000000000000.records", position, 1);
        assert!(matches!(open(&mut disk, 0), Err(RecordLogError::Damaged { .. })), "byte {position}");
    }
}

#[test]
fn a_reader_from_outside_sees_the_records_before_the_first_bad_one() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    append(&mut log, &mut disk, &["a", "b"]);
    let name = "00000000000000000000.records";
    let file = disk.open(&format!("raft/{name}"), OpenMode::Read).unwrap();
    let mut bytes = vec![0; 58];
    disk.read_at(&file, 0, &mut bytes).unwrap();
    let seen = |bytes: &[u8]| texts(&records_of(name, &Bytes::copy_from_slice(bytes), crc32c::crc32c_append));
    assert_eq!(seen(&bytes), [(0, "a".to_owned()), (1, "b".to_owned())]);
    bytes[57] ^= 1;
    assert_eq!(seen(&bytes), [(0, "a".to_owned())]);
    assert_eq!(seen(&[]), []);
}

#[test]
fn a_failed_sync_is_an_error() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    log.append(&mut disk, Bytes::from_static(b"a")).unwrap();
    disk.fail_next_sync(crate::FailedSync::ShowsNew);
    log.sync(&mut disk);
    let completion = disk.poll().unwrap();
    assert!(log.handle_completion(&mut disk, &completion).is_err());
    assert_eq!(log.durable_end(), 0);
}

proptest! {
    #[test]
    fn arbitrary_files_are_refused_or_read_without_a_panic(bytes: Vec<u8>) {
        let mut disk = MemoryDisk::new();
        disk.create_dir("raft").unwrap();
        let file = disk.open("raft/00000000000000000000.records", OpenMode::Create).unwrap();
        disk.write_at(&file, 0, &[&bytes]).unwrap();
        let _ = open(&mut disk, 0);
    }
}

#[test]
fn a_hole_in_records_that_were_never_durable_is_a_torn_end() {
    let long = "x".repeat(700);
    let mut holes = 0;
    for seed in 0..200 {
        let mut disk = MemoryDisk::new();
        let (mut log, _) = open(&mut disk, 0).unwrap();
        append(&mut log, &mut disk, &["a", "b"]);
        for text in [&long, "c", &long, "d", &long] {
            log.append(&mut disk, Bytes::copy_from_slice(text.as_bytes())).unwrap();
        }
        disk.power_cut(seed);
        let (log, records) = open(&mut disk, 0).unwrap();
        assert_eq!(texts(&records)[..2], [(0, "a".to_owned()), (1, "b".to_owned())]);
        holes += u32::from(log.end() < 7);
        let (_, again) = open(&mut disk, 0).unwrap();
        assert_eq!(again, records, "what was recovered stays");
    }
    assert!(holes > 0);
}

#[test]
fn d4_what_a_start_drops_is_gone_before_anything_is_written_in_its_place() {
    let mut torn = 0;
    for seed in 0..400 {
        let mut disk = MemoryDisk::new();
        let (mut log, _) = Log::open(&mut disk, LogId(7), "raft", RecordLogOptions::new(CRC), 0).unwrap();
        settle(&mut log, &mut disk);
        // The next header lies across a boundary of sectors.
        append(&mut log, &mut disk, &[&"a".repeat(512 - 2 * HEADER_BYTES + 3), "b"]);
        let durable = log.durable_end();
        disk.hold(true);
        for round in 0..4 {
            for _ in 0..3 {
                let text = ["c", "d", "e", "f"][round].repeat(300);
                log.append(&mut disk, Bytes::from(text)).unwrap();
                log.sync(&mut disk);
            }
            disk.power_cut(seed * 4 + round as u64);
            disk.hold(true);
            let before = log.end();
            let found = Log::open(&mut disk, LogId(7), "raft", RecordLogOptions::new(CRC), 0);
            log = found.unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}")).0;
            assert!(log.end() >= durable, "seed {seed}, round {round}");
            torn += u32::from(log.end() < before);
        }
    }
    assert!(torn > 0);
}

#[test]
fn a_damaged_record_below_a_durable_end_that_a_later_one_names_is_never_cut() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    let long = "x".repeat(60);
    append(&mut log, &mut disk, &[&long]);
    append(&mut log, &mut disk, &["b"]);
    let file = disk.open("raft/00000000000000000000.records", OpenMode::Write).unwrap();
    disk.write_at(&file, 0, &[&[0; 88]]).unwrap();
    assert!(matches!(open(&mut disk, 0), Err(RecordLogError::Damaged { index: 0, .. })));
}

#[test]
fn a_header_of_which_a_power_cut_kept_only_the_second_sector_is_a_torn_end() {
    let sector = usize::try_from(crate::disk::SECTOR_BYTES).unwrap();
    // A record may be empty, as the first of each leader of the quorum is.
    for (front, payload) in (4..HEADER_BYTES).flat_map(|front| [(front, 77), (front, 0)]) {
        let mut disk = MemoryDisk::new();
        let options = RecordLogOptions { file_bytes_max: 1 << 20, ..OPTIONS };
        let (mut log, _) = Log::open(&mut disk, LogId(7), "raft", options, 0).unwrap();
        settle(&mut log, &mut disk);
        let third = "a".repeat(sector - front - 3 * HEADER_BYTES - 2);
        append(&mut log, &mut disk, &["a", "b", &third, &"c".repeat(payload)]);
        let file = disk.open("raft/00000000000000000000.records", OpenMode::Write).unwrap();
        let at = u64::try_from(sector - front).unwrap();
        disk.write_at(&file, at, &[&vec![0; front]]).unwrap();
        let (log, records) = Log::open(&mut disk, LogId(7), "raft", options, 0).unwrap();
        // Without its first bytes, which are zeros anyway, the empty record is whole.
        let kept = if payload == 0 && front < 12 { 4 } else { 3 };
        assert_eq!((records.len(), log.end()), (kept, kept as u64), "{front} of {payload} bytes are lost");
    }
}

#[test]
fn without_a_file_descriptor_for_the_next_file_the_last_one_grows() {
    let mut disk = MemoryDisk::new();
    let (mut log, _) = open(&mut disk, 0).unwrap();
    let text = "x".repeat(150);
    append(&mut log, &mut disk, &[&text, &text]);
    for _ in 0..2 {
        disk.fail_next(crate::DiskOperation::Open, crate::DiskFault::NoDescriptor);
        append(&mut log, &mut disk, &[&text]);
    }
    append(&mut log, &mut disk, &[&text]);
    assert_eq!(log.durable_end(), 5);
    disk.power_cut(0);
    let (_, records) = open(&mut disk, 0).unwrap();
    assert_eq!(texts(&records), (0..5).map(|index| (index, text.clone())).collect::<Vec<_>>());
    assert_eq!(disk.list("raft").unwrap().len(), 2);
}
