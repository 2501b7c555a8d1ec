//! Frames of both protocols, Kafka's and that between brokers: what one produced and one fetched batch takes at either end.

use std::hint::black_box;

use bytes::Bytes;
use kafka_wire::messages::fetch::{FetchResponse, FetchableTopicResponse, FetchedPartition};
use kafka_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use kafka_wire::{
    FRAME_BYTES_MAX_DEFAULT, FrameReader, Request, RequestFrame, Segment, Uuid, decode_response,
    encode_request, encode_response,
};
use log_core::{Crc32c, Frame, Offset, Session};
use replica_core::{Ack, FOLLOWER_FRAME_LIMITS, FollowerFrame, LEADER_FRAME_LIMITS, LeaderFrame, Push};

const PRODUCE_VERSION: i16 = 9;
const FETCH_VERSION: i16 = 13;
/// Partitions in a request and in an answer; each has one batch.
const PARTITIONS: i32 = 8;
/// No batch is looked into, and a longer one would be copied at one end for so long that nothing else counted.
const BATCH: [u8; 200] = [7; 200];
const REPEATS: usize = 16;

fn produce(batch: &Bytes) -> ProduceRequest<'static> {
    let partition = |index| PartitionProduceData { index, records: Some(batch.clone()) };
    let topic =
        TopicProduceData { name: "orders".into(), partition_data: (0..PARTITIONS).map(partition).collect() };
    ProduceRequest { acks: -1, timeout_ms: 30_000, topic_data: vec![topic], ..ProduceRequest::default() }
}

fn fetched(batch: &Bytes) -> FetchResponse<'static> {
    let partition = |partition_index| FetchedPartition {
        partition_index,
        high_watermark: 1_000,
        last_stable_offset: 1_000,
        records: [Segment::Bytes(batch.clone())].into_iter().collect(),
        ..FetchedPartition::default()
    };
    let partitions = (0..PARTITIONS).map(partition).collect();
    let topic = FetchableTopicResponse { topic_id: Uuid([7; 16]), partitions, ..Default::default() };
    FetchResponse { responses: vec![topic], ..FetchResponse::default() }
}

const PUSH: Push = Push {
    session: Session(7),
    base_offset: Offset(1_000),
    high_watermark: Offset(990),
    log_start: Offset(3),
};

const ACK: Ack =
    Ack { session: Session(7), appended_end: Offset(1_100), durable_end: Offset(1_000), credit: 8 << 20 };

/// A client asks, a broker answers, a leader pushes, a follower acknowledges.
pub(crate) fn encode(_: Crc32c) -> Box<dyn FnMut()> {
    let batch = Bytes::from_static(&BATCH);
    let (produce, fetched) = (produce(&batch), fetched(&batch));
    Box::new(move || {
        for _ in 0..REPEATS {
            let request = encode_request(PRODUCE_VERSION, 7, Some("bench"), black_box(&produce));
            black_box(request.expect("the request is short"));
            let response = encode_response(FETCH_VERSION, 7, black_box(&fetched));
            black_box(response.expect("the answer is short"));
            black_box(black_box(PUSH).encode(batch.len()));
            black_box(FollowerFrame::Ack(black_box(ACK)).encode());
        }
    })
}

/// The same frames at the other ends.
pub(crate) fn decode(_: Crc32c) -> Box<dyn FnMut()> {
    let batch = Bytes::from_static(&BATCH);
    let request = encode_request(PRODUCE_VERSION, 7, Some("bench"), &produce(&batch));
    let request = request.expect("the request is short").into_bytes();
    let response = encode_response(FETCH_VERSION, 7, &fetched(&batch)).expect("the answer is short");
    let response = response.into_bytes().slice(size_of::<i32>()..);
    let push = Bytes::from([PUSH.encode(batch.len()), batch.to_vec()].concat());
    let ack = Bytes::from(FollowerFrame::Ack(ACK).encode());
    Box::new(move || {
        for _ in 0..REPEATS {
            take_request(black_box(&request));
            let response = decode_response::<FetchResponse<'_>>(black_box(&response), FETCH_VERSION);
            black_box(response.expect("it was just encoded"));
            let frame = Frame::parse(black_box(push.clone()), LEADER_FRAME_LIMITS).expect("one frame");
            black_box(LeaderFrame::decode(&frame).expect("it was just encoded"));
            let frame = Frame::parse(black_box(ack.clone()), FOLLOWER_FRAME_LIMITS).expect("one frame");
            black_box(FollowerFrame::decode(&frame).expect("it was just encoded"));
        }
    })
}

/// As a connection does, but for the reading from a socket.
fn take_request(bytes: &[u8]) {
    let mut reader = FrameReader::new(FRAME_BYTES_MAX_DEFAULT);
    reader.extend(bytes);
    let frame = reader.next_frame().expect("a frame").expect("all of it is there");
    let request = RequestFrame::parse(&frame).expect("it was just encoded");
    assert!(matches!(black_box(&request).body, Request::Produce(_)));
}
