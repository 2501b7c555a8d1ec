//! Following: the actions of the follower's machine carried out on the log.

use log_core::mutation::{Mutation, mutated};
use log_core::{BrokerEpoch, Session};
use log_store::{AppendError, CutError, Disk, Fault, Replicated};
use metadata_core::Listener;
use replica_core::{
    Follower, FollowerAction, FollowerAlarm, FollowerFrame, FollowerStart, LogFacts, PartitionView, Settings,
};

use super::view::log_facts;
use super::{Partition, Role, StreamTable};
use crate::action::{ReplicaKey, ShardAction};
use crate::repeated::Repeats;
use crate::shard::{Core, shard_of};

/// What only a follower has.
#[derive(Debug)]
pub(crate) struct FollowerRole {
    pub(super) machine: Follower,
    /// The replica epoch that it follows under.
    pub(super) own_epoch: BrokerEpoch,
}

impl FollowerRole {
    pub(super) fn new<D: Disk>(
        core: &Core<D>,
        view: PartitionView,
        own_epoch: BrokerEpoch,
        log: LogFacts,
        last_session: Session,
        settings: Settings,
    ) -> Self {
        let start = FollowerStart {
            own: core.broker(),
            own_epoch: Some(own_epoch),
            seed: core.config.seed ^ u64::from(view.partition.partition.0.cast_unsigned()),
            view,
            log,
            last_session,
            settings,
            crc: core.config.crc,
        };
        Self { machine: Follower::new(core.now.mono, start), own_epoch }
    }
}

impl<D: Disk> Partition<D> {
    pub(super) fn act_as_follower(&mut self, core: &mut Core<D>, streams: &mut StreamTable) -> bool {
        let mut worked = false;
        while let Role::Follower(follower) = &mut self.role
            && let Some(action) = follower.machine.poll_action()
        {
            worked = true;
            self.last_session = follower.machine.session();
            self.do_follower_action(core, streams, action);
        }
        worked
    }

    fn do_follower_action(&mut self, core: &mut Core<D>, streams: &mut StreamTable, action: FollowerAction) {
        let now = core.now.mono;
        match action {
            FollowerAction::Close { stream, reason } => {
                tracing::debug!(partition = ?self.id, %stream, %reason, "closing the stream to the leader");
                if mutated(Mutation::T13Push, true, false) && streams.remove(&stream).is_some() {
                    core.actions.push_back(ShardAction::CloseReplica { stream });
                }
            }
            FollowerAction::Connect { leader, session } => self.connect(core, leader, session),
            FollowerAction::Send { stream, frame } => send(core, stream, &frame),
            FollowerAction::Cut { to } => {
                if let Err(error) = self.log.begin_cut(&mut core.disk, to) {
                    self.cut_refused(core, to, error);
                }
            }
            FollowerAction::DropAll { start_at } => {
                if let Err(error) = self.log.begin_drop_all(&mut core.disk, start_at) {
                    self.cut_refused(core, start_at, error);
                }
            }
            FollowerAction::Append { batches, stream_epoch } => {
                core.metrics.bytes_replicated_in += batches.len() as u64;
                let appended = self.log.append_replicated(&mut core.disk, core.now, stream_epoch, batches);
                let Role::Follower(follower) = &mut self.role else { return };
                match appended {
                    Ok(Replicated { end, rest }) => {
                        follower.machine.handle_appended(now, end);
                        if let Some(error) = rest {
                            self.append_refused(core, error);
                        }
                    }
                    Err(error) => self.append_refused(core, error),
                }
            }
            FollowerAction::HighWatermark(to) => {
                self.log.set_high_watermark(to);
                self.wake_watchers(core);
            }
            FollowerAction::LogStart(to) => self.log.advance_log_start(&mut core.disk, core.now, to),
            FollowerAction::GiveUpSeat => {
                self.found = Some(Fault::Outlived { at: self.log.offsets().log_end() });
            }
            FollowerAction::Alarm(alarm) => {
                core.metrics.replication_alarms += 1;
                tracing::error!(partition = ?self.id, ?alarm, "this replica disagrees with its leader");
                if let FollowerAlarm::Conflict { cut_to: at, .. } = alarm {
                    self.found = mutated(Mutation::D4c, self.found, Some(Fault::BadBatch { at }));
                }
            }
        }
    }

    fn connect(&self, core: &mut Core<D>, leader: log_core::BrokerId, session: Session) {
        let registered = core.image.broker(leader);
        let endpoints = registered.into_iter().flat_map(|broker| broker.endpoints_of(Listener::Replica));
        let addresses = endpoints.map(|endpoint| (endpoint.host.clone(), endpoint.port)).collect();
        let shards = registered.map_or(1, |broker| broker.shards.max(1));
        core.actions.push_back(ShardAction::ConnectReplica {
            key: ReplicaKey { partition: self.id, session },
            broker: leader,
            addresses,
            shard: shard_of(self.id, shards),
        });
    }

    fn cut_refused(&mut self, core: &Core<D>, to: log_core::Offset, error: CutError) {
        tracing::error!(partition = ?self.id, %to, %error, "the log refuses to be cut");
        match (&mut self.role, error) {
            (Role::Follower(follower), CutError::Conflict { .. }) => {
                follower.machine.handle_cut_refused(core.now.mono, to);
            }
            // Not the leader's doing, so it is not told that the logs disagree.
            _ => self.follow_later(core),
        }
    }

    fn append_refused(&mut self, core: &mut Core<D>, error: AppendError) {
        core.metrics.replica_appends_refused += 1;
        if let Some(left_out) = core.repeated.is_due(core.now.mono, Repeats::Append) {
            tracing::error!(partition = ?self.id, %error, left_out, "cannot append what the leader sent");
        }
        self.follow_later(core);
    }

    /// The stream is closed and none is opened by this machine: a new one is made, later where the disk is full.
    fn follow_later(&mut self, core: &Core<D>) {
        if let Role::Follower(follower) = &mut self.role {
            follower.machine.handle_append_failed(core.now.mono);
        }
        self.restart_at = Some(core.now.mono.after(super::open::RESTART_AFTER));
    }

    /// Begins to follow anew after the log refused an append.
    pub(super) fn restart_follower(&mut self, core: &mut Core<D>) {
        if self.restart_at.is_none_or(|at| at > core.now.mono) {
            return;
        }
        self.restart_at = None;
        let Role::Follower(follower) = &self.role else { return };
        let own_epoch = follower.own_epoch;
        let Some(view) = super::view::partition_view(&core.image, self.id) else { return };
        let facts = log_facts(&self.log);
        let role = FollowerRole::new(core, view, own_epoch, facts, self.last_session, self.settings);
        self.role = Role::Follower(Box::new(role));
    }
}

fn send<D: Disk>(core: &mut Core<D>, stream: replica_core::StreamId, frame: &FollowerFrame) {
    let rope = kafka_wire::Rope::from_segments([kafka_wire::Segment::Bytes(frame.encode().into())]);
    core.actions.push_back(ShardAction::ReplicaSend { stream, rope });
}
