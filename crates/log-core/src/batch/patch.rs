//! Changes of a batch in place. Offset and leader epoch lie outside the CRC, so the append path copies and hashes
//! nothing; a changed timestamp costs one CRC over the batch.
//!
//! All work on the 61 header bytes alone: an append may copy those and leave the records in the receive buffer.

use super::attributes::Attributes;
use super::build::ProducerStamp;
use super::header::crc_of;
use super::layout::{self, HeaderBytes};
use super::validate::Stamp;
use crate::codec::Crc32c;
use crate::ids::LeaderEpoch;
use crate::offset::Offset;
use crate::time::Timestamp;

/// Gives the batch its place in the log. The CRC stays as it is.
pub fn assign(header: &mut HeaderBytes, base_offset: Offset, leader_epoch: LeaderEpoch) {
    layout::put(header, layout::BASE_OFFSET, base_offset.0.to_be_bytes());
    layout::put(header, layout::LEADER_EPOCH, leader_epoch.0.to_be_bytes());
}

/// Like [`assign`], for a batch in one piece.
///
/// # Panics
/// Below 61 bytes: only a batch whose header was read may be placed.
pub fn assign_in_place(batch: &mut [u8], base_offset: Offset, leader_epoch: LeaderEpoch) {
    let header = batch.first_chunk_mut().expect("a batch whose header was read has its bytes");
    assign(header, base_offset, leader_epoch);
}

/// Gives the batch to another producer, epoch or sequence: a client that got a new epoch sends what it holds again.
/// Recomputes the CRC over `records`.
pub fn set_producer(header: &mut HeaderBytes, records: &[u8], producer: ProducerStamp, crc: Crc32c) {
    layout::put(header, layout::PRODUCER_ID, producer.id.0.to_be_bytes());
    layout::put(header, layout::PRODUCER_EPOCH, producer.epoch.0.to_be_bytes());
    layout::put(header, layout::BASE_SEQUENCE, producer.base_sequence.0.to_be_bytes());
    set_crc(header, records, crc);
}

/// Sets the timestamps that [`validate`](super::validate) decided on; recomputes the CRC over `records` if
/// anything changed. [`Stamp::Walk`] changes nothing: the caller has to walk first.
pub fn stamp(header: &mut HeaderBytes, records: &[u8], stamp: Stamp, crc: Crc32c) {
    match stamp {
        Stamp::AsSent | Stamp::Walk => {}
        Stamp::CreateTime { max_timestamp } => set_timestamp(header, records, max_timestamp, false, crc),
        Stamp::LogAppendTime { now } => set_timestamp(header, records, now, true, crc),
    }
}

fn set_timestamp(header: &mut HeaderBytes, records: &[u8], max: Timestamp, log_append: bool, crc: Crc32c) {
    let bits = i16::from_be_bytes(layout::take(header, layout::ATTRIBUTES));
    let attributes = Attributes::from_bits(bits).expect("a batch whose header was read has a known codec");
    let bits = attributes.with_log_append_time(log_append).bits();
    layout::put(header, layout::ATTRIBUTES, bits.to_be_bytes());
    layout::put(header, layout::MAX_TIMESTAMP, max.0.to_be_bytes());
    set_crc(header, records, crc);
}

fn set_crc(header: &mut HeaderBytes, records: &[u8], crc: Crc32c) {
    let computed = crc_of(header, records, crc);
    layout::put(header, layout::CRC, computed.to_be_bytes());
}
