//! Registration, sessions, fail-over, restarts; mutations B1, B2.

use log_core::Timestamp;
use metadata_core::record::{BrowserCertificate, BrowserDoor};

use super::*;

fn registered(net: &Net, broker: i32) -> Vec<&Told> {
    net.nodes[&broker].told.iter().filter(|told| matches!(told, Told::Registered(_))).collect()
}

#[test]
fn b1_shards_may_lead_only_after_the_registration_is_applied_here_and_they_have_its_image() {
    let mut net = Net::of(1);
    net.cluster.hold_commits(true);
    net.kill(1);
    net.restart(1);
    net.cluster.elect_any();
    net.run(2_000);
    assert!(registered(&net, 1).is_empty(), "proposed, not applied");
    net.cluster.hold_commits(false);
    net.run(500);
    let told = &net.nodes[&1].told;
    let at = told.iter().position(|told| matches!(told, Told::Registered(_))).unwrap();
    assert_eq!(told[at - 1], Told::Image { own: Some(Standing::Registered) });
    assert_eq!(registered(&net, 1), [&Told::Registered(net.seen(1, 1).epoch)]);
}

#[test]
fn b2_a_broker_that_does_not_apply_is_not_let_in() {
    let mut net = Net::of(2);
    net.kill(2);
    net.run(3_000);
    net.nodes[&2].disk.hold(true);
    net.restart(2);
    net.run(2_000);
    assert_eq!(net.seen(1, 2).standing, Standing::Fenced, "its copy is not durable");
    net.nodes[&2].disk.hold(false);
    while net.nodes[&2].disk.release_one() {}
    net.run(2_000);
    assert_eq!(net.phase(2), ControlPhase::Active);
}

#[test]
fn c4_a_silent_broker_is_fenced_after_two_and_a_half_seconds_and_comes_back() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[3, 1, 2], 2);
    net.cut(3, true);
    net.run(1_900);
    assert_eq!(net.seen(1, 3).standing, Standing::Active);
    net.run(700);
    assert_eq!(net.seen(1, 3).standing, Standing::Fenced);
    assert_eq!(net.partition(1, topic).leader, Some(b(1)));
    net.cut(3, false);
    net.run(2_000);
    assert_eq!(net.phase(3), ControlPhase::Active);
    net.assert_agreed();
}

#[test]
fn a_restart_finds_the_image_in_the_copy_without_the_quorum() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[1, 2, 3], 2);
    net.kill(3);
    net.run(3_000);
    net.restart_alone(3);
    assert_eq!(net.partition(3, topic).leader, Some(b(1)));
    assert!(matches!(net.nodes[&3].told[0], Told::Image { .. }));
    let before = net.seen(1, 3).epoch;
    net.cut(3, false);
    net.run(2_000);
    assert_eq!(net.phase(3), ControlPhase::Active);
    assert!(net.seen(1, 3).epoch > before);
}

#[test]
fn c3_a_leader_that_restarts_within_its_session_loses_the_lead_and_keeps_its_seat() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[2, 1, 3], 2);
    net.kill(2);
    net.run(300);
    net.restart(2);
    net.run(300);
    let partition = net.partition(1, topic);
    assert_eq!((partition.leader, partition.leader_epoch.0), (Some(b(1)), 1));
    assert!(partition.isr.contains(&b(2)));
}

#[test]
fn the_controller_fails_over_and_counts_every_session_anew() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[1, 2, 3], 2);
    net.run(6_000);
    assert_eq!(net.controller(), 1);
    net.kill(1);
    net.run(1_000);
    assert_eq!(net.cluster.elect_any(), Some(dir(2)));
    net.run(1_000);
    assert_eq!(net.controller(), 2);
    assert_eq!(net.seen(2, 1).standing, Standing::Active, "its session counts from the take-over");
    net.run(1_600);
    assert_eq!(net.seen(2, 1).standing, Standing::Fenced);
    assert_eq!(net.partition(3, topic).leader, Some(b(2)));
    assert!(net.seen(2, 3).is_active() && net.seen(2, 2).is_active(), "the living stay");
    net.restart(1);
    net.run(2_000);
    assert_eq!(net.phase(1), ControlPhase::Active);
    net.assert_agreed();
}

#[test]
fn a_controller_that_is_silent_for_a_second_is_unknown_and_the_next_voter_is_asked() {
    let mut net = Net::of(3);
    net.cut(1, true);
    net.run(1_500);
    assert!(!net.control(3).status().controller_known);
    net.cluster.elect(dir(2));
    net.run(1_000);
    assert!(net.control(3).status().controller_known);
}

#[test]
fn c3_m9_a_wiped_directory_joins_as_another_node_and_has_no_seats() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[1, 2, 3], 3);
    net.kill(3);
    net.run(3_000);
    assert_eq!(net.partition(1, topic).elr, [b(3)]);
    net.start_from(3, 33, false);
    net.join(3, 33);
    net.run(4_000);
    assert_eq!(net.phase(3), ControlPhase::Active);
    let partition = net.partition(1, topic);
    assert_eq!(
        (partition.isr.as_slice(), partition.elr.as_slice()),
        ([b(1), b(2)].as_slice(), [].as_slice())
    );
    assert_eq!(net.cluster.members().voters, BTreeSet::from([dir(1), dir(2), dir(33)]));
    net.assert_agreed();
}

#[test]
fn findings_of_the_shards_are_registered() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[3, 1, 2], 2);
    net.kill(3);
    let state = crate::message::RecoveredState::Faulty;
    net.nodes.get_mut(&3).unwrap().found = vec![RecoveredPartition { partition: topic, state }];
    net.restart(3);
    net.run(1_000);
    let partition = net.partition(1, topic);
    assert!(partition.is_faulty(b(3)) && !partition.has_seat(b(3)));
}

