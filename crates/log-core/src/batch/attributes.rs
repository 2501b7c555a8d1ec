//! The 16 attribute bits of a batch.

use crate::codec::Compression;
use crate::error::BatchError;

const COMPRESSION_MASK: i16 = 0b111;
const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;
const DELETE_HORIZON: i16 = 1 << 6;

/// Attribute bits whose codec is one of the known five. Bits without a meaning are kept as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    bits: i16,
    compression: Compression,
}

impl Attributes {
    /// The bits as they stand in a header; [`BatchError::UnknownCodec`] for codecs 5 to 7.
    pub const fn from_bits(bits: i16) -> Result<Self, BatchError> {
        let compression = match bits & COMPRESSION_MASK {
            0 => Compression::None,
            1 => Compression::Gzip,
            2 => Compression::Snappy,
            3 => Compression::Lz4,
            4 => Compression::Zstd,
            codec => return Err(BatchError::UnknownCodec { codec }),
        };
        Ok(Self { bits, compression })
    }

    /// No bits but those of the codec.
    #[must_use]
    pub const fn of(compression: Compression) -> Self {
        let bits = match compression {
            Compression::None => 0,
            Compression::Gzip => 1,
            Compression::Snappy => 2,
            Compression::Lz4 => 3,
            Compression::Zstd => 4,
        };
        Self { bits, compression }
    }

    /// The bits as they stand in a header.
    #[must_use]
    pub const fn bits(self) -> i16 {
        self.bits
    }

    /// How the records are compressed.
    #[must_use]
    pub const fn compression(self) -> Compression {
        self.compression
    }

    /// Bit 3: every record's timestamp is the batch's max timestamp, set by the broker.
    #[must_use]
    pub const fn is_log_append_time(self) -> bool {
        self.bits & LOG_APPEND_TIME != 0
    }

    /// Bit 4: part of a transaction.
    #[must_use]
    pub const fn is_transactional(self) -> bool {
        self.bits & TRANSACTIONAL != 0
    }

    /// Bit 5: holds a marker written by a broker, not records of a user.
    #[must_use]
    pub const fn is_control(self) -> bool {
        self.bits & CONTROL != 0
    }

    /// Bit 6: the base timestamp is the time at which tombstones in it may go.
    #[must_use]
    pub const fn has_delete_horizon(self) -> bool {
        self.bits & DELETE_HORIZON != 0
    }

    /// The same with bit 3 set or cleared.
    #[must_use]
    pub const fn with_log_append_time(self, set: bool) -> Self {
        self.with(LOG_APPEND_TIME, set)
    }

    /// The same with bit 4 set or cleared.
    #[must_use]
    pub const fn with_transactional(self, set: bool) -> Self {
        self.with(TRANSACTIONAL, set)
    }

    /// The same with bit 5 set or cleared.
    #[must_use]
    pub const fn with_control(self, set: bool) -> Self {
        self.with(CONTROL, set)
    }

    const fn with(self, bit: i16, set: bool) -> Self {
        let bits = if set { self.bits | bit } else { self.bits & !bit };
        Self { bits, compression: self.compression }
    }
}
