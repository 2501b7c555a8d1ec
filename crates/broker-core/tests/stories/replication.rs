//! Three brokers: what is committed survives whoever leads, and nothing else is served.

use std::time::Duration;

use broker_core::{ControlRequest, ReplicaKey, ShardAction};
use highwater_broker_core as broker_core;
use kafka_wire::ErrorCode;
use log_core::{BrokerId, Frame, PartitionIndex, Session, TopicPartition};
use log_store::{Disk, DiskFault, DiskOperation};
use replica_core::StreamId;

use crate::support::client::*;
use crate::support::{Cluster, START_MS};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn three() -> (Cluster, TopicPartition) {
    three_with(1, &[])
}

pub(crate) fn three_with(shards: u16, configs: &[(&str, &str)]) -> (Cluster, TopicPartition) {
    let mut cluster = Cluster::with(3, shards, &[]);
    let topic_id = cluster.create_topic("t", 1, 3, configs);
    (cluster, TopicPartition { topic_id, partition: PartitionIndex(0) })
}

pub(crate) fn others(leader: i32) -> [i32; 2] {
    match leader {
        1 => [2, 3],
        2 => [1, 3],
        _ => [1, 2],
    }
}

#[test]
fn acks_all_waits_for_the_slowest_isr_member() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let [one, other] = others(leader);
    cluster.broker(other).disk.hold(true);
    let connection = cluster.open(leader);
    cluster.send(leader, connection, 9, &produce_request("t", 0, -1, batch(&["a"])));
    cluster.run();
    assert_eq!(cluster.produced(leader, connection), None, "{one} alone is not enough");
    assert!(cluster.fetch(leader, "t", 0, 0).records.is_empty());
    cluster.broker(other).disk.hold(false);
    cluster.run();
    assert_eq!(cluster.produced(leader, connection).unwrap().error, ErrorCode::None);
    assert_eq!(cluster.read_all(leader, "t", 0), ["a"]);
}

#[test]
fn every_shard_count_replicates() {
    for shards in [1, 2, 4] {
        let mut cluster = Cluster::with(3, shards, &[]);
        cluster.create_topic("t", 8, 3, &[]);
        for partition in 0..8 {
            let topic_id = cluster.image.topic_by_name("t").unwrap().id;
            let leader = cluster.leader(TopicPartition { topic_id, partition: PartitionIndex(partition) });
            assert_eq!(cluster.produce(leader, "t", partition, -1, batch(&["a"])).error, ErrorCode::None);
        }
    }
}

#[test]
fn a_follower_refuses_clients_and_names_the_leader() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let [follower, _] = others(leader);
    let refused = cluster.produce(follower, "t", 0, -1, batch(&["a"]));
    assert_eq!(refused.error, ErrorCode::NotLeaderOrFollower);
    let frame = cluster.ask(follower, 16, &{
        let mut request = fetch_request("", 0, 0, 0);
        request.topics[0].topic_id = kafka_wire::Uuid(id.topic_id.0);
        request
    });
    let response: kafka_wire::messages::fetch::FetchResponse<'_> = parse(&frame, 16);
    let partition = &response.responses[0].partitions[0];
    assert_eq!(partition.error_code, ErrorCode::NotLeaderOrFollower);
    assert_eq!(partition.current_leader.leader_id, leader);
    assert_eq!(response.node_endpoints[0].node_id, leader);
}

#[test]
fn a_killed_leader_loses_nothing_that_was_acknowledged() {
    let (mut cluster, id) = three();
    let mut expected = Vec::new();
    for round in 0..6 {
        let value = format!("{round}");
        let leader = cluster.leader(id);
        assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&[&value])).error, ErrorCode::None);
        expected.push(value);
        cluster.kill(leader);
        cluster.fence(leader);
        let next = cluster.leader(id);
        assert_ne!(next, leader);
        assert_eq!(cluster.read_all(next, "t", 0), expected, "served at once");
        cluster.restart(leader);
        cluster.pass(SECOND);
        assert_eq!(cluster.isr(id), [1, 2, 3], "it is in sync again");
    }
}