#[test]
fn a_second_process_from_the_same_directory_ends_the_first() {
    let mut net = Net::of(2);
    let mut twin = net.nodes[&2].config.clone();
    twin.incarnation = Incarnation(u64::MAX / 2);
    let cluster = net.cluster.clone();
    let mut second =
        Control::open(net.now(), twin, MemoryDisk::new(), |applied| cluster.node(dir(2), applied)).unwrap();
    let now = net.now();
    for _ in 0..5 {
        second.handle_quorum(now);
        second.handle_disk(now);
        for shard in 0..SHARDS {
            second.handle_request(now, ShardId(shard), ControlRequest::Recovered { partitions: vec![] });
        }
        for action in std::iter::from_fn(|| second.poll_action()).collect::<Vec<_>>() {
            if let ControlAction::SendPeer { frame, .. } = action {
                let source = FrameSource::Accepted(PeerStreamId(2));
                net.control(1).handle_peer_frame(now, source, b(2), frame);
            }
        }
        net.pump();
    }
    assert_eq!(net.nodes[&2].stopped, Some((ExitCode::DuplicateBroker, false)));
}

#[test]
fn a_removed_broker_ends() {
    let mut net = Net::of(3);
    net.cut(3, true);
    net.run(3_000);
    assert_eq!(net.command(1, AdminCommand::UnregisterBroker { broker: b(3) }), Ok(AdminAnswer::Done));
    net.run(1_500);
    assert_eq!(net.cluster.members().nodes.len(), 2);
    assert_eq!(net.nodes[&3].stopped, None);
    net.cut(3, false);
    net.run(2_500);
    assert_eq!(net.nodes[&3].stopped, Some((ExitCode::Unregistered, false)));
}

#[test]
fn a_stop_hands_over_first_and_ends_cleanly() {
    let mut net = Net::of(3);
    let topic = net.topic("orders", &[2, 1, 3], 2);
    net.stop(2);
    net.run(100);
    assert_eq!(net.partition(1, topic).leader, Some(b(1)));
    assert_eq!(net.nodes[&2].stopped, Some((ExitCode::Clean, true)));
    let told = &net.nodes[&2].told;
    assert_eq!(told[told.len() - 2..], [Told::Image { own: Some(Standing::ShuttingDown) }, Told::Stop]);
    assert_eq!(net.command(2, AdminCommand::AllocateProducerIds), Err(AdminError::Stopping));
}

#[test]
fn a_controller_that_stops_is_followed_at_once() {
    let mut net = Net::of(3);
    assert_eq!(net.cluster.leader(), Some(dir(1)));
    net.stop(1);
    net.run(100);
    assert_eq!(net.nodes[&1].stopped, Some((ExitCode::Clean, true)));
    assert_ne!(net.cluster.leader(), Some(dir(1)));
    assert!(net.command(2, AdminCommand::AllocateProducerIds).is_ok());
}

#[test]
fn a_shard_that_does_not_close_cleanly_leaves_no_clean_mark() {
    let mut net = Net::of(1);
    net.nodes.get_mut(&1).unwrap().closes_cleanly = false;
    net.stop(1);
    net.run(100);
    assert_eq!(net.nodes[&1].stopped, Some((ExitCode::Clean, false)));
}

#[test]
fn d8_who_stops_before_its_shards_have_opened_a_log_leaves_the_clean_mark_as_it_was() {
    let mut net = Net::of(1);
    net.kill(1);
    // What the copy of the metadata log has is not served before it is synced, so nothing is shown to the shards.
    net.nodes[&1].disk.hold(true);
    net.restart(1);
    net.stop(1);
    assert_eq!(net.nodes[&1].stopped, Some((ExitCode::Clean, false)), "the process before was killed");
}

#[test]
fn who_stops_before_it_is_registered_waits_for_its_shards_without_a_deadline_that_has_passed() {
    let mut net = Net::of(1);
    net.cluster.hold_commits(true);
    net.kill(1);
    net.restart(1);
    net.run(2_000);
    assert!(registered(&net, 1).is_empty());
    let now = net.now();
    net.control(1).handle_stop(now);
    let later = Now { mono: now.mono.after(std::time::Duration::from_secs(60)), ..now };
    net.control(1).handle_timeout(later);
    assert!(net.control(1).poll_timeout().is_none_or(|at| at > later.mono));
}

#[test]
fn a_stop_without_a_controller_ends_after_a_while() {
    let mut net = Net::of(3);
    net.cut(2, true);
    net.stop(2);
    net.run(2_500);
    assert_eq!((net.nodes[&2].stopped, net.phase(2)), (None, ControlPhase::Stopping));
    net.run(1_000);
    assert_eq!(net.nodes[&2].stopped, Some((ExitCode::Clean, true)));
}

#[test]
fn a_door_for_browsers_is_announced_whoever_is_the_controller_and_again_after_a_change() {
    let mut net = Net::of(3);
    let door = |hash| BrowserDoor {
        webtransport: Some("https://h:1/kafka".into()),
        websocket: None,
        certificates: vec![BrowserCertificate {
            sha256: [hash; 32],
            not_before: Timestamp(1),
            not_after: Timestamp(2),
        }],
    };
    for hash in [1, 2] {
        let (now, announced) = (net.now(), door(hash));
        net.control(3).handle_browser_door(now, announced);
        net.run(2_000);
        for broker in 1..=3 {
            assert_eq!(net.image(broker).browser_door(b(3)), Some(&door(hash)));
        }
    }
    net.assert_agreed();
}
