//! The cheap check of a batch that some leader already accepted: for followers, recovery, scans and cold reads.
//! Rules that bind only clients (no control batches, no empty ones) are in [`validate`](super::validate).

use super::header::{BatchHeader, crc_of};
use super::layout::HEADER_BYTES;
use crate::codec::Crc32c;
use crate::error::BatchError;
use crate::offset::Offset;

/// Proves that the batch at the start of `bytes` is whole, its CRC holds and its offsets are possible; more bytes
/// may follow it.
///
/// Errors: [`BatchError::Incomplete`] when it does not end inside `bytes`; else what is wrong with it.
pub fn check_stored(bytes: &[u8], crc: Crc32c) -> Result<BatchHeader, BatchError> {
    let header = BatchHeader::parse(bytes)?;
    check_offsets(&header)?;
    check_crc(&header, bytes, crc)?;
    Ok(header)
}

/// The records of the batch that starts `bytes` and has this header, still compressed if it is.
///
/// Errors: [`BatchError::Incomplete`] when the batch does not end inside `bytes`.
pub fn records_of<'a>(header: &BatchHeader, bytes: &'a [u8]) -> Result<&'a [u8], BatchError> {
    let incomplete = BatchError::Incomplete { need: header.batch_bytes, have: bytes.len() };
    bytes.get(HEADER_BYTES..header.batch_bytes).ok_or(incomplete)
}

/// The batches of `bytes` one after the other, by their headers alone, until the bytes end or no header can be
/// read. [`Batches::rest`] then holds what was not taken.
#[derive(Clone, Copy, Debug)]
pub struct Batches<'a> {
    rest: &'a [u8],
}

impl<'a> Batches<'a> {
    /// Starts at a batch boundary; `bytes` may end in the middle of a batch.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been taken yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = (BatchHeader, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header = BatchHeader::parse(self.rest).ok()?;
        let (batch, rest) = self.rest.split_at_checked(header.batch_bytes)?;
        self.rest = rest;
        Some((header, batch))
    }
}

pub(super) fn check_crc(header: &BatchHeader, bytes: &[u8], crc: Crc32c) -> Result<(), BatchError> {
    let records = records_of(header, bytes)?;
    let header_bytes = bytes.first_chunk().expect("a parsed header has its bytes");
    let computed = crc_of(header_bytes, records, crc);
    if computed == header.crc { Ok(()) } else { Err(BatchError::Crc { stored: header.crc, computed }) }
}

fn check_offsets(header: &BatchHeader) -> Result<(), BatchError> {
    let reaches_end = header.next_offset() == Offset(i64::MAX);
    if header.base_offset < Offset::ZERO || reaches_end {
        return Err(BatchError::BaseOffset { found: header.base_offset });
    }
    Ok(())
}
