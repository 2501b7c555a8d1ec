//! A full disk as a state: space is taken only where it leaves the reserve untouched, so that deletes, cuts,
//! bounds and checkpoints go on and appends are refused before anything is written.

use log_core::mutation::{Mutation, mutated};

use super::PartitionLog;
use crate::disk::Disk;
use crate::error::AppendError;

impl<D: Disk> PartitionLog<D> {
    /// Makes the active segment's file hold `bytes` more than its batches: generously if there is room, else just
    /// that, else not at all.
    pub(super) fn grow(&mut self, disk: &mut D, bytes: u64, reserve: u64) -> Result<(), AppendError> {
        let segment_bytes = self.options.roll.segment_bytes;
        let Some(active) = self.segments.back_mut() else { return Err(AppendError::Empty) };
        let need = active.bytes + bytes;
        if need <= active.allocated || mutated(Mutation::S8, false, true) {
            return Ok(());
        }
        let free = disk.free_bytes().map_err(AppendError::Disk)?;
        let full = AppendError::DiskFull { free, reserve };
        let spare = free.saturating_sub(reserve);
        let fits = |to: u64| to - active.allocated <= spare;
        let to =
            [active.growth_to(need, segment_bytes), need].into_iter().find(|to| fits(*to)).ok_or(full)?;
        let file = active.file(disk, &self.dir).map_err(AppendError::Disk)?;
        let grown = disk.preallocate(&file, active.allocated, to - active.allocated);
        grown.map_err(|error| if error.is_full() { full } else { AppendError::Disk(error) })?;
        active.allocated = to;
        active.dirty = true;
        Ok(())
    }

    /// Whether a new file of `bytes` would leave the reserve untouched.
    pub(super) fn check_reserve(&self, disk: &mut D, bytes: u64, reserve: u64) -> Result<(), AppendError> {
        let free = disk.free_bytes().map_err(AppendError::Disk)?;
        if free.saturating_sub(reserve) >= bytes {
            Ok(())
        } else {
            Err(AppendError::DiskFull { free, reserve })
        }
    }
}
