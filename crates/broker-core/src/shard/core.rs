//! What every part of a shard shares: settings, the cluster image, the disk, and what is to be done next.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use log_core::{BrokerEpoch, BrokerId, MonoTime, Now, TopicPartition};
use log_store::{Disk, LogId};
use metadata_core::ClusterImage;

use crate::action::ShardAction;
use crate::config::ShardConfig;
use crate::door::ShardId;
use crate::message::ControlRequest;
use crate::metrics::ShardMetrics;
use crate::peer::{Origin, PartitionAnswer, Peer, PeerMessage, PendingId};
use crate::repeated::Repeated;

#[derive(Debug)]
pub(crate) struct Core<D: Disk> {
    pub(crate) config: ShardConfig,
    pub(crate) disk: D,
    pub(crate) now: Now,
    pub(crate) image: Arc<ClusterImage>,
    pub(crate) stage: Stage,
    pub(crate) actions: VecDeque<ShardAction<D::File>>,
    /// Answers of this shard's partitions that are not delivered yet.
    pub(crate) answers: VecDeque<(Origin, PartitionAnswer<D::File>)>,
    /// Waiting Fetches whose partition moved.
    pub(crate) moved: VecDeque<Origin>,
    /// Partitions that have something to do before the shard rests.
    pub(crate) touched: BTreeSet<TopicPartition>,
    pub(crate) timers: BTreeSet<(MonoTime, Timer)>,
    pub(crate) metrics: ShardMetrics,
    pub(crate) repeated: Repeated,
    next_log: u64,
}

/// How far the shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No image yet: no log is open.
    Empty,
    /// Logs are open; what start-up found is not durable yet.
    Opened,
    /// Logs are reported; the registration is not applied yet. Nothing is led or followed (L1).
    Recovered,
    /// Registered under this epoch.
    Registered(BrokerEpoch),
    /// Logs are being closed.
    Stopping,
    /// Nothing is left to do.
    Stopped,
}

/// What a shard's timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Pending(PendingId),
    Partition(TopicPartition),
    /// Look for idle connections.
    Idle,
    /// Try again to open logs that the disk refused.
    Open,
    /// Try again to remove deleted topics.
    Remove,
}

impl<D: Disk> Core<D> {
    pub(crate) fn new(now: Now, config: ShardConfig, disk: D) -> Self {
        Self {
            config,
            disk,
            now,
            image: Arc::new(ClusterImage::new()),
            stage: Stage::Empty,
            actions: VecDeque::new(),
            answers: VecDeque::new(),
            moved: VecDeque::new(),
            touched: BTreeSet::new(),
            timers: BTreeSet::new(),
            metrics: ShardMetrics::default(),
            repeated: Repeated::default(),
            next_log: 0,
        }
    }

    pub(crate) fn broker(&self) -> BrokerId {
        self.config.broker
    }

    /// This broker's epoch while it is registered.
    pub(crate) fn broker_epoch(&self) -> Option<BrokerEpoch> {
        match self.stage {
            Stage::Registered(epoch) => Some(epoch),
            Stage::Empty | Stage::Opened | Stage::Recovered | Stage::Stopping | Stage::Stopped => None,
        }
    }

    pub(crate) fn next_log_id(&mut self) -> LogId {
        self.next_log += 1;
        LogId(self.next_log)
    }

    pub(crate) fn answer(&mut self, origin: Origin, answer: PartitionAnswer<D::File>) {
        self.answers.push_back((origin, answer));
    }

    pub(crate) fn tell_control(&mut self, request: ControlRequest) {
        self.actions.push_back(ShardAction::ToControl(request));
    }

    pub(crate) fn tell_shard(&mut self, shard: ShardId, message: Peer<D::File>) {
        self.actions.push_back(ShardAction::ToShard(shard, PeerMessage(message)));
    }

    /// Moves a timer from its old time to its new one.
    pub(crate) fn reschedule(&mut self, timer: Timer, from: Option<MonoTime>, to: Option<MonoTime>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.timers.remove(&(from, timer));
        }
        if let Some(to) = to {
            self.timers.insert((to, timer));
        }
    }
}
