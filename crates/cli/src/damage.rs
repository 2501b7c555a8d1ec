//! Replicas that are damaged, as brokers tell it: what a person has to know of them.

use std::collections::BTreeSet;

use highwater_client::{ClusterDescription, PartitionDescription};

/// Where is written what to do about the last replica.
pub(crate) const HELP: &str = "docs/operations.md, \"My only replica is damaged\", tells what to do";

/// The nodes that are there.
pub(crate) fn live(cluster: &ClusterDescription) -> BTreeSet<i32> {
    cluster.brokers.iter().map(|broker| broker.id).collect()
}

/// The replicas that are offline though their nodes are there: damaged, or on a disk that cannot be read.
pub(crate) fn damaged(partition: &PartitionDescription, live: &BTreeSet<i32>) -> Vec<i32> {
    partition.offline.iter().copied().filter(|node| live.contains(node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_replica_whose_node_is_there_is_damaged() {
        let partition = PartitionDescription { offline: vec![1, 3], ..PartitionDescription::default() };
        assert_eq!(damaged(&partition, &BTreeSet::from([1, 2])), [1]);
        assert_eq!(damaged(&partition, &BTreeSet::from([2])), [0; 0]);
    }
}
