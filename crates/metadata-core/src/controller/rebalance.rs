//! Leaderships return to preferred replicas, calmly: only after the brokers have been quiet for a while, and only to a
//! replica that is in the ISR.

use log_core::{MonoTime, TopicPartition};

use super::{REBALANCE_BATCH, REBALANCE_CALM};
use crate::image::{ClusterImage, Condition, Partition};
use crate::record::{ElectPreferred, MetadataRecord};

#[derive(Debug)]
pub(super) struct Rebalance {
    due: MonoTime,
}

impl Rebalance {
    pub(super) fn new(now: MonoTime) -> Self {
        Self { due: now.after(REBALANCE_CALM) }
    }

    /// Brokers come or go: the calm begins anew.
    pub(super) fn disturbed(&mut self, now: MonoTime) {
        self.due = now.after(REBALANCE_CALM);
    }

    /// The elections to be proposed now.
    pub(super) fn due(&mut self, now: MonoTime, image: &ClusterImage) -> Option<MetadataRecord> {
        if now < self.due {
            return None;
        }
        self.due = now.after(REBALANCE_CALM);
        let displaced = image.all_partitions().filter(|(_, partition)| is_displaced(image, partition));
        let wanted = displaced.map(|(key, partition)| (key, partition.partition_epoch)).take(REBALANCE_BATCH);
        let partitions: Vec<(TopicPartition, _)> = wanted.collect();
        (!partitions.is_empty()).then_some(MetadataRecord::ElectPreferred(ElectPreferred { partitions }))
    }

    pub(super) const fn poll_timeout(&self) -> MonoTime {
        self.due
    }
}

fn is_displaced(image: &ClusterImage, partition: &Partition) -> bool {
    let Some(preferred) = partition.replicas.first() else { return false };
    partition.leader.is_some()
        && partition.leader != Some(preferred.broker)
        && partition.isr.contains(&preferred.broker)
        && preferred.condition == Condition::Sound
        && image.broker(preferred.broker).is_some_and(|broker| broker.is_active())
}
