//! The broker's own life: what its shards found, its registration, its heartbeats.

use std::collections::BTreeSet;
use std::time::Duration;

use log_core::{BrokerEpoch, Incarnation, MonoTime, TopicId};
use log_store::Disk;
use metadata_core::record::{DirectoryReport, RegisterBroker, SuspectReport};
use metadata_core::{
    Answer, Broker, ControlFrame, Heartbeat, HeartbeatAnswer, MetadataQuorum, MetadataRecord, QuorumMember,
    Refusal,
};

use super::{Control, ControlAction};
use crate::door::ShardId;
use crate::message::{ExitCode, RecoveredPartition, RecoveredState, ShardMessage};

/// After which time a registration that has shown no effect is proposed again.
const REGISTRATION_RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Life {
    shards: u16,
    published: bool,
    recovered: BTreeSet<ShardId>,
    report: DirectoryReport,
    stage: Stage,
    topics_drawn: u64,
    /// Since when the controller has been saying that this registration counts no more.
    denied: Option<MonoTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Shards are opening their logs.
    AwaitingShards,
    /// The registration is proposed again at that time.
    AwaitingRegistration(MonoTime),
    /// This incarnation is registered.
    Registered(BrokerEpoch),
}

impl Life {
    pub(super) fn new(shards: u16) -> Self {
        Self {
            shards,
            published: false,
            recovered: BTreeSet::new(),
            report: DirectoryReport::default(),
            stage: Stage::AwaitingShards,
            topics_drawn: 0,
            denied: None,
        }
    }

    /// The epoch of this incarnation's registration, once it is applied here.
    pub(super) const fn broker_epoch(&self) -> Option<BrokerEpoch> {
        match self.stage {
            Stage::Registered(epoch) => Some(epoch),
            Stage::AwaitingShards | Stage::AwaitingRegistration(_) => None,
        }
    }

    pub(super) fn is_recovered(&self) -> bool {
        self.stage != Stage::AwaitingShards
    }

    pub(super) const fn is_published(&self) -> bool {
        self.published
    }

    pub(super) const fn published(&mut self) {
        self.published = true;
    }

    pub(super) const fn poll_timeout(&self) -> Option<MonoTime> {
        match self.stage {
            Stage::AwaitingRegistration(at) => Some(at),
            Stage::AwaitingShards | Stage::Registered(_) => None,
        }
    }

