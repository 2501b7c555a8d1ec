//! Cutting the log's end (D4) and dropping all of it.
//!
//! In memory a cut happens at once: nothing above it is read, counted or believed any more. On disk the lower bound
//! goes to both slots first, so that no start takes the shorter log for damage; then the file is truncated and
//! synced; only then `CutFinished` lets the log be appended to or spoken of.

use log_core::batch::check_stored;
use log_core::mutation::{Mutation, mutated};
use log_core::segment::SegmentKind;
use log_core::{LogOffsets, Offset};

use super::PartitionLog;
use super::bound::{Bound, EndPoint};
use super::job::{Job, JobEnd, Step};
use super::types::{Fault, LogEvent};
use super::walk::{Found, RUN_BYTES, Reach, Walk};
use crate::disk::Disk;
use crate::error::{CutError, DiskError};

impl<D: Disk> PartitionLog<D> {
    /// Cuts the log to `to`, or to the start of the batch that holds it. [`LogEvent::CutFinished`] follows, also
    /// when there was nothing to cut.
    ///
    /// Errors: [`CutError::Conflict`] below the own high watermark: nothing is cut then.
    pub fn begin_cut(&mut self, disk: &mut D, to: Offset) -> Result<(), CutError> {
        self.check_cuttable()?;
        if self.fault.is_some() {
            return Err(CutError::Faulty);
        }
        if to >= self.offsets.log_end() {
            self.events.push_back(LogEvent::CutFinished { at: self.offsets.log_end() });
            return Ok(());
        }
        let high_watermark = self.offsets.high_watermark();
        let conflict = CutError::Conflict { to, high_watermark };
        if to < high_watermark {
            return Err(conflict);
        }
        let point = match self.boundary_below(disk, to) {
            Err(CutError::Disk(error)) if self.note_unreadable(to, error) => Err(CutError::Faulty),
            found => found,
        }?;
        if point.offset < high_watermark {
            return Err(conflict);
        }
        match self.cut_memory(disk, point) {
            Ok(steps) => {
                let steps = steps.into_iter().skip(mutated(Mutation::S15, 0, 1));
                self.start_job(disk, Job::new(JobEnd::Cut, steps));
            }
            Err(error) => {
                // Cut in memory and not on disk: what would be appended now would stand before the old end's bytes.
                self.fail(Fault::Unreadable { at: point.offset, error });
                return Err(CutError::Faulty);
            }
        }
        Ok(())
    }

    /// Drops the whole log and begins anew, empty, at `start_at`: for a follower outside of ISR and ELR that is
    /// damaged or lies below its leader's log start. [`LogEvent::Dropped`] follows.
    ///
    /// Errors: [`CutError::Cutting`] while another job runs, [`CutError::Disk`] on a poisoned directory.
    pub fn begin_drop_all(&mut self, disk: &mut D, start_at: Offset) -> Result<(), CutError> {
        self.check_cuttable()?;
        let job = self.drop_memory(start_at);
        self.start_job(disk, job);
        Ok(())
    }

    fn check_cuttable(&self) -> Result<(), CutError> {
        match self.poisoned {
            Some(error) => Err(CutError::Disk(error)),
            None if self.is_settled() => Ok(()),
            None => Err(CutError::Cutting),
        }
    }

    /// Empties the log in memory; the job does the same on disk.
    pub(super) fn drop_memory(&mut self, start_at: Offset) -> Job {
        let log_start = self.offsets.log_start();
        let low = Bound { dropping: Some(start_at), ..Bound::empty_at(log_start) };
        let new = Bound::empty_at(start_at);
        self.cut_count += 1;
        self.offsets = LogOffsets::empty_at(start_at);
        self.durable = EndPoint::empty_at(start_at);
        self.first_batch = (start_at, start_at);
        self.epochs.truncate_to(Offset(i64::MIN));
        self.producers.clear();
        self.segments.clear();
        self.extra_dirty.clear();
        self.tail.clear();
        self.cursors.clear();
        self.snapshots.clear();
        self.chain.reset(start_at);
        (self.suspect, self.fault) = (None, None);
        let steps = [Step::Bound(low), Step::Bound(low), Step::RemoveAll, Step::Bound(new), Step::Bound(new)];
        Job::new(JobEnd::Dropped, steps)
    }

    /// The start of the batch that holds `offset`, which lies inside the log.
    ///
    /// Logs part between batches. A header that holds `offset` in its midst is believed only if its batch is whole: one that
    /// rotted would have everything behind it cut, or, below the high watermark, be taken for the leader's fault.
    fn boundary_below(&mut self, disk: &mut D, offset: Offset) -> Result<EndPoint, CutError> {
        let damaged = Fault::BadBatch { at: offset };
        match self.find_boundary(disk, offset)? {
            Some((segment, position, offset)) => {
                Ok(EndPoint { offset, segment, position, epoch: self.epoch_before(offset) })
            }
            None => {
                self.fail(damaged);
                Err(CutError::Faulty)
            }
        }
    }

