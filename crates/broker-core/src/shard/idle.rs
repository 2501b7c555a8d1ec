//! What a shard does when nothing else is to do: the hash chain of committed batches. And what it holds, counted.

use std::ops::Bound;

use log_core::{Now, TopicPartition};
use log_store::Disk;

use super::Shard;
use crate::metrics::ShardGauges;

/// Bytes hashed at once: about a third of a millisecond, in which a client may have to wait.
const STEP_BYTES: u64 = 256 << 10;

impl<D: Disk> Shard<D> {
    /// A moment without anything to do: works on for a fraction of a millisecond. Whether there may be more of it; once
    /// there is not, it is worth asking again only after something else happened.
    pub fn handle_idle(&mut self, now: Now) -> bool {
        self.core.now = now;
        let from = self.next_idle.map_or(Bound::Unbounded, Bound::Included);
        let ahead = self.partitions.range((from, Bound::Unbounded)).map(|(id, _)| *id);
        let behind = self.partitions.keys().copied().take_while(|id| Some(*id) < self.next_idle);
        for id in ahead.chain(behind).collect::<Vec<TopicPartition>>() {
            let Some(partition) = self.partitions.get_mut(&id) else { continue };
            let hashed = partition.hash_step(&mut self.core, STEP_BYTES);
            // Damage that was met ends the role of the replica now, not when a client next asks for it.
            if hashed > 0 || partition.has_news() {
                self.core.metrics.bytes_hashed += hashed;
                self.core.touched.insert(id);
                self.next_idle = Some(id);
                return true;
            }
        }
        false
    }

    /// What the shard holds now. Counts every partition: for a scrape, not for each request.
    #[must_use]
    pub fn gauges(&self) -> ShardGauges {
        let mut gauges = ShardGauges {
            connections: self.connections.len() as u64,
            requests_waiting: self.pending.len() as u64,
            ..ShardGauges::default()
        };
        self.partitions.values().for_each(|partition| partition.count(&mut gauges));
        gauges
    }
}
