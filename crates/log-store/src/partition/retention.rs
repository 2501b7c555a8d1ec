//! What makes a log shorter from its front and its segments finished: retention, log start, rolls, and the timers
//! of all of it.

use core::time::Duration;

use log_core::retention::{LogFacts, SegmentFacts};
use log_core::segment::SegmentKind;
use log_core::{MonoTime, Now, Offset, Timestamp};

use super::PartitionLog;
use super::bound::Bound;
use super::segment::{Segment, path_of};
use super::timers::AGAIN_AFTER;
use crate::disk::Disk;
use crate::error::DiskError;

impl<D: Disk> PartitionLog<D> {
    /// The log start that retention asks for, if it is higher than the present one: for leaders, who then
    /// [advance](PartitionLog::advance_log_start) and push it (L9).
    pub fn retention(&mut self, disk: &mut D, now: Now) -> Option<Offset> {
        self.timers.see(now);
        if self.fault.is_some() || self.poisoned.is_some() || !self.is_settled() {
            return None;
        }
        let log = LogFacts {
            log_start: self.offsets.log_start(),
            high_watermark: self.offsets.high_watermark(),
            bytes: self.size_bytes(),
            now: now.wall,
        };
        let policy = self.options.retention;
        let sealed = 0..self.segments.len().saturating_sub(1);
        let sealed = sealed.map_while(|index| self.segment_facts(disk, index));
        let start = policy.retired(sealed, &log).log_start;
        start.filter(|start| *start > self.offsets.log_start() && self.fault.is_none())
    }

    fn segment_facts(&mut self, disk: &mut D, index: usize) -> Option<SegmentFacts> {
        let timed = self.options.retention.retention_ms.is_some();
        let max_timestamp = timed.then(|| self.max_timestamp_of(disk, index).ok().flatten()).flatten();
        let max_timestamp = max_timestamp.unwrap_or(Timestamp::NONE);
        let segment = self.segments.get(index)?;
        Some(SegmentFacts {
            base_offset: segment.base,
            end_offset: segment.end,
            bytes: segment.bytes,
            max_timestamp,
            last_append: segment.last_append,
        })
    }

    /// Moves the log start, at most to the high watermark; never back. What lies below is deleted once the bound
    /// that says so is durable.
    pub fn advance_log_start(&mut self, disk: &mut D, now: Now, to: Offset) {
        self.timers.see(now);
        let to = to.min(self.offsets.last_stable());
        if to <= self.offsets.log_start() || self.fault.is_some() {
            return;
        }
        self.offsets.raise_log_start(to);
        self.epochs.raise_start_to(to);
        self.timers.want_bound();
        self.write_bound_if_changed(disk);
    }

    /// Unlinks the segments that lie wholly below the log start of a bound on disk; the active one stays, and so
    /// does the one in which that bound ends: a start looks for it.
    pub(super) fn delete_below(&mut self, disk: &mut D, bound: &Bound) -> Result<(), DiskError> {
        while let Some(oldest) = self.take_below(bound) {
            self.unlink(disk, oldest.base)?;
        }
        Ok(())
    }

    /// The oldest segment, if it lies wholly below the log start of this bound.
    pub(super) fn take_below(&mut self, bound: &Bound) -> Option<Segment<D::File>> {
        let is_done =
            |oldest: &mut Segment<D::File>| oldest.end <= bound.log_start && oldest.base < bound.end.segment;
        if self.segments.len() > 1 { self.segments.pop_front_if(is_done) } else { None }
    }

    /// Removes the files of a segment, but the snapshot.
    pub(super) fn unlink(&self, disk: &mut D, base: Offset) -> Result<(), DiskError> {
        for kind in SegmentKind::ALL.into_iter().filter(|kind| *kind != SegmentKind::Snapshot) {
            match disk.remove_file(&path_of(&self.dir, base, kind)) {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Finishes the active segment: truncated, its indexes written, producer state beside the next one (D6).
    pub(super) fn roll(&mut self, disk: &mut D) -> Result<(), DiskError> {
        self.write_snapshot(disk)?;
        self.seal_active(disk)?;
        if let Some(active) = self.segments.back_mut() {
            active.sealed = true;
        }
        self.timers.roll_at = None;
        self.timers.want_bound();
        Ok(())
    }

    /// Sets the alarm for the active segment's age.
    pub(super) fn plan_roll(&mut self, now: Now) {
        if self.timers.roll_at.is_some() {
            return;
        }
        let first =
            self.growing().map(|active| active.first_append).filter(|first| *first != Timestamp::NONE);
        self.timers.roll_at = first.map(|first| {
            let age = now.wall.0.saturating_sub(first.0);
            let left = self.options.roll.segment_ms.saturating_sub(age).max(0);
            now.mono.after(Duration::from_millis(left.unsigned_abs()))
        });
    }

    /// Does what is due: the bound, a roll by age, what waited for a file descriptor, forgetting idle producers and old appends in memory.
    pub fn tick(&mut self, disk: &mut D, now: Now) {
        self.timers.see(now);
        let due = |at: Option<MonoTime>| at.is_some_and(|at| at <= now.mono);
        if due(self.timers.tail_at) {
            self.timers.tail_at = None;
            self.tail.clear();
        }
        if due(self.timers.producers_at) {
            self.timers.producers_at = None;
            self.producers.expire(now.wall, self.options.producer_expiration_ms);
            if !self.producers.is_empty() {
                self.timers.on_producer_used();
            }
        }
        if due(self.timers.job_at) {
            self.timers.job_at = None;
            if let Err(error) = self.run_job(disk) {
                self.poison(error);
            }
        }
        if due(self.timers.roll_at) {
            self.timers.roll_at = None;
            self.roll_if_old(disk, now);
        }
        if self.timers.sync_due() {
            self.begin_sync(disk);
        }
        // What is being made durable has its part in the bound that is written when it is.
        if !self.sync_running && self.timers.bound_due(u64::MAX) {
            self.write_bound_if_changed(disk);
        }
    }

    fn roll_if_old(&mut self, disk: &mut D, now: Now) {
        let writable = self.is_settled() && self.poisoned.is_none() && self.fault.is_none();
        let old = self.growing().is_some_and(|active| self.options.roll.is_old(&active.facts(), now.wall));
        if !writable || !old {
            return self.plan_roll(now);
        }
        match self.roll(disk) {
            Ok(()) => self.begin_sync(disk),
            Err(error) if error.lacks_descriptor() => self.timers.roll_at = Some(now.mono.after(AGAIN_AFTER)),
            Err(error) => self.poison(error),
        }
    }

    /// When [`PartitionLog::tick`] is to be called next; `None` while nothing is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        let keeper_idle = self.job.is_none() && self.keeper.is_idle() && self.fault.is_none();
        self.timers
            .next(keeper_idle && !self.sync_running, self.may_sync())
            .filter(|_| self.poisoned.is_none())
    }
}
