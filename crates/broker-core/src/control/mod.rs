//! A broker's own life and its part in the cluster: the copy of the metadata log, registration, heartbeats, proposals,
//! and, where the quorum says so, the controller.
//!
//! # Call order
//!
//! [`Control::open`] once; then any of the `handle_*` methods as the world does something, each followed by
//! `poll_action` until it is empty and `poll_timeout` for when [`Control::handle_timeout`] is due. The driver calls
//! `handle_quorum` when the quorum has events and `handle_disk` when the disk has completions.
//!
//! # What happens to an entry
//!
//! 1. The quorum shows it as agreed. It is appended to this broker's copy.
//! 2. The copy is fsynced (Q1: never applied before).
//! 3. It is applied; every shard gets the new image.
//! 4. Whoever proposed it here gets the outcome of applying as the answer (C1).

mod action;
mod admin;
mod config;
mod copy;
mod elections;
mod error;
mod finder;
mod lead;
mod life;
mod proposals;
mod status;
mod stop;
#[cfg(test)]
mod tests;
mod wishes;

use std::collections::VecDeque;
use std::sync::Arc;

use log_core::{BrokerId, MetadataOffset, MonoTime, Now};
use log_store::{Disk, RecordLogOptions};
use metadata_core::record::{BrowserDoor, ResignLeader};
use metadata_core::{
    ClusterImage, ControlFrame, Entry, MetadataQuorum, MetadataRecord, Outcome, QuorumEvent,
};

pub use action::{Caller, ControlAction, FrameSource, Peer, PeerStreamId};
pub use config::ControlConfig;
pub use error::ControlError;
pub use status::{ControlPhase, ControlStatus};

use crate::door::ShardId;
use crate::message::{ControlRequest, ExitCode, ShardMessage};
use copy::MetadataCopy;
use finder::Finder;
use lead::Leadership;
use life::Life;
use proposals::Proposals;
use stop::Stopping;
use wishes::Wishes;

/// See the module.
#[derive(Debug)]
pub struct Control<D: Disk, Q: MetadataQuorum> {
    config: ControlConfig,
    disk: D,
    quorum: Q,
    now: Now,
    copy: MetadataCopy<D>,
    image: ClusterImage,
    life: Life,
    proposals: Proposals,
    finder: Finder,
    leadership: Leadership,
    wishes: Wishes,
    stopping: Option<Stopping>,
    /// Set when nothing may be done any more.
    ended: bool,
    status: ControlStatus,
    actions: VecDeque<ControlAction>,
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// Opens this broker's copy of the metadata log and begins its life; `quorum` makes the node's face of the quorum
    /// from the last offset in the copy, behind which it goes on. For quorums that are made at once; else [`Recovered::open`] first.
    ///
    /// # Errors
    ///
    /// If the copy cannot be read, is damaged, or belongs to another cluster.
    pub fn open(
        now: Now,
        config: ControlConfig,
        disk: D,
        quorum: impl FnOnce(Option<MetadataOffset>) -> Q,
    ) -> Result<Self, ControlError> {
        let recovered = Recovered::open(&config, disk)?;
        let quorum = quorum(recovered.last());
        Ok(Self::start(now, config, recovered, quorum))
    }

    /// Begins a broker's life on a copy that is opened; `quorum` goes on after the image of the copy.
    #[must_use]
    pub fn start(now: Now, config: ControlConfig, recovered: Recovered<D>, quorum: Q) -> Self {
        let Recovered { disk, copy, image } = recovered;
        let first_number = now.wall.0.max(0).unsigned_abs().saturating_mul(1_000);
        let mut control = Self {
            life: Life::new(config.shards),
            proposals: Proposals::new(config.directory, first_number),
            finder: Finder::new(now.mono, config.directory),
            wishes: Wishes::new(config.shards),
            config,
            disk,
            quorum,
            now,
            copy,
            image,
            leadership: Leadership::Follows,
            stopping: None,
            ended: false,
            status: ControlStatus::default(),
            actions: VecDeque::new(),
        };
        control.form_if_new();
        control.handle_disk(now);
        control
    }

