//! The files of segments that are open: each is opened when it is first needed, and of those that take no more batches
//! only the ones used last stay open. A log of thousands of segments holds no more descriptors than one of a few.

use super::PartitionLog;
use super::segment::Segment;
use crate::disk::Disk;
use crate::error::{DiskError, DiskFault, DiskOperation};

/// Sealed segments whose files stay open, per log (a guess: a few consumers in different places).
pub(super) const OPEN_SEALED_MAX: usize = 4;

impl<D: Disk> PartitionLog<D> {
    /// The file of a segment, for reading.
    pub(super) fn file_of(&mut self, disk: &mut D, index: usize) -> Result<D::File, DiskError> {
        let Some(segment) = self.segments.get_mut(index) else {
            return Err(DiskError::new(DiskOperation::Open, DiskFault::NotFound));
        };
        self.file_uses += 1;
        segment.last_use = self.file_uses;
        if let Some(file) = segment.open_file() {
            return Ok(file);
        }
        let file = segment.file(disk, &self.dir)?;
        self.close_surplus();
        Ok(file)
    }

    /// Lets go of the files that were not used for longest. Not of what the next sync has to carry.
    pub(super) fn close_surplus(&mut self) {
        let idle = |segment: &&mut Segment<D::File>| segment.sealed && !segment.dirty && segment.is_open();
        let mut idle: Vec<_> = self.segments.iter_mut().filter(idle).collect();
        let surplus = idle.len().saturating_sub(OPEN_SEALED_MAX);
        if surplus > 0 {
            idle.sort_unstable_by_key(|segment| segment.last_use);
            idle.into_iter().take(surplus).for_each(Segment::close);
        }
    }
}
