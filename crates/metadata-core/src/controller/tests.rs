//! The controller over a cluster image that its proposals change; mutations B2, C11, M9, K1.

use std::collections::BTreeSet;

use log_core::{BrokerEpoch, MetadataOffset, Timestamp, TopicId};

mod level;

use super::*;
use crate::apply::tests::{TOPIC, World, b, dir, registration};
use crate::image::DELETED_TOPIC_KEPT_MS;
use crate::model::ModelCluster;
use crate::quorum::{MetadataQuorum, QuorumMember};
use crate::record::{CreateJoinToken, DeleteTopic, RegisterBroker, UnregisterBroker, UseJoinToken};

const MS: u64 = 1_000_000;

/// A controller on broker 1 and the image that it sees; proposals are applied at once unless they are held.
struct Bench {
    world: World,
    controller: Controller,
    quorum: QuorumStatus,
    now: MonoTime,
    held: bool,
    proposed: Vec<MetadataRecord>,
    answers: Vec<HeartbeatAnswer>,
    members: Vec<Members>,
}

impl Bench {
    fn new(world: World) -> Self {
        let now = MonoTime(5_000 * MS);
        let controller = Controller::take_over(now, dir(1), &world.image, None, FEATURE_LEVEL_CALM);
        let members = Members {
            nodes: [(dir(1), QuorumMember { directory: dir(1), broker: b(1), addresses: vec![] })].into(),
            voters: [dir(1)].into(),
        };
        let quorum = QuorumStatus { members, ..QuorumStatus::default() };
        let (proposed, answers, members) = (vec![], vec![], vec![]);
        Self { world, controller, quorum, now, held: false, proposed, answers, members }
    }

    fn act(&mut self) {
        while let Some(action) = self.controller.poll_action() {
            match action {
                ControllerAction::Propose(record) => {
                    self.proposed.push(record.clone());
                    if !self.held {
                        self.apply(record);
                    }
                }
                ControllerAction::AnswerHeartbeat { answer, .. } => self.answers.push(answer),
                ControllerAction::ChangeMembers(members) => {
                    self.quorum.members = members.clone();
                    self.members.push(members);
                }
            }
        }
    }

    fn apply(&mut self, record: MetadataRecord) {
        let outcome = self.world.apply(record);
        self.controller.handle_applied(self.now, &self.world.image, &outcome.changes);
    }

    fn beat(&mut self, broker: i32) {
        let found = self.world.image.broker(b(broker)).unwrap();
        let beat = Heartbeat {
            broker: b(broker),
            directory: found.directory,
            incarnation: found.incarnation,
            broker_epoch: Some(found.epoch),
            applied: self.world.image.applied(),
        };
        self.hear(&beat);
    }

    fn hear(&mut self, beat: &Heartbeat) {
        self.controller.handle_heartbeat(self.now, &self.world.image, beat);
        self.act();
    }

    /// Moves time on in steps of at most 100 ms; these brokers beat at every step.
    fn run(&mut self, ms: u64, beating: &[i32]) {
        for _ in 0..ms / 100 {
            self.now = MonoTime(self.now.0 + 100 * MS);
            beating.iter().for_each(|broker| self.beat(*broker));
            self.tick();
        }
    }

    fn tick(&mut self) {
        let now = Now { mono: self.now, wall: Timestamp(self.world.now_ms) };
        let everyone = self.quorum.members.nodes.keys().map(|node| (*node, MetadataOffset(0)));
        self.quorum.matched = everyone.collect();
        self.controller.handle_timeout(now, &self.world.image, &self.quorum);
        self.act();
    }

    fn register(&mut self, fields: RegisterBroker) {
        self.apply(MetadataRecord::RegisterBroker(Box::new(fields)));
        self.act();
    }

    fn standing(&self, broker: i32) -> Standing {
        self.world.image.broker(b(broker)).unwrap().standing
    }

    fn voters(&self) -> Vec<DirectoryId> {
        self.quorum.members.voters.iter().copied().collect()
    }
}

