//! The sparse indexes of segments: loaded when first needed, rebuilt where they are missing or damaged.

use log_core::index::SegmentIndexes;
use log_core::{Offset, Timestamp};

use super::PartitionLog;
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
        let from = if segment.indexes_partial {
            segment.bytes
        } else {
            indexes.offsets.last().map_or(0, |last| u64::from(last.position))
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
        segment.set_indexes(indexes);
        if let Some(at) = damaged {
            self.fail(Fault::BadBatch { at });
        }
        Ok(())
    }

    /// A start found that these segments are complete: their indexes on disk may be from before, with all that fits together
    /// and the end missing. The next sync carries those that are written here.
    pub(super) fn write_recovered_indexes(&mut self, disk: &mut D) -> Result<(), DiskError> {
        for segment in self.segments.iter_mut().filter(|segment| segment.sealed && segment.dirty) {
            self.dir_dirty = true;
            if segment.indexes_partial {
                for path in segment.index_paths(&self.dir) {
                    match disk.remove_file(&path) {
                        Err(error) if !error.is_not_found() => return Err(error),
                        _ => {}
                    }
                }
                segment.unload_indexes();
                segment.max_timestamp = None;
            } else {
                segment.seal_indexes();
                self.extra_dirty.extend(segment.write_indexes(disk, &self.dir, self.options.crc)?);
            }
        }
        Ok(())
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

    /// The greatest timestamp in a segment; for a sealed one it was written when it was closed.
    pub(super) fn max_timestamp_of(&mut self, disk: &mut D, index: usize) -> Option<Timestamp> {
        let segment = self.segments.get_mut(index)?;
        if let Some(max) = segment.max_timestamp {
            return Some(max);
        }
        if segment.sealed
            && let Some(max) = segment.read_max_timestamp(disk, &self.dir, self.options.crc)
        {
            segment.max_timestamp = Some(max);
            return Some(max);
        }
        self.load_indexes(disk, index).ok()?;
        self.segments.get(index)?.max_timestamp
    }
}
