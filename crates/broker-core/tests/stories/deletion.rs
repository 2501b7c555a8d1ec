//! Deleted records: who asked is answered, and a reader learns of it, once no leader can bring them back (L11).

use highwater_broker_core::ConnectionId;
use kafka_wire::ErrorCode;
use kafka_wire::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use kafka_wire::messages::fetch::FetchResponse;
use log_core::{PartitionIndex, TopicPartition};
use log_store::{DiskFault, DiskOperation, MemoryDisk};

use crate::replication::{SECOND, others, three, three_with};
use crate::support::Cluster;
use crate::support::client::*;

const GONE: (ErrorCode, i64) = (ErrorCode::None, 2);

/// Asks for all records below an offset to be deleted, and works on it.
fn asked(cluster: &mut Cluster, broker: i32, offset: i64) -> ConnectionId {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let topics = vec![DeleteRecordsTopic { name: "t".into(), partitions }];
    let connection = cluster.open(broker);
    cluster.send(broker, connection, 2, &DeleteRecordsRequest { topics, timeout_ms: 1_000 });
    cluster.run();
    connection
}

/// The answer, if there is one: its code and the low watermark.
fn told(cluster: &mut Cluster, broker: i32, connection: ConnectionId) -> Option<(ErrorCode, i64)> {
    let frame = cluster.take_response(broker, connection)?;
    let response: DeleteRecordsResponse<'_> = parse(&frame, 2);
    let result = &response.topics[0].partitions[0];
    Some((result.error_code, result.low_watermark))
}

fn deleted(cluster: &mut Cluster, broker: i32, offset: i64) -> Option<(ErrorCode, i64)> {
    let connection = asked(cluster, broker, offset);
    told(cluster, broker, connection)
}

/// What a reader from an offset on is told, and whether it gets records.
fn read(cluster: &mut Cluster, broker: i32, offset: i64) -> (ErrorCode, bool) {
    let fetched = cluster.fetch(broker, "t", 0, offset);
    (fetched.error_code, !fetched.records.is_empty())
}

const OUT_OF_RANGE: (ErrorCode, bool) = (ErrorCode::OffsetOutOfRange, false);
const NOTHING_YET: (ErrorCode, bool) = (ErrorCode::None, false);
const RECORDS: (ErrorCode, bool) = (ErrorCode::None, true);

fn with_records((mut cluster, id): (Cluster, TopicPartition)) -> (Cluster, TopicPartition, i32) {
    let leader = cluster.leader(id);
    for value in ["a", "b", "c"] {
        cluster.produce(leader, "t", 0, -1, batch(&[value]));
    }
    (cluster, id, leader)
}

#[test]
fn deleted_records_are_gone_on_every_replica() {
    let (mut cluster, id, leader) = with_records(three());
    assert_eq!(deleted(&mut cluster, leader, 2), Some(GONE));
    assert_eq!(deleted(&mut cluster, leader, 1), Some(GONE), "nothing is left to do");
    assert_eq!(deleted(&mut cluster, leader, 9), Some((ErrorCode::OffsetOutOfRange, -1)));
    assert_eq!(read(&mut cluster, leader, 0), OUT_OF_RANGE);
    assert_eq!(cluster.fetch(leader, "t", 0, 2).log_start_offset, 2);
    cluster.kill(leader);
    cluster.fence(leader);
    let next = cluster.leader(id);
    assert_eq!(cluster.list_offset(next, "t", 0, -2).offset, 2);
    assert_eq!(read(&mut cluster, next, 1), OUT_OF_RANGE);
}

#[test]
fn a_deletion_is_answered_once_no_power_cut_takes_it_back() {
    for seed in 0..10 {
        let mut cluster = Cluster::new(1);
        let topic_id = cluster.create_topic("t", 1, 1, &[]);
        let id = TopicPartition { topic_id, partition: PartitionIndex(0) };
        let (mut cluster, _, leader) = with_records((cluster, id));
        cluster.broker(leader).disk.hold(true);
        let connection = asked(&mut cluster, leader, 2);
        assert_eq!(told(&mut cluster, leader, connection), None, "the log start is in the page cache alone");
        assert_eq!(read(&mut cluster, leader, 0), NOTHING_YET, "and may go back");
        assert_eq!(read(&mut cluster, leader, 2), RECORDS);
        cluster.broker(leader).disk.hold(false);
        cluster.run();
        assert_eq!(told(&mut cluster, leader, connection), Some(GONE));
        assert_eq!(read(&mut cluster, leader, 0), OUT_OF_RANGE);
        cluster.kill(leader);
        cluster.broker(leader).disk.power_cut(seed);
        cluster.restart(leader);
        cluster.pass(2 * SECOND);
        assert_eq!(read(&mut cluster, leader, 0), OUT_OF_RANGE, "seed {seed}");
    }
}

