//! C3 and C4: registration, fencing, shutting down, removal; mutations B1, C4, C5, C10, C16, C17.

use super::*;

fn refused_registration(world: &mut World, fields: RegisterBroker) -> Refusal {
    world.refused(MetadataRecord::RegisterBroker(Box::new(fields)))
}

#[test]
fn c3_the_same_directory_keeps_its_seats_under_a_new_broker_epoch() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let old = world.epoch(3);
    let new = world.register(3);
    assert!(new > old);
    assert_eq!(world.image.broker(b(3)).unwrap().standing, Standing::Registered);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2 3] elr []");
}

#[test]
fn c3_b1_where_it_led_the_leader_epoch_grows_and_another_leads() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register(1);
    assert_eq!(world.seats(), "leader 2@1 isr [1 2 3] elr []");
}

#[test]
fn c3_b1_a_leader_without_peers_leads_again_only_unfenced_and_in_a_new_epoch() {
    let mut world = World::partition(&[1], 1);
    world.register(1);
    assert_eq!(world.seats(), "leader none@0 isr [1] elr []");
    world.unfence(1);
    assert_eq!(world.seats(), "leader 1@1 isr [1] elr []");
}

#[test]
fn c10_a_broker_that_registers_is_not_elected_by_its_own_registration() {
    let mut world = World::partition(&[1, 2], 1);
    world.fence(&[2]);
    world.register_from(1, 1);
    assert_eq!(world.state().leader, None);
    world.fence(&[1]);
    world.register_from(1, 11);
    assert_eq!(world.seats(), "leader none@0 isr [] elr []");
}

#[test]
fn c16_a_new_directory_loses_every_seat_in_the_same_record() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[3]);
    world.change_isr(&[1]);
    world.fence(&[2]);
    world.register(2);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2]");
    world.fence(&[2]);
    world.register_from(2, 22);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr []");
}

#[test]
fn c5_mutation_a_wiped_disk_does_not_enter_the_elr() {
    let mut world = World::partition(&[1, 2], 2);
    world.register(2);
    world.fence(&[2]);
    world.register_from(2, 22);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr []");
}

#[test]
fn c17_even_the_last_seat_is_lost_and_the_partition_stays_offline() {
    let mut world = World::partition(&[1], 1);
    world.fence(&[1]);
    assert_eq!(world.seats(), "leader none@0 isr [] elr [1]");
    world.register_from(1, 11);
    world.unfence(1);
    assert_eq!(world.seats(), "leader none@0 isr [] elr []");
}

#[test]
fn c3_a_second_live_incarnation_from_another_directory_is_refused() {
    let mut world = World::brokers(1);
    let other = registration(1, 11, world.next_incarnation());
    assert_eq!(refused_registration(&mut world, other.clone()), Refusal::DuplicateBroker { broker: b(1) });
    world.register(1);
    world.unfence(1);
    world.fence(&[1]);
    let later = RegisterBroker { incarnation: Incarnation(world.next_incarnation()), ..other };
    world.register_as(later);
    assert_eq!(world.image.broker(b(1)).unwrap().directory, dir(11));
}

#[test]
fn c3_a_broker_that_was_not_let_in_yet_counts_as_live_against_another_directory() {
    for (level, kept) in [(REGISTERED_LIVES_LEVEL, true), (REGISTERED_LIVES_LEVEL - 1, false)] {
        let mut world = World::partition_at(level, &[1], 1);
        world.register(1);
        let other = registration(1, 11, world.next_incarnation());
        let outcome = world.apply(MetadataRecord::RegisterBroker(Box::new(other.clone())));
        let refused = outcome.result == Err(Refusal::DuplicateBroker { broker: b(1) });
        assert_eq!((refused, world.state().has_seat(b(1))), (kept, kept), "level {level}");
        if kept {
            // Its session ends without a word from it: the other directory may have the id.
            world.fence(&[1]);
            world.register_as(other);
            assert!(!world.state().has_seat(b(1)));
        }
    }
}

#[test]
fn c3_registrations_of_one_broker_are_ordered_by_incarnation() {
    let mut world = World::brokers(1);
    let late = registration(1, 1, world.next_incarnation());
    world.register(1);
    let current = world.image.broker(b(1)).unwrap().incarnation;
    assert_eq!(refused_registration(&mut world, late), Refusal::StaleIncarnation { broker: b(1), current });
    let again = registration(1, 1, current.0);
    assert!(matches!(refused_registration(&mut world, again), Refusal::StaleIncarnation { .. }));
}

#[test]
fn c3_a_faulty_partition_loses_seat_and_leadership_at_registration() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register_faulty(1);
    assert_eq!(world.seats(), "leader 2@1 isr [2 3] elr []");
    world.register(1);
    assert!(world.state().is_faulty(b(1)), "only emptying it ends that");
    world.register_suspect(1, 0, 5);
    assert!(world.state().is_faulty(b(1)));
}

/// A new directory joins and is copied to; its broker dies before it registers, and a replica rots. The first registration
/// of the directory tells of it: forgotten, the replica would never be emptied and never follow.
#[test]
fn c3_the_first_registration_of_a_new_directory_may_tell_of_a_faulty_partition() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[1]);
    let mut fields = registration(1, 11, world.next_incarnation());
    fields.report.faulty = vec![p0()];
    world.register_as(fields);
    assert_eq!(world.seats(), "leader 2@1 isr [2 3] elr []");
    assert!(world.state().is_faulty(b(1)));
}

