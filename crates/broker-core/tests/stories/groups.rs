//! Groups: found, joined, assigned; positions that survive.

use std::time::Duration;

use kafka_wire::ErrorCode;
use kafka_wire::messages::consumer_group_describe::*;
use kafka_wire::messages::delete_groups::*;
use kafka_wire::messages::describe_groups::*;
use kafka_wire::messages::find_coordinator::*;
use kafka_wire::messages::heartbeat::*;
use kafka_wire::messages::join_group::*;
use kafka_wire::messages::leave_group::*;
use kafka_wire::messages::list_groups::*;
use kafka_wire::messages::offset_commit::*;
use kafka_wire::messages::offset_delete::*;
use kafka_wire::messages::offset_fetch::*;
use kafka_wire::messages::sync_group::*;

use highwater_broker_core::{ConnectionId, Limits};
use log_core::{PartitionIndex, TopicPartition};
use log_store::{DiskFault, DiskOperation};

use crate::support::Cluster;
use crate::support::client::parse;

const GROUP: &str = "g";

fn find(cluster: &mut Cluster) -> i32 {
    let request = FindCoordinatorRequest { key: GROUP.into(), ..FindCoordinatorRequest::default() };
    let frame = cluster.ask(1, 2, &request);
    let response: FindCoordinatorResponse<'_> = parse(&frame, 2);
    assert_eq!(response.error_code, ErrorCode::None);
    response.node_id
}

struct Member {
    id: String,
    generation: i32,
}

fn join_request<'a>(member_id: &'a str) -> JoinGroupRequest<'a> {
    JoinGroupRequest {
        group_id: GROUP.into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        member_id: member_id.into(),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".into(), metadata: b"sub"[..].into() }],
        ..JoinGroupRequest::default()
    }
}

/// One member that joined and has its assignment, as a client of today does it.
fn join(cluster: &mut Cluster, coordinator: i32) -> Member {
    let frame = cluster.ask(coordinator, 9, &join_request(""));
    let first: JoinGroupResponse<'_> = parse(&frame, 9);
    assert_eq!(first.error_code, ErrorCode::MemberIdRequired);
    let id = first.member_id.to_string();
    let frame = cluster.ask(coordinator, 9, &join_request(&id));
    let joined: JoinGroupResponse<'_> = parse(&frame, 9);
    assert_eq!((joined.error_code, &*joined.leader), (ErrorCode::None, &*id));
    assert_eq!(joined.members.len(), 1);
    let generation = joined.generation_id;
    let request = SyncGroupRequest {
        group_id: GROUP.into(),
        generation_id: generation,
        member_id: id.as_str().into(),
        assignments: vec![SyncGroupRequestAssignment {
            member_id: id.as_str().into(),
            assignment: b"all"[..].into(),
        }],
        ..SyncGroupRequest::default()
    };
    let frame = cluster.ask(coordinator, 4, &request);
    let synced: SyncGroupResponse<'_> = parse(&frame, 4);
    assert_eq!((synced.error_code, &*synced.assignment), (ErrorCode::None, &b"all"[..]));
    Member { id, generation }
}

fn heartbeat(cluster: &mut Cluster, coordinator: i32, member: &Member) -> ErrorCode {
    let request = HeartbeatRequest {
        group_id: GROUP.into(),
        generation_id: member.generation,
        member_id: member.id.as_str().into(),
        group_instance_id: None,
    };
    let frame = cluster.ask(coordinator, 4, &request);
    parse::<HeartbeatResponse>(&frame, 4).error_code
}

fn commit(
    cluster: &mut Cluster,
    coordinator: i32,
    member: Option<&Member>,
    topic: &str,
    offset: i64,
) -> ErrorCode {
    let frame = cluster.ask(coordinator, 8, &commit_request(member, topic, offset));
    parse::<OffsetCommitResponse<'_>>(&frame, 8).topics[0].partitions[0].error_code
}

fn commit_request<'a>(member: Option<&'a Member>, topic: &'a str, offset: i64) -> OffsetCommitRequest<'a> {
    let partitions = vec![OffsetCommitRequestPartition {
        partition_index: 0,
        committed_offset: offset,
        committed_leader_epoch: 3,
        committed_metadata: Some("note".into()),
    }];
    OffsetCommitRequest {
        group_id: GROUP.into(),
        generation_id_or_member_epoch: member.map_or(-1, |member| member.generation),
        member_id: member.map_or("", |member| &member.id).into(),
        topics: vec![OffsetCommitRequestTopic { name: topic.into(), partitions, ..Default::default() }],
        ..OffsetCommitRequest::default()
    }
}

