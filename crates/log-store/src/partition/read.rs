//! Reading by offset: from the recent appends, as a range of a file, or by a submitted read that is checked when it
//! comes back (R3).
//!
//! ```text
//! recent appends ── holds the offset ──> bytes
//! file ── place cached ── range checked since the start ── all of it cached ──┬ below high watermark ──> file range
//!   │          │                       │                         │            └ above ─────────────────> bytes, copied
//!   └ no ──────┴ no ───────────────────┴ no ─────────────────────┴ no ──> submitted; CRCs checked; bytes
//! ```

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use log_core::Offset;
use log_core::batch::{BatchHeader, check_stored};

use super::types::{Fault, FileRange, LogEvent, ReadLimit, ReadOutcome, ReadSlices, Slice};
use super::walk::{Found, HOP_BYTES, Reach, Step, Walk};
use super::{PartitionLog, Purpose};
use crate::disk::{Completed, Disk, Ticket};
use crate::error::{DiskError, DiskFault, ReadError};

/// Bytes of one submitted read at most: what is left out is read next time (guess: a few of the largest batches).
const COLD_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Bytes of one submitted read at least, so that a walk to the offset fits in.
const COLD_BYTES_MIN: u64 = 64 * 1024;

/// Bytes of a range of which the page cache is asked for one before the range is given away to be sent: what it does not have would be
/// waited for by the thread that sends. No more than a kernel reads ahead by itself (128 KiB in Linux).
const PROBE_BYTES: usize = 128 * 1024;

/// Places where readers are, remembered per log.
const CURSORS_MAX: usize = 16;

/// A read that waits for the disk.
#[derive(Debug)]
pub(super) struct PendingRead<F> {
    /// The ticket that the caller knows.
    caller: Ticket,
    from: Offset,
    limit: ReadLimit,
    segment: Offset,
    file: F,
    position: u64,
    /// A read from before a cut is done again.
    cut_count: u64,
    /// The place came from an index and may be wrong.
    from_index: bool,
}

/// Where the next reads of sequential readers start: (offset, segment, position).
#[derive(Debug, Default)]
pub(super) struct Cursors {
    places: VecDeque<(Offset, Offset, u64)>,
}

impl Cursors {
    pub(super) fn clear(&mut self) {
        self.places.clear();
    }

    fn find(&self, offset: Offset, segment: Offset) -> Option<u64> {
        let place = self.places.iter().find(|place| place.0 == offset && place.1 == segment);
        place.map(|&(_, _, position)| position)
    }

    fn note(&mut self, from: Offset, next: Offset, segment: Offset, position: u64) {
        self.places.retain(|place| place.0 != from && place.0 != next);
        self.places.push_back((next, segment, position));
        if self.places.len() > CURSORS_MAX {
            self.places.pop_front();
        }
    }
}

/// Where a read starts.
enum Place {
    At(u64, BatchHeader),
    Cold { position: u64, from_index: bool },
}

