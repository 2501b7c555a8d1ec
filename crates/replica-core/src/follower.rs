//! One followed partition: finds the leader, agrees with it where the logs part, cuts, appends what it pushes, and
//! says what is written and what is durable (the steps in `docs/format/replica-frames.md`).
//!
//! ```text
//!  Idle --> Connecting --> AwaitingLineage --> Streaming
//!   ^           |            |   |   ^            |
//!   |           v            v   v   | cut done   |
//!   +------- Paused <--------+  Cutting           |
//!                ^---------------+----------------+  closed, refused, faulty
//! ```
//! A cut outlives its stream: a new one is opened only when the cut is finished (D4).

mod handshake;
mod streaming;
#[cfg(test)]
pub(crate) mod tests;

use alloc::collections::VecDeque;

use log_core::{BrokerEpoch, BrokerId, Crc32c, LeaderEpoch, MonoTime, Offset, Session};

use self::streaming::Flow;
use crate::action::{FollowerAction, FollowerAlarm};
use crate::backoff::Backoff;
use crate::frames::FollowerFrame;
use crate::stream::{CloseReason, StreamId};
use crate::view::{LogFacts, PartitionView, Settings};

/// What a follower begins with.
#[derive(Clone, Debug)]
pub struct FollowerStart {
    /// This broker.
    pub own: BrokerId,
    /// The epoch that its replica is known under (see [`ReplicaView`](crate::ReplicaView)), once it has applied the
    /// registration of this incarnation; it follows nobody before.
    pub own_epoch: Option<BrokerEpoch>,
    /// The partition as the applied metadata shows it.
    pub view: PartitionView,
    /// Where the own log stands.
    pub log: LogFacts,
    /// The last session of this partition in this process; the next ones are greater.
    pub last_session: Session,
    /// Times and sizes.
    pub settings: Settings,
    /// Makes the jitter of pauses.
    pub seed: u64,
    /// Checks the batches that the leader pushes.
    pub crc: Crc32c,
}

/// One followed partition.
#[derive(Clone, Debug)]
pub struct Follower {
    own: BrokerId,
    own_epoch: Option<BrokerEpoch>,
    settings: Settings,
    crc: Crc32c,
    view: PartitionView,
    pub(crate) log: LogFacts,
    session: Session,
    pub(crate) state: State,
    backoff: Backoff,
    actions: VecDeque<FollowerAction>,
}

/// What a follower waits for.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// A view that names a leader to follow.
    Idle,
    /// The end of a pause after something went wrong.
    Paused { until: MonoTime },
    /// The stream that its owner opens.
    Connecting(Target),
    /// The leader's answer to an Open or an Ask.
    AwaitingLineage(Handshake),
    /// The end of a cut, and then the stream, if it still is there.
    Cutting(Option<Handshake>),
    /// Pushes.
    Streaming(Flow),
    /// Nothing: its owner stopped it.
    Stopped,
}

/// Whom a session follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) leader: BrokerId,
    pub(crate) leader_epoch: LeaderEpoch,
    pub(crate) own_epoch: BrokerEpoch,
}

/// A session before its first push.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) target: Target,
    pub(crate) stream: StreamId,
    /// When the leader has answered for too long.
    pub(crate) until: MonoTime,
}

impl Follower {
    /// Begins to follow; connects at once if the view names a leader and no cut is running.
    #[must_use]
    pub fn new(now: MonoTime, start: FollowerStart) -> Self {
        let FollowerStart { own, own_epoch, view, log, last_session, settings, seed, crc } = start;
        let state = if log.cutting { State::Cutting(None) } else { State::Idle };
        let (backoff, actions) = (Backoff::new(seed), VecDeque::new());
        let mut follower =
            Self { own, own_epoch, settings, crc, view, log, session: last_session, state, backoff, actions };
        follower.connect(now);
        follower
    }

    /// A metadata record that touches the partition is applied.
    pub fn handle_view(&mut self, now: MonoTime, view: PartitionView) {
        self.view = view;
        self.review(now);
    }

    /// The registration of this incarnation is applied, or this replica was reset since: its epoch is `own_epoch`.
    pub fn handle_registered(&mut self, now: MonoTime, own_epoch: BrokerEpoch) {
        self.own_epoch = Some(own_epoch);
        self.review(now);
    }

    /// The stream of `session` is open.
    pub fn handle_connected(&mut self, now: MonoTime, session: Session, stream: StreamId) {
        match self.state {
            State::Connecting(target) if session == self.session => self.open(now, target, stream),
            _ => self.actions.push_back(FollowerAction::Close { stream, reason: CloseReason::Replaced }),
        }
        self.check();
    }

    /// The stream of `session` could not be opened.
    pub fn handle_connect_failed(&mut self, now: MonoTime, session: Session) {
        if matches!(self.state, State::Connecting(_)) && session == self.session {
            self.pause(now);
        }
        self.check();
    }

    /// A stream ended.
    pub fn handle_closed(&mut self, now: MonoTime, stream: StreamId) {
        if self.stream() == Some(stream) {
            self.pause(now);
        }
        self.check();
    }

