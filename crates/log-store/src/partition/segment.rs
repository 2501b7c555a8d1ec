//! One segment of a log in memory: its extent, its file once opened, its indexes once needed.

use log_core::batch::BatchHeader;
use log_core::index::{IndexChecksums, OffsetIndex, SegmentIndexes, TimeIndex};
use log_core::segment::{ActiveSegment, SegmentFile, SegmentKind};
use log_core::{Crc32c, Offset, Timestamp};

use super::ranges::Ranges;
use crate::disk::{Disk, OpenMode};
use crate::error::DiskError;

/// First preallocation of a segment in bytes (D6).
const PREALLOCATE_BYTES_MIN: u64 = 256 * 1024;

/// Largest preallocation in bytes (D6).
const PREALLOCATE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The end of a segment, in bytes, in which its file grows by what it needs (a guess: some batches).
const LAST_STRETCH_BYTES: u64 = 256 * 1024;

/// Where less is free, in bytes, small files are cut before they are written again (a guess: some such files).
const OVERWRITTEN_ABOVE_FREE_BYTES: u64 = 64 * 1024 * 1024;

/// A segment; the last one of a log is the active one.
#[derive(Debug)]
pub(super) struct Segment<F> {
    pub(super) base: Offset,
    /// The offset after its last batch.
    pub(super) end: Offset,
    /// Bytes of its batches.
    pub(super) bytes: u64,
    /// Length of its file, preallocated zeros included.
    pub(super) allocated: u64,
    file: Option<F>,
    /// When its file was last asked for, counted in such uses.
    pub(super) last_use: u64,
    indexes: Option<SegmentIndexes>,
    /// Positions whose batches were checked since the process started.
    pub(super) checked: Ranges,
    pub(super) first_append: Timestamp,
    pub(super) last_append: Timestamp,
    /// Greatest timestamp of its records, once known.
    pub(super) max_timestamp: Option<Timestamp>,
    /// Changed since the last sync was asked for.
    pub(super) dirty: bool,
    /// It takes no more batches.
    pub(super) sealed: bool,
    /// The indexes lack entries, which only makes looking up slower; a seal needs them all.
    pub(super) indexes_partial: bool,
}

impl<F: Clone> Segment<F> {
    /// A segment without batches whose file was just made.
    pub(super) fn new(base: Offset, file: F) -> Self {
        let mut segment = Self::found(base, base, 0);
        segment.file = Some(file);
        segment.indexes = Some(SegmentIndexes::new(base));
        segment.max_timestamp = Some(Timestamp::NONE);
        segment.dirty = true;
        segment
    }

    /// A segment met at a start; nothing of it was read yet.
    pub(super) fn found(base: Offset, end: Offset, bytes: u64) -> Self {
        Self {
            base,
            end,
            bytes,
            allocated: bytes,
            file: None,
            last_use: 0,
            indexes: None,
            checked: Ranges::default(),
            first_append: Timestamp::NONE,
            last_append: Timestamp::NONE,
            max_timestamp: None,
            dirty: false,
            sealed: false,
            indexes_partial: false,
        }
    }

    pub(super) fn path(&self, dir: &str, kind: SegmentKind) -> String {
        path_of(dir, self.base, kind)
    }

    pub(super) const fn facts(&self) -> ActiveSegment {
        ActiveSegment { base_offset: self.base, bytes: self.bytes, first_append: self.first_append }
    }