fn committed(cluster: &mut Cluster, coordinator: i32) -> (ErrorCode, i64) {
    let topics = Some(vec![OffsetFetchRequestTopic { name: "t".into(), partition_indexes: vec![0] }]);
    let request = OffsetFetchRequest { group_id: GROUP.into(), topics, ..OffsetFetchRequest::default() };
    let frame = cluster.ask(coordinator, 7, &request);
    let response: OffsetFetchResponse<'_> = parse(&frame, 7);
    let partition = &response.topics[0].partitions[0];
    (response.error_code, partition.committed_offset)
}

#[test]
fn the_coordinator_is_found_and_its_topic_made_on_first_use() {
    let mut cluster = Cluster::new(3);
    let coordinator = find(&mut cluster);
    let topic = cluster.image.topic_by_name("__consumer_offsets").unwrap();
    assert_eq!(topic.partition_count(), 8);
    assert_eq!((topic.settings.retention_ms, topic.settings.retention_bytes), (None, None));
    let request = FindCoordinatorRequest {
        coordinator_keys: vec![GROUP.into(), "other".into()],
        ..FindCoordinatorRequest::default()
    };
    let frame = cluster.ask(2, 6, &request);
    let response: FindCoordinatorResponse<'_> = parse(&frame, 6);
    assert_eq!(response.coordinators.len(), 2);
    assert_eq!(response.coordinators[0].node_id, coordinator, "every broker says the same");
    let request = FindCoordinatorRequest { key: "tx".into(), key_type: 1, ..Default::default() };
    let frame = cluster.ask(1, 2, &request);
    let error = parse::<FindCoordinatorResponse<'_>>(&frame, 2).error_code;
    assert_eq!(error, ErrorCode::TransactionalIdAuthorizationFailed);
}

#[test]
fn a_single_member_joins_syncs_lives_commits_and_leaves() {
    for shards in [1, 3] {
        let mut cluster = Cluster::with(3, shards, &[]);
        cluster.create_topic("t", 1, 3, &[]);
        let coordinator = find(&mut cluster);
        let member = join(&mut cluster, coordinator);
        cluster.pass(Duration::from_secs(8));
        assert_eq!(heartbeat(&mut cluster, coordinator, &member), ErrorCode::None);
        assert_eq!(commit(&mut cluster, coordinator, Some(&member), "t", 7), ErrorCode::None);
        assert_eq!(committed(&mut cluster, coordinator), (ErrorCode::None, 7));
        assert_eq!(commit(&mut cluster, coordinator, None, "t", 9), ErrorCode::UnknownMemberId);
        let unknown = commit(&mut cluster, coordinator, Some(&member), "none", 1);
        assert_eq!(unknown, ErrorCode::UnknownTopicOrPartition);
        let members = vec![MemberIdentity { member_id: member.id.as_str().into(), ..Default::default() }];
        let request = LeaveGroupRequest { group_id: GROUP.into(), members, ..LeaveGroupRequest::default() };
        let frame = cluster.ask(coordinator, 5, &request);
        let left: LeaveGroupResponse<'_> = parse(&frame, 5);
        assert_eq!((left.error_code, left.members[0].error_code), (ErrorCode::None, ErrorCode::None));
        assert_eq!(heartbeat(&mut cluster, coordinator, &member), ErrorCode::UnknownMemberId);
        assert_eq!(commit(&mut cluster, coordinator, None, "t", 9), ErrorCode::None);
        assert_eq!(committed(&mut cluster, coordinator), (ErrorCode::None, 9));
    }
}

