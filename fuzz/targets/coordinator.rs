//! The group coordinator: records of its log as they may stand there, and commands of members in any order.
//!
//! A request is answered once at most; what a snapshot holds makes the same state again.

#![no_main]

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use coordinator_core::command::{
    Commit, CommitOffset, Join, Leave, LeavingMember, Reply, RequestToken, Speaker, Sync,
};
use coordinator_core::records::{CommittedOffset, GroupRecord, GroupValue};
use coordinator_core::{CoordinatorAction, GroupConfig, GroupCoordinator, GroupError, WriteId};
use highwater_fuzz::Choices;
use log_core::{MonoTime, Now, Timestamp};

highwater_fuzz::target!(seeds, check);

const GROUPS: [&str; 3] = ["g", "h", ""];

struct World {
    now: Now,
    coordinator: GroupCoordinator,
    /// Member ids that were given out, and some that never were.
    members: Vec<String>,
    writes: Vec<WriteId>,
    answered: BTreeSet<u64>,
    next_token: u64,
}

fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let now = Now { mono: MonoTime(0), wall: Timestamp(1_700_000_000_000) };
    let config = GroupConfig { members_max: 4, ..GroupConfig::default() };
    let mut coordinator = GroupCoordinator::new(now, config, 7);
    for _ in 0..choices.below(6) {
        let (key, value) = (choices.piece(100), choices.piece(300));
        let _ = coordinator.replay(now, key, (choices.byte() & 3 != 0).then_some(value));
    }
    coordinator.finish_loading(now);
    let members = vec![String::new(), "nobody".to_owned()];
    let mut world =
        World { now, coordinator, members, writes: Vec::new(), answered: BTreeSet::new(), next_token: 0 };
    world.run();
    for _ in 0..200 {
        if choices.is_empty() {
            break;
        }
        world.step(&mut choices);
        world.run();
    }
    world.finish();
}

impl World {
    fn step(&mut self, choices: &mut Choices<'_>) {
        self.next_token += 1;
        let (now, token) = (self.now, RequestToken(self.next_token));
        match choices.below(12) {
            0..3 => {
                let join = self.join(choices);
                self.coordinator.join(now, token, join);
            }
            3 | 4 => {
                let sync = self.sync(choices);
                self.coordinator.sync(now, token, sync);
            }
            5 => {
                let speaker = self.speaker(choices);
                let _ = self.coordinator.heartbeat(now, &speaker);
            }
            6 => {
                let (group, member_id) = (choices.one_of(&GROUPS).to_owned(), self.member(choices));
                let members = vec![LeavingMember { member_id, instance_id: instance(choices) }];
                self.coordinator.leave(now, token, &Leave { group, members });
            }
            7 => {
                let speaker = self.speaker(choices);
                let offset = i64::from(choices.short());
                let metadata = "m".repeat(choices.below(3));
                let one = CommitOffset { topic: "t".into(), partition: 0, offset, leader_epoch: 0, metadata };
                self.coordinator.commit(now, token, Commit { speaker, offsets: vec![one] });
            }
            8 => match choices.below(4) {
                0 => self.coordinator.delete_groups(token, &GROUPS.map(str::to_owned)),
                1 => self.coordinator.delete_offsets(token, "g", vec![("t".into(), 0)]),
                2 => self.coordinator.forget_topic("t"),
                _ => drop((self.coordinator.list(), self.coordinator.describe("g"))),
            },
            9 => self.pass(Duration::from_millis(u64::from(choices.short()) * 10)),
            _ => self.write(choices),
        }
    }

    fn member(&self, choices: &mut Choices<'_>) -> String {
        self.members[choices.below(self.members.len())].clone()
    }

    fn speaker(&self, choices: &mut Choices<'_>) -> Speaker {
        Speaker {
            group: choices.one_of(&GROUPS).to_owned(),
            generation: i32::from(choices.byte() as i8),
            member_id: self.member(choices),
            instance_id: instance(choices),
        }
    }

