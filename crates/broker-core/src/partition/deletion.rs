//! Deleting from the front of the log, by retention or because a client asks, and who waits for it.
//!
//! A log start that was raised is told to nobody as a fact before it can no longer go back (L11): a client that asked waits
//! for the low watermark, like a producer for the high watermark, and a consumer below it is not out of range yet.

use std::time::Duration;

use log_core::{LeaderEpoch, MonoTime, Offset};
use log_store::Disk;

use super::{Partition, Role};
use crate::error::PartitionError;
use crate::peer::{Origin, PartitionAnswer};
use crate::shard::Core;

/// How long a leader waits before it looks again where its first batch begins, if no file descriptor was free (a guess).
const FIRST_BATCH_AGAIN: Duration = Duration::from_secs(1);

/// A client that waits until everything below an offset is deleted for good.
#[derive(Debug)]
pub(super) struct Deletion {
    origin: Origin,
    to: Offset,
    /// The client is told by then that nobody knows.
    until: MonoTime,
}

impl<D: Disk> Partition<D> {
    /// Raises the log start; answered at once only if it was raised for good before.
    pub(super) fn take_deletion(&mut self, core: &mut Core<D>, origin: Origin, to: Offset, until: MonoTime) {
        let to = match self.delete_records(core, to) {
            Ok(to) => to,
            Err(error) => return core.answer(origin, PartitionAnswer::Failed(error)),
        };
        let Role::Leader(leader) = &mut self.role else { return };
        let low_watermark = leader.machine.low_watermark();
        if to <= low_watermark {
            return core.answer(origin, PartitionAnswer::RecordsDeleted { low_watermark });
        }
        // Whoever asked was answered meanwhile: those that are left here are no more than ask within their time.
        leader.deletions.retain(|deletion| deletion.until > core.now.mono);
        leader.deletions.push(Deletion { origin, to, until });
    }

    fn delete_records(&mut self, core: &mut Core<D>, to: Offset) -> Result<Offset, PartitionError> {
        self.leading(LeaderEpoch::NONE)?;
        let high_watermark = self.high_watermark();
        self.note_sought();
        let to = if to == Offset(-1) { high_watermark } else { to };
        if to > high_watermark {
            return Err(PartitionError::OffsetOutOfRange);
        }
        if to > self.log.offsets().log_start() {
            self.raise_log_start(core, to);
        }
        Ok(to)
    }

    /// What lies below is deleted for good: those who asked are answered, and those who read there learn it.
    pub(super) fn end_deletions(&mut self, core: &mut Core<D>, low_watermark: Offset) {
        let Role::Leader(leader) = &mut self.role else { return };
        for deletion in leader.deletions.extract_if(.., |deletion| deletion.to <= low_watermark) {
            core.answer(deletion.origin, PartitionAnswer::RecordsDeleted { low_watermark });
        }
        self.wake_watchers(core);
    }

    /// Raises the log start where retention says so; only a leader decides (L9).
    pub(super) fn apply_retention(&mut self, core: &mut Core<D>) {
        if core.now.mono < self.next_retention {
            return;
        }
        self.next_retention = core.now.mono.after(super::open::RETENTION_INTERVAL);
        if let Some(to) = self.log.retention(&mut core.disk, core.now) {
            self.raise_log_start(core, to);
        }
    }

    pub(super) fn raise_log_start(&mut self, core: &mut Core<D>, to: Offset) {
        self.log.advance_log_start(&mut core.disk, core.now, to);
        self.tell_log_start(core);
        self.wake_watchers(core);
    }

    fn tell_log_start(&mut self, core: &mut Core<D>) {
        let first_batch = self.first_batch(core);
        if let Role::Leader(leader) = &mut self.role {
            leader.machine.handle_log_start(core.now.mono, self.log.offsets().log_start(), first_batch);
        }
    }

    /// Where followers begin that have nothing. If no file descriptor is free to look, that is done again later, and no follower
    /// begins until then.
    pub(super) fn first_batch(&mut self, core: &mut Core<D>) -> Option<Offset> {
        let found = self.log.first_batch(&mut core.disk);
        self.first_batch_at = found.is_err().then(|| core.now.mono.after(FIRST_BATCH_AGAIN));
        found.ok()
    }

    /// Looks again where that is due.
    pub(super) fn look_for_first_batch(&mut self, core: &mut Core<D>) {
        if self.first_batch_at.is_some_and(|at| at <= core.now.mono) {
            self.tell_log_start(core);
        }
    }

    pub(super) fn retains(&self) -> bool {
        self.topic.settings.retention_ms.is_some() || self.topic.settings.retention_bytes.is_some()
    }
}

impl Deletion {
    pub(super) fn refuse<D: Disk>(self, core: &mut Core<D>, error: &PartitionError) {
        core.answer(self.origin, PartitionAnswer::Failed(error.clone()));
    }
}