#[test]
fn c3_a_running_broker_reports_a_faulty_replica_under_current_epochs() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let early = world.faulty_report(1);
    world.change_isr(&[1, 2, 3]);
    assert!(matches!(
        world.refused(MetadataRecord::ReportFaulty(early)),
        Refusal::StalePartitionEpoch { .. }
    ));
    let before = world.faulty_report(1);
    world.register(1);
    assert!(matches!(world.refused(MetadataRecord::ReportFaulty(before)), Refusal::StaleBrokerEpoch { .. }));
    world.unfence(1);
    world.ok(MetadataRecord::ReportFaulty(world.faulty_report(2)));
    assert_eq!(world.seats(), "leader 1@2 isr [1 3] elr []");
    let again = world.faulty_report(2);
    assert_eq!(world.refused(MetadataRecord::ReportFaulty(again)), Refusal::FaultyAlready { broker: b(2) });
}

#[test]
fn c4_all_that_expire_in_one_scan_leave_together_and_enter_the_elr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[2, 3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2 3]");
}

#[test]
fn c4_the_last_member_leaves_the_isr_too() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[1, 2, 3]);
    assert_eq!(world.seats(), "leader none@0 isr [] elr [1 2 3]");
    world.register(2);
    world.unfence(2);
    assert_eq!(world.seats(), "leader 2@1 isr [2] elr [1 3]");
}

#[test]
fn c4_a_session_of_an_older_registration_fences_nobody() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let stale = FenceBrokers { brokers: vec![(b(3), world.epoch(3))] };
    world.register(3);
    assert_eq!(world.ok(MetadataRecord::FenceBrokers(stale)), Answer::Fenced(vec![]));
    assert_eq!(world.seats(), "leader 1@0 isr [1 2 3] elr []");
}

#[test]
fn c4_one_that_registered_and_never_came_is_fenced_from_the_isr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register(3);
    world.fence(&[3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr []");
}

#[test]
fn b2_only_the_current_registration_is_unfenced() {
    let mut world = World::brokers(1);
    let broker_epoch = world.epoch(1);
    world.register(1);
    let stale = MetadataRecord::UnfenceBroker(UnfenceBroker { broker: b(1), broker_epoch });
    assert!(matches!(world.refused(stale), Refusal::StaleBrokerEpoch { .. }));
    world.unfence(1);
    let broker_epoch = world.epoch(1);
    let again = MetadataRecord::UnfenceBroker(UnfenceBroker { broker: b(1), broker_epoch });
    assert_eq!(world.refused(again), Refusal::BrokerStands { broker: b(1) });
}

#[test]
fn a_stopping_broker_hands_over_and_comes_back_only_by_registering() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.shut_down(1);
    assert_eq!(world.seats(), "leader 2@1 isr [2 3] elr []");
    let broker_epoch = world.epoch(1);
    let unfence = MetadataRecord::UnfenceBroker(UnfenceBroker { broker: b(1), broker_epoch });
    assert_eq!(world.refused(unfence), Refusal::BrokerShuttingDown { broker: b(1) });
    world.register(1);
    world.unfence(1);
    assert!(world.image.broker(b(1)).unwrap().is_active());
}

#[test]
fn a_stopping_broker_without_peers_keeps_its_seat_in_the_elr() {
    let mut world = World::partition(&[1], 1);
    world.shut_down(1);
    assert_eq!(world.seats(), "leader none@0 isr [] elr [1]");
    world.register(1);
    world.unfence(1);
    assert_eq!(world.seats(), "leader 1@1 isr [1] elr []");
}

#[test]
fn a_broker_is_removed_only_when_it_does_not_live_and_loses_every_seat() {
    let mut world = World::partition(&[1, 2, 3], 3);
    let remove = || MetadataRecord::UnregisterBroker(UnregisterBroker { broker: b(3), broker_epoch: None });
    assert_eq!(world.refused(remove()), Refusal::BrokerLives { broker: b(3) });
    world.fence(&[3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr [3]");
    world.ok(remove());
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr []");
    assert_eq!(world.refused(remove()), Refusal::UnknownBroker { broker: b(3) });
    world.register(3);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr []");
}

#[test]
fn a_door_for_browsers_stays_with_its_directory() {
    let mut world = World::brokers(2);
    let early = world.announcement(1, "https://early/kafka");
    world.announce(1, "https://one/kafka");
    let url = |world: &World| world.image.browser_door(b(1)).and_then(|door| door.webtransport.clone());
    world.register(1);
    assert_eq!(url(&world).as_deref(), Some("https://one/kafka"));
    assert!(matches!(world.refused(early), Refusal::StaleBrokerEpoch { .. }));
    world.fence(&[1]);
    world.register_from(1, 11);
    assert_eq!(url(&world), None);
    world.announce(1, "https://two/kafka");
    world.fence(&[1]);
    world.ok(MetadataRecord::UnregisterBroker(UnregisterBroker { broker: b(1), broker_epoch: None }));
    assert_eq!(url(&world), None);
}

#[test]
fn a_door_for_browsers_needs_the_feature_level_that_knows_it() {
    let mut world = World::formed_at(1);
    world.register(1);
    let record = world.announcement(1, "https://one/kafka");
    assert_eq!(world.refused(record), Refusal::FeatureLevel { required: 2, level: 1 });
}
