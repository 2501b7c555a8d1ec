//! Stories of the administrator's questions.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod world;

use highwater_client_core::Answer;
use highwater_client_core::admin::{AdminAnswer, AdminCall, BrokerDescription, ClusterDescription};
use kafka_wire::ApiKey;
use world::World;

fn described(world: &mut World) -> ClusterDescription {
    let call = world.call();
    world.brain.bootstrap(world.clocks(), call);
    world.await_answer(call).expect("connected");
    let call = world.call();
    world.brain.admin(world.clocks(), call, AdminCall::DescribeCluster);
    match world.await_answer(call) {
        Ok(Answer::Admin(AdminAnswer::Cluster(cluster))) => cluster,
        other => panic!("{other:?}"),
    }
}

fn ids(brokers: &[BrokerDescription]) -> Vec<i32> {
    brokers.iter().map(|broker| broker.id).collect()
}

#[test]
fn a_broker_that_is_down_is_named() {
    let mut world = World::new(1, 2);
    world.cluster.fenced = vec![9, 3];
    let cluster = described(&mut world);
    assert_eq!((ids(&cluster.brokers), ids(&cluster.fenced)), (vec![1, 2], vec![3, 9]));
    assert_eq!((cluster.controller, cluster.cluster_id.as_deref()), (Some(1), Some("world")));
}

#[test]
fn brokers_that_cannot_tell_who_is_down_are_asked_what_they_can() {
    let mut world = World::new(1, 2);
    world.cluster.fenced = vec![3];
    world.cluster.caps.insert(ApiKey::DescribeCluster, 1);
    let cluster = described(&mut world);
    assert_eq!((ids(&cluster.brokers), ids(&cluster.fenced)), (vec![1, 2], vec![]));
    assert_eq!(world.cluster.count(ApiKey::DescribeCluster), 0);
}
