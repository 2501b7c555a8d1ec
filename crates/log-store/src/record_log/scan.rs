//! Reading a record log at the start: which records it holds, and whether its end was being written or is damaged.

use bytes::Bytes;
use log_core::Crc32c;

use super::error::RecordLogError;
use super::format::{HEADER_BYTES, parse_file_name, parse_header};
use super::{OpenFile, Record, RecordLog};
use crate::disk::{Disk, OpenMode, SECTOR_BYTES};
use crate::error::DiskError;

impl<D: Disk> RecordLog<D> {
    pub(super) fn recover(&mut self, disk: &mut D, from: u64) -> Result<Vec<Record>, RecordLogError> {
        let firsts = self.firsts_needed(disk, from)?;
        if let Some(&first) = firsts.first() {
            if first > from {
                return Err(RecordLogError::Missing { dir: self.dir.clone(), index: from });
            }
            self.end = first;
        }
        let mut records = Vec::new();
        let mut left = firsts.into_iter();
        while let Some(first) = left.next() {
            if first != self.end {
                return Err(RecordLogError::Missing { dir: self.dir.clone(), index: self.end });
            }
            if self.recover_file(disk, first, left.as_slice(), &mut records)? == Ending::Torn {
                self.drop_unreachable(disk, left.as_slice())?;
                // As after a cut, what is dropped has to be gone before anything is written in its place: a power cut could keep
                // sectors of both, and that is not how records that were being written look.
                self.cutting = true;
                break;
            }
        }
        if self.end < from {
            // All records lie below the first one needed, and none connects with it: a new file begins there. They stay until a
            // purge: what says that they are not needed may be in the page cache alone, and then be lost with the power.
            self.unread.extend(self.files.keys());
            self.files.clear();
            self.dirty.files.clear();
            self.end = from;
        }
        if self.files.is_empty() && from > 0 {
            // Nor is a file made that could outlive it.
            self.cutting = true;
        }
        self.durable_end = from;
        Ok(records)
    }

    /// Files behind a torn end hold nothing that was ever durable.
    fn drop_unreachable(&mut self, disk: &mut D, later: &[u64]) -> Result<(), DiskError> {
        later.iter().try_for_each(|first| disk.remove_file(&self.path(*first)))
    }

    /// The files that hold records from index `from` on. Those before are noted and not read, so that a start takes no
    /// longer for them; they go with the next purge, since the caller may want their records at a later start.
    fn firsts_needed(&mut self, disk: &mut D, from: u64) -> Result<Vec<u64>, DiskError> {
        let entries = disk.list(&self.dir)?;
        let mut firsts: Vec<u64> = entries.iter().filter_map(|entry| parse_file_name(&entry.name)).collect();
        while let [first, second, ..] = *firsts
            && second <= from
        {
            self.unread.insert(first);
            firsts.remove(0);
        }
        Ok(firsts)
    }

    /// Takes the records of one file; `later` are the first indexes of the files behind it.
    fn recover_file(
        &mut self,
        disk: &mut D,
        first: u64,
        later: &[u64],
        records: &mut Vec<Record>,
    ) -> Result<Ending, RecordLogError> {
        let file = disk.open(&self.path(first), OpenMode::Write)?;
        let bytes = read_all(disk, &file)?;
        let mut starts = Vec::new();
        let mut position = 0;
        while let Some((record, next)) = self.parse(&bytes, position) {
            starts.push(position as u64);
            records.push((self.end, record));
            self.end += 1;
            position = next;
        }
        let rest = bytes.get(position..).unwrap_or_default();
        let ends_here = rest.is_empty() && later.first().is_none_or(|next| *next == self.end);
        let ending = if ends_here { Ending::Whole } else { Ending::Torn };
        if ending == Ending::Torn {
            if self.was_durable(disk, rest, later)? || !self.was_being_written(rest, position) {
                let file = self.path(first);
                return Err(RecordLogError::Damaged { file, position: position as u64, index: self.end });
            }
            disk.truncate(&file, position as u64)?;
        }
        self.dirty.files.insert(first);
        self.files.insert(first, OpenFile { file, starts, len: position as u64 });
        Ok(ending)
    }

