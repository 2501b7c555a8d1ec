//! Damage: it is met, said, never served, and the replica is copied anew.

use broker_core::{ControlRequest, ShardId, ShardMessage};
use highwater_broker_core as broker_core;
use kafka_wire::ErrorCode;
use log_core::TopicPartition;
use log_store::{Disk, DiskFault, DiskOperation};

use crate::replication::{SECOND, others, three, three_with};
use crate::support::Cluster;
use crate::support::client::*;

#[test]
fn a_damaged_replica_is_never_served_and_is_copied_anew() {
    let (mut cluster, id) = three_with(1, &[("segment.bytes", "1024")]);
    let leader = cluster.leader(id);
    let mut expected = Vec::new();
    for round in 0..20 {
        let value = format!("{round}{}", "x".repeat(200));
        cluster.produce(leader, "t", 0, -1, batch(&[&value]));
        expected.push(value);
    }
    cluster.pass(6 * SECOND);
    let path = format!("topics/{}/0/00000000000000000000.log", id.topic_id);
    cluster.kill(leader);
    cluster.broker(leader).disk.evict();
    cluster.broker(leader).disk.rot(&path, 100, 0xff);
    cluster.restart(leader);
    cluster.pass(2 * SECOND);
    // It leads again; the first cold read finds the damage.
    let elect = metadata_core::record::ElectPreferred {
        partitions: vec![(id, cluster.image.partition(id).unwrap().partition_epoch)],
    };
    let _ = cluster.apply(metadata_core::MetadataRecord::ElectPreferred(elect));
    cluster.pass(SECOND);
    let fetched = cluster.fetch(leader, "t", 0, 0);
    assert!(fetched.records.is_empty(), "damage is never served: {:?}", fetched.error_code);
    cluster.pass(5 * SECOND);
    let said = |wanted: fn(&ControlRequest) -> bool| {
        cluster.requests.iter().any(|(broker, request)| *broker == leader && wanted(request))
    };
    assert!(said(|request| matches!(request, ControlRequest::ReportFaulty { .. })), "it gave up its seat");
    assert!(said(|request| matches!(request, ControlRequest::ReplicaReset { .. })), "it began anew");
    assert_eq!(cluster.isr(id), [1, 2, 3], "copied anew and in sync again");
    let now = cluster.leader(id);
    assert_eq!(cluster.read_all(now, "t", 0), expected);
    for broker in others(leader) {
        cluster.kill(broker);
    }
    for broker in others(leader) {
        cluster.fence(broker);
    }
    assert_eq!(cluster.leader(id), leader);
    assert_eq!(cluster.read_all(leader, "t", 0), expected);
}

fn has_reported_damage(cluster: &Cluster, broker: i32) -> bool {
    cluster
        .requests
        .iter()
        .any(|(from, request)| *from == broker && matches!(request, ControlRequest::ReportFaulty { .. }))
}

fn first_file(id: TopicPartition) -> String {
    format!("topics/{}/0/00000000000000000000.log", id.topic_id)
}

#[test]
fn damage_met_in_an_idle_moment_is_reported_at_once() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    for _ in 0..4 {
        cluster.produce(leader, "t", 0, -1, batch(&[&"x".repeat(20_000)]));
    }
    for broker in others(leader) {
        cluster.broker(broker).disk.rot(&first_file(id), 30_000, 1);
        let now = cluster.now;
        let mut steps = 0;
        while cluster.broker(broker).shards[0].handle_idle(now) {
            cluster.run();
            steps += 1;
            assert!(steps < 100, "it comes to rest");
        }
        assert!(
            has_reported_damage(&cluster, broker),
            "without a client or a record that touches the partition"
        );
        cluster.pass(3 * SECOND);
        assert_eq!(cluster.isr(id), [1, 2, 3], "copied anew");
    }
}

