//! Which shard a partition lives on.

use log_core::TopicPartition;

use crate::door::ShardId;

/// The shard of a partition: FNV-1a (64 bits) over the topic id and the partition number, big-endian, modulo the number
/// of shards. Every broker computes it alike, a follower also for its leader, whose number of shards is registered.
///
/// # Panics
/// If there are no shards.
#[must_use]
pub fn shard_of(partition: TopicPartition, shards: u16) -> ShardId {
    let bytes = partition.topic_id.0.into_iter().chain(partition.partition.0.to_be_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let shard = hash.checked_rem(u64::from(shards)).expect("a broker has at least one shard");
    ShardId(u16::try_from(shard).expect("a remainder is below its divisor"))
}

#[cfg(test)]
mod tests {
    use log_core::{PartitionIndex, TopicId};

    use super::*;

    #[test]
    fn the_hash_never_changes() {
        let shard = |topic: u8, partition| {
            let topic_id = TopicId([topic; 16]);
            shard_of(TopicPartition { topic_id, partition: PartitionIndex(partition) }, 1_000).0
        };
        assert_eq!([shard(1, 0), shard(1, 1), shard(2, 0)], [965, 754, 989]);
    }
}
