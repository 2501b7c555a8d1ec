//! An operator's way out: elections by command, of the replica that has most, damaged or not (C5, ADR 0016).

use std::time::Duration;

use kafka_wire::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicRequest,
};
use kafka_wire::messages::elect_leaders::*;
use kafka_wire::messages::list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
use kafka_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use kafka_wire::messages::unregister_broker::*;
use kafka_wire::{ErrorCode, Uuid};
use log_core::TopicPartition;
use log_store::Disk;

use crate::replication::{SECOND, others, three, three_with};
use crate::support::Cluster;
use crate::support::client::*;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// The code of each partition's election.
fn elect(cluster: &mut Cluster, broker: i32, request: &ElectLeadersRequest<'_>) -> Vec<(i32, ErrorCode)> {
    let frame = cluster.ask(broker, 2, request);
    let response: ElectLeadersResponse<'_> = parse(&frame, 2);
    assert_eq!(response.error_code, ErrorCode::None);
    let all = response.replica_election_results.iter().flat_map(|topic| &topic.partition_result);
    all.map(|found| (found.partition_id, found.error_code)).collect()
}

fn request(election_type: i8, choices: Vec<ElectLeadersChoice<'_>>) -> ElectLeadersRequest<'_> {
    let topic = ElectLeadersTopic { topic: "t".into(), partitions: vec![0] };
    ElectLeadersRequest { election_type, topic_partitions: Some(vec![topic]), timeout_ms: 5_000, choices }
}

fn choice(cluster: &Cluster, id: TopicPartition, leader_id: i32) -> Vec<ElectLeadersChoice<'static>> {
    let leader_epoch = cluster.image.partition(id).unwrap().leader_epoch.0;
    let (topic, partition_index) = ("t".into(), 0);
    vec![ElectLeadersChoice { topic, partition_index, leader_epoch, leader_id, shown: Vec::new() }]
}

/// What a replica says of itself: code, last epoch, end.
fn own_end(cluster: &mut Cluster, broker: i32) -> (ErrorCode, i32, i64) {
    let request = ListOffsetsRequest { replica_id: -2, ..list_request("t", &[(0, -1)]) };
    let frame = cluster.ask(broker, 11, &request);
    let response: ListOffsetsResponse<'_> = parse(&frame, 11);
    let found = &response.topics[0].partitions[0];
    (found.error_code, found.leader_epoch, found.offset)
}

#[test]
fn a_preferred_leader_leads_again_when_somebody_asks_for_it() {
    let (mut cluster, id) = three();
    let preferred = cluster.leader(id);
    assert_eq!(elect(&mut cluster, 1, &request(PREFERRED, vec![])), [(0, ErrorCode::ElectionNotNeeded)]);
    cluster.kill(preferred);
    cluster.fence(preferred);
    let not_there = [(0, ErrorCode::PreferredLeaderNotAvailable)];
    let other = others(preferred)[0];
    assert_eq!(elect(&mut cluster, other, &request(PREFERRED, vec![])), not_there);
    cluster.restart(preferred);
    cluster.pass(2 * SECOND);
    assert_ne!(cluster.leader(id), preferred);
    let all = ElectLeadersRequest { topic_partitions: None, ..request(PREFERRED, vec![]) };
    assert_eq!(elect(&mut cluster, other, &all), [(0, ErrorCode::None)]);
    assert_eq!(cluster.leader(id), preferred);
    assert_eq!(elect(&mut cluster, other, &all), [], "all are as they should be");
}

#[test]
fn an_election_of_a_kind_or_a_partition_that_is_not_there_is_refused() {
    let (mut cluster, _) = three();
    let frame = cluster.ask(1, 2, &request(7, vec![]));
    let response: ElectLeadersResponse<'_> = parse(&frame, 2);
    assert_eq!(response.error_code, ErrorCode::InvalidRequest);
    let mut unknown = request(UNCLEAN, vec![]);
    unknown.topic_partitions.as_mut().unwrap()[0].partitions = vec![0, 9];
    let codes = [(0, ErrorCode::ElectionNotNeeded), (9, ErrorCode::UnknownTopicOrPartition)];
    assert_eq!(elect(&mut cluster, 1, &unknown), codes);
}

