//! What both index files of a segment must hash to. The checksums stand in a file of their own, `.checksums`, because
//! every byte of an index file is an entry to Kafka's tools.
//!
//! ```text
//! Container HWIX, payload: base offset i64 | CRC-32C of .index u32 | CRC-32C of .timeindex u32
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

const CONTAINER: Container = Container { magic: *b"HWIX", version: 1 };

/// The checksums of the index files of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexChecksums {
    /// Of the file of the offset index.
    pub offsets: u32,
    /// Of the file of the time index.
    pub times: u32,
}

impl IndexChecksums {
    /// Those of the files that these indexes encode to.
    #[must_use]
    pub fn of(offsets: &OffsetIndex, times: &TimeIndex, crc: Crc32c) -> Self {
        Self { offsets: offsets.checksum(crc), times: times.checksum(crc) }
    }

    /// The file's bytes, for the segment with this base offset.
    #[must_use]
    pub fn encode(self, base_offset: Offset, crc: Crc32c) -> Vec<u8> {
        let mut payload = Vec::from(base_offset.0.to_be_bytes());
        payload.extend_from_slice(&self.offsets.to_be_bytes());
        payload.extend_from_slice(&self.times.to_be_bytes());
        CONTAINER.seal(&payload, crc)
    }

    /// Reads a file's bytes, which belong to the segment with this base offset.
    ///
    /// Errors: whatever is wrong with it; both indexes then have to be rebuilt.
    pub fn decode(base_offset: Offset, file: &[u8], crc: Crc32c) -> Result<Self, FileError> {
        let (_, payload) = CONTAINER.open(file, crc)?;
        let short = FileError::Length { have: file.len() };
        let mut reader = Reader::new(payload);
        let found = reader.i64().map(Offset).ok_or(short)?;
        let (offsets, times) = reader.u32().zip(reader.u32()).ok_or(short)?;
        if !reader.rest().is_empty() {
            return Err(short);
        }
        if found != base_offset {
            return Err(FileError::Entry { entry: 0 });
        }
        Ok(Self { offsets, times })
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
