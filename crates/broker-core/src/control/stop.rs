//! Stopping in order: leaderships and seats move away, another voter is asked to be the controller, the shards close their
//! logs, the copy is synced.

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
/// How long shards may take to close their logs before the broker ends without: it is not stopped cleanly then (a guess: a slow disk
/// writes some gigabytes).
const SHARDS_MAX: Duration = Duration::from_secs(60);
/// How long a controller waits for the one that it asked to follow it: longer than an election without a lease takes.
const SUCCESSOR_MAX: Duration = Duration::from_secs(1);
/// After which time the hand-over is asked for again.
const HANDOVER_RETRY: Duration = Duration::from_millis(500);

#[derive(Debug)]
#[expect(clippy::enum_variant_names, reason = "states are named for what is awaited")]
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
        /// Until when another controller is waited for, if one was asked.
        successor: Option<MonoTime>,
        /// When the broker ends without them.
        give_up: MonoTime,
    },
    /// This node is asked for its vote by the one that follows it as the controller, and has nothing else to do.
    AwaitingSuccessor {
        /// When the broker ends without.
        give_up: MonoTime,
        /// Whether all shards closed cleanly.
        clean: bool,
    },
}

impl Stopping {
    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        match self {
            Self::AwaitingHandover { give_up, retry } => Some(*give_up.min(retry)),
            Self::AwaitingShards { give_up, .. } | Self::AwaitingSuccessor { give_up, .. } => Some(*give_up),
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

    /// Goes on once the hand-over is applied here, or if there is nothing to hand over; ends once another controller is known.
    pub(super) fn follow_stop(&mut self) {
        match self.stopping {
            Some(Stopping::AwaitingHandover { .. }) => {}
            Some(Stopping::AwaitingSuccessor { clean, .. }) if self.is_followed() => {
                return self.end(ExitCode::Clean, clean);
            }
            _ => return,
        }
        let standing = self.image.broker(self.config.broker).map(|found| found.standing);
        let handed_over = matches!(standing, Some(Standing::ShuttingDown | Standing::Fenced));
        if handed_over || self.life.broker_epoch().is_none() {
            self.stop_shards();
        }
    }

    pub(super) fn time_out_stop(&mut self) {
        let now = self.now.mono;
        match &mut self.stopping {
            Some(Stopping::AwaitingHandover { give_up, .. }) if now >= *give_up => {
                tracing::warn!("leaderships could not be handed over in time; stopping without");
                self.stop_shards();
            }
            Some(Stopping::AwaitingHandover { retry, .. }) if now >= *retry => {
                *retry = now.after(HANDOVER_RETRY);
                self.ask_for_handover();
            }
            Some(Stopping::AwaitingShards { give_up, .. }) if now >= *give_up => {
                tracing::warn!(
                    "logs could not be closed in time; stopping without, so that the next start looks at them"
                );
                self.end(ExitCode::Clean, false);
            }
            Some(Stopping::AwaitingSuccessor { give_up, clean }) if now >= *give_up => {
                let clean = *clean;
                self.end(ExitCode::Clean, clean);
            }
            _ => {}
        }
    }

    fn stop_shards(&mut self) {
        let successor = self.ask_for_successor().then(|| self.now.mono.after(SUCCESSOR_MAX));
        // Shards that were shown no image have opened no log: all is as the last process left it.
        let clean = self.life.is_published() || self.config.clean;
        let give_up = self.now.mono.after(SHARDS_MAX);
        self.stopping =
            Some(Stopping::AwaitingShards { stopped: BTreeSet::new(), clean, successor, give_up });
        self.tell_shards(|_| ShardMessage::Stop);
    }

    /// A shard has closed its logs.
    pub(super) fn take_stopped(&mut self, shard: ShardId, shard_clean: bool) {
        let Some(Stopping::AwaitingShards { stopped, clean, successor, .. }) = &mut self.stopping else {
            return;
        };
        stopped.insert(shard);
        *clean &= shard_clean;
        if stopped.len() < usize::from(self.config.shards) {
            return;
        }
        let (clean, successor) = (*clean, *successor);
        match successor.filter(|_| !self.is_followed()) {
            Some(give_up) => self.stopping = Some(Stopping::AwaitingSuccessor { give_up, clean }),
            None => self.end(ExitCode::Clean, clean),
        }
    }

    /// If this node leads the quorum: asks another broker that lives to do so instead of letting the others find out by its silence.
    fn ask_for_successor(&mut self) -> bool {
        let living = self.image.brokers().filter(|broker| broker.is_active());
        let living = living.map(|broker| broker.directory).collect();
        self.leads_quorum() && self.quorum.hand_over(&living)
    }

    /// Whether another node is known to lead the quorum.
    fn is_followed(&self) -> bool {
        !self.leads_quorum() && self.finder.known().is_some()
    }
}
