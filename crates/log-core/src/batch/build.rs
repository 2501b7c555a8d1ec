//! Records to a batch. The records are encoded behind room for the header, so that an uncompressed batch is
//! finished by filling in 61 bytes.

use alloc::vec::Vec;

use super::attributes::Attributes;
use super::header::crc_of;
use super::layout::{self, HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC};
use super::records::RecordHeader;
use super::varint;
use crate::codec::{Codecs, Compression, Crc32c};
use crate::error::BuildError;
use crate::ids::{LeaderEpoch, ProducerEpoch, ProducerId, Sequence};
use crate::limits::BATCH_BYTES_HARD_MAX;
use crate::offset::Offset;
use crate::time::Timestamp;

/// A record to be put into a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRecord<'a> {
    /// Its time.
    pub timestamp: Timestamp,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: Option<&'a [u8]>,
    /// Its headers, in this order.
    pub headers: &'a [RecordHeader<'a>],
}

/// What the header of a new batch says beside what its records decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSpec {
    /// Offset of the first record; 0 from a client.
    pub base_offset: Offset,
    /// [`LeaderEpoch::NONE`] from a client.
    pub leader_epoch: LeaderEpoch,
    /// The codec.
    pub compression: Compression,
    /// The idempotent producer, if there is one.
    pub producer: Option<ProducerStamp>,
    /// Part of a transaction.
    pub is_transactional: bool,
}

/// The fields of an idempotent producer in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStamp {
    /// Its id.
    pub id: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// The sequence of the first record.
    pub base_sequence: Sequence,
}

/// What a record takes as the next one of a batch; only for the builder that has measured it, until a record is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Of the record behind its length.
    body_bytes: usize,
    /// Of the batch with the record, uncompressed.
    pub batch_bytes: usize,
}

/// Gathers records and makes a batch of them.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    /// Room for the header, then the encoded records.
    bytes: Vec<u8>,
    record_count: i32,
    base_timestamp: Timestamp,
    max_timestamp: Timestamp,
}

impl Default for BatchSpec {
    /// An uncompressed batch of a client without a producer id.
    fn default() -> Self {
        Self {
            base_offset: Offset::ZERO,
            leader_epoch: LeaderEpoch::NONE,
            compression: Compression::None,
            producer: None,
            is_transactional: false,
        }
    }
}

impl Default for BatchBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchBuilder {
    /// A builder without records.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// A builder with room for `records_bytes` of encoded records.
    #[must_use]
    pub fn with_capacity(records_bytes: usize) -> Self {
        Self::in_buffer(Vec::with_capacity(HEADER_BYTES + records_bytes))
    }

    /// A builder in memory that an earlier batch has left; what is in it is thrown away.
    #[must_use]
    pub fn in_buffer(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        Self { bytes, record_count: 0, base_timestamp: Timestamp::NONE, max_timestamp: Timestamp::NONE }
    }

    /// Records so far.
    #[must_use]
    pub const fn record_count(&self) -> i32 {
        self.record_count
    }

    /// Length of the batch so far in bytes, uncompressed.
    #[must_use]
    pub const fn batch_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Length of the batch in bytes, uncompressed, if `record` were added.
    #[must_use]
    pub fn batch_bytes_with(&self, record: &NewRecord<'_>) -> usize {
        self.measure(record).batch_bytes
    }

    /// What `record` would take, for [`push_measured`](Self::push_measured): who looks before adding measures once.
    #[must_use]
    pub fn measure(&self, record: &NewRecord<'_>) -> Measured {
        let body_bytes = self.body_bytes(record);
        Measured { body_bytes, batch_bytes: self.batch_bytes_with_body(body_bytes) }
    }

    /// Adds a record.
    ///
    /// Errors: [`BuildError::TooLarge`] if the batch would exceed [`BATCH_BYTES_HARD_MAX`]; nothing is added then.
    pub fn push(&mut self, record: &NewRecord<'_>) -> Result<(), BuildError> {
        let measured = self.measure(record);
        self.push_measured(record, measured)
    }

    /// Adds a record that this builder has just measured.
    ///
    /// Errors: as [`push`](Self::push).
    pub fn push_measured(&mut self, record: &NewRecord<'_>, measured: Measured) -> Result<(), BuildError> {
        debug_assert_eq!(measured, self.measure(record), "measured for another batch");
        let Measured { body_bytes: body, batch_bytes: bytes } = measured;
        if bytes > BATCH_BYTES_HARD_MAX {
            return Err(BuildError::TooLarge { bytes, max: BATCH_BYTES_HARD_MAX });
        }
        if self.record_count == 0 {
            self.base_timestamp = record.timestamp;
        }
        let out = &mut self.bytes;
        out.reserve(bytes - out.len());
        varint::put_i64(out, body as i64);
        out.push(0);
        varint::put_i64(out, record.timestamp.0.wrapping_sub(self.base_timestamp.0));
        varint::put_i32(out, self.record_count);
        put_nullable(out, record.key);
        put_nullable(out, record.value);
        varint::put_i64(out, record.headers.len() as i64);
        for header in record.headers {
            put_nullable(out, Some(header.key));
            put_nullable(out, header.value);
        }
        self.record_count += 1;
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        Ok(())
    }

