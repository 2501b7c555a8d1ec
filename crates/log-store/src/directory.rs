//! A log directory as a whole: whose it is, whether it was closed cleanly, and what in it belongs to nobody.
//!
//! ```text
//! format      a container: whose directory this is; written once
//! clean       present only after a clean stop (D8)
//! metadata/   the copy of the metadata log        raft/   the quorum's log
//! topics/     the partitions' logs                set-aside/   folders under topics/ that belong to no known topic
//! ```
//!
//! These calls are for the start and the end of a process, when nothing else runs: each waits for its syncs by the function
//! that the caller gives, which blocks until the next completion is there.

use log_core::container::Container;
use log_core::directory::{TOPICS_DIR, parse_topic_dir};
use log_core::mutation::{Mutation, mutated};
use log_core::{BrokerId, ClusterId, Crc32c, DirectoryId, TopicId};

use crate::disk::{Completion, Disk, LogId, OpenMode, Ticket};
use crate::error::{DiskError, DiskFault, DiskOperation};

/// The file that says whose directory this is.
pub const FORMAT_FILE: &str = "format";

/// The file whose presence says that nothing has to be scanned.
pub const CLEAN_FILE: &str = "clean";

/// Where folders go that belong to no topic.
pub const SET_ASIDE_DIR: &str = "set-aside";

const CONTAINER: Container = Container { magic: *b"HWFM", version: 1 };
/// Two ids, a broker's number and a mark.
const FORMAT_BYTES: usize = 16 + 16 + 4 + 1;
/// A longer file is none of ours.
const FORMAT_BYTES_READ_MAX: usize = 4096;

/// Completions of these calls; no log has this number.
const LOG: LogId = LogId(u64::MAX);

/// Whose log directory this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryFormat {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// This directory, drawn once.
    pub directory_id: DirectoryId,
    /// The broker.
    pub broker: BrokerId,
    /// Whether it was formatted to form the cluster; one that joined never forms one.
    pub forms: bool,
}

/// Why a directory is not used. Nothing in it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryRefusal {
    /// The disk failed, or rights are missing.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Its format file is of a newer build.
    #[error("it was written by a newer version of Highwater (format {found}, this build knows 1)")]
    NewerFormat {
        /// The version found.
        found: u16,
    },
    /// Its format file is damaged.
    #[error("its file \"format\" is damaged: restore it from a backup, or use another directory")]
    Damaged,
    /// It holds files, but none that says whose they are.
    #[error("it is not empty and holds no file \"format\": it is no log directory of Highwater")]
    Unknown,
    /// It belongs to another broker.
    #[error("it belongs to node {found}, not to node {wanted}")]
    OtherNode {
        /// The node that it belongs to.
        found: BrokerId,
        /// The node that was started.
        wanted: BrokerId,
    },
}

/// Waits for the next completion of a disk; none if there is nothing to wait for.
pub type Wait<D> = fn(&mut D) -> Option<Completion>;

/// Reads whose directory this is; none if it is empty but for the names in `own`, which the caller made.
///
/// # Errors
/// A directory that is not ours, or cannot be read.
pub fn read_format<D: Disk>(
    disk: &mut D,
    own: &[&str],
    crc: Crc32c,
) -> Result<Option<DirectoryFormat>, DirectoryRefusal> {
    let file = match disk.open(FORMAT_FILE, OpenMode::Read) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => {
            let foreign = disk.list("")?.into_iter().any(|entry| {
                !own.contains(&entry.name.as_str())
                    && entry.name != new_name(FORMAT_FILE)
                    && entry.name != "lost+found"
            });
            return if foreign { Err(DirectoryRefusal::Unknown) } else { Ok(None) };
        }
        Err(e) => return Err(e.into()),
    };
    let mut bytes = vec![0; FORMAT_BYTES_READ_MAX];
    let read = disk.read_at(&file, 0, &mut bytes)?;
    decode(bytes.get(..read).unwrap_or_default(), crc).map(Some)
}

