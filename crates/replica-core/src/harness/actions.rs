//! Does what the machines want done, as a shard would.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use log_core::{BrokerEpoch, Offset, Session};

use super::log::Cut;
use super::{Channel, Dial, Request, Role, World, id, index};
use crate::action::{FollowerAction, FollowerAlarm, LeaderAction, LeaderAlarm, PushOrder};
use crate::follower::{Follower, FollowerStart};
use crate::frames::{FollowerFrame, LeaderFrame};
use crate::leader::{Leader, LeaderStart};
use crate::stream::{CloseReason, StreamId};
use crate::testing::CRC;
use crate::view::Settings;

const SETTINGS: Settings = Settings {
    lag_max: core::time::Duration::from_secs(10),
    isr_answer_timeout: core::time::Duration::from_millis(1500),
    backoff_min: core::time::Duration::from_millis(20),
    backoff_max: core::time::Duration::from_secs(1),
    handshake_timeout: core::time::Duration::from_secs(3),
    push_bytes_max: 200,
    window_bytes: 400,
};

/// The frame's bytes with its payload behind.
fn whole(head: Vec<u8>, payload: &[u8]) -> Bytes {
    let mut bytes = BytesMut::from(&head[..]);
    bytes.extend_from_slice(payload);
    bytes.freeze()
}

impl World {
    /// Takes the role that the applied metadata gives, if it may be taken now.
    pub(crate) fn assume_role(&mut self, broker: usize) {
        let process = &self.processes[broker];
        if !process.up || matches!(process.role, Role::Leader(_)) {
            return;
        }
        let view = self.metadata.history[process.applied].clone();
        let (own, own_epoch, log) = (id(broker), process.epoch, self.logs[broker].facts());
        let (settings, seed) = (SETTINGS, broker as u64);
        let start = LeaderStart { own, own_epoch, view: view.clone(), log, settings, seed };
        if let Ok(leader) = Leader::new(self.now, start) {
            self.stop_following(broker);
            if leader.epoch() == self.metadata.head().leader_epoch {
                self.oracle.on_leading(broker, &self.logs[broker]);
            }
            self.processes[broker].role = Role::Leader(Box::new(leader));
        } else if matches!(self.processes[broker].role, Role::None) {
            let last_session = self.processes[broker].last_session;
            let start = FollowerStart { own, own_epoch, view, log, last_session, settings, seed, crc: CRC };
            self.processes[broker].role = Role::Follower(Box::new(Follower::new(self.now, start)));
        }
        self.settle(broker);
    }

    fn stop_following(&mut self, broker: usize) {
        if let Role::Follower(follower) = &mut self.processes[broker].role {
            follower.stop(CloseReason::EpochLeft);
            self.settle(broker);
        }
    }

    /// Does all that the broker's machine wants done.
    pub(crate) fn settle(&mut self, broker: usize) {
        loop {
            match &mut self.processes[broker].role {
                Role::None => break,
                Role::Leader(leader) => match leader.poll_action() {
                    Some(action) => {
                        let close = matches!(action, LeaderAction::Close { .. });
                        assert!(
                            leader.is_leading() || close,
                            "{broker} acts for an epoch that it left: {action:?}"
                        );
                        self.do_leader_action(broker, action);
                    }
                    None => break,
                },
                Role::Follower(follower) => match follower.poll_action() {
                    Some(action) => self.do_follower_action(broker, action),
                    None => break,
                },
            }
        }
        self.remember_session(broker);
        self.retire(broker);
    }

    fn remember_session(&mut self, broker: usize) {
        let process = &mut self.processes[broker];
        if let Role::Follower(follower) = &process.role {
            process.last_session = process.last_session.max(follower.session());
        }
    }

    fn retire(&mut self, broker: usize) {
        let process = &mut self.processes[broker];
        let left = matches!(&process.role, Role::Leader(leader) if !leader.is_leading());
        if left && let Role::Leader(leader) = core::mem::replace(&mut process.role, Role::None) {
            process.left.push(*leader);
            self.assume_role(broker);
        }
    }

    fn do_leader_action(&mut self, broker: usize, action: LeaderAction) {
        match action {
            LeaderAction::Close { stream, .. } => self.end_by_leader(stream),
            LeaderAction::Send { stream, frame } => self.send_down(stream, whole(frame.encode(), &[])),
            LeaderAction::HighWatermark(to) => {
                let Role::Leader(leader) = &self.processes[broker].role else {
                    panic!("a leader that left commits")
                };
                self.oracle.on_commit(broker, to.0, leader.view(), &self.logs, self.wiped);
                self.logs[broker].high_watermark = to.0;
            }
            LeaderAction::LowWatermark(to) => self.oracle.gone = self.oracle.gone.max(to.0),
            LeaderAction::Push(order) => self.push(broker, order),
            LeaderAction::RequestIsr { attempt, proposal } => {
                let (from, incarnation) = (id(broker), self.processes[broker].incarnation);
                let copies = [1, 1, 1, 1, 1, 2, 0][self.random.below(7)];
                for _ in 0..copies {
                    let proposal = proposal.clone();
                    self.requests.push(Request { from, incarnation, attempt, proposal, answer: None });
                }
            }
            LeaderAction::Resign(_) | LeaderAction::Confirmed { .. } => {}
            LeaderAction::Alarm(
                alarm @ (LeaderAlarm::MemberBehind { .. } | LeaderAlarm::Conflict { .. }),
            )
            | LeaderAction::Alarm(alarm @ (LeaderAlarm::BadBatch { .. } | LeaderAlarm::Protocol { .. })) => {
                panic!("{broker} alarms without a fault: {alarm:?}")
            }
            LeaderAction::ScrubBelowHighWatermark { follower } => {
                panic!("{follower} wants {broker} scrubbed")
            }
        }
    }

