//! What is traced of requests and answers: who is asked what, and which answer belongs to it.

use bytes::Bytes;
use client_core::ConnectionId;
use kafka_wire::{ApiKey, Rope, Segment};

/// Where fields stand in a request, behind its length: key, version, correlation id.
const LENGTH_BYTES: usize = 4;

pub(super) fn request(connection: ConnectionId, frame: &Rope) {
    if !tracing::enabled!(tracing::Level::TRACE) {
        return;
    }
    let Some(Segment::Bytes(first)) = frame.segments().next() else { return };
    let Some((key, rest)) = first.get(LENGTH_BYTES..).and_then(<[u8]>::split_first_chunk::<2>) else {
        return;
    };
    let Some((version, rest)) = rest.split_first_chunk::<2>() else { return };
    let Some((correlation_id, _)) = rest.split_first_chunk::<4>() else { return };
    let api = ApiKey::from_number(i16::from_be_bytes(*key)).map_or("unknown", ApiKey::name);
    tracing::trace!(
        connection = connection.0,
        api,
        version = i16::from_be_bytes(*version),
        correlation_id = i32::from_be_bytes(*correlation_id),
        bytes = frame.len(),
        "request"
    );
}

pub(super) fn answer(connection: ConnectionId, frame: &Bytes) {
    if let Some(correlation_id) = frame.first_chunk::<4>() {
        let correlation_id = i32::from_be_bytes(*correlation_id);
        tracing::trace!(connection = connection.0, correlation_id, bytes = frame.len(), "answer");
    }
}