/// ADR 0013.
#[test]
fn the_last_replica_keeps_what_it_has_though_it_is_damaged() {
    let (mut cluster, id) = three_with(1, &[("min.insync.replicas", "1")]);
    let leader = cluster.leader(id);
    for broker in others(leader) {
        cluster.kill(broker);
        cluster.fence(broker);
    }
    for _ in 0..4 {
        let produced = cluster.produce(leader, "t", 0, -1, batch(&[&"x".repeat(20_000)]));
        assert_eq!(produced.error, ErrorCode::None);
    }
    cluster.broker(leader).disk.rot(&first_file(id), 30_000, 1);
    let now = cluster.now;
    while cluster.broker(leader).shards[0].handle_idle(now) {
        cluster.run();
    }
    cluster.pass(5 * SECOND);
    assert!(has_reported_damage(&cluster, leader));
    let partition = cluster.image.partition(id).unwrap();
    assert!(partition.leader.is_none() && partition.isr.is_empty() && partition.elr.is_empty());
    let kept = cluster.broker(leader).disk.with_durable(&first_file(id), <[u8]>::len);
    assert!(kept.is_some_and(|bytes| bytes > 80_000), "{kept:?}");
}

#[test]
fn a_leader_whose_batch_reaches_a_follower_damaged_reads_its_disk_and_steps_down() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let [one, other] = others(leader);
    cluster.kill(other);
    cluster.fence(other);
    let mut expected = Vec::new();
    for round in 0..20 {
        let value = format!("{round}{}", "x".repeat(2_000));
        assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::None);
        expected.push(value);
    }
    // Recent appends have left the memory; what was checked when it was appended goes out as it is in the file.
    cluster.pass(15 * SECOND);
    cluster.broker(leader).disk.rot(&first_file(id), 10_000, 1);
    cluster.restart(other);
    cluster.pass(5 * SECOND);
    assert!(has_reported_damage(&cluster, leader), "the follower said so, the disk shows it");
    assert!(!has_reported_damage(&cluster, one) && !has_reported_damage(&cluster, other));
    assert_eq!(cluster.isr(id), [1, 2, 3], "all are copied from the one that holds");
    for broker in [leader, other] {
        let [first, second] = others(broker);
        cluster.kill(first);
        cluster.kill(second);
        cluster.fence(first);
        cluster.fence(second);
        assert_eq!(cluster.leader(id), broker);
        assert_eq!(cluster.read_all(broker, "t", 0), expected);
        cluster.restart(first);
        cluster.restart(second);
        cluster.pass(3 * SECOND);
    }
}

#[test]
fn a_leader_reads_its_disk_to_the_end_however_often_a_follower_complains() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let [one, other] = others(leader);
    cluster.kill(other);
    cluster.fence(other);
    // More than is read again between two complaints.
    let value = "x".repeat(1_000_000);
    for _ in 0..120 {
        assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::None);
    }
    cluster.pass(15 * SECOND);
    cluster.broker(leader).disk.rot(&first_file(id), 119_500_000, 1);
    cluster.restart(other);
    cluster.pass(10 * SECOND);
    assert!(has_reported_damage(&cluster, leader), "the follower said so again and again, the disk shows it");
    assert!(!has_reported_damage(&cluster, one) && !has_reported_damage(&cluster, other));
}

#[test]
fn a_follower_whose_disk_took_a_part_of_a_push_follows_again_when_there_is_room() {
    let (mut cluster, id) = three_with(1, &[("segment.bytes", "100000")]);
    let leader = cluster.leader(id);
    let [_, other] = others(leader);
    cluster.kill(other);
    cluster.fence(other);
    for _ in 0..20 {
        let value = "x".repeat(20_000);
        assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::None);
    }
    let mut disk = cluster.broker(other).disk.another_handle();
    let used = u64::MAX - disk.free_bytes().unwrap();
    disk.set_capacity(used + 300_000);
    cluster.restart(other);
    cluster.pass(5 * SECOND);
    assert!(!cluster.isr(id).contains(&other), "it has room for a part");
    disk.set_capacity(u64::MAX);
    cluster.pass(15 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3], "without another record of a producer");
}

#[test]
fn damage_met_during_a_cut_is_dropped_when_the_cut_is_done() {
    let (mut cluster, id) = three();
    let old = cluster.leader(id);
    let value = "x".repeat(2_000);
    for sequence in 0..7 {
        assert_eq!(
            cluster.produce(old, "t", 0, -1, numbered(&[&value], 9, 0, sequence)).error,
            ErrorCode::None
        );
    }
    cluster.cut_off(old);
    for sequence in 7..13 {
        assert_eq!(
            cluster.produce(old, "t", 0, 1, numbered(&[&value], 9, 0, sequence)).error,
            ErrorCode::None
        );
    }
    cluster.fence(old);
    let new = cluster.leader(id);
    assert_eq!(cluster.produce(new, "t", 0, -1, batch(&["kept"])).error, ErrorCode::None);
    // The first batch: the producer's state, of which the cut leaves nothing, is read from the log again and meets it.
    cluster.broker(old).disk.rot(&first_file(id), 3, 1);
    cluster.broker(old).disk.hold(true);
    cluster.cut_off.clear();
    cluster.unfence(old);
    cluster.pass(3 * SECOND);
    assert!(has_reported_damage(&cluster, old));
    cluster.broker(old).disk.hold(false);
    cluster.pass(3 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3], "dropped and copied anew");
}

