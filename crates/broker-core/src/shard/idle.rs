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
        let Some(from) = self.next_idle else {
            return self.hash_first_of((Bound::Unbounded, Bound::Unbounded));
        };
        self.hash_first_of((Bound::Included(from), Bound::Unbounded))
            || self.hash_first_of((Bound::Unbounded, Bound::Excluded(from)))
    }

    /// A step at the first of these partitions that has something to hash; whether one has.
    fn hash_first_of(&mut self, partitions: (Bound<TopicPartition>, Bound<TopicPartition>)) -> bool {
        for (id, partition) in self.partitions.range_mut(partitions) {
            let hashed = partition.hash_step(&mut self.core, STEP_BYTES);
            // Damage that was met ends the role of the replica now, not when a client next asks for it.
            if hashed > 0 || partition.has_news() {
                self.core.metrics.bytes_hashed += hashed;
                self.core.touched.insert(*id);
                self.next_idle = Some(*id);
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