    /// The segment of the batch that holds `offset`, its place in there, and its base offset.
    fn find_boundary(
        &mut self,
        disk: &mut D,
        offset: Offset,
    ) -> Result<Option<(Offset, u64, Offset)>, DiskError> {
        let Some(index) = self.segment_of(offset) else { return Ok(None) };
        self.load_indexes(disk, index)?;
        let file = self.file_of(disk, index)?;
        let Some(segment) = self.segments.get(index) else { return Ok(None) };
        let (base, bytes) = (segment.base, segment.bytes);
        let floor = segment.indexes().map_or(0, |indexes| u64::from(indexes.offsets.position_for(offset)));
        for from in [floor, 0] {
            let mut walk = Walk::new(file.clone(), from, bytes, Reach::Medium, RUN_BYTES);
            if let Found::Batch(position, header) = walk.find(disk, offset, base)?
                && (header.base_offset == offset
                    || self.is_whole(disk, &file, position, header.batch_bytes)?)
            {
                return Ok(Some((base, position, header.base_offset)));
            }
        }
        Ok(None)
    }

    /// Where the batch begins that holds the log start, for replicas, which exchange whole batches: from there on the log can
    /// be read. The log start itself where nothing is held, or no such batch can be found.
    ///
    /// Errors: no file descriptor is free; it may be asked for again.
    pub fn first_batch(&mut self, disk: &mut D) -> Result<Offset, DiskError> {
        let start = self.offsets.log_start();
        if self.first_batch.0 == start {
            return Ok(self.first_batch.1);
        }
        let segment = self.segment_of(start).and_then(|index| self.segments.get(index));
        if start >= self.offsets.log_end() || segment.is_some_and(|segment| segment.base == start) {
            return Ok(start);
        }
        let found = match self.find_boundary(disk, start) {
            Err(error) if error.lacks_descriptor() => return Err(error),
            found => found.ok().flatten(),
        };
        if let Some((_, _, base)) = found {
            self.first_batch = (start, base);
        }
        Ok(found.map_or(start, |(_, _, base)| base))
    }

    fn is_whole(
        &self,
        disk: &mut D,
        file: &D::File,
        position: u64,
        batch_bytes: usize,
    ) -> Result<bool, DiskError> {
        let mut bytes = vec![0; batch_bytes];
        let count = disk.read_at(file, position, &mut bytes)?;
        Ok(count == batch_bytes && check_stored(&bytes, self.options.crc).is_ok())
    }

    pub(super) fn epoch_before(&self, offset: Offset) -> log_core::LeaderEpoch {
        let last = Offset(offset.0.saturating_sub(1));
        self.epochs.epoch_of(last).unwrap_or(log_core::LeaderEpoch::NONE)
    }

    /// Cuts everything in memory to `point`; gives the steps that do the same on disk.
    pub(super) fn cut_memory(&mut self, disk: &mut D, point: EndPoint) -> Result<Vec<Step>, DiskError> {
        let end = point.offset;
        self.cut_count += 1;
        self.offsets.cut_to(end);
        if self.durable.offset > end {
            self.durable = point;
        }
        let epochs = self.epochs.entries().len();
        self.epochs.truncate_to(end);
        self.keeper.checkpoint_current &= self.epochs.entries().len() == epochs;
        self.tail.truncate_to(end);
        self.cursors.clear();
        let mut removed = self.snapshots.cut_to(&self.dir, end);
        removed.extend(self.cut_segments(disk, point)?);
        let mut steps = Vec::new();
        match self.cut_producers(disk, end) {
            Err(error) if error.lacks_descriptor() => steps.push(Step::Producers),
            cut => cut?,
        }
        let present = self.present_bound();
        let bound = mutated(Mutation::D4b, present, Bound { end: point, ..present });
        steps.extend([Step::Bound(bound), Step::Bound(bound), Step::Remove(removed), Step::Truncate]);
        Ok(steps)
    }

    /// Drops the segments behind the point and shortens the one it is in; gives the files to be removed.
    fn cut_segments(&mut self, disk: &mut D, point: EndPoint) -> Result<Vec<String>, DiskError> {
        let mut removed = Vec::new();
        while let Some(last) = self.segments.pop_back_if(|last| last.base > point.segment) {
            removed.extend(SegmentKind::ALL.map(|kind| last.path(&self.dir, kind)));
        }
        if let Some(active) = self.segments.back_mut().filter(|active| active.base == point.segment) {
            active.cut(point.offset, point.position);
            // An index file from before the cut would name places of batches that are no longer there.
            removed.extend(active.index_paths(&self.dir));
            self.reset_indexes(disk, self.segments.len() - 1)?;
        }
        Ok(removed)
    }
}
