//! C5: who is elected; mutations C7, C8, C9, C18, C19.

use super::*;

fn preferred(world: &World) -> MetadataRecord {
    let partitions = vec![(p0(), world.state().partition_epoch)];
    MetadataRecord::ElectPreferred(ElectPreferred { partitions })
}

fn unclean(world: &World, broker: Option<i32>) -> MetadataRecord {
    let shown = vec![ShownEnd { broker: b(3), last_epoch: Some(LeaderEpoch(4)), end: Some(Offset(40)) }];
    let (partition, partition_epoch) = (p0(), world.state().partition_epoch);
    MetadataRecord::ElectUnclean(ElectUnclean {
        partition,
        partition_epoch,
        broker: broker.map(BrokerId),
        shown,
    })
}

fn result(answer: &Answer) -> &Result<crate::outcome::Elected, Refusal> {
    match answer {
        Answer::Elected(each) => &each[0].1,
        other => panic!("{other:?}"),
    }
}

#[test]
fn c5_a_member_of_the_isr_is_elected_else_one_of_the_elr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[1]);
    assert_eq!(world.seats(), "leader 2@1 isr [2 3] elr []");
    world.fence(&[2]);
    assert_eq!(world.seats(), "leader 3@2 isr [3] elr [2]");
    world.fence(&[3]);
    assert_eq!(world.seats(), "leader none@2 isr [] elr [2 3]");
    world.unfence(1);
    assert_eq!(world.seats(), "leader none@2 isr [] elr [2 3]");
    world.unfence(2);
    assert_eq!(world.seats(), "leader 2@3 isr [2] elr [3]");
}

#[test]
fn c8_every_election_makes_leader_epoch_and_partition_epoch_grow() {
    let mut world = World::partition(&[1, 2, 3], 2);
    for round in 1..=5 {
        let (leader, before) = (world.state().leader.unwrap().0, world.state().partition_epoch);
        world.fence(&[leader]);
        assert_eq!(world.state().leader_epoch, LeaderEpoch(round));
        assert!(world.state().partition_epoch > before);
        world.unfence(leader);
        world.change_isr(&[1, 2, 3]);
    }
}

#[test]
fn c7_a_lower_min_isr_empties_the_elr_in_the_same_record() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[2, 3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2 3]");
    let before = world.state().partition_epoch;
    world.set("min.insync.replicas", "1");
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr []");
    assert!(world.state().partition_epoch > before);
}

#[test]
fn c7_every_change_of_min_isr_makes_the_partition_epoch_grow() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let pending = world.isr_change(&[1, 2]);
    world.set("min.insync.replicas", "3");
    assert!(matches!(world.refused(MetadataRecord::ChangeIsr(pending)), Refusal::StalePartitionEpoch { .. }));
}

#[test]
fn c7_a_changed_cluster_default_counts_like_a_changed_topic() {
    let mut world = World::brokers(3);
    world.ok(MetadataRecord::CreateTopic(CreateTopic {
        topic_id: TOPIC,
        name: "orders".into(),
        partitions: Some(1),
        replication_factor: Some(3),
        assignment: vec![vec![b(1), b(2), b(3)]],
        configs: vec![],
    }));
    world.fence(&[2, 3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2 3]");
    world.ok(MetadataRecord::SetConfigs(SetConfigs {
        resource: Resource::Cluster,
        replace: false,
        changes: vec![("min.insync.replicas".into(), ConfigOp::Set("1".into()))],
    }));
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr []");
    assert_eq!(world.image.effective_min_isr(p0()), Some(1));
}

#[test]
fn c18_a_suspect_is_not_elected_while_a_member_that_is_not_suspect_may_return() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[1, 2, 3]);
    world.register_suspect(1, 0, 50);
    world.unfence(1);
    assert_eq!(world.seats(), "leader none@0 isr [] elr [1 2 3]");
    world.register_suspect(2, 0, 70);
    world.unfence(2);
    assert_eq!(world.seats(), "leader none@0 isr [] elr [1 2 3]", "broker 3 is fenced, and not suspect");
    world.register(3);
    world.unfence(3);
    assert_eq!(world.seats(), "leader 3@1 isr [3] elr [1 2]");
}

#[test]
fn c5_when_all_are_suspect_the_one_with_the_greatest_epoch_and_end_is_elected_and_recorded() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[1, 2, 3]);
    world.register_suspect(1, 3, 50);
    world.register_suspect(2, 4, 40);
    world.register_suspect(3, 4, 30);
    for broker in [1, 3] {
        world.unfence(broker);
        assert_eq!(world.seats(), "leader none@0 isr [] elr [1 2 3]", "it waits for broker 2");
    }
    world.unfence(2);
    assert_eq!(world.seats(), "leader 2@1 isr [2] elr [1 3]");
    assert!(!world.state().is_suspect(b(2)), "being elected ends suspicion");
    let kinds: Vec<_> = world.image.events().map(|event| event.kind.clone()).collect();
    let (last_epoch, end) = (LeaderEpoch(4), Offset(40));
    assert_eq!(kinds, [ClusterEventKind::SuspectElected { partition: p0(), leader: b(2), last_epoch, end }]);
}

#[test]
fn c5_with_one_replica_a_suspect_is_elected_at_once() {
    let mut world = World::partition(&[1], 1);
    world.register_suspect(1, 0, 5);
    world.unfence(1);
    assert_eq!(world.seats(), "leader 1@1 isr [1] elr []");
    assert_eq!(world.image.events().count(), 1);
}

#[test]
fn c5_a_clean_registration_does_not_end_suspicion_and_a_new_directory_does() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register_suspect(3, 0, 5);
    world.register(3);
    assert!(world.state().is_suspect(b(3)));
    world.fence(&[3]);
    world.register_from(3, 33);
    assert!(!world.state().is_suspect(b(3)));
}

