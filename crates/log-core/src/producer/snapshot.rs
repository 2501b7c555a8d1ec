//! Producer state on disk, as it was when the log ended at some offset.
//!
//! A [`Container`] with magic `HWPS`, payload:
//!
//! ```text
//! log end i64 | has expired u8 (0 or 1) | producer count u32
//! per producer, ids growing:
//!   id i64 | epoch i16 | had more u8 | last marker i64 | last append i64 (ms) | batch count u8 (0 to 5)
//!   per batch, oldest first: base sequence i32 | last offset i64 | offset delta i32 | timestamp i64
//! ```

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::entry::{BatchMark, Producer};
use super::table::ProducerTable;
use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::container::Container;
use crate::error::FileError;
use crate::ids::{ProducerEpoch, ProducerId, Sequence};
use crate::limits::PRODUCER_BATCHES_MAX;
use crate::offset::Offset;
use crate::time::Timestamp;

const CONTAINER: Container = Container { magic: *b"HWPS", version: 1 };

impl ProducerTable {
    /// The snapshot's bytes: this state belongs to a log that ends at `log_end`.
    #[must_use]
    pub fn encode(&self, log_end: Offset, crc: Crc32c) -> Vec<u8> {
        let mut payload = Vec::new();
        payload.extend_from_slice(&log_end.0.to_be_bytes());
        payload.push(u8::from(self.has_expired));
        let count = u32::try_from(self.producers.len()).expect("memory holds fewer than 2^32 producers");
        payload.extend_from_slice(&count.to_be_bytes());
        for (id, producer) in &self.producers {
            put_producer(&mut payload, *id, producer);
        }
        CONTAINER.seal(&payload, crc)
    }

    /// Reads a snapshot's bytes: the log end that it belongs to, and the state.
    ///
    /// Errors: whatever is wrong with it; an older snapshot or the whole log then has to serve.
    pub fn decode(file: &[u8], crc: Crc32c) -> Result<(Offset, Self), FileError> {
        let (_, payload) = CONTAINER.open(file, crc)?;
        let short = FileError::Length { have: file.len() };
        let mut reader = Reader::new(payload);
        let log_end = Offset(reader.i64().ok_or(short)?);
        let has_expired = take_flag(&mut reader).ok_or(short)?;
        let count = reader.u32().ok_or(short)?;
        let mut table = Self { has_expired, ..Self::new() };
        for entry in 0..count as usize {
            let (id, producer) = take_producer(&mut reader).ok_or(short)?;
            let last = table.producers.last_key_value().map(|(last, _)| *last);
            if last.is_some_and(|last| last >= id) || !is_possible(&producer, log_end) {
                return Err(FileError::Entry { entry });
            }
            table.producers.insert(id, producer);
        }
        if reader.rest().is_empty() { Ok((log_end, table)) } else { Err(short) }
    }
}

fn put_producer(out: &mut Vec<u8>, id: ProducerId, producer: &Producer) {
    out.extend_from_slice(&id.0.to_be_bytes());
    out.extend_from_slice(&producer.epoch.0.to_be_bytes());
    out.push(u8::from(producer.had_more));
    out.extend_from_slice(&producer.last_marker.0.to_be_bytes());
    out.extend_from_slice(&producer.last_append.0.to_be_bytes());
    out.push(u8::try_from(producer.batches.len()).expect("five batches are kept at most"));
    for mark in &producer.batches {
        out.extend_from_slice(&mark.base_sequence.0.to_be_bytes());
        out.extend_from_slice(&mark.last_offset.0.to_be_bytes());
        out.extend_from_slice(&mark.offset_delta.to_be_bytes());
        out.extend_from_slice(&mark.timestamp.0.to_be_bytes());
    }
}

fn take_producer(reader: &mut Reader<'_>) -> Option<(ProducerId, Producer)> {
    let id = ProducerId(reader.i64()?);
    let epoch = ProducerEpoch(reader.i16()?);
    let had_more = take_flag(reader)?;
    let last_marker = Offset(reader.i64()?);
    let last_append = Timestamp(reader.i64()?);
    let [count] = reader.array()?;
    let count = Some(usize::from(count)).filter(|count| *count <= PRODUCER_BATCHES_MAX)?;
    let batches = (0..count).map(|_| take_mark(reader)).collect::<Option<VecDeque<_>>>()?;
    Some((id, Producer { epoch, batches, had_more, last_marker, last_append }))
}

fn take_mark(reader: &mut Reader<'_>) -> Option<BatchMark> {
    Some(BatchMark {
        base_sequence: Sequence(reader.i32()?),
        last_offset: Offset(reader.i64()?),
        offset_delta: reader.i32()?,
        timestamp: Timestamp(reader.i64()?),
    })
}

fn take_flag(reader: &mut Reader<'_>) -> Option<bool> {
    match reader.array()? {
        [0] => Some(false),
        [1] => Some(true),
        _ => None,
    }
}

/// A snapshot that knows of batches at or above its log end would call batches duplicates that the log lacks.
fn is_possible(producer: &Producer, log_end: Offset) -> bool {
    let marks = || producer.batches.iter();
    let in_range = |mark: &BatchMark| {
        mark.base_sequence >= Sequence(0)
            && mark.offset_delta >= 0
            && mark.base_offset() >= Offset::ZERO
            && mark.last_offset < log_end
    };
    let ordered = marks().zip(marks().skip(1)).all(|(one, next)| one.last_offset < next.base_offset());
    ordered && marks().all(in_range) && producer.last_marker < log_end
}