/// Makes the directory this broker's. Durable when it returns.
///
/// # Errors
/// A failing disk.
pub fn write_format<D: Disk>(
    disk: &mut D,
    format: &DirectoryFormat,
    crc: Crc32c,
    wait: Wait<D>,
) -> Result<(), DiskError> {
    let aside = new_name(FORMAT_FILE);
    let file = disk.open(&aside, OpenMode::Create)?;
    disk.truncate(&file, 0)?;
    disk.write_at(&file, 0, &[&encode(format, crc)])?;
    sync(disk, &[file], &[], wait)?;
    disk.rename(&aside, FORMAT_FILE)?;
    sync(disk, &[], &[""], wait)
}

/// Takes the clean mark away, durably; whether it was there.
///
/// # Errors
/// A failing disk.
pub fn take_clean_mark<D: Disk>(disk: &mut D, wait: Wait<D>) -> Result<bool, DiskError> {
    match disk.remove_file(CLEAN_FILE) {
        Ok(()) => sync(disk, &[], mutated::<&[&str]>(Mutation::B3, &[""], &[]), wait).map(|()| true),
        Err(e) if e.is_not_found() => Ok(false),
        Err(e) => Err(e),
    }
}

/// Writes the clean mark, durably. Only after every log said that its bound equals its end and is fsynced (D8).
///
/// # Errors
/// A failing disk.
pub fn write_clean_mark<D: Disk>(disk: &mut D, wait: Wait<D>) -> Result<(), DiskError> {
    let file = disk.open(CLEAN_FILE, OpenMode::Create)?;
    sync(disk, &[file], &[""], wait)
}

