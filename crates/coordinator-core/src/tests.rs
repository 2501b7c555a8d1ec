//! Groups as stories: clients' commands go in, records are committed at once or when the test says so.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use log_core::{MonoTime, Now, Timestamp};

use crate::command::*;
use crate::*;

/// A coordinator whose records are committed at once, with a clock.
struct World {
    now: Now,
    coordinator: GroupCoordinator,
    replies: BTreeMap<u64, Reply>,
    log: Vec<records::GroupRecord>,
    hold_writes: Vec<WriteId>,
    holding: bool,
    next_token: u64,
}

impl World {
    fn new() -> Self {
        Self::with(GroupConfig { initial_rebalance_delay: Duration::ZERO, ..GroupConfig::default() })
    }

    fn with(config: GroupConfig) -> Self {
        let now = Now { mono: MonoTime(0), wall: Timestamp(1_000_000) };
        let mut coordinator = GroupCoordinator::new(now, config, 7);
        coordinator.finish_loading(now);
        let (replies, log) = (BTreeMap::new(), Vec::new());
        Self { now, coordinator, replies, log, hold_writes: Vec::new(), holding: false, next_token: 0 }
    }

    fn token(&mut self) -> RequestToken {
        self.next_token += 1;
        RequestToken(self.next_token)
    }