    /// A shard of this broker asks or reports something.
    pub fn handle_request(&mut self, now: Now, shard: ShardId, request: ControlRequest) {
        self.begin(now);
        match request {
            ControlRequest::Recovered { partitions } => self.take_recovered(shard, &partitions),
            ControlRequest::Admin { id, deadline, command } => {
                self.start_admin(Caller::Shard(shard, id), deadline, command);
            }
            ControlRequest::Isr(change) => self.propose_isr(shard, change),
            ControlRequest::Resign { partition, leader_epoch } => {
                let leader = self.config.broker;
                self.propose_own(MetadataRecord::ResignLeader(ResignLeader {
                    partition,
                    leader,
                    leader_epoch,
                }));
            }
            ControlRequest::ReportFaulty { partition, fault, .. } => {
                tracing::error!(?partition, ?fault, "a replica is damaged; it gives up its seat");
                self.wishes.faulty.insert(partition);
                self.pursue_wishes();
            }
            ControlRequest::ReplicaReset { partition, .. } => {
                self.wishes.resets.insert(partition);
                self.pursue_wishes();
            }
            ControlRequest::RemovalConfirmed { topic_id } => {
                self.wishes.confirm(shard, topic_id);
                self.pursue_wishes();
            }
            ControlRequest::Stopped { clean } => self.take_stopped(shard, clean),
        }
        self.settle();
    }

    /// The driver itself asks for something, such as a join; answered by [`ControlAction::Answer`].
    pub fn handle_command(
        &mut self,
        now: Now,
        id: crate::message::AdminId,
        deadline: MonoTime,
        command: crate::message::AdminCommand,
    ) {
        self.begin(now);
        self.start_admin(Caller::Driver(id), deadline, command);
        self.settle();
    }

    /// Pages in browsers reach this broker this way from now on; the cluster is told, and told again after a restart.
    pub fn handle_browser_door(&mut self, now: Now, door: BrowserDoor) {
        self.begin(now);
        self.wishes.door = Some(door);
        self.pursue_wishes();
        self.settle();
    }

    /// A frame came from another broker; `broker` is whom its certificate names.
    pub fn handle_peer_frame(
        &mut self,
        now: Now,
        source: FrameSource,
        broker: BrokerId,
        frame: ControlFrame,
    ) {
        self.begin(now);
        match frame {
            ControlFrame::Heartbeat(beat) => {
                if beat.broker == broker {
                    self.take_heartbeat(source, &beat);
                }
            }
            ControlFrame::Propose { id, entry } => self.take_proposal(source, id, entry),
            ControlFrame::HeartbeatAnswer(answer) => {
                if let FrameSource::Dialled(directory) = source {
                    self.check_heartbeat_answer(&answer);
                    self.finder.answered(now.mono, directory);
                    self.flush_proposals();
                }
            }
            ControlFrame::NotController { leader } => {
                if let FrameSource::Dialled(directory) = source {
                    self.finder.denied(now.mono, directory, leader);
                    self.flush_proposals();
                }
            }
            ControlFrame::ProposeRefused { id, leader } => {
                if let FrameSource::Dialled(directory) = source {
                    self.finder.denied(now.mono, directory, leader);
                }
                self.proposals.refused(now.mono, id);
            }
        }
        self.settle();
    }

    /// The stream that this broker dialled to a peer is gone, or could not be opened.
    pub fn handle_peer_closed(&mut self, now: Now, directory: log_core::DirectoryId) {
        self.begin(now);
        self.finder.lost(now.mono, directory);
        self.settle();
    }

    /// The quorum has events.
    pub fn handle_quorum(&mut self, now: Now) {
        self.begin(now);
        while !self.ended {
            let Some(event) = self.quorum.poll_event() else { break };
            self.take_quorum_event(event);
        }
        self.advance();
        self.settle();
    }

    /// A message of the quorum was exchanged with another node: both are awake, so a heartbeat that is due goes now.
    pub fn handle_company(&mut self, now: Now) {
        self.begin(now);
        self.finder.has_company(now.mono);
        self.beat_if_due();
        self.settle();
    }