/// Moves folders under `topics/` that belong to no topic in `known` out of the way; gives where they went. Nothing is ever
/// deleted here: absence is never an order (C6).
///
/// # Errors
/// A failing disk.
pub fn set_unknown_topics_aside<D: Disk>(
    disk: &mut D,
    known: impl Fn(TopicId) -> bool,
    wait: Wait<D>,
) -> Result<Vec<String>, DiskError> {
    let entries = match disk.list(TOPICS_DIR) {
        Ok(entries) => entries,
        Err(e) if e.is_not_found() => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut moved = Vec::new();
    for entry in entries.into_iter().filter(|entry| !parse_topic_dir(&entry.name).is_some_and(&known)) {
        disk.create_dir(SET_ASIDE_DIR)?;
        let to = free_name(disk, &entry.name)?;
        disk.rename(&format!("{TOPICS_DIR}/{}", entry.name), &to)?;
        moved.push(to);
    }
    if !moved.is_empty() {
        sync(disk, &[], &[SET_ASIDE_DIR, TOPICS_DIR, ""], wait)?;
    }
    Ok(moved)
}

fn free_name<D: Disk>(disk: &mut D, name: &str) -> Result<String, DiskError> {
    let taken: Vec<String> = disk.list(SET_ASIDE_DIR)?.into_iter().map(|entry| entry.name).collect();
    let numbered = (1..).map(|number| format!("{name}.{number}"));
    let free = core::iter::once(name.to_owned()).chain(numbered).find(|candidate| !taken.contains(candidate));
    let free = free.expect("a directory has fewer entries than there are numbers");
    Ok(format!("{SET_ASIDE_DIR}/{free}"))
}

fn new_name(name: &str) -> String {
    format!("{name}.new")
}

fn encode(format: &DirectoryFormat, crc: Crc32c) -> Vec<u8> {
    let mut payload = Vec::with_capacity(FORMAT_BYTES);
    payload.extend_from_slice(&format.cluster_id.0);
    payload.extend_from_slice(&format.directory_id.0);
    payload.extend_from_slice(&format.broker.0.to_be_bytes());
    payload.push(u8::from(format.forms));
    CONTAINER.seal(&payload, crc)
}

fn decode(bytes: &[u8], crc: Crc32c) -> Result<DirectoryFormat, DirectoryRefusal> {
    let (_, payload) = CONTAINER.open(bytes, crc).map_err(|error| match error {
        log_core::FileError::Version { found, .. } => DirectoryRefusal::NewerFormat { found },
        _ => DirectoryRefusal::Damaged,
    })?;
    let parts = || {
        let (cluster, rest) = payload.split_first_chunk()?;
        let (directory, rest) = rest.split_first_chunk()?;
        let (broker, rest) = rest.split_first_chunk()?;
        let [forms @ (0 | 1)] = *rest else { return None };
        Some(DirectoryFormat {
            cluster_id: ClusterId(*cluster),
            directory_id: DirectoryId(*directory),
            broker: BrokerId(i32::from_be_bytes(*broker)),
            forms: forms == 1,
        })
    };
    parts().ok_or(DirectoryRefusal::Damaged)
}

fn sync<D: Disk>(disk: &mut D, files: &[D::File], dirs: &[&str], wait: Wait<D>) -> Result<(), DiskError> {
    let ticket = Ticket { log: LOG, sequence: 0 };
    disk.submit_sync(ticket, files, dirs);
    loop {
        match wait(disk) {
            Some(completion) if completion.ticket == ticket => return completion.result.map(drop),
            Some(_) => {}
            None => return Err(DiskError::new(DiskOperation::Sync, DiskFault::Poisoned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDisk;
    use proptest::prelude::*;

    const CRC: Crc32c = crc32c::crc32c_append;
    const WAIT: Wait<MemoryDisk> = MemoryDisk::poll;

    fn format() -> DirectoryFormat {
        DirectoryFormat {
            cluster_id: ClusterId([1; 16]),
            directory_id: DirectoryId([2; 16]),
            broker: BrokerId(3),
            forms: true,
        }
    }

    #[test]
    fn a_directory_is_empty_then_ours_and_survives_a_power_cut() {
        let mut disk = MemoryDisk::new();
        assert_eq!(read_format(&mut disk, &[], CRC), Ok(None));
        write_format(&mut disk, &format(), CRC, WAIT).unwrap();
        disk.power_cut(7);
        assert_eq!(read_format(&mut disk, &[], CRC), Ok(Some(format())));
    }

    #[test]
    fn a_directory_with_other_things_in_it_is_refused_and_left_alone() {
        let mut disk = MemoryDisk::new();
        disk.create_dir("photos").unwrap();
        assert_eq!(read_format(&mut disk, &["lock"], CRC), Err(DirectoryRefusal::Unknown));
        assert_eq!(read_format(&mut disk, &["photos"], CRC), Ok(None));
    }

    #[test]
    fn a_newer_format_and_a_damaged_one_are_told_apart() {
        let newer = Container { version: 2, ..CONTAINER }.seal(&[0; 50], CRC);
        assert_eq!(decode(&newer, CRC), Err(DirectoryRefusal::NewerFormat { found: 2 }));
        let mut damaged = encode(&format(), CRC);
        damaged[20] ^= 1;
        assert_eq!(decode(&damaged, CRC), Err(DirectoryRefusal::Damaged));
    }

    #[test]
    fn d8_the_clean_mark_is_taken_once_even_across_a_power_cut() {
        let mut disk = MemoryDisk::new();
        assert_eq!(take_clean_mark(&mut disk, WAIT), Ok(false));
        write_clean_mark(&mut disk, WAIT).unwrap();
        disk.power_cut(1);
        assert_eq!(take_clean_mark(&mut disk, WAIT), Ok(true));
        disk.power_cut(2);
        assert_eq!(take_clean_mark(&mut disk, WAIT), Ok(false));
    }

    #[test]
    fn c6_unknown_folders_are_set_aside_under_a_free_name_and_never_deleted() {
        let mut disk = MemoryDisk::new();
        let known = TopicId([7; 16]);
        let (ours, other) = (format!("topics/{known}"), format!("topics/{}", TopicId([8; 16])));
        let move_aside = |disk: &mut MemoryDisk| {
            disk.create_dir(&ours).unwrap();
            disk.create_dir(&other).unwrap();
            disk.create_dir("topics/left-over").unwrap();
            set_unknown_topics_aside(disk, |topic| topic == known, WAIT).unwrap()
        };
        let first = move_aside(&mut disk);
        assert_eq!(first, [format!("set-aside/{}", TopicId([8; 16])), "set-aside/left-over".to_owned()]);
        assert_eq!(move_aside(&mut disk)[1], "set-aside/left-over.1");
        assert_eq!(disk.list("topics").unwrap().len(), 1);
        assert_eq!(disk.list("set-aside").unwrap().len(), 4);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_no_format(bytes: Vec<u8>) {
            prop_assert!(decode(&bytes, CRC).is_err());
        }
    }
}