#[test]
fn c4_a_session_expires_after_two_and_a_half_seconds_of_silence() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.run(2_400, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Active);
    bench.run(100, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Fenced);
    assert_eq!(bench.world.seats(), "leader 1@0 isr [1 2] elr []");
}

#[test]
fn c4_all_that_expire_in_one_scan_are_fenced_in_one_record() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.run(2_500, &[1]);
    let fenced: Vec<_> =
        bench.proposed.iter().filter(|record| matches!(record, MetadataRecord::FenceBrokers(_))).collect();
    assert_eq!(fenced.len(), 1);
    assert_eq!(bench.world.seats(), "leader 1@0 isr [1] elr [2 3]");
}

#[test]
fn a_controller_that_stood_still_blames_nobody() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.run(1_000, &[1, 2, 3]);
    bench.now = MonoTime(bench.now.0 + 60_000 * MS);
    bench.tick();
    assert!(bench.proposed.is_empty());
    bench.run(2_400, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Active);
    bench.run(200, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Fenced);
}

#[test]
fn c4_a_new_controller_counts_every_session_anew() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.run(2_400, &[1, 2]);
    bench.controller = Controller::take_over(bench.now, dir(1), &bench.world.image, None, FEATURE_LEVEL_CALM);
    bench.run(2_400, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Active);
    bench.run(100, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Fenced);
}

/// The controller of broker 3 answered broker 1 for the last time so long ago; how long after the take-over it is fenced.
fn silence_after_a_take_over(answered_ms_ago: u64, directory: DirectoryId) -> u64 {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    let before = Some((directory, MonoTime(bench.now.0 - answered_ms_ago * MS)));
    bench.controller =
        Controller::take_over(bench.now, dir(1), &bench.world.image, before, FEATURE_LEVEL_CALM);
    let from = bench.now;
    while bench.standing(3) == Standing::Active {
        bench.run(100, &[1, 2]);
    }
    u64::try_from(bench.now.since(from).as_millis()).unwrap()
}

#[test]
fn c4_the_session_of_the_controller_before_counts_from_what_the_new_one_heard_of_it() {
    assert_eq!(silence_after_a_take_over(0, dir(3)), 2_500);
    assert_eq!(silence_after_a_take_over(1_200, dir(3)), 1_300);
}

#[test]
fn c4_the_controller_before_has_two_heartbeats_time_to_say_that_it_lives() {
    assert_eq!(silence_after_a_take_over(2_400, dir(3)), 1_000);
    assert_eq!(silence_after_a_take_over(5_000, dir(3)), 1_000);
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    let before = Some((dir(3), MonoTime(bench.now.0 - 4_000 * MS)));
    bench.controller =
        Controller::take_over(bench.now, dir(1), &bench.world.image, before, FEATURE_LEVEL_CALM);
    bench.run(900, &[1, 2]);
    bench.run(5_000, &[1, 2, 3]);
    assert_eq!(bench.standing(3), Standing::Active);
}

#[test]
fn c4_an_answer_from_a_directory_that_is_no_broker_any_more_shortens_no_session() {
    assert_eq!(silence_after_a_take_over(2_000, dir(9)), 2_500);
}

#[test]
fn c11_nothing_is_fenced_before_the_record_is_applied_and_a_lost_proposal_is_made_again() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.held = true;
    bench.run(2_600, &[1, 2]);
    assert_eq!((bench.standing(3), bench.proposed.len()), (Standing::Active, 1));
    bench.held = false;
    bench.run(800, &[1, 2]);
    assert_eq!(bench.proposed.len(), 1, "not yet again");
    bench.run(200, &[1, 2]);
    assert_eq!(bench.standing(3), Standing::Fenced);
}

#[test]
fn a_broker_that_is_heard_before_its_fencing_is_applied_comes_back_at_once() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.run(2_500, &[1, 2]);
    bench.beat(3);
    assert_eq!(bench.standing(3), Standing::Active);
    assert_eq!(bench.world.seats(), "leader 1@0 isr [1 2] elr []");
}

