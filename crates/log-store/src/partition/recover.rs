//! The start after an unclean stop: what lies above the bound is read around the page cache and judged.
//!
//! ```text
//! ... segment of the bound ...........|######## accepted ########|X ??????????????| later segments ...
//!                          bound.position                         verdict on what follows
//! ```

use log_core::Offset;
use log_core::batch::BatchHeader;
use log_core::index::SegmentIndexes;
use log_core::mutation::{Mutation, mutated, on};
use log_core::segment::{ScanStart, ScanStep, Scanner, TailFacts, TailVerdict, tail_verdict};

use super::bound::{Bound, EndPoint};
use super::job::{CopyPart, Job, JobEnd, Step};
use super::types::{Fault, OpenFacts, Recovered, StartVerdict};
use super::{PartitionLog, is_unreadable};
use crate::disk::Disk;
use crate::error::DiskError;

/// Bytes read at once.
const CHUNK_BYTES: u64 = 1024 * 1024;

/// Bytes read at once where the medium is bad: what devices read and write as one.
pub(super) const PIECE_BYTES: usize = 4096;

/// A call that reads at a position.
type ReadCall<D> = fn(&mut D, &<D as Disk>::File, u64, &mut [u8]) -> Result<usize, DiskError>;

/// How a file ended for the scanner.
pub(super) enum FileEnd {
    /// With its last batch.
    Exact,
    /// With zeros.
    Zeros,
    /// With something that is not accepted.
    Refused,
}

/// A window of a file, read around the page cache.
pub(super) struct Window<F> {
    file: F,
    bytes: Vec<u8>,
    at: u64,
    /// Length of the file, as far as it was seen.
    len: u64,
    /// Where the medium does not give bytes back, the file ends.
    salvages: bool,
}

impl<F> Window<F> {
    pub(super) const fn new(file: F, at: u64, len: u64, salvages: bool) -> Self {
        Self { file, bytes: Vec::new(), at, len, salvages }
    }

    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    fn from(&self, position: u64) -> &[u8] {
        let skip = usize::try_from(position.saturating_sub(self.at)).unwrap_or(usize::MAX);
        self.bytes.get(skip..).unwrap_or(&[])
    }

    /// Moves to `position` and reads at least `need` bytes there, if the file has them.
    fn load<D: Disk<File = F>>(&mut self, disk: &mut D, position: u64, need: u64) -> Result<u64, DiskError> {
        let left = self.len.saturating_sub(position);
        self.bytes.resize(left.min(need.max(CHUNK_BYTES)) as usize, 0);
        self.at = position;
        let read = mutated::<ReadCall<D>>(Mutation::S21, D::read_around_cache, D::read_at);
        let count = match read(disk, &self.file, position, &mut self.bytes) {
            Err(error) if self.salvages && is_unreadable(&error) => self.load_pieces(disk, position)?,
            read => read?,
        };
        if count < self.bytes.len() {
            self.bytes.truncate(count);
            self.len = self.end();
        }
        Ok(count as u64)
    }

    /// As much as the medium gives back, piece by piece: one bad sector hides no more than its piece.
    fn load_pieces<D: Disk<File = F>>(&mut self, disk: &mut D, position: u64) -> Result<usize, DiskError> {
        let mut held = 0;
        for piece in self.bytes.chunks_mut(PIECE_BYTES) {
            match disk.read_around_cache(&self.file, position + held as u64, piece) {
                Err(error) if is_unreadable(&error) => break,
                read => held += read?,
            }
        }
        Ok(held)
    }
}

impl<D: Disk> PartitionLog<D> {
    pub(super) fn recover(
        &mut self,
        disk: &mut D,
        bound: Bound,
        facts: OpenFacts,
        recovered: &mut Recovered,
    ) -> Result<StartVerdict, DiskError> {
        let end = bound.end;
        let at = self.segments.iter().position(|segment| segment.base == end.segment);
        let reaches = match at.and_then(|at| self.segments.get(at)) {
            Some(segment) => segment.bytes >= end.position,
            None => end.position == 0,
        };
        if !reaches {
            return Ok(self.faulty_at(end.offset));
        }
        let from = at.unwrap_or_else(|| self.segments.partition_point(|segment| segment.base < end.offset));
        self.forget_above(from, &end);
        if at.is_some() {
            self.load_indexes_for_start(disk, from)?;
        }
        self.rebuild_producers(disk, end.offset)?;
        if self.fault.is_some() {
            return Ok(StartVerdict::Verified);
        }
        let start = ScanStart {
            position: end.position,
            offset: end.offset,
            epoch: end.epoch,
            newest_epoch: facts.newest_epoch,
        };
        let mut scanner = Scanner::new(start, self.options.crc);
        let tail = self.scan(disk, from, &mut scanner)?;
        if mutated(Mutation::S6, false, true) {
            self.offsets.raise_durable_end(self.offsets.log_end());
        }
        recovered.bytes_recovered = self.bytes_above(&end);
        let verdict = tail_verdict(&tail, &bound.facts());
        recovered.bytes_cut = tail.zeros_from.saturating_sub(tail.position);
        self.dir_dirty = true;
        self.segments.iter_mut().skip(from).for_each(|segment| segment.dirty = true);
        self.act_on(disk, verdict, &tail)
    }

