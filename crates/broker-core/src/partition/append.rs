//! Appending what clients produce: checked when it comes, appended together when the burst ends.

use std::time::Duration;

use bytes::Bytes;
use log_core::batch::{self, ProduceRules, Stamp};
use log_core::mutation::{Mutation, mutated};
use log_core::{BatchError, Timestamp};
use log_store::{AppendError, Appended, Disk, LeaderBatch};
use metadata_core::config::TimestampType;

use super::{Partition, Role};
use crate::error::PartitionError;
use crate::message::ControlRequest;
use crate::peer::{Acks, Origin, PartitionAnswer, ProduceCall, Produced};
use crate::shard::Core;

/// The most bytes that one write takes; a single batch may be longer.
const WRITE_BYTES_MAX: usize = 8 << 20;

/// How long a replica keeps a leadership that it would give up for a full disk, having given one up for that (a guess: where all disks
/// are full, leaderships would go round as fast as clients try).
const RESIGN_AGAIN: Duration = Duration::from_secs(10);

/// A batch that is checked and waits for the end of the burst.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) origin: Origin,
    batch: LeaderBatch,
    acks: Acks,
}

impl<D: Disk> Partition<D> {
    pub(super) fn take_produce(&mut self, core: &mut Core<D>, origin: Origin, call: ProduceCall) {
        match self.check_produce(core, call) {
            Ok((batch, acks)) => self.incoming.push(Incoming { origin, batch, acks }),
            Err(error) => core.answer(origin, PartitionAnswer::Failed(error)),
        }
    }

    fn check_produce(
        &self,
        core: &Core<D>,
        call: ProduceCall,
    ) -> Result<(LeaderBatch, Acks), PartitionError> {
        let Role::Leader(leader) = &self.role else { return Err(self.not_leading()) };
        if call.acks == Acks::All && !leader.machine.accepts_acks_all() {
            let view = leader.machine.view();
            let (in_sync, required) = (view.sound_isr_members(), view.effective_min_isr);
            return Err(PartitionError::NotEnoughReplicas { in_sync, required });
        }
        if call.records.is_empty() {
            return Err(PartitionError::NoRecords);
        }
        let rules = self.produce_rules(core, call.zstd_allowed);
        let batch = check_batch(core, call.records, &rules).map_err(PartitionError::Batch)?;
        Ok((batch, call.acks))
    }

    fn produce_rules(&self, core: &Core<D>, zstd_allowed: bool) -> ProduceRules {
        let settings = &self.topic.settings;
        ProduceRules {
            batch_bytes_max: usize::try_from(settings.max_message_bytes).unwrap_or(0),
            zstd_allowed,
            timestamp_type: match settings.timestamp_type {
                TimestampType::CreateTime => batch::TimestampType::CreateTime,
                TimestampType::LogAppendTime => batch::TimestampType::LogAppendTime,
            },
            now: core.now.wall,
            timestamp_before_ms_max: settings.timestamp_before_max_ms,
            timestamp_after_ms_max: settings.timestamp_after_max_ms,
        }
    }

    /// Appends everything that came, in as few writes as possible.
    pub(super) fn append_incoming(&mut self, core: &mut Core<D>) {
        if self.incoming.is_empty() {
            return;
        }
        let mut rest = std::mem::take(&mut self.incoming).into_iter().peekable();
        while rest.peek().is_some() {
            let mut bytes = 0;
            let mut group = Vec::new();
            while let Some(next) =
                rest.next_if(|next| group.is_empty() || bytes + next.batch.bytes.len() <= WRITE_BYTES_MAX)
            {
                bytes += next.batch.bytes.len();
                group.push(next);
            }
            self.append_group(core, group);
        }
    }

    /// All in one write; if a sequence is in the way, one after the other, so that each gets its own answer.
    fn append_group(&mut self, core: &mut Core<D>, group: Vec<Incoming>) {
        if group.len() > 1 {
            let batches: Vec<LeaderBatch> = group.iter().map(|incoming| incoming.batch.clone()).collect();
            match self.append_batches(core, &batches) {
                Ok(appended) => return self.answer_group(core, group, appended),
                Err(PartitionError::Append(
                    AppendError::OutOfOrderSequence
                    | AppendError::DuplicateSequence
                    | AppendError::InvalidProducerEpoch
                    | AppendError::TooLarge { .. },
                )) => {}
                Err(error) => {
                    for incoming in group {
                        core.answer(incoming.origin, PartitionAnswer::Failed(error.clone()));
                    }
                    return;
                }
            }
        }
        for incoming in group {
            match self.append_batches(core, std::slice::from_ref(&incoming.batch)) {
                Ok(appended) => self.answer_append(core, &incoming, appended),
                Err(error) => core.answer(incoming.origin, PartitionAnswer::Failed(error)),
            }
        }
    }