#[test]
fn what_only_the_old_leader_had_is_cut() {
    let (mut cluster, id) = three();
    let old = cluster.leader(id);
    cluster.produce(old, "t", 0, -1, batch(&["both"]));
    cluster.cut_off(old);
    let waiting = cluster.open(old);
    cluster.send(old, waiting, 9, &produce_request("t", 0, -1, batch(&["lost"])));
    assert_eq!(cluster.produce(old, "t", 0, 1, batch(&["lost too"])).error, ErrorCode::None);
    cluster.fence(old);
    assert_eq!(
        cluster.produced(old, waiting).unwrap().error,
        ErrorCode::NotLeaderOrFollower,
        "an unknown outcome, never a definite failure"
    );
    let new = cluster.leader(id);
    assert_eq!(cluster.produce(new, "t", 0, -1, batch(&["kept"])).error, ErrorCode::None);
    cluster.cut_off.clear();
    let epoch = cluster.image.broker(BrokerId(old)).unwrap().epoch;
    let unfence = metadata_core::record::UnfenceBroker { broker: BrokerId(old), broker_epoch: epoch };
    cluster.apply(metadata_core::MetadataRecord::UnfenceBroker(unfence)).unwrap();
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
    for broker in others(old) {
        cluster.kill(broker);
    }
    for broker in others(old) {
        cluster.fence(broker);
    }
    assert_eq!(cluster.leader(id), old);
    assert_eq!(cluster.read_all(old, "t", 0), ["both", "kept"]);
}

#[test]
fn a_lagging_follower_leaves_the_isr_and_comes_back() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let [one, other] = others(leader);
    cluster.cut_off(other);
    let connection = cluster.open(leader);
    cluster.send(leader, connection, 9, &produce_request("t", 0, -1, batch(&["a"])));
    cluster.run();
    assert_eq!(cluster.produced(leader, connection), None, "a member that lags holds the commit");
    cluster.pass(11 * SECOND);
    let mut expected = [leader, one];
    expected.sort_unstable();
    assert_eq!(cluster.isr(id), expected);
    assert_eq!(cluster.produced(leader, connection).unwrap().error, ErrorCode::None);
    cluster.cut_off.clear();
    cluster.pass(3 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
}

#[test]
fn below_min_isr_nothing_is_appended_and_what_is_committed_is_served() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&["a"]));
    for broker in others(leader) {
        cluster.kill(broker);
        cluster.fence(broker);
    }
    cluster.pass(12 * SECOND);
    let refused = cluster.produce(leader, "t", 0, -1, batch(&["b"]));
    assert_eq!(refused.error, ErrorCode::NotEnoughReplicas);
    assert_eq!(cluster.list_offset(leader, "t", 0, -1).offset, 1);
    assert_eq!(cluster.read_all(leader, "t", 0), ["a"]);
    for broker in others(leader) {
        cluster.restart(broker);
    }
    cluster.pass(3 * SECOND);
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&["b"])).error, ErrorCode::None);
}

#[test]
fn a_duplicate_is_known_to_the_new_leader() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    assert_eq!(cluster.produce(leader, "t", 0, -1, numbered(&["a"], 9, 0, 0)).base_offset, 0);
    assert_eq!(cluster.produce(leader, "t", 0, -1, numbered(&["b"], 9, 0, 1)).base_offset, 1);
    cluster.kill(leader);
    cluster.fence(leader);
    let next = cluster.leader(id);
    assert_eq!(cluster.produce(next, "t", 0, -1, numbered(&["b"], 9, 0, 1)).base_offset, 1);
    assert_eq!(cluster.produce(next, "t", 0, -1, numbered(&["c"], 9, 0, 2)).base_offset, 2);
    assert_eq!(cluster.read_all(next, "t", 0), ["a", "b", "c"]);
}

#[test]
fn a_waiting_reader_learns_of_the_new_leader() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let reader = cluster.open(leader);
    cluster.send(leader, reader, 12, &fetch_request("t", 0, 0, 30_000));
    cluster.run();
    cluster.cut_off(leader);
    cluster.fence(leader);
    let frame = cluster.take_response(leader, reader).expect("woken by the change of role");
    let response: kafka_wire::messages::fetch::FetchResponse<'_> = parse(&frame, 12);
    assert_eq!(response.responses[0].partitions[0].error_code, ErrorCode::NotLeaderOrFollower);
}