    /// The disk has completions.
    pub fn handle_disk(&mut self, now: Now) {
        self.begin(now);
        while let Some(completion) = self.disk.poll() {
            let result = self.copy.handle_completion(&mut self.disk, &completion);
            self.check_disk(result);
        }
        self.advance();
        self.settle();
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Now) {
        self.begin(now);
        self.beat_if_due();
        self.time_out_proposals();
        self.pursue_registration();
        self.pursue_wishes();
        self.time_out_stop();
        self.drive_controller_timers();
        self.settle();
    }

    /// When [`Control::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        if self.ended {
            return None;
        }
        let times = [
            Some(self.finder.beat_due()),
            self.proposals.poll_timeout(),
            // Who is stopping does not register any more.
            self.life.poll_timeout().filter(|_| self.stopping.is_none()),
            self.wishes.poll_timeout(),
            self.stopping.as_ref().and_then(Stopping::poll_timeout),
            self.leadership.poll_timeout(),
        ];
        times.into_iter().flatten().min()
    }

    /// What the driver does next.
    pub fn poll_action(&mut self) -> Option<ControlAction> {
        self.actions.pop_front()
    }

    /// What this broker's copy of the metadata log says.
    #[must_use]
    pub const fn image(&self) -> &ClusterImage {
        &self.image
    }

    /// How the broker stands, for health checks.
    #[must_use]
    pub const fn status(&self) -> ControlStatus {
        self.status
    }

    /// The node's face of the quorum.
    #[must_use]
    pub const fn quorum(&self) -> &Q {
        &self.quorum
    }

    const fn begin(&mut self, now: Now) {
        self.now = now;
    }

    /// What follows from every call: the controller's wishes are carried out, and changes of status are shown.
    fn settle(&mut self) {
        if !self.ended {
            self.carry_out_controller_actions();
        }
        self.show_status();
    }

    fn take_quorum_event(&mut self, event: QuorumEvent) {
        match event {
            QuorumEvent::Committed { entries } => {
                for entry in entries {
                    let result = self.copy.append(&mut self.disk, entry);
                    self.check_disk(result);
                    if self.ended {
                        // What follows an entry that is missing has no place in the copy.
                        return;
                    }
                }
                self.copy.sync(&mut self.disk);
            }
            QuorumEvent::Snapshot { upto, bytes } => {
                let result = self.copy.install(&mut self.disk, upto, bytes);
                self.check_disk(result);
            }
            QuorumEvent::Leader { leader, is_self, .. } => self.take_leader(leader, is_self),
            QuorumEvent::Poisoned => self.end(ExitCode::DirectoryPoisoned, false),
        }
    }

    /// Applies what has become durable, then tells everybody: shards first, so that whoever gets an answer finds it in
    /// the image.
    fn advance(&mut self) {
        if self.ended {
            return;
        }
        let mut burst = Burst::default();
        if let Some(image) = self.copy.take_installed() {
            self.image = image;
            burst.all = true;
        }
        while let Some((offset, bytes)) = self.copy.next_durable() {
            if !self.apply(offset, &bytes, &mut burst) {
                return;
            }
        }
        if self.image.cluster_id().is_some_and(|found| found != self.config.cluster_id) {
            tracing::error!("the metadata log is of another cluster");
            self.end(ExitCode::ForeignDirectory, false);
            return;
        }
        let first = self.copy.is_recovered() && !self.life.is_published();
        if self.copy.is_recovered() && (first || burst.all || !burst.changes.is_empty()) {
            self.life.published();
            self.publish();
        }
        if let Some(applied) = self.image.applied().filter(|_| burst.applied || burst.all) {
            self.quorum.applied(applied);
        }
        self.snapshot_if_due();
        self.check_own_registration();
        for (number, outcome) in burst.outcomes {
            self.answer_proposal(number, outcome);
        }
        self.tell_controller(&burst.changes);
        self.take_over_if_ready();
        self.follow_stop();
    }

    fn apply(&mut self, offset: MetadataOffset, bytes: &[u8], burst: &mut Burst) -> bool {
        burst.applied = true;
        if bytes.is_empty() {
            self.image.skip(offset);
            return true;
        }
        match Entry::decode(offset, bytes) {
            Ok(entry) => {
                let before = self.image.feature_level();
                let mut outcome = self.image.apply(&entry);
                if !self.knows_feature_level(before) {
                    return false;
                }
                burst.changes.append(&mut outcome.changes);
                if entry.proposal.origin == self.config.directory {
                    burst.outcomes.push((entry.proposal.number, outcome));
                }
                true
            }
            Err(error) => {
                tracing::error!(%offset, %error, "a metadata record cannot be read: this broker must not go on");
                self.end(ExitCode::UnreadableMetadata, false);
                false
            }
        }
    }

    /// Whether this build may go on with what was just applied; else nobody is shown it, and the broker ends.
    fn knows_feature_level(&mut self, before: u16) -> bool {
        let level = self.image.feature_level();
        if !self.image.is_known_level() {
            let error = ControlError::FeatureLevel { found: level };
            tracing::error!(%error, "start this node with the version that the others run");
            self.end(ExitCode::UnreadableMetadata, false);
            return false;
        }
        if level != before && before > 0 {
            tracing::info!(
                level,
                before,
                "the cluster's feature level has risen: no older version can take part any more"
            );
        }
        true
    }

    fn publish(&mut self) {
        let image = Arc::new(self.image.clone());
        self.tell_shards(|_| ShardMessage::Image(Arc::clone(&image)));
        self.actions.push_back(ControlAction::Image(image));
    }

    fn tell_shards(&mut self, message: impl Fn(ShardId) -> ShardMessage) {
        let shards = (0..self.config.shards).map(ShardId);
        self.actions.extend(shards.map(|shard| ControlAction::ToShard(shard, message(shard))));
    }

    fn snapshot_if_due(&mut self) {
        if let Some(applied) = self.image.applied().filter(|applied| self.copy.snapshot_is_due(*applied)) {
            let bytes: bytes::Bytes = self.image.encode().into();
            let result = self.copy.snapshot(&mut self.disk, applied, bytes);
            self.check_disk(result);
        }
        if let Some((upto, bytes)) = self.copy.take_durable_snapshot() {
            self.quorum.offer_snapshot(upto, bytes);
        }
    }

    /// A failed write or sync of the copy: nothing more may be agreed to, and the broker ends (D5).
    fn check_disk(&mut self, result: Result<(), ControlError>) {
        if let Err(error) = result {
            tracing::error!(%error, "the copy of the metadata log failed");
            let newer = matches!(error, ControlError::FeatureLevel { .. });
            self.end(if newer { ExitCode::UnreadableMetadata } else { ExitCode::DirectoryPoisoned }, false);
        }
    }

    fn end(&mut self, code: ExitCode, clean: bool) {
        if !self.ended {
            self.ended = true;
            self.actions.push_back(ControlAction::Stop { code, clean });
        }
    }
}