#[test]
fn positions_and_members_survive_the_coordinators_death() {
    let mut cluster = Cluster::new(3);
    cluster.create_topic("t", 1, 3, &[]);
    let coordinator = find(&mut cluster);
    let member = join(&mut cluster, coordinator);
    assert_eq!(commit(&mut cluster, coordinator, Some(&member), "t", 7), ErrorCode::None);
    cluster.kill(coordinator);
    cluster.fence(coordinator);
    cluster.pass(Duration::from_secs(1));
    let asked = if coordinator == 1 { 2 } else { 1 };
    let request = FindCoordinatorRequest { key: GROUP.into(), ..FindCoordinatorRequest::default() };
    let frame = cluster.ask(asked, 2, &request);
    let next = parse::<FindCoordinatorResponse<'_>>(&frame, 2).node_id;
    assert_ne!(next, coordinator);
    assert_eq!(committed(&mut cluster, next), (ErrorCode::None, 7));
    assert_eq!(heartbeat(&mut cluster, next, &member), ErrorCode::None, "it need not join again");
    assert_eq!(commit(&mut cluster, next, Some(&member), "t", 8), ErrorCode::None);
}

#[test]
fn positions_survive_the_kill_of_all_brokers() {
    let mut cluster = Cluster::new(3);
    cluster.create_topic("t", 1, 3, &[]);
    let coordinator = find(&mut cluster);
    for offset in 0..50 {
        assert_eq!(commit(&mut cluster, coordinator, None, "t", offset), ErrorCode::None);
    }
    for broker in [1, 2, 3] {
        cluster.kill(broker);
    }
    for broker in [1, 2, 3] {
        cluster.restart(broker);
    }
    cluster.pass(Duration::from_secs(2));
    let coordinator = find(&mut cluster);
    assert_eq!(committed(&mut cluster, coordinator), (ErrorCode::None, 49));
}

/// Who coordinates when `coordinator` is gone: the next replica of the partition that it leads.
fn next_coordinator(cluster: &Cluster, coordinator: i32) -> i32 {
    let topic = cluster.image.topic_by_name("__consumer_offsets").unwrap();
    let mut partitions = topic.partitions().map(|(_, partition)| partition);
    let led = partitions.find(|partition| partition.leader.is_some_and(|leader| leader.0 == coordinator));
    let mut others = led.unwrap().replica_brokers().map(|broker| broker.0);
    others.find(|broker| *broker != coordinator).unwrap()
}

#[test]
fn a_read_that_fails_while_groups_are_read_leaves_no_position_out() {
    for good in 0..5 {
        for fault in [DiskFault::Os(11), DiskFault::Medium] {
            let mut cluster = Cluster::new(3);
            cluster.create_topic("t", 1, 3, &[]);
            let coordinator = find(&mut cluster);
            for offset in 0..20 {
                assert_eq!(commit(&mut cluster, coordinator, None, "t", offset), ErrorCode::None);
            }
            // Recent appends have left the memory: the next coordinator reads its file.
            cluster.pass(Duration::from_secs(15));
            let next = next_coordinator(&cluster, coordinator);
            cluster.broker(next).disk.fail_after(good, DiskOperation::Read, fault);
            cluster.kill(coordinator);
            cluster.fence(coordinator);
            cluster.pass(Duration::from_secs(5));
            let asked = if coordinator == 1 { 2 } else { 1 };
            let request = FindCoordinatorRequest { key: GROUP.into(), ..FindCoordinatorRequest::default() };
            let frame = cluster.ask(asked, 2, &request);
            let found = parse::<FindCoordinatorResponse<'_>>(&frame, 2).node_id;
            let case = format!("{good} reads went well, then {fault:?}");
            assert_eq!(committed(&mut cluster, found), (ErrorCode::None, 19), "{case}");
        }
    }
}

