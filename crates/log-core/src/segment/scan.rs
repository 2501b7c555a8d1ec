//! The walk over a segment's batches that recovery and verification make, as a value that is fed windows of the
//! file and never reads one itself. The rules of acceptance are those of a start after an unclean stop: expected
//! base offset, leader epoch between that of the batch before and the newest known, length inside the file, CRC.
//!
//! Call order: [`Scanner::step`] with a window that begins at [`Scanner::position`] until it gives something other
//! than [`ScanStep::Batch`]; after `NeedBytes` come back with a longer window, or with all that the file has left and
//! `ends_file`; after anything else stop. What lies behind a stop is gathered by [`Scanner::tail`] and judged by
//! [`tail_verdict`](super::tail_verdict).

use super::tail::TailScan;
use crate::batch::{BatchHeader, check_stored, claimed_bytes};
use crate::codec::Crc32c;
use crate::error::{BatchError, ScanError};
use crate::ids::LeaderEpoch;
use crate::offset::Offset;

/// Where a scan starts and what it may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanStart {
    /// Position of the first batch in the file, in bytes.
    pub position: u64,
    /// Offset expected there.
    pub offset: Offset,
    /// Leader epoch of the batch before; [`LeaderEpoch::NONE`] if there is none.
    pub epoch: LeaderEpoch,
    /// Newest leader epoch that the metadata on this disk knows for the partition.
    pub newest_epoch: LeaderEpoch,
}

/// A walk over the batches of one segment or, with positions set by the caller, of a whole log.
#[derive(Clone, Copy, Debug)]
pub struct Scanner {
    next: ScanStart,
    crc: Crc32c,
}

/// A batch that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScannedBatch {
    /// Where it starts in the file, in bytes.
    pub position: u64,
    /// Its header.
    pub header: BatchHeader,
}

/// Where no batch is accepted, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Position in the file, in bytes.
    pub position: u64,
    /// The offset expected there: X of the rules.
    pub offset: Offset,
    /// How many bytes the batch there claims to take; `None` if its header claims nothing possible.
    pub claimed_bytes: Option<usize>,
    /// Why.
    pub why: ScanError,
}

/// What a window held at the scanner's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanStep {
    /// A good batch; the scanner stands behind it. Drop `header.batch_bytes` from the window and step again.
    Batch(ScannedBatch),
    /// The window is cut: come back with one of at least this many bytes from the same position (a batch of at most
    /// [`BATCH_BYTES_HARD_MAX`](crate::limits::BATCH_BYTES_HARD_MAX)), or with the rest of the file.
    NeedBytes(usize),
    /// The whole window is zero, so that nothing was written here; later bytes of the file are for the caller to see.
    Zeros,
    /// The file ends exactly here.
    End,
    /// The next batch is not acceptable.
    Refused(Refused),
}

impl Scanner {
    /// A scan from `start` on.
    #[must_use]
    pub const fn new(start: ScanStart, crc: Crc32c) -> Self {
        Self { next: start, crc }
    }

    /// Position of the next window in the file, in bytes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.next.position
    }

    /// The offset expected next.
    #[must_use]
    pub const fn offset(&self) -> Offset {
        self.next.offset
    }

    /// Leader epoch of the last batch accepted.
    #[must_use]
    pub const fn epoch(&self) -> LeaderEpoch {
        self.next.epoch
    }

    /// The search for what lies behind the stop, to be fed with all bytes from [`Scanner::position`] on. `window` are
    /// the first of them, at least a header's if the file has as many.
    #[must_use]
    pub fn tail(&self, window: &[u8]) -> TailScan {
        TailScan::new(self.next.position, self.next.offset, window, self.crc)
    }

    /// Goes on in the next segment, whose file starts at position 0 with the offset expected next.
    pub const fn next_segment(&mut self) {
        self.next.position = 0;
    }

    /// Looks at the batch at the start of `window`, which begins at [`Scanner::position`]; `ends_file` says that
    /// nothing follows the window.
    pub fn step(&mut self, window: &[u8], ends_file: bool) -> ScanStep {
        if window.is_empty() {
            return if ends_file { ScanStep::End } else { ScanStep::NeedBytes(crate::batch::HEADER_BYTES) };
        }
        match self.accept(window) {
            Ok(header) => ScanStep::Batch(self.move_behind(header)),
            Err(ScanError::Batch(BatchError::Incomplete { need, .. })) if !ends_file => {
                ScanStep::NeedBytes(need)
            }
            Err(_) if is_zero(window) => ScanStep::Zeros,
            Err(why) => ScanStep::Refused(self.refused(window, why)),
        }
    }

    /// Header rules come first, so that a wrong batch is refused without its bytes.
    fn accept(&self, window: &[u8]) -> Result<BatchHeader, ScanError> {
        let header = BatchHeader::parse(window)?;
        let (found, expected) = (header.base_offset, self.next.offset);
        if found != expected {
            return Err(ScanError::BaseOffset { expected, found });
        }
        let (found, previous, newest) = (header.leader_epoch, self.next.epoch, self.next.newest_epoch);
        if found < previous {
            return Err(ScanError::EpochBackwards { previous, found });
        }
        if found > newest {
            return Err(ScanError::EpochAhead { newest, found });
        }
        Ok(check_stored(window, self.crc)?)
    }

    fn move_behind(&mut self, header: BatchHeader) -> ScannedBatch {
        let position = self.next.position;
        self.next.position += header.batch_bytes as u64;
        self.next.offset = header.next_offset();
        self.next.epoch = header.leader_epoch;
        ScannedBatch { position, header }
    }

    fn refused(&self, window: &[u8], why: ScanError) -> Refused {
        let (position, offset) = (self.next.position, self.next.offset);
        Refused { position, offset, claimed_bytes: claimed_bytes(window), why }
    }
}

/// Whether all bytes are zero.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<64>();
    chunks.iter().all(|chunk| chunk == &[0; 64]) && rest.iter().all(|&byte| byte == 0)
}
