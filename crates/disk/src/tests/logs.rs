//! What the log store keeps on this disk is found again by the next process.

use bytes::Bytes;
use log_core::Crc32c;
use log_store::{RecordLog, RecordLogOptions, SlotFile, SlotState};

use super::*;

const CRC: Crc32c = crc32c::crc32c_append;

fn open_log(disk: &mut FileDisk) -> (RecordLog<FileDisk>, Vec<log_store::Record>) {
    let options = RecordLogOptions { crc: CRC, file_bytes_max: 1000 };
    let (mut log, records) = RecordLog::open(disk, LogId(7), "raft/log", options, 0).unwrap();
    settle(&mut log, disk);
    (log, records)
}

fn settle(log: &mut RecordLog<FileDisk>, disk: &mut FileDisk) {
    while let Some(completion) = disk.wait() {
        log.handle_completion(disk, &completion).unwrap();
    }
}

#[test]
fn a_record_log_is_found_again() {
    let (temp, handle, mut disk) = open();
    let (mut log, records) = open_log(&mut disk);
    assert_eq!(records, []);
    for number in 0..100_u64 {
        log.append(&mut disk, Bytes::from(vec![number as u8; 50])).unwrap();
        log.sync(&mut disk);
    }
    settle(&mut log, &mut disk);
    log.sync(&mut disk);
    settle(&mut log, &mut disk);
    assert_eq!((log.end(), log.durable_end()), (100, 100));
    log.truncate(&mut disk, 60).unwrap();
    settle(&mut log, &mut disk);
    drop((log, disk, handle));

    let handle = DirectoryHandle::open(temp.path()).unwrap();
    let mut disk = disk_of(&handle);
    let (log, records) = open_log(&mut disk);
    assert_eq!((log.end(), records.len()), (60, 60));
    assert!(records.iter().all(|(index, bytes)| bytes[..] == [*index as u8; 50]));
    assert!(handle.counters().bytes_read_around_cache >= 60 * 50);
}

#[test]
fn a_slot_file_is_found_again() {
    let (_temp, _handle, mut disk) = open();
    let open = |disk: &mut FileDisk| SlotFile::open(disk, LogId(7), "raft", "vote", *b"vote", CRC).unwrap();
    let (mut slots, state) = open(&mut disk);
    assert_eq!(state, SlotState::Empty);
    for state in [&b"one"[..], b"two", b"three"] {
        slots.write(&mut disk, state).unwrap();
        while let Some(completion) = disk.wait() {
            slots.handle_completion(&mut disk, &completion).unwrap();
        }
    }
    drop(slots);
    assert_eq!(open(&mut disk).1, SlotState::Written(b"three".to_vec()));
}
