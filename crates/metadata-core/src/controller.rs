//! The controller: what the quorum's leader does beside agreeing. It watches sessions, fences, lets brokers back in,
//! returns leaderships to preferred replicas, grows the voters, raises the feature level and forgets deleted topics.
//!
//! It decides nothing by itself: what it wants is proposed as a record and happens when that is applied (C11). Its own
//! state may be lost at any time; a new controller counts every session anew from its take-over (C4), but that of the controller
//! before it from what it heard of it itself.
//!
//! # Call order
//!
//! [`Controller::take_over`] when the quorum says that this node leads and all earlier entries are applied; then
//! `handle_heartbeat`, `handle_applied` (after each applied burst), `handle_timeout` (at `poll_timeout`), each followed by
//! `poll_action` until it is empty. Dropped when this node leads no more.

mod level;
mod members;
mod rebalance;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use log_core::{BrokerEpoch, BrokerId, DirectoryId, Incarnation, MetadataOffset, MonoTime, Now};

use crate::image::{ClusterImage, Standing};
use crate::outcome::Change;
use crate::quorum::{Members, QuorumStatus};
use crate::record::{ForgetTopics, MetadataRecord};
use level::Level;
use rebalance::Rebalance;
use sessions::Sessions;

/// How often a broker says that it lives.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// How long a broker that says nothing still counts as living (C4).
pub const SESSION_TIMEOUT: Duration = Duration::from_millis(2_500);
/// How long the controller before this one has at least to say that it lives, from the take-over on: two heartbeats.
pub const DEPOSED_GRACE: Duration = Duration::from_secs(1);
/// After which time a proposal that has shown no effect is made again.
pub const PROPOSAL_RETRY: Duration = Duration::from_secs(1);
/// How long brokers must have been calm before leaderships are returned (a guess: longer than a restart takes).
pub const REBALANCE_CALM: Duration = Duration::from_secs(5);
/// How long brokers must have been calm before the feature level rises (a guess: somebody who upgraded the last one and finds it
/// wanting has stopped it by then).
pub const FEATURE_LEVEL_CALM: Duration = Duration::from_secs(600);
/// How late the controller may be called before it takes itself for stalled: it asks to be called within a second.
pub const STALL_MAX: Duration = Duration::from_millis(1_500);
/// How many leaderships are returned in one record.
pub const REBALANCE_BATCH: usize = 500;
/// How often marks of deleted topics are looked through.
pub const FORGET_INTERVAL: Duration = Duration::from_secs(60);
/// How many entries a broker may be behind and still be let in.
pub const CAUGHT_UP_ENTRIES: i64 = 1_000;

/// A broker says that it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The broker.
    pub broker: BrokerId,
    /// Its log directory.
    pub directory: DirectoryId,
    /// Its process start.
    pub incarnation: Incarnation,
    /// Its registration, if it has applied it.
    pub broker_epoch: Option<BrokerEpoch>,
    /// The last metadata offset that it has applied.
    pub applied: Option<MetadataOffset>,
}

/// The controller's answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// The registration of this incarnation, if the controller has applied it.
    pub broker_epoch: Option<BrokerEpoch>,
    /// How the broker stands; none if this incarnation is not registered.
    pub standing: Option<Standing>,
    /// The last metadata offset that the controller has applied.
    pub applied: Option<MetadataOffset>,
}

/// What the controller wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerAction {
    /// Propose this record.
    Propose(MetadataRecord),
    /// Send this answer to the broker that runs on that directory.
    AnswerHeartbeat {
        /// The broker's log directory.
        to: DirectoryId,
        /// The answer.
        answer: HeartbeatAnswer,
    },
    /// Ask the quorum for these members.
    ChangeMembers(Members),
}

/// The controller's state.
#[derive(Debug)]
pub struct Controller {
    own: DirectoryId,
    sessions: Sessions,
    rebalance: Rebalance,
    level: Level,
    forget_due: MonoTime,
    members_due: MonoTime,
    /// When `handle_timeout` was called last.
    called: MonoTime,
    actions: VecDeque<ControllerAction>,
}

