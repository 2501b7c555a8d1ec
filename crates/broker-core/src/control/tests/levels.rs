//! An upgrade, and what a broker does that is too old for its cluster (ADR 0017).

use log_store::{Disk, OpenMode};
use metadata_core::record::SetFeatureLevel;
use metadata_core::{MetadataQuorum, MetadataRecord};

use super::super::{ControlError, Recovered};
use super::*;

/// What brokers of the build before know.
const BEFORE: u16 = FEATURE_LEVEL_MAX - 1;
/// What this build does not know.
const NEWER: u16 = FEATURE_LEVEL_MAX + 1;
const CALM_MS: u64 = FEATURE_LEVEL_CALM.as_millis() as u64;

/// A cluster that brokers of another build formed.
fn formed_by(feature_level_max: u16) -> Net {
    let mut net = Net { feature_level_max, ..Net::new() };
    net.form(3);
    net
}

/// The broker starts again from a build that knows so much.
fn restart_with(net: &mut Net, broker: i32, feature_level_max: u16) {
    net.kill(broker);
    net.cluster.elect_any();
    net.run(100);
    net.nodes.get_mut(&broker).unwrap().config.feature_level_max = feature_level_max;
    net.restart(broker);
    net.run(4_000);
}

fn levels(net: &Net) -> Vec<u16> {
    net.nodes.keys().map(|broker| net.image(*broker).feature_level()).collect()
}

#[test]
fn an_upgrade_one_by_one_raises_the_level_when_the_last_has_been_calm() {
    let mut net = formed_by(BEFORE);
    for broker in 1..=2 {
        restart_with(&mut net, broker, FEATURE_LEVEL_MAX);
        net.run(2 * CALM_MS);
        assert_eq!(levels(&net), [BEFORE; 3]);
    }
    restart_with(&mut net, 3, FEATURE_LEVEL_MAX);
    net.run(CALM_MS - 10_000);
    assert_eq!(levels(&net), [BEFORE; 3], "it may be put back still");
    net.run(20_000);
    assert_eq!(levels(&net), [FEATURE_LEVEL_MAX; 3]);
    net.assert_agreed();
}

#[test]
fn an_operator_holds_the_level_by_one_broker_which_takes_part_all_the_same() {
    let mut net = formed_by(BEFORE);
    for (broker, level) in [(1, FEATURE_LEVEL_MAX), (2, 1), (3, FEATURE_LEVEL_MAX)] {
        restart_with(&mut net, broker, level);
    }
    assert_eq!(net.phase(2), ControlPhase::Active);
    net.run(2 * CALM_MS);
    assert_eq!(levels(&net), [BEFORE; 3]);
    restart_with(&mut net, 2, FEATURE_LEVEL_MAX);
    net.run(CALM_MS + 5_000);
    assert_eq!(levels(&net), [FEATURE_LEVEL_MAX; 3]);
    restart_with(&mut net, 2, 1);
    assert_eq!((net.phase(2), levels(&net)), (ControlPhase::Active, vec![FEATURE_LEVEL_MAX; 3]));
}

#[test]
fn a_raise_whose_controller_is_lost_midway_is_made_by_the_next_one_after_a_calm() {
    let mut net = formed_by(BEFORE);
    for broker in 1..=3 {
        restart_with(&mut net, broker, FEATURE_LEVEL_MAX);
    }
    let proposed = net.controller();
    net.run(CALM_MS - 5_000);
    net.cluster.hold_commits(true);
    net.run(5_000);
    assert_eq!(levels(&net), [BEFORE; 3]);
    net.cluster.elect(dir(if proposed == 2 { 1 } else { 2 }));
    net.cluster.hold_commits(false);
    net.run(CALM_MS - 5_000);
    assert_eq!(levels(&net), [BEFORE; 3]);
    net.run(10_000);
    assert_eq!(levels(&net), [FEATURE_LEVEL_MAX; 3]);
}

/// Three brokers that registered as ones of a newer build, and were put back when the level is raised.
fn raised_while(away: impl FnOnce(&mut Net)) -> Net {
    let mut net = formed_by(FEATURE_LEVEL_MAX);
    for broker in 1..=3 {
        restart_with(&mut net, broker, NEWER);
    }
    away(&mut net);
    net.cluster.elect_any();
    net.run(1_000);
    let controller = net.controller();
    net.control(controller).propose_own(MetadataRecord::SetFeatureLevel(SetFeatureLevel { level: NEWER }));
    net.run(1_000);
    net
}

#[test]
fn a_broker_that_does_not_know_the_level_ends_and_shows_it_to_nobody() {
    let mut net = raised_while(|_| ());
    assert_eq!(net.nodes[&3].stopped, Some((ExitCode::UnreadableMetadata, false)));
    assert_eq!(net.nodes[&3].sees.as_ref().map(|image| image.feature_level()), Some(FEATURE_LEVEL_MAX));
    assert_eq!(net.control(3).poll_timeout(), None);
    net.kill(3);
    net.restart_alone(3);
    assert_eq!(net.nodes[&3].stopped, Some((ExitCode::UnreadableMetadata, false)));
    assert!(net.nodes[&3].told.is_empty(), "no shard opens a log");
}

#[test]
fn an_image_of_a_level_that_is_not_known_is_no_damage() {
    let net = raised_while(|_| ());
    let node = &net.nodes[&3];
    let image = net.image(3);
    let mut disk = node.disk.another_handle();
    let path = format!("metadata/{:020}.image", image.applied().unwrap().0);
    let file = disk.open(&path, OpenMode::Create).unwrap();
    disk.write_at(&file, 0, &[&image.encode()]).unwrap();
    let error = Recovered::open(&node.config, disk).map(|_| ()).unwrap_err();
    assert_eq!(error, ControlError::FeatureLevel { found: NEWER });
}

#[test]
fn an_image_from_the_quorum_of_a_level_that_is_not_known_ends_the_broker() {
    let mut net = raised_while(|net| net.kill(3));
    let (upto, bytes) = (net.image(1).applied().unwrap(), net.image(1).encode().into());
    net.cluster.node(dir(1), None).offer_snapshot(upto, bytes);
    net.cluster.purge();
    net.restart(3);
    assert_eq!(net.nodes[&3].stopped, Some((ExitCode::UnreadableMetadata, false)));
    assert_eq!(net.image(3).feature_level(), FEATURE_LEVEL_MAX);
}
