//! How many connections each shard has, for whoever gives it another one (ADR 0019).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use broker_core::ShardId;

/// A shard takes a connection of another only while it has fewer than so many more (a guess): a partition that everybody uses is
/// not to gather all of them on one thread.
const CONNECTIONS_AHEAD_MAX: usize = 4;

/// The numbers of all shards of a broker; all of them see them.
#[derive(Clone, Debug)]
pub(crate) struct ShardLoads(Arc<[AtomicUsize]>);

impl ShardLoads {
    pub(crate) fn new(shards: u16) -> Self {
        Self((0..shards).map(|_| AtomicUsize::new(0)).collect())
    }

    fn of(&self, shard: ShardId) -> &AtomicUsize {
        self.0.get(usize::from(shard.0)).expect("there is a number for each shard")
    }

    pub(crate) fn opened(&self, at: ShardId) {
        self.of(at).fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn closed(&self, at: ShardId) {
        self.of(at).fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a connection of `from` at `to` from now on, if `to` has not too many: whether it has not.
    pub(crate) fn try_move(&self, from: ShardId, to: ShardId) -> bool {
        let most = self.of(from).load(Ordering::Relaxed) + CONNECTIONS_AHEAD_MAX;
        let one_more = |number: usize| (number < most).then_some(number + 1);
        let moves = self.of(to).fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        if moves {
            self.closed(from);
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_takes_connections_of_another_until_it_has_too_many() {
        let loads = ShardLoads::new(2);
        let (from, to) = (ShardId(0), ShardId(1));
        let numbers = || [from, to].map(|shard| loads.of(shard).load(Ordering::Relaxed));
        (0..CONNECTIONS_AHEAD_MAX).for_each(|_| loads.opened(from));
        while loads.try_move(from, to) {}
        assert_eq!(numbers(), [0, CONNECTIONS_AHEAD_MAX]);
        loads.opened(from);
        loads.opened(to);
        assert!(!loads.try_move(from, to));
        assert_eq!(numbers(), [1, CONNECTIONS_AHEAD_MAX + 1]);
    }
}
