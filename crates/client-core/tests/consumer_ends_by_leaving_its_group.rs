//! However a consumer ends, its group is not left to wait for it.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod world;

use highwater_client_core::{ClientError, ConsumerOptions, GroupOptions};
use kafka_wire::{ApiKey, ErrorCode};
use world::groups::Group;
use world::{Fault, World, from_the_beginning};

const GROUP: &str = "billing";

/// Opens a member in a world of this script; gives why that failed, and how many have said good-bye.
fn fails_to_open(key: ApiKey, faults: Vec<Option<Fault>>) -> (ClientError, usize) {
    let mut world = World::new(1, 1);
    world.cluster.create("t", 1);
    let group = Group { admits: true, ..Group::at(1) };
    world.cluster.groups.0.insert(GROUP.to_owned(), group);
    world.cluster.script(key, faults);
    let options = ConsumerOptions { group: Some(GroupOptions::named(GROUP)), ..from_the_beginning("t") };
    let error = world.consumer(options).expect_err("it cannot be opened");
    world.run_until("the end of the consumer", |world| (!world.brain.is_leaving()).then_some(()));
    let members = world.cluster.groups.0.get(GROUP).map_or(0, |group| group.members.len());
    assert_eq!(members, 0, "{key:?}: nobody is left in the group");
    (error, world.cluster.count(ApiKey::LeaveGroup))
}

#[test]
fn a_member_whose_opening_fails_leaves() {
    let refused = |code| Some(Fault::Refuse(code));
    for (key, faults, code, left) in [
        // Its position is refused.
        (
            ApiKey::ListOffsets,
            vec![refused(ErrorCode::TopicAuthorizationFailed)],
            "TOPIC_AUTHORIZATION_FAILED",
            1,
        ),
        // It has an id, and is refused as a member.
        (
            ApiKey::JoinGroup,
            vec![None, refused(ErrorCode::InconsistentGroupProtocol)],
            "INCONSISTENT_GROUP_PROTOCOL",
            1,
        ),
        (
            ApiKey::SyncGroup,
            vec![refused(ErrorCode::GroupAuthorizationFailed)],
            "GROUP_AUTHORIZATION_FAILED",
            1,
        ),
        // Nobody knows it yet.
        (ApiKey::JoinGroup, vec![refused(ErrorCode::InvalidSessionTimeout)], "INVALID_SESSION_TIMEOUT", 0),
        (
            ApiKey::FindCoordinator,
            vec![refused(ErrorCode::GroupAuthorizationFailed)],
            "GROUP_AUTHORIZATION_FAILED",
            0,
        ),
    ] {
        let (error, leaves) = fails_to_open(key, faults);
        assert_eq!((error.code(), leaves), (code, left), "{key:?}");
    }
}

#[test]
fn who_still_opens_a_consumer_that_is_closed_is_told() {
    let mut world = World::new(1, 1);
    world.cluster.create("t", 1);
    world.cluster.groups.0.insert(GROUP.to_owned(), Group::at(1));
    for group in [None, Some(GroupOptions::named(GROUP))] {
        let options = ConsumerOptions { group, ..from_the_beginning("t") };
        let (consumer, opening) = world.begin_consumer(options);
        let closing = world.call();
        world.brain.close_consumer(world.clocks(), consumer, Some(closing));
        assert!(world.await_answer(closing).is_ok());
        assert_eq!(world.await_answer(opening).expect_err("closed"), ClientError::Closed);
        assert!(!world.brain.is_leaving());
    }
}
