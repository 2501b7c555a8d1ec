//! A clean stop (D8): the log on disk ends with its last batch, everything that a start needs lies beside it, and
//! the bound equals the log end.

use super::PartitionLog;
use super::job::{Job, JobEnd, Step};
use crate::disk::Disk;
use crate::error::DiskError;

impl<D: Disk> PartitionLog<D> {
    /// Begins a clean stop; [`super::types::LogEvent::Closed`] follows, after a running cut if there is one.
    /// `false` if the log cannot be closed cleanly, being damaged or poisoned: its directory must not be marked
    /// clean then.
    pub fn begin_close(&mut self, disk: &mut D) -> bool {
        if self.poisoned.is_some() || self.fault.is_some() {
            return false;
        }
        if self.job.is_some() {
            self.close_wanted = true;
        } else if !self.closed {
            self.start_job(disk, Job::new(JobEnd::Closed, [Step::Seal, Step::PresentBound]));
        }
        self.poisoned.is_none() && self.fault.is_none()
    }

    /// Removes the log and all its files. Durable with the next sync of the directory above.
    ///
    /// Errors: those of the disk; part of the log may be gone then.
    pub fn remove(self, disk: &mut D) -> Result<(), DiskError> {
        disk.remove_dir_all(&self.dir)
    }

    pub(super) fn seal(&mut self, disk: &mut D) -> Result<(), DiskError> {
        self.write_snapshot(disk)?;
        self.seal_active(disk)
    }

    /// Truncates the active segment to its batches, if it holds more, and writes its indexes.
    pub(super) fn seal_active(&mut self, disk: &mut D) -> Result<(), DiskError> {
        if self.segments.back().is_some_and(|active| active.allocated > active.bytes) {
            self.truncate_active(disk)?;
        }
        let Some(last) = self.segments.len().checked_sub(1) else { return Ok(()) };
        if self.segments.get(last).is_some_and(|active| active.indexes_partial) {
            self.rebuild_indexes(disk, last)?;
        }
        if let Some(active) = self.segments.back_mut() {
            active.dirty = true;
            active.seal_indexes();
            let files = active.write_indexes(disk, &self.dir, self.options.crc)?;
            self.extra_dirty.extend(files);
            self.dir_dirty = true;
        }
        Ok(())
    }
}
