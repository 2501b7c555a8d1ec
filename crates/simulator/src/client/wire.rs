//! Requests of clients as frames, and the batches in them.

use bytes::Bytes;
use kafka_wire::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
use kafka_wire::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use kafka_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use kafka_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use kafka_wire::{Body, Encode, Uuid, encode_request};
use log_core::batch::{BatchBuilder, BatchSpec, NewRecord, ProducerStamp};
use log_core::{Timestamp, TopicPartition};

use crate::world::crc;

pub(super) const PRODUCE: i16 = 9;
pub(super) const FETCH: i16 = 13;
pub(super) const LIST: i16 = 7;
pub(super) const INIT: i16 = 4;
pub(super) const DELETE: i16 = 2;

/// A frame without its length.
pub(super) fn frame<B: Body + Encode>(correlation: i32, version: i16, body: &B) -> Bytes {
    let rope = encode_request(version, correlation, Some("simulated"), body);
    rope.expect("requests of clients fit the protocol").into_bytes().slice(4..)
}

/// A batch of records whose values nobody else writes.
pub(super) fn batch(stamp: Option<ProducerStamp>, values: &[Vec<u8>], wall: Timestamp) -> Bytes {
    let mut builder = BatchBuilder::new();
    for value in values {
        let record = NewRecord { timestamp: wall, key: None, value: Some(value), headers: &[] };
        builder.push(&record).expect("batches here are short");
    }
    let spec = BatchSpec { producer: stamp, ..BatchSpec::default() };
    builder.build(&spec, compression::CODECS, crc).expect("batches here are short").into()
}

pub(super) fn produce(correlation: i32, name: &str, partition: i32, acks: i16, batch: Bytes) -> Bytes {
    let data = PartitionProduceData { index: partition, records: Some(batch) };
    frame(
        correlation,
        PRODUCE,
        &ProduceRequest {
            transactional_id: None,
            acks,
            timeout_ms: 4_000,
            topic_data: vec![TopicProduceData { name: name.into(), partition_data: vec![data] }],
        },
    )
}

pub(super) fn fetch(correlation: i32, key: TopicPartition, offset: i64, epoch: i32, wait_ms: i32) -> Bytes {
    let partition = FetchPartition {
        partition: key.partition.0,
        current_leader_epoch: epoch,
        fetch_offset: offset,
        partition_max_bytes: 8 << 10,
        ..FetchPartition::default()
    };
    let topic =
        FetchTopic { topic_id: Uuid(key.topic_id.0), partitions: vec![partition], ..FetchTopic::default() };
    let request = FetchRequest {
        max_wait_ms: wait_ms,
        min_bytes: 1,
        max_bytes: 16 << 10,
        topics: vec![topic],
        ..FetchRequest::default()
    };
    frame(correlation, FETCH, &request)
}

pub(super) fn list_latest(correlation: i32, name: &str, partition: i32, epoch: i32) -> Bytes {
    let partition =
        ListOffsetsPartition { partition_index: partition, current_leader_epoch: epoch, timestamp: -1 };
    let topics = vec![ListOffsetsTopic { name: name.into(), partitions: vec![partition] }];
    let request = ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() };
    frame(correlation, LIST, &request)
}

pub(super) fn delete_records(correlation: i32, name: &str, partition: i32, offset: i64) -> Bytes {
    let partitions = vec![DeleteRecordsPartition { partition_index: partition, offset }];
    let topics = vec![DeleteRecordsTopic { name: name.into(), partitions }];
    frame(correlation, DELETE, &DeleteRecordsRequest { topics, timeout_ms: 2_000 })
}