    /// A topic id that was not drawn before, from the random bits of this start.
    pub(super) fn draw_topic_id(&mut self, seed: &[u8; 16]) -> TopicId {
        self.topics_drawn += 1;
        let seed = u128::from_le_bytes(*seed);
        let (low, high) = (seed as u64, (seed >> 64) as u64);
        let low = mix(low ^ mix(self.topics_drawn));
        let high = mix(high ^ mix(low));
        TopicId((u128::from(low) | u128::from(high) << 64).to_le_bytes())
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// A node whose directory was formatted to form a cluster, and that knows of none yet, forms one of itself alone.
    pub(super) fn form_if_new(&mut self) {
        let knows_none = self.copy.is_empty() && self.quorum.status().members.voters.is_empty();
        if self.config.forms && knows_none {
            let reached = self.config.endpoints.iter();
            let reached = reached.filter(|endpoint| endpoint.listener == metadata_core::Listener::Replica);
            self.quorum.form(QuorumMember {
                directory: self.config.directory,
                broker: self.config.broker,
                addresses: reached.map(|endpoint| (endpoint.host.clone(), endpoint.port)).collect(),
            });
        }
    }

    /// A shard has opened its logs.
    pub(super) fn take_recovered(&mut self, shard: ShardId, partitions: &[RecoveredPartition]) {
        if !self.life.recovered.insert(shard) {
            return;
        }
        for found in partitions {
            match found.state {
                RecoveredState::Clean | RecoveredState::Verified => {}
                RecoveredState::Faulty => self.life.report.faulty.push(found.partition),
                RecoveredState::Suspect { last_epoch, end } => {
                    let partition = found.partition;
                    self.life.report.suspect.push(SuspectReport { partition, last_epoch, end });
                }
            }
        }
        if self.life.recovered.len() == usize::from(self.life.shards) && !self.life.is_recovered() {
            self.life.stage = Stage::AwaitingRegistration(self.now.mono);
            self.pursue_registration();
        }
    }

    /// Registers, again and again until it is seen applied. Only in a cluster that is formed.
    pub(super) fn pursue_registration(&mut self) {
        let Stage::AwaitingRegistration(at) = self.life.stage else { return };
        if self.now.mono < at || self.stopping.is_some() {
            return;
        }
        self.life.stage = Stage::AwaitingRegistration(self.now.mono.after(REGISTRATION_RETRY));
        if self.image.cluster_id().is_none() && !self.leads_quorum() && self.finder.known().is_none() {
            return;
        }
        let known = self.image.broker(self.config.broker).map(|broker| broker.incarnation);
        if let Some(known) = known.filter(|known| *known >= self.config.incarnation) {
            self.config.incarnation = Incarnation(known.0 + 1);
        }
        let report = DirectoryReport { clean: self.config.clean, ..self.life.report.clone() };
        self.propose_own(MetadataRecord::RegisterBroker(Box::new(RegisterBroker {
            broker: self.config.broker,
            directory: self.config.directory,
            incarnation: self.config.incarnation,
            rack: self.config.rack.clone(),
            endpoints: self.config.endpoints.clone(),
            shards: self.config.shards,
            feature_level_max: self.config.feature_level_max.max(self.image.feature_level()),
            report,
        })));
    }

    /// The registration is proposed at once, if it is still awaited: the cluster is formed now, or a controller is known.
    pub(super) fn hurry_registration(&mut self) {
        if matches!(self.life.stage, Stage::AwaitingRegistration(_)) {
            self.life.stage = Stage::AwaitingRegistration(self.now.mono);
            self.pursue_registration();
        }
    }

    /// Looks for this incarnation in the image: its registration begins the broker's work, its replacement ends it.
    pub(super) fn check_own_registration(&mut self) {
        let own = self.image.broker(self.config.broker);
        let epoch = own.filter(|found| self.is_own(found)).map(|found| found.epoch);
        match (self.life.stage, epoch) {
            (Stage::Registered(_), None) => {
                let gone = own.is_none();
                let code = if gone { ExitCode::Unregistered } else { ExitCode::DuplicateBroker };
                tracing::error!(%code, "this incarnation is registered no more");
                self.end(code, false);
            }
            (Stage::AwaitingRegistration(_), Some(broker_epoch)) => {
                self.life.stage = Stage::Registered(broker_epoch);
                self.tell_shards(|_| ShardMessage::Registered { broker_epoch });
                self.finder.hurry(self.now.mono);
                self.beat_if_due();
                self.pursue_wishes();
            }
            _ => {}
        }
    }

    /// The controller, which has applied this registration, says that it counts no more: the broker was removed or replaced,
    /// and may have been taken out of the quorum before it could see that record.
    /// The record itself says more, so it gets a second to arrive.
    pub(super) fn check_heartbeat_answer(&mut self, answer: &HeartbeatAnswer) {
        let now = self.now.mono;
        let own = self.life.broker_epoch();
        let seen = own.is_some_and(|own| answer.applied.is_some_and(|applied| applied.0 >= own.0));
        if !seen || answer.broker_epoch.is_some() {
            self.life.denied = None;
            return;
        }
        let denied = *self.life.denied.get_or_insert(now);
        if now >= denied.after(REGISTRATION_RETRY) {
            tracing::error!("the controller says that this incarnation is registered no more");
            self.end(ExitCode::Unregistered, false);
        }
    }

    fn is_own(&self, found: &Broker) -> bool {
        found.directory == self.config.directory && found.incarnation == self.config.incarnation
    }

    pub(super) fn note_own_outcome(&mut self, result: &Result<Answer, Refusal>) {
        match result {
            Ok(_) => {}
            Err(
                refusal @ (Refusal::DuplicateBroker { .. }
                | Refusal::ReservedBroker { .. }
                | Refusal::FeatureLevelRefused { .. }),
            ) => {
                tracing::warn!(%refusal, "the registration is refused; it is tried again");
            }
            Err(refusal) => tracing::debug!(%refusal, "a proposal of this broker was refused"),
        }
    }

    /// Says that this broker lives, to the controller or to whoever may know it.
    pub(super) fn beat_if_due(&mut self) {
        if self.ended {
            return;
        }
        let status = self.quorum.status();
        let own = self.config.directory;
        let (now, others) = (self.now.mono, self.who_may_know(&status));
        let Some(target) = self.finder.next_beat(now, self.leads_quorum(), &others) else { return };
        let beat = Heartbeat {
            broker: self.config.broker,
            directory: own,
            incarnation: self.config.incarnation,
            broker_epoch: self.life.broker_epoch(),
            applied: self.image.applied(),
        };
        if target == own {
            self.hear_own_heartbeat(&beat);
        } else if let Some(peer) = self.peer(&status, target) {
            self.actions.push_back(ControlAction::SendPeer { peer, frame: ControlFrame::Heartbeat(beat) });
        }
    }
}

/// A bijection that spreads bits (the finaliser of splitmix64).
const fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