#[test]
fn a_leader_that_was_replaced_unknown_to_it_says_nothing_for_sure_of_later_positions() {
    let (mut cluster, id) = three();
    let old = cluster.leader(id);
    cluster.produce(old, "t", 0, -1, batch(&["a"]));
    cluster.behind.insert(old);
    cluster.fence(old);
    let next = cluster.leader(id);
    cluster.produce(next, "t", 0, -1, batch(&["b", "c"]));
    let reader = cluster.open(old);
    let code = |cluster: &mut Cluster| {
        let frame = cluster.take_response(old, reader)?;
        let response: kafka_wire::messages::fetch::FetchResponse<'_> = parse(&frame, 12);
        Some(response.responses[0].partitions[0].error_code)
    };
    cluster.send(old, reader, 12, &fetch_request("t", 0, 3, 0));
    cluster.run();
    assert_eq!(code(&mut cluster), None, "its record is refused, and its own metadata says that it leads");
    cluster.pass(4 * SECOND);
    assert_eq!(code(&mut cluster), Some(ErrorCode::OffsetNotAvailable));
    cluster.send(old, reader, 12, &fetch_request("t", 0, 3, 0));
    cluster.run();
    cluster.catch_up(old);
    cluster.run();
    assert_eq!(code(&mut cluster), Some(ErrorCode::NotLeaderOrFollower));
    assert_eq!(cluster.fetch(next, "t", 0, 4).error_code, ErrorCode::OffsetOutOfRange);
}

#[test]
fn the_latest_offset_is_not_told_before_the_new_leader_knows_it() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&["a"]));
    let [one, other] = others(leader);
    // Both followers hold a record that is not committed.
    cluster.broker(other).disk.hold(true);
    let connection = cluster.open(leader);
    cluster.send(leader, connection, 9, &produce_request("t", 0, -1, batch(&["b"])));
    cluster.run();
    cluster.kill(leader);
    cluster.fence(leader);
    let next = cluster.leader(id);
    if next == one {
        assert_eq!(cluster.list_offset(next, "t", 0, -1).error_code, ErrorCode::OffsetNotAvailable);
        assert_eq!(cluster.fetch(next, "t", 0, 1).error_code, ErrorCode::None, "waits, is not out of range");
        // What is known as committed is found; that there is nothing later is not known.
        assert_eq!(cluster.list_offset(next, "t", 0, START_MS).offset, 0);
        for wanted in [START_MS + 1, -3] {
            let listed = cluster.list_offset(next, "t", 0, wanted);
            assert_eq!(listed.error_code, ErrorCode::OffsetNotAvailable, "{wanted}");
        }
        let frame = cluster.ask(next, 4, &list_request("t", &[(0, -1)]));
        let listed: kafka_wire::messages::list_offsets::ListOffsetsResponse<'_> = parse(&frame, 4);
        let code = listed.topics[0].partitions[0].error_code;
        assert_eq!(code, ErrorCode::LeaderNotAvailable, "older clients know no other word for it");
    }
    cluster.broker(other).disk.hold(false);
    cluster.pass(SECOND);
    for wanted in [START_MS + 1, -3, -1] {
        assert_eq!(cluster.list_offset(next, "t", 0, wanted).error_code, ErrorCode::None, "{wanted}");
    }
}

#[test]
fn ends_of_epochs_are_told() {
    use kafka_wire::messages::offset_for_leader_epoch::*;
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&["a", "b"]));
    cluster.kill(leader);
    cluster.fence(leader);
    let next = cluster.leader(id);
    cluster.produce(next, "t", 0, -1, batch(&["c"]));
    let epoch = cluster.image.partition(id).unwrap().leader_epoch.0;
    let mut end = |leader_epoch| {
        let asked = OffsetForLeaderPartition { partition: 0, current_leader_epoch: -1, leader_epoch };
        let topics = vec![OffsetForLeaderTopic { topic: "t".into(), partitions: vec![asked] }];
        let frame = cluster.ask(next, 4, &OffsetForLeaderEpochRequest { replica_id: -1, topics });
        let response: OffsetForLeaderEpochResponse<'_> = parse(&frame, 4);
        let end = &response.topics[0].partitions[0];
        (end.error_code, end.leader_epoch, end.end_offset)
    };
    assert_eq!(end(0), (ErrorCode::None, 0, 2));
    assert_eq!(end(epoch), (ErrorCode::None, epoch, 3));
    // Who knows a later epoch has read from a later leader: that his log ends here is not said.
    assert_eq!(end(epoch + 5), (ErrorCode::UnknownLeaderEpoch, -1, -1));
}

