//! What both index files of a segment must hash to, and its greatest timestamp, which retention asks of every segment and
//! would else have to read a whole index for. They stand in a file of their own, `.checksums`, because every byte of an index
//! file is an entry to Kafka's tools.
//!
//! ```text
//! Container HWIX, payload: base offset i64 | CRC-32C of .index u32 | CRC-32C of .timeindex u32
//!                          since version 2: timestamp of the last entry of .timeindex i64, -1 if it has none
//! ```
//!
//! Each CRC covers the name of its index (`offset-index/v1`, `time-index/v1`), the base offset and all bytes of the
//! file. The three files are written together and need not reach the medium together: one that does not fit is
//! rebuilt with the other.

use alloc::vec::Vec;

use super::offset_index::OffsetIndex;
use super::time_index::TimeIndex;
use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::container::Container;
use crate::error::FileError;
use crate::offset::Offset;
use crate::time::Timestamp;

const CONTAINER: Container = Container { magic: *b"HWIX", version: 2 };

/// Without the greatest timestamp.
const FIRST: Container = Container { version: 1, ..CONTAINER };

/// The checksums of the index files of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexChecksums {
    /// Of the file of the offset index.
    pub offsets: u32,
    /// Of the file of the time index.
    pub times: u32,
    /// The greatest timestamp in the time index, [`Timestamp::NONE`] if it is empty: of a segment that was closed that of its
    /// records. Not in the first version of the file.
    pub max_timestamp: Option<Timestamp>,
}

impl IndexChecksums {
    /// Those of the files that these indexes encode to.
    #[must_use]
    pub fn of(offsets: &OffsetIndex, times: &TimeIndex, crc: Crc32c) -> Self {
        let max_timestamp = times.last().map_or(Timestamp::NONE, |last| last.timestamp);
        let max_timestamp = Some(max_timestamp);
        Self { offsets: offsets.checksum(crc), times: times.checksum(crc), max_timestamp }
    }

    /// The file's bytes, for the segment with this base offset.
    #[must_use]
    pub fn encode(self, base_offset: Offset, crc: Crc32c) -> Vec<u8> {
        let mut payload = Vec::from(base_offset.0.to_be_bytes());
        payload.extend_from_slice(&self.offsets.to_be_bytes());
        payload.extend_from_slice(&self.times.to_be_bytes());
        let Some(max_timestamp) = self.max_timestamp else { return FIRST.seal(&payload, crc) };
        payload.extend_from_slice(&max_timestamp.0.to_be_bytes());
        CONTAINER.seal(&payload, crc)
    }

    /// Reads a file's bytes, which belong to the segment with this base offset.
    ///
    /// Errors: whatever is wrong with it; both indexes then have to be rebuilt.
    pub fn decode(base_offset: Offset, file: &[u8], crc: Crc32c) -> Result<Self, FileError> {
        let (version, payload) = CONTAINER.open(file, crc)?;
        let short = FileError::Length { have: file.len() };
        let mut reader = Reader::new(payload);
        let found = reader.i64().map(Offset).ok_or(short)?;
        let (offsets, times) = reader.u32().zip(reader.u32()).ok_or(short)?;
        let max_timestamp = match version {
            1 => None,
            _ => Some(reader.i64().map(Timestamp).ok_or(short)?),
        };
        if !reader.rest().is_empty() {
            return Err(short);
        }
        if found != base_offset {
            return Err(FileError::Entry { entry: 0 });
        }
        Ok(Self { offsets, times, max_timestamp })
    }
}

/// An error unless `file`, of the index with this name, hashes to `stored`.
pub(super) fn check(
    domain: &[u8],
    base_offset: Offset,
    file: &[u8],
    stored: u32,
    crc: Crc32c,
) -> Result<(), FileError> {
    let computed = checksum(domain, base_offset, file, crc);
    if stored == computed { Ok(()) } else { Err(FileError::Checksum { stored, computed }) }
}

pub(super) fn checksum(domain: &[u8], base_offset: Offset, file: &[u8], crc: Crc32c) -> u32 {
    crc(crc(crc(0, domain), &base_offset.0.to_be_bytes()), file)
}
