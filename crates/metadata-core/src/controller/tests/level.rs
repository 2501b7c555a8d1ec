//! The feature level rises by itself (ADR 0017).

use super::*;
use crate::record::{FEATURE_LEVEL_MAX, SetFeatureLevel};

const CALM_MS: u64 = FEATURE_LEVEL_CALM.as_millis() as u64;
/// What brokers of the build before know.
const BEFORE: u16 = FEATURE_LEVEL_MAX - 1;

/// Three brokers of this build that have come to rest in a cluster that the build before formed.
fn upgraded() -> Bench {
    let mut bench = Bench::new(World::brokers_at(BEFORE, 3));
    bench.run(3_000, &[1, 2, 3]);
    bench
}

fn level(bench: &Bench) -> u16 {
    bench.world.image.feature_level()
}

/// How often a raise was proposed.
fn raises(bench: &Bench) -> usize {
    let raise = |record: &&MetadataRecord| matches!(record, MetadataRecord::SetFeatureLevel(_));
    bench.proposed.iter().filter(raise).count()
}

/// Broker 3 starts from a build that knows so much, and is let in.
fn start_third(bench: &mut Bench, incarnation: u64, feature_level_max: u16) {
    bench.register(RegisterBroker { feature_level_max, ..registration(3, 3, incarnation) });
    bench.beat(3);
}

#[test]
fn the_level_rises_once_to_what_all_know_after_a_calm() {
    let mut bench = upgraded();
    bench.run(CALM_MS - 4_000, &[1, 2, 3]);
    assert_eq!(level(&bench), BEFORE);
    bench.run(4_000, &[1, 2, 3]);
    assert_eq!(level(&bench), FEATURE_LEVEL_MAX);
    bench.run(2 * CALM_MS, &[1, 2, 3]);
    assert_eq!(raises(&bench), 1);
}

#[test]
fn a_broker_that_comes_or_goes_begins_the_calm_anew() {
    let mut bench = upgraded();
    bench.run(CALM_MS - 4_000, &[1, 2, 3]);
    bench.world.shut_down(3);
    bench.controller.handle_applied(bench.now, &bench.world.image, &[Change::Broker(b(3))]);
    bench.run(CALM_MS - 1_000, &[1, 2]);
    assert_eq!(level(&bench), BEFORE, "whoever was stopped may be put back");
    start_third(&mut bench, 99, BEFORE);
    bench.run(2 * CALM_MS, &[1, 2, 3]);
    assert_eq!((level(&bench), raises(&bench)), (BEFORE, 0));
    start_third(&mut bench, 100, FEATURE_LEVEL_MAX);
    bench.run(CALM_MS + 100, &[1, 2, 3]);
    assert_eq!(level(&bench), FEATURE_LEVEL_MAX);
}

#[test]
fn a_fenced_broker_of_an_older_build_holds_the_level_until_it_is_removed() {
    let mut bench = Bench::new(World::brokers_at(BEFORE, 3));
    start_third(&mut bench, 99, BEFORE);
    bench.run(3 * CALM_MS, &[1, 2]);
    assert_eq!((bench.standing(3), level(&bench)), (Standing::Fenced, BEFORE));
    bench.apply(MetadataRecord::UnregisterBroker(UnregisterBroker { broker: b(3), broker_epoch: None }));
    bench.run(CALM_MS + 100, &[1, 2]);
    assert_eq!(level(&bench), FEATURE_LEVEL_MAX);
}

#[test]
fn a_fenced_broker_of_this_build_holds_nothing_up() {
    let mut bench = upgraded();
    bench.run(CALM_MS + 3_000, &[1, 2]);
    assert_eq!((bench.standing(3), level(&bench)), (Standing::Fenced, FEATURE_LEVEL_MAX));
}

#[test]
fn levels_may_be_passed_over_and_one_above_this_build_is_not_proposed() {
    let mut bench = Bench::new(World::formed_at(1));
    for broker in 1..=3u8 {
        let fields = registration(broker.into(), broker, 1);
        bench.register(RegisterBroker { feature_level_max: FEATURE_LEVEL_MAX + 1, ..fields });
    }
    bench.run(CALM_MS + 3_000, &[1, 2, 3]);
    assert_eq!((level(&bench), raises(&bench)), (FEATURE_LEVEL_MAX, 1));
}

#[test]
fn a_voter_that_is_no_broker_holds_the_level() {
    let mut bench = upgraded();
    bench.quorum.members.voters.insert(dir(9));
    // It cannot be taken out now.
    bench.controller.members_due = MonoTime(u64::MAX);
    bench.run(2 * CALM_MS, &[1, 2, 3]);
    assert_eq!((level(&bench), raises(&bench)), (BEFORE, 0));
    bench.quorum.members.voters.remove(&dir(9));
    bench.run(1_100, &[1, 2, 3]);
    assert_eq!(level(&bench), FEATURE_LEVEL_MAX);
}

#[test]
fn c11_a_lost_raise_is_proposed_again_and_a_new_controller_begins_the_calm_anew() {
    let mut bench = upgraded();
    bench.held = true;
    bench.run(CALM_MS - 1_000, &[1, 2, 3]);
    assert_eq!((level(&bench), raises(&bench)), (BEFORE, 3), "once a second");
    bench.held = false;
    bench.controller = Controller::take_over(bench.now, dir(1), &bench.world.image, None, FEATURE_LEVEL_CALM);
    bench.run(CALM_MS - 100, &[1, 2, 3]);
    assert_eq!(level(&bench), BEFORE);
    bench.run(100, &[1, 2, 3]);
    assert_eq!(level(&bench), FEATURE_LEVEL_MAX);
}

#[test]
fn c1_a_raise_and_an_older_broker_whichever_is_applied_first_has_the_other_refused() {
    for registers_first in [true, false] {
        let mut bench = upgraded();
        bench.held = true;
        bench.run(CALM_MS - 2_000, &[1, 2, 3]);
        let raise = MetadataRecord::SetFeatureLevel(SetFeatureLevel { level: FEATURE_LEVEL_MAX });
        assert_eq!(bench.proposed.last(), Some(&raise));
        let old = RegisterBroker { feature_level_max: BEFORE, ..registration(4, 4, 1) };
        let old = MetadataRecord::RegisterBroker(Box::new(old));
        let (first, second) = if registers_first { (old, raise) } else { (raise, old) };
        bench.world.ok(first);
        let refusal = bench.world.refused(second);
        assert!(matches!(refusal, crate::Refusal::FeatureLevelRefused { broker, .. } if broker == b(4)));
        assert_eq!(level(&bench), if registers_first { BEFORE } else { FEATURE_LEVEL_MAX });
        assert_eq!(bench.world.image.broker(b(4)).is_some(), registers_first);
    }
}
