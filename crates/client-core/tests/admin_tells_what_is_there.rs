//! Stories of the administrator's questions.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod world;

use std::time::Duration;

use highwater_client_core::admin::{
    AdminAnswer, AdminCall, BrokerDescription, ClusterDescription, NewTopic, OffsetSpec,
};
use highwater_client_core::{Answer, ClientError};
use kafka_wire::ApiKey;
use world::{Fault, World};

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

/// Asks brokers that take the question and say nothing: the error, and when it came.
fn unanswered(key: ApiKey, question: AdminCall) -> (ClientError, Duration) {
    let mut world = World::new(1, 2);
    world.cluster.create("t", 1);
    described(&mut world);
    let began = world.now;
    world.cluster.script(key, vec![Some(Fault::Silence); 50]);
    let call = world.call();
    world.brain.admin_within(world.clocks(), call, question, Some(Duration::from_secs(8)));
    let error = match world.await_answer(call) {
        Ok(Answer::Admin(AdminAnswer::Offsets(mut offsets))) => {
            offsets.remove(0).expect_err("nobody answers")
        }
        other => other.expect_err("nobody answers"),
    };
    (error, world.now.since(began))
}

#[test]
fn a_call_that_a_broker_has_and_does_not_answer_ends_at_its_time_limit() {
    let offsets = AdminCall::ListOffsets(vec![("t".into(), 0, OffsetSpec::Latest)]);
    let (error, took) = unanswered(ApiKey::ListOffsets, offsets);
    assert_eq!(error.code(), "TIMED_OUT");
    assert_eq!(took, Duration::from_secs(8));
    let (error, took) = unanswered(ApiKey::DescribeCluster, AdminCall::DescribeCluster);
    assert!(error.to_string().starts_with("an answer did not happen within 8000 ms"), "{error}");
    assert_eq!(took, Duration::from_secs(8));
}

#[test]
fn a_change_that_a_broker_has_and_does_not_answer_has_an_unknown_outcome() {
    let topics = vec![NewTopic::named("u")];
    let question = AdminCall::CreateTopics { topics, validate_only: false };
    let (error, took) = unanswered(ApiKey::CreateTopics, question);
    assert_eq!((error.code(), took), ("UNKNOWN_OUTCOME", Duration::from_secs(8)));
}
