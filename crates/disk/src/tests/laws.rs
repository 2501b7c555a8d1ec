//! Each law of the trait, on a temporary directory.

use std::fs;
use std::os::unix::fs::symlink;

use log_store::{DirEntry, DiskError, DiskFault, DiskOperation};
use rustix::fs::Advice;

use super::*;

fn fault<T: std::fmt::Debug>(result: Result<T, DiskError>) -> DiskFault {
    result.unwrap_err().fault
}

fn contents(disk: &mut FileDisk, file: &File) -> Vec<u8> {
    let mut bytes = vec![0xff; disk.file_len(file).unwrap() as usize + 10];
    let count = disk.read_at(file, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

#[test]
fn open_modes_say_what_must_be_there() {
    let (_temp, _, mut disk) = open();
    assert_eq!(fault(disk.open("a", OpenMode::Read)), DiskFault::NotFound);
    assert_eq!(fault(disk.open("a", OpenMode::Write)), DiskFault::NotFound);
    disk.open("a", OpenMode::CreateNew).unwrap();
    assert_eq!(fault(disk.open("a", OpenMode::CreateNew)), DiskFault::AlreadyExists);
    let written = file_with(&mut disk, "a", b"x");
    let again = disk.open("a", OpenMode::Create).unwrap();
    assert_eq!(contents(&mut disk, &again), b"x");
    let read_only = disk.open("a", OpenMode::Read).unwrap();
    assert!(disk.write_at(&read_only, 0, &[b"y"]).is_err());
    disk.write_at(&written, 0, &[b"z"]).unwrap();
    assert_eq!(contents(&mut disk, &read_only), b"z");
    assert_eq!(fault(disk.open("no/dir", OpenMode::Create)), DiskFault::NotFound);
}

#[test]
fn slices_go_out_by_one_write_and_extend_the_file() {
    let (_temp, handle, mut disk) = open();
    let file = disk.open("a", OpenMode::Create).unwrap();
    disk.write_at(&file, 3, &[b"abc", b"", b"d", &[b'e'; 5000]]).unwrap();
    let mut expected = b"\0\0\0abcd".to_vec();
    expected.extend([b'e'; 5000]);
    assert_eq!(contents(&mut disk, &file), expected);
    assert_eq!((handle.counters().writes, handle.counters().bytes_written), (1, 5004));
    disk.write_at(&file, 0, &[]).unwrap();
    assert_eq!(disk.file_len(&file), Ok(5007));
}

#[test]
fn more_slices_than_the_system_takes_at_once_are_written() {
    let (_temp, _, mut disk) = open();
    let file = disk.open("a", OpenMode::Create).unwrap();
    let bytes: Vec<u8> = (0..5000_u32).flat_map(u32::to_le_bytes).collect();
    let slices: Vec<&[u8]> = bytes.chunks(4).collect();
    disk.write_at(&file, 0, &slices).unwrap();
    assert_eq!(contents(&mut disk, &file), bytes);
}

#[test]
fn preallocated_space_reads_as_zeros_and_never_shrinks_a_file() {
    let (_temp, _, mut disk) = open();
    let file = file_with(&mut disk, "a", b"abc");
    disk.preallocate(&file, 3, 5).unwrap();
    assert_eq!(contents(&mut disk, &file), b"abc\0\0\0\0\0");
    disk.preallocate(&file, 0, 4).unwrap();
    disk.preallocate(&file, 0, 0).unwrap();
    assert_eq!(disk.file_len(&file), Ok(8));
    disk.preallocate(&file, 9, 0).unwrap();
    assert_eq!(disk.file_len(&file), Ok(9));
}

#[test]
fn a_cut_file_grows_again_with_zeros() {
    let (_temp, _, mut disk) = open();
    let file = file_with(&mut disk, "a", b"abcdef");
    disk.truncate(&file, 2).unwrap();
    assert_eq!(contents(&mut disk, &file), b"ab");
    disk.truncate(&file, 5).unwrap();
    assert_eq!(contents(&mut disk, &file), b"ab\0\0\0");
}

#[test]
fn reads_end_with_the_file() {
    let (_temp, handle, mut disk) = open();
    let file = file_with(&mut disk, "a", b"abcdef");
    let mut into = [9; 4];
    assert_eq!((disk.read_at(&file, 4, &mut into), into), (Ok(2), *b"ef\x09\x09"));
    assert_eq!(disk.read_at(&file, 6, &mut into), Ok(0));
    assert_eq!(disk.read_at(&file, 1 << 40, &mut into), Ok(0));
    assert_eq!(disk.read_if_cached(&file, 5, &mut into), Ok(Some(1)));
    assert!(file.read_exact_at(2, &mut into).is_ok());
    assert_eq!(&into, b"cdef");
    let error = file.read_exact_at(3, &mut into).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    assert_eq!((handle.counters().bytes_read, handle.counters().cache_hits), (3, 1));
    disk.submit_read(ticket(1), &file, 4, u32::MAX);
    assert_eq!(disk.wait().unwrap().result, Ok(Completed::Read(b"ef"[..].into())));
    disk.submit_read(ticket(2), &file, 1 << 40, 10);
    assert_eq!(disk.wait().unwrap().result, Ok(Completed::Read(b""[..].into())));
}

#[test]
fn what_is_not_in_the_cache_is_read_by_the_reader_threads() {
    let (_temp, handle, mut disk) = open();
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
    let file = file_with(&mut disk, "a", &bytes);
    sync(&mut disk, std::slice::from_ref(&file), &[]).result.unwrap();
    // The kernel may keep the pages all the same; either answer must be right.
    rustix::fs::fadvise(file.descriptor().unwrap(), 0, None, Advice::DontNeed).unwrap();
    let mut into = vec![0; bytes.len()];
    match disk.read_if_cached(&file, 0, &mut into).unwrap() {
        Some(count) => assert_eq!(into[..count], bytes),
        None => assert_eq!(handle.counters().cache_misses, 1),
    }
    for sequence in 0..10 {
        disk.submit_read(ticket(sequence), &file, sequence * 1000, 5000);
    }
    for _ in 0..10 {
        let completion = disk.wait().unwrap();
        let from = completion.ticket.sequence as usize * 1000;
        assert_eq!(completion.result, Ok(Completed::Read(bytes[from..from + 5000].to_vec().into())));
    }
}

fn check_around_cache(
    mut read: impl FnMut(&mut FileDisk, &File, u64, &mut [u8]) -> Result<usize, DiskError>,
) {
    let (_temp, _, mut disk) = open();
    let bytes: Vec<u8> = (0..2_500_000_u32).map(|number| (number % 251) as u8).collect();
    let file = file_with(&mut disk, "a", &bytes);
    let len = bytes.len();
    for (from, count) in
        [(0, 1), (0, 4096), (1, 4096), (4095, 2), (511, 9000), (0, len), (7, len), (len - 1, 9), (len, 5)]
    {
        let mut into = vec![0xee; count];
        let expected = &bytes[from..len.min(from + count)];
        assert_eq!(read(&mut disk, &file, from as u64, &mut into), Ok(expected.len()), "{from} {count}");
        assert_eq!(&into[..expected.len()], expected, "{from} {count}");
        assert!(into[expected.len()..].iter().all(|byte| *byte == 0xee));
    }
    assert_eq!(contents(&mut disk, &file), bytes);
}

#[test]
fn reading_around_the_cache_takes_any_range() {
    check_around_cache(|disk, file, position, into| disk.read_around_cache(file, position, into));
}

#[test]
fn reading_and_writing_again_takes_any_range() {
    let (_temp, handle, _) = open();
    check_around_cache(|_, file, position, into| handle.shared().read_and_write_again(file, position, into));
    assert!(handle.counters().bytes_written > 2_500_000);
}

#[test]
fn bytes_read_around_the_cache_are_counted() {
    let (_temp, handle, mut disk) = open();
    let file = file_with(&mut disk, "a", &[1; 10_000]);
    disk.remove_file("a").unwrap();
    assert_eq!(disk.read_around_cache(&file, 100, &mut [0; 5000]), Ok(5000));
    let counters = handle.counters();
    assert_eq!((counters.bytes_read, counters.bytes_read_around_cache), (5000, 5000));
}

#[test]
fn directories_are_made_listed_renamed_and_removed() {
    let (temp, _, mut disk) = open();
    disk.create_dir("topics/t/0").unwrap();
    disk.create_dir("topics/t/0").unwrap();
    file_with(&mut disk, "topics/t/b", b"12345");
    file_with(&mut disk, "topics/t/a", b"");
    symlink(temp.path().join("topics/t/0"), temp.path().join("topics/t/link")).unwrap();
    symlink("nowhere", temp.path().join("topics/t/z")).unwrap();
    let entry = |name: &str, is_dir, len| DirEntry { name: name.to_owned(), is_dir, len };
    let expected = [
        entry("0", true, 0),
        entry("a", false, 0),
        entry("b", false, 5),
        entry("link", true, 0),
        entry("z", false, 7),
    ];
    assert_eq!(disk.list("topics/t").unwrap(), expected);
    assert_eq!(disk.list("").unwrap(), [entry("topics", true, 0)]);
    assert_eq!(fault(disk.list("none")), DiskFault::NotFound);
    disk.rename("topics/t/b", "topics/t/a").unwrap();
    disk.rename("topics/t", "topics/u").unwrap();
    let file = disk.open("topics/u/a", OpenMode::Read).unwrap();
    assert_eq!(contents(&mut disk, &file), b"12345");
    assert_eq!(fault(disk.rename("none", "other")), DiskFault::NotFound);
    disk.remove_file("topics/u/a").unwrap();
    assert_eq!(fault(disk.remove_file("topics/u/a")), DiskFault::NotFound);
    assert_eq!(contents(&mut disk, &file), b"12345");
    disk.remove_dir_all("topics").unwrap();
    assert_eq!(disk.list("").unwrap(), []);
    assert_eq!(fault(disk.create_dir("../x")), DiskFault::Denied);
    assert_eq!(fault(disk.remove_dir_all("")), DiskFault::Denied);
}

#[test]
fn no_call_leaves_the_directory() {
    let (temp, _, mut disk) = open();
    fs::create_dir(temp.path().join("in")).unwrap();
    for path in ["../out", "/etc/hostname", "in/../../out"] {
        assert_eq!(fault(disk.create_dir(path)), DiskFault::Denied);
        assert_eq!(fault(disk.list(path)), DiskFault::Denied);
        assert_eq!(fault(disk.open(path, OpenMode::Create)), DiskFault::Denied);
        assert_eq!(fault(disk.rename("in", path)), DiskFault::Denied);
        assert_eq!(fault(disk.rename(path, "in")), DiskFault::Denied);
        assert_eq!(fault(disk.remove_file(path)), DiskFault::Denied);
        assert_eq!(fault(disk.remove_dir_all(path)), DiskFault::Denied);
    }
}

#[test]
fn a_sync_covers_files_and_directories_and_ignores_a_directory_that_is_gone() {
    let (_temp, handle, mut disk) = open();
    disk.create_dir("a/b").unwrap();
    let file = file_with(&mut disk, "a/b/c", b"x");
    disk.remove_file("a/b/c").unwrap();
    disk.remove_dir_all("a/b").unwrap();
    let done = sync(&mut disk, &[file], &["a/b", "a", ""]);
    assert_eq!(done, Completion { ticket: ticket(1), result: Ok(Completed::Synced) });
    let counters = handle.counters();
    assert_eq!((counters.files_synced, counters.directories_synced), (1, 2));
}

#[test]
fn free_bytes_are_those_of_the_file_system() {
    let (_temp, _, mut disk) = open();
    assert!(disk.free_bytes().unwrap() > 0);
}

#[test]
fn errors_name_the_operation() {
    let (_temp, _, mut disk) = open();
    let error = disk.open("none", OpenMode::Read).unwrap_err();
    assert_eq!(error, DiskError::new(DiskOperation::Open, DiskFault::NotFound));
    disk.create_dir("d").unwrap();
    assert_eq!(disk.remove_file("d").unwrap_err().operation, DiskOperation::Remove);
}
