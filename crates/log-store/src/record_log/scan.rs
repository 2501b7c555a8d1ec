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
        for (number, &first) in firsts.iter().enumerate() {
            if first != self.end {
                return Err(RecordLogError::Missing { dir: self.dir.clone(), index: self.end });
            }
            let is_last = number + 1 == firsts.len();
            self.recover_file(disk, first, is_last, &mut records)?;
        }
        if self.end < from {
            self.drop_overtaken(disk)?;
            self.end = from;
        }
        self.durable_end = from;
        Ok(records)
    }

    /// All records lie below the first one needed: a new file begins there.
    fn drop_overtaken(&mut self, disk: &mut D) -> Result<(), DiskError> {
        while let Some((first, _)) = self.files.pop_first() {
            disk.remove_file(&self.path(first))?;
            self.dirty.files.remove(&first);
        }
        Ok(())
    }

    /// The files that hold records from index `from` on; the others are removed.
    fn firsts_needed(&self, disk: &mut D, from: u64) -> Result<Vec<u64>, DiskError> {
        let entries = disk.list(&self.dir)?;
        let mut firsts: Vec<u64> = entries.iter().filter_map(|entry| parse_file_name(&entry.name)).collect();
        while let [first, second, ..] = *firsts
            && second <= from
        {
            disk.remove_file(&self.path(first))?;
            firsts.remove(0);
        }
        Ok(firsts)
    }

    fn recover_file(
        &mut self,
        disk: &mut D,
        first: u64,
        is_last: bool,
        records: &mut Vec<Record>,
    ) -> Result<(), RecordLogError> {
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
        if !rest.is_empty() {
            if !is_last || !self.was_being_written(rest, position) {
                let file = self.path(first);
                return Err(RecordLogError::Damaged { file, position: position as u64, index: self.end });
            }
            disk.truncate(&file, position as u64)?;
        }
        self.dirty.files.insert(first);
        self.files.insert(first, OpenFile { file, starts, len: position as u64 });
        Ok(())
    }

    /// The record at `position` and where the next one begins; none if it does not check.
    fn parse(&self, bytes: &Bytes, position: usize) -> Option<(Bytes, usize)> {
        parse(bytes, position, self.end, self.options.crc)
    }

    /// Whether the bytes from `position` to the end of the file are what a stop leaves of a record that was being
    /// written: the file ends within it, or is zeros from a sector boundary within it to its end.
    fn was_being_written(&self, rest: &[u8], position: usize) -> bool {
        let header = parse_header(rest, self.options.crc).filter(|header| header.index == self.end);
        let cut_off = match header {
            Some(header) => rest.len() < HEADER_BYTES + header.len,
            None => rest.len() < HEADER_BYTES,
        };
        let sector = usize::try_from(SECTOR_BYTES).expect("a sector fits in memory");
        let to_boundary = (sector - position % sector) % sector;
        let zeros_from = match rest.first() {
            Some(0) if rest.iter().all(|byte| *byte == 0) => return true,
            _ if to_boundary == 0 => sector,
            _ => to_boundary,
        };
        let within = header.map_or(HEADER_BYTES, |header| HEADER_BYTES + header.len);
        let boundaries = (zeros_from..within.min(rest.len())).step_by(sector);
        let zeros_start = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        cut_off || boundaries.into_iter().any(|boundary| boundary >= zeros_start)
    }
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
