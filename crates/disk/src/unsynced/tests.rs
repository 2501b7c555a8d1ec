//! What a kill leaves of an unsynced disk: exactly what was synced. A real disk opened on the directory shows it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use log_store::{Completed, Completion, Disk, DiskFault, LogId, OpenMode, Ticket};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{DirectoryHandle, File, FileDisk};

const HONEST: UnsyncedOptions = UnsyncedOptions { sync_lies: false, sync_takes: Duration::ZERO };
const LYING: UnsyncedOptions = UnsyncedOptions { sync_lies: true, sync_takes: Duration::ZERO };

struct World {
    disk: FileDisk,
    path: PathBuf,
    _temp: TempDir,
}

impl World {
    fn new(options: UnsyncedOptions) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("node");
        Self { disk: open_unsynced(&path, options), path, _temp: temp }
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> File {
        let file = self.disk.open(path, OpenMode::Create).unwrap();
        self.disk.write_at(&file, 0, &[bytes]).unwrap();
        file
    }

    fn sync(&mut self, files: &[&File], dirs: &[&str]) {
        let files: Vec<File> = files.iter().map(|file| (*file).clone()).collect();
        self.disk.submit_sync(Ticket { log: LogId(1), sequence: 1 }, &files, dirs);
        assert!(matches!(self.disk.wait(), Some(Completion { result: Ok(Completed::Synced), .. })));
    }

    /// What a process that starts after a kill at this moment finds.
    fn after_kill(&self) -> Vec<String> {
        tree_of(&self.path)
    }

    fn seen(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        describe(&mut self.disk, "", &mut found);
        found
    }
}

fn open_unsynced(path: &Path, options: UnsyncedOptions) -> FileDisk {
    DirectoryHandle::open_unsynced(path, options).unwrap().disk(Arc::new(|| {}))
}

fn tree_of(path: &Path) -> Vec<String> {
    let mut disk = DirectoryHandle::open(path).unwrap().disk(Arc::new(|| {}));
    let mut found = Vec::new();
    describe(&mut disk, "", &mut found);
    found
}

/// A line for each file and directory: `path/` or `path=contents`.
fn describe(disk: &mut FileDisk, dir: &str, found: &mut Vec<String>) {
    for entry in disk.list(dir).unwrap() {
        let path = if dir.is_empty() { entry.name } else { format!("{dir}/{}", entry.name) };
        if entry.is_dir {
            found.push(format!("{path}/"));
            describe(disk, &path, found);
        } else {
            let file = disk.open(&path, OpenMode::Read).unwrap();
            assert_eq!(disk.file_len(&file), Ok(entry.len));
            let mut bytes = vec![0; entry.len as usize];
            file.read_exact_at(0, &mut bytes).unwrap();
            found.push(format!("{path}={}", String::from_utf8_lossy(&bytes)));
        }
    }
}

#[test]
fn nothing_is_there_without_its_sync() {
    let mut world = World::new(HONEST);
    world.disk.create_dir("d").unwrap();
    let file = world.write("d/a", b"bytes");
    assert_eq!(world.seen(), ["d/", "d/a=bytes"]);
    assert!(world.after_kill().is_empty());
    world.sync(&[&file], &[]);
    assert!(world.after_kill().is_empty());
    world.sync(&[], &["d"]);
    assert!(world.after_kill().is_empty());
    world.sync(&[], &[""]);
    assert_eq!(world.after_kill(), ["d/", "d/a=bytes"]);
}

#[test]
fn a_synced_name_without_synced_bytes_is_an_empty_file() {
    let mut world = World::new(HONEST);
    let file = world.write("a", b"bytes");
    world.sync(&[], &[""]);
    assert_eq!(world.after_kill(), ["a="]);
    assert!(file.descriptor().is_none());
    world.sync(&[&file], &[]);
    assert_eq!(world.after_kill(), ["a=bytes"]);
    assert!(file.descriptor().is_some());
}

#[test]
fn writes_and_cuts_after_the_sync_are_lost() {
    let mut world = World::new(HONEST);
    let file = world.write("a", b"0123456789");
    world.sync(&[&file], &[""]);
    world.disk.truncate(&file, 4).unwrap();
    world.disk.write_at(&file, 6, &[b"x", b"y"]).unwrap();
    assert_eq!(world.seen(), ["a=0123\0\0xy"]);
    assert_eq!(world.after_kill(), ["a=0123456789"]);
    world.sync(&[&file], &[]);
    assert_eq!(world.after_kill(), ["a=0123\0\0xy"]);
}