    /// The cut or the drop is finished; `log` is where the log stands now.
    pub fn handle_cut_finished(&mut self, now: MonoTime, log: LogFacts) {
        self.log = LogFacts { cutting: false, ..log };
        if let State::Cutting(handshake) = core::mem::replace(&mut self.state, State::Idle) {
            match handshake {
                Some(handshake) => self.stream_from_end(handshake),
                None => self.connect(now),
            }
        }
        self.check();
    }

    /// [`Follower::poll_timeout`] has passed.
    pub fn handle_timeout(&mut self, now: MonoTime) {
        match self.state {
            State::Paused { until } if now >= until => {
                self.state = State::Idle;
                self.connect(now);
            }
            State::AwaitingLineage(Handshake { until, .. }) if now >= until => {
                self.close(now, CloseReason::Lost);
            }
            _ => {}
        }
        self.check();
    }

    /// Ends it, for an owner that stops, leads from now on, or whose log fails.
    pub fn stop(&mut self, reason: CloseReason) {
        self.actions.clear();
        if let Some(stream) = self.stream() {
            self.actions.push_back(FollowerAction::Close { stream, reason });
        }
        self.state = State::Stopped;
    }

    /// What to do next; `None` when there is nothing left to do.
    pub fn poll_action(&mut self) -> Option<FollowerAction> {
        let queued = self.actions.pop_front();
        queued
            .or_else(|| self.next_offset_action())
            .or_else(|| self.next_log_start())
            .or_else(|| self.next_ack())
    }

    /// When [`Follower::handle_timeout`] is due.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<MonoTime> {
        match self.state {
            State::Paused { until } | State::AwaitingLineage(Handshake { until, .. }) => Some(until),
            _ => None,
        }
    }

    /// The session that was opened last.
    #[must_use]
    pub const fn session(&self) -> Session {
        self.session
    }

    /// Whether the logs agree and pushes are taken.
    #[must_use]
    pub const fn is_streaming(&self) -> bool {
        matches!(self.state, State::Streaming(_))
    }

    /// The high watermark as this replica knows it.
    #[must_use]
    pub const fn high_watermark(&self) -> Offset {
        self.log.high_watermark
    }

    /// The stream of the present session.
    #[must_use]
    pub const fn stream(&self) -> Option<StreamId> {
        match &self.state {
            State::AwaitingLineage(handshake) | State::Cutting(Some(handshake)) => Some(handshake.stream),
            State::Streaming(flow) => Some(flow.handshake.stream),
            _ => None,
        }
    }

    /// Whom to follow now: the applied leader of the applied epoch, under the own registration that is applied.
    fn target(&self) -> Option<Target> {
        let own_epoch = self.own_epoch?;
        let registered = self.view.replica(self.own).is_some_and(|own| own.broker_epoch == own_epoch);
        let leader = self.view.leader.filter(|leader| registered && *leader != self.own)?;
        Some(Target { leader, leader_epoch: self.view.leader_epoch, own_epoch })
    }

    const fn followed(&self) -> Option<Target> {
        match &self.state {
            State::Connecting(target) => Some(*target),
            State::AwaitingLineage(handshake) | State::Cutting(Some(handshake)) => Some(handshake.target),
            State::Streaming(flow) => Some(flow.handshake.target),
            _ => None,
        }
    }

    /// Leaves a session whose target is not the right one any more, and connects to the right one.
    fn review(&mut self, now: MonoTime) {
        if matches!(self.state, State::Stopped) {
            return;
        }
        let (followed, target) = (self.followed(), self.target());
        if followed.is_some() && followed != target {
            if let Some(stream) = self.stream() {
                self.actions.push_back(FollowerAction::Close { stream, reason: CloseReason::EpochLeft });
            }
            self.state =
                if matches!(self.state, State::Cutting(_)) { State::Cutting(None) } else { State::Idle };
            self.backoff.reset();
        }
        if matches!(self.state, State::Paused { .. }) {
            self.state = State::Idle;
        }
        self.connect(now);
        self.check();
    }

    /// Opens the next session, if there is somebody to follow and nothing is under way.
    fn connect(&mut self, _now: MonoTime) {
        let (State::Idle, Some(target)) = (&self.state, self.target()) else { return };
        self.session = Session(self.session.0 + 1);
        self.state = State::Connecting(target);
        self.actions.push_back(FollowerAction::Connect { leader: target.leader, session: self.session });
    }

    /// Closes the stream and tries again after a pause.
    fn close(&mut self, now: MonoTime, reason: CloseReason) {
        if let Some(stream) = self.stream() {
            self.actions.push_back(FollowerAction::Close { stream, reason });
        }
        self.pause(now);
    }

    fn pause(&mut self, now: MonoTime) {
        let until = now.after(self.backoff.next(&self.settings));
        self.pause_until(until);
    }

    fn pause_until(&mut self, until: MonoTime) {
        self.state = match self.state {
            State::Cutting(_) => State::Cutting(None),
            State::Stopped => State::Stopped,
            _ => State::Paused { until },
        };
    }

    fn send(&mut self, stream: StreamId, frame: FollowerFrame) {
        self.actions.push_back(FollowerAction::Send { stream, frame });
    }

    fn alarm(&mut self, alarm: FollowerAlarm) {
        self.actions.push_back(FollowerAction::Alarm(alarm));
    }

    fn check(&self) {
        #[cfg(debug_assertions)]
        crate::invariants::check_follower(self);
    }
}
