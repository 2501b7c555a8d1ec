//! The simulated medium is as hostile as it promises, and no more.

use super::*;
use crate::LogId;

fn ticket() -> Ticket {
    Ticket { log: LogId(1), sequence: 1 }
}

fn written(disk: &mut MemoryDisk, byte: u8) -> MemoryFile {
    let file = disk.open("file", OpenMode::Create).unwrap();
    disk.write_at(&file, 0, &[&[byte; 4096]]).unwrap();
    file
}

fn sync(disk: &mut MemoryDisk, file: &MemoryFile) -> bool {
    disk.submit_sync(ticket(), std::slice::from_ref(file), &[""]);
    disk.poll().unwrap().result.is_ok()
}

fn content(disk: &mut MemoryDisk) -> Option<Vec<u8>> {
    let file = disk.open("file", OpenMode::Read).ok()?;
    let mut bytes = vec![0; disk.file_len(&file).unwrap() as usize];
    disk.read_at(&file, 0, &mut bytes).unwrap();
    Some(bytes)
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_any_subset_of_the_rest() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let mut disk = MemoryDisk::new();
        let file = written(&mut disk, 1);
        assert!(sync(&mut disk, &file));
        written(&mut disk, 2);
        disk.power_cut(seed);
        let bytes = content(&mut disk).unwrap();
        let sectors: Vec<u8> = bytes.chunks(512).map(|sector| sector[0]).collect();
        assert!(
            bytes.chunks(512).zip(&sectors).all(|(sector, first)| sector.iter().all(|byte| byte == first))
        );
        seen.insert(sectors);
    }
    assert!(seen.len() > 30, "{seen:?}");
}

#[test]
fn a_name_needs_the_sync_of_its_directory() {
    let mut kept = 0;
    for seed in 0..50 {
        let mut disk = MemoryDisk::new();
        let file = written(&mut disk, 1);
        disk.submit_sync(ticket(), &[file], &[]);
        disk.power_cut(seed);
        kept += usize::from(content(&mut disk).is_some());
    }
    assert!((10..40).contains(&kept), "{kept}");
}

#[test]
fn after_a_failed_sync_the_next_one_says_ok_and_the_platter_lacks_the_data() {
    for (shows, cached) in [(FailedSync::ShowsNew, 2), (FailedSync::ShowsOld, 1)] {
        let mut disk = MemoryDisk::new();
        disk.set_poisoning(false);
        let file = written(&mut disk, 1);
        assert!(sync(&mut disk, &file));
        written(&mut disk, 2);
        disk.fail_next_sync(shows);
        assert!(!sync(&mut disk, &file));
        assert!(sync(&mut disk, &file));
        assert_eq!(content(&mut disk).unwrap()[0], cached);
        let mut around = [0];
        disk.read_around_cache(&file, 0, &mut around).unwrap();
        assert_eq!(around, [1]);
        disk.power_cut(1);
        assert_eq!(content(&mut disk).unwrap()[0], 1);
    }
}

#[test]
fn a_sync_carries_what_was_there_when_it_was_asked_for() {
    let mut disk = MemoryDisk::new();
    let file = written(&mut disk, 1);
    assert!(sync(&mut disk, &file));
    written(&mut disk, 2);
    disk.hold(true);
    disk.submit_sync(ticket(), std::slice::from_ref(&file), &[]);
    written(&mut disk, 3);
    disk.release_one();
    for seed in 0..20 {
        disk.power_cut(seed);
        assert!(content(&mut disk).unwrap().iter().all(|byte| [2, 3].contains(byte)));
    }
}

#[test]
fn a_killed_process_leaves_the_cache_and_its_files_are_stale() {
    let mut disk = MemoryDisk::new();
    let file = written(&mut disk, 7);
    disk.kill_process();
    assert_eq!(content(&mut disk).unwrap(), [7; 4096]);
    let stale = DiskError::new(DiskOperation::Write, DiskFault::Stale);
    assert_eq!(disk.write_at(&file, 0, &[b"x"]), Err(stale));
}

#[test]
fn a_full_medium_takes_nothing_and_frees_what_is_removed() {
    let mut disk = MemoryDisk::new();
    disk.set_capacity(5000);
    let file = written(&mut disk, 1);
    assert!(disk.preallocate(&file, 4096, 1000).unwrap_err().is_full());
    assert_eq!(disk.free_bytes(), Ok(904));
    disk.remove_file("file").unwrap();
    assert_eq!(disk.free_bytes(), Ok(5000));
}
