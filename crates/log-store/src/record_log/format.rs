//! The bytes of a record log.
//!
//! ```text
//! file name: first index, 20 digits, ".records"
//! record:    length u32 | index u64 | durable end u64 | CRC-32C of the payload u32 | CRC-32C of these 24 bytes u32 | payload
//! ```
//! All numbers are big-endian. The header has a checksum of its own, so that a damaged length is not taken for a record that
//! was cut off. The durable end is the log's when the record was written: a record below one that any header names was on the
//! medium, so that it cannot have been lost by a stop.

use log_core::Crc32c;

/// The longest record in bytes; a metadata record is far shorter, a snapshot is not a record.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// What stands before the bytes of each record.
pub(super) const HEADER_BYTES: usize = 28;

const SUFFIX: &str = ".records";
const DIGITS: usize = 20;

pub(super) fn file_name(first: u64) -> String {
    format!("{first:0DIGITS$}{SUFFIX}")
}

/// The first index that a file name tells; none for another name.
pub(super) fn parse_file_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

pub(super) fn header(index: u64, durable_end: u64, payload: &[u8], crc: Crc32c) -> [u8; HEADER_BYTES] {
    let length = u32::try_from(payload.len()).expect("the caller has checked it against RECORD_BYTES_MAX");
    let mut front = Vec::with_capacity(HEADER_BYTES);
    front.extend_from_slice(&length.to_be_bytes());
    front.extend_from_slice(&index.to_be_bytes());
    front.extend_from_slice(&durable_end.to_be_bytes());
    front.extend_from_slice(&crc(0, payload).to_be_bytes());
    front.extend_from_slice(&crc(0, &front).to_be_bytes());
    front.try_into().expect("the fields above make a header")
}

/// What a header says, if it checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) len: usize,
    pub(super) index: u64,
    pub(super) durable_end: u64,
    pub(super) payload_crc: u32,
}

pub(super) fn parse_header(bytes: &[u8], crc: Crc32c) -> Option<Header> {
    let (front, rest) = bytes.split_at_checked(HEADER_BYTES - 4)?;
    let check = u32::from_be_bytes(*rest.first_chunk()?);
    let (length, rest) = front.split_first_chunk()?;
    let (index, rest) = rest.split_first_chunk()?;
    let (durable_end, rest) = rest.split_first_chunk()?;
    let header = Header {
        len: usize::try_from(u32::from_be_bytes(*length)).ok()?,
        index: u64::from_be_bytes(*index),
        durable_end: u64::from_be_bytes(*durable_end),
        payload_crc: u32::from_be_bytes(*rest.first_chunk()?),
    };
    (check == crc(0, front) && header.len <= RECORD_BYTES_MAX).then_some(header)
}
