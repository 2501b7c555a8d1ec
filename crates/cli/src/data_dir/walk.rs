//! The batches of a segment file, one after the other, each with its bytes. The rules of acceptance are those of
//! recovery; this only feeds them windows of the file.

use std::fs::File;
use std::io::{self, Read};

use log_core::segment::{Refused, ScanStart, ScanStep, ScannedBatch, Scanner};
use log_core::{LeaderEpoch, Offset};

use super::Segment;

/// Read at once; larger only for a batch that is larger.
const WINDOW_BYTES: usize = 1 << 20;

/// CRC-32C by the processor's instructions.
pub(crate) fn crc32c(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// A walk over one segment.
#[derive(Debug)]
pub(crate) struct Walk {
    scanner: Scanner,
    file: File,
    window: Vec<u8>,
    /// How much of the window was stepped over.
    passed: usize,
    ended: bool,
}

/// What comes next in a segment.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// A good batch and its bytes.
    Batch(ScannedBatch, &'a [u8]),
    /// The file ends behind the last batch.
    End,
    /// Only zeros follow: space that was preallocated.
    Zeros,
    /// What stands here is no good batch.
    Refused(Refused),
}

impl Walk {
    /// Begins at the start of a segment. `epoch` is that of the batch before it.
    pub(crate) fn new(segment: &Segment, epoch: LeaderEpoch) -> io::Result<Self> {
        let start = ScanStart {
            position: 0,
            offset: segment.base_offset,
            epoch,
            // The newest epoch stands in the metadata; a batch of a later one is for recovery to find.
            newest_epoch: LeaderEpoch(i32::MAX),
        };
        let file = File::open(&segment.path)?;
        Ok(Self { scanner: Scanner::new(start, crc32c), file, window: Vec::new(), passed: 0, ended: false })
    }

    /// The offset expected next.
    pub(crate) const fn offset(&self) -> Offset {
        self.scanner.offset()
    }

    /// Where in the file the last good batch ends.
    pub(crate) const fn position(&self) -> u64 {
        self.scanner.position()
    }

    /// The epoch of the last batch.
    pub(crate) const fn epoch(&self) -> LeaderEpoch {
        self.scanner.epoch()
    }

    /// The next step; after anything but a batch there is no other.
    pub(crate) fn step(&mut self) -> io::Result<Step<'_>> {
        loop {
            let window = self.window.get(self.passed..).unwrap_or_default();
            match self.scanner.step(window, self.ended) {
                ScanStep::Batch(batch) => {
                    let start = self.passed;
                    self.passed += batch.header.batch_bytes;
                    let bytes = self.window.get(start..self.passed).unwrap_or_default();
                    return Ok(Step::Batch(batch, bytes));
                }
                ScanStep::NeedBytes(bytes) => self.fill(bytes)?,
                ScanStep::Zeros if self.ended => return Ok(Step::Zeros),
                ScanStep::Zeros => return self.behind_zeros(),
                ScanStep::End => return Ok(Step::End),
                ScanStep::Refused(refused) => return Ok(Step::Refused(refused)),
            }
        }
    }

    /// Makes the window hold at least `bytes` from here on, unless the file ends before.
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        self.window.drain(..self.passed);
        self.passed = 0;
        let wanted = bytes.max(WINDOW_BYTES);
        let missing = wanted.saturating_sub(self.window.len()) as u64;
        let read = (&mut self.file).take(missing).read_to_end(&mut self.window)?;
        self.ended = (read as u64) < missing;
        Ok(())
    }

    /// Looks whether zeros follow to the end; a batch behind zeros is none that was appended here.
    fn behind_zeros(&mut self) -> io::Result<Step<'_>> {
        let position = self.scanner.position();
        let mut rest = vec![0; WINDOW_BYTES];
        loop {
            let read = self.file.read(&mut rest)?;
            if read == 0 {
                return Ok(Step::Zeros);
            }
            if rest.get(..read).unwrap_or_default().iter().any(|byte| *byte != 0) {
                let why = log_core::ScanError::Batch(log_core::BatchError::Magic { found: 0 });
                let refused = Refused { position, offset: self.scanner.offset(), claimed_bytes: None, why };
                return Ok(Step::Refused(refused));
            }
        }
    }
}
