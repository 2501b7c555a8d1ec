//! Searching by timestamp: the time index gives where to begin, headers where to look, records the answer.
//!
//! This reads the medium if it must: an index interval and one batch, for a call that clients make when they begin; and once for
//! each segment met at the start the small file that says its greatest timestamp.

use log_core::batch::{BatchHeader, Record, Records, check_stored, decompress, records_of};
use log_core::limits::RECORDS_BYTES_MAX_DEFAULT;
use log_core::{Codecs, Offset, Timestamp};

use super::PartitionLog;
use super::types::{Fault, FoundRecord};
use super::walk::{HOP_BYTES, Reach, Step, Walk};
use crate::disk::Disk;
use crate::error::ReadError;

/// A part of one segment to be searched.
#[derive(Clone, Copy, Debug)]
struct Part {
    index: usize,
    from: Offset,
    end: Offset,
}

impl<D: Disk> PartitionLog<D> {
    /// The first record below `end` whose timestamp is at least `timestamp`, in offset order.
    ///
    /// Errors: [`ReadError::Faulty`] if damage is met.
    pub fn offset_for_timestamp(
        &mut self,
        disk: &mut D,
        timestamp: Timestamp,
        end: Offset,
        codecs: Codecs,
    ) -> Result<Option<FoundRecord>, ReadError> {
        let found = self.try_offset_for_timestamp(disk, timestamp, end, codecs);
        self.note_read_error(self.offsets.log_start(), found.as_ref().err());
        found
    }