#[test]
fn retention_by_size_deletes_on_every_replica() {
    let (mut cluster, id) = three_with(1, &[("segment.bytes", "1024"), ("retention.bytes", "2048")]);
    let leader = cluster.leader(id);
    for _ in 0..30 {
        cluster.produce(leader, "t", 0, -1, batch(&[&"x".repeat(300)]));
    }
    cluster.pass(30 * SECOND);
    let start = cluster.list_offset(leader, "t", 0, -2).offset;
    assert!(start > 10, "log start is {start}");
    cluster.kill(leader);
    cluster.fence(leader);
    let next = cluster.leader(id);
    assert_eq!(cluster.list_offset(next, "t", 0, -2).offset, start);
}

#[test]
fn a_deleted_topic_leaves_nothing_and_is_confirmed() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&["a"]));
    let waiting = cluster.open(leader);
    cluster.send(leader, waiting, 12, &fetch_request("t", 0, 1, 30_000));
    cluster.run();
    cluster.delete_topic(id.topic_id);
    assert!(cluster.take_response(leader, waiting).is_some(), "who waits is told");
    let confirmed = |(broker, request): &(i32, ControlRequest)| {
        matches!(request, ControlRequest::RemovalConfirmed { topic_id } if *topic_id == id.topic_id)
            .then_some(*broker)
    };
    let mut confirmed: Vec<i32> = cluster.requests.iter().filter_map(confirmed).collect();
    confirmed.sort_unstable();
    assert_eq!(confirmed, [1, 2, 3]);
    for broker in [1, 2, 3] {
        let dir = format!("topics/{}", id.topic_id);
        assert!(cluster.broker(broker).disk.list(&dir).is_ok_and(|entries| entries.is_empty()));
    }
    cluster.create_topic("t", 1, 3, &[]);
    let id = TopicPartition { topic_id: cluster.image.topic_by_name("t").unwrap().id, ..id };
    let leader = cluster.leader(id);
    assert!(cluster.read_all(leader, "t", 0).is_empty());
    let later = numbered(&["x"], 9, 0, 7);
    assert_eq!(cluster.produce(leader, "t", 0, -1, later).error, ErrorCode::None, "P2 at a name used before");
}

#[test]
fn a_topic_deleted_while_a_broker_is_down_is_removed_at_its_start() {
    let (mut cluster, id) = three();
    cluster.kill(3);
    cluster.fence(3);
    cluster.delete_topic(id.topic_id);
    cluster.restart(3);
    let dir = format!("topics/{}", id.topic_id);
    assert!(cluster.broker(3).disk.list(&dir).is_ok_and(|entries| entries.is_empty()));
    let confirmed = ControlRequest::RemovalConfirmed { topic_id: id.topic_id };
    assert!(cluster.requests.contains(&(3, confirmed)));
}

#[test]
fn c6_a_removal_is_confirmed_only_when_it_is_durable_also_where_the_directory_cannot_be_listed() {
    let (mut cluster, id) = three();
    let dir = format!("topics/{}", id.topic_id);
    let confirmed = ControlRequest::RemovalConfirmed { topic_id: id.topic_id };
    for broker in [1, 2] {
        cluster.broker(broker).disk.fail_next(DiskOperation::List, DiskFault::Medium);
    }
    cluster.kill(3);
    cluster.fence(3);
    cluster.delete_topic(id.topic_id);
    for broker in [1, 2] {
        assert!(!cluster.requests.contains(&(broker, confirmed.clone())), "nothing was synced");
    }
    for _ in 0..9 {
        cluster.broker(3).disk.fail_next(DiskOperation::List, DiskFault::Medium);
    }
    cluster.restart(3);
    assert!(!cluster.requests.contains(&(3, confirmed.clone())), "nothing was removed");
    cluster.pass(9 * SECOND);
    for broker in [1, 2, 3] {
        assert!(cluster.requests.contains(&(broker, confirmed.clone())), "it is tried again");
        cluster.broker(broker).disk.power_cut(7);
        assert!(cluster.broker(broker).disk.list(&dir).is_ok_and(|entries| entries.is_empty()));
    }
}

#[test]
fn all_brokers_killed_at_once_lose_nothing_that_was_acknowledged() {
    for seed in 0..10 {
        let (mut cluster, id) = three();
        let leader = cluster.leader(id);
        let mut expected = Vec::new();
        for round in 0..4 {
            let value = format!("{round}");
            cluster.produce(leader, "t", 0, -1, batch(&[&value]));
            expected.push(value);
        }
        for broker in [1, 2, 3] {
            cluster.kill(broker);
            cluster.broker(broker).disk.power_cut(seed + u64::try_from(broker).unwrap());
        }
        for broker in [1, 2, 3] {
            cluster.restart(broker);
        }
        cluster.pass(3 * SECOND);
        let leader = cluster.leader(id);
        assert_eq!(cluster.read_all(leader, "t", 0), expected, "seed {seed}");
    }
}

