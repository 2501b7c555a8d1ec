//! What L10 forbids, for builds that break it: a leader that left its epoch pushes on, from a log that another leader cuts
//! and fills meanwhile.

use log_core::mutation::{Mutation, on};
use log_store::{Disk, ReadLimit, ReadOutcome};
use replica_core::{Leader, LeaderAction, PushOrder};

use super::Partition;
use super::leader::{empty_at, push_frame};
use crate::shard::Core;

impl<D: Disk> Partition<D> {
    /// Keeps the machine of an epoch that is over, where that is wanted.
    pub(super) fn keep_old_epoch(&mut self, machine: &Leader) {
        if on(Mutation::L10) {
            self.old_epoch = Some(Box::new(machine.clone()));
        }
    }

    /// Pushes on streams of an epoch that is over; whether there was anything to push.
    pub(super) fn push_from_old_epoch(&mut self, core: &mut Core<D>) -> bool {
        let Some(mut old) = self.old_epoch.take() else { return false };
        old.handle_appended(core.now.mono, self.log.offsets().log_end());
        let mut worked = false;
        while let Some(action) = old.poll_action() {
            if let LeaderAction::Push(order) = action {
                worked = true;
                self.push_old(core, &mut old, order);
            }
        }
        self.old_epoch = Some(old);
        worked
    }

    fn push_old(&mut self, core: &mut Core<D>, old: &mut Leader, order: PushOrder) {
        let from = order.push.base_offset;
        let end = self.log.offsets().log_end();
        let limit = ReadLimit { max_bytes: order.max_bytes as u64, end, at_least_one: true };
        let read = match order.max_bytes {
            0 => empty_at(from),
            _ => match self.log.read(&mut core.disk, from, limit) {
                Ok(ReadOutcome::Ready(read)) => read,
                _ => return old.handle_pushed(core.now.mono, order.stream, from, 0),
            },
        };
        let (next_offset, bytes) = (read.next_offset, usize::try_from(read.bytes).unwrap_or(usize::MAX));
        core.actions.push_back(push_frame(order.stream, order.push, read));
        old.handle_pushed(core.now.mono, order.stream, next_offset, bytes);
    }
}
