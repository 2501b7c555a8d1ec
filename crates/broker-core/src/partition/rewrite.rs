//! Beginning the groups' log anew, in place of compaction.

use coordinator_core::records::GroupRecord;
use log_store::Disk;

use super::coordinate::Coordination;
use super::{Partition, Role};
use crate::shard::Core;

/// How many times longer than the state the log has to be to begin it anew.
const REWRITE_FACTOR: u64 = 4;
/// Bytes of records of one batch of the state.
const REWRITE_BATCH_BYTES: usize = 512 << 10;

impl<D: Disk> Partition<D> {
    /// Begins the log anew: the whole state is appended, and once that is committed all before it goes. The topic needs
    /// no compaction, and the next coordinator reads little.
    pub(super) fn rewrite_groups(&mut self, core: &mut Core<D>, coordination: &mut Coordination) {
        let state = coordination.groups.snapshot();
        let bytes_of =
            |record: &GroupRecord| record.key.len() + record.value.as_ref().map_or(0, |value| value.len());
        let state_bytes: usize = state.iter().map(bytes_of).sum();
        let worthwhile = (state_bytes as u64).saturating_mul(REWRITE_FACTOR);
        if coordination.bytes < worthwhile {
            coordination.rewrite_at = worthwhile;
            return;
        }
        let start = self.log.offsets().log_end();
        let mut end = start;
        let mut rest = state.into_iter().peekable();
        let mut state_log_bytes = 0;
        while rest.peek().is_some() {
            let (mut bytes, mut records) = (0, Vec::new());
            while let Some(record) =
                rest.next_if(|record| bytes + bytes_of(record) <= REWRITE_BATCH_BYTES || bytes == 0)
            {
                bytes += bytes_of(&record);
                records.push(record);
            }
            match self.append_groups(core, &records) {
                Ok(appended) => {
                    end = appended.end;
                    state_log_bytes += appended.bytes;
                }
                Err(error) => {
                    tracing::warn!(partition = ?self.id, %error, "the groups' log cannot be begun anew now");
                    // Nothing of the old log goes.
                    coordination.bytes += state_log_bytes;
                    coordination.rewrite_at = coordination.rewrite_at.saturating_mul(2);
                    return;
                }
            }
        }
        coordination.bytes = state_log_bytes;
        coordination.rewrite_at = core.config.limits.groups_rewrite_bytes.saturating_add(coordination.bytes);
        if let Role::Leader(leader) = &mut self.role {
            leader.park_new_start(end, start);
        }
    }
}