    fn faulty_at(&mut self, at: Offset) -> StartVerdict {
        self.fault = Some(Fault::BelowBound { at });
        StartVerdict::Faulty(Fault::BelowBound { at })
    }

    /// The extent of the segments as far as the bound vouches for it; the files may hold more.
    pub(super) fn forget_above(&mut self, from: usize, end: &EndPoint) {
        for segment in self.segments.iter_mut().skip(from) {
            let bytes = if segment.base == end.segment { end.position } else { 0 };
            let first_append = segment.first_append;
            segment.cut(if segment.base == end.segment { end.offset } else { segment.base }, bytes);
            segment.first_append = first_append;
        }
    }

    fn bytes_above(&self, end: &EndPoint) -> u64 {
        let above = self.segments.iter().filter(|segment| segment.base >= end.segment);
        above.map(|segment| segment.bytes).sum::<u64>().saturating_sub(end.position)
    }

    /// Accepts batches from the scanner's place on, through all segments; says what follows the last one.
    fn scan(&mut self, disk: &mut D, from: usize, scanner: &mut Scanner) -> Result<TailFacts, DiskError> {
        let mut index = from;
        let mut tail = TailFacts {
            position: scanner.position(),
            offset: scanner.offset(),
            claimed_bytes: None,
            zeros_from: scanner.position(),
            file_bytes: scanner.position(),
            length_rotten: false,
            later_segment_written: false,
        };
        let mut last = from.checked_sub(1);
        while let Some(segment) = self.segments.get_mut(index) {
            if segment.base != scanner.offset() && scanner.position() == 0 {
                break;
            }
            last = Some(index);
            let file = segment.file(disk, &self.dir)?;
            let len = segment.allocated;
            let mut window = Window::new(file, scanner.position(), len, false);
            let file_end = self.scan_file(disk, index, scanner, &mut window)?;
            tail.position = scanner.position();
            tail.offset = scanner.offset();
            tail.zeros_from = scanner.position();
            tail.file_bytes = window.len;
            if matches!(file_end, FileEnd::Refused) {
                tail = self.scan_tail(disk, scanner, &mut window)?;
                break;
            }
            if !self.next_segment_continues(disk, index, scanner, &window)? {
                break;
            }
            index += 1;
        }
        let later = last.map_or(0, |last| last + 1);
        tail.later_segment_written = self.any_written(disk, later)?;
        Ok(tail)
    }

    /// Whether the next segment begins where this one ends; then this one takes no more.
    pub(super) fn next_segment_continues(
        &mut self,
        disk: &mut D,
        index: usize,
        scanner: &mut Scanner,
        window: &Window<D::File>,
    ) -> Result<bool, DiskError> {
        let next = self.segments.get(index + 1).map(|next| next.base);
        let Some(segment) = self.segments.get_mut(index) else { return Ok(false) };
        if next != Some(scanner.offset()) || next == Some(segment.base) {
            return Ok(false);
        }
        segment.sealed = true;
        // Also where the cache shows that length already: the sync that was to carry it may have failed.
        disk.truncate(&window.file, segment.bytes)?;
        segment.allocated = segment.bytes;
        scanner.next_segment();
        Ok(true)
    }

    pub(super) fn scan_file(
        &mut self,
        disk: &mut D,
        index: usize,
        scanner: &mut Scanner,
        window: &mut Window<D::File>,
    ) -> Result<FileEnd, DiskError> {
        loop {
            let ends = window.end() >= window.len;
            match scanner.step(window.from(scanner.position()), ends) {
                ScanStep::Batch(batch) => self.on_recovered(index, &batch.header),
                ScanStep::NeedBytes(need) => {
                    self.read_at_start.record_bytes += window.load(disk, scanner.position(), need as u64)?;
                }
                ScanStep::End => return Ok(FileEnd::Exact),
                ScanStep::Refused(_) => return Ok(FileEnd::Refused),
                ScanStep::Zeros if self.rest_is_zero(disk, window)? => return Ok(FileEnd::Zeros),
                ScanStep::Zeros => return Ok(FileEnd::Refused),
            }
        }
    }

