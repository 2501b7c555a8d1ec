//! A log of opaque records, for raft and for Control's copy of the metadata log.
//!
//! Records have consecutive indexes and lie in files named by their first one (`docs/format/data-dir.md`). What is appended
//! counts only once a sync that was asked for after it has completed: then [`RecordLog::durable_end`] moves. A cut of
//! the end ([`RecordLog::truncate`]) is durable before anything is appended behind it (D4): appends that come meanwhile wait
//! in memory. At the start everything is scanned from the file on that holds the first record needed, around the page cache;
//! an end that was being written is dropped, anything else that does not check is damage, and a damaged log is not opened.
//! Only [`RecordLog::purge`] removes what the owner said it needs no more: a start that needs less may be followed by one that
//! needs more.

mod error;
mod format;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use log_core::Crc32c;

use crate::disk::{Completed, Completion, Disk, LogId, OpenMode, Ticket, with_ancestors};
use crate::error::DiskError;

pub use error::RecordLogError;
pub use format::RECORD_BYTES_MAX;
pub use scan::records_of;

use format::{file_name, header};

/// How a record log is kept.
#[derive(Clone, Copy, Debug)]
pub struct RecordLogOptions {
    /// The checksum.
    pub crc: Crc32c,
    /// A file that has reached this many bytes is followed by another one; only whole files are purged.
    pub file_bytes_max: u64,
}

impl RecordLogOptions {
    /// Files of 4 MiB: some ten thousand metadata records (a guess).
    #[must_use]
    pub const fn new(crc: Crc32c) -> Self {
        Self { crc, file_bytes_max: 4 << 20 }
    }
}

/// A record with its index.
pub type Record = (u64, Bytes);

/// See the module.
#[derive(Debug)]
pub struct RecordLog<D: Disk> {
    id: LogId,
    dir: String,
    options: RecordLogOptions,
    /// The first indexes of the files before those that the start read: they are there until a purge.
    unread: BTreeSet<u64>,
    /// By the index of the first record; the last one is appended to.
    files: BTreeMap<u64, OpenFile<D::File>>,
    /// After the last record written to a file.
    end: u64,
    durable_end: u64,
    /// Records that wait for a cut to become durable.
    waiting: VecDeque<Record>,
    dirty: Dirty,
    in_flight: Option<Sync>,
    syncs_made: u64,
    cutting: bool,
}

#[derive(Clone, Debug)]
struct OpenFile<F> {
    file: F,
    /// Where each record begins, from the first one on.
    starts: Vec<u64>,
    len: u64,
}

/// What the next sync has to cover: files by the index of their first record, and the directory.
#[derive(Clone, Debug, Default)]
struct Dirty {
    files: BTreeSet<u64>,
    dir: bool,
}

impl Dirty {
    fn is_clean(&self) -> bool {
        self.files.is_empty() && !self.dir
    }
}

#[derive(Clone, Copy, Debug)]
struct Sync {
    ticket: Ticket,
    /// The end that it makes durable.
    end: u64,
    cut: bool,
}

impl<D: Disk> RecordLog<D> {
    /// Opens the log in `dir`, made if missing, and gives its records from index `from` on. Files that lie wholly below
    /// `from` are neither read nor removed, nor is a log removed that ends below `from`: only a purge does that. An empty log, or such
    /// a one, begins at `from`, where nothing is written before the sync that this submits has completed. What was recovered is
    /// durable then.
    ///
    /// # Errors
    /// A failing disk, and records that are damaged or missing.
    pub fn open(
        disk: &mut D,
        id: LogId,
        dir: &str,
        options: RecordLogOptions,
        from: u64,
    ) -> Result<(Self, Vec<Record>), RecordLogError> {
        disk.create_dir(dir)?;
        let mut log = Self {
            id,
            dir: dir.to_owned(),
            options,
            unread: BTreeSet::new(),
            files: BTreeMap::new(),
            end: from,
            durable_end: from,
            waiting: VecDeque::new(),
            dirty: Dirty { files: BTreeSet::new(), dir: true },
            in_flight: None,
            syncs_made: 0,
            cutting: false,
        };
        let mut records = log.recover(disk, from)?;
        records.retain(|(index, _)| *index >= from);
        log.sync(disk);
        Ok((log, records))
    }

