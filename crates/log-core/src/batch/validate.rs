//! Every check of a batch that a client wants appended: one pass over its bytes (CRC), one over its record
//! lengths, no allocation. Sequences are checked by the producer state.
//!
//! The leader epoch and base offset that the client sent are never looked at: clients send −1, 0 or anything.

use super::check::{check_crc, records_of};
use super::header::BatchHeader;
use super::records::{max_timestamp_of, walk_lengths};
use crate::codec::{Compression, Crc32c};
use crate::error::BatchError;
use crate::ids::{ProducerEpoch, Sequence};
use crate::limits::{
    BATCH_BYTES_MAX_DEFAULT, TIMESTAMP_AFTER_MS_MAX_DEFAULT, TIMESTAMP_BEFORE_MS_MAX_DEFAULT,
};
use crate::time::Timestamp;

/// What a topic and a request version allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProduceRules {
    /// Longest batch in bytes (`max.message.bytes`).
    pub batch_bytes_max: usize,
    /// Whether zstd is allowed: from Produce version 7 on.
    pub zstd_allowed: bool,
    /// Whose time the records carry (`message.timestamp.type`).
    pub timestamp_type: TimestampType,
    /// The broker's clock.
    pub now: Timestamp,
    /// How far before `now` a record may lie, in milliseconds.
    pub timestamp_before_ms_max: i64,
    /// How far after `now` a record may lie, in milliseconds.
    pub timestamp_after_ms_max: i64,
}

/// Whose time the records of a topic carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    #[default]
    CreateTime,
    /// The broker's, at append.
    LogAppendTime,
}

/// A batch that may be appended once its sequence is found in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Produced {
    /// Its header, as sent.
    pub header: BatchHeader,
    /// What has to happen to its timestamps before it is appended.
    pub stamp: Stamp,
}

/// What has to happen to the timestamps of a batch before it is appended: see [`patch::stamp`](super::patch::stamp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Nothing.
    AsSent,
    /// The max timestamp was missing or wrong, or the type bit was: set this one and clear the bit.
    CreateTime {
        /// The greatest timestamp of the records.
        max_timestamp: Timestamp,
    },
    /// Set the broker's time and the type bit.
    LogAppendTime {
        /// The broker's time.
        now: Timestamp,
    },
    /// The max timestamp cannot be believed and the records are compressed: [`Produced::look_inside`] finds it.
    Walk,
}

impl ProduceRules {
    /// Kafka's default topic configuration at the time `now`, for a Produce request of version 7 or later.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        Self {
            batch_bytes_max: BATCH_BYTES_MAX_DEFAULT,
            zstd_allowed: true,
            timestamp_type: TimestampType::CreateTime,
            now,
            timestamp_before_ms_max: TIMESTAMP_BEFORE_MS_MAX_DEFAULT,
            timestamp_after_ms_max: TIMESTAMP_AFTER_MS_MAX_DEFAULT,
        }
    }

    /// Whether a record may carry this timestamp; [`BatchError::Timestamp`] if it is negative or too far from now.
    pub fn check_timestamp(&self, timestamp: Timestamp) -> Result<(), BatchError> {
        let earliest = self.now.0.saturating_sub(self.timestamp_before_ms_max).max(0);
        let latest = self.now.0.saturating_add(self.timestamp_after_ms_max);
        if (earliest..=latest).contains(&timestamp.0) {
            Ok(())
        } else {
            Err(BatchError::Timestamp { found: timestamp, now: self.now })
        }
    }
}

/// Checks the records field of one partition in a Produce request: exactly one batch that keeps every rule.
///
/// Errors: the first rule broken, header before CRC before records; [`BatchError::refusal`] gives its wire code.
pub fn validate(bytes: &[u8], rules: &ProduceRules, crc: Crc32c) -> Result<Produced, BatchError> {
    let header = BatchHeader::parse(bytes)?;
    check_size(&header, bytes, rules)?;
    check_client_rules(&header, rules)?;
    check_crc(&header, bytes, crc)?;
    let records = records_of(&header, bytes)?;
    if header.compression() == Compression::None {
        walk_lengths(records, header.record_count)?;
    }
    let stamp = stamp_for(&header, records, rules)?;
    Ok(Produced { header, stamp })
}

fn check_size(header: &BatchHeader, bytes: &[u8], rules: &ProduceRules) -> Result<(), BatchError> {
    if header.batch_bytes > rules.batch_bytes_max {
        return Err(BatchError::TooLarge { bytes: header.batch_bytes, max: rules.batch_bytes_max });
    }
    if bytes.len() < header.batch_bytes {
        return Err(BatchError::Incomplete { need: header.batch_bytes, have: bytes.len() });
    }
    if bytes.len() > header.batch_bytes {
        return Err(BatchError::NotOneBatch { batch_bytes: header.batch_bytes, have: bytes.len() });
    }
    Ok(())
}

fn check_client_rules(header: &BatchHeader, rules: &ProduceRules) -> Result<(), BatchError> {
    if i64::from(header.record_count) != i64::from(header.last_offset_delta) + 1 {
        let (count, last_offset_delta) = (header.record_count, header.last_offset_delta);
        return Err(BatchError::RecordCount { count, last_offset_delta });
    }
    if header.attributes.is_control() {
        return Err(BatchError::ControlFromClient);
    }
    let numbered = header.base_sequence >= Sequence(0) && header.producer_epoch >= ProducerEpoch(0);
    if header.has_producer() && !numbered {
        let (epoch, sequence) = (header.producer_epoch, header.base_sequence);
        return Err(BatchError::ProducerFields { epoch, sequence });
    }
    if header.attributes.is_transactional() && !header.has_producer() {
        return Err(BatchError::TransactionWithoutProducer);
    }
    if header.compression() == Compression::Zstd && !rules.zstd_allowed {
        return Err(BatchError::ZstdBeforeV7);
    }
    Ok(())
}

/// The cheap middle between believing a producer's max timestamp and walking every record: believed when it is not
/// below the base timestamp and inside the window, else found by a walk.
fn stamp_for(header: &BatchHeader, records: &[u8], rules: &ProduceRules) -> Result<Stamp, BatchError> {
    let marked = header.attributes.is_log_append_time();
    if rules.timestamp_type == TimestampType::LogAppendTime {
        return if marked {
            Err(BatchError::TimestampType)
        } else {
            Ok(Stamp::LogAppendTime { now: rules.now })
        };
    }
    rules.check_timestamp(header.base_timestamp)?;
    let believable = header.max_timestamp >= header.base_timestamp;
    if !believable && header.compression() != Compression::None {
        return Ok(Stamp::Walk);
    }
    let max_timestamp = if believable { header.max_timestamp } else { max_timestamp_of(header, records)? };
    rules.check_timestamp(max_timestamp)?;
    Ok(if believable && !marked { Stamp::AsSent } else { Stamp::CreateTime { max_timestamp } })
}