    /// The file, opened if it is not yet.
    pub(super) fn file<D: Disk<File = F>>(&mut self, disk: &mut D, dir: &str) -> Result<F, DiskError> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let file = disk.open(&self.path(dir, SegmentKind::Log), OpenMode::Write)?;
        self.file = Some(file.clone());
        Ok(file)
    }

    pub(super) fn open_file(&self) -> Option<F> {
        self.file.clone()
    }

    pub(super) const fn is_open(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// How far the file is to grow so that it holds `need` bytes; first by little, doubling (D6). The last stretch of a
    /// segment grows by what it needs: then there is nothing to give back when it is full, for which an append would
    /// have to wait where the file system discards what it frees.
    pub(super) fn growth_to(&self, need: u64, segment_bytes: u64) -> u64 {
        let step = self.allocated.clamp(PREALLOCATE_BYTES_MIN, PREALLOCATE_BYTES_MAX);
        let appended = need.saturating_sub(self.bytes);
        let stretch = (2 * appended).clamp(LAST_STRETCH_BYTES, PREALLOCATE_BYTES_MAX);
        self.allocated.saturating_add(step).min(segment_bytes.saturating_sub(stretch)).max(need)
    }

    /// A batch stands at the end of the segment now.
    pub(super) fn on_batch(&mut self, header: &BatchHeader, now: Timestamp) {
        let position = self.bytes;
        if position == 0 {
            self.first_append = now;
        }
        if let Some(indexes) = &mut self.indexes {
            indexes.on_batch(header, u32::try_from(position).unwrap_or(u32::MAX));
        }
        self.bytes += header.batch_bytes as u64;
        self.end = header.next_offset();
        self.last_append = now;
        self.max_timestamp = self.max_timestamp.map(|max| max.max(header.max_timestamp));
        self.checked.add(position..self.bytes);
    }

    pub(super) const fn has_indexes(&self) -> bool {
        self.indexes.is_some()
    }

    pub(super) const fn indexes(&self) -> Option<&SegmentIndexes> {
        self.indexes.as_ref()
    }

    pub(super) fn set_indexes(&mut self, indexes: SegmentIndexes) {
        self.max_timestamp = (!self.indexes_partial).then(|| indexes.max_timestamp());
        self.indexes = Some(indexes);
    }

    pub(super) fn take_indexes(&mut self) -> Option<SegmentIndexes> {
        self.indexes.take()
    }

    pub(super) fn unload_indexes(&mut self) {
        self.indexes = None;
    }

    /// The paths of both index files and of their checksums.
    pub(super) fn index_paths(&self, dir: &str) -> [String; 3] {
        SegmentKind::INDEXES.map(|kind| self.path(dir, kind))
    }

    /// Removes the index files and forgets what they said.
    pub(super) fn remove_indexes<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        dir: &str,
    ) -> Result<(), DiskError> {
        for path in self.index_paths(dir) {
            match disk.remove_file(&path) {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        self.unload_indexes();
        (self.max_timestamp, self.indexes_partial) = (None, false);
        Ok(())
    }

    /// Reads the index files: how many bytes that took, and the indexes unless one of them, or their checksums, is
    /// missing or damaged.
    ///
    /// Errors: no file descriptor is free.
    pub(super) fn read_indexes<D: Disk<File = F>>(
        &self,
        disk: &mut D,
        dir: &str,
        crc: Crc32c,
    ) -> Result<(u64, Option<SegmentIndexes>), DiskError> {
        let [offsets, times, checksums] =
            SegmentKind::INDEXES.map(|kind| read_derived(disk, &self.path(dir, kind)));
        let (offsets, times, checksums) = (offsets?, times?, checksums?);
        let bytes = (offsets.len() + times.len() + checksums.len()) as u64;
        let indexes = IndexChecksums::decode(self.base, &checksums, crc).and_then(|checksums| {
            let offsets = OffsetIndex::decode(self.base, &offsets, checksums.offsets, crc)?;
            let times = TimeIndex::decode(self.base, &times, checksums.times, crc)?;
            Ok(SegmentIndexes::resume(offsets, times, self.base))
        });
        Ok((bytes, indexes.ok()))
    }

    /// Reads the greatest timestamp that was written when the segment was closed; `None` if what says it is missing or
    /// damaged. It stands beside the checksums; who wrote the first version of that file left it to the time index.
    pub(super) fn read_max_timestamp<D: Disk<File = F>>(
        &self,
        disk: &mut D,
        dir: &str,
        crc: Crc32c,
    ) -> Option<Timestamp> {
        let checksums = read_small(disk, &self.path(dir, SegmentKind::IndexChecksums)).ok()?;
        let checksums = IndexChecksums::decode(self.base, &checksums, crc).ok()?;
        if checksums.max_timestamp.is_some() {
            return checksums.max_timestamp;
        }
        let times = read_small(disk, &self.path(dir, SegmentKind::TimeIndex)).ok()?;
        let times = TimeIndex::decode(self.base, &times, checksums.times, crc).ok()?;
        Some(times.last().map_or(Timestamp::NONE, |last| last.timestamp))
    }

    /// Writes both index files and their checksums, if the indexes are in memory, and gives the files.
    pub(super) fn write_indexes<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        dir: &str,
        crc: Crc32c,
    ) -> Result<Vec<F>, DiskError> {
        let Some(SegmentIndexes { offsets, times, .. }) = &self.indexes else { return Ok(Vec::new()) };
        let checksums = IndexChecksums::of(offsets, times, crc);
        let contents = [
            (SegmentKind::OffsetIndex, offsets.encode()),
            (SegmentKind::TimeIndex, times.encode()),
            (SegmentKind::IndexChecksums, checksums.encode(self.base, crc)),
        ];
        let mut files = Vec::new();
        for (kind, bytes) in contents {
            files.extend(write_if_room(disk, &self.path(dir, kind), &bytes)?);
        }
        Ok(files)
    }

    /// The last index entries of a segment that grows no more.
    pub(super) fn seal_indexes(&mut self) {
        if let Some(indexes) = &mut self.indexes {
            indexes.seal();
        }
    }

    /// Everything from `end` on, which stands at `position`, was cut.
    pub(super) fn cut(&mut self, end: Offset, position: u64) {
        self.end = end;
        self.bytes = position;
        self.checked.truncate(position);
        self.max_timestamp = None;
        self.sealed = false;
        if let Some(indexes) = &mut self.indexes {
            indexes.truncate_to(end);
        }
        if position == 0 {
            self.first_append = Timestamp::NONE;
        }
    }
}