#[test]
fn a_file_replaced_by_a_rename_is_old_or_new() {
    let mut world = World::new(HONEST);
    let old = world.write("a", b"old");
    world.sync(&[&old], &[""]);
    let new = world.write("a.tmp", b"new");
    world.sync(&[&new], &[]);
    world.disk.rename("a.tmp", "a").unwrap();
    assert_eq!(world.seen(), ["a=new"]);
    assert_eq!(world.after_kill(), ["a=old"]);
    world.sync(&[], &[""]);
    assert_eq!(world.after_kill(), ["a=new"]);
    let mut into = [0; 3];
    assert_eq!((world.disk.read_at(&old, 0, &mut into), &into), (Ok(3), b"old"));
}

#[test]
fn removed_things_are_there_until_their_directory_is_synced() {
    let mut world = World::new(HONEST);
    world.disk.create_dir("d/e").unwrap();
    let (a, b) = (world.write("d/e/a", b"1"), world.write("b", b"2"));
    world.sync(&[&a, &b], &["d/e", "d", ""]);
    world.disk.remove_file("b").unwrap();
    world.disk.remove_dir_all("d/e").unwrap();
    assert_eq!(world.seen(), ["d/"]);
    assert_eq!(world.after_kill(), ["b=2", "d/", "d/e/", "d/e/a=1"]);
    world.sync(&[], &["d"]);
    assert_eq!(world.after_kill(), ["b=2", "d/"]);
    world.sync(&[], &[""]);
    assert_eq!(world.after_kill(), ["d/"]);
}

#[test]
fn what_moves_between_directories_is_never_lost_with_both_synced() {
    for order in [["from", "to"], ["to", "from"]] {
        let mut world = World::new(HONEST);
        world.disk.create_dir("from/inner").unwrap();
        world.disk.create_dir("to").unwrap();
        let (a, b) = (world.write("from/a", b"1"), world.write("from/inner/b", b"2"));
        world.sync(&[&a, &b], &["from/inner", "from", "to", ""]);
        world.disk.rename("from/a", "to/a").unwrap();
        world.disk.rename("from/inner", "to/inner").unwrap();
        order.iter().for_each(|dir| world.sync(&[], &[dir]));
        assert_eq!(world.after_kill(), ["from/", "to/", "to/a=1", "to/inner/", "to/inner/b=2"]);
    }
}

#[test]
fn a_file_that_was_moved_and_then_removed_has_no_name_left() {
    let mut world = World::new(HONEST);
    world.disk.create_dir("d").unwrap();
    let file = world.write("e", b"1");
    world.sync(&[&file], &[""]);
    world.disk.rename("e", "d/a").unwrap();
    world.sync(&[], &["d"]);
    assert_eq!(world.after_kill(), ["d/", "d/a=1", "e=1"]);
    world.disk.remove_dir_all("d").unwrap();
    world.sync(&[], &[""]);
    assert!(world.after_kill().is_empty());
}

#[test]
fn a_disk_whose_sync_lies_keeps_nothing() {
    let mut world = World::new(LYING);
    let file = world.write("a", b"bytes");
    world.sync(&[&file], &[""]);
    assert_eq!(world.seen(), ["a=bytes"]);
    assert!(world.after_kill().is_empty());
}

#[test]
fn an_unsynced_disk_goes_on_where_another_ended() {
    let mut world = World::new(HONEST);
    let file = world.write("a", b"bytes");
    world.sync(&[&file], &[""]);
    world.write("b", b"lost");
    drop(file);
    let World { disk, path, _temp } = world;
    drop(disk);
    let mut disk = open_unsynced(&path, HONEST);
    let mut found = Vec::new();
    describe(&mut disk, "", &mut found);
    assert_eq!(found, ["a=bytes"]);
    assert_eq!(disk.open("../a", OpenMode::Read).unwrap_err().fault, DiskFault::Denied);
}

