//! The header of a record batch, read from its first 61 bytes. Whether the rest is there and whole is asked of
//! [`check_stored`](super::check_stored) and [`validate`](super::validate).

use super::attributes::Attributes;
use super::layout::{self, HEADER_BYTES, HeaderBytes, LOG_OVERHEAD_BYTES, MAGIC};
use crate::codec::{Compression, Crc32c};
use crate::error::BatchError;
use crate::ids::{LeaderEpoch, ProducerEpoch, ProducerId, Sequence};
use crate::limits::BATCH_BYTES_HARD_MAX;
use crate::offset::Offset;
use crate::time::Timestamp;

/// Where the bytes begin that the checksum covers.
pub(crate) const CRC_COVERS_FROM: usize = layout::ATTRIBUTES;

/// A header of magic 2 whose numbers agree with each other: the length holds at least the header and at most
/// [`BATCH_BYTES_HARD_MAX`], the codec is known, `0 <= record_count <= last_offset_delta + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record; given by the leader at append, not trustworthy before.
    pub base_offset: Offset,
    /// Length of the whole batch in bytes, header included.
    pub batch_bytes: usize,
    /// Epoch of the leader that appended the batch; given at append, not trustworthy before.
    pub leader_epoch: LeaderEpoch,
    /// CRC-32C of everything from the attributes on, as stored.
    pub crc: u32,
    /// Codec, timestamp type, transactional and control bits.
    pub attributes: Attributes,
    /// Offset of the last record (also of one that compaction removed) minus the base offset.
    pub last_offset_delta: i32,
    /// Timestamp that the records' deltas are relative to.
    pub base_timestamp: Timestamp,
    /// Greatest timestamp of the records, if the producer was honest.
    pub max_timestamp: Timestamp,
    /// The idempotent producer, or [`ProducerId::NONE`].
    pub producer_id: ProducerId,
    /// Epoch of the producer; −1 without one.
    pub producer_epoch: ProducerEpoch,
    /// Number of the first record in the producer's count; −1 without a producer.
    pub base_sequence: Sequence,
    /// Records in the batch; less than the offsets it takes only after compaction.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`, which may hold more or less than the batch.
    ///
    /// Errors: [`BatchError::Incomplete`] below 61 bytes; the other variants name the field that is impossible.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let incomplete = BatchError::Incomplete { need: HEADER_BYTES, have: bytes.len() };
        let header = bytes.first_chunk::<HEADER_BYTES>().ok_or(incomplete)?;
        let magic = i8::from_be_bytes(layout::take(header, layout::MAGIC_AT));
        if magic != MAGIC {
            return Err(BatchError::Magic { found: magic });
        }
        Self {
            base_offset: Offset(i64::from_be_bytes(layout::take(header, layout::BASE_OFFSET))),
            batch_bytes: batch_bytes(header)?,
            leader_epoch: LeaderEpoch(i32::from_be_bytes(layout::take(header, layout::LEADER_EPOCH))),
            crc: u32::from_be_bytes(layout::take(header, layout::CRC)),
            attributes: Attributes::from_bits(i16::from_be_bytes(layout::take(header, layout::ATTRIBUTES)))?,
            last_offset_delta: i32::from_be_bytes(layout::take(header, layout::LAST_OFFSET_DELTA)),
            base_timestamp: Timestamp(i64::from_be_bytes(layout::take(header, layout::BASE_TIMESTAMP))),
            max_timestamp: Timestamp(i64::from_be_bytes(layout::take(header, layout::MAX_TIMESTAMP))),
            producer_id: ProducerId(i64::from_be_bytes(layout::take(header, layout::PRODUCER_ID))),
            producer_epoch: ProducerEpoch(i16::from_be_bytes(layout::take(header, layout::PRODUCER_EPOCH))),
            base_sequence: Sequence(i32::from_be_bytes(layout::take(header, layout::BASE_SEQUENCE))),
            record_count: i32::from_be_bytes(layout::take(header, layout::RECORD_COUNT)),
        }
        .with_count_proven()
    }

    /// Offset of the last record.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.base_offset.plus(i64::from(self.last_offset_delta))
    }

    /// The offset after the batch.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        self.base_offset.plus(i64::from(self.last_offset_delta) + 1)
    }

    /// How the records are compressed.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        self.attributes.compression()
    }

    /// Whether the producer is idempotent.
    #[must_use]
    pub const fn has_producer(&self) -> bool {
        self.producer_id.0 >= 0
    }

    /// The sequence of the last record; sequences wrap from `i32::MAX` to 0.
    #[must_use]
    pub const fn last_sequence(&self) -> Sequence {
        self.base_sequence.plus(self.last_offset_delta)
    }

    fn with_count_proven(self) -> Result<Self, BatchError> {
        let offsets = i64::from(self.last_offset_delta) + 1;
        let count = i64::from(self.record_count);
        if offsets < 1 || count < 0 || count > offsets {
            let (count, last_offset_delta) = (self.record_count, self.last_offset_delta);
            return Err(BatchError::RecordCount { count, last_offset_delta });
        }
        Ok(self)
    }
}

/// The length in bytes that the header at the start of `bytes` claims for its whole batch, if that is possible at
/// all. For scans that must know how far a batch reaches although its header is refused.
#[must_use]
pub fn claimed_bytes(bytes: &[u8]) -> Option<usize> {
    batch_bytes_of(crate::bytes::array_at(bytes, layout::LENGTH)?).ok()
}

/// The checksum that the header at the start of `bytes` stores, whatever else is wrong with it.
pub(crate) fn stored_crc(bytes: &[u8]) -> Option<u32> {
    let magic = crate::bytes::array_at(bytes, layout::MAGIC_AT).map(i8::from_be_bytes);
    let stored = crate::bytes::array_at(bytes, layout::CRC).map(u32::from_be_bytes);
    stored.filter(|_| magic == Some(MAGIC))
}

/// CRC-32C of the batch made of `header` and `records`, as it should stand in the header.
#[must_use]
pub fn crc_of(header: &HeaderBytes, records: &[u8], crc: Crc32c) -> u32 {
    let covered = header.get(CRC_COVERS_FROM..).expect("the attributes lie inside the header");
    crc(crc(0, covered), records)
}

fn batch_bytes(header: &HeaderBytes) -> Result<usize, BatchError> {
    batch_bytes_of(layout::take(header, layout::LENGTH))
}

fn batch_bytes_of(field: [u8; 4]) -> Result<usize, BatchError> {
    let length = i32::from_be_bytes(field);
    let bytes = usize::try_from(length).ok().and_then(|length| length.checked_add(LOG_OVERHEAD_BYTES));
    bytes
        .filter(|bytes| (HEADER_BYTES..=BATCH_BYTES_HARD_MAX).contains(bytes))
        .ok_or(BatchError::Length { found: length })
}