#[test]
fn b2_a_broker_is_let_in_only_after_it_applied_its_own_registration() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    let fields = registration(3, 3, 99);
    bench.register(fields.clone());
    let broker_epoch = bench.world.epoch(3);
    let beat = Heartbeat {
        broker: b(3),
        directory: fields.directory,
        incarnation: fields.incarnation,
        broker_epoch: None,
        applied: Some(MetadataOffset(broker_epoch.0 - 1)),
    };
    bench.hear(&beat);
    bench.hear(&Heartbeat { broker_epoch: Some(broker_epoch), ..beat });
    bench.hear(&Heartbeat {
        broker_epoch: Some(BrokerEpoch(1)),
        applied: bench.world.image.applied(),
        ..beat
    });
    bench.hear(&Heartbeat { incarnation: Incarnation(98), ..beat });
    assert_eq!(bench.standing(3), Standing::Registered);
    assert!(bench.proposed.is_empty());
    bench.hear(&Heartbeat {
        broker_epoch: Some(broker_epoch),
        applied: Some(MetadataOffset(broker_epoch.0)),
        ..beat
    });
    assert_eq!(bench.standing(3), Standing::Active);
}

#[test]
fn heartbeats_of_an_older_incarnation_keep_no_session() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    let old = bench.world.image.broker(b(3)).unwrap().clone();
    bench.register(registration(3, 3, 99));
    for _ in 0..25 {
        bench.run(100, &[1, 2]);
        bench.hear(&Heartbeat {
            broker: b(3),
            directory: old.directory,
            incarnation: old.incarnation,
            broker_epoch: Some(old.epoch),
            applied: bench.world.image.applied(),
        });
    }
    assert_eq!(bench.standing(3), Standing::Fenced);
    let last = bench.answers.last().unwrap();
    assert_eq!((last.broker_epoch, last.standing), (None, None), "it learns that it is not registered");
}

#[test]
fn a_stopping_broker_is_not_let_in_again() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.world.shut_down(3);
    bench.beat(3);
    assert_eq!(bench.standing(3), Standing::ShuttingDown);
    assert!(bench.proposed.is_empty());
}

#[test]
fn leaderships_return_to_the_preferred_replica_after_a_calm_and_only_in_sync() {
    let mut bench = Bench::new(World::partition(&[2, 1, 3], 2));
    bench.run(2_500, &[1, 3]);
    bench.beat(2);
    assert_eq!(bench.world.seats(), "leader 1@1 isr [1 3] elr []");
    bench.run(6_000, &[1, 2, 3]);
    assert_eq!(bench.world.seats(), "leader 1@1 isr [1 3] elr []", "not in sync");
    bench.world.change_isr(&[1, 2, 3]);
    bench.run(6_000, &[1, 2, 3]);
    assert_eq!(bench.world.seats(), "leader 2@2 isr [2 1 3] elr []");
}

#[test]
fn a_deleted_topic_is_forgotten_when_it_may_be() {
    let mut bench = Bench::new(World::partition(&[1, 2, 3], 2));
    bench.apply(MetadataRecord::DeleteTopic(DeleteTopic { topic_id: TOPIC }));
    bench.world.now_ms += DELETED_TOPIC_KEPT_MS;
    bench.run(61_000, &[1, 2, 3]);
    assert!(bench.world.image.deleted_topic(TOPIC).is_some(), "its holders have not confirmed");
    for broker in 1..=3 {
        let (broker_epoch, topics) = (bench.world.epoch(broker), vec![TopicId([7; 16])]);
        bench.world.ok(MetadataRecord::ConfirmRemoval(crate::record::ConfirmRemoval {
            broker: b(broker),
            broker_epoch,
            topics,
        }));
    }
    bench.run(61_000, &[1, 2, 3]);
    assert!(bench.world.image.deleted_topic(TOPIC).is_none());
}