#[test]
fn replicas_say_what_they_have_and_the_one_that_is_chosen_leads() {
    let (mut cluster, id) = three_with(1, &[("min.insync.replicas", "1")]);
    let leader = cluster.leader(id);
    let [one, other] = others(leader);
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&["a", "b"])).error, ErrorCode::None);
    cluster.kill(other);
    cluster.fence(other);
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&["c"])).error, ErrorCode::None);
    cluster.kill(one);
    cluster.fence(one);
    assert_eq!(cluster.produce(leader, "t", 0, -1, batch(&["d"])).error, ErrorCode::None);
    cluster.kill(leader);
    cluster.fence(leader);
    cluster.restart(one);
    cluster.restart(other);
    cluster.pass(3 * SECOND);
    assert_eq!(cluster.image.partition(id).unwrap().leader, None, "the one that has all is gone");
    assert_eq!(own_end(&mut cluster, one), (ErrorCode::None, 0, 3));
    assert_eq!(own_end(&mut cluster, other), (ErrorCode::None, 0, 2));
    let chosen = choice(&cluster, id, one);
    assert_eq!(elect(&mut cluster, other, &request(UNCLEAN, chosen)), [(0, ErrorCode::None)]);
    cluster.pass(3 * SECOND);
    assert_eq!(cluster.leader(id), one);
    assert_eq!(cluster.read_all(one, "t", 0), ["a", "b", "c"]);
    assert_eq!(cluster.produce(one, "t", 0, -1, batch(&["e"])).error, ErrorCode::None);
    cluster.pass(3 * SECOND);
    let mut two = [one, other];
    two.sort_unstable();
    assert_eq!(cluster.isr(id), two);
}

fn first_file(id: TopicPartition) -> String {
    format!("topics/{}/0/00000000000000000000.log", id.topic_id)
}

/// The only replica of a partition, damaged in its third batch of four. The bound vouches for all of it: damage above it is a
/// start's to cut, as suspect.
fn damaged() -> (Cluster, TopicPartition) {
    damaged_after(6 * SECOND)
}

fn damaged_after(time: Duration) -> (Cluster, TopicPartition) {
    let mut cluster = Cluster::with(1, 1, &[]);
    let topic_id = cluster.create_topic("t", 1, 1, &[]);
    let id = TopicPartition { topic_id, partition: log_core::PartitionIndex(0) };
    for value in ["a", "b", "c", "d"] {
        let produced = cluster.produce(1, "t", 0, -1, batch(&[&value.repeat(20_000)]));
        assert_eq!(produced.error, ErrorCode::None);
    }
    cluster.pass(time);
    cluster.broker(1).disk.rot(&first_file(id), 50_000, 1);
    let now = cluster.now;
    while cluster.broker(1).shards[0].handle_idle(now) {
        cluster.run();
    }
    cluster.pass(5 * SECOND);
    assert_eq!(cluster.image.partition(id).unwrap().leader, None);
    (cluster, id)
}

/// The replicas of topic `t` that clients are told to be offline, by Metadata and by DescribeTopicPartitions.
fn told_offline(cluster: &mut Cluster) -> [Vec<i32>; 2] {
    let topics = Some(vec![MetadataRequestTopic { topic_id: Uuid::NONE, name: Some("t".into()) }]);
    let frame = cluster.ask(1, 12, &MetadataRequest { topics, ..MetadataRequest::default() });
    let metadata: MetadataResponse<'_> = parse(&frame, 12);
    let topics = vec![TopicRequest { name: "t".into() }];
    let request = DescribeTopicPartitionsRequest { topics, ..DescribeTopicPartitionsRequest::default() };
    let frame = cluster.ask(1, 0, &request);
    let described: DescribeTopicPartitionsResponse<'_> = parse(&frame, 0);
    [
        metadata.topics[0].partitions[0].offline_replicas.clone(),
        described.topics[0].partitions[0].offline_replicas.clone(),
    ]
}

#[test]
fn a_damaged_replica_is_told_to_be_offline_until_it_is_elected() {
    let (mut cluster, id) = damaged();
    assert_eq!(told_offline(&mut cluster), [[1], [1]]);
    let chosen = choice(&cluster, id, 1);
    assert_eq!(elect(&mut cluster, 1, &request(UNCLEAN, chosen)), [(0, ErrorCode::None)]);
    assert_eq!(told_offline(&mut cluster), [[0_i32; 0]; 2]);
}