    pub(super) fn append_batches(
        &mut self,
        core: &mut Core<D>,
        batches: &[LeaderBatch],
    ) -> Result<Appended, PartitionError> {
        let Role::Leader(leader) = &mut self.role else { return Err(PartitionError::LeadershipLost) };
        let epoch = leader.machine.epoch();
        let appended = match self.log.append(&mut core.disk, core.now, epoch, batches) {
            Err(error) => {
                if matches!(error, AppendError::DiskFull { .. }) {
                    self.resign_for_full_disk(core);
                }
                return Err(PartitionError::Append(error));
            }
            Ok(appended) => appended,
        };
        if !appended.is_duplicate {
            let records: i64 =
                batches.iter().map(|batch| i64::from(batch.produced.header.record_count)).sum();
            core.metrics.records_appended += records.unsigned_abs();
            core.metrics.bytes_appended += batches.iter().map(|batch| batch.bytes.len() as u64).sum::<u64>();
            core.metrics.appends += 1;
            leader.machine.handle_appended(core.now.mono, self.log.offsets().log_end());
        }
        Ok(appended)
    }

    /// Another replica may have room (ADR 0023).
    fn resign_for_full_disk(&mut self, core: &mut Core<D>) {
        let others = core.image.partition(self.id).is_some_and(|partition| partition.isr.len() > 1);
        let Some(leader_epoch) = self.leader_epoch().filter(|_| others && core.now.mono >= self.resign_after)
        else {
            return;
        };
        self.resign_after = core.now.mono.after(RESIGN_AGAIN);
        tracing::warn!(partition = ?self.id, "the disk is full: another replica shall lead");
        core.tell_control(ControlRequest::Resign { partition: self.id, leader_epoch });
    }

    /// The batches of one write follow each other.
    fn answer_group(&mut self, core: &mut Core<D>, group: Vec<Incoming>, appended: Appended) {
        let mut base_offset = appended.base_offset;
        for incoming in group {
            let end_offset = base_offset.plus(i64::from(incoming.batch.produced.header.record_count));
            self.answer_append(core, &incoming, Appended { base_offset, end_offset, ..appended });
            base_offset = end_offset;
        }
    }

    fn answer_append(&mut self, core: &mut Core<D>, incoming: &Incoming, appended: Appended) {
        let produced = Produced {
            base_offset: appended.base_offset,
            log_append_time: appended.log_append_time.unwrap_or(Timestamp::NONE),
            log_start: self.log.offsets().log_start(),
        };
        match &mut self.role {
            // A duplicate waits like a first send (P1); mostly its original is committed already.
            Role::Leader(leader)
                if incoming.acks == Acks::All
                    && appended.end_offset > leader.served_to()
                    && mutated(Mutation::P6, true, !appended.is_duplicate) =>
            {
                leader.park_produce(appended.end_offset, incoming.origin, produced);
                core.metrics.produces_parked += 1;
            }
            Role::Leader(_) | Role::Idle | Role::Follower(_) | Role::Damaged(_) | Role::Closing => {
                core.answer(incoming.origin, PartitionAnswer::Produced(produced));
            }
        }
    }
}

/// Checks a batch, and finds its greatest timestamp where the producer did not say it.
pub(super) fn check_batch<D: Disk>(
    core: &Core<D>,
    bytes: Bytes,
    rules: &ProduceRules,
) -> Result<LeaderBatch, BatchError> {
    let mut produced = batch::validate(&bytes, rules, core.config.crc)?;
    if produced.stamp == Stamp::Walk {
        let records = batch::records_of(&produced.header, &bytes)?;
        let mut buffer = Vec::new();
        let limit = core.config.limits.decompressed_bytes_max;
        let unpacked = batch::decompress(&produced.header, records, core.config.codecs, limit, &mut buffer);
        let unpacked = unpacked.map_err(|_| BatchError::Record(log_core::RecordError::Truncated))?;
        let max_timestamp = batch::max_timestamp_of(&produced.header, unpacked)?;
        rules.check_timestamp(max_timestamp)?;
        produced.stamp = Stamp::CreateTime { max_timestamp };
    }
    Ok(LeaderBatch { bytes, produced })
}
