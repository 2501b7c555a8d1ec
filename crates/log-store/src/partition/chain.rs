//! The BLAKE3 chain, in the background: only below the high watermark, so that it is never rolled back, and at
//! least 16 KiB at a time, because short inputs cost several times as much per byte.

use log_core::batch::check_stored;
use log_core::chain::{CHAIN_HEADER_BYTES, Chain, ChainEntry};
use log_core::segment::SegmentKind;
use log_core::{Link, Offset};

use super::PartitionLog;
use super::segment::{path_of, read_derived};
use super::types::Fault;
use crate::disk::{Disk, OpenMode};
use crate::error::{DiskError, DiskOperation};

/// Bytes of log hashed at least between two entries, and before anything is hashed at all.
const HASHED_BYTES_MIN: u64 = 16 * 1024;

/// How far the chain reaches, once it is known.
#[derive(Debug, Default)]
pub(super) struct ChainState {
    place: Option<ChainPlace>,
}

/// The end of the chain as a place in files.
#[derive(Clone, Copy, Debug)]
struct ChainPlace {
    last: ChainEntry,
    /// The segment whose chain file grows.
    segment: Offset,
    /// Where the last batch hashed ends in the segment, in bytes.
    position: u64,
    /// Where the next entry goes in the chain file, in bytes.
    file_bytes: u64,
}

impl ChainState {
    pub(super) const fn new() -> Self {
        Self { place: None }
    }

    pub(super) fn reset(&mut self, _start: Offset) {
        self.place = None;
    }
}

impl<D: Disk> PartitionLog<D> {
    /// The link that stands for everything below its offset, as far as it is known in memory.
    #[must_use]
    pub fn chain_end(&self) -> Option<ChainEntry> {
        self.chain.place.map(|place| place.last)
    }

