//! What can be wrong with bytes and callers, split by what failed.

use crate::codec::CodecError;
use crate::ids::{LeaderEpoch, ProducerEpoch, Sequence};
use crate::offset::Offset;
use crate::time::Timestamp;

/// Why a record batch is not acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The bytes end before the header or the batch does.
    #[error("batch takes {need} bytes, {have} are there")]
    Incomplete {
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        have: usize,
    },
    /// An older or an unknown format.
    #[error("batch has magic {found}, only 2 is served")]
    Magic {
        /// The magic found.
        found: i8,
    },
    /// A length that no batch can have.
    #[error("batch length {found} is impossible")]
    Length {
        /// The length field.
        found: i32,
    },
    /// Longer than the topic allows.
    #[error("batch takes {bytes} bytes, at most {max} are allowed")]
    TooLarge {
        /// Length of the batch in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// Bytes follow the batch in a Produce request.
    #[error("{have} bytes hold more than one batch of {batch_bytes} bytes")]
    NotOneBatch {
        /// Length of the first batch.
        batch_bytes: usize,
        /// Bytes there.
        have: usize,
    },
    /// The count of records does not fit the offsets taken, or is zero in a Produce request.
    #[error("batch counts {count} records with last offset delta {last_offset_delta}")]
    RecordCount {
        /// The record count.
        count: i32,
        /// The last offset delta.
        last_offset_delta: i32,
    },
    /// An offset outside the log's range in a stored batch.
    #[error("batch has impossible base offset {found}")]
    BaseOffset {
        /// The base offset.
        found: Offset,
    },
    /// The bytes are not those that the checksum was made of.
    #[error("batch has crc {computed:#010x}, its header says {stored:#010x}")]
    Crc {
        /// What the header says.
        stored: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// A codec number without a codec.
    #[error("codec {codec} is unknown")]
    UnknownCodec {
        /// The codec bits.
        codec: i16,
    },
    /// zstd in a Produce request before version 7.
    #[error("zstd is allowed from produce version 7 on")]
    ZstdBeforeV7,
    /// A client sent a marker.
    #[error("control batches are written by brokers only")]
    ControlFromClient,
    /// An idempotent producer without epoch or sequence.
    #[error("idempotent batch has producer epoch {epoch} and base sequence {sequence}")]
    ProducerFields {
        /// The producer epoch.
        epoch: ProducerEpoch,
        /// The base sequence.
        sequence: Sequence,
    },
    /// The transactional bit without a producer id.
    #[error("transactional batch has no producer id")]
    TransactionWithoutProducer,
    /// A timestamp that is missing or too far from the broker's clock.
    #[error("timestamp {found} is missing or too far from the broker's time {now}")]
    Timestamp {
        /// The timestamp.
        found: Timestamp,
        /// The broker's clock.
        now: Timestamp,
    },
    /// A client marked its times as the broker's on a topic with the broker's time.
    #[error("only a broker may mark a batch as carrying log append time")]
    TimestampType,
    /// The chain of records is broken.
    #[error("batch holds a bad record: {0}")]
    Record(#[from] RecordError),
    /// The records do not decompress.
    #[error("batch cannot be decompressed: {0}")]
    Codec(#[from] CodecError),
}

/// The protocol's word for why a produced batch was refused. Numbers: Kafka's error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `CORRUPT_MESSAGE`
    CorruptMessage,
    /// `MESSAGE_TOO_LARGE`
    MessageTooLarge,
    /// `INVALID_TIMESTAMP`
    InvalidTimestamp,
    /// `UNSUPPORTED_COMPRESSION_TYPE`
    UnsupportedCompressionType,
    /// `INVALID_RECORD`
    InvalidRecord,
}

impl Refusal {
    /// Kafka's error code.
    #[must_use]
    pub const fn code(self) -> i16 {
        match self {
            Self::CorruptMessage => 2,
            Self::MessageTooLarge => 10,
            Self::InvalidTimestamp => 32,
            Self::UnsupportedCompressionType => 76,
            Self::InvalidRecord => 87,
        }
    }
}

impl BatchError {
    /// How a Produce request that holds such a batch is refused.
    #[must_use]
    pub const fn refusal(self) -> Refusal {
        match self {
            Self::Length { .. } | Self::Crc { .. } => Refusal::CorruptMessage,
            Self::TooLarge { .. } | Self::Codec(CodecError::TooLarge { .. }) => Refusal::MessageTooLarge,
            Self::Timestamp { .. } | Self::TimestampType => Refusal::InvalidTimestamp,
            Self::UnknownCodec { .. } | Self::ZstdBeforeV7 | Self::Codec(CodecError::Unavailable(_)) => {
                Refusal::UnsupportedCompressionType
            }
            Self::Incomplete { .. }
            | Self::Magic { .. }
            | Self::NotOneBatch { .. }
            | Self::RecordCount { .. }
            | Self::BaseOffset { .. }
            | Self::ControlFromClient
            | Self::ProducerFields { .. }
            | Self::TransactionWithoutProducer
            | Self::Codec(CodecError::Malformed(_))
            | Self::Record(_) => Refusal::InvalidRecord,
        }
    }
}

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes end inside it.
    #[error("record ends too early")]
    Truncated,
    /// A number with more bits than its type.
    #[error("number in record is too long")]
    Varint,
    /// A length that is impossible.
    #[error("length {found} in record is impossible")]
    Length {
        /// The length.
        found: i32,
    },
    /// Bytes are left over.
    #[error("{bytes} bytes are left over after the records or headers counted")]
    Trailing {
        /// How many.
        bytes: usize,
    },
}

/// Why a batch cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// It has no records.
    #[error("a batch needs at least one record")]
    Empty,
    /// It would be longer than any broker takes.
    #[error("batch would take {bytes} bytes, at most {max} are possible")]
    TooLarge {
        /// Bytes it would take.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The codec failed.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// Why a scan accepts no further batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The batch itself is bad, or does not end inside the file ([`BatchError::Incomplete`]).
    #[error("{0}")]
    Batch(#[from] BatchError),
    /// Not the offset that follows the last batch.
    #[error("batch has base offset {found}, expected {expected}")]
    BaseOffset {
        /// The offset after the batch before.
        expected: Offset,
        /// The one found.
        found: Offset,
    },
    /// An epoch older than that of the batch before.
    #[error("batch has leader epoch {found} after one of {previous}")]
    EpochBackwards {
        /// Epoch of the batch before.
        previous: LeaderEpoch,
        /// The one found.
        found: LeaderEpoch,
    },
    /// An epoch newer than any that the metadata knows.
    #[error("batch has leader epoch {found}, the newest known is {newest}")]
    EpochAhead {
        /// Newest epoch known.
        newest: LeaderEpoch,
        /// The one found.
        found: LeaderEpoch,
    },
}

/// Why a batch of an idempotent producer may not be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SequenceError {
    /// Not the sequence that follows the last one.
    #[error("batch has sequence {found}, expected {expected}")]
    OutOfOrder {
        /// The base sequence.
        found: Sequence,
        /// The one expected.
        expected: Sequence,
    },
    /// A newer incarnation of the producer has written here.
    #[error("batch has producer epoch {found}, the producer is at {current}")]
    Epoch {
        /// The batch's epoch.
        found: ProducerEpoch,
        /// The newest epoch known.
        current: ProducerEpoch,
    },
}

impl SequenceError {
    /// Kafka's error code: `OUT_OF_ORDER_SEQUENCE_NUMBER` or `INVALID_PRODUCER_EPOCH`.
    #[must_use]
    pub const fn code(self) -> i16 {
        match self {
            Self::OutOfOrder { .. } => 45,
            Self::Epoch { .. } => 47,
        }
    }
}

/// Why a small file (index, checkpoint, snapshot, chain) cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It ends too early, or its length is impossible.
    #[error("file of {have} bytes cannot be of this kind")]
    Length {
        /// Bytes there.
        have: usize,
    },
    /// It begins with other bytes.
    #[error("file is of another kind")]
    Magic,
    /// A version that this build does not know.
    #[error("file has version {found}, at most {newest} is known")]
    Version {
        /// The version found.
        found: u16,
        /// The newest known.
        newest: u16,
    },
    /// Its checksum does not hold.
    #[error("file has checksum {computed:#010x}, it says {stored:#010x}")]
    Checksum {
        /// What the file says.
        stored: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// Its checksum holds, but its entries break their order or range: a bug of the writer.
    #[error("entry {entry} of the file is out of order or range")]
    Entry {
        /// Index of the entry, from 0.
        entry: usize,
    },
}
