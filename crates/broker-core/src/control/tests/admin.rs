//! Commands, proposals and wishes through any broker.

use log_core::{LeaderEpoch, Offset};
use metadata_core::record::ShownEnd;
use metadata_core::{ClusterEventKind, Refusal};

use super::*;
use crate::message::{
    ConfigChange, ConfigOperation, ConfigResource, Election, Fault, IsrAttempt, IsrChange, LeaveReason,
    UncleanChoice,
};

fn new_topic(name: &str) -> NewTopic {
    NewTopic { name: name.into(), partitions: Some(4), ..NewTopic::default() }
}

fn isr(net: &Net, partition: TopicPartition, members: &[i32]) -> IsrChange {
    let found = net.partition(1, partition);
    let epoch = |broker: i32| net.image(1).replica_epoch(partition, b(broker)).unwrap();
    IsrChange {
        attempt: IsrAttempt { partition, leader_epoch: found.leader_epoch, number: 7 },
        broker_epoch: epoch(found.leader.unwrap().0),
        partition_epoch: found.partition_epoch,
        members: members.iter().map(|broker| (b(*broker), epoch(*broker))).collect(),
        leaving: vec![(b(3), LeaveReason::Lagging)],
        proven: vec![],
    }
}

#[test]
fn a_topic_made_through_any_broker_is_known_there_when_it_is_answered() {
    let mut net = Net::of(3);
    let answer = net.command(3, AdminCommand::CreateTopic(new_topic("orders")));
    assert!(matches!(answer, Ok(AdminAnswer::TopicCreated { partitions: 4, replication_factor: 3, .. })));
    assert!(net.image(3).topic_by_name("orders").is_some());
    let again = net.command(2, AdminCommand::CreateTopic(new_topic("orders")));
    assert_eq!(again, Err(AdminError::Refused(Refusal::TopicExists { name: "orders".into() })));
    net.assert_agreed();
}

