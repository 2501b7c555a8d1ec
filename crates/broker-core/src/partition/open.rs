//! Making and opening the log of a partition, keeping it to what its topic is set to, closing and removing it.

use std::sync::Arc;
use std::time::Duration;

use log_core::mutation::{Mutation, mutated};
use log_core::retention::RetentionPolicy;
use log_core::segment::RollPolicy;
use log_core::{Offset, Session, TopicPartition};
use log_store::{Disk, DiskError, LogError, LogId, LogOptions, OpenFacts, PartitionLog, StartVerdict};
use metadata_core::{ClusterImage, Topic};

use super::{Partition, Role, StreamTable};
use crate::config::ShardConfig;
use crate::error::PartitionError;
use crate::message::{RecoveredPartition, RecoveredState};
use crate::shard::Core;

/// How often a leader looks what retention asks for.
pub(super) const RETENTION_INTERVAL: Duration = Duration::from_secs(10);

/// Leaders look for the first time in so many turns: a look may have to read, and a start makes many leaders at once (a guess:
/// one turn each 100 ms).
const RETENTION_TURNS: u32 = 100;

/// How long a new leader waits before it first looks what retention asks for.
pub(super) fn first_retention_after(log: LogId) -> Duration {
    let turn = log.0 % u64::from(RETENTION_TURNS);
    RETENTION_INTERVAL / RETENTION_TURNS * u32::try_from(turn).unwrap_or_default()
}

/// How long a follower waits after its log refused an append, for example because the disk is full.
pub(super) const RESTART_AFTER: Duration = Duration::from_secs(1);

/// The directory of a partition's log.
pub(crate) fn directory(id: TopicPartition) -> String {
    format!("{}/{}", topic_directory(id.topic_id), id.partition)
}

/// The directory above those of a topic's partitions.
pub(crate) fn topic_directory(topic_id: log_core::TopicId) -> String {
    format!("topics/{topic_id}")
}

impl<D: Disk> Partition<D> {
    /// Opens the partition's log; one whose directory is not there is made. A directory is durable before the first
    /// append (D3), so that none that held anything can be missing while the disk is whole.
    pub(crate) fn open(core: &mut Core<D>, id: TopicPartition, topic: Arc<Topic>) -> Result<Self, LogError> {
        let log_id = core.next_log_id();
        let options = log_options(&core.config, &core.image, &topic);
        let dir = directory(id);
        let exists = core.disk.list(&dir).is_ok_and(|entries| !entries.is_empty());
        let newest_epoch = topic.partition(id.partition).map(|state| state.leader_epoch).unwrap_or_default();
        let (log, verdict) = if exists {
            let facts = OpenFacts { clean: core.config.clean_start, newest_epoch };
            let (log, found) = PartitionLog::open(&mut core.disk, log_id, &dir, options, facts, core.now)?;
            core.metrics.record_bytes_read_at_start += found.read.record_bytes;
            core.metrics.bookkeeping_bytes_read_at_start += found.read.bookkeeping_bytes;
            (log, found.verdict)
        } else {
            let log = PartitionLog::create(&mut core.disk, log_id, &dir, options, core.now)?;
            (log, StartVerdict::Verified)
        };
        let recovered = mutated(Mutation::S17, log.is_settled() || log.fault().is_some(), true);
        Ok(Self {
            id,
            topic,
            log,
            verdict,
            recovered,
            reported_faulty: false,
            role: Role::Idle,
            incoming: Vec::new(),
            reads: super::leader::Reads::new(),
            watchers: Vec::new(),
            sought_to: Offset::ZERO,
            next_retention: core.now.mono,
            resign_after: core.now.mono,
            first_batch_at: None,
            timer: None,
            settings: core.config.replication,
            last_session: Session(0),
            restart_at: None,
            scrub: None,
            found: None,
            old_epoch: None,
            gone: false,
        })
    }

    /// Whether what start-up found is durable, so that it may be reported.
    pub(crate) fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// What start-up found, for the registration.
    pub(crate) fn recovered_state(&mut self) -> RecoveredPartition {
        let end = self.log.offsets().log_end();
        let fault = match self.verdict {
            StartVerdict::Faulty(fault) => Some(fault),
            _ => self.log.fault(),
        };
        let state = match self.verdict {
            _ if fault.is_some() => RecoveredState::Faulty,
            _ if self.log.suspect().is_some() => {
                RecoveredState::Suspect { last_epoch: self.log.last_epoch(), end }
            }
            StartVerdict::Clean => RecoveredState::Clean,
            _ => RecoveredState::Verified,
        };
        self.reported_faulty = state == RecoveredState::Faulty;
        if let Some(fault) = fault {
            tracing::error!(
                partition = ?self.id,
                %fault,
                "replica was found damaged by the start: it gives up its seat, and is copied anew where another one leads"
            );
        }
        RecoveredPartition { partition: self.id, state }
    }

    /// The topic's settings may have changed, or what the whole cluster is set to.
    pub(super) fn take_topic(&mut self, topic: Arc<Topic>, core: &Core<D>) {
        let expiration = core.image.settings().producer_id_expiration_ms;
        if !Arc::ptr_eq(&self.topic, &topic) || self.log.options().producer_expiration_ms != expiration {
            self.log.set_options(log_options(&core.config, &core.image, &topic));
            self.topic = topic;
        }
    }

    /// The broker stops: leaves its role and closes the log. Whether that can end cleanly.
    pub(crate) fn begin_close(&mut self, core: &mut Core<D>, streams: &mut StreamTable) -> bool {
        self.leave(core, streams, &PartitionError::Stopping);
        self.role = Role::Closing;
        let clean = self.log.begin_close(&mut core.disk);
        self.gone = !clean;
        clean
    }

    /// The topic is deleted: whoever waits is told, the files go. Durable with the next sync of the topic's directory.
    pub(crate) fn remove(mut self, core: &mut Core<D>, streams: &mut StreamTable) -> Result<(), DiskError> {
        self.leave(core, streams, &PartitionError::Unknown);
        self.refuse_incoming(core, &PartitionError::Unknown);
        self.wake_watchers(core);
        core.reschedule(crate::shard::Timer::Partition(self.id), self.timer, None);
        self.log.remove(&mut core.disk)
    }

    pub(crate) fn timer(&self) -> Option<log_core::MonoTime> {
        self.timer
    }
}

fn log_options(config: &ShardConfig, image: &ClusterImage, topic: &Topic) -> LogOptions {
    let settings = &topic.settings;
    let defaults = LogOptions::new(config.crc);
    LogOptions {
        roll: RollPolicy {
            segment_bytes: u64::try_from(settings.segment_bytes).unwrap_or(defaults.roll.segment_bytes),
            segment_ms: settings.segment_ms,
        },
        retention: RetentionPolicy {
            retention_ms: settings.retention_ms,
            retention_bytes: settings.retention_bytes.and_then(|bytes| u64::try_from(bytes).ok()),
            ahead_ms_max: settings.timestamp_after_max_ms,
        },
        producer_expiration_ms: image.settings().producer_id_expiration_ms,
        name_used_before: topic.name_used_before,
        reserve_bytes: config.reserve_bytes,
        ..defaults
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn leaders_that_begin_together_look_at_their_retention_one_after_the_other() {
        let first: BTreeSet<Duration> = (0..1_000).map(|log| first_retention_after(LogId(log))).collect();
        assert_eq!(first.len(), RETENTION_TURNS as usize);
        assert!(first.last().is_some_and(|last| *last < RETENTION_INTERVAL));
    }
}