#[test]
fn another_broker_is_not_the_coordinator() {
    let mut cluster = Cluster::new(3);
    cluster.create_topic("t", 1, 3, &[]);
    let coordinator = find(&mut cluster);
    let other = if coordinator == 1 { 2 } else { 1 };
    assert_eq!(committed(&mut cluster, other).0, ErrorCode::NotCoordinator);
    assert_eq!(commit(&mut cluster, other, None, "t", 1), ErrorCode::NotCoordinator);
    let frame = cluster.ask(other, 9, &join_request(""));
    assert_eq!(parse::<JoinGroupResponse<'_>>(&frame, 9).error_code, ErrorCode::NotCoordinator);
}

#[test]
fn every_version_of_offset_fetch_answers() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    let id = kafka_wire::Uuid(cluster.image.topic_by_name("t").unwrap().id.0);
    find(&mut cluster);
    commit(&mut cluster, 1, None, "t", 5);
    for version in 1..=7 {
        let topics = Some(vec![OffsetFetchRequestTopic { name: "t".into(), partition_indexes: vec![0, 9] }]);
        let request = OffsetFetchRequest { group_id: GROUP.into(), topics, ..Default::default() };
        let frame = cluster.ask(1, version, &request);
        let response: OffsetFetchResponse<'_> = parse(&frame, version);
        let offsets: Vec<i64> =
            response.topics[0].partitions.iter().map(|partition| partition.committed_offset).collect();
        assert_eq!(offsets, [5, -1], "version {version}");
        if version >= 2 {
            let request = OffsetFetchRequest { group_id: GROUP.into(), ..Default::default() };
            let frame = cluster.ask(1, version, &request);
            assert_eq!(parse::<OffsetFetchResponse<'_>>(&frame, version).topics.len(), 1, "null is all");
        }
    }
    for version in 8..=10 {
        let topic = OffsetFetchRequestTopics { name: "t".into(), topic_id: id, partition_indexes: vec![0] };
        let groups = vec![OffsetFetchRequestGroup {
            group_id: GROUP.into(),
            topics: Some(vec![topic]),
            ..OffsetFetchRequestGroup::default()
        }];
        let frame = cluster.ask(1, version, &OffsetFetchRequest { groups, ..Default::default() });
        let response: OffsetFetchResponse<'_> = parse(&frame, version);
        let partition = &response.groups[0].topics[0].partitions[0];
        assert_eq!((partition.committed_offset, partition.committed_leader_epoch), (5, 3));
        assert_eq!(partition.metadata.as_deref(), Some("note"));
    }
}

#[test]
fn groups_are_listed_described_and_deleted() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    find(&mut cluster);
    let member = join(&mut cluster, 1);
    let list = |cluster: &mut Cluster, state: Option<&'static str>| {
        let states_filter = state.into_iter().map(Into::into).collect();
        let frame = cluster.ask(1, 5, &ListGroupsRequest { states_filter, types_filter: Vec::new() });
        let response: ListGroupsResponse<'_> = parse(&frame, 5);
        let group = |group: &ListedGroup<'_>| (group.group_id.to_string(), group.group_state.to_string());
        response.groups.iter().map(group).collect::<Vec<_>>()
    };
    assert_eq!(list(&mut cluster, None), [("g".to_owned(), "Stable".to_owned())]);
    assert_eq!(list(&mut cluster, Some("Empty")), []);
    let describe = |cluster: &mut Cluster, version, group: &'static str| {
        let groups = vec![group.into()];
        let request = DescribeGroupsRequest { groups, include_authorized_operations: false };
        let frame = cluster.ask(1, version, &request);
        let response: DescribeGroupsResponse<'_> = parse(&frame, version);
        let group = &response.groups[0];
        (group.error_code, group.group_state.to_string(), group.members.len())
    };
    assert_eq!(describe(&mut cluster, 5, GROUP), (ErrorCode::None, "Stable".to_owned(), 1));
    assert_eq!(describe(&mut cluster, 5, "none"), (ErrorCode::None, "Dead".to_owned(), 0));
    assert_eq!(describe(&mut cluster, 6, "none").0, ErrorCode::GroupIdNotFound);
    let delete = |cluster: &mut Cluster, group: &'static str| {
        let frame = cluster.ask(1, 2, &DeleteGroupsRequest { groups_names: vec![group.into()] });
        parse::<DeleteGroupsResponse<'_>>(&frame, 2).results[0].error_code
    };
    assert_eq!(delete(&mut cluster, GROUP), ErrorCode::NonEmptyGroup);
    assert_eq!(delete(&mut cluster, "none"), ErrorCode::GroupIdNotFound);
    cluster.pass(Duration::from_secs(11));
    assert_eq!(heartbeat(&mut cluster, 1, &member), ErrorCode::UnknownMemberId);
    cluster.pass(Duration::from_secs(61));
    assert_eq!(commit(&mut cluster, 1, None, "t", 5), ErrorCode::None);
    assert_eq!(delete(&mut cluster, GROUP), ErrorCode::None);
    assert_eq!(committed(&mut cluster, 1), (ErrorCode::None, -1));
}