    /// Whether a record behind the first that does not check was written when that one was on the medium already.
    fn was_durable(&self, disk: &mut D, rest: &[u8], later: &[u64]) -> Result<bool, DiskError> {
        if self.names_durable(rest) {
            return Ok(true);
        }
        for first in later {
            let file = disk.open(&self.path(*first), OpenMode::Read)?;
            if self.names_durable(&read_all(disk, &file)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn names_durable(&self, bytes: &[u8]) -> bool {
        let headers = bytes.windows(HEADER_BYTES).filter_map(|window| parse_header(window, self.options.crc));
        headers.into_iter().any(|header| header.index > self.end && header.durable_end > self.end)
    }

    /// The record at `position` and where the next one begins; none if it does not check.
    fn parse(&self, bytes: &Bytes, position: usize) -> Option<(Bytes, usize)> {
        parse(bytes, position, self.end, self.options.crc)
    }

    /// Whether the bytes from `position` to the end of the file are what a stop leaves of records that were being written:
    /// the file ends within the first, or a whole sector of it is missing. Which sectors a power cut keeps is not in their
    /// order, so later ones may be there.
    fn was_being_written(&self, rest: &[u8], position: usize) -> bool {
        let header = parse_header(rest, self.options.crc).filter(|header| header.index == self.end);
        let len = header.map_or(HEADER_BYTES, |header| HEADER_BYTES + header.len);
        let Some(record) = rest.get(..len) else { return true };
        let sector = usize::try_from(SECTOR_BYTES).expect("a sector fits in memory");
        let to_boundary = (sector - position % sector) % sector;
        let (before, aligned) = record.split_at_checked(to_boundary).unwrap_or((record, &[]));
        let missing = |piece: &[u8]| piece.iter().all(|byte| *byte == 0);
        // The rest of the sector in which the record before it ends: lost only if nothing of this record is in it.
        let begins_missing = before.len() >= HEADER_BYTES.min(record.len()) && missing(before);
        let begins_missing = begins_missing || missing(before) && self.front_is_missing(rest, before.len());
        begins_missing || aligned.chunks(sector).any(missing)
    }

    /// Whether the sector that holds only the first bytes of a record's header is missing, and the next one is there: with
    /// the right length and index put back, the header checks. One flipped bit is no missing sector: it takes two.
    fn front_is_missing(&self, rest: &[u8], front: usize) -> bool {
        let Some(found) = rest.first_chunk::<HEADER_BYTES>() else { return true };
        let payload = u32::try_from(rest.len() - HEADER_BYTES).unwrap_or(u32::MAX);
        (0..=payload).any(|len| {
            let lost = [len.to_be_bytes().as_slice(), &self.end.to_be_bytes()].concat();
            let lost = lost.get(..front).unwrap_or(&lost);
            let bits: u32 = lost.iter().map(|byte| byte.count_ones()).sum();
            let mut header = *found;
            header.iter_mut().zip(lost).for_each(|(to, byte)| *to = *byte);
            bits > 1 && (front > lost.len() || parse_header(&header, self.options.crc).is_some())
        })
    }
}

/// How a file of the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// With its last record, and the next file continues it.
    Whole,
    /// Within records that were being written.
    Torn,
}

/// The records of one file of a record log, with their indexes, up to the first that does not check: for a reader from
/// outside, who repairs nothing. Nothing comes of a file whose name is not that of a record log's file.
pub fn records_of(name: &str, file: &Bytes, crc: Crc32c) -> Vec<Record> {
    let Some(first) = parse_file_name(name) else { return Vec::new() };
    let mut position = 0;
    let mut records = Vec::new();
    for index in first.. {
        let Some((record, next)) = parse(file, position, index, crc) else { break };
        records.push((index, record));
        position = next;
    }
    records
}

fn parse(bytes: &Bytes, position: usize, index: u64, crc: Crc32c) -> Option<(Bytes, usize)> {
    let header = parse_header(bytes.get(position..)?, crc)?;
    let start = position + HEADER_BYTES;
    let end = start.checked_add(header.len)?;
    let payload = bytes.get(start..end)?;
    let checks = header.index == index && crc(0, payload) == header.payload_crc;
    checks.then(|| (bytes.slice(start..end), end))
}

fn read_all<D: Disk>(disk: &mut D, file: &D::File) -> Result<Bytes, DiskError> {
    let len = usize::try_from(disk.file_len(file)?).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len];
    let read = disk.read_around_cache(file, 0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes.into())
}