    /// The index after the last record, waiting ones included.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end + self.waiting.len() as u64
    }

    /// The index after the last record that is on the medium.
    #[must_use]
    pub fn durable_end(&self) -> u64 {
        self.durable_end
    }

    /// Whether a cut, or the beginning of a log that was opened for later records than it has, is not durable yet: records
    /// appended meanwhile wait in memory.
    #[must_use]
    pub fn is_cutting(&self) -> bool {
        self.cutting
    }

    /// Appends a record; its index is the present [`RecordLog::end`]. Durable only after [`RecordLog::sync`] completes.
    ///
    /// # Errors
    /// A record longer than [`RECORD_BYTES_MAX`]: nothing is appended. A failing disk: part of the record may be in the
    /// file, and the log must not be used further.
    pub fn append(&mut self, disk: &mut D, record: Bytes) -> Result<u64, RecordLogError> {
        if record.len() > RECORD_BYTES_MAX {
            return Err(RecordLogError::TooLarge { len: record.len() });
        }
        let index = self.end();
        match self.cutting {
            true => self.waiting.push_back((index, record)),
            false => self.write(disk, &record)?,
        }
        Ok(index)
    }

    /// Asks for everything appended to be made durable, unless nothing is dirty or a sync is under way; when that one
    /// completes, the next begins by itself.
    pub fn sync(&mut self, disk: &mut D) {
        if self.in_flight.is_some() || self.dirty.is_clean() {
            return;
        }
        let dirty = std::mem::take(&mut self.dirty);
        let files: Vec<D::File> = dirty
            .files
            .iter()
            .filter_map(|first| self.files.get(first))
            .map(|open| open.file.clone())
            .collect();
        let dirs = match (dirty.dir, self.syncs_made) {
            (false, _) => Vec::new(),
            (true, 0) => with_ancestors(&self.dir),
            (true, _) => vec![self.dir.as_str()],
        };
        self.syncs_made += 1;
        let ticket = Ticket { log: self.id, sequence: self.syncs_made };
        disk.submit_sync(ticket, &files, &dirs);
        self.in_flight = Some(Sync { ticket, end: self.end, cut: self.cutting });
    }

    /// Removes the records from index `from` on. Their removal becomes durable before anything is appended behind it. A cut
    /// below the files that the start read leaves nothing: where their records stand in those before is not known.
    ///
    /// # Errors
    /// A failing disk; the log must not be used further.
    pub fn truncate(&mut self, disk: &mut D, from: u64) -> Result<(), DiskError> {
        self.waiting.retain(|(index, _)| *index < from);
        if from >= self.end {
            return Ok(());
        }
        let read_from = self.files.keys().next().map_or(self.end, |first| *first);
        if from < read_from {
            self.remove_all(disk)?;
        }
        while let Some((&first, _)) = self.files.last_key_value()
            && first >= from
        {
            self.remove(disk, first)?;
        }
        if let Some(mut last) = self.files.last_entry() {
            let keep = usize::try_from(from - last.key()).unwrap_or(usize::MAX);
            if let Some(&len) = last.get().starts.get(keep) {
                disk.truncate(&last.get().file, len)?;
                last.get_mut().starts.truncate(keep);
                last.get_mut().len = len;
                self.dirty.files.insert(*last.key());
            }
        }
        self.end = from;
        self.durable_end = self.durable_end.min(from);
        self.cutting = true;
        // A cut that finds no file still waits for a sync; one that is under way covers only an earlier cut.
        self.dirty.dir = true;
        if let Some(sync) = &mut self.in_flight {
            sync.cut = false;
        }
        self.sync(disk);
        Ok(())
    }

    /// Removes whole files of records below `index`.
    ///
    /// # Errors
    /// A failing disk.
    pub fn purge(&mut self, disk: &mut D, index: u64) -> Result<(), DiskError> {
        let firsts: Vec<u64> = self.unread.iter().chain(self.files.keys()).copied().collect();
        let below = firsts.iter().zip(firsts.iter().skip(1)).take_while(|(_, second)| **second <= index);
        below.into_iter().try_for_each(|(first, _)| self.remove(disk, *first))
    }

    /// Removes all records; the next one gets index `next`. For a log that a snapshot has overtaken: the snapshot must be
    /// durable before.
    ///
    /// # Errors
    /// A failing disk; the log must not be used further.
    pub fn restart_at(&mut self, disk: &mut D, next: u64) -> Result<(), DiskError> {
        self.truncate(disk, 0)?;
        // A power cut may have kept the name of the first file and none of its bytes: the next record is not the one that it
        // is named for.
        self.remove_all(disk)?;
        self.waiting.clear();
        self.end = next;
        self.durable_end = next;
        Ok(())
    }

    /// Takes the end of a sync; completions of others are ignored.
    ///
    /// # Errors
    /// The sync failed: nothing more may be acknowledged (D5).
    pub fn handle_completion(&mut self, disk: &mut D, completion: &Completion) -> Result<(), DiskError> {
        let Some(sync) = self.in_flight.filter(|sync| sync.ticket == completion.ticket) else {
            return Ok(());
        };
        match completion.result {
            Ok(Completed::Read(_)) => return Ok(()),
            Ok(Completed::Synced) => {}
            Err(error) => return Err(error),
        }
        self.in_flight = None;
        // A sync from before a cut says nothing about what stands there now (D1).
        if sync.cut || !self.cutting {
            self.durable_end = self.durable_end.max(sync.end.min(self.end));
        }
        if sync.cut && self.cutting {
            self.cutting = false;
            while let Some((_, record)) = self.waiting.pop_front() {
                self.write(disk, &record)?;
            }
        }
        self.sync(disk);
        Ok(())
    }

    fn write(&mut self, disk: &mut D, record: &[u8]) -> Result<(), DiskError> {
        let first = self.file_to_append(disk)?;
        let header = header(self.end, self.durable_end, record, self.options.crc);
        let open = self.files.get_mut(&first).expect("the file to append to is in the map");
        disk.write_at(&open.file, open.len, &[&header, record])?;
        open.starts.push(open.len);
        open.len += (header.len() + record.len()) as u64;
        self.dirty.files.insert(first);
        self.end += 1;
        Ok(())
    }

    /// The first index of the file that the next record goes to, made if need be.
    fn file_to_append(&mut self, disk: &mut D) -> Result<u64, DiskError> {
        if let Some((&first, open)) = self.files.last_key_value()
            && open.len < self.options.file_bytes_max
        {
            return Ok(first);
        }
        let first = self.end;
        let file = match disk.open(&self.path(first), OpenMode::Create) {
            // The last file grows until a descriptor is free for the next one.
            Err(error) if error.lacks_descriptor() => {
                return self.files.last_key_value().map(|(&last, _)| last).ok_or(error);
            }
            opened => opened?,
        };
        disk.truncate(&file, 0)?;
        self.files.insert(first, OpenFile { file, starts: Vec::new(), len: 0 });
        self.dirty.dir = true;
        Ok(first)
    }

    /// Removes the file that begins with a record.
    fn remove(&mut self, disk: &mut D, first: u64) -> Result<(), DiskError> {
        disk.remove_file(&self.path(first))?;
        self.unread.remove(&first);
        self.files.remove(&first);
        self.dirty.files.remove(&first);
        self.dirty.dir = true;
        Ok(())
    }

    /// From the end on, so that what a stop in between leaves still connects with what came before the log.
    fn remove_all(&mut self, disk: &mut D) -> Result<(), DiskError> {
        while let Some(first) = self.files.keys().next_back().or(self.unread.last()).copied() {
            self.remove(disk, first)?;
        }
        Ok(())
    }

    fn path(&self, first: u64) -> String {
        format!("{}/{}", self.dir, file_name(first))
    }
}