/// A copy of the metadata log that is opened, before the quorum is made that goes on behind it.
#[derive(Debug)]
pub struct Recovered<D: Disk> {
    disk: D,
    copy: MetadataCopy<D>,
    image: ClusterImage,
}

impl<D: Disk> Recovered<D> {
    /// Opens this broker's copy of the metadata log.
    ///
    /// # Errors
    ///
    /// If the copy cannot be read, is damaged, or belongs to another cluster.
    pub fn open(config: &ControlConfig, mut disk: D) -> Result<Self, ControlError> {
        let (copy, image) = MetadataCopy::open(&mut disk, RecordLogOptions::new(config.crc))?;
        let found = image.cluster_id();
        if let Some(found) = found.filter(|found| *found != config.cluster_id) {
            return Err(ControlError::ForeignCluster { expected: config.cluster_id, found });
        }
        Ok(Self { disk, copy, image })
    }

    /// The image that the copy begins with. Entries of the copy behind it are applied later.
    #[must_use]
    pub const fn image(&self) -> &ClusterImage {
        &self.image
    }

    /// The last offset in the copy, which is applied once it is durable; none if the copy is empty.
    #[must_use]
    pub fn last(&self) -> Option<MetadataOffset> {
        self.copy.last()
    }
}

/// What one burst of applied entries brought.
#[derive(Debug, Default)]
struct Burst {
    applied: bool,
    all: bool,
    changes: Vec<metadata_core::Change>,
    outcomes: Vec<(u64, Outcome)>,
}