impl<D: Disk> PartitionLog<D> {
    /// Whole batches from the one that holds `from` on, within the limit. Bytes in memory, or a file range for
    /// `sendfile`; or a ticket, when the disk has to be waited for.
    ///
    /// Errors: [`ReadError::OutOfRange`] below the log start, or the [first batch](PartitionLog::first_batch) once that was
    /// asked for, and above the log end; [`ReadError::Faulty`] once damage was found.
    pub fn read(
        &mut self,
        disk: &mut D,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<ReadOutcome<D::File>, ReadError> {
        let outcome = self.read_for(disk, None, from, limit);
        self.note_read_error(from, outcome.as_ref().err());
        outcome
    }

    pub(super) fn note_read_error(&mut self, at: Offset, error: Option<&ReadError>) {
        if let Some(ReadError::Disk(error)) = error {
            self.note_unreadable(at, *error);
        }
    }

    fn read_for(
        &mut self,
        disk: &mut D,
        caller: Option<Ticket>,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<ReadOutcome<D::File>, ReadError> {
        self.check_readable(from)?;
        let limit = ReadLimit { end: limit.end.min(self.offsets.log_end()), ..limit };
        let nothing = ReadSlices { slices: Vec::new(), bytes: 0, next_offset: from };
        if from >= limit.end {
            return Ok(ReadOutcome::Ready(nothing));
        }
        if let Some(found) = self.tail.read(from, &limit) {
            return Ok(ReadOutcome::Ready(found));
        }
        let index = self.segment_of(from).ok_or(ReadError::Faulty)?;
        match self.place_of(disk, index, from, limit.end)? {
            Place::Cold { position, from_index } => {
                Ok(self.submit(disk, caller, index, position, from, limit, from_index)?)
            }
            Place::At(position, header) => {
                self.read_at_place(disk, caller, index, position, &header, from, limit)
            }
        }
    }

    fn check_readable(&self, from: Offset) -> Result<(), ReadError> {
        if self.fault.is_some() {
            return Err(ReadError::Faulty);
        }
        let (log_start, log_end) = (self.offsets.log_start(), self.offsets.log_end());
        // Whoever asks for the first batch gets the whole of it.
        let (of, begins) = self.first_batch;
        let first = if of == log_start { begins } else { log_start };
        if from < first || from > log_end {
            return Err(ReadError::OutOfRange { offset: from, log_start, log_end });
        }
        Ok(())
    }

    /// The place of the batch that holds `from`: where a reader stopped before, or by the index.
    ///
    /// A header that reaches beyond `end` is not believed before its batch is checked: one that rotted could hide what
    /// follows it for ever.
    fn place_of(
        &mut self,
        disk: &mut D,
        index: usize,
        from: Offset,
        end: Offset,
    ) -> Result<Place, ReadError> {
        self.load_indexes(disk, index)?;
        for attempt in 0..2 {
            let file = self.file_of(disk, index)?;
            let Some(segment) = self.segments.get(index) else { break };
            let (base, bytes) = (segment.base, segment.bytes);
            let cursor = self.cursors.find(from, base).filter(|_| attempt == 0);
            let floor = segment.indexes().map_or(0, |indexes| indexes.offsets.position_for(from));
            let start = cursor.unwrap_or(u64::from(floor));
            let mut walk = Walk::new(file, start, bytes, Reach::Cached, HOP_BYTES);
            match walk.find(disk, from, base)? {
                Found::Batch(position, header)
                    if self.is_of_its_epoch(&header) && header.next_offset() <= end =>
                {
                    return Ok(Place::At(position, header));
                }
                Found::Batch(_, header) if self.is_of_its_epoch(&header) => {
                    return Ok(Place::Cold { position: start, from_index: start > 0 });
                }
                Found::Cold(_) => return Ok(Place::Cold { position: start, from_index: start > 0 }),
                Found::Batch(..) | Found::Missing if attempt == 0 && start > 0 => {
                    // S10: the index named a place where no such batch stands.
                    self.cursors.clear();
                    self.drop_indexes(disk, base)?;
                }
                Found::Batch(..) | Found::Missing => break,
            }
        }
        self.fail(Fault::BadBatch { at: from });
        Err(ReadError::Faulty)
    }

    /// Whether the batch carries the epoch that the log has for its offset: no checksum of a batch covers its epoch, so this belongs
    /// to each check of one.
    pub(super) fn is_of_its_epoch(&self, header: &BatchHeader) -> bool {
        self.epochs.epoch_of(header.base_offset).is_none_or(|epoch| epoch == header.leader_epoch)
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one read, gathered by its only caller")]
    fn read_at_place(
        &mut self,
        disk: &mut D,
        caller: Option<Ticket>,
        index: usize,
        position: u64,
        first: &BatchHeader,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<ReadOutcome<D::File>, ReadError> {
        let first_bytes = first.batch_bytes as u64;
        if first_bytes > limit.max_bytes && !limit.at_least_one {
            return Ok(ReadOutcome::Ready(ReadSlices { slices: Vec::new(), bytes: 0, next_offset: from }));
        }
        let max_bytes = limit.max_bytes.max(first_bytes);
        let (end, next_offset) = match self.extent(disk, index, position, max_bytes, limit.end)? {
            Some(extent) => extent,
            None => return Ok(self.submit(disk, caller, index, position, from, limit, false)?),
        };
        let Some(segment) = self.segments.get(index) else { return Err(ReadError::Faulty) };
        let base = segment.base;
        let checked = segment.checked.contains(&(position..end));
        let Some(file) = segment.open_file().filter(|_| checked) else {
            return Ok(self.submit(disk, caller, index, position, from, limit, false)?);
        };
        let len = end - position;
        let slice = if next_offset <= self.offsets.high_watermark() {
            if !is_cached(disk, &file, position..end)? {
                return Ok(self.submit(disk, caller, index, position, from, limit, false)?);
            }
            Slice::File(FileRange { file, position, len })
        } else {
            let mut bytes = vec![0; len as usize];
            match disk.read_if_cached(&file, position, &mut bytes)? {
                Some(count) if count as u64 == len => Slice::Bytes(Bytes::from(bytes)),
                _ => return Ok(self.submit(disk, caller, index, position, from, limit, false)?),
            }
        };
        self.cursors.note(from, next_offset, base, end);
        Ok(ReadOutcome::Ready(ReadSlices { slices: vec![slice], bytes: len, next_offset }))
    }

    /// Where the last batch ends that fits both limits, as position and offset; `None` if it is cold.
    fn extent(
        &mut self,
        disk: &mut D,
        index: usize,
        position: u64,
        max_bytes: u64,
        end: Offset,
    ) -> Result<Option<(u64, Offset)>, ReadError> {
        let Some(segment) = self.segments.get(index) else { return Ok(None) };
        if segment.end <= end && segment.bytes - position <= max_bytes {
            return Ok(Some((segment.bytes, segment.end)));
        }
        let limit = segment.bytes.min(position.saturating_add(max_bytes));
        let by_index = segment.indexes().map_or(0, |indexes| {
            let offsets = &indexes.offsets;
            let by_position = offsets.position_at_most(u32::try_from(limit).unwrap_or(u32::MAX));
            u64::from(offsets.position_for(end).min(by_position))
        });
        let Some(file) = segment.open_file() else { return Ok(None) };
        let mut walk = Walk::new(file, by_index.max(position), segment.bytes, Reach::Cached, HOP_BYTES);
        let mut reached = None;
        loop {
            match walk.step(disk)? {
                Step::Batch(_, header) if header.next_offset() <= end && walk.position() <= limit => {
                    reached = Some((walk.position(), header.next_offset()));
                }
                Step::Batch(at, header) => return Ok(Some(reached.unwrap_or((at, header.base_offset)))),
                Step::Cold => return Ok(reached),
                Step::End => return Ok(reached),
                Step::Bad => {
                    let at = reached.map_or(end, |(_, at)| at);
                    self.fail(Fault::BadBatch { at });
                    return Err(ReadError::Faulty);
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one read, gathered by its callers")]
    fn submit(
        &mut self,
        disk: &mut D,
        caller: Option<Ticket>,
        index: usize,
        position: u64,
        from: Offset,
        limit: ReadLimit,
        from_index: bool,
    ) -> Result<ReadOutcome<D::File>, DiskError> {
        let file = self.file_of(disk, index)?;
        let Some(base) = self.segments.get(index).map(|segment| segment.base) else {
            return Err(DiskError::new(crate::DiskOperation::Read, DiskFault::NotFound));
        };
        let len = limit.max_bytes.saturating_add(HOP_BYTES as u64).clamp(COLD_BYTES_MIN, COLD_BYTES_MAX);
        let ticket = Ticket { log: self.id, sequence: self.next_sequence };
        let read = PendingRead {
            caller: caller.unwrap_or(ticket),
            from,
            limit,
            segment: base,
            file,
            position,
            cut_count: self.cut_count,
            from_index,
        };
        let caller = read.caller;
        self.submit_pending(disk, read, len);
        Ok(ReadOutcome::Pending(caller))
    }

    fn submit_pending(&mut self, disk: &mut D, read: PendingRead<D::File>, len: u64) {
        let segment = self.segments.iter().find(|segment| segment.base == read.segment);
        let left = segment.map_or(len, |segment| segment.bytes.saturating_sub(read.position));
        let (file, position, len) = (read.file.clone(), read.position, len.min(left));
        let ticket = self.new_ticket(Purpose::Read(Box::new(read)));
        disk.submit_read(ticket, &file, position, u32::try_from(len).unwrap_or(u32::MAX));
    }

    pub(super) fn finish_read(
        &mut self,
        disk: &mut D,
        read: PendingRead<D::File>,
        result: Result<Completed, DiskError>,
    ) {
        let caller = read.caller;
        let outcome = match result {
            Ok(Completed::Read(bytes)) => {
                let from = read.from;
                let outcome = self.finish_with(disk, read, &bytes);
                self.note_read_error(from, outcome.as_ref().err());
                outcome
            }
            Ok(Completed::Synced) => return,
            Err(error) => {
                self.on_unreadable(&read, error);
                Err(ReadError::Disk(error))
            }
        };
        let result = match outcome {
            Ok(ReadOutcome::Pending(_)) => return,
            Ok(ReadOutcome::Ready(found)) => Ok(found),
            Err(error) => Err(error),
        };
        self.events.push_back(LogEvent::ReadReady { ticket: caller, result });
    }

    fn on_unreadable(&mut self, read: &PendingRead<D::File>, error: DiskError) {
        if read.cut_count == self.cut_count {
            self.note_unreadable(read.segment, error);
        }
    }

    fn finish_with(
        &mut self,
        disk: &mut D,
        read: PendingRead<D::File>,
        bytes: &Bytes,
    ) -> Result<ReadOutcome<D::File>, ReadError> {
        self.check_readable(read.from)?;
        if read.cut_count != self.cut_count {
            return self.read_for(disk, Some(read.caller), read.from, read.limit);
        }
        let checked = self.check_bytes(&read, bytes);
        if let Some(segment) = self.segments.iter_mut().find(|segment| segment.base == read.segment) {
            segment.checked.add(read.position..read.position + checked.bytes as u64);
        }
        if checked.damaged {
            return self.on_bad_bytes(disk, read, checked.next);
        }
        match (checked.taken, checked.need) {
            (Some((start, end, next_offset)), _) => {
                let position = read.position + end as u64;
                self.cursors.note(read.from, next_offset, read.segment, position);
                let slice = Slice::Bytes(bytes.slice(start..end));
                let bytes = (end - start) as u64;
                Ok(ReadOutcome::Ready(ReadSlices { slices: vec![slice], bytes, next_offset }))
            }
            (None, Some(need)) => {
                let caller = read.caller;
                let position = read.position + checked.bytes as u64;
                self.submit_pending(disk, PendingRead { position, from_index: false, ..read }, need);
                Ok(ReadOutcome::Pending(caller))
            }
            (None, None) => {
                Ok(ReadOutcome::Ready(ReadSlices { slices: Vec::new(), bytes: 0, next_offset: read.from }))
            }
        }
    }

    fn on_bad_bytes(
        &mut self,
        disk: &mut D,
        read: PendingRead<D::File>,
        at: Option<Offset>,
    ) -> Result<ReadOutcome<D::File>, ReadError> {
        if read.from_index && at.is_none() {
            // Not even the first batch was where the index said: the index may be the one that is damaged.
            self.cursors.clear();
            self.drop_indexes(disk, read.segment)?;
            if self.fault.is_some() {
                return Err(ReadError::Faulty);
            }
            let index = self.segments.iter().position(|segment| segment.base == read.segment);
            let index = index.ok_or(ReadError::Faulty)?;
            return match self.place_of(disk, index, read.from, read.limit.end)? {
                Place::At(position, _) | Place::Cold { position, .. } => {
                    Ok(self.submit(disk, Some(read.caller), index, position, read.from, read.limit, false)?)
                }
            };
        }
        self.fail(Fault::BadBatch { at: at.unwrap_or(read.from) });
        Err(ReadError::Faulty)
    }

    /// Checks batch after batch; picks those that the read asks for.
    fn check_bytes(&self, read: &PendingRead<D::File>, bytes: &[u8]) -> Checked {
        let mut checked = Checked::default();
        let limit = &read.limit;
        let segment_end = self.segments.iter().find(|segment| segment.base == read.segment);
        let segment_end = segment_end.map_or(u64::MAX, |segment| segment.bytes);
        while let Some(rest) = bytes.get(checked.bytes..).filter(|rest| !rest.is_empty()) {
            let header = match check_stored(rest, self.options.crc) {
                Ok(header) => header,
                Err(log_core::BatchError::Incomplete { need, .. }) => {
                    let end = read.position + (checked.bytes + need) as u64;
                    checked.damaged = end > segment_end;
                    checked.need = Some(need.max(COLD_BYTES_MIN as usize) as u64);
                    break;
                }
                Err(_) => {
                    checked.damaged = true;
                    break;
                }
            };
            let continues = match checked.next {
                Some(next) => header.base_offset == next,
                None => header.base_offset >= read.segment && header.base_offset <= read.from,
            };
            if !continues || !self.is_of_its_epoch(&header) {
                checked.damaged = true;
                break;
            }
            let start = checked.bytes;
            checked.bytes += header.batch_bytes;
            checked.next = Some(header.next_offset());
            if header.next_offset() > read.from && !checked.take(start, &header, limit) {
                break;
            }
        }
        let reached_nothing = checked.taken.is_none() && checked.need.is_none() && !checked.full;
        if reached_nothing && !checked.damaged {
            checked.damaged = read.position + checked.bytes as u64 >= segment_end;
            checked.need = Some(COLD_BYTES_MIN);
        }
        checked
    }
}

/// Whether the page cache has the range, whose beginning it has, as far as one byte in [`PROBE_BYTES`] and the last tell.
fn is_cached<D: Disk>(disk: &mut D, file: &D::File, range: Range<u64>) -> Result<bool, DiskError> {
    let last = range.end.saturating_sub(1);
    for position in range.step_by(PROBE_BYTES).skip(1).chain([last]) {
        if disk.read_if_cached(file, position, &mut [0])?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the check of read bytes gave.
#[derive(Debug, Default)]
struct Checked {
    /// Bytes of good batches.
    bytes: usize,
    /// The offset after them.
    next: Option<Offset>,
    damaged: bool,
    /// Start and end in the bytes, and the next offset, of what the caller asked for.
    taken: Option<(usize, usize, Offset)>,
    /// The next batch is cut and takes this many bytes.
    need: Option<u64>,
    /// The limit was reached.
    full: bool,
}

impl Checked {
    /// Takes a batch if the limit allows; whether to go on.
    fn take(&mut self, start: usize, header: &BatchHeader, limit: &ReadLimit) -> bool {
        let from = self.taken.map_or(start, |(from, _, _)| from);
        let bytes = (self.bytes - from) as u64;
        let fits = bytes <= limit.max_bytes || (limit.at_least_one && self.taken.is_none());
        self.full = header.next_offset() > limit.end || !fits;
        if !self.full {
            self.taken = Some((from, self.bytes, header.next_offset()));
        }
        !self.full
    }
}
