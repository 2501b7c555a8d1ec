//! Forming and joining: one cluster, never two.

use metadata_core::{QuorumMember, SoloQuorum};

use super::*;

#[test]
fn a_node_that_was_formatted_to_form_forms_a_cluster_of_one_voter() {
    let mut net = Net::new();
    net.start(1, true);
    net.run(1_000);
    assert_eq!((net.phase(1), net.controller()), (ControlPhase::Active, 1));
    assert_eq!(net.image(1).cluster_id(), Some(ClusterId([9; 16])));
    assert_eq!(net.cluster.members().voters, BTreeSet::from([dir(1)]));
}

#[test]
fn others_wait_to_be_joined_and_form_nothing() {
    let mut net = Net::new();
    net.start(2, false);
    net.run(20_000);
    assert_eq!(net.phase(2), ControlPhase::Registering);
    assert!(net.cluster.is_empty());
}

#[test]
fn two_nodes_started_at_once_never_form_two_clusters() {
    let mut net = Net::new();
    net.start(2, false);
    net.start(1, true);
    net.run(5_000);
    assert_eq!((net.phase(1), net.phase(2)), (ControlPhase::Active, ControlPhase::Registering));
    net.join(2, 2);
    net.run(2_000);
    assert_eq!(net.phase(2), ControlPhase::Active);
    assert_eq!(net.image(2).cluster_id(), net.image(1).cluster_id());
    net.assert_agreed();
}

#[test]
fn a_node_that_dies_while_it_forms_goes_on_where_it_was() {
    let mut net = Net::new();
    net.cluster.hold_commits(true);
    net.start(1, true);
    net.kill(1);
    net.cluster.hold_commits(false);
    net.restart(1);
    assert_eq!(net.cluster.elect_any(), Some(dir(1)));
    net.run(1_000);
    assert_eq!(net.phase(1), ControlPhase::Active);
    let forming = net.cluster.len();
    net.kill(1);
    net.restart(1);
    net.cluster.elect_any();
    net.run(1_000);
    assert!(net.cluster.len() < forming + 6, "a second start forms nothing");
    assert_eq!(net.phase(1), ControlPhase::Active);
}

#[test]
fn q1_three_nodes_make_three_voters_and_every_copy_is_the_same() {
    let net = Net::of(3);
    assert_eq!(net.cluster.members().voters, BTreeSet::from([dir(1), dir(2), dir(3)]));
    net.assert_agreed();
}

#[test]
fn a_fourth_node_joins_as_an_observer() {
    let net = Net::of(4);
    assert_eq!((net.cluster.members().voters.len(), net.cluster.members().nodes.len()), (3, 4));
    net.assert_agreed();
}

#[test]
fn a_directory_with_the_metadata_of_another_cluster_is_refused() {
    let mut net = Net::of(1);
    net.kill(1);
    let node = &net.nodes[&1];
    let other = ControlConfig { cluster_id: ClusterId([8; 16]), ..node.config.clone() };
    let (disk, cluster) = (node.disk.another_handle(), net.cluster.clone());
    let mut control = Control::open(net.now(), other, disk, |applied| cluster.node(dir(1), applied)).unwrap();
    let last = std::iter::from_fn(|| control.poll_action()).last();
    assert!(matches!(last, Some(ControlAction::Stop { code: ExitCode::ForeignDirectory, .. })), "{last:?}");
    assert!(control.image().cluster_id() == Some(ClusterId([9; 16])) && control.poll_timeout().is_none());
}

/// A broker in memory, alone: opened, asked for a topic, and run until it has it.
fn solo(disk: &MemoryDisk, now: Now, topic: &str) -> Control<MemoryDisk, SoloQuorum> {
    let own = QuorumMember { directory: dir(1), broker: b(1), addresses: vec![] };
    let seed = u128::from(now.mono.0).to_le_bytes();
    let config = ControlConfig { incarnation: Incarnation(now.mono.0), seed, ..config(1, 1, true) };
    let mut control =
        Control::open(now, config, disk.another_handle(), |last| SoloQuorum::new(last, own)).unwrap();
    for shard in 0..SHARDS {
        control.handle_request(now, ShardId(shard), ControlRequest::Recovered { partitions: vec![] });
    }
    let (id, deadline) = (AdminId(1), now.mono.after(std::time::Duration::from_secs(1)));
    for round in 0..20 {
        control.handle_quorum(now);
        control.handle_disk(now);
        control.handle_timeout(now);
        if round == 10 {
            let topic = NewTopic { name: topic.into(), ..NewTopic::default() };
            control.handle_command(now, id, deadline, AdminCommand::CreateTopic(topic));
        }
    }
    assert_eq!(control.status().phase, ControlPhase::Active);
    control
}

#[test]
fn a_broker_alone_goes_on_behind_its_copy() {
    let disk = MemoryDisk::new();
    let at = |ms: u64| Now { mono: MonoTime(ms * 1_000_000), wall: Timestamp(i64::try_from(ms).unwrap()) };
    drop(solo(&disk, at(1), "first"));
    disk.kill_process();
    let control = solo(&disk, at(2), "second");
    assert_eq!(control.image().topic_names().collect::<Vec<_>>(), ["first", "second"]);
}