    fn run(&mut self) {
        while let Some(action) = self.coordinator.poll_action() {
            match action {
                CoordinatorAction::Append { id, .. } if self.holding => self.hold_writes.push(id),
                CoordinatorAction::Append { id, records } => {
                    self.log.extend(records);
                    self.coordinator.handle_written(self.now, id, Ok(()));
                }
                CoordinatorAction::Reply { token, reply } => {
                    assert!(self.replies.insert(token.0, reply).is_none(), "one reply for each request");
                }
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now.mono.after(time);
        while let Some(at) = self.coordinator.poll_timeout().filter(|at| *at <= until) {
            self.advance_to(at);
            self.coordinator.handle_timeout(self.now);
            self.run();
        }
        self.advance_to(until);
    }

    fn advance_to(&mut self, at: MonoTime) {
        self.now.wall.0 += i64::try_from(at.since(self.now.mono).as_millis()).unwrap();
        self.now.mono = at.max(self.now.mono);
    }

    fn join(&mut self, join: Join) -> RequestToken {
        let token = self.token();
        self.coordinator.join(self.now, token, join);
        self.run();
        token
    }

    fn joined(&self, token: RequestToken) -> Joined {
        match self.replies.get(&token.0) {
            Some(Reply::Joined(Ok(joined))) => joined.clone(),
            other => panic!("not joined: {other:?}"),
        }
    }

    fn refused(&self, token: RequestToken) -> JoinRefused {
        match self.replies.get(&token.0) {
            Some(Reply::Joined(Err(refused))) => refused.clone(),
            other => panic!("not refused: {other:?}"),
        }
    }

    fn sync(&mut self, joined: &Joined, assignments: &[(&str, &str)]) -> RequestToken {
        let token = self.token();
        let owned = |(id, part): &(&str, &str)| ((*id).to_owned(), Bytes::copy_from_slice(part.as_bytes()));
        let sync = Sync {
            speaker: speaker(joined),
            assignments: assignments.iter().map(owned).collect(),
            ..Sync::default()
        };
        self.coordinator.sync(self.now, token, sync);
        self.run();
        token
    }

    fn assignment(&self, token: RequestToken) -> Result<String, GroupError> {
        match self.replies.get(&token.0) {
            Some(Reply::Synced(result)) => {
                result.clone().map(|synced| String::from_utf8(synced.assignment.to_vec()).unwrap())
            }
            other => panic!("not synced: {other:?}"),
        }
    }

    fn heartbeat(&mut self, joined: &Joined) -> Result<(), GroupError> {
        self.coordinator.heartbeat(self.now, &speaker(joined))
    }

    fn commit(&mut self, speaker: Speaker, offset: i64) -> RequestToken {
        let token = self.token();
        let offsets =
            vec![CommitOffset { topic: "t".to_owned(), offset, leader_epoch: 3, ..CommitOffset::default() }];
        self.coordinator.commit(self.now, token, Commit { speaker, offsets });
        self.run();
        token
    }

    fn leave(&mut self, joined: &Joined) {
        let token = self.token();
        let members = vec![LeavingMember { member_id: joined.member_id.clone(), instance_id: None }];
        self.coordinator.leave(self.now, token, &Leave { group: "g".to_owned(), members });
        self.run();
        assert_eq!(self.replies.get(&token.0), Some(&Reply::Left(vec![Ok(())])));
    }

    /// One member that joined and has its assignment.
    fn single_member(&mut self) -> Joined {
        let token = self.join(consumer(""));
        let joined = self.joined(token);
        let token = self.sync(&joined, &[(&joined.member_id, "all")]);
        assert_eq!(self.assignment(token), Ok("all".to_owned()));
        joined
    }

    /// Another coordinator that replays what this one wrote.
    fn successor(&self) -> Self {
        let mut next = Self::new();
        next.now = self.now;
        next.coordinator = GroupCoordinator::new(self.now, GroupConfig::default(), 8);
        for record in &self.log {
            next.coordinator.replay(self.now, &record.key, record.value.as_deref()).unwrap();
        }
        next.coordinator.finish_loading(self.now);
        next
    }

    fn state(&self) -> &'static str {
        self.coordinator.describe("g").map_or("Dead", |group| group.state)
    }
}

fn speaker(joined: &Joined) -> Speaker {
    Speaker {
        group: "g".to_owned(),
        generation: joined.generation,
        member_id: joined.member_id.clone(),
        instance_id: None,
    }
}

fn simple() -> Speaker {
    Speaker { group: "g".to_owned(), generation: -1, ..Speaker::default() }
}

fn consumer(member_id: &str) -> Join {
    Join {
        group: "g".to_owned(),
        member_id: member_id.to_owned(),
        client_id: "client".to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        session_timeout: Duration::from_secs(10),
        rebalance_timeout: Duration::from_secs(60),
        protocol_type: "consumer".to_owned(),
        protocols: vec![("range".to_owned(), Bytes::from_static(b"\0\x01\0\0\0\x01\0\x01t"))],
        ..Join::default()
    }
}

#[test]
fn a_single_member_joins_syncs_and_lives() {
    let mut world = World::new();
    let joined = world.single_member();
    assert_eq!((joined.generation, joined.protocol.as_str()), (1, "range"));
    assert_eq!(joined.leader, joined.member_id);
    assert_eq!(joined.members.len(), 1);
    assert_eq!(world.state(), "Stable");
    for _ in 0..5 {
        world.pass(Duration::from_secs(8));
        assert_eq!(world.heartbeat(&joined), Ok(()));
    }
}

#[test]
fn a_first_join_is_sent_back_with_an_id_that_lapses() {
    let mut world = World::new();
    let first = world.join(Join { member_id_required: true, ..consumer("") });
    let refused = world.refused(first);
    assert_eq!(refused.error, GroupError::MemberIdRequired);
    assert!(refused.member_id.starts_with("client-"));
    world.pass(Duration::from_secs(11));
    let late = world.join(Join { member_id_required: true, ..consumer(&refused.member_id) });
    assert_eq!(world.refused(late).error, GroupError::UnknownMember);

    let again = world.join(Join { member_id_required: true, ..consumer("") });
    let id = world.refused(again).member_id;
    let token = world.join(Join { member_id_required: true, ..consumer(&id) });
    assert_eq!(world.joined(token).member_id, id);
}

#[test]
fn two_members_share_and_the_second_rebalances_the_first() {
    let mut world = World::new();
    let one = world.single_member();
    let second = world.join(consumer(""));
    assert_eq!(world.heartbeat(&one), Err(GroupError::RebalanceInProgress));
    let first = world.join(consumer(&one.member_id));
    let (one, two) = (world.joined(first), world.joined(second));
    assert_eq!((one.generation, two.generation), (2, 2));
    assert_eq!(one.leader, one.member_id);
    assert_eq!((one.members.len(), two.members.len()), (2, 0));

    let waits = world.sync(&two, &[]);
    assert!(!world.replies.contains_key(&waits.0));
    let leads = world.sync(&one, &[(&one.member_id, "a"), (&two.member_id, "b")]);
    assert_eq!(world.assignment(leads), Ok("a".to_owned()));
    assert_eq!(world.assignment(waits), Ok("b".to_owned()));
}

#[test]
fn an_assignment_counts_only_once_its_record_is_committed() {
    let mut world = World::new();
    let token = world.join(consumer(""));
    let joined = world.joined(token);
    world.holding = true;
    let token = world.sync(&joined, &[(&joined.member_id, "all")]);
    assert_eq!(world.state(), "CompletingRebalance");
    let write = world.hold_writes.pop().unwrap();
    world.coordinator.handle_written(world.now, write, Err(GroupError::NotAvailable));
    world.run();
    assert_eq!(world.assignment(token), Err(GroupError::NotAvailable));
    assert_eq!(world.state(), "PreparingRebalance");
}

#[test]
fn a_silent_member_is_removed_and_the_group_becomes_empty() {
    let mut world = World::new();
    let joined = world.single_member();
    let token = world.commit(speaker(&joined), 5);
    assert_eq!(world.replies.get(&token.0), Some(&Reply::Committed(vec![Ok(())])));
    world.pass(Duration::from_secs(11));
    world.pass(Duration::from_secs(60));
    assert_eq!(world.state(), "Empty");
    assert_eq!(world.heartbeat(&joined), Err(GroupError::UnknownMember));
}

#[test]
fn a_member_that_does_not_rejoin_is_left_behind_when_time_is_up() {
    let mut world = World::new();
    let one = world.single_member();
    let second = world.join(consumer(""));
    for _ in 0..10 {
        assert_eq!(world.heartbeat(&one), Err(GroupError::RebalanceInProgress));
        world.pass(Duration::from_secs(7));
        if world.replies.contains_key(&second.0) {
            break;
        }
    }
    let two = world.joined(second);
    assert_eq!((two.generation, two.leader == two.member_id), (2, true));
    assert_eq!(world.heartbeat(&one), Err(GroupError::UnknownMember));
}

#[test]
fn a_leaving_member_empties_the_group_at_once() {
    let mut world = World::new();
    let joined = world.single_member();
    world.commit(speaker(&joined), 9);
    world.leave(&joined);
    assert_eq!(world.state(), "Empty");
    assert_eq!(world.coordinator.committed("g", "t", 0).unwrap().offset, 9);
}

#[test]
fn members_without_a_common_assignor_are_refused() {
    let mut world = World::new();
    world.single_member();
    let other = Join { protocols: vec![("sticky".to_owned(), Bytes::new())], ..consumer("") };
    let token = world.join(other);
    assert_eq!(world.refused(token).error, GroupError::InconsistentProtocol);
}

#[test]
fn a_static_member_comes_back_without_a_rebalance_and_fences_its_old_self() {
    let mut world = World::new();
    let with_instance =
        || Join { instance_id: Some("i".to_owned()), can_skip_assignment: true, ..consumer("") };
    let token = world.join(with_instance());
    let old = world.joined(token);
    world.sync(&old, &[(&old.member_id, "all")]);
    let token = world.join(with_instance());
    let new = world.joined(token);
    assert_ne!(new.member_id, old.member_id);
    assert_eq!((new.generation, new.skip_assignment), (old.generation, true));
    let stale = Speaker { instance_id: Some("i".to_owned()), ..speaker(&old) };
    assert_eq!(world.coordinator.heartbeat(world.now, &stale), Err(GroupError::FencedInstance));
    let token = world.sync(&new, &[]);
    assert_eq!(world.assignment(token), Ok("all".to_owned()));
}

#[test]
fn the_forming_group_waits_for_company() {
    let delay = Duration::from_secs(3);
    let mut world = World::with(GroupConfig { initial_rebalance_delay: delay, ..GroupConfig::default() });
    let first = world.join(consumer(""));
    world.pass(Duration::from_secs(2));
    let second = world.join(consumer(""));
    world.pass(Duration::from_secs(2));
    assert!(!world.replies.contains_key(&first.0));
    world.pass(Duration::from_secs(2));
    assert_eq!(world.joined(first).generation, 1);
    assert_eq!(world.joined(second).generation, 1);
}

#[test]
fn a_commit_is_seen_only_once_committed() {
    let mut world = World::new();
    world.holding = true;
    let token = world.commit(simple(), 5);
    assert_eq!(world.coordinator.committed("g", "t", 0), None);
    assert!(!world.replies.contains_key(&token.0));
    let write = world.hold_writes.pop().unwrap();
    world.coordinator.handle_written(world.now, write, Ok(()));
    world.run();
    assert_eq!(world.coordinator.committed("g", "t", 0).unwrap().offset, 5);
}

#[test]
fn a_commit_is_checked_against_membership() {
    let mut world = World::new();
    let joined = world.single_member();
    let mut check = |speaker: Speaker, error| {
        let token = world.commit(speaker, 1);
        assert_eq!(world.replies.get(&token.0), Some(&Reply::Committed(vec![Err(error)])));
    };
    check(simple(), GroupError::UnknownMember);
    check(Speaker { generation: 0, ..speaker(&joined) }, GroupError::IllegalGeneration);
    check(Speaker { member_id: "x".to_owned(), ..speaker(&joined) }, GroupError::UnknownMember);
    check(Speaker { group: "other".to_owned(), ..speaker(&joined) }, GroupError::IllegalGeneration);
}

#[test]
fn long_offset_metadata_is_refused_beside_good_offsets() {
    let mut world = World::new();
    let token = world.token();
    let offset =
        |metadata: String| CommitOffset { topic: "t".to_owned(), metadata, ..CommitOffset::default() };
    let offsets = vec![offset("x".repeat(4_097)), offset("y".to_owned())];
    world.coordinator.commit(world.now, token, Commit { speaker: simple(), offsets });
    world.run();
    let results = vec![Err(GroupError::MetadataTooLarge), Ok(())];
    assert_eq!(world.replies.get(&token.0), Some(&Reply::Committed(results)));
}

#[test]
fn a_successor_knows_members_and_offsets_from_the_log() {
    let mut world = World::new();
    let joined = world.single_member();
    world.commit(speaker(&joined), 42);
    let mut next = world.successor();
    assert_eq!(next.state(), "Stable");
    assert_eq!(next.heartbeat(&joined), Ok(()));
    let committed = next.coordinator.committed("g", "t", 0).unwrap();
    assert_eq!((committed.offset, committed.leader_epoch), (42, 3));
    let token = next.sync(&joined, &[]);
    assert_eq!(next.assignment(token), Ok("all".to_owned()));
}

#[test]
fn a_snapshot_makes_the_same_state() {
    let mut world = World::new();
    let joined = world.single_member();
    world.commit(speaker(&joined), 42);
    world.log = world.coordinator.snapshot();
    let mut next = world.successor();
    assert_eq!(next.heartbeat(&joined), Ok(()));
    assert_eq!(next.coordinator.committed("g", "t", 0).unwrap().offset, 42);
}

#[test]
fn a_group_with_members_is_not_deleted_and_an_empty_one_is() {
    let mut world = World::new();
    let joined = world.single_member();
    world.commit(speaker(&joined), 1);
    let names = ["g".to_owned(), "none".to_owned()];
    let token = world.token();
    world.coordinator.delete_groups(token, &names);
    world.run();
    let results = vec![Err(GroupError::NonEmptyGroup), Err(GroupError::GroupNotFound)];
    assert_eq!(world.replies.get(&token.0), Some(&Reply::GroupsDeleted(results)));
    world.leave(&joined);
    let token = world.token();
    world.coordinator.delete_groups(token, &names);
    world.run();
    let results = vec![Ok(()), Err(GroupError::GroupNotFound)];
    assert_eq!(world.replies.get(&token.0), Some(&Reply::GroupsDeleted(results)));
    assert_eq!(world.state(), "Dead");
    assert_eq!(world.successor().state(), "Dead");
}

#[test]
fn offsets_of_a_consumed_topic_are_not_deleted() {
    let mut world = World::new();
    let joined = world.single_member();
    world.commit(speaker(&joined), 1);
    let token = world.token();
    world.coordinator.delete_offsets(token, "g", vec![("t".to_owned(), 0), ("u".to_owned(), 0)]);
    world.run();
    let results = vec![Err(GroupError::SubscribedToTopic), Ok(())];
    assert_eq!(world.replies.get(&token.0), Some(&Reply::OffsetsDeleted(Ok(results))));
}

#[test]
fn offsets_of_a_group_without_members_are_deleted() {
    let mut world = World::new();
    world.commit(simple(), 1);
    let token = world.token();
    world.coordinator.delete_offsets(token, "g", vec![("t".to_owned(), 0), ("t".to_owned(), 7)]);
    world.run();
    assert_eq!(world.replies.get(&token.0), Some(&Reply::OffsetsDeleted(Ok(vec![Ok(()), Ok(())]))));
    assert_eq!(world.coordinator.committed("g", "t", 0), None);
    assert_eq!(world.successor().coordinator.committed("g", "t", 0), None);
    let token = world.token();
    world.coordinator.delete_offsets(token, "g", vec![("t".to_owned(), 0)]);
    let gone = Reply::OffsetsDeleted(Err(GroupError::GroupNotFound));
    world.run();
    assert_eq!(world.replies.get(&token.0), Some(&gone), "the last offset was all there was of the group");
}

#[test]
fn offsets_of_members_that_are_no_consumers_are_not_deleted() {
    let mut world = World::new();
    let token = world.join(Join { protocol_type: "connect".to_owned(), ..consumer("") });
    world.joined(token);
    let token = world.token();
    world.coordinator.delete_offsets(token, "g", vec![("t".to_owned(), 0)]);
    world.run();
    let refused = Reply::OffsetsDeleted(Err(GroupError::NonEmptyGroup));
    assert_eq!(world.replies.get(&token.0), Some(&refused), "nobody knows what they read");
}

#[test]
fn offsets_of_an_abandoned_group_expire_after_a_week() {
    let mut world = World::new();
    world.commit(simple(), 1);
    world.pass(Duration::from_secs(6 * 24 * 3_600));
    assert!(world.coordinator.committed("g", "t", 0).is_some());
    world.pass(Duration::from_secs(2 * 24 * 3_600));
    assert_eq!(world.coordinator.committed("g", "t", 0), None);
    assert_eq!(world.state(), "Dead");
}

#[test]
fn offsets_of_a_deleted_topic_are_forgotten() {
    let mut world = World::new();
    world.commit(simple(), 1);
    world.coordinator.forget_topic("t");
    world.run();
    assert_eq!(world.coordinator.committed("g", "t", 0), None);
}

#[test]
fn a_resigning_coordinator_answers_everybody() {
    let mut world = World::new();
    world.holding = true;
    let joins = world.join(consumer(""));
    let joined = world.joined(joins);
    let syncs = world.sync(&joined, &[(&joined.member_id, "all")]);
    let commits = world.commit(Speaker { group: "other".to_owned(), ..simple() }, 1);
    world.coordinator.resign(GroupError::NotCoordinator);
    world.run();
    assert_eq!(world.assignment(syncs), Err(GroupError::NotCoordinator));
    let refused = Reply::Committed(vec![Err(GroupError::NotCoordinator)]);
    assert_eq!(world.replies.get(&commits.0), Some(&refused));
}

#[test]
fn bad_joins_are_refused_for_their_reason() {
    let mut world = World::new();
    let mut check = |join: Join, error| {
        let token = world.join(join);
        assert_eq!(world.refused(token).error, error);
    };
    check(Join { group: String::new(), ..consumer("") }, GroupError::InvalidGroupId);
    check(
        Join { session_timeout: Duration::from_secs(1), ..consumer("") },
        GroupError::InvalidSessionTimeout,
    );
    check(consumer("nobody"), GroupError::UnknownMember);
    check(Join { protocols: Vec::new(), ..consumer("") }, GroupError::InconsistentProtocol);
    assert!(world.coordinator.list().is_empty());
}

#[test]
fn a_rebalance_timeout_of_zero_waits_for_static_members_without_spinning() {
    let mut world = World::new();
    let hasty = |instance: &str| Join {
        instance_id: Some(instance.to_owned()),
        rebalance_timeout: Duration::ZERO,
        ..consumer("")
    };
    let first = world.join(hasty("i"));
    let first = world.joined(first);
    let second = world.join(hasty("j"));
    let again = world.join(Join { member_id: first.member_id.clone(), ..hasty("i") });
    let (first, second) = (world.joined(again), world.joined(second));
    world.sync(&first, &[]);
    assert_eq!(world.state(), "Stable");
    // The second leaves, the first does not join again: it is static, and waited for until its session ends.
    world.leave(&second);
    assert_eq!(world.state(), "PreparingRebalance");
    world.coordinator.handle_timeout(world.now);
    let next = world.coordinator.poll_timeout().unwrap();
    assert!(next > world.now.mono, "the next look is not now again");
    world.pass(Duration::from_secs(30));
    assert_eq!(world.state(), "Empty", "its session has ended");
}
