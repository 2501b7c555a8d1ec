//! C6 and the making of topics.

use super::*;
use crate::image::DELETED_TOPIC_KEPT_MS;

fn topic(id: u8, name: &str, partitions: i32, factor: i16) -> CreateTopic {
    CreateTopic {
        topic_id: TopicId([id; 16]),
        name: name.into(),
        partitions: Some(partitions),
        replication_factor: Some(factor),
        assignment: vec![],
        configs: vec![],
    }
}

fn create(world: &mut World, fields: CreateTopic) -> Answer {
    world.ok(MetadataRecord::CreateTopic(fields))
}

fn create_refused(world: &mut World, fields: CreateTopic) -> Refusal {
    world.refused(MetadataRecord::CreateTopic(fields))
}

fn delete(world: &mut World, id: u8) {
    world.ok(MetadataRecord::DeleteTopic(DeleteTopic { topic_id: TopicId([id; 16]) }));
}

fn confirm(world: &mut World, broker: i32, id: u8) {
    let (broker_epoch, topics) = (world.epoch(broker), vec![TopicId([id; 16])]);
    world.ok(MetadataRecord::ConfirmRemoval(ConfirmRemoval { broker: b(broker), broker_epoch, topics }));
}

fn forget(world: &mut World, id: u8) -> bool {
    let topic_id = TopicId([id; 16]);
    world.ok(MetadataRecord::ForgetTopics(ForgetTopics { topics: vec![topic_id] }));
    world.image.deleted_topic(topic_id).is_none()
}

#[test]
fn defaults_fit_the_cluster() {
    let mut world = World::brokers(2);
    let fields = CreateTopic { partitions: None, replication_factor: None, ..topic(1, "a", 0, 0) };
    let topic_id = TopicId([1; 16]);
    assert_eq!(
        create(&mut world, fields),
        Answer::TopicCreated { topic_id, partitions: 1, replication_factor: 2 }
    );
    assert_eq!(world.image.topic_by_name("a").unwrap().settings.min_insync_replicas, 2);
}

#[test]
fn fenced_brokers_get_no_replicas() {
    let mut world = World::brokers(4);
    world.fence(&[2]);
    create(&mut world, topic(1, "a", 12, 3));
    assert!(world.image.all_partitions().all(|(_, partition)| partition.replica(b(2)).is_none()));
    assert!(world.image.all_partitions().all(|(_, partition)| partition.leader == partition.preferred()));
}

#[test]
fn counts_out_of_range_are_refused_with_the_limits() {
    let mut world = World::brokers(3);
    for partitions in [0, -1, 1_000_000_000, 10_001] {
        assert!(matches!(
            create_refused(&mut world, topic(1, "a", partitions, 1)),
            Refusal::InvalidPartitions { .. }
        ));
    }
    let refusal = create_refused(&mut world, topic(1, "a", 1_000_000_000, 1));
    assert_eq!(
        refusal.to_string(),
        "1000000000 partitions: a topic has 1 to 10000, and the cluster has room for 200000 more"
    );
    for factor in [0, -1, 4, i16::MAX] {
        let refusal = create_refused(&mut world, topic(1, "a", 1, factor));
        assert_eq!(refusal, Refusal::InvalidReplicationFactor { asked: factor, available: 3 });
    }
}

#[test]
fn names_ids_and_configs_are_checked() {
    let mut world = World::brokers(1);
    assert!(matches!(create_refused(&mut world, topic(1, "../x", 1, 1)), Refusal::InvalidTopicName(_)));
    assert!(matches!(create_refused(&mut world, topic(0, "a", 1, 1)), Refusal::TopicIdUsed { .. }));
    let unknown =
        CreateTopic { configs: vec![("durability".into(), "replicated".into())], ..topic(1, "a", 1, 1) };
    assert!(matches!(create_refused(&mut world, unknown), Refusal::InvalidConfig(_)));
    create(&mut world, topic(1, "a", 1, 1));
    assert_eq!(create_refused(&mut world, topic(2, "a", 1, 1)), Refusal::TopicExists { name: "a".into() });
    assert!(matches!(create_refused(&mut world, topic(1, "b", 1, 1)), Refusal::TopicIdUsed { .. }));
}

#[test]
fn an_assignment_names_known_brokers_once_and_one_of_them_live() {
    let mut world = World::brokers(3);
    world.fence(&[3]);
    let assigned = |lists: &[&[i32]]| CreateTopic {
        assignment: lists.iter().map(|list| list.iter().map(|broker| b(*broker)).collect()).collect(),
        ..topic(1, "a", 0, 0)
    };
    for lists in [&[&[1, 1][..]][..], &[&[1, 4]], &[&[3]], &[&[]], &[&[1, 2], &[1]]] {
        assert!(matches!(create_refused(&mut world, assigned(lists)), Refusal::InvalidAssignment { .. }));
    }
    create(&mut world, assigned(&[&[3, 2]]));
    let partition = world.image.partition(topic_partition(TopicId([1; 16]), 0)).unwrap();
    assert_eq!((partition.leader, partition.isr.as_slice()), (Some(b(2)), [b(2)].as_slice()));
}

