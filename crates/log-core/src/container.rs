//! The envelope of small files: what it is, which version, how long, and a checksum over all of it.
//!
//! ```text
//! magic 4 bytes | version u16 | reserved u16 = 0 | payload length u32 | CRC-32C u32 | payload
//! ```
//! The CRC covers the twelve bytes before it and the payload.

use alloc::vec::Vec;

use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::error::FileError;

/// Bytes before the payload.
pub const CONTAINER_HEADER_BYTES: usize = 16;

const CRC_AT: usize = 12;

/// What a file is, and the newest version of it that this build writes and reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// The first four bytes of the file.
    pub magic: [u8; 4],
    /// The version written; all versions from 1 to it are read.
    pub version: u16,
}

impl Container {
    /// Wraps `payload`.
    ///
    /// # Panics
    /// If the payload takes 4 GiB or more: these files are small.
    #[must_use]
    pub fn seal(self, payload: &[u8], crc: Crc32c) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("a small file is shorter than 4 GiB");
        let mut file = Vec::with_capacity(CONTAINER_HEADER_BYTES + payload.len());
        file.extend_from_slice(&self.magic);
        file.extend_from_slice(&self.version.to_be_bytes());
        file.extend_from_slice(&[0; 2]);
        file.extend_from_slice(&length.to_be_bytes());
        let checksum = crc(crc(0, &file), payload);
        file.extend_from_slice(&checksum.to_be_bytes());
        file.extend_from_slice(payload);
        file
    }

    /// Unwraps a file that holds exactly one container: its version and payload.
    ///
    /// Errors: [`FileError`] for another kind, a newer version, a wrong length or checksum.
    pub fn open(self, file: &[u8], crc: Crc32c) -> Result<(u16, &[u8]), FileError> {
        let (version, payload, rest) = self.open_prefix(file, crc)?;
        if rest.is_empty() { Ok((version, payload)) } else { Err(FileError::Length { have: file.len() }) }
    }

    /// Unwraps the container at the start of a file: its version, its payload and what follows it.
    ///
    /// Errors: as [`Container::open`].
    pub fn open_prefix(self, file: &[u8], crc: Crc32c) -> Result<(u16, &[u8], &[u8]), FileError> {
        let short = FileError::Length { have: file.len() };
        let mut reader = Reader::new(file);
        if reader.array::<4>().ok_or(short)? != self.magic {
            return Err(FileError::Magic);
        }
        let version = reader.array().map(u16::from_be_bytes).ok_or(short)?;
        let reserved = reader.array().map(u16::from_be_bytes).ok_or(short)?;
        let length = reader.u32().ok_or(short)?;
        let stored = reader.u32().ok_or(short)?;
        let payload = usize::try_from(length).ok().and_then(|length| reader.take(length)).ok_or(short)?;
        let header = file.get(..CRC_AT).ok_or(short)?;
        let computed = crc(crc(0, header), payload);
        if stored != computed {
            return Err(FileError::Checksum { stored, computed });
        }
        if version == 0 || version > self.version || reserved != 0 {
            return Err(FileError::Version { found: version, newest: self.version });
        }
        Ok((version, payload, reader.rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CRC, every_cut_and_flip_is_refused};
    use proptest::prelude::*;

    const KIND: Container = Container { magic: *b"HWxx", version: 3 };

    #[test]
    fn every_cut_and_flip_of_a_container_is_refused() {
        every_cut_and_flip_is_refused(&KIND.seal(b"payload", CRC), |file| KIND.open(file, CRC).map(|_| ()));
    }

    #[test]
    fn another_kind_or_a_newer_version_is_said() {
        let other = Container { magic: *b"HWyy", ..KIND }.seal(b"", CRC);
        assert_eq!(KIND.open(&other, CRC), Err(FileError::Magic));
        let newer = Container { version: 4, ..KIND }.seal(b"", CRC);
        assert_eq!(KIND.open(&newer, CRC), Err(FileError::Version { found: 4, newest: 3 }));
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_opened(payload: Vec<u8>, rest: Vec<u8>) {
            let mut file = KIND.seal(&payload, CRC);
            prop_assert_eq!(KIND.open(&file, CRC), Ok((3, payload.as_slice())));
            file.extend_from_slice(&rest);
            prop_assert_eq!(KIND.open_prefix(&file, CRC), Ok((3, payload.as_slice(), rest.as_slice())));
        }

        #[test]
        fn arbitrary_bytes_are_refused(file: Vec<u8>) {
            prop_assert!(KIND.open(&file, CRC).is_err());
        }
    }
}