fn delete_offsets(cluster: &mut Cluster, broker: i32, topics: &[(&'static str, i32)]) -> Vec<ErrorCode> {
    let topic = |(name, partition_index): &(&'static str, i32)| OffsetDeleteRequestTopic {
        name: (*name).into(),
        partitions: vec![OffsetDeleteRequestPartition { partition_index: *partition_index }],
    };
    let topics = topics.iter().map(topic).collect();
    let frame = cluster.ask(broker, 0, &OffsetDeleteRequest { group_id: GROUP.into(), topics });
    let response: OffsetDeleteResponse<'_> = parse(&frame, 0);
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let codes = partitions.map(|partition| partition.error_code);
    std::iter::once(response.error_code).chain(codes).collect()
}

#[test]
fn positions_are_deleted_by_topic_unless_a_member_reads_it() {
    use ErrorCode::{GroupIdNotFound, GroupSubscribedToTopic, None as Fine, UnknownTopicOrPartition};
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    find(&mut cluster);
    assert_eq!(delete_offsets(&mut cluster, 1, &[("t", 0)]), [GroupIdNotFound]);
    let member = join(&mut cluster, 1);
    assert_eq!(commit(&mut cluster, 1, Some(&member), "t", 5), Fine);
    // The subscription of this member cannot be read: it may name any topic.
    assert_eq!(delete_offsets(&mut cluster, 1, &[("t", 0)]), [Fine, GroupSubscribedToTopic]);
    assert_eq!(committed(&mut cluster, 1), (Fine, 5));
    cluster.pass(Duration::from_secs(72));
    let asked = [("none", 0), ("t", 0), ("t", 1)];
    let codes = [Fine, UnknownTopicOrPartition, Fine, UnknownTopicOrPartition];
    assert_eq!(delete_offsets(&mut cluster, 1, &asked), codes);
    assert_eq!(committed(&mut cluster, 1), (Fine, -1));
}

#[test]
fn no_group_is_of_the_consumer_protocol() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    find(&mut cluster);
    join(&mut cluster, 1);
    let group_ids = vec![GROUP.into(), "none".into()];
    let request = ConsumerGroupDescribeRequest { group_ids, include_authorized_operations: false };
    let frame = cluster.ask(1, 1, &request);
    let response: ConsumerGroupDescribeResponse<'_> = parse(&frame, 1);
    let told = response.groups.iter().map(|group| (&*group.group_id, group.error_code));
    let missing = ErrorCode::GroupIdNotFound;
    assert_eq!(told.collect::<Vec<_>>(), [(GROUP, missing), ("none", missing)]);
}

#[test]
fn positions_in_a_deleted_topic_are_gone() {
    let mut cluster = Cluster::new(1);
    let topic = cluster.create_topic("t", 1, 1, &[]);
    find(&mut cluster);
    commit(&mut cluster, 1, None, "t", 5);
    cluster.delete_topic(topic);
    assert_eq!(committed(&mut cluster, 1), (ErrorCode::None, -1));
}

#[test]
fn commits_below_min_isr_are_refused_and_nothing_is_stored() {
    let mut cluster = Cluster::new(3);
    cluster.create_topic("t", 1, 3, &[]);
    let coordinator = find(&mut cluster);
    for broker in (1..=3).filter(|broker| *broker != coordinator) {
        cluster.kill(broker);
        cluster.fence(broker);
    }
    cluster.pass(Duration::from_secs(12));
    let refused = commit(&mut cluster, coordinator, None, "t", 5);
    assert_eq!(refused, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(committed(&mut cluster, coordinator), (ErrorCode::None, -1));
}

#[test]
fn a_pipelined_look_sees_the_commit_before_it() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    find(&mut cluster);
    let connection = cluster.open(1);
    let partitions =
        vec![OffsetCommitRequestPartition { partition_index: 0, committed_offset: 4, ..Default::default() }];
    let commit = OffsetCommitRequest {
        group_id: GROUP.into(),
        generation_id_or_member_epoch: -1,
        topics: vec![OffsetCommitRequestTopic { name: "t".into(), partitions, ..Default::default() }],
        ..OffsetCommitRequest::default()
    };
    cluster.send(1, connection, 8, &commit);
    cluster.send(1, connection, 7, &OffsetFetchRequest { group_id: GROUP.into(), ..Default::default() });
    cluster.run();
    cluster.take_response(1, connection).unwrap();
    let frame = cluster.take_response(1, connection).unwrap();
    let response: OffsetFetchResponse<'_> = parse(&frame, 7);
    assert_eq!(response.topics[0].partitions[0].committed_offset, 4);
}

#[test]
fn the_log_of_groups_is_begun_anew_and_loses_no_position() {
    let mut cluster = Cluster::new(3);
    let limits = Limits { groups_rewrite_bytes: 4_000, ..Limits::default() };
    cluster.limits = limits;
    for broker in [1, 2, 3] {
        cluster.kill(broker);
        cluster.restart(broker);
    }
    cluster.create_topic("t", 1, 3, &[]);
    cluster.pass(Duration::from_secs(2));
    let coordinator = find(&mut cluster);
    let member = join(&mut cluster, coordinator);
    for offset in 0..200 {
        assert_eq!(commit(&mut cluster, coordinator, Some(&member), "t", offset), ErrorCode::None);
    }
    cluster.pass(Duration::from_secs(2));
    let log = cluster.broker(coordinator).shards[0].gauges();
    assert_eq!(log.records_uncommitted, 0);
    let id = TopicPartition {
        topic_id: cluster.image.topic_by_name("__consumer_offsets").unwrap().id,
        partition: PartitionIndex(i32::from(b'g') % 8),
    };
    assert_eq!(cluster.leader(id), coordinator, "the group's partition");
    let start = cluster.list_offset(coordinator, "__consumer_offsets", id.partition.0, -2).offset;
    assert!(start > 100, "the old part is gone: the log starts at {start}");
    cluster.kill(coordinator);
    cluster.fence(coordinator);
    cluster.pass(Duration::from_secs(1));
    let next = cluster.leader(id);
    assert_eq!(committed(&mut cluster, next), (ErrorCode::None, 199));
    assert_eq!(heartbeat(&mut cluster, next, &member), ErrorCode::None);
}

/// Bytes at which the log of groups is begun anew here: its file has space for 256 KiB, which the state then does not fit into.
const REWRITE_BYTES: u64 = 240_000;

/// A broker with a topic of eight partitions.
fn alone() -> Cluster {
    let mut cluster = Cluster::new(1);
    cluster.limits = Limits { groups_rewrite_bytes: REWRITE_BYTES, ..Limits::default() };
    cluster.kill(1);
    cluster.restart(1);
    cluster.create_topic("t", 8, 1, &[]);
    assert_eq!(find(&mut cluster), 1);
    cluster
}

/// Commits the position of one partition after the other, each with a long note.
fn send_long_commit(cluster: &mut Cluster, number: i64) -> ConnectionId {
    let note = "x".repeat(4_000);
    let mut request = commit_request(None, "t", number);
    let partition = &mut request.topics[0].partitions[0];
    (partition.partition_index, partition.committed_metadata) = (number as i32 % 8, Some(note.into()));
    let connection = cluster.open(1);
    cluster.send(1, connection, 8, &request);
    cluster.run();
    connection
}

/// Goes on with these until the log has been begun anew: how many there are then in all.
fn commit_until_begun_anew(cluster: &mut Cluster, mut commits: i64) -> i64 {
    while groups_log_start(cluster) == 0 {
        let connection = send_long_commit(cluster, commits);
        assert!(cluster.take_response(1, connection).is_some());
        commits += 1;
    }
    commits
}

/// Where the log begins of the partition that the group is in.
fn groups_log_start(cluster: &mut Cluster) -> i64 {
    cluster.list_offset(1, "__consumer_offsets", i32::from(b'g') % 8, -2).offset
}

#[test]
fn a_log_of_groups_that_could_not_be_begun_anew_is_as_long_as_before() {
    let needed = commit_until_begun_anew(&mut alone(), 0);
    let mut cluster = alone();
    for number in 0..needed - 1 {
        send_long_commit(&mut cluster, number);
    }
    let disk = cluster.broker(1).disk.another_handle();
    disk.hold(true);
    let connection = send_long_commit(&mut cluster, needed - 1);
    // It is written and not durable yet. Once it is, the state is appended, for which the file has to grow.
    disk.fail_next(DiskOperation::Preallocate, DiskFault::Full);
    disk.hold(false);
    cluster.run();
    assert!(cluster.take_response(1, connection).is_some());
    assert_eq!(groups_log_start(&mut cluster), 0, "it is not begun anew");
    let twice = commit_until_begun_anew(&mut cluster, needed);
    assert!(
        (2 * needed - 1..=2 * needed).contains(&twice),
        "{needed} commits, and {twice} for twice the bytes"
    );
}