/// The path of a file of the segment that starts at `base`.
pub(super) fn path_of(dir: &str, base: Offset, kind: SegmentKind) -> String {
    format!("{dir}/{}", SegmentFile::new(base, kind))
}

/// Reads a small file whole.
pub(super) fn read_small<D: Disk>(disk: &mut D, path: &str) -> Result<Vec<u8>, DiskError> {
    let file = disk.open(path, OpenMode::Read)?;
    let len = disk.file_len(&file)?.min(SMALL_BYTES_MAX);
    let mut bytes = vec![0; len as usize];
    let count = disk.read_at(&file, 0, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Reads a small file whole that can be derived again; nothing if it is missing or cannot be read.
///
/// Errors: no file descriptor is free. To derive it would take far longer than to try again.
pub(super) fn read_derived<D: Disk>(disk: &mut D, path: &str) -> Result<Vec<u8>, DiskError> {
    match read_small(disk, path) {
        Err(error) if !error.lacks_descriptor() => Ok(Vec::new()),
        read => read,
    }
}

/// Writes a small file whole and gives it, to be synced if it has to be. It is written over in place, and cut only if it was
/// longer: a file system that discards what it frees holds up who cuts for tens of milliseconds. Until it is synced it may
/// be part old and part new, which the checksums of all small files tell. Where the disk is nearly full it is cut first:
/// some file systems take new space also for what is written over, and only growth can be undone.
pub(super) fn write_small<D: Disk>(disk: &mut D, path: &str, bytes: &[u8]) -> Result<D::File, DiskError> {
    let file = disk.open(path, OpenMode::Create)?;
    let len = bytes.len() as u64;
    let before = disk.file_len(&file)?;
    if before > len || disk.free_bytes()? < OVERWRITTEN_ABOVE_FREE_BYTES {
        disk.truncate(&file, 0)?;
    } else {
        disk.preallocate(&file, before, len - before)?;
    }
    disk.write_at(&file, 0, &[bytes])?;
    Ok(file)
}

/// Writes a small file that can be derived again; leaves it out where the disk is full.
pub(super) fn write_if_room<D: Disk>(
    disk: &mut D,
    path: &str,
    bytes: &[u8],
) -> Result<Option<D::File>, DiskError> {
    match write_small(disk, path, bytes) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_full() => match disk.remove_file(path) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(None),
        },
        Err(error) => Err(error),
    }
}

/// No index, checkpoint or snapshot is longer, in bytes; a longer file is damaged.
const SMALL_BYTES_MAX: u64 = 256 * 1024 * 1024;
