//! C1, C2 and the part of C4 that ISR changes bring; mutations C1, C2, C3, C6, C15, C20, H10, H11.

use super::*;

fn refused(world: &mut World, change: ChangeIsr) -> Refusal {
    world.refused(MetadataRecord::ChangeIsr(change))
}

fn ineligible(broker: i32, why: Ineligible) -> Refusal {
    Refusal::IneligibleReplica { broker: b(broker), why }
}

#[test]
fn c1_an_isr_change_that_expects_another_partition_epoch_is_refused() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let old = world.isr_change(&[1, 2]);
    world.change_isr(&[1, 2, 3]);
    assert!(matches!(refused(&mut world, old), Refusal::StalePartitionEpoch { .. }));
    assert_eq!(world.seats(), "leader 1@0 isr [1 2 3] elr []");
}

#[test]
fn c1_a_change_that_changes_nothing_makes_the_partition_epoch_grow() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let before = world.state().partition_epoch;
    let change = world.isr_change(&[1, 2, 3]);
    let answer = world.ok(MetadataRecord::ChangeIsr(change));
    assert_eq!(answer, Answer::IsrChanged { partition_epoch: PartitionEpoch(before.0 + 1) });
}

#[test]
fn c15_what_held_at_proposal_is_checked_again_at_apply() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.change_isr(&[1, 2]);
    let proposed = world.isr_change(&[1, 2, 3]);
    world.fence(&[3]);
    assert_eq!(refused(&mut world, proposed), ineligible(3, Ineligible::Fenced));
}

#[test]
fn c2_a_fenced_broker_is_not_added() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.fence(&[3]);
    let change = world.isr_change(&[1, 2, 3]);
    assert_eq!(refused(&mut world, change), ineligible(3, Ineligible::Fenced));
}

#[test]
fn c2_a_broker_that_shuts_down_is_no_member() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.shut_down(3);
    let change = world.isr_change(&[1, 2, 3]);
    assert_eq!(refused(&mut world, change), ineligible(3, Ineligible::ShuttingDown));
}

#[test]
fn c2_a_member_that_has_registered_anew_may_stay_before_it_is_unfenced_but_not_be_added() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register(3);
    world.change_isr(&[1, 2, 3]);
    world.change_isr(&[1, 2]);
    let change = world.isr_change(&[1, 2, 3]);
    assert_eq!(refused(&mut world, change), ineligible(3, Ineligible::Fenced));
}

#[test]
fn c2_a_faulty_replica_and_a_stranger_are_no_members() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.ok(MetadataRecord::ReportFaulty(world.faulty_report(3)));
    let change = world.isr_change(&[1, 2, 3]);
    assert_eq!(refused(&mut world, change), ineligible(3, Ineligible::Faulty));
    let change = world.isr_change(&[1, 2, 4]);
    assert_eq!(refused(&mut world, change), ineligible(4, Ineligible::NoReplica));
}

#[test]
fn c2_only_the_current_leader_of_the_current_epoch_changes_the_isr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let old = world.isr_change(&[1]);
    world.fence(&[1]);
    assert_eq!(world.seats(), "leader 2@1 isr [2 3] elr []");
    assert_eq!(refused(&mut world, old), Refusal::NotLeader { broker: b(1) });
    let mut stale = world.isr_change(&[2]);
    stale.leader_epoch = LeaderEpoch(0);
    assert!(matches!(refused(&mut world, stale), Refusal::FencedLeaderEpoch { .. }));
}

#[test]
fn c2_the_leader_and_each_member_is_named_once() {
    let mut world = World::partition(&[1, 2, 3], 2);
    for isr in [&[2, 3][..], &[1, 2, 2], &[]] {
        let change = world.isr_change(isr);
        assert_eq!(refused(&mut world, change), Refusal::InvalidIsr);
    }
}

#[test]
fn c3_h10_h11_a_member_named_under_an_older_registration_is_refused() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.change_isr(&[1, 2]);
    let caught_up_before_it_was_wiped = world.isr_change(&[1, 2, 3]);
    world.fence(&[3]);
    world.register_from(3, 33);
    world.unfence(3);
    assert_eq!(refused(&mut world, caught_up_before_it_was_wiped), ineligible(3, Ineligible::StaleEpoch));
}

#[test]
fn c3_a_leader_under_an_older_registration_is_refused() {
    let mut world = World::partition(&[1], 1);
    let old = world.isr_change(&[1]);
    world.register(1);
    world.unfence(1);
    let mut change = world.isr_change(&[1]);
    change.leader_broker_epoch = old.leader_broker_epoch;
    assert!(matches!(refused(&mut world, change), Refusal::StaleBrokerEpoch { .. }));
}

#[test]
fn c4_a_member_that_lags_enters_the_elr_when_too_few_remain() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.change_isr(&[1, 2]);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2] elr []");
    world.change_isr(&[1]);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2]");
}

#[test]
fn c6_an_isr_of_min_isr_members_empties_the_elr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.change_isr(&[1]);
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2 3]");
    world.change_isr(&[1, 3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1 3] elr []");
}

#[test]
fn c20_a_member_removed_as_behind_does_not_enter_the_elr() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let mut change = world.isr_change(&[1]);
    change.behind = vec![b(3)];
    world.ok(MetadataRecord::ChangeIsr(change));
    assert_eq!(world.seats(), "leader 1@0 isr [1] elr [2]");
}

#[test]
fn c5_suspicion_ends_by_a_change_that_names_the_member_as_proven() {
    let mut world = World::partition(&[1, 2, 3], 2);
    world.register_suspect(3, 0, 10);
    world.unfence(3);
    world.change_isr(&[1, 2, 3]);
    assert!(world.state().is_suspect(b(3)));
    let mut change = world.isr_change(&[1, 2, 3]);
    change.proven = vec![b(3)];
    world.ok(MetadataRecord::ChangeIsr(change));
    assert!(!world.state().is_suspect(b(3)));
}

#[test]
fn a_reset_replica_is_known_under_a_new_epoch() {
    let mut world = World::partition(&[1, 2, 3], 2);
    let reset = |world: &World| ResetReplica {
        broker: b(3),
        broker_epoch: world.epoch(3),
        partition: p0(),
        partition_epoch: world.state().partition_epoch,
    };
    let early = reset(&world);
    assert_eq!(world.refused(MetadataRecord::ResetReplica(early)), Refusal::NotResettable { broker: b(3) });
    world.ok(MetadataRecord::ReportFaulty(world.faulty_report(3)));
    let old_epoch = world.image.replica_epoch(p0(), b(3)).unwrap();
    let record = reset(&world);
    world.ok(MetadataRecord::ResetReplica(record));
    assert!(world.image.replica_epoch(p0(), b(3)).unwrap() > old_epoch);
    let mut by_old_word = world.isr_change(&[1, 2, 3]);
    by_old_word.isr[2].1 = old_epoch;
    assert_eq!(refused(&mut world, by_old_word), ineligible(3, Ineligible::StaleEpoch));
    world.change_isr(&[1, 2, 3]);
    assert_eq!(world.seats(), "leader 1@0 isr [1 2 3] elr []");
}
