//! A walk over the headers of a segment's batches, reading little more than them.

use log_core::Offset;
use log_core::batch::{BatchHeader, HEADER_BYTES};

use crate::disk::Disk;
use crate::error::DiskError;

/// How a walk may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only what the page cache holds.
    Cached,
    /// Also what has to come from the medium.
    Medium,
}

/// What stands where the walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A batch, whole within the limit.
    Batch(u64, BatchHeader),
    /// The page cache does not hold it.
    Cold,
    /// The limit was reached exactly.
    End,
    /// No header, or a batch that crosses the limit.
    Bad,
}

/// A walk from a batch boundary up to a limit, both in bytes of one file.
#[derive(Debug)]
pub(super) struct Walk<F> {
    file: F,
    position: u64,
    limit: u64,
    reach: Reach,
    window: Vec<u8>,
    window_at: u64,
    window_bytes: usize,
    pub(super) bytes_read: u64,
}

/// Bytes read at once by a walk that hops from header to header.
pub(super) const HOP_BYTES: usize = 4096;

/// Bytes read at once by a walk over much of a segment.
pub(super) const RUN_BYTES: usize = 256 * 1024;

impl<F> Walk<F> {
    pub(super) const fn new(file: F, position: u64, limit: u64, reach: Reach, window_bytes: usize) -> Self {
        Self { file, position, limit, reach, window: Vec::new(), window_at: 0, window_bytes, bytes_read: 0 }
    }

    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// The batch at the position; moves behind it.
    pub(super) fn step<D: Disk<File = F>>(&mut self, disk: &mut D) -> Result<Step, DiskError> {
        if self.position >= self.limit {
            return Ok(Step::End);
        }
        if !self.load(disk)? {
            return Ok(Step::Cold);
        }
        let from = (self.position - self.window_at) as usize;
        let Ok(header) = BatchHeader::parse(self.window.get(from..).unwrap_or(&[])) else {
            return Ok(Step::Bad);
        };
        let position = self.position;
        let next = position + header.batch_bytes as u64;
        if next > self.limit {
            return Ok(Step::Bad);
        }
        self.position = next;
        Ok(Step::Batch(position, header))
    }

    /// The bytes of the batch that was stepped over last; fewer where the file ends. May wait for the medium.
    pub(super) fn batch<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        position: u64,
        header: &BatchHeader,
    ) -> Result<&[u8], DiskError> {
        // The step found the header in the window.
        let skip = (position - self.window_at) as usize;
        if skip + header.batch_bytes > self.window.len() {
            self.window.drain(..skip.min(self.window.len()));
            self.window_at = position;
            let held = self.window.len();
            let left = self.limit - position;
            self.window.resize(left.min(header.batch_bytes.max(self.window_bytes) as u64) as usize, 0);
            let into = self.window.get_mut(held..).unwrap_or_default();
            let count = disk.read_at(&self.file, position + held as u64, into)?;
            self.window.truncate(held + count);
            self.bytes_read += count as u64;
        }
        let from = self.window.get((position - self.window_at) as usize..).unwrap_or(&[]);
        Ok(from.get(..header.batch_bytes).unwrap_or(from))
    }

    /// Brings the header at the position into the window, if the file and the cache have it.
    fn load<D: Disk<File = F>>(&mut self, disk: &mut D) -> Result<bool, DiskError> {
        let window_end = self.window_at + self.window.len() as u64;
        let has_header = self.position >= self.window_at && self.position + HEADER_BYTES as u64 <= window_end;
        if has_header {
            return Ok(true);
        }
        let left = (self.limit - self.position).min(self.window_bytes as u64);
        self.window.resize(left as usize, 0);
        self.window_at = self.position;
        let count = match self.reach {
            Reach::Medium => Some(disk.read_at(&self.file, self.position, &mut self.window)?),
            Reach::Cached => disk.read_if_cached(&self.file, self.position, &mut self.window)?,
        };
        // A cache that holds the start of the window only may hold less than a header.
        let enough = (HEADER_BYTES as u64).min(left) as usize;
        let there = count.is_some_and(|count| count >= enough || self.reach == Reach::Medium);
        self.window.truncate(count.unwrap_or(0));
        self.bytes_read += count.unwrap_or(0) as u64;
        Ok(there)
    }
}

/// Where a batch boundary or a batch was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The batch that holds the offset, and where it stands.
    Batch(u64, BatchHeader),
    /// Cold from this position on.
    Cold(u64),
    /// The batches before the limit do not hold the offset.
    Missing,
}

impl<F> Walk<F> {
    /// The batch that holds `offset`. The headers on the way have to continue each other; `first` is the lowest
    /// offset that the first one may have.
    pub(super) fn find<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        offset: Offset,
        first: Offset,
    ) -> Result<Found, DiskError> {
        let mut expected: Option<Offset> = None;
        loop {
            let at = self.position;
            match self.step(disk)? {
                Step::Batch(position, header) => {
                    let continues = match expected {
                        None => header.base_offset >= first && header.base_offset <= offset,
                        Some(expected) => header.base_offset == expected,
                    };
                    if !continues {
                        return Ok(Found::Missing);
                    }
                    if header.next_offset() > offset {
                        return Ok(Found::Batch(position, header));
                    }
                    expected = Some(header.next_offset());
                }
                Step::Cold => return Ok(Found::Cold(at)),
                Step::End | Step::Bad => return Ok(Found::Missing),
            }
        }
    }
}