#[test]
fn a_clean_stop_is_said_and_the_next_start_scans_nothing() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&[&"x".repeat(100_000)]));
    cluster.tell(leader, broker_core::ShardId(0), broker_core::ShardMessage::Stop);
    cluster.run();
    assert_eq!(cluster.broker(leader).stopped, [true]);
    cluster.kill(leader);
    cluster.fence(leader);
    let disk = cluster.broker(leader).disk.another_handle();
    cluster.start(leader, disk, true);
    cluster.pass(2 * SECOND);
    assert!(cluster.broker(leader).shards[0].metrics().record_bytes_read_at_start < 64 << 10);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
}

#[test]
fn nothing_is_led_before_the_registration_is_applied() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&["a"]));
    cluster.kill(leader);
    cluster.broker(leader).disk.hold(true);
    cluster.restart(leader);
    let refused = cluster.produce(leader, "t", 0, -1, batch(&["b"]));
    assert_eq!(refused.error, ErrorCode::NotLeaderOrFollower);
    cluster.broker(leader).disk.hold(false);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.isr(id), [1, 2, 3]);
}

#[test]
fn retention_by_time_deletes_on_every_replica_and_small_segments_roll_by_age() {
    let (mut cluster, id) = three_with(1, &[("segment.ms", "60000"), ("retention.ms", "310000")]);
    let leader = cluster.leader(id);
    for round in 0..5_i64 {
        let timestamp = cluster.now.wall.0;
        cluster.produce(leader, "t", 0, -1, batch_at(&[&format!("{round}")], timestamp));
        cluster.pass(61 * SECOND);
    }
    assert_eq!(cluster.list_offset(leader, "t", 0, -2).offset, 0, "nothing is old enough");
    cluster.pass(120 * SECOND);
    let start = cluster.list_offset(leader, "t", 0, -2).offset;
    assert!((1..5).contains(&start), "log start is {start}");
    cluster.kill(leader);
    cluster.fence(leader);
    let next = cluster.leader(id);
    assert!(cluster.list_offset(next, "t", 0, -2).offset >= start);
}

#[test]
fn committed_batches_are_hashed_in_idle_moments() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    for _ in 0..4 {
        cluster.produce(leader, "t", 0, -1, batch(&[&"x".repeat(100_000)]));
    }
    let now = cluster.now;
    let shard = &mut cluster.broker(leader).shards[0];
    let steps = (0..1_000).take_while(|_| shard.handle_idle(now)).count();
    assert!((2..1_000).contains(&steps), "{steps} steps, then nothing is left");
    assert!(shard.metrics().bytes_hashed > 400_000);
    cluster.run();
}

#[test]
fn gauges_count_what_the_shards_hold() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    cluster.produce(leader, "t", 0, -1, batch(&["a"]));
    let gauges = cluster.broker(leader).shards[0].gauges();
    assert_eq!((gauges.partitions, gauges.partitions_led, gauges.partitions_under_replicated), (1, 1, 0));
    assert!(gauges.log_bytes > 0);
    let [one, _] = others(leader);
    cluster.kill(one);
    cluster.fence(one);
    let gauges = cluster.broker(leader).shards[0].gauges();
    assert_eq!((gauges.partitions_under_replicated, gauges.partitions_under_min_isr), (1, 0));
}

#[test]
fn a_stream_that_comes_after_the_role_it_was_for_is_closed_and_forgotten() {
    let (mut cluster, id) = three();
    let (leader, now) = (cluster.leader(id), cluster.now);
    let shard = &mut cluster.broker(leader).shards[0];
    let (key, stream) = (ReplicaKey { partition: id, session: Session(1) }, StreamId(1 << 32));
    shard.handle_replica_connected(now, key, stream);
    let closed = std::iter::from_fn(|| shard.poll_action()).collect::<Vec<_>>();
    assert!(matches!(closed[..], [ShardAction::CloseReplica { stream: closed }] if closed == stream));
    // A frame that is none ends a stream that is known.
    shard.handle_replica_frame(now, stream, &Frame::default());
    assert_eq!(std::iter::from_fn(|| shard.poll_action()).count(), 0, "nobody knows it any more");
}