#[test]
fn a_deletion_waits_for_the_slowest_isr_member_and_wakes_who_reads_there() {
    let (mut cluster, _, leader) = with_records(three());
    let [_, slow] = others(leader);
    cluster.broker(slow).disk.hold(true);
    let connection = asked(&mut cluster, leader, 2);
    let reader = cluster.open(leader);
    cluster.send(leader, reader, 12, &fetch_request("t", 0, 1, 30_000));
    cluster.run();
    assert_eq!(told(&mut cluster, leader, connection), None);
    assert!(cluster.take_response(leader, reader).is_none(), "its position may be led by another one again");
    cluster.broker(slow).disk.hold(false);
    cluster.run();
    assert_eq!(told(&mut cluster, leader, connection), Some(GONE));
    let frame = cluster.take_response(leader, reader).expect("the reader is woken");
    let response: FetchResponse<'_> = parse(&frame, 12);
    assert_eq!(response.responses[0].partitions[0].error_code, ErrorCode::OffsetOutOfRange);
}

#[test]
fn a_deletion_that_takes_too_long_is_told_to_be_unknown() {
    let (mut cluster, _, leader) = with_records(three());
    let [_, slow] = others(leader);
    cluster.broker(slow).disk.hold(true);
    let connection = asked(&mut cluster, leader, 2);
    cluster.pass(SECOND);
    assert_eq!(told(&mut cluster, leader, connection), Some((ErrorCode::RequestTimedOut, -1)));
    cluster.broker(slow).disk.hold(false);
    cluster.run();
    assert_eq!(told(&mut cluster, leader, connection), None, "one answer");
    assert_eq!(deleted(&mut cluster, leader, 2), Some(GONE));
}

#[test]
fn what_only_the_leader_before_deleted_was_told_to_nobody() {
    let (mut cluster, id, leader) = with_records(three());
    let [one, other] = others(leader);
    // Neither follower hears of it.
    cluster.cut_off(one);
    cluster.cut_off(other);
    let connection = asked(&mut cluster, leader, 2);
    assert_eq!(told(&mut cluster, leader, connection), None);
    assert_eq!(read(&mut cluster, leader, 0), NOTHING_YET);
    cluster.kill(leader);
    cluster.cut_off.clear();
    cluster.fence(leader);
    cluster.pass(SECOND);
    let next = cluster.leader(id);
    assert_eq!(read(&mut cluster, next, 0), RECORDS, "the log start went back, as it may");
    assert_eq!(deleted(&mut cluster, next, 2), Some(GONE));
    cluster.restart(leader);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
    assert_eq!(read(&mut cluster, next, 1), OUT_OF_RANGE);
    // Whoever leads from now on.
    cluster.kill(next);
    cluster.broker(next).disk.power_cut(7);
    cluster.fence(next);
    cluster.pass(SECOND);
    let last = cluster.leader(id);
    assert_eq!(read(&mut cluster, last, 1), OUT_OF_RANGE);
    assert_eq!(read(&mut cluster, last, 2), RECORDS);
}

#[test]
fn below_min_isr_nothing_is_deleted_for_good() {
    let (mut cluster, id, leader) = with_records(three_with(1, &[("min.insync.replicas", "2")]));
    let [one, other] = others(leader);
    for broker in [one, other] {
        cluster.kill(broker);
        cluster.fence(broker);
    }
    assert_eq!(cluster.isr(id), [leader]);
    let connection = asked(&mut cluster, leader, 2);
    assert_eq!(told(&mut cluster, leader, connection), None, "{other} may be elected, and was not asked");
    assert_eq!(read(&mut cluster, leader, 0), NOTHING_YET);
    cluster.restart(other);
    cluster.run();
    assert_eq!(told(&mut cluster, leader, connection), Some(GONE), "ISR {:?}", cluster.isr(id));
}

#[test]
fn whoever_begins_anew_takes_the_whole_batch_that_holds_the_log_start() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let [away, _] = others(leader);
    cluster.kill(away);
    cluster.fence(away);
    cluster.produce(leader, "t", 0, -1, batch(&["a"]));
    cluster.produce(leader, "t", 0, -1, batch(&["b", "c", "d"]));
    assert_eq!(deleted(&mut cluster, leader, 2), Some(GONE), "in the midst of a batch");
    cluster.restart(away);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
    for broker in [1, 2, 3].into_iter().filter(|broker| *broker != away) {
        cluster.kill(broker);
        cluster.fence(broker);
    }
    assert_eq!(cluster.leader(id), away);
    assert_eq!(cluster.list_offset(away, "t", 0, -2).offset, 2);
    assert_eq!(read(&mut cluster, away, 2), RECORDS);
}

#[test]
fn no_follower_begins_before_the_leader_knows_where_its_first_batch_does() {
    let (mut cluster, id) = three_with(1, &[("segment.bytes", "1024")]);
    let (leader, value) = (cluster.leader(id), "x".repeat(600));
    let [empty, _] = others(leader);
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value, "b"])).error, ErrorCode::None);
    // So many segments later the file of the first one is closed.
    for _ in 0..8 {
        assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::None);
    }
    cluster.kill(empty);
    cluster.fence(empty);
    for _ in 0..2 {
        cluster.broker(leader).disk.fail_next(DiskOperation::Open, DiskFault::NoDescriptor);
    }
    assert_eq!(deleted(&mut cluster, leader, 1), Some((ErrorCode::None, 1)));
    cluster.start(empty, MemoryDisk::new(), false);
    cluster.pass(6 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
}
