//! Stories of groups: seen, moved and deleted by an administrator.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod world;

use std::sync::Arc;
use std::time::Duration;

use highwater_client_core::admin::{
    AdminAnswer, AdminCall, CommittedOffset, ConfigChange, ConfigResource, GroupDescription, GroupListing,
    GroupProtocol, GroupState, NewTopic,
};
use highwater_client_core::{Answer, ClientError, ConsumerOptions, GroupOptions};
use kafka_wire::{ApiKey, ErrorCode};
use world::groups::Group;
use world::{Fault, World, from_the_beginning};

const GROUP: &str = "billing";

fn group() -> Arc<str> {
    GROUP.into()
}

/// Three brokers, of which the second coordinates the group.
fn world() -> World {
    let mut world = World::new(1, 3);
    world.cluster.groups.0.insert(GROUP.to_owned(), Group::at(2));
    world
}

fn the_group(world: &mut World) -> &mut Group {
    world.cluster.groups.0.get_mut(GROUP).expect("there")
}

fn ask(world: &mut World, question: AdminCall) -> Result<Answer, ClientError> {
    let call = world.call();
    world.brain.admin(world.clocks(), call, question);
    world.await_answer(call)
}

fn list(world: &mut World) -> Vec<GroupListing> {
    match ask(world, AdminCall::ListGroups) {
        Ok(Answer::Admin(AdminAnswer::Groups(groups))) => groups,
        other => panic!("{other:?}"),
    }
}

fn names(groups: &[GroupListing]) -> Vec<&str> {
    groups.iter().map(|listing| &*listing.group).collect()
}

fn describe(world: &mut World, group: &str) -> Result<GroupDescription, ClientError> {
    match ask(world, AdminCall::DescribeGroup(group.into()))? {
        Answer::Admin(AdminAnswer::Group(description)) => Ok(description),
        other => panic!("{other:?}"),
    }
}