    fn join(&self, choices: &mut Choices<'_>) -> Join {
        let all = [("range", "r"), ("sticky", "s")];
        let protocols = all[..choices.below(3)].iter();
        Join {
            group: choices.one_of(&GROUPS).to_owned(),
            member_id: self.member(choices),
            instance_id: instance(choices),
            client_id: "c".into(),
            client_host: "/127.0.0.1".into(),
            session_timeout: Duration::from_secs(u64::from(choices.byte())),
            rebalance_timeout: Duration::from_secs(u64::from(choices.byte())),
            protocol_type: choices.one_of(&["consumer", "connect", ""]).to_owned(),
            protocols: protocols
                .map(|(name, subscription)| ((*name).to_owned(), Bytes::from_static(subscription.as_bytes())))
                .collect(),
            member_id_required: choices.byte() & 1 == 1,
            can_skip_assignment: choices.byte() & 1 == 1,
        }
    }

    fn sync(&self, choices: &mut Choices<'_>) -> Sync {
        let speaker = self.speaker(choices);
        let assignments =
            (0..choices.below(4)).map(|_| (self.member(choices), Bytes::from_static(b"a"))).collect();
        Sync { speaker, protocol_type: None, protocol: None, assignments }
    }

    /// A write is committed, or fails.
    fn write(&mut self, choices: &mut Choices<'_>) {
        if self.writes.is_empty() {
            return;
        }
        let id = self.writes.remove(choices.below(self.writes.len()));
        let result =
            choices.one_of(&[Ok(()), Ok(()), Err(GroupError::NotAvailable), Err(GroupError::TimedOut)]);
        self.coordinator.handle_written(self.now, id, result);
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.now.wall.0 += i64::try_from(time.as_millis()).expect("short");
        for _ in 0..50 {
            if self.coordinator.poll_timeout().is_none_or(|at| at > self.now.mono) {
                return;
            }
            self.coordinator.handle_timeout(self.now);
            self.run();
        }
        panic!("the coordinator asks for a time in the past, again and again");
    }

    fn run(&mut self) {
        while let Some(action) = self.coordinator.poll_action() {
            match action {
                CoordinatorAction::Append { id, .. } => self.writes.push(id),
                CoordinatorAction::Reply { token, reply } => {
                    assert!(self.answered.insert(token.0), "one answer to a request");
                    self.learn(&reply);
                }
            }
        }
    }

    fn learn(&mut self, reply: &Reply) {
        let id = match reply {
            Reply::Joined(Ok(joined)) => &joined.member_id,
            Reply::Joined(Err(refused)) => &refused.member_id,
            _ => return,
        };
        if !self.members.contains(id) && self.members.len() < 40 {
            self.members.push(id.clone());
        }
    }

    /// The snapshot makes the same offsets again; at the end nobody is left waiting.
    fn finish(mut self) {
        let records = self.coordinator.snapshot();
        let mut second = GroupCoordinator::new(self.now, GroupConfig::default(), 7);
        for record in &records {
            second.replay(self.now, &record.key, record.value.as_deref()).expect("its own records are good");
        }
        for group in GROUPS {
            assert!(
                self.coordinator.all_committed(group).eq(second.all_committed(group)),
                "offsets of {group:?}"
            );
        }
        self.coordinator.resign(GroupError::NotCoordinator);
        self.run();
    }
}

fn instance(choices: &mut Choices<'_>) -> Option<String> {
    [None, None, Some("i"), Some("j")][choices.below(4)].map(str::to_owned)
}

fn seeds() -> Vec<Vec<u8>> {
    let committed =
        CommittedOffset { offset: 5, leader_epoch: 1, metadata: "m".into(), commit_ms: 1_700_000_000_000 };
    let group = GroupValue { protocol_type: "consumer".into(), generation: 3, ..GroupValue::default() };
    let records = [GroupRecord::offset("g", "t", 0, Some(&committed)), GroupRecord::group("g", Some(&group))];
    let mut loaded = vec![2];
    for record in records {
        for piece in [&record.key, record.value.as_ref().expect("it has one")] {
            loaded.extend_from_slice(&(piece.len() as u16).to_be_bytes());
            loaded.extend_from_slice(piece);
        }
        loaded.push(1);
    }
    // A member joins, the leader assigns, the write is committed, it commits and leaves.
    let life = [
        0, 0, 0, 0, 10, 60, 0, 2, 0, 0, 9, 1, 0, 3, 0, 1, 2, 0, 1, 2, 10, 0, 0, 7, 0, 1, 2, 0, 0, 9, 0, 10,
        0, 0,
    ];
    vec![loaded.clone(), [&[0][..], &life].concat(), [&loaded[..], &life].concat()]
}