#[test]
fn brokers_without_a_free_file_descriptor_refuse_what_needs_one_and_go_on() {
    let (mut cluster, id) = three_with(1, &[("segment.bytes", "1024")]);
    let (leader, value) = (cluster.leader(id), "x".repeat(600));
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::None);
    let lack = |cluster: &mut Cluster, broker: i32| {
        cluster.broker(broker).disk.fail_next(DiskOperation::Open, DiskFault::NoDescriptor);
    };
    lack(&mut cluster, leader);
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::KafkaStorageError);
    others(leader).into_iter().for_each(|follower| lack(&mut cluster, follower));
    let connection = cluster.open(leader);
    cluster.send(leader, connection, 9, &produce_request("t", 0, -1, batch(&[&value])));
    cluster.pass(3 * SECOND);
    assert_eq!(cluster.produced(leader, connection).unwrap().error, ErrorCode::None);
    assert_eq!(cluster.read_all(leader, "t", 0), [value.clone(), value]);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
    for broker in [1, 2, 3] {
        assert!(cluster.broker(broker).exits.is_empty(), "{broker}");
    }
}

#[test]
fn a_broker_that_stops_opens_no_more_logs() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    assert_eq!(cluster.produce(1, "t", 0, 1, batch(&["kept"])).error, ErrorCode::None);
    cluster.broker(1).disk.fail_next(DiskOperation::Open, DiskFault::NoDescriptor);
    cluster.create_topic("u", 1, 1, &[]);
    cluster.run();
    // The log that is open takes longer to close than the other one waits before it is opened again.
    cluster.broker(1).disk.hold(true);
    cluster.tell(1, ShardId(0), ShardMessage::Stop);
    cluster.pass(2 * SECOND);
    cluster.broker(1).disk.hold(false);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.broker(1).stopped, [false], "a log that was never opened is not known to be sound");
}

#[test]
fn a_leader_whose_disk_is_full_gives_way_to_one_that_has_room() {
    let (mut cluster, id) = three();
    let full = cluster.leader(id);
    cluster.broker(full).disk.set_capacity(1);
    assert_eq!(cluster.produce(full, "t", 0, -1, batch(&["a"])).error, ErrorCode::KafkaStorageError);
    let leader = cluster.leader(id);
    assert_ne!(leader, full);
    let connection = cluster.open(leader);
    cluster.send(leader, connection, 9, &produce_request("t", 0, -1, batch(&["b"])));
    cluster.pass(15 * SECOND);
    assert_eq!(cluster.produced(leader, connection).unwrap().error, ErrorCode::None);
    assert_eq!(cluster.isr(id), others(full), "who takes nothing is not waited for");
    // Where nobody has room, leaderships do not go round as fast as producers try.
    for broker in others(full) {
        cluster.broker(broker).disk.set_capacity(1);
    }
    let (before, large) = (cluster.requests.len(), "x".repeat(600_000));
    for _ in 0..50 {
        let leader = cluster.leader(id);
        assert_eq!(cluster.produce(leader, "t", 0, 1, batch(&[&large])).error, ErrorCode::KafkaStorageError);
    }
    let resigned = |(_, request): &&(i32, ControlRequest)| matches!(request, ControlRequest::Resign { .. });
    assert_eq!(cluster.requests[before..].iter().filter(resigned).count(), 2);
}

#[test]
fn a_topic_made_on_a_full_disk_is_there_once_there_is_room() {
    let mut cluster = Cluster::new(1);
    cluster.broker(1).disk.set_capacity(1);
    cluster.create_topic("t", 100, 1, &[]);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.produce(1, "t", 0, 1, batch(&["a"])).error, ErrorCode::NotLeaderOrFollower);
    assert!(cluster.broker(1).exits.is_empty());
    cluster.broker(1).disk.set_capacity(u64::MAX);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.produce(1, "t", 99, 1, batch(&["a"])).error, ErrorCode::None);
}