fn committed(world: &mut World) -> Vec<(String, u32, i64)> {
    match ask(world, AdminCall::GroupOffsets(group())) {
        Ok(Answer::Admin(AdminAnswer::Committed(offsets))) => offsets
            .into_iter()
            .map(|found| (found.topic.to_string(), found.partition, found.offset))
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn set(world: &mut World, offsets: &[(&str, u32, i64)]) -> Result<Vec<Result<(), ClientError>>, ClientError> {
    let one = |(topic, partition, offset): &(&str, u32, i64)| CommittedOffset {
        topic: (*topic).into(),
        partition: *partition,
        offset: *offset,
        leader_epoch: -1,
    };
    let offsets = offsets.iter().map(one).collect();
    match ask(world, AdminCall::SetGroupOffsets { group: group(), offsets })? {
        Answer::Admin(AdminAnswer::GroupOffsetsChanged(results)) => Ok(results),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_broker_tells_its_groups() {
    let mut world = world();
    world.cluster.groups.0.insert("audit".to_owned(), Group::at(3));
    let newer = Group { is_of_consumer_protocol: true, ..Group::at(1) };
    world.cluster.groups.0.insert("web".to_owned(), newer);
    the_group(&mut world).members.insert("m".to_owned(), vec![0]);
    let groups = list(&mut world);
    assert_eq!(names(&groups), ["audit", GROUP, "web"]);
    let told: Vec<_> = groups.iter().map(|found| (found.protocol.clone(), found.state.clone())).collect();
    let expected = [
        (GroupProtocol::Classic, Some(GroupState::Empty)),
        (GroupProtocol::Classic, Some(GroupState::Stable)),
        (GroupProtocol::Consumer, Some(GroupState::Empty)),
    ];
    assert_eq!(told, expected);
    assert_eq!(world.cluster.count(ApiKey::ListGroups), 3);
}

#[test]
fn a_group_that_moves_while_groups_are_listed_is_not_left_out() {
    let mut world = world();
    // The first has told that it has none when the second dies and its group goes to the first.
    world.cluster.script(ApiKey::ListGroups, [None, Some(Fault::CloseBefore)]);
    let call = world.call();
    world.brain.admin(world.clocks(), call, AdminCall::ListGroups);
    world.run_until("two to be asked", |world| (world.cluster.count(ApiKey::ListGroups) == 2).then_some(()));
    world.kill(2);
    world.cluster.brokers = vec![1, 3];
    the_group(&mut world).coordinator = 1;
    match world.await_answer(call) {
        Ok(Answer::Admin(AdminAnswer::Groups(groups))) => assert_eq!(names(&groups), [GROUP]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn groups_of_a_broker_that_goes_before_it_is_asked_are_not_left_out() {
    let mut world = world();
    let call = world.call();
    world.brain.admin(world.clocks(), call, AdminCall::ListGroups);
    world.run_until("one to be asked", |world| (world.cluster.count(ApiKey::ListGroups) == 1).then_some(()));
    world.kill(2);
    world.cluster.brokers = vec![1, 3];
    the_group(&mut world).coordinator = 1;
    match world.await_answer(call) {
        Ok(Answer::Admin(AdminAnswer::Groups(groups))) => assert_eq!(names(&groups), [GROUP]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_coordinator_that_is_still_reading_its_groups_is_waited_for() {
    let mut world = world();
    let loading = Fault::Refuse(ErrorCode::CoordinatorLoadInProgress);
    world.cluster.script(ApiKey::ListGroups, [None, Some(loading)]);
    assert_eq!(names(&list(&mut world)), [GROUP]);
}

#[test]
fn a_broker_that_never_answers_is_no_broker_without_groups() {
    let mut world = world();
    world.mute.insert(3);
    match ask(&mut world, AdminCall::ListGroups) {
        Err(ClientError::TimedOut { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn members_are_told_with_their_partitions_by_either_protocol() {
    for (is_of_consumer_protocol, protocol, assignor) in
        [(false, GroupProtocol::Classic, "range"), (true, GroupProtocol::Consumer, "uniform")]
    {
        let mut world = world();
        let found = the_group(&mut world);
        found.is_of_consumer_protocol = is_of_consumer_protocol;
        found.members = [("m1".to_owned(), vec![0, 2]), ("m2".to_owned(), vec![1])].into();
        let group = describe(&mut world, GROUP).expect("there");
        assert_eq!((&group.protocol, &*group.assignor, group.coordinator), (&protocol, assignor, 2));
        assert_eq!((&*group.protocol_type, group.state), ("consumer", GroupState::Stable));
        let told = group.members.iter().map(|member| {
            let numbers: Vec<u32> = member.assigned.iter().map(|(_, partition)| *partition).collect();
            (&*member.member_id, &*member.client_id, &*member.host, numbers)
        });
        let expected = [("m1", "app", "10.0.0.7", vec![0, 2]), ("m2", "app", "10.0.0.7", vec![1])];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_group_that_is_not_there_is_said_so() {
    let mut world = world();
    let error = describe(&mut world, "biling").expect_err("not there");
    assert_eq!(error.broker_code(), Some(ErrorCode::GroupIdNotFound));
}

#[test]
fn brokers_that_do_not_know_the_newer_protocol_are_not_asked_by_it() {
    let mut world = world();
    world.cluster.caps.insert(ApiKey::ConsumerGroupDescribe, -1);
    let error = describe(&mut world, "biling").expect_err("not there");
    assert_eq!(error.broker_code(), Some(ErrorCode::GroupIdNotFound));
    assert_eq!(world.cluster.count(ApiKey::ConsumerGroupDescribe), 0);
}

#[test]
fn a_coordinator_that_has_moved_is_found_again() {
    let mut world = world();
    the_group(&mut world).offsets.insert(("t".to_owned(), 0), 5);
    world.cluster.script(ApiKey::FindCoordinator, [Some(Fault::Refuse(ErrorCode::CoordinatorNotAvailable))]);
    let call = world.call();
    world.brain.admin(world.clocks(), call, AdminCall::GroupOffsets(group()));
    world.run_until("it to be asked for again", |world| {
        (world.cluster.count(ApiKey::FindCoordinator) == 2).then_some(())
    });
    the_group(&mut world).coordinator = 3;
    match world.await_answer(call) {
        Ok(Answer::Admin(AdminAnswer::Committed(offsets))) => assert_eq!(offsets[0].offset, 5),
        other => panic!("{other:?}"),
    }
}

#[test]
fn positions_are_set_whatever_becomes_of_the_answer() {
    for fault in [
        None,
        Some(Fault::CloseBefore),
        Some(Fault::CloseAfter),
        Some(Fault::Refuse(ErrorCode::NotCoordinator)),
        Some(Fault::Refuse(ErrorCode::CoordinatorLoadInProgress)),
    ] {
        let mut world = world();
        world.cluster.script(ApiKey::OffsetCommit, [fault.clone()]);
        let results = set(&mut world, &[("t", 1, 40), ("u", 0, 7), ("t", 0, 3)]);
        assert_eq!(results, Ok(vec![Ok(()), Ok(()), Ok(())]), "{fault:?}");
        let expected = [("t".to_owned(), 0, 3), ("t".to_owned(), 1, 40), ("u".to_owned(), 0, 7)];
        assert_eq!(committed(&mut world), expected, "{fault:?}");
    }
}

#[test]
fn positions_of_a_group_with_members_are_not_set() {
    let mut world = world();
    the_group(&mut world).members.insert("m".to_owned(), vec![0]);
    let error = set(&mut world, &[("t", 0, 3)]).expect_err("the members would go on where they are");
    assert_eq!(error.broker_code(), Some(ErrorCode::NonEmptyGroup));
    assert!(error.to_string().contains("the group has members: stop them first"), "{error}");
    assert_eq!(committed(&mut world), []);
}

#[test]
fn positions_are_deleted_but_for_topics_that_members_read() {
    let mut world = world();
    let found = the_group(&mut world);
    found.members.insert("m".to_owned(), vec![0]);
    found.offsets = [(("t".to_owned(), 0), 5), (("u".to_owned(), 1), 6)].into();
    let partitions = vec![("u".into(), 1), ("t".into(), 0)];
    let results = match ask(&mut world, AdminCall::DeleteGroupOffsets { group: group(), partitions }) {
        Ok(Answer::Admin(AdminAnswer::GroupOffsetsChanged(results))) => results,
        other => panic!("{other:?}"),
    };
    assert_eq!(results[0], Ok(()));
    let refused = results[1].as_ref().expect_err("read by a member");
    assert_eq!(
        (refused.broker_code(), refused.topic()),
        (Some(ErrorCode::GroupSubscribedToTopic), Some("t"))
    );
    assert_eq!(committed(&mut world), [("t".to_owned(), 0, 5)]);
}

#[test]
fn a_group_is_deleted_once_it_has_no_members() {
    let mut world = world();
    the_group(&mut world).members.insert("m".to_owned(), vec![0]);
    let delete = |world: &mut World| ask(world, AdminCall::DeleteGroup(group()));
    let code = |result: Result<Answer, ClientError>| result.expect_err("refused").broker_code();
    assert_eq!(code(delete(&mut world)), Some(ErrorCode::NonEmptyGroup));
    the_group(&mut world).members.clear();
    // Its answer is lost; that it is gone on the second try is its doing.
    world.cluster.script(ApiKey::DeleteGroups, [Some(Fault::CloseAfter)]);
    assert_eq!(delete(&mut world), Ok(Answer::Done));
    assert_eq!(code(delete(&mut world)), Some(ErrorCode::GroupIdNotFound));
}

#[test]
fn a_coordinator_that_is_dead_when_it_is_named_is_looked_for_again() {
    let mut world = world();
    the_group(&mut world).offsets.insert(("t".to_owned(), 0), 5);
    world.kill(2);
    let call = world.call();
    world.brain.admin(world.clocks(), call, AdminCall::GroupOffsets(group()));
    world.run_until("it to be named", |world| {
        (world.cluster.count(ApiKey::FindCoordinator) == 1).then_some(())
    });
    world.run_for(Duration::from_secs(2));
    // It is fenced now, and another has taken over.
    world.cluster.brokers = vec![1, 3];
    the_group(&mut world).coordinator = 3;
    match world.await_answer(call) {
        Ok(Answer::Admin(AdminAnswer::Committed(offsets))) => assert_eq!(offsets[0].offset, 5),
        other => panic!("{other:?} after {} FindCoordinator", world.cluster.count(ApiKey::FindCoordinator)),
    }
}

#[test]
fn a_member_looks_again_for_a_coordinator_that_is_dead_when_it_is_named() {
    let mut world = world();
    world.cluster.create("t", 1);
    world.kill(2);
    let options = ConsumerOptions { group: Some(GroupOptions::named(GROUP)), ..from_the_beginning("t") };
    world.begin_consumer(options);
    world.run_for(Duration::from_secs(9));
    let asked = world.cluster.count(ApiKey::FindCoordinator);
    assert!((2..=20).contains(&asked), "{asked} times in 9 s");
    world.cluster.brokers = vec![1, 3];
    the_group(&mut world).coordinator = 3;
    world.run_until("a request to join", |world| (world.cluster.count(ApiKey::JoinGroup) > 0).then_some(()));
}

#[test]
fn a_refusal_after_a_lost_answer_is_no_promise_that_nothing_was_done() {
    let mut world = world();
    world.cluster.script(ApiKey::OffsetCommit, [Some(Fault::CloseAfter)]);
    let call = world.call();
    let offsets = vec![CommittedOffset { topic: "t".into(), partition: 0, offset: 3, leader_epoch: -1 }];
    world.brain.admin(world.clocks(), call, AdminCall::SetGroupOffsets { group: group(), offsets });
    world.run_until("it to be set", |world| {
        world.cluster.groups.0[GROUP].offsets.contains_key(&("t".to_owned(), 0)).then_some(())
    });
    the_group(&mut world).members.insert("m".to_owned(), vec![0]);
    let answer = world.await_answer(call);
    assert!(matches!(answer, Err(ClientError::UnknownOutcome { .. })), "{answer:?}");
}

#[test]
fn a_group_that_never_was_is_not_deleted_by_a_lost_search_for_its_coordinator() {
    let mut world = world();
    world.cluster.script(ApiKey::FindCoordinator, [Some(Fault::CloseAfter)]);
    let error = ask(&mut world, AdminCall::DeleteGroup("biling".into())).expect_err("not there");
    assert_eq!(error.broker_code(), Some(ErrorCode::GroupIdNotFound));
}

#[test]
fn a_name_or_a_setting_that_the_protocol_has_no_room_for_is_refused() {
    let mut world = world();
    let long: Arc<str> = "x".repeat(32_768).into();
    let topics = vec![NewTopic::named("t").config("retention.ms", Arc::clone(&long))];
    let alter = AdminCall::AlterConfigs {
        resource: ConfigResource::Broker(1),
        changes: vec![ConfigChange::Set(Arc::clone(&long), "1".into())],
    };
    let questions = [
        AdminCall::DescribeGroup(Arc::clone(&long)),
        AdminCall::DeleteGroup(Arc::clone(&long)),
        AdminCall::SetGroupOffsets { group: Arc::clone(&long), offsets: vec![] },
        AdminCall::CreateTopics { topics, validate_only: true },
        alter,
    ];
    for question in questions {
        let error = ask(&mut world, question).expect_err("refused");
        assert!(matches!(error, ClientError::Caller { .. }), "{error:?}");
    }
    let options = ConsumerOptions { group: Some(GroupOptions::named(long)), ..from_the_beginning("t") };
    assert!(options.checked().is_err());
}