impl Controller {
    /// Takes over on the node of directory `own`, which has applied every entry of earlier terms. `before` is the controller
    /// that answered this node's own heartbeats last, and when it did. The feature level rises after `level_calm`:
    /// [`FEATURE_LEVEL_CALM`] but in a test.
    #[must_use]
    pub fn take_over(
        now: MonoTime,
        own: DirectoryId,
        image: &ClusterImage,
        before: Option<(DirectoryId, MonoTime)>,
        level_calm: Duration,
    ) -> Self {
        Self {
            own,
            sessions: Sessions::counted_anew(now, image, before),
            rebalance: Rebalance::new(now),
            level: Level::new(now, level_calm),
            forget_due: now,
            members_due: now,
            called: now,
            actions: VecDeque::new(),
        }
    }

    /// A broker says that it lives.
    pub fn handle_heartbeat(&mut self, now: MonoTime, image: &ClusterImage, beat: &Heartbeat) {
        let found = image
            .broker(beat.broker)
            .filter(|found| found.directory == beat.directory && found.incarnation == beat.incarnation);
        if let Some(found) = found {
            let record = self.sessions.heard(now, found, beat, image.applied());
            self.actions.extend(record.map(ControllerAction::Propose));
        }
        let answer = HeartbeatAnswer {
            broker_epoch: found.map(|found| found.epoch),
            standing: found.map(|found| found.standing),
            applied: image.applied(),
        };
        self.actions.push_back(ControllerAction::AnswerHeartbeat { to: beat.directory, answer });
    }

    /// Records were applied that changed this.
    pub fn handle_applied(&mut self, now: MonoTime, image: &ClusterImage, changes: &[Change]) {
        for change in changes {
            if let Change::Broker(broker) = change {
                self.sessions.changed(now, *broker, image);
                self.rebalance.disturbed(now);
                self.level.disturbed(now);
                self.members_due = now;
            }
            if matches!(change, Change::Ledger) {
                self.members_due = now;
            }
        }
    }

    /// Time has passed; `quorum` is how the quorum stands now.
    pub fn handle_timeout(&mut self, now: Now, image: &ClusterImage, quorum: &QuorumStatus) {
        let pause = now.mono.since(self.called);
        self.called = now.mono;
        if pause > STALL_MAX {
            self.sessions.forgive(pause);
        }
        let expired = self.sessions.expire(now.mono);
        self.actions.extend(expired.map(ControllerAction::Propose));
        let elections = self.rebalance.due(now.mono, image);
        self.actions.extend(elections.map(ControllerAction::Propose));
        let raise = self.level.due(now.mono, image, quorum);
        self.actions.extend(raise.map(ControllerAction::Propose));
        if now.mono >= self.forget_due {
            self.forget_due = now.mono.after(FORGET_INTERVAL);
            self.forget(now, image);
        }
        if now.mono >= self.members_due {
            self.members_due = now.mono.after(PROPOSAL_RETRY);
            let wished = members::wished(self.own, image, quorum);
            self.actions.extend(wished.map(ControllerAction::ChangeMembers));
        }
    }

    /// What the controller wants done next.
    pub fn poll_action(&mut self) -> Option<ControllerAction> {
        self.actions.pop_front()
    }

    /// When `handle_timeout` is due.
    #[must_use]
    pub fn poll_timeout(&self) -> MonoTime {
        let others = self.rebalance.poll_timeout().min(self.level.poll_timeout());
        let others = others.min(self.forget_due).min(self.members_due);
        self.sessions.poll_timeout().map_or(others, |session| session.min(others))
    }

    fn forget(&mut self, now: Now, image: &ClusterImage) {
        let ripe = image.deleted_topics().filter(|mark| mark.may_be_forgotten(now.wall)).map(|mark| mark.id);
        let topics: Vec<_> = ripe.collect();
        if !topics.is_empty() {
            self.actions
                .push_back(ControllerAction::Propose(MetadataRecord::ForgetTopics(ForgetTopics { topics })));
        }
    }
}
