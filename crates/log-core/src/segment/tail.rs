//! What the bytes behind the last good batch mean after an unclean stop: nothing written, a write that never
//! completed, or something that only other replicas can explain.
//!
//! ```text
//! good batches | X: first batch not accepted .......... | zeros to the end of the file
//!              ^ position                               ^ zeros_from
//! ```
//!
//! - X lies below what is known to be durable or was committed: *damage*.
//! - only zeros follow X: *clean end*.
//! - the file is zero from a sector boundary inside the batch at X on: *torn tail*, that write never completed.
//! - else, or when a later segment was written, *suspect*: rot of a synced batch, or sectors of unsynced ones that reached the disk in any order.
//!
//! The length of a batch lies outside its CRC. A synced last batch whose length rots upward would look torn, since
//! zeros then follow "inside" it; [`TailScan::finish`] therefore tries whether the CRC holds for a shorter length.

use super::scan::is_zero;
use crate::batch::{CRC_COVERS_FROM, HEADER_BYTES, claimed_bytes, stored_crc};
use crate::codec::Crc32c;
use crate::limits::SECTOR_BYTES;
use crate::mutation::{Mutation, mutated};
use crate::offset::Offset;

/// What the durable bound says of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundFacts {
    /// Everything below was deleted.
    pub log_start: Offset,
    /// Everything below was fsynced.
    pub durable_end: Offset,
    /// Everything below was committed.
    pub high_watermark: Offset,
}

/// What is known of the end of a file, in positions of that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailFacts {
    /// Where the first batch that is not accepted starts.
    pub position: u64,
    /// The offset expected there.
    pub offset: Offset,
    /// How many bytes that batch claims to take.
    pub claimed_bytes: Option<usize>,
    /// First position from which all bytes to the end of the file are zero; the file's length if its last is not.
    pub zeros_from: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// The batch is whole but for its length field: not torn, whatever the zeros say.
    pub length_rotten: bool,
    /// A file of a later segment holds anything but zeros.
    pub later_segment_written: bool,
}

/// What the end of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailVerdict {
    /// Nothing was written behind the last batch.
    CleanEnd,
    /// The last write never completed: cut to X.
    TornTail,
    /// Only other replicas can tell: mark, keep a copy, then cut to X.
    Suspect,
    /// What was durable or committed is missing: keep everything, the partition is faulty.
    Damage,
}

/// The rule for what follows the first batch that is not accepted.
#[must_use]
pub fn tail_verdict(tail: &TailFacts, bound: &BoundFacts) -> TailVerdict {
    if tail.offset < bound.durable_end || tail.offset < bound.high_watermark {
        return mutated(Mutation::S4, TailVerdict::Damage, TailVerdict::TornTail);
    }
    if tail.later_segment_written {
        // Whatever stands at X was not the last write of this log, so it is no torn tail.
        return TailVerdict::Suspect;
    }
    if tail.zeros_from <= tail.position {
        return TailVerdict::CleanEnd;
    }
    if !tail.length_rotten && is_torn(tail) { TailVerdict::TornTail } else { TailVerdict::Suspect }
}

/// A sector boundary inside the batch, not behind the file, from which on all is zero.
fn is_torn(tail: &TailFacts) -> bool {
    let boundary = tail.zeros_from.max(tail.position + 1).next_multiple_of(SECTOR_BYTES);
    // A header that was cut by the tear itself claims nothing, but no batch is shorter than a header.
    let batch_bytes = tail.claimed_bytes.unwrap_or(HEADER_BYTES) as u64;
    let torn = boundary < tail.position.saturating_add(batch_bytes) && boundary < tail.file_bytes;
    mutated(Mutation::S19, torn, true)
}

/// Gathers the facts about everything from a batch that is not accepted to the end of the file, in chunks of any size.
///
/// Call order: [`Scanner::tail`](super::Scanner::tail), [`TailScan::feed`] with all bytes from the scanner's position
/// on, then [`TailScan::finish`].
#[derive(Clone, Copy, Debug)]
pub struct TailScan {
    start: u64,
    offset: Offset,
    claimed_bytes: Option<usize>,
    /// First position not yet fed.
    position: u64,
    zeros_from: u64,
    length: LengthRot,
}

/// The search for a length with which the refused batch would be good: CRC-32C of its bytes up to the last one that
/// is not zero, and how many zeros were fed since.
#[derive(Clone, Copy, Debug)]
struct LengthRot {
    stored: Option<u32>,
    crc_to_zeros: u32,
    /// Bytes that `crc_to_zeros` covers.
    covered: u64,
    zeros: u64,
    crc: Crc32c,
    skip: usize,
}

/// Zeros that a batch may end with and still be found whole: the last record's header count and short values.
const TRAILING_ZEROS_TRIED: u64 = 4096;

impl TailScan {
    /// `header` are the first bytes at `start`; they are fed again.
    pub(super) fn new(start: u64, offset: Offset, header: &[u8], crc: Crc32c) -> Self {
        let length = LengthRot {
            stored: stored_crc(header),
            crc_to_zeros: 0,
            covered: 0,
            zeros: 0,
            crc,
            skip: CRC_COVERS_FROM,
        };
        let claimed_bytes = claimed_bytes(header);
        Self { start, offset, claimed_bytes, position: start, zeros_from: start, length }
    }

    /// The next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        let used = bytes.len() - trailing_zeros(bytes);
        if used > 0 {
            self.zeros_from = self.position + used as u64;
        }
        self.length.feed(bytes, used);
        self.position += bytes.len() as u64;
    }

    /// The facts, once the whole file was fed.
    #[must_use]
    pub fn finish(self, later_segment_written: bool) -> TailFacts {
        TailFacts {
            position: self.start,
            offset: self.offset,
            claimed_bytes: self.claimed_bytes,
            zeros_from: self.zeros_from,
            file_bytes: self.position,
            length_rotten: self.length.holds(),
            later_segment_written,
        }
    }
}

impl LengthRot {
    fn feed(&mut self, bytes: &[u8], used: usize) {
        if used > 0 {
            self.extend_by_zeros();
        }
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        let covered = bytes.get(skipped..used).unwrap_or(&[]);
        self.crc_to_zeros = (self.crc)(self.crc_to_zeros, covered);
        self.covered += covered.len() as u64;
        self.zeros += (bytes.len() - used.max(skipped)) as u64;
    }

    /// The zeros fed before were not the last bytes after all.
    fn extend_by_zeros(&mut self) {
        const ZEROS: [u8; 512] = [0; 512];
        while self.zeros > 0 {
            let count = self.zeros.min(ZEROS.len() as u64);
            let part = ZEROS.get(..count as usize).expect("the count is at most the length");
            self.crc_to_zeros = (self.crc)(self.crc_to_zeros, part);
            self.covered += count;
            self.zeros -= count;
        }
    }

    fn holds(self) -> bool {
        let Some(stored) = self.stored else { return false };
        // The checksum of a header that was cut before its checksum is 0, and so is that of no bytes.
        let covered_min = (HEADER_BYTES - CRC_COVERS_FROM) as u64;
        let mut computed = self.crc_to_zeros;
        for added in 0..=self.zeros.min(TRAILING_ZEROS_TRIED) {
            if computed == stored && self.covered + added >= covered_min {
                return true;
            }
            computed = (self.crc)(computed, &[0]);
        }
        false
    }
}

fn trailing_zeros(bytes: &[u8]) -> usize {
    if is_zero(bytes) {
        return bytes.len();
    }
    bytes.iter().rev().take_while(|&&byte| byte == 0).count()
}
