//! Reads above the log end. A leader whose metadata is late may have been replaced, and a consumer may have read from its
//! successor what is above the end here: told that its position is out of range, it would lose it. So such a read waits
//! for proof that this replica still leads (R1); who names the leader epoch is refused before, but not everyone that knows
//! a position knows of which epoch it is.

use std::time::Duration;

use log_core::MonoTime;
use log_store::Disk;
use replica_core::ReadBound;

use super::{Partition, Role};
use crate::error::PartitionError;
use crate::peer::{FetchCall, Origin, PartitionAnswer};
use crate::shard::Core;

/// How long a read waits for the proof: one that is asked for anew after a refusal has time to be agreed. A guess.
const PATIENCE: Duration = Duration::from_secs(3);

/// A read above the end.
#[derive(Debug)]
pub(super) struct Doubt {
    origin: Origin,
    call: FetchCall,
    /// The first attempt whose success proves that nobody else led when it came.
    proven_by: u64,
    until: MonoTime,
}

impl<D: Disk> Partition<D> {
    /// Makes a read wait that is above the end; whether it does.
    pub(super) fn doubt_if_beyond(&mut self, core: &Core<D>, origin: Origin, call: FetchCall) -> bool {
        let Role::Leader(leader) = &mut self.role else { return false };
        if leader.machine.read_bound(call.offset) != ReadBound::Beyond {
            return false;
        }
        let now = core.now.mono;
        let proven_by = leader.machine.confirm(now);
        leader.doubts.push(Doubt { origin, call, proven_by, until: now.after(PATIENCE) });
        true
    }

    /// This replica led when that attempt was applied: what came before it and is above the end still is out of range.
    pub(super) fn end_doubts(&mut self, core: &mut Core<D>, attempt: u64) {
        for doubt in self.take_doubts(|doubt| doubt.proven_by <= attempt) {
            let (origin, call) = (doubt.origin, doubt.call);
            let Role::Leader(leader) = &self.role else { return };
            if leader.machine.read_bound(call.offset) == ReadBound::Beyond {
                core.answer(origin, PartitionAnswer::Failed(PartitionError::OffsetOutOfRange));
            } else {
                self.take_fetch(core, origin, call);
            }
        }
    }

    /// Whoever has waited too long is told nothing for sure.
    pub(super) fn expire_doubts(&mut self, core: &mut Core<D>) {
        let now = core.now.mono;
        for doubt in self.take_doubts(|doubt| doubt.until <= now) {
            core.answer(doubt.origin, PartitionAnswer::Failed(PartitionError::OffsetNotAvailable));
        }
    }

    fn take_doubts(&mut self, which: impl Fn(&Doubt) -> bool) -> Vec<Doubt> {
        let Role::Leader(leader) = &mut self.role else { return Vec::new() };
        leader.doubts.extract_if(.., |doubt| which(doubt)).collect()
    }
}

impl Doubt {
    pub(super) const fn until(&self) -> MonoTime {
        self.until
    }

    pub(super) fn refuse<D: Disk>(self, core: &mut Core<D>, error: &PartitionError) {
        core.answer(self.origin, PartitionAnswer::Failed(error.clone()));
    }
}