    fn try_offset_for_timestamp(
        &mut self,
        disk: &mut D,
        timestamp: Timestamp,
        end: Offset,
        codecs: Codecs,
    ) -> Result<Option<FoundRecord>, ReadError> {
        self.check_undamaged()?;
        for index in 0..self.segments.len() {
            let max = self.max_timestamp_of(disk, index)?;
            self.check_undamaged()?;
            if max.is_some_and(|max| max < timestamp) {
                continue;
            }
            self.load_indexes(disk, index)?;
            let times = self.segments.get(index).and_then(|segment| segment.indexes());
            let from = times.map_or(Offset::ZERO, |indexes| indexes.times.offset_for(timestamp));
            let part = Part { index, from: from.max(self.offsets.log_start()), end };
            if let Some(found) = self.search(disk, part, timestamp, codecs)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first record below `end` that carries the greatest timestamp; none in an empty log.
    ///
    /// Errors: [`ReadError::Faulty`] if damage is met.
    pub fn max_timestamp(
        &mut self,
        disk: &mut D,
        end: Offset,
        codecs: Codecs,
    ) -> Result<Option<FoundRecord>, ReadError> {
        let found = self.try_max_timestamp(disk, end, codecs);
        self.note_read_error(self.offsets.log_start(), found.as_ref().err());
        found
    }

    fn try_max_timestamp(
        &mut self,
        disk: &mut D,
        end: Offset,
        codecs: Codecs,
    ) -> Result<Option<FoundRecord>, ReadError> {
        self.check_undamaged()?;
        let mut greatest: Option<(usize, Timestamp)> = None;
        for index in 0..self.segments.len() {
            let max = self.max_timestamp_below(disk, index, end)?;
            if max.is_some_and(|max| greatest.is_none_or(|(_, before)| max > before)) {
                greatest = max.map(|max| (index, max));
            }
        }
        let Some((index, timestamp)) = greatest else { return Ok(None) };
        self.load_indexes(disk, index)?;
        let times = self.segments.get(index).and_then(|segment| segment.indexes());
        let before = Timestamp(timestamp.0.saturating_sub(1));
        let from = times.map_or(Offset::ZERO, |indexes| indexes.times.offset_for(before));
        let part = Part { index, from: from.max(self.offsets.log_start()), end };
        self.search(disk, part, timestamp, codecs)
    }

    fn check_undamaged(&self) -> Result<(), ReadError> {
        if self.fault.is_some() { Err(ReadError::Faulty) } else { Ok(()) }
    }

    /// The greatest timestamp of a segment's batches from the log start up to `end`.
    fn max_timestamp_below(
        &mut self,
        disk: &mut D,
        index: usize,
        end: Offset,
    ) -> Result<Option<Timestamp>, ReadError> {
        let start = self.offsets.log_start();
        let Some(segment) = self.segments.get(index) else { return Ok(None) };
        let (base, segment_end) = (segment.base, segment.end);
        if segment_end <= start || base >= end || base == segment_end {
            return Ok(None);
        }
        if base >= start && segment_end <= end {
            let max = self.max_timestamp_of(disk, index)?;
            self.check_undamaged()?;
            return Ok(max);
        }
        self.load_indexes(disk, index)?;
        let times = self.segments.get(index).and_then(|segment| segment.indexes());
        let indexed = times.map(|indexes| {
            let mut times = indexes.times.clone();
            times.truncate_to(end);
            times.last()
        });
        let indexed = indexed.flatten().filter(|entry| entry.last_offset >= start);
        let from = indexed.map_or(start, |entry| entry.last_offset);
        let mut max = indexed.map(|entry| entry.timestamp);
        self.walk_part(disk, Part { index, from, end }, |header, _| {
            max = max.max(Some(header.max_timestamp));
            true
        })?;
        Ok(max)
    }

    /// Visits the headers of a part with their positions until the visitor says `false`.
    fn walk_part(
        &mut self,
        disk: &mut D,
        part: Part,
        mut visit: impl FnMut(&BatchHeader, u64) -> bool,
    ) -> Result<(), ReadError> {
        let file = self.file_of(disk, part.index)?;
        let Some(segment) = self.segments.get(part.index) else { return Ok(()) };
        let floor = segment.indexes().map_or(0, |indexes| indexes.offsets.position_for(part.from));
        let mut walk = Walk::new(file, u64::from(floor), segment.bytes, Reach::Medium, HOP_BYTES);
        let mut expected = None;
        loop {
            match walk.step(disk)? {
                Step::Batch(position, header) if expected.is_none_or(|at| at == header.base_offset) => {
                    expected = Some(header.next_offset());
                    let is_before = header.next_offset() <= part.from;
                    if header.base_offset >= part.end || !is_before && !visit(&header, position) {
                        return Ok(());
                    }
                }
                Step::End => return Ok(()),
                Step::Batch(..) | Step::Bad | Step::Cold => {
                    self.fail(Fault::BadBatch { at: part.from });
                    return Err(ReadError::Faulty);
                }
            }
        }
    }

    /// The first record of a part whose timestamp is at least this.
    fn search(
        &mut self,
        disk: &mut D,
        part: Part,
        timestamp: Timestamp,
        codecs: Codecs,
    ) -> Result<Option<FoundRecord>, ReadError> {
        let mut from = part.from;
        loop {
            let mut candidate = None;
            self.walk_part(disk, Part { from, ..part }, |header, position| {
                let late = header.max_timestamp >= timestamp;
                candidate = late.then_some((position, header.batch_bytes, header.next_offset()));
                !late
            })?;
            let Some((position, bytes, next)) = candidate else { return Ok(None) };
            let batch = self.read_batch(disk, part.index, position, bytes)?;
            let kept = self.offsets.log_start()..part.end;
            let wanted = |record: &Record<'_>| record.timestamp >= timestamp && kept.contains(&record.offset);
            if let Some(found) = find_record(&batch.0, &batch.1, codecs, wanted) {
                return Ok(Some(found));
            }
            from = next;
        }
    }

    fn read_batch(
        &mut self,
        disk: &mut D,
        index: usize,
        position: u64,
        bytes: usize,
    ) -> Result<(BatchHeader, Vec<u8>), ReadError> {
        let file = self.file_of(disk, index)?;
        let mut batch = vec![0; bytes];
        let count = disk.read_at(&file, position, &mut batch)?;
        batch.truncate(count);
        let at = self.segments.get(index).map_or(self.offsets.log_start(), |segment| segment.base);
        let found = check_stored(&batch, self.options.crc).ok();
        let Some(header) = found.filter(|header| self.is_of_its_epoch(header)) else {
            self.fail(Fault::BadBatch { at });
            return Err(ReadError::Faulty);
        };
        if let Some(segment) = self.segments.get_mut(index) {
            segment.checked.add(position..position + bytes as u64);
        }
        Ok((header, batch))
    }
}

/// The first record that is wanted. Records that cannot be read (their producer compressed something else) are
/// answered for by the batch as a whole.
fn find_record(
    header: &BatchHeader,
    batch: &[u8],
    codecs: Codecs,
    wanted: impl Fn(&Record<'_>) -> bool,
) -> Option<FoundRecord> {
    let leader_epoch = header.leader_epoch;
    let whole = FoundRecord { offset: header.base_offset, timestamp: header.max_timestamp, leader_epoch };
    let mut buffer = Vec::new();
    let stored = records_of(header, batch).ok()?;
    let Ok(records) = decompress(header, stored, codecs, RECORDS_BYTES_MAX_DEFAULT, &mut buffer) else {
        return Some(whole);
    };
    for record in Records::new(header, records) {
        match record {
            Ok(record) if wanted(&record) => {
                let (offset, timestamp) = (record.offset, record.timestamp);
                return Some(FoundRecord { offset, timestamp, leader_epoch });
            }
            Ok(_) => {}
            Err(_) => return Some(whole),
        }
    }
    None
}