#[test]
fn c19_a_suspect_does_not_count_towards_min_isr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register_suspect(2, 0, 5);
    world.unfence(2);
    world.fence(&[3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr [3]");
    let mut change = world.isr_change(&[1, 2]);
    change.proven = vec![b(2)];
    world.ok(MetadataRecord::ChangeIsr(change));
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr []");
}

#[test]
fn a_preferred_leader_is_elected_when_it_is_in_sync_and_not_otherwise() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let record = preferred(&world);
    assert_eq!(*result(&world.ok(record)), Err(Refusal::ElectionNotNeeded { partition: p0() }));
    world.fence(&[1]);
    world.unfence(1);
    let unavailable = Err(Refusal::PreferredLeaderNotAvailable { partition: p0() });
    let record = preferred(&world);
    assert_eq!(*result(&world.ok(record)), unavailable);
    let stale = preferred(&world);
    world.change_isr(&[1, 2, 3]);
    assert!(matches!(*result(&world.ok(stale)), Err(Refusal::StalePartitionEpoch { .. })));
    let record = preferred(&world);
    assert!(result(&world.ok(record)).is_ok());
    assert_eq!(world.seats(), "leader 1@2 isr [1 2 3] elr []");
}

#[test]
fn c9_an_unclean_election_is_explicit_and_recorded_as_loss() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let early = unclean(&world, Some(3));
    assert_eq!(world.refused(early), Refusal::ElectionNotNeeded { partition: p0() });
    world.fence(&[2, 3]);
    world.change_isr(&[1]);
    world.set("min.insync.replicas", "1");
    world.fence(&[1]);
    world.unfence(3);
    assert_eq!(world.seats(), "leader none@0 isr [] elr [1]");
    let fenced = unclean(&world, Some(2));
    assert!(matches!(world.refused(fenced), Refusal::IneligibleReplica { why: Ineligible::Fenced, .. }));
    let record = unclean(&world, None);
    assert!(result(&world.ok(record)).is_ok());
    assert_eq!(world.seats(), "leader 3@1 isr [3] elr []");
    match &world.image.events().last().unwrap().kind {
        ClusterEventKind::UncleanElection { leader, former, shown, .. } => {
            assert_eq!((*leader, former.as_slice(), shown.len()), (b(3), [b(1)].as_slice(), 1));
        }
        other => panic!("{other:?}"),
    }
    world.unfence(1);
    assert_eq!(world.seats(), "leader 3@1 isr [3] elr []", "the former member comes back as a follower");
}

#[test]
fn an_operator_ends_the_wait_for_a_member_that_never_returns() {
    let mut world = World::partition(&[1, 2], 2);
    world.fence(&[1, 2]);
    world.register_suspect(1, 2, 9);
    world.unfence(1);
    assert_eq!(world.state().leader, None);
    let record = unclean(&world, None);
    world.ok(record);
    assert_eq!(world.seats(), "leader 1@1 isr [1] elr []");
}

#[test]
fn only_the_newest_events_are_kept() {
    let mut world = World::partition(&[1], 1);
    for _ in 0..crate::image::CLUSTER_EVENTS_MAX + 5 {
        world.register_suspect(1, 0, 5);
        world.unfence(1);
    }
    assert_eq!(world.image.events().count(), crate::image::CLUSTER_EVENTS_MAX);
}

#[test]
fn l5_a_leader_that_resigns_is_followed_by_another_member_and_keeps_its_seat() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let resign = |leader, epoch| {
        let (partition, leader_epoch) = (p0(), LeaderEpoch(epoch));
        MetadataRecord::ResignLeader(ResignLeader { partition, leader: b(leader), leader_epoch })
    };
    assert_eq!(world.refused(resign(2, 0)), Refusal::NotLeader { broker: b(2) });
    world.ok(resign(1, 0));
    assert_eq!(world.seats(), "leader 2@1 isr [1 2 3] elr []");
    assert!(matches!(world.refused(resign(2, 0)), Refusal::FencedLeaderEpoch { .. }));
    world.fence(&[1, 3]);
    assert_eq!(world.refused(resign(2, 1)), Refusal::NoEligibleLeader { partition: p0() });
}

fn damaged_alone(mut world: World) -> World {
    let report = world.faulty_report(1);
    world.ok(MetadataRecord::ReportFaulty(report));
    assert_eq!(world.seats(), "leader none@0 isr [] elr []");
    world
}

#[test]
fn an_operator_elects_the_only_replica_though_it_is_damaged() {
    let mut world = damaged_alone(World::partition(&[1], 1));
    let unnamed = unclean(&world, None);
    assert_eq!(world.refused(unnamed), Refusal::NoEligibleLeader { partition: p0() });
    let registered = world.image.replica_epoch(p0(), b(1));
    let record = unclean(&world, Some(1));
    world.ok(record);
    assert_eq!(world.seats(), "leader 1@1 isr [1] elr []");
    assert!(!world.state().is_faulty(b(1)));
    assert!(world.image.replica_epoch(p0(), b(1)) > registered, "what was said of it before counts no more");
    assert!(matches!(world.image.events().last().unwrap().kind, ClusterEventKind::UncleanElection { .. }));
}

#[test]
fn a_damaged_replica_is_not_elected_at_a_level_whose_brokers_do_not_salvage() {
    let mut world = damaged_alone(World::partition_at(SALVAGE_LEVEL - 1, &[1], 1));
    let record = unclean(&world, Some(1));
    let why = Ineligible::Faulty;
    assert_eq!(world.refused(record), Refusal::IneligibleReplica { broker: b(1), why });
}