    /// Finishes the batch.
    ///
    /// Errors: [`BuildError::Empty`] without records, [`BuildError::Codec`] when compression fails,
    /// [`BuildError::TooLarge`] when it made the records too long.
    pub fn build(self, spec: &BatchSpec, codecs: Codecs, crc: Crc32c) -> Result<Vec<u8>, BuildError> {
        self.build_and_leave(spec, codecs, crc).map(|(batch, _)| batch)
    }

    /// Like [`build`](Self::build); gives the memory too that the records were gathered in, unless the batch lies in it. It serves
    /// [`in_buffer`](Self::in_buffer).
    ///
    /// Errors: as [`build`](Self::build).
    pub fn build_and_leave(
        mut self,
        spec: &BatchSpec,
        codecs: Codecs,
        crc: Crc32c,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>), BuildError> {
        if self.record_count == 0 {
            return Err(BuildError::Empty);
        }
        let attributes = Attributes::of(spec.compression).with_transactional(spec.is_transactional);
        let left = match spec.compression {
            Compression::None => None,
            codec => {
                let batch = compressed(&self.bytes, codec, codecs)?;
                Some(core::mem::replace(&mut self.bytes, batch))
            }
        };
        Ok((self.finish(spec, attributes, crc)?, left))
    }

    /// Like [`BatchBuilder::build`], with attributes of the caller's choice and records that are as they are to be stored; an empty
    /// batch keeps offset 0.
    pub(super) fn finish(
        self,
        spec: &BatchSpec,
        attributes: Attributes,
        crc: Crc32c,
    ) -> Result<Vec<u8>, BuildError> {
        let (count, base, max) = (self.record_count, self.base_timestamp, self.max_timestamp);
        let mut batch = self.bytes;
        let length = batch.len() - LOG_OVERHEAD_BYTES;
        let length = i32::try_from(length).ok().filter(|_| batch.len() <= BATCH_BYTES_HARD_MAX);
        let too_large = BuildError::TooLarge { bytes: batch.len(), max: BATCH_BYTES_HARD_MAX };
        let length = length.ok_or(too_large)?;
        let (header, records) = batch.split_first_chunk_mut().expect("the builder left room for the header");
        let none =
            ProducerStamp { id: ProducerId::NONE, epoch: ProducerEpoch::NONE, base_sequence: Sequence::NONE };
        let producer = spec.producer.unwrap_or(none);
        layout::put(header, layout::BASE_OFFSET, spec.base_offset.0.to_be_bytes());
        layout::put(header, layout::LENGTH, length.to_be_bytes());
        layout::put(header, layout::LEADER_EPOCH, spec.leader_epoch.0.to_be_bytes());
        layout::put(header, layout::MAGIC_AT, MAGIC.to_be_bytes());
        layout::put(header, layout::ATTRIBUTES, attributes.bits().to_be_bytes());
        layout::put(header, layout::LAST_OFFSET_DELTA, (count - 1).max(0).to_be_bytes());
        layout::put(header, layout::BASE_TIMESTAMP, base.0.to_be_bytes());
        layout::put(header, layout::MAX_TIMESTAMP, max.0.to_be_bytes());
        layout::put(header, layout::PRODUCER_ID, producer.id.0.to_be_bytes());
        layout::put(header, layout::PRODUCER_EPOCH, producer.epoch.0.to_be_bytes());
        layout::put(header, layout::BASE_SEQUENCE, producer.base_sequence.0.to_be_bytes());
        layout::put(header, layout::RECORD_COUNT, count.to_be_bytes());
        let checksum = crc_of(header, records, crc);
        layout::put(header, layout::CRC, checksum.to_be_bytes());
        Ok(batch)
    }

    fn batch_bytes_with_body(&self, body: usize) -> usize {
        self.bytes.len().saturating_add(varint::encoded_bytes(body as i64)).saturating_add(body)
    }

    /// Bytes of the record behind its length.
    fn body_bytes(&self, record: &NewRecord<'_>) -> usize {
        let first = self.record_count == 0;
        let base = if first { record.timestamp } else { self.base_timestamp };
        let delta = record.timestamp.0.wrapping_sub(base.0);
        let headers = record.headers.iter().fold(0_usize, |bytes, header| {
            bytes
                .saturating_add(nullable_bytes(Some(header.key)))
                .saturating_add(nullable_bytes(header.value))
        });
        1 + varint::encoded_bytes(delta)
            + varint::encoded_bytes(i64::from(self.record_count))
            + nullable_bytes(record.key)
            + nullable_bytes(record.value)
            + varint::encoded_bytes(record.headers.len() as i64)
            + headers
    }
}

/// Room for the header, then the records compressed.
fn compressed(plain: &[u8], codec: Compression, codecs: Codecs) -> Result<Vec<u8>, BuildError> {
    let (header, records) = plain.split_at(HEADER_BYTES);
    let mut batch = Vec::with_capacity(HEADER_BYTES + records.len() / 2);
    batch.extend_from_slice(header);
    (codecs.compress)(codec, records, &mut batch)?;
    Ok(batch)
}

fn nullable_bytes(field: Option<&[u8]>) -> usize {
    field.map_or(1, |field| varint::encoded_bytes(field.len() as i64) + field.len())
}

fn put_nullable(out: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        None => varint::put_i32(out, -1),
        Some(field) => {
            varint::put_i64(out, field.len() as i64);
            out.extend_from_slice(field);
        }
    }
}
