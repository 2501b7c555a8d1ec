//! Stopping in order: leaderships and seats move away, the shards close their logs, the copy is synced.

use std::collections::BTreeSet;
use std::time::Duration;

use log_core::{MonoTime, Now};
use log_store::Disk;
use metadata_core::record::BrokerShuttingDown;
use metadata_core::{MetadataQuorum, MetadataRecord, Standing};

use super::Control;
use crate::door::ShardId;
use crate::message::{ExitCode, ShardMessage};

/// How long leaderships may take to move before the broker stops without.
const HANDOVER_MAX: Duration = Duration::from_secs(3);
/// After which time the hand-over is asked for again.
const HANDOVER_RETRY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) enum Stopping {
    /// The record that moves leaderships away is not applied here yet.
    AwaitingHandover {
        /// When the broker stops without.
        give_up: MonoTime,
        /// When it is asked for again.
        retry: MonoTime,
    },
    /// Shards are closing their logs.
    AwaitingShards {
        /// Those that have.
        stopped: BTreeSet<ShardId>,
        /// Whether all of them closed cleanly.
        clean: bool,
    },
}

impl Stopping {
    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        match self {
            Self::AwaitingHandover { give_up, retry } => Some(*give_up.min(retry)),
            Self::AwaitingShards { .. } => None,
        }
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// The broker is asked to stop.
    pub fn handle_stop(&mut self, now: Now) {
        self.begin(now);
        if self.stopping.is_none() && !self.ended {
            let (give_up, retry) = (now.mono.after(HANDOVER_MAX), now.mono.after(HANDOVER_RETRY));
            self.stopping = Some(Stopping::AwaitingHandover { give_up, retry });
            self.ask_for_handover();
            self.follow_stop();
        }
        self.settle();
    }

    fn ask_for_handover(&mut self) {
        if let Some(broker_epoch) = self.life.broker_epoch() {
            let broker = self.config.broker;
            self.propose_own(MetadataRecord::BrokerShuttingDown(BrokerShuttingDown { broker, broker_epoch }));
        }
    }

    /// Goes on once the hand-over is applied here, or if there is nothing to hand over.
    pub(super) fn follow_stop(&mut self) {
        if !matches!(self.stopping, Some(Stopping::AwaitingHandover { .. })) {
            return;
        }
        let standing = self.image.broker(self.config.broker).map(|found| found.standing);
        let handed_over = matches!(standing, Some(Standing::ShuttingDown | Standing::Fenced));
        if handed_over || self.life.broker_epoch().is_none() {
            self.stop_shards();
        }
    }

    pub(super) fn time_out_stop(&mut self) {
        let now = self.now.mono;
        let Some(Stopping::AwaitingHandover { give_up, retry }) = &mut self.stopping else { return };
        if now >= *give_up {
            tracing::warn!("leaderships could not be handed over in time; stopping without");
            self.stop_shards();
        } else if now >= *retry {
            *retry = now.after(HANDOVER_RETRY);
            self.ask_for_handover();
        }
    }

    fn stop_shards(&mut self) {
        self.stopping = Some(Stopping::AwaitingShards { stopped: BTreeSet::new(), clean: true });
        self.tell_shards(|_| ShardMessage::Stop);
    }

    /// A shard has closed its logs.
    pub(super) fn take_stopped(&mut self, shard: ShardId, shard_clean: bool) {
        let Some(Stopping::AwaitingShards { stopped, clean }) = &mut self.stopping else { return };
        stopped.insert(shard);
        *clean &= shard_clean;
        if stopped.len() == usize::from(self.config.shards) {
            let clean = *clean;
            self.end(ExitCode::Clean, clean);
        }
    }
}
