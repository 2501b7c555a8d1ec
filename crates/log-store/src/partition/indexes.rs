//! The sparse indexes of segments: loaded when first needed, rebuilt where they are missing or damaged.

use log_core::index::SegmentIndexes;
use log_core::{Offset, Timestamp};

use super::PartitionLog;
use super::segment::Segment;
use super::types::Fault;
use super::walk::{HOP_BYTES, Reach, Step, Walk};
use crate::disk::Disk;
use crate::error::DiskError;

/// Sealed segments whose indexes are kept in memory, per log (guess: a few consumers in different places).
const LOADED_MAX: usize = 8;

impl<D: Disk> PartitionLog<D> {
    /// Brings the indexes of a segment into memory.
    pub(super) fn load_indexes(&mut self, disk: &mut D, index: usize) -> Result<(), DiskError> {
        let crc = self.options.crc;
        match self.segments.get_mut(index) {
            Some(segment) if !segment.has_indexes() => {
                let Some(mut indexes) = segment.read_indexes(disk, &self.dir, crc)?.1 else {
                    return self.rebuild_indexes(disk, index);
                };
                indexes.truncate_to(segment.end);
                if !segment.sealed {
                    return self.go_on_with_indexes(disk, index, indexes);
                }
                segment.set_indexes(indexes);
                self.unload_others(index);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The indexes of the segment of the bound at a start: those on disk are from the last checkpoint, what was
    /// appended after it is walked. Without them the start stays short, and looking up below the bound is slower.
    pub(super) fn load_indexes_for_start(&mut self, disk: &mut D, index: usize) -> Result<(), DiskError> {
        let crc = self.options.crc;
        let Some(segment) = self.segments.get_mut(index) else { return Ok(()) };
        let (bytes, read) = segment.read_indexes(disk, &self.dir, crc)?;
        self.read_at_start.bookkeeping_bytes += bytes;
        segment.indexes_partial = read.is_none() && segment.bytes > 0;
        let mut indexes = read.unwrap_or_else(|| SegmentIndexes::new(segment.base));
        indexes.truncate_to(segment.end);
        self.go_on_with_indexes(disk, index, indexes)
    }

    /// The segment was cut, and its indexes with it: the batches behind their last entry are counted again. Where no file
    /// descriptor is free for that, the indexes are loaded when they are needed.
    pub(super) fn reset_indexes(&mut self, disk: &mut D, index: usize) -> Result<(), DiskError> {
        let Some(indexes) = self.segments.get_mut(index).and_then(Segment::take_indexes) else {
            return Ok(());
        };
        match self.go_on_with_indexes(disk, index, indexes) {
            Err(error) if error.lacks_descriptor() => Ok(()),
            done => done,
        }
    }

    /// Indexes of a segment that takes batches: those behind the last entry are fed again. Before partial indexes there is more
    /// that they do not know, so nothing would be gained.
    fn go_on_with_indexes(
        &mut self,
        disk: &mut D,
        index: usize,
        indexes: SegmentIndexes,
    ) -> Result<(), DiskError> {
        let Some(segment) = self.segments.get(index) else { return Ok(()) };
        let from = match indexes.offsets.last() {
            _ if segment.indexes_partial => segment.bytes,
            last => last.map_or(0, |last| u64::from(last.position)),
        };
        self.extend_indexes(disk, index, indexes, from)
    }

    /// Builds the indexes of a segment from its batches.
    pub(super) fn rebuild_indexes(&mut self, disk: &mut D, index: usize) -> Result<(), DiskError> {
        let Some(segment) = self.segments.get_mut(index) else { return Ok(()) };
        let indexes = SegmentIndexes::new(segment.base);
        segment.indexes_partial = false;
        self.extend_indexes(disk, index, indexes, 0)?;
        self.unload_others(index);
        Ok(())
    }

    fn extend_indexes(
        &mut self,
        disk: &mut D,
        index: usize,
        mut indexes: SegmentIndexes,
        from: u64,
    ) -> Result<(), DiskError> {
        let file = self.file_of(disk, index)?;
        let Some(segment) = self.segments.get_mut(index) else { return Ok(()) };
        let mut walk = Walk::new(file, from, segment.bytes, Reach::Medium, HOP_BYTES);
        let mut expected = None;
        let damaged = loop {
            match walk.step(disk)? {
                Step::Batch(position, header) if expected.is_none_or(|at| at == header.base_offset) => {
                    indexes.on_batch(&header, u32::try_from(position).unwrap_or(u32::MAX));
                    expected = Some(header.next_offset());
                }
                Step::End => break None,
                Step::Batch(..) | Step::Bad | Step::Cold => break Some(expected.unwrap_or(segment.base)),
            }
        };
        self.read_at_start.record_bytes += walk.bytes_read;
        let is_by_index = from > 0 && !segment.indexes_partial;
        match damaged {
            // It may be the index that is wrong.
            Some(_) if is_by_index => return self.rebuild_indexes(disk, index),
            Some(at) => self.fail(Fault::BadBatch { at }),
            None => {}
        }
        if let Some(segment) = self.segments.get_mut(index) {
            segment.set_indexes(indexes);
        }
        Ok(())
    }

    /// A start found that these segments are complete: their indexes on disk may be from before, with all that fits together
    /// and the end missing. The next sync carries those that are written here.
    pub(super) fn write_recovered_indexes(&mut self, disk: &mut D) -> Result<(), DiskError> {
        for segment in self.segments.iter_mut().filter(|segment| segment.sealed && segment.dirty) {
            self.dir_dirty = true;
            if segment.indexes_partial {
                segment.remove_indexes(disk, &self.dir)?;
            } else {
                segment.seal_indexes();
                self.extra_dirty.extend(segment.write_indexes(disk, &self.dir, self.options.crc)?);
            }
        }
        Ok(())
    }

    /// A salvage found that these segments are complete. Their indexes are built when they are needed: written now, each would
    /// take three file descriptors until all of the log is synced.
    pub(super) fn remove_salvaged_indexes(&mut self, disk: &mut D) -> Result<(), DiskError> {
        self.dir_dirty = true;
        let mut sealed = self.segments.iter_mut().filter(|segment| segment.sealed);
        sealed.try_for_each(|segment| segment.remove_indexes(disk, &self.dir))
    }

    /// Drops indexes of sealed segments from memory, but for that of `index` and the newest few.
    fn unload_others(&mut self, index: usize) {
        let loaded = self.segments.iter().filter(|segment| segment.sealed && segment.has_indexes()).count();
        let mut surplus = loaded.saturating_sub(LOADED_MAX);
        for (at, segment) in self.segments.iter_mut().enumerate() {
            if surplus > 0 && at != index && segment.sealed && segment.has_indexes() {
                segment.unload_indexes();
                surplus -= 1;
            }
        }
    }

    /// A damaged index is not believed again.
    pub(super) fn drop_indexes(&mut self, disk: &mut D, base: Offset) -> Result<(), DiskError> {
        let index = self.segments.iter().position(|segment| segment.base == base);
        index.map_or(Ok(()), |index| self.rebuild_indexes(disk, index))
    }

    /// The greatest timestamp in a segment; for a sealed one it was written when it was closed. `None` only for damage.
    pub(super) fn max_timestamp_of(
        &mut self,
        disk: &mut D,
        index: usize,
    ) -> Result<Option<Timestamp>, DiskError> {
        let Some(segment) = self.segments.get_mut(index) else { return Ok(None) };
        if segment.max_timestamp.is_some() {
            return Ok(segment.max_timestamp);
        }
        if segment.sealed
            && let Some(max) = segment.read_max_timestamp(disk, &self.dir, self.options.crc)
        {
            segment.max_timestamp = Some(max);
            return Ok(Some(max));
        }
        if segment.has_indexes() {
            // Partial ones do not know it.
            self.rebuild_indexes(disk, index)?;
        } else {
            self.load_indexes(disk, index)?;
        }
        Ok(self.segments.get(index).and_then(|segment| segment.max_timestamp))
    }
}
