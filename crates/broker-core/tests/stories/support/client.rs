//! A client of the test cluster: requests as values, answers as values.

use bytes::Bytes;
use highwater_broker_core::ConnectionId;
use kafka_wire::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchedPartition,
};
use kafka_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopic,
};
use kafka_wire::messages::produce::{
    PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData,
};
use kafka_wire::{Body, Decode, Encode, ErrorCode, decode_response, encode_request};
use log_core::batch::{BatchBuilder, BatchSpec, Batches, NewRecord, ProducerStamp, Records, records_of};
use log_core::{Compression, ProducerEpoch, ProducerId, Sequence, Timestamp};

use super::{Cluster, START_MS, crc};

/// What became of one produced batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Produced {
    pub(crate) error: ErrorCode,
    pub(crate) base_offset: i64,
}

impl Cluster {
    /// Sends a request and does not wait.
    pub(crate) fn send<B: Body + Encode>(
        &mut self,
        broker: i32,
        connection: ConnectionId,
        version: i16,
        body: &B,
    ) {
        let frame = frame(self.next_correlation(), version, body);
        self.send_frame(broker, connection, &frame);
    }

    /// Sends a request on a connection of its own and works until it is answered; the answer's frame.
    pub(crate) fn ask<B: Body + Encode>(&mut self, broker: i32, version: i16, body: &B) -> Bytes {
        let connection = self.open(broker);
        self.ask_on(broker, connection, version, body)
    }

    pub(crate) fn ask_on<B: Body + Encode>(
        &mut self,
        broker: i32,
        connection: ConnectionId,
        version: i16,
        body: &B,
    ) -> Bytes {
        self.send(broker, connection, version, body);
        self.run();
        let closed = self.broker(broker).closed.get(&connection).copied();
        self.take_response(broker, connection).unwrap_or_else(|| panic!("no answer; closed: {closed:?}"))
    }

    pub(crate) fn produce(
        &mut self,
        broker: i32,
        topic: &str,
        partition: i32,
        acks: i16,
        batch: Bytes,
    ) -> Produced {
        let connection = self.open(broker);
        self.send(broker, connection, 9, &produce_request(topic, partition, acks, batch));
        self.run();
        self.produced(broker, connection).expect("the produce request is answered")
    }

    pub(crate) fn produced(&mut self, broker: i32, connection: ConnectionId) -> Option<Produced> {
        let frame = self.take_response(broker, connection)?;
        let response: ProduceResponse<'_> = parse(&frame, 9);
        let partition = &response.responses[0].partition_responses[0];
        Some(Produced { error: partition.error_code, base_offset: partition.base_offset })
    }

    /// Reads without waiting.
    pub(crate) fn fetch(
        &mut self,
        broker: i32,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> FetchedPartition {
        let frame = self.ask(broker, 12, &fetch_request(topic, partition, offset, 0));
        let response: FetchResponse<'_> = parse(&frame, 12);
        response.responses[0].partitions[0].clone()
    }

    /// The values from an offset on, as far as they are served.
    pub(crate) fn read_all(&mut self, broker: i32, topic: &str, partition: i32) -> Vec<String> {
        let mut values = Vec::new();
        let mut offset = 0;
        loop {
            let fetched = self.fetch(broker, topic, partition, offset);
            assert_eq!(fetched.error_code, ErrorCode::None);
            let bytes = fetched.records.into_bytes();
            if bytes.is_empty() {
                return values;
            }
            values.extend(values_of(&bytes));
            offset = next_offset(&bytes);
        }
    }

    pub(crate) fn list_offset(
        &mut self,
        broker: i32,
        topic: &str,
        partition: i32,
        timestamp: i64,
    ) -> ListOffsetsPartitionResponse {
        let frame = self.ask(broker, 11, &list_request(topic, &[(partition, timestamp)]));
        let response: ListOffsetsResponse<'_> = parse(&frame, 11);
        response.topics[0].partitions[0].clone()
    }
}

pub(crate) fn frame<B: Body + Encode>(correlation: i32, version: i16, body: &B) -> Bytes {
    encode_request(version, correlation, Some("test"), body).unwrap().into_bytes().slice(4..)
}

pub(crate) fn parse<'a, B: Body + Decode<'a>>(frame: &'a Bytes, version: i16) -> B {
    decode_response(frame, version).unwrap().1
}

pub(crate) fn produce_request<'a>(
    topic: &'a str,
    partition: i32,
    acks: i16,
    batch: Bytes,
) -> ProduceRequest<'a> {
    ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData {
            name: topic.into(),
            partition_data: vec![PartitionProduceData { index: partition, records: Some(batch) }],
        }],
    }
}

