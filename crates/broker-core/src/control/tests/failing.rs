//! Q1 and D5 on Control's copy; mutation Q1'.

use log_store::FailedSync;

use super::*;

fn applied(net: &Net, broker: i32) -> i64 {
    net.image(broker).applied().unwrap().0
}

#[test]
fn q1_nothing_is_applied_before_it_is_fsynced_here() {
    let mut net = Net::of(2);
    net.nodes[&2].disk.hold(true);
    let before = applied(&net, 2);
    let topic = NewTopic { name: "orders".into(), ..NewTopic::default() };
    assert!(net.command(1, AdminCommand::CreateTopic(topic)).is_ok());
    assert_eq!(applied(&net, 2), before);
    assert!(net.image(2).topic_by_name("orders").is_none());
    net.nodes[&2].disk.hold(false);
    while net.nodes[&2].disk.release_one() {}
    net.run(100);
    assert!(net.image(2).topic_by_name("orders").is_some());
}

#[test]
fn q1_what_was_applied_survives_a_power_cut_and_the_rest_comes_again() {
    for seed in 0..20 {
        let mut net = Net::of(2);
        let topic = NewTopic { name: "orders".into(), ..NewTopic::default() };
        assert!(net.command(1, AdminCommand::CreateTopic(topic)).is_ok());
        let before = applied(&net, 2);
        net.nodes[&2].disk.hold(true);
        let topic = NewTopic { name: "more".into(), ..NewTopic::default() };
        assert!(net.command(1, AdminCommand::CreateTopic(topic)).is_ok());
        net.nodes.get_mut(&2).unwrap().control = None;
        net.nodes[&2].disk.power_cut(seed);
        net.cut(2, true);
        net.nodes[&2].disk.hold(false);
        net.restart_alone(2);
        net.run(50);
        assert!(net.image(2).topic_by_name("orders").is_some() && applied(&net, 2) >= before);
        net.cut(2, false);
        net.run(3_000);
        assert!(net.image(2).topic_by_name("more").is_some());
        net.assert_agreed();
    }
}

#[test]
fn q1_what_a_restart_finds_in_the_page_cache_is_applied_only_when_it_is_durable() {
    let mut net = Net::of(2);
    net.nodes[&2].disk.hold(true);
    let topic = NewTopic { name: "orders".into(), ..NewTopic::default() };
    assert!(net.command(1, AdminCommand::CreateTopic(topic)).is_ok());
    net.kill(2);
    net.nodes[&2].disk.hold(true);
    net.restart_alone(2);
    assert!(net.nodes[&2].told.is_empty(), "no image before what was recovered is durable");
    while net.nodes[&2].disk.release_one() {
        net.pump();
    }
    assert!(net.image(2).topic_by_name("orders").is_some());
}

#[test]
fn d5_a_failed_sync_of_the_copy_ends_the_broker() {
    let mut net = Net::of(2);
    net.nodes[&2].disk.fail_next_sync(FailedSync::ShowsNew);
    let before = applied(&net, 2);
    let topic = NewTopic { name: "orders".into(), ..NewTopic::default() };
    assert!(net.command(1, AdminCommand::CreateTopic(topic)).is_ok());
    assert_eq!(net.nodes[&2].stopped, Some((ExitCode::DirectoryPoisoned, false)));
    assert_eq!(applied(&net, 2), before);
    assert_eq!(net.control(2).poll_timeout(), None);
}

#[test]
fn d5_a_copy_without_room_for_an_entry_takes_none_that_follows_and_ends_the_broker() {
    let mut net = Net::of(2);
    net.cut(2, true);
    for name in ["orders", "prices"] {
        let topic = NewTopic { name: name.into(), ..NewTopic::default() };
        assert!(net.command(1, AdminCommand::CreateTopic(topic)).is_ok());
    }
    net.nodes[&2].disk.fail_next(log_store::DiskOperation::Write, log_store::DiskFault::Full);
    let before = applied(&net, 2);
    net.cut(2, false);
    net.run(1_000);
    assert_eq!(net.nodes[&2].stopped, Some((ExitCode::DirectoryPoisoned, false)));
    assert_eq!(applied(&net, 2), before);
}