#[test]
fn q1_voters_are_one_for_two_nodes_three_from_three_and_five_from_five() {
    for (brokers, voters) in [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5), (6, 5)] {
        let mut bench = Bench::new(World::brokers(brokers));
        let all: Vec<i32> = (1..=brokers).collect();
        bench.run(3_000, &all);
        assert_eq!(
            (bench.voters().len(), bench.quorum.members.nodes.len()),
            (voters, all.len()),
            "{brokers}"
        );
        assert!(bench.members.len() <= 2, "calm");
    }
}

#[test]
fn q1_a_node_that_lags_is_no_voter_yet() {
    let mut bench = Bench::new(World::brokers(3));
    bench.quorum.committed = Some(MetadataOffset(1_000));
    bench.run(3_000, &[1, 2, 3]);
    assert_eq!(bench.voters(), [dir(1)]);
}

#[test]
fn q1_nothing_is_asked_while_members_change_or_before_this_node_is_registered() {
    let mut bench = Bench::new(World::brokers(3));
    bench.quorum.changing = true;
    bench.run(3_000, &[1, 2, 3]);
    assert!(bench.members.is_empty());
    let mut bench = Bench::new(World::formed());
    bench.run(3_000, &[]);
    assert!(bench.members.is_empty());
}

#[test]
fn m9_a_wiped_directory_is_another_node_and_the_old_one_leaves_first() {
    let mut bench = Bench::new(World::brokers(3));
    bench.run(3_000, &[1, 2, 3]);
    assert_eq!(bench.voters(), [dir(1), dir(2), dir(3)]);
    bench.run(3_000, &[1, 2]);
    let (hash, expires) = ([1; 32], Timestamp(bench.world.now_ms + 1));
    bench.apply(MetadataRecord::CreateJoinToken(CreateJoinToken { hash, expires }));
    let (directory, broker, endpoints) = (dir(33), Some(b(3)), vec![]);
    bench.apply(MetadataRecord::UseJoinToken(UseJoinToken { hash, directory, broker, endpoints }));
    bench.run(1_000, &[1, 2]);
    assert_eq!(bench.voters(), [dir(1), dir(2)]);
    let nodes: BTreeSet<_> = bench.quorum.members.nodes.keys().copied().collect();
    assert_eq!(nodes, BTreeSet::from([dir(1), dir(2), dir(33)]));
    bench.register(registration(3, 33, 99));
    bench.run(3_000, &[1, 2, 3]);
    assert_eq!(bench.voters(), [dir(1), dir(2), dir(33)]);
}

#[test]
fn a_removed_broker_leaves_the_quorum() {
    let mut bench = Bench::new(World::brokers(4));
    bench.run(3_000, &[1, 2, 3, 4]);
    bench.run(3_000, &[1, 2, 4]);
    bench.apply(MetadataRecord::UnregisterBroker(UnregisterBroker { broker: b(3), broker_epoch: None }));
    bench.run(2_000, &[1, 2, 4]);
    assert_eq!(bench.voters(), [dir(1), dir(2), dir(4)]);
}

#[test]
fn the_model_quorum_loses_what_waited_for_an_old_leader() {
    let cluster = ModelCluster::new();
    let mut one = cluster.node(dir(1), None);
    one.form(QuorumMember { directory: dir(1), broker: b(1), addresses: vec![] });
    cluster.hold_commits(true);
    let proposal = |number| crate::quorum::Proposal {
        id: crate::record::ProposalId { origin: dir(1), number },
        bytes: bytes::Bytes::from(vec![number as u8]),
    };
    one.propose(proposal(1));
    one.propose(proposal(2));
    assert!(cluster.lose_next() && cluster.commit_next() && !cluster.commit_next());
    one.propose(proposal(3));
    cluster.cut_off(dir(1), true);
    assert_eq!((cluster.leader(), cluster.elect(dir(1))), (None, false));
    cluster.cut_off(dir(1), false);
    assert_eq!(cluster.elect_any(), Some(dir(1)));
    assert_eq!(cluster.len(), 3);
}
