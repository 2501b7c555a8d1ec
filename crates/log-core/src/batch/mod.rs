//! Record batches of magic 2: read, check, validate, build, patch.
//!
//! Bytes from a client go through [`validate`] once; bytes that a leader has accepted before through
//! [`check_stored`]. Both give a [`BatchHeader`], with which [`Records`] reads an uncompressed batch.

mod attributes;
mod build;
mod check;
mod control;
mod decompress;
mod header;
mod inside;
mod layout;
pub mod patch;
mod records;
#[cfg(test)]
mod tests;
mod validate;
mod varint;

pub use attributes::Attributes;
pub use build::{BatchBuilder, BatchSpec, Measured, NewRecord, ProducerStamp};
pub use check::{Batches, check_stored, records_of};
pub use control::{ControlRecord, EndMarker, TransactionEnd};
pub use decompress::decompress;
pub use header::{BatchHeader, claimed_bytes, crc_of};
pub(crate) use header::{CRC_COVERS_FROM, stored_crc};
pub use layout::{HEADER_BYTES, HeaderBytes, LOG_OVERHEAD_BYTES, MAGIC};
pub use records::{Headers, Record, RecordHeader, Records, max_timestamp_of, walk_lengths};
pub use validate::{ProduceRules, Produced, Stamp, TimestampType, validate};