#[test]
fn partitions_are_added_and_never_taken_away() {
    let mut world = World::brokers(3);
    create(&mut world, topic(1, "a", 2, 2));
    let add = |total, assignment| AddPartitions { topic_id: TopicId([1; 16]), total, assignment };
    let refusal = world.refused(MetadataRecord::AddPartitions(add(2, vec![])));
    assert_eq!(refusal, Refusal::PartitionsNotMore { asked: 2, present: 2 });
    let refusal = world.refused(MetadataRecord::AddPartitions(add(1_000_000_000, vec![])));
    assert!(matches!(refusal, Refusal::InvalidPartitions { .. }));
    let refusal = world.refused(MetadataRecord::AddPartitions(add(4, vec![vec![b(1), b(2)]])));
    assert!(matches!(refusal, Refusal::InvalidAssignment { .. }));
    world.ok(MetadataRecord::AddPartitions(add(5, vec![])));
    world.ok(MetadataRecord::AddPartitions(add(6, vec![vec![b(1), b(2)]])));
    assert_eq!(
        (world.image.partition_count(), world.image.topic_by_name("a").unwrap().partition_count()),
        (6, 6)
    );
}

#[test]
fn c6_a_topic_made_again_has_a_new_id_starts_one_leader_epoch_higher_and_is_marked() {
    let mut world = World::partition(&[1, 2, 3], 2);
    assert!(!world.image.topic_by_name("orders").unwrap().name_used_before);
    world.fence(&[1]);
    assert_eq!(world.state().leader_epoch, LeaderEpoch(1));
    world.ok(MetadataRecord::DeleteTopic(DeleteTopic { topic_id: TOPIC }));
    assert!(world.image.topic_by_name("orders").is_none());
    create(&mut world, topic(2, "orders", 1, 1));
    let again = world.image.topic_by_name("orders").unwrap();
    assert!(again.name_used_before);
    assert_eq!(again.partitions[0].leader_epoch, LeaderEpoch(2));
    let topic_id = again.id;
    world.ok(MetadataRecord::AddPartitions(AddPartitions { topic_id, total: 2, assignment: vec![] }));
    assert_eq!(world.image.topic(topic_id).unwrap().partitions[1].leader_epoch, LeaderEpoch(2));
}

#[test]
fn c6_a_deleted_topic_is_remembered_until_all_holders_confirmed_and_a_day_has_passed() {
    let mut world = World::brokers(2);
    create(&mut world, topic(1, "a", 3, 2));
    delete(&mut world, 1);
    assert_eq!(world.image.removals_of(b(1)).collect::<Vec<_>>(), [TopicId([1; 16])]);
    world.now_ms += DELETED_TOPIC_KEPT_MS;
    assert!(!forget(&mut world, 1), "nobody has confirmed");
    confirm(&mut world, 1, 1);
    assert!(!forget(&mut world, 1), "broker 2 has not confirmed");
    confirm(&mut world, 2, 1);
    world.now_ms -= 1;
    assert!(!forget(&mut world, 1), "a day has not passed");
    world.now_ms += 1;
    assert!(forget(&mut world, 1));
    create(&mut world, topic(2, "a", 1, 1));
    assert!(!world.image.topic_by_name("a").unwrap().name_used_before);
}

#[test]
fn c6_a_removed_broker_holds_nothing() {
    let mut world = World::brokers(2);
    create(&mut world, topic(1, "a", 1, 2));
    delete(&mut world, 1);
    confirm(&mut world, 1, 1);
    world.fence(&[2]);
    world.ok(MetadataRecord::UnregisterBroker(UnregisterBroker { broker: b(2), broker_epoch: None }));
    world.now_ms += DELETED_TOPIC_KEPT_MS;
    assert!(forget(&mut world, 1));
}

#[test]
fn c13_deleting_names_the_id_not_the_name() {
    let mut world = World::brokers(1);
    create(&mut world, topic(1, "a", 1, 1));
    delete(&mut world, 1);
    create(&mut world, topic(2, "a", 1, 1));
    let late = MetadataRecord::DeleteTopic(DeleteTopic { topic_id: TopicId([1; 16]) });
    assert_eq!(world.refused(late), Refusal::UnknownTopicId { topic_id: TopicId([1; 16]) });
    assert!(world.image.topic_by_name("a").is_some());
}

#[test]
fn a_topic_configuration_is_changed_and_described() {
    let mut world = World::partition(&[1], 1);
    world.set("retention.ms", "1000");
    assert_eq!(world.image.topic(TOPIC).unwrap().settings.retention_ms, Some(1000));
    let shown = world.image.describe_topic_configs(TOPIC).unwrap();
    assert!(shown.iter().any(|entry| entry.name == "retention.ms" && entry.value == "1000"));
    let refusal = world.refused(MetadataRecord::SetConfigs(SetConfigs {
        resource: Resource::Topic(TOPIC),
        replace: false,
        changes: vec![
            ("retention.ms".into(), ConfigOp::Set("5".into())),
            ("retention.mss".into(), ConfigOp::Set("5".into())),
        ],
    }));
    assert!(matches!(refusal, Refusal::InvalidConfig(_)), "all or nothing");
}
