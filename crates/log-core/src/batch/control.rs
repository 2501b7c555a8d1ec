//! Control batches: markers that a broker writes into the log, one record each, counted as an offset.
//!
//! ```text
//! key:   version i16 = 0 | type i16 (0 abort, 1 commit)
//! value: version i16 = 0 | coordinator epoch i32
//! ```

use alloc::vec::Vec;

use super::attributes::Attributes;
use super::build::{BatchBuilder, BatchSpec, NewRecord, ProducerStamp};
use super::records::Record;
use crate::bytes::Reader;
use crate::codec::{Compression, Crc32c};
use crate::ids::{ProducerEpoch, ProducerId, Sequence};
use crate::time::Timestamp;

const VERSION: i16 = 0;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Its records are to be skipped.
    Abort,
    /// Its records count.
    Commit,
}

/// The end of one producer's transaction in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndMarker {
    /// How it ended.
    pub end: TransactionEnd,
    /// Whose it was.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// Epoch of the coordinator that decided.
    pub coordinator_epoch: i32,
    /// When.
    pub timestamp: Timestamp,
}

/// What the key of a control record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRecord {
    /// The end of a transaction, and the epoch of the coordinator that decided.
    TransactionEnd(TransactionEnd, i32),
    /// A type that this build does not know; to be skipped.
    Other(i16),
}

impl EndMarker {
    /// The batch, as a client's would look before append: base offset 0 and no leader epoch.
    #[must_use]
    pub fn batch(&self, crc: Crc32c) -> Vec<u8> {
        let kind = match self.end {
            TransactionEnd::Abort => 0_i16,
            TransactionEnd::Commit => 1_i16,
        };
        let key = [VERSION.to_be_bytes(), kind.to_be_bytes()];
        let mut value = Vec::from(VERSION.to_be_bytes());
        value.extend_from_slice(&self.coordinator_epoch.to_be_bytes());
        let mut builder = BatchBuilder::with_capacity(32);
        let record = NewRecord {
            timestamp: self.timestamp,
            key: Some(key.as_flattened()),
            value: Some(&value),
            headers: &[],
        };
        builder.push(&record).expect("one short record fits a batch");
        let producer =
            ProducerStamp { id: self.producer_id, epoch: self.producer_epoch, base_sequence: Sequence::NONE };
        let spec = BatchSpec { producer: Some(producer), ..BatchSpec::default() };
        let attributes = Attributes::of(Compression::None).with_transactional(true).with_control(true);
        builder.finish(&spec, attributes, crc).expect("one short uncompressed record fits a batch")
    }
}

impl ControlRecord {
    /// Reads a record of a control batch; `None` if its key or value is too short.
    #[must_use]
    pub fn parse(record: &Record<'_>) -> Option<Self> {
        let mut key = Reader::new(record.key?);
        let (_version, kind) = (key.i16()?, key.i16()?);
        let end = match kind {
            0 => TransactionEnd::Abort,
            1 => TransactionEnd::Commit,
            other => return Some(Self::Other(other)),
        };
        let mut value = Reader::new(record.value?);
        let (_version, coordinator_epoch) = (value.i16()?, value.i32()?);
        Some(Self::TransactionEnd(end, coordinator_epoch))
    }
}