    fn rest_is_zero(&mut self, disk: &mut D, window: &mut Window<D::File>) -> Result<bool, DiskError> {
        while window.end() < window.len {
            let next = window.end();
            self.read_at_start.record_bytes += window.load(disk, next, 0)?;
            if window.bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A batch was accepted as the next one of the log.
    fn on_recovered(&mut self, index: usize, header: &BatchHeader) {
        let now = self.timers.now().wall;
        if self.epochs.latest() != Some(header.leader_epoch) {
            self.epochs.assign(header.leader_epoch, header.base_offset);
            self.keeper.checkpoint_current = false;
        }
        self.producers.append(header, now);
        if let Some(segment) = self.segments.get_mut(index) {
            if !segment.has_indexes() {
                segment.set_indexes(SegmentIndexes::new(segment.base));
            }
            segment.on_batch(header, now);
        }
        self.snapshots.on_bytes(header.batch_bytes as u64);
        self.offsets.append_to(header.next_offset());
    }

    fn scan_tail(
        &mut self,
        disk: &mut D,
        scanner: &Scanner,
        window: &mut Window<D::File>,
    ) -> Result<TailFacts, DiskError> {
        self.read_at_start.record_bytes += window.load(disk, scanner.position(), 0)?;
        let mut scan = scanner.tail(&window.bytes);
        scan.feed(&window.bytes);
        while window.end() < window.len {
            let next = window.end();
            self.read_at_start.record_bytes += window.load(disk, next, 0)?;
            scan.feed(&window.bytes);
        }
        Ok(scan.finish(false))
    }

    /// Whether a segment from this one on holds anything but zeros.
    fn any_written(&mut self, disk: &mut D, from: usize) -> Result<bool, DiskError> {
        for index in from..self.segments.len() {
            let Some(segment) = self.segments.get_mut(index) else { break };
            let file = segment.file(disk, &self.dir)?;
            let mut window = Window::new(file, 0, segment.allocated, false);
            if !self.rest_is_zero(disk, &mut window)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn act_on(
        &mut self,
        disk: &mut D,
        verdict: TailVerdict,
        tail: &TailFacts,
    ) -> Result<StartVerdict, DiskError> {
        let at = self.offsets.log_end();
        let point = self.recovered_point(tail.position);
        let (verdict, mut steps) = match verdict {
            TailVerdict::Damage => return Ok(self.faulty_at(tail.offset)),
            // The cache may show what a failed sync never wrote: the file ends with its last batch, also in the cache.
            TailVerdict::CleanEnd if !self.holds_more_than(&point) => {
                let stale = self.stale_files(disk, at)?;
                let remove = (!stale.is_empty()).then_some(Step::Remove(stale));
                (StartVerdict::Verified, remove.into_iter().chain([Step::Truncate]).collect())
            }
            TailVerdict::CleanEnd | TailVerdict::TornTail => {
                (StartVerdict::Verified, self.cut_memory(disk, point)?)
            }
            TailVerdict::Suspect => {
                self.suspect = Some(self.suspect.map_or(at, |before| before.min(at)));
                let marked = self.present_bound();
                let parts = Step::Quarantine(self.parts_above(&point));
                let mut steps = vec![Step::Bound(marked), Step::Bound(marked), parts];
                steps.extend(self.cut_memory(disk, point)?);
                (StartVerdict::Suspect { at }, steps)
            }
        };
        self.write_recovered_indexes(disk)?;
        if on(Mutation::S3) {
            steps.insert(0, Step::Bound(Bound { end: self.end_point(), ..self.present_bound() }));
        }
        steps.push(Step::PresentBound);
        self.start_job(disk, Job::new(JobEnd::Recovered, steps));
        Ok(verdict)
    }

    /// The place of X.
    pub(super) fn recovered_point(&self, position: u64) -> EndPoint {
        let offset = self.offsets.log_end();
        let holder = self.segments.iter().rfind(|segment| segment.base <= offset && segment.bytes > 0);
        let empty = self.segments.iter().find(|segment| segment.base == offset);
        let epoch = self.epoch_before(offset);
        match holder.filter(|holder| holder.end == offset && holder.bytes == position).or(empty) {
            Some(segment) => EndPoint { offset, segment: segment.base, position: segment.bytes, epoch },
            None => EndPoint { offset, segment: offset, position: 0, epoch },
        }
    }

    fn holds_more_than(&self, point: &EndPoint) -> bool {
        self.segments.back().is_some_and(|last| last.base > point.segment)
    }

    /// Files that survived the batches that they know of. The log goes on with others at those offsets, and a later start
    /// would believe what the lost ones said: a producer's batch known that is not there, a place in the midst of a batch.
    fn stale_files(&mut self, disk: &mut D, end: Offset) -> Result<Vec<String>, DiskError> {
        let mut stale = self.snapshots.cut_to(&self.dir, end);
        let Some(last) = self.segments.back() else { return Ok(stale) };
        let beyond = |indexes: SegmentIndexes| {
            let offsets = indexes.offsets.last().is_some_and(|entry| entry.last_offset >= end);
            offsets || indexes.times.last().is_some_and(|entry| entry.last_offset >= end)
        };
        let (bytes, indexes) = last.read_indexes(disk, &self.dir, self.options.crc)?;
        self.read_at_start.bookkeeping_bytes += bytes;
        if indexes.is_some_and(beyond) {
            stale.extend(last.index_paths(&self.dir));
        }
        Ok(stale)
    }

    /// What is about to be cut: the rest of the segment of X and all later ones.
    pub(super) fn parts_above(&self, point: &EndPoint) -> Vec<CopyPart> {
        let above = self.segments.iter().filter(|segment| segment.base >= point.segment);
        let part = |segment: &super::Segment<D::File>| CopyPart {
            base: segment.base,
            from: if segment.base == point.segment { point.position } else { 0 },
            to: segment.allocated,
        };
        above.map(part).filter(|part| part.from < part.to).collect()
    }
}