#[test]
fn topic_ids_are_never_drawn_twice() {
    let mut net = Net::of(2);
    let mut ids = BTreeSet::new();
    for round in 0..20 {
        for broker in [1, 2] {
            let topic = new_topic(&format!("t{round}-{broker}"));
            match net.command(broker, AdminCommand::CreateTopic(topic)) {
                Ok(AdminAnswer::TopicCreated { topic_id, .. }) => assert!(ids.insert(topic_id)),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn what_is_only_validated_is_not_proposed() {
    let mut net = Net::of(2);
    let before = net.cluster.len();
    let topic = NewTopic { validate_only: true, ..new_topic("orders") };
    let answer = net.command(2, AdminCommand::CreateTopic(topic.clone()));
    assert!(matches!(answer, Ok(AdminAnswer::TopicCreated { partitions: 4, replication_factor: 2, .. })));
    let wrong = NewTopic { replication_factor: Some(7), ..topic };
    assert!(matches!(net.command(2, AdminCommand::CreateTopic(wrong)), Err(AdminError::Refused(_))));
    let changes = vec![ConfigChange { key: "retention.mss".into(), operation: ConfigOperation::Delete }];
    let (resource, replace, validate_only) = (ConfigResource::Cluster, false, true);
    let alter = AdminCommand::AlterConfigs { resource, changes, replace, validate_only };
    assert!(matches!(net.command(2, alter), Err(AdminError::Refused(Refusal::InvalidConfig(_)))));
    assert_eq!(net.cluster.len(), before);
}

#[test]
fn configs_partitions_and_deletion_go_through_any_broker() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[1, 2, 3], 2);
    let set = ConfigOperation::Set("1000".into());
    let alter = AdminCommand::AlterConfigs {
        resource: ConfigResource::Topic(topic.topic_id),
        changes: vec![ConfigChange { key: "retention.ms".into(), operation: set }],
        replace: false,
        validate_only: false,
    };
    assert_eq!(net.command(2, alter), Ok(AdminAnswer::Done));
    let topic_id = topic.topic_id;
    let (total, assignments, validate_only) = (3, vec![], false);
    let add = AdminCommand::AddPartitions { topic_id, total, assignments, validate_only };
    assert_eq!(net.command(3, add), Ok(AdminAnswer::Done));
    let found = net.image(1).topic(topic_id).unwrap();
    assert_eq!((found.settings.retention_ms, found.partition_count()), (Some(1_000), 3));
    assert_eq!(net.command(3, AdminCommand::DeleteTopic { topic_id }), Ok(AdminAnswer::Done));
    assert!(net.image(3).topic(topic_id).is_none());
}

#[test]
fn producer_ids_never_overlap() {
    let mut net = Net::of(3);
    let mut taken = BTreeSet::new();
    for broker in [1, 2, 3, 2] {
        match net.command(broker, AdminCommand::AllocateProducerIds) {
            Ok(AdminAnswer::ProducerIds { first, count }) => {
                assert!((first.0..first.0 + i64::from(count)).all(|id| taken.insert(id)));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_quorum_is_described() {
    let mut net = Net::of(4);
    match net.command(1, AdminCommand::DescribeQuorum) {
        Ok(AdminAnswer::Quorum(found)) => {
            assert_eq!((found.leader, found.voters.len(), found.observers.len()), (Some(b(1)), 3, 1));
            assert!(found.voters.iter().all(|voter| voter.end == Some(found.high_watermark)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn preferred_and_unclean_elections_are_answered() {
    let mut net = Net::of(3);
    let partition = net.topic("orders", &[1, 2, 3], 2);
    let elect = |election| AdminCommand::ElectLeader { partition, election };
    let not_needed = Err(AdminError::Refused(Refusal::ElectionNotNeeded { partition }));
    assert_eq!(net.command(2, elect(Election::Preferred)), not_needed);
    assert_eq!(net.command(2, elect(Election::Unclean(None))), not_needed);
    let unknown = metadata_core::record::topic_partition(partition.topic_id, 9);
    let missing = AdminCommand::ElectLeader { partition: unknown, election: Election::Preferred };
    assert!(matches!(net.command(2, missing), Err(AdminError::Refused(Refusal::UnknownPartition { .. }))));
}

/// A partition of brokers 3, 2 and 1 whose last in-sync member, 3, is gone.
fn offline() -> (Net, TopicPartition) {
    let mut net = Net::of(4);
    let partition = net.topic("orders", &[3, 2, 1], 1);
    let change = isr(&net, partition, &[3]);
    net.ask(3, ControlRequest::Isr(IsrChange { leaving: vec![], ..change }));
    net.kill(3);
    net.run(5_000);
    assert_eq!(net.partition(1, partition).leader, None);
    (net, partition)
}

#[test]
fn c5_between_live_replicas_the_one_that_an_operator_chose_by_its_end_is_elected() {
    let (mut net, partition) = offline();
    let elect = |choice| AdminCommand::ElectLeader { partition, election: Election::Unclean(choice) };
    assert_eq!(net.command(4, elect(None)), Err(AdminError::EndsUnknown { candidates: 2 }));
    let leader_epoch = net.partition(1, partition).leader_epoch;
    let end = |broker, end| ShownEnd { broker: b(broker), last_epoch: None, end: Some(Offset(end)) };
    let shown = vec![end(2, 5), end(1, 9)];
    let choice = UncleanChoice { leader: b(1), leader_epoch, shown: shown.clone() };
    let stale = UncleanChoice { leader_epoch: LeaderEpoch(leader_epoch.0 - 1), ..choice.clone() };
    let fenced = net.command(4, elect(Some(stale)));
    assert!(matches!(fenced, Err(AdminError::Refused(Refusal::FencedLeaderEpoch { .. }))), "{fenced:?}");
    assert_eq!(net.command(4, elect(Some(choice))), Ok(AdminAnswer::Done));
    assert_eq!(net.partition(4, partition).leader, Some(b(1)));
    let image = net.image(4);
    let last = &image.events().last().unwrap().kind;
    assert!(matches!(last, ClusterEventKind::UncleanElection { shown: kept, .. } if *kept == shown));
}

#[test]
fn a_replica_that_is_alone_is_elected_without_a_choice() {
    let (mut net, partition) = offline();
    net.kill(2);
    net.run(5_000);
    let elect = AdminCommand::ElectLeader { partition, election: Election::Unclean(None) };
    assert_eq!(net.command(4, elect), Ok(AdminAnswer::Done));
    assert_eq!(net.partition(4, partition).leader, Some(b(1)));
}

#[test]
fn a_broker_that_will_not_come_back_is_removed_and_one_that_runs_is_not() {
    let mut net = Net::of(4);
    let unregister = |broker| AdminCommand::UnregisterBroker { broker: b(broker) };
    let lives = Err(AdminError::Refused(Refusal::BrokerLives { broker: b(3) }));
    assert_eq!(net.command(2, unregister(3)), lives);
    net.kill(3);
    net.run(5_000);
    assert_eq!(net.command(2, unregister(3)), Ok(AdminAnswer::Done));
    net.run(5_000);
    match net.command(2, AdminCommand::DescribeQuorum) {
        Ok(AdminAnswer::Quorum(found)) => {
            let all: Vec<_> =
                found.voters.iter().chain(&found.observers).map(|member| member.broker).collect();
            assert_eq!((all, found.voters.len()), (vec![b(1), b(2), b(4)], 3));
        }
        other => panic!("{other:?}"),
    }
    let unknown = Err(AdminError::Refused(Refusal::UnknownBroker { broker: b(3) }));
    assert_eq!(net.command(2, unregister(3)), unknown);
}

#[test]
fn a_lost_command_is_unknown_at_its_deadline() {
    let mut net = Net::of(3);
    net.cluster.hold_commits(true);
    let id = net.give(1, AdminCommand::AllocateProducerIds);
    assert!(net.cluster.lose_next());
    net.run(4_900);
    assert_eq!(net.answer(1, id), None);
    net.run(200);
    assert_eq!(net.answer(1, id), Some(Err(AdminError::TimedOut)));
}

#[test]
fn a_command_that_nobody_took_is_no_command() {
    let mut net = Net::of(3);
    net.cut(3, true);
    net.run(1_500);
    let id = net.give(3, AdminCommand::CreateTopic(new_topic("orders")));
    net.run(5_100);
    assert_eq!(net.answer(3, id), Some(Err(AdminError::NoController)));
    net.cut(3, false);
    net.run(2_000);
    assert!(net.image(3).topic_by_name("orders").is_none());
}

#[test]
fn a_command_waits_for_the_next_controller() {
    let mut net = Net::of(3);
    net.kill(1);
    let id = net.give(3, AdminCommand::CreateTopic(new_topic("orders")));
    net.run(1_000);
    assert_eq!(net.answer(3, id), None);
    net.cluster.elect(dir(2));
    net.run(1_500);
    assert!(
        matches!(net.answer(3, id), Some(Ok(AdminAnswer::TopicCreated { .. }))),
        "{:?}",
        net.answer(3, id)
    );
}

#[test]
fn a_command_lost_with_its_controller_is_given_to_the_next_one() {
    let mut net = Net::of(3);
    net.cluster.hold_commits(true);
    let id = net.give(3, AdminCommand::CreateTopic(new_topic("orders")));
    net.kill(1);
    net.cluster.hold_commits(false);
    net.run(1_000);
    net.cluster.elect(dir(2));
    net.run(2_000);
    assert!(matches!(net.answer(3, id), Some(Ok(AdminAnswer::TopicCreated { .. }))));
}

#[test]
fn l6_an_isr_change_is_answered_when_it_is_applied_here() {
    let mut net = Net::of(3);
    let partition = net.topic("orders", &[2, 1, 3], 2);
    let change = isr(&net, partition, &[2, 1]);
    net.ask(2, ControlRequest::Isr(change.clone()));
    net.run(100);
    assert_eq!(net.partition(3, partition).isr, [b(2), b(1)]);
    net.ask(2, ControlRequest::Isr(change.clone()));
    net.run(100);
    net.cluster.hold_commits(true);
    net.ask(2, ControlRequest::Isr(change.clone()));
    net.run(2_100);
    let answers = net.nodes[&2].told.iter().filter_map(|told| match told {
        Told::Isr(attempt, answer) => Some((*attempt, *answer)),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    let expected = [IsrAnswer::Applied, IsrAnswer::Refused, IsrAnswer::Unknown];
    assert_eq!(answers, expected.map(|answer| (change.attempt, answer)));
}

#[test]
fn a_shard_gets_its_answer_after_the_image_that_shows_it() {
    let mut net = Net::of(2);
    let (id, deadline) = (AdminId(77), MonoTime(u64::MAX));
    net.nodes.get_mut(&2).unwrap().told.clear();
    net.ask(
        2,
        ControlRequest::Admin { id, deadline, command: AdminCommand::CreateTopic(new_topic("orders")) },
    );
    net.run(200);
    match &net.nodes[&2].told[..] {
        [Told::Image { .. }, Told::Admin(answered, Ok(_))] => assert_eq!(*answered, id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn c3_a_damaged_replica_is_reported_until_it_is_applied_and_may_begin_anew() {
    let mut net = Net::of(3);
    let partition = net.topic("orders", &[1, 2, 3], 2);
    net.cluster.hold_commits(true);
    let partition_epoch = net.partition(3, partition).partition_epoch;
    let fault = Fault::Lost;
    net.ask(3, ControlRequest::ReportFaulty { partition, partition_epoch, fault });
    assert!(net.cluster.lose_next());
    net.cluster.hold_commits(false);
    net.run(1_500);
    assert!(net.partition(1, partition).is_faulty(b(3)));
    let before = net.image(1).replica_epoch(partition, b(3));
    let partition_epoch = net.partition(3, partition).partition_epoch;
    net.ask(3, ControlRequest::ReplicaReset { partition, partition_epoch });
    net.run(1_000);
    assert!(!net.partition(1, partition).is_faulty(b(3)));
    assert!(net.image(1).replica_epoch(partition, b(3)) > before);
    let settled = net.cluster.len();
    net.run(3_000);
    assert_eq!(net.cluster.len(), settled, "wishes that came true are asked no more");
}

#[test]
fn c6_a_removal_is_confirmed_when_every_shard_has_confirmed_it() {
    let mut net = Net::of(2);
    let topic_id = net.topic("orders", &[1, 2], 1).topic_id;
    assert_eq!(net.command(1, AdminCommand::DeleteTopic { topic_id }), Ok(AdminAnswer::Done));
    let holders = |net: &Net| net.image(1).deleted_topic(topic_id).unwrap().holders.clone();
    net.ask(2, ControlRequest::RemovalConfirmed { topic_id });
    net.run(500);
    assert_eq!(holders(&net), BTreeSet::from([b(1), b(2)]));
    let now = net.now();
    net.control(2).handle_request(now, ShardId(0), ControlRequest::RemovalConfirmed { topic_id });
    net.run(500);
    assert_eq!(holders(&net), BTreeSet::from([b(1)]));
}
