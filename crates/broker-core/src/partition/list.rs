//! Offsets by time and special ones, and ends of epochs.

use log_core::{LeaderEpoch, Offset, Timestamp};
use log_store::{Disk, Fault, FoundRecord};

use super::read::read_error;
use super::{Partition, Role};
use crate::error::PartitionError;
use crate::peer::{ListOffsetCall, ListedOffset, Origin, PartitionAnswer, WantedOffset};
use crate::shard::Core;

const NOTHING: ListedOffset = ListedOffset {
    offset: Offset(-1),
    timestamp: Timestamp::NONE,
    leader_epoch: LeaderEpoch::NONE,
    damaged: false,
};

impl<D: Disk> Partition<D> {
    pub(super) fn take_list(&mut self, core: &mut Core<D>, origin: Origin, call: ListOffsetCall) {
        let answer = match self.list(core, call) {
            Ok(listed) => PartitionAnswer::OffsetListed(listed),
            Err(error) => PartitionAnswer::Failed(error),
        };
        core.answer(origin, answer);
    }

    fn list(&mut self, core: &mut Core<D>, call: ListOffsetCall) -> Result<ListedOffset, PartitionError> {
        if call.of_replica {
            return self.own_end(call.wanted);
        }
        let latest = self.leading(call.current_leader_epoch)?.latest_offset();
        let (log_start, codecs) = (self.log.offsets().log_start(), core.config.codecs);
        // What is not committed yet is not found.
        let end = self.high_watermark();
        self.note_sought();
        match call.wanted {
            WantedOffset::Latest => {
                latest.map(|offset| self.at(offset)).ok_or(PartitionError::OffsetNotAvailable)
            }
            WantedOffset::Earliest | WantedOffset::EarliestLocal | WantedOffset::EarliestPendingUpload => {
                Ok(self.at(log_start))
            }
            WantedOffset::LatestTiered => Ok(NOTHING),
            WantedOffset::MaxTimestamp => {
                latest.ok_or(PartitionError::OffsetNotAvailable)?;
                let found = self.log.max_timestamp(&mut core.disk, end, codecs).map_err(read_error)?;
                Ok(listed(found))
            }
            WantedOffset::At(timestamp) => {
                let found = self.log.offset_for_timestamp(&mut core.disk, timestamp, end, codecs);
                let found = found.map_err(read_error)?;
                // Committed records that this leader does not know as committed yet may be the answer (R1).
                let none_is_sure = found.is_some() || latest.is_some();
                if none_is_sure { Ok(listed(found)) } else { Err(PartitionError::OffsetNotAvailable) }
            }
        }
    }

    fn at(&self, offset: Offset) -> ListedOffset {
        ListedOffset { offset, leader_epoch: self.epoch_at(offset), ..NOTHING }
    }

    /// What this replica has, led or not, committed or not: for an operator who has to choose between replicas.
    fn own_end(&self, wanted: WantedOffset) -> Result<ListedOffset, PartitionError> {
        let (log_start, log_end) = (self.log.offsets().log_start(), self.log.offsets().log_end());
        let readable = match self.log.fault() {
            None => log_end,
            Some(Fault::BelowBound { at } | Fault::BadBatch { at } | Fault::Unreadable { at, .. }) => {
                at.clamp(log_start, log_end)
            }
            Some(_) => log_start,
        };
        let offset = match wanted {
            WantedOffset::Latest => readable,
            WantedOffset::Earliest | WantedOffset::EarliestLocal => log_start,
            _ => return Err(PartitionError::NotLeader),
        };
        let last = Offset(readable.0.saturating_sub(1));
        let leader_epoch = self.log.epochs().epoch_of(last).unwrap_or(LeaderEpoch::NONE);
        let damaged = matches!(self.role, Role::Damaged(_));
        Ok(ListedOffset { offset, timestamp: Timestamp::NONE, leader_epoch, damaged })
    }

    /// The leader epoch of an offset; for the log end that of the leader.
    fn epoch_at(&self, offset: Offset) -> LeaderEpoch {
        let stored =
            (offset < self.log.offsets().log_end()).then(|| self.log.epochs().epoch_of(offset)).flatten();
        stored.or_else(|| self.leader_epoch()).unwrap_or(LeaderEpoch::NONE)
    }

    /// Where an epoch ended in this leader's log; (−1, −1) if no epoch up to it is known. Whoever knows a newer epoch than
    /// is led here is not told that his log ends earlier: he has read from a later leader.
    pub(super) fn epoch_end(
        &self,
        current: LeaderEpoch,
        epoch: LeaderEpoch,
    ) -> Result<PartitionAnswer<D::File>, PartitionError> {
        let leader = self.leading(current)?;
        let present = leader.epoch();
        if epoch > present {
            return Err(PartitionError::UnknownLeaderEpoch { asked: epoch, present });
        }
        let log_end = self.log.offsets().log_end();
        let found = if epoch == present {
            Some((epoch, log_end))
        } else {
            self.log.epochs().end_offset_for(epoch, log_end)
        };
        let (epoch, end) = found.unwrap_or((LeaderEpoch::NONE, Offset(-1)));
        Ok(PartitionAnswer::EpochEnd { epoch, end })
    }
}

fn listed(found: Option<FoundRecord>) -> ListedOffset {
    found.map_or(NOTHING, |record| ListedOffset {
        offset: record.offset,
        timestamp: record.timestamp,
        leader_epoch: record.leader_epoch,
        damaged: false,
    })
}