pub(crate) fn fetch_request<'a>(
    topic: &'a str,
    partition: i32,
    offset: i64,
    max_wait_ms: i32,
) -> FetchRequest<'a> {
    FetchRequest {
        replica_id: -1,
        max_wait_ms,
        min_bytes: 1,
        max_bytes: 1 << 20,
        session_epoch: -1,
        topics: vec![FetchTopic {
            topic: topic.into(),
            partitions: vec![fetch_partition(partition, offset)],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

pub(crate) fn fetch_partition(partition: i32, fetch_offset: i64) -> FetchPartition {
    FetchPartition { partition, fetch_offset, partition_max_bytes: 1 << 20, ..FetchPartition::default() }
}

pub(crate) fn list_request<'a>(topic: &'a str, asked: &[(i32, i64)]) -> ListOffsetsRequest<'a> {
    let partitions = asked.iter().map(|(partition_index, timestamp)| ListOffsetsPartition {
        partition_index: *partition_index,
        current_leader_epoch: -1,
        timestamp: *timestamp,
    });
    ListOffsetsRequest {
        replica_id: -1,
        topics: vec![ListOffsetsTopic { name: topic.into(), partitions: partitions.collect() }],
        ..ListOffsetsRequest::default()
    }
}

/// A batch of these values.
pub(crate) fn batch(values: &[&str]) -> Bytes {
    build(values, BatchSpec::default(), START_MS)
}

pub(crate) fn batch_at(values: &[&str], timestamp: i64) -> Bytes {
    build(values, BatchSpec::default(), timestamp)
}

pub(crate) fn compressed(values: &[&str], compression: Compression) -> Bytes {
    build(values, BatchSpec { compression, ..BatchSpec::default() }, START_MS)
}

/// A batch of an idempotent producer.
pub(crate) fn numbered(values: &[&str], id: i64, epoch: i16, base_sequence: i32) -> Bytes {
    let producer = ProducerStamp {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
        base_sequence: Sequence(base_sequence),
    };
    build(values, BatchSpec { producer: Some(producer), ..BatchSpec::default() }, START_MS)
}

fn build(values: &[&str], spec: BatchSpec, timestamp: i64) -> Bytes {
    let mut builder = BatchBuilder::new();
    for (index, value) in (0..).zip(values) {
        let record = NewRecord {
            timestamp: Timestamp(timestamp + index),
            key: None,
            value: Some(value.as_bytes()),
            headers: &[],
        };
        builder.push(&record).unwrap();
    }
    builder.build(&spec, compression::CODECS, crc).unwrap().into()
}

pub(crate) fn values_of(bytes: &[u8]) -> Vec<String> {
    let mut values = Vec::new();
    for (header, batch) in Batches::new(bytes) {
        let mut buffer = Vec::new();
        let records = records_of(&header, batch).unwrap();
        let unpacked =
            log_core::batch::decompress(&header, records, compression::CODECS, 1 << 24, &mut buffer).unwrap();
        for record in Records::new(&header, unpacked) {
            values.push(String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap());
        }
    }
    values
}

pub(crate) fn next_offset(bytes: &[u8]) -> i64 {
    Batches::new(bytes).last().map_or(0, |(header, _)| header.next_offset().0)
}