    /// Hashes up to `budget_bytes` (at least one batch) of what is committed and not hashed yet; gives how many.
    /// Nothing is done while less than 16 KiB are there, unless the segment is complete. For idle moments: it reads
    /// from the page cache, but from the medium if it must.
    pub fn chain_step(&mut self, disk: &mut D, budget_bytes: u64) -> u64 {
        if self.fault.is_some() || self.poisoned.is_some() || !self.is_settled() {
            return 0;
        }
        match self.try_chain_step(disk, budget_bytes) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.on_chain_error(error);
                0
            }
        }
    }

    /// The last known link at or before `offset`, from the chain files; none if none of them can be read.
    #[must_use]
    pub fn link_at_or_before(&self, disk: &mut D, offset: Offset) -> Option<ChainEntry> {
        let last = self.segment_of(offset)?;
        let segments = self.segments.range(..=last).rev();
        let mut chains = segments.map(|segment| read_chain(disk, &self.dir, segment.base, self.options.crc));
        chains.find_map(|chain| chain.ok().flatten().and_then(|chain| chain.floor(offset)))
    }

    /// The chain can wait: only a write whose outcome is not known ends anything. On a full disk, and without a free
    /// descriptor, the step is made again later.
    fn on_chain_error(&mut self, error: DiskError) {
        let at = self.chain.place.map_or(self.offsets.log_start(), |place| place.last.end);
        let changes = matches!(error.operation, DiskOperation::Write | DiskOperation::Truncate);
        if !self.note_unreadable(at, error) && changes && !error.is_full() {
            self.poison(error);
        }
    }

    fn try_chain_step(&mut self, disk: &mut D, budget_bytes: u64) -> Result<u64, DiskError> {
        let Some(mut place) = self.chain_place(disk)? else { return Ok(0) };
        let hashable = self.hashable_end();
        let at = self.segments.iter().position(|segment| segment.base == place.segment);
        let Some((at, segment)) = at.and_then(|at| self.segments.get(at).map(|segment| (at, segment))) else {
            self.chain.place = None;
            return Ok(0);
        };
        if segment.sealed && segment.end <= place.last.end {
            return self.chain_next_segment(disk, place, budget_bytes);
        }
        let left = segment.bytes.saturating_sub(place.position);
        let whole = segment.sealed && segment.end <= hashable;
        if left == 0 || (left < HASHED_BYTES_MIN && !whole) {
            return Ok(0);
        }
        let file = self.file_of(disk, at)?;
        let mut bytes = vec![0; left.min(budget_bytes.max(HASHED_BYTES_MIN)) as usize];
        let count = disk.read_at(&file, place.position, &mut bytes)?;
        bytes.truncate(count);
        let hashed = self.hash_batches(&mut place, &bytes, whole && count as u64 == left);
        let Some(entry) = hashed.entry else {
            if hashed.need.is_some_and(|need| need as u64 > left) {
                // It claims more bytes than the segment has.
                self.fail(Fault::BadBatch { at: place.last.end });
                return Ok(0);
            }
            return self.chain_longer_batch(disk, &file, place, hashed.need);
        };
        self.append_link(disk, place, entry)?;
        Ok(hashed.bytes)
    }

    /// The batch that the budget cut is hashed whole, with those before it if they were too few.
    fn chain_longer_batch(
        &mut self,
        disk: &mut D,
        file: &D::File,
        mut place: ChainPlace,
        need: Option<usize>,
    ) -> Result<u64, DiskError> {
        let Some(need) = need else { return Ok(0) };
        let mut bytes = vec![0; need];
        let count = disk.read_at(file, place.position, &mut bytes)?;
        bytes.truncate(count);
        let hashed = self.hash_batches(&mut place, &bytes, true);
        if let Some(entry) = hashed.entry {
            self.append_link(disk, place, entry)?;
        }
        Ok(hashed.bytes)
    }

    /// Links the committed batches of `bytes` to the place. Too few of them are left for later, unless `all` says
    /// that no more will come.
    fn hash_batches(&mut self, place: &mut ChainPlace, bytes: &[u8], all: bool) -> Hashed {
        let mut hashed = Hashed::default();
        let (mut at, mut last) = (0, place.last);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let header = match check_stored(rest, self.options.crc) {
                Ok(header) if header.base_offset == last.end && self.is_of_its_epoch(&header) => header,
                Err(log_core::BatchError::Incomplete { need, .. }) => {
                    hashed.need = Some(at + need).filter(|_| (at as u64) < HASHED_BYTES_MIN);
                    break;
                }
                Ok(_) | Err(_) => {
                    self.fail(Fault::BadBatch { at: last.end });
                    return Hashed::default();
                }
            };
            if header.next_offset() > self.hashable_end() {
                break;
            }
            let batch = rest.get(..header.batch_bytes).unwrap_or(rest);
            last = ChainEntry { end: header.next_offset(), link: last.link.after(batch) };
            at += header.batch_bytes;
        }
        if at > 0 && (all || at as u64 >= HASHED_BYTES_MIN) {
            hashed.bytes = at as u64;
            hashed.entry = Some(last);
            place.position += at as u64;
        }
        hashed
    }

    /// What is neither cut nor lost with the power, so that no link ever has to be taken back.
    fn hashable_end(&self) -> Offset {
        self.offsets.high_watermark().min(self.offsets.durable_end())
    }

    fn append_link(&mut self, disk: &mut D, place: ChainPlace, entry: ChainEntry) -> Result<(), DiskError> {
        let path = path_of(&self.dir, place.segment, SegmentKind::Chain);
        let file = disk.open(&path, OpenMode::Create)?;
        let bytes = Chain::entry(place.segment, &entry, self.options.crc);
        disk.write_at(&file, place.file_bytes, &[&bytes])?;
        let file_bytes = place.file_bytes + bytes.len() as u64;
        self.chain.place = Some(ChainPlace { last: entry, file_bytes, ..place });
        Ok(())
    }

    /// Begins the chain file of the segment behind a finished one.
    fn chain_next_segment(
        &mut self,
        disk: &mut D,
        place: ChainPlace,
        budget_bytes: u64,
    ) -> Result<u64, DiskError> {
        let next = self.segments.iter().find(|segment| segment.base > place.segment);
        let Some(base) = next.map(|next| next.base).filter(|base| *base == place.last.end) else {
            return Ok(0);
        };
        self.begin_chain(disk, base, place.last.link)?;
        self.try_chain_step(disk, budget_bytes)
    }

    fn begin_chain(&mut self, disk: &mut D, base: Offset, start: Link) -> Result<(), DiskError> {
        let path = path_of(&self.dir, base, SegmentKind::Chain);
        let file = disk.open(&path, OpenMode::Create)?;
        disk.truncate(&file, 0)?;
        disk.write_at(&file, 0, &[&Chain::header(base, start, self.options.crc)])?;
        // The start link cannot be computed again once older segments are gone.
        self.extra_dirty.push(file);
        self.dir_dirty = true;
        let last = ChainEntry { end: base, link: start };
        self.chain.place =
            Some(ChainPlace { last, segment: base, position: 0, file_bytes: CHAIN_HEADER_BYTES as u64 });
        Ok(())
    }

    /// Where the chain goes on: behind the newest chain file that can be read. A log without one begins its chain
    /// with its first segment.
    fn chain_place(&mut self, disk: &mut D) -> Result<Option<ChainPlace>, DiskError> {
        if self.chain.place.is_some() {
            return Ok(self.chain.place);
        }
        let bases: Vec<Offset> = self.segments.iter().map(|segment| segment.base).collect();
        for (index, &base) in bases.iter().enumerate().rev() {
            let Some(chain) = read_chain(disk, &self.dir, base, self.options.crc)? else { continue };
            let last = chain.last();
            let Some(position) = self.position_of(disk, index, last.end)? else { continue };
            let file_bytes = chain.file_bytes() as u64;
            self.chain.place = Some(ChainPlace { last, segment: base, position, file_bytes });
            return Ok(self.chain.place);
        }
        if let Some(&first) = bases.first()
            && read_chain(disk, &self.dir, first, self.options.crc)?.is_none()
        {
            self.begin_chain(disk, first, Link::START)?;
        }
        Ok(self.chain.place)
    }

    /// The place of a batch boundary in a segment.
    fn position_of(
        &mut self,
        disk: &mut D,
        index: usize,
        boundary: Offset,
    ) -> Result<Option<u64>, DiskError> {
        use super::walk::{Found, HOP_BYTES, Reach, Walk};
        self.load_indexes(disk, index)?;
        let Some(segment) = self.segments.get(index) else { return Ok(None) };
        let (base, bytes) = (segment.base, segment.bytes);
        if boundary == segment.end {
            return Ok(Some(bytes));
        }
        let floor = segment.indexes().map_or(0, |indexes| indexes.offsets.position_for(boundary));
        let file = self.file_of(disk, index)?;
        let mut walk = Walk::new(file, u64::from(floor), bytes, Reach::Medium, HOP_BYTES);
        Ok(match walk.find(disk, boundary, base)? {
            Found::Batch(position, header) if header.base_offset == boundary => Some(position),
            Found::Batch(..) | Found::Cold(_) | Found::Missing => None,
        })
    }
}

/// What a pass over some bytes gave.
#[derive(Debug, Default)]
struct Hashed {
    bytes: u64,
    entry: Option<ChainEntry>,
    /// The first batch takes this many bytes, more than were there.
    need: Option<usize>,
}

/// A chain file; none if it is missing or damaged.
///
/// Errors: no file descriptor is free. The chain would be begun anew over what is there.
fn read_chain<D: Disk>(
    disk: &mut D,
    dir: &str,
    base: Offset,
    crc: log_core::Crc32c,
) -> Result<Option<Chain>, DiskError> {
    let bytes = read_derived(disk, &path_of(dir, base, SegmentKind::Chain))?;
    Ok(Chain::decode(base, &bytes, crc).ok())
}
