//! Where each field of a record batch of magic 2 stands, in bytes from the batch's first (`docs/format/record-batch.md`).
//!
//! ```text
//!  0 base offset i64     | 8 length i32 (of what follows it) | 12 partition leader epoch i32 | 16 magic i8
//! 17 CRC-32C u32 (of 21..end)        | 21 attributes i16     | 23 last offset delta i32
//! 27 base timestamp i64  | 35 max timestamp i64  | 43 producer id i64  | 51 producer epoch i16
//! 53 base sequence i32   | 57 record count i32   | 61 records, compressed as a whole or not
//! ```

/// Length of the header: everything before the records.
pub const HEADER_BYTES: usize = 61;

/// The header of a batch, as bytes.
pub type HeaderBytes = [u8; HEADER_BYTES];

/// Bytes of a batch that its length field does not count: base offset and the length itself.
pub const LOG_OVERHEAD_BYTES: usize = 12;

/// The only version of the batch format that is served.
pub const MAGIC: i8 = 2;

pub(super) const BASE_OFFSET: usize = 0;
pub(super) const LENGTH: usize = 8;
pub(super) const LEADER_EPOCH: usize = 12;
pub(super) const MAGIC_AT: usize = 16;
pub(super) const CRC: usize = 17;
pub(super) const ATTRIBUTES: usize = 21;
pub(super) const LAST_OFFSET_DELTA: usize = 23;
pub(super) const BASE_TIMESTAMP: usize = 27;
pub(super) const MAX_TIMESTAMP: usize = 35;
pub(super) const PRODUCER_ID: usize = 43;
pub(super) const PRODUCER_EPOCH: usize = 51;
pub(super) const BASE_SEQUENCE: usize = 53;
pub(super) const RECORD_COUNT: usize = 57;

/// Puts `field` into `header` at `at`, one of the positions above.
pub(super) fn put<const N: usize>(header: &mut HeaderBytes, at: usize, field: [u8; N]) {
    let place = header.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<N>);
    *place.expect("every field lies inside the header") = field;
}

/// The field at `at`, one of the positions above.
pub(super) fn take<const N: usize>(header: &HeaderBytes, at: usize) -> [u8; N] {
    crate::bytes::array_at(header, at).expect("every field lies inside the header")
}
