//! What can be read of a damaged log, for an operator who decided that it shall lead (ADR 0016).
//!
//! ```text
//! first segment ...... whole batches, each continuing the one before ......|X ?????????? | later segments ...
//!                                                            kept           copied to the quarantine, then cut
//! ```
//! No bound is believed here: that it vouches for more than there is, is what the damage is. Nor is anything believed that was
//! in memory. A start in between finds the old bound and the damage, or the new bound and a log that ends there.

use log_core::segment::{ScanStart, Scanner};
use log_core::{LeaderEpoch, Now, Offset, Timestamp};

use super::PartitionLog;
use super::bound::{Bound, EndPoint, winner};
use super::job::{Job, JobEnd, Step};
use super::keeper::{Keeper, read_slots};
use super::recover::{FileEnd, Window};
use super::start::Found;
use crate::disk::Disk;
use crate::error::{DiskError, LogError};

impl<D: Disk> PartitionLog<D> {
    /// Whether nothing that was submitted is awaited, and no job runs.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.job.is_none()
    }

    /// Keeps of a faulty log what can be read from its beginning on, and begins anew behind that. A copy of the rest goes to
    /// the quarantine. [`LogEvent::Recovered`](super::types::LogEvent::Recovered) follows once that is durable, or
    /// [`LogEvent::Dropped`](super::types::LogEvent::Dropped) if nothing that is still kept can be read.
    ///
    /// `newest_epoch` is the newest leader epoch of the partition: no whole batch has a later one.
    ///
    /// Errors: those of the disk; the log is as faulty as before then.
    ///
    /// # Panics
    ///
    /// If the log [is not quiet](Self::is_quiet).
    pub fn begin_salvage(
        &mut self,
        disk: &mut D,
        newest_epoch: LeaderEpoch,
        now: Now,
    ) -> Result<(), LogError> {
        assert!(self.is_quiet(), "a log with operations under way is salvaged");
        if let Some(error) = self.poisoned {
            return Err(LogError::Disk(error));
        }
        let (slots, _) = read_slots(disk, &self.keeper.file, self.options.crc)?;
        let found = Found::list(disk, &self.dir)?;
        let keeper = Keeper::new(self.keeper.file.clone(), slots);
        let mut log = Self::empty(self.id, &self.dir, self.options, now, keeper, Offset::ZERO);
        log.salvage(disk, &found, winner(slots), newest_epoch)?;
        *self = log;
        Ok(())
    }

    fn salvage(
        &mut self,
        disk: &mut D,
        found: &Found,
        bound: Option<Bound>,
        newest_epoch: LeaderEpoch,
    ) -> Result<(), DiskError> {
        let first = found.logs.keys().next().copied();
        let log_start = bound.map(|bound| bound.log_start).max(first).unwrap_or_default();
        let from = first.unwrap_or(log_start);
        self.adopt(found, &Bound::empty_at(from));
        (self.keeper.checkpoint_current, self.dir_dirty) = (false, true);
        self.forget_above(0, &EndPoint::empty_at(from));
        let start = ScanStart { position: 0, offset: from, epoch: LeaderEpoch::NONE, newest_epoch };
        let mut scanner = Scanner::new(start, self.options.crc);
        self.scan_readable(disk, &mut scanner)?;
        let end = self.offsets.log_end();
        if end < log_start {
            // All that can be read was deleted before.
            let parts = Step::Quarantine(self.parts_above(&EndPoint::empty_at(from)));
            let job = self.drop_memory(log_start).after(parts);
            self.start_job(disk, job);
            return Ok(());
        }
        let committed = bound.map_or(log_start, |bound| bound.high_watermark.clamp(log_start, end));
        self.offsets.raise_high_watermark(committed);
        self.offsets.raise_log_start(log_start);
        self.segments.iter_mut().for_each(|segment| segment.dirty = true);
        self.cut_salvaged(disk, scanner.position())
    }

    /// Accepts batches from the first segment on, as far as they can be read and continue each other.
    fn scan_readable(&mut self, disk: &mut D, scanner: &mut Scanner) -> Result<(), DiskError> {
        let mut index = 0;
        while let Some(segment) = self.segments.get_mut(index) {
            let file = segment.file(disk, &self.dir)?;
            let mut window = Window::new(file, scanner.position(), segment.allocated, true);
            let refused = matches!(self.scan_file(disk, index, scanner, &mut window)?, FileEnd::Refused);
            if refused || !self.next_segment_continues(disk, index, scanner, &window)? {
                break;
            }
            index += 1;
        }
        Ok(())
    }

    /// What is kept is made durable before a bound says so, and what is not is copied before it is cut.
    fn cut_salvaged(&mut self, disk: &mut D, position: u64) -> Result<(), DiskError> {
        let point = self.recovered_point(position);
        let parts = self.parts_above(&point);
        let quarantine = (!parts.is_empty()).then_some(Step::Quarantine(parts));
        let cut = self.cut_memory(disk, point)?;
        self.remove_salvaged_indexes(disk)?;
        let active = self.segments.iter().find(|segment| segment.base == point.segment);
        let bound = Bound {
            end: point,
            high_watermark: self.offsets.high_watermark(),
            log_start: self.offsets.log_start(),
            first_append: active.map_or(Timestamp::NONE, |active| active.first_append),
            ..Bound::empty_at(point.offset)
        };
        let cut = cut.into_iter().map(|step| match step {
            Step::Bound(_) => Step::Bound(bound),
            other => other,
        });
        let steps = quarantine.into_iter().chain([Step::SyncDirty]).chain(cut).chain([Step::PresentBound]);
        self.start_job(disk, Job::new(JobEnd::Recovered, steps));
        Ok(())
    }
}