#[test]
fn the_only_replica_leads_up_to_its_damage_when_an_operator_elects_it() {
    let (mut cluster, id) = damaged();
    assert_eq!(own_end(&mut cluster, 1), (ErrorCode::KafkaStorageError, 0, 2));
    let refused = elect(&mut cluster, 1, &request(UNCLEAN, vec![]));
    assert_eq!(refused, [(0, ErrorCode::EligibleLeadersNotAvailable)], "nobody who does not see the damage");
    let chosen = choice(&cluster, id, 1);
    assert_eq!(elect(&mut cluster, 1, &request(UNCLEAN, chosen)), [(0, ErrorCode::None)]);
    cluster.pass(SECOND);
    let kept = ["a".repeat(20_000), "b".repeat(20_000)];
    assert_eq!(cluster.read_all(1, "t", 0), kept);
    let produced = cluster.produce(1, "t", 0, -1, batch(&["new"]));
    assert_eq!((produced.error, produced.base_offset), (ErrorCode::None, 2));
    let copies = cluster.broker(1).disk.list(&format!("topics/{}/0/quarantine", id.topic_id)).unwrap();
    assert!(copies.iter().any(|copy| copy.len > 40_000), "{copies:?}");
    cluster.kill(1);
    cluster.broker(1).disk.power_cut(3);
    cluster.restart(1);
    cluster.pass(SECOND);
    assert_eq!(cluster.read_all(1, "t", 0), [kept[0].clone(), kept[1].clone(), "new".to_owned()]);
}

#[test]
fn a_salvage_without_room_for_the_copy_leaves_all_as_it_is_until_it_is_elected_again() {
    let (mut cluster, id) = damaged();
    let disk = &cluster.broker(1).disk;
    disk.set_capacity(disk.bytes_used() + 10_000);
    let chosen = choice(&cluster, id, 1);
    assert_eq!(elect(&mut cluster, 1, &request(UNCLEAN, chosen)), [(0, ErrorCode::None)]);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.image.partition(id).unwrap().leader, None);
    assert!(cluster.broker(1).exits.is_empty(), "a full disk is no reason to end");
    cluster.broker(1).disk.set_capacity(u64::MAX);
    let chosen = choice(&cluster, id, 1);
    assert_eq!(elect(&mut cluster, 1, &request(UNCLEAN, chosen)), [(0, ErrorCode::None)]);
    cluster.pass(SECOND);
    assert_eq!(cluster.read_all(1, "t", 0).len(), 2);
}

#[test]
fn damage_that_is_reported_is_no_election() {
    let (mut cluster, id) = damaged();
    cluster.restart(1);
    cluster.pass(5 * SECOND);
    assert_eq!(cluster.image.partition(id).unwrap().leader, None);
    let kept = cluster.broker(1).disk.with_durable(&first_file(id), <[u8]>::len);
    assert!(kept.is_some_and(|bytes| bytes > 80_000), "{kept:?}");
}

#[test]
fn what_a_start_cuts_of_a_damaged_replica_above_its_bound_is_kept_aside() {
    let (mut cluster, id) = damaged_after(Duration::ZERO);
    cluster.restart(1);
    cluster.pass(5 * SECOND);
    assert_eq!(cluster.image.partition(id).unwrap().leader, None);
    let copies = cluster.broker(1).disk.list(&format!("topics/{}/0/quarantine", id.topic_id)).unwrap();
    assert!(copies.iter().any(|copy| copy.len > 40_000), "{copies:?}");
}

#[test]
fn a_replica_that_was_elected_while_its_broker_was_behind_is_salvaged_when_it_sees_it() {
    let (mut cluster, id) = damaged();
    cluster.behind.insert(1);
    let partition_epoch = cluster.image.partition(id).unwrap().partition_epoch;
    let broker = Some(log_core::BrokerId(1));
    let elect = metadata_core::record::ElectUnclean { partition: id, partition_epoch, broker, shown: vec![] };
    cluster.apply(metadata_core::MetadataRecord::ElectUnclean(elect)).unwrap();
    cluster.pass(2 * SECOND);
    cluster.catch_up(1);
    cluster.pass(2 * SECOND);
    assert_eq!(cluster.read_all(1, "t", 0).len(), 2);
}

#[test]
fn a_broker_is_removed_only_if_it_is_not_running() {
    let (mut cluster, id) = three();
    let leader = cluster.leader(id);
    let unregister = |cluster: &mut Cluster, broker_id| {
        let frame = cluster.ask(leader, 0, &UnregisterBrokerRequest { broker_id });
        parse::<UnregisterBrokerResponse<'_>>(&frame, 0).error_code
    };
    let [one, _] = others(leader);
    assert_eq!(unregister(&mut cluster, one), ErrorCode::InvalidRequest);
    cluster.kill(one);
    cluster.fence(one);
    assert_eq!(unregister(&mut cluster, one), ErrorCode::None);
    assert!(cluster.image.broker(log_core::BrokerId(one)).is_none());
    assert_eq!(unregister(&mut cluster, one), ErrorCode::BrokerIdNotRegistered);
}