    fn push(&mut self, broker: usize, order: PushOrder) {
        let PushOrder { stream, push, max_bytes } = order;
        let log = &self.logs[broker];
        assert!(
            push.base_offset.0 >= log.start && push.base_offset.0 <= log.end(),
            "push from {}",
            push.base_offset
        );
        let (batches, next) = log.read(push.base_offset.0, max_bytes);
        self.send_down(stream, whole(push.encode(batches.len()), &batches));
        let now = self.now;
        if let Role::Leader(leader) = &mut self.processes[broker].role {
            leader.handle_pushed(now, stream, Offset(next), batches.len());
        }
    }

    fn do_follower_action(&mut self, broker: usize, action: FollowerAction) {
        match action {
            FollowerAction::Close { stream, .. } => {
                for channel in self.channels.iter_mut().filter(|channel| channel.ids.0 == stream) {
                    channel.ended.0 = true;
                }
            }
            FollowerAction::Connect { leader, session } => {
                let incarnation = self.processes[broker].incarnation;
                self.dials.push(Dial { follower: id(broker), leader, incarnation, session });
            }
            FollowerAction::Send { stream, frame } => self.send_up(stream, &frame),
            FollowerAction::Cut { to } => {
                let high_watermark = self.logs[broker].high_watermark;
                assert!(to.0 >= high_watermark, "{broker} cuts to {to} below its HW {high_watermark}");
                self.logs[broker].cut = Some(Cut::To(to.0));
            }
            FollowerAction::DropAll { start_at } => self.logs[broker].cut = Some(Cut::DropAll(start_at.0)),
            FollowerAction::Append { batches, .. } => self.append(broker, &batches),
            FollowerAction::HighWatermark(to) => {
                assert!(to.0 >= self.logs[broker].high_watermark, "HW of {broker} goes back to {to}");
                self.logs[broker].high_watermark = to.0;
            }
            FollowerAction::LogStart(to) => {
                let deleted = self.oracle.deleted;
                assert!(to.0 <= deleted, "{broker} deletes up to {to}, leaders did up to {deleted}");
                self.logs[broker].start = to.0;
            }
            FollowerAction::GiveUpSeat => panic!("{broker} gives up its seat, and nobody is suspect here"),
            FollowerAction::Alarm(FollowerAlarm::Refused { .. }) => {}
            FollowerAction::Alarm(alarm) => panic!("{broker} alarms without a fault: {alarm:?}"),
        }
    }

    fn append(&mut self, broker: usize, batches: &Bytes) {
        assert!(self.logs[broker].cut.is_none(), "{broker} appends during a cut");
        self.logs[broker].append_pushed(batches);
        let end = Offset(self.logs[broker].end());
        let now = self.now;
        if let Role::Follower(follower) = &mut self.processes[broker].role {
            follower.handle_appended(now, end);
        }
    }

    pub(crate) fn end_by_leader(&mut self, stream: StreamId) {
        for channel in self.channels.iter_mut().filter(|channel| channel.ids.1 == stream) {
            channel.ended.1 = true;
        }
    }

    pub(crate) fn send_down(&mut self, stream: StreamId, bytes: Bytes) {
        let found = self.channels.iter_mut().find(|channel| channel.ids.1 == stream);
        if let Some(channel) = found.filter(|channel| !channel.ended.1 && !channel.broken) {
            channel.down.push_back(bytes);
        }
    }

    fn send_up(&mut self, stream: StreamId, frame: &FollowerFrame) {
        let found = self.channels.iter_mut().find(|channel| channel.ids.0 == stream);
        if let Some(channel) = found.filter(|channel| !channel.ended.0 && !channel.broken) {
            channel.up.push_back(whole(frame.encode(), &[]));
        }
    }

    /// A dial succeeds if the leader's process runs.
    pub(crate) fn finish_dial(&mut self, number: usize) {
        let Dial { follower, leader, incarnation, session } = self.dials.remove(number);
        let (now, broker) = (self.now, index(follower));
        let reached = self.processes[index(leader)].up && !self.random.percent(10);
        if self.processes[broker].incarnation != incarnation {
            return;
        }
        let incarnations = (incarnation, self.processes[index(leader)].incarnation);
        let ids = (StreamId(self.next_stream), StreamId(self.next_stream + 1));
        self.next_stream += 2;
        if let Role::Follower(machine) = &mut self.processes[broker].role {
            if reached {
                let (up, down) = (VecDeque::new(), VecDeque::new());
                let (ended, broken) = ((false, false), false);
                self.channels.push(Channel { follower, leader, incarnations, ids, up, down, ended, broken });
                machine.handle_connected(now, session, ids.0);
            } else {
                machine.handle_connect_failed(now, session);
            }
        }
        self.settle(broker);
    }

    pub(crate) fn refuse(&mut self, stream: StreamId, session: Session) {
        let refusal = crate::frames::StreamRefusal::NotLeader;
        let frame = LeaderFrame::Refused { session, refusal };
        self.send_down(stream, whole(frame.encode(), &[]));
        self.end_by_leader(stream);
    }

    /// Leaders of epochs that were left are polled on: they must have nothing to say.
    pub(crate) fn poll_left(&mut self, broker: usize) {
        for number in 0..self.processes[broker].left.len() {
            if let Some(action) = self.processes[broker].left[number].poll_action() {
                panic!("{broker} acts for an epoch that it left: {action:?}");
            }
        }
    }

    pub(crate) fn own_epoch_in_metadata(&self, broker: usize) -> Option<BrokerEpoch> {
        self.metadata.head().replica(id(broker)).map(|replica| replica.broker_epoch)
    }
}