#[derive(Clone, Debug)]
enum Step {
    CreateDir(&'static str),
    Write(&'static str, u64, usize),
    Truncate(&'static str, u64),
    Preallocate(&'static str, u64, u64),
    Rename(&'static str, &'static str),
    RemoveFile(&'static str),
    RemoveDirAll(&'static str),
    Sync(Option<&'static str>, &'static str),
}

const PATHS: [&str; 8] = ["a", "b", "d", "e", "d/a", "d/e", "d/e/a", "e/b"];

fn steps() -> impl Strategy<Value = Step> {
    let path = || prop::sample::select(&PATHS[..]);
    let dir = || prop::sample::select(&["", "d", "e", "d/e"][..]);
    prop_oneof![
        dir().prop_map(Step::CreateDir),
        (path(), 0..9000_u64, 0..6000_usize).prop_map(|(path, at, len)| Step::Write(path, at, len)),
        (path(), 0..12000_u64).prop_map(|(path, len)| Step::Truncate(path, len)),
        (path(), 0..9000_u64, 0..9000_u64).prop_map(|(path, at, len)| Step::Preallocate(path, at, len)),
        (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        path().prop_map(Step::RemoveFile),
        path().prop_map(Step::RemoveDirAll),
        (prop::option::of(path()), dir()).prop_map(|(file, dir)| Step::Sync(file, dir)),
    ]
}

fn apply(disk: &mut FileDisk, step: &Step) -> bool {
    let mut on_file = |path: &str, call: &mut dyn FnMut(&mut FileDisk, &File) -> bool| {
        let opened = disk.open(path, OpenMode::Create);
        opened.is_ok_and(|file| call(disk, &file))
    };
    match *step {
        Step::CreateDir(path) => disk.create_dir(path).is_ok(),
        Step::Write(path, at, len) => on_file(path, &mut |disk, file| {
            let bytes: Vec<u8> = (0..len).map(|number| b'a' + (number % 23) as u8).collect();
            disk.write_at(file, at, &[&bytes]).is_ok()
        }),
        Step::Truncate(path, len) => on_file(path, &mut |disk, file| disk.truncate(file, len).is_ok()),
        Step::Preallocate(path, at, len) => {
            on_file(path, &mut |disk, file| disk.preallocate(file, at, len).is_ok())
        }
        Step::Rename(from, to) => disk.rename(from, to).is_ok(),
        Step::RemoveFile(path) => disk.remove_file(path).is_ok(),
        Step::RemoveDirAll(path) => disk.remove_dir_all(path).is_ok(),
        Step::Sync(file, dir) => {
            let file = file.and_then(|path| disk.open(path, OpenMode::Read).ok());
            disk.submit_sync(Ticket { log: LogId(1), sequence: 1 }, file.as_slice(), &[dir]);
            disk.wait().is_some_and(|completion| completion.result.is_ok())
        }
    }
}

fn sync_everything(disk: &mut FileDisk) {
    let mut found = Vec::new();
    describe(disk, "", &mut found);
    let dirs: Vec<&str> = found.iter().filter_map(|line| line.strip_suffix('/')).chain([""]).collect();
    let names = found.iter().filter_map(|line| line.split_once('=')).map(|(path, _)| path);
    let files: Vec<File> = names.map(|path| disk.open(path, OpenMode::Read).unwrap()).collect();
    disk.submit_sync(Ticket { log: LogId(1), sequence: 1 }, &files, &dirs);
    disk.wait().unwrap().result.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn it_shows_what_a_real_disk_shows_and_a_full_sync_keeps_it(steps in prop::collection::vec(steps(), 1..40)) {
        let real = tempfile::tempdir().unwrap();
        let mut real_disk = DirectoryHandle::open(real.path()).unwrap().disk(Arc::new(|| {}));
        let mut world = World::new(HONEST);
        for step in &steps {
            prop_assert_eq!(apply(&mut world.disk, step), apply(&mut real_disk, step), "{:?}", step);
            prop_assert_eq!(world.seen(), tree_of(real.path()), "after {:?}", step);
        }
        sync_everything(&mut world.disk);
        prop_assert_eq!(world.after_kill(), tree_of(real.path()));
    }

    #[test]
    fn a_kill_leaves_what_the_last_full_sync_found(
        before in prop::collection::vec(steps(), 1..40),
        after in prop::collection::vec(steps(), 1..40),
    ) {
        let mut world = World::new(HONEST);
        for step in &before {
            apply(&mut world.disk, step);
        }
        sync_everything(&mut world.disk);
        let synced = world.seen();
        prop_assert_eq!(&world.after_kill(), &synced);
        for step in after.iter().filter(|step| !matches!(step, Step::Sync(..))) {
            apply(&mut world.disk, step);
            prop_assert_eq!(&world.after_kill(), &synced, "after {:?}", step);
        }
    }
}
