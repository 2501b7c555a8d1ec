//! The laws of an image, checked after each applied record in debug builds, by tests, and before a snapshot is used.

use std::collections::BTreeSet;

use log_core::{BrokerId, TopicPartition};

use super::{ClusterImage, Partition, Standing, Topic};

/// A law of the image that does not hold; a fault of `apply`, or of a snapshot's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenLaw {
    /// ISR and ELR hold replicas only, each once, none in both.
    #[error("ISR and ELR of {0:?} are not disjoint sets of replicas")]
    Seats(TopicPartition),
    /// A fenced or stopping broker is in no ISR.
    #[error("a fenced broker is in the ISR of {0:?}")]
    FencedInIsr(TopicPartition),
    /// A faulty replica has no seat.
    #[error("a faulty replica of {0:?} has a seat")]
    FaultySeat(TopicPartition),
    /// While the ISR has min ISR sound members, the ELR is empty.
    #[error("the ELR of {0:?} is not empty although the ISR has min ISR members")]
    ElrKept(TopicPartition),
    /// The leader is an active member of the ISR.
    #[error("the leader of {0:?} is not an active member of its ISR")]
    Leader(TopicPartition),
    /// Names and topics match one to one, and a live topic is not marked as deleted.
    #[error("topic names and topics do not match")]
    Names,
}

impl ClusterImage {
    /// The first law that does not hold; none in a sound image.
    #[must_use]
    pub fn broken_law(&self) -> Option<BrokenLaw> {
        let names_match = self.names.len() == self.topics.len()
            && self.topics().all(|topic| self.names.get(&topic.name) == Some(&topic.id))
            && self.deleted.keys().all(|topic_id| !self.topics.contains_key(topic_id));
        if !names_match {
            return Some(BrokenLaw::Names);
        }
        self.topics()
            .find_map(|topic| topic.partitions().find_map(|(key, found)| self.broken_in(topic, key, found)))
    }

    /// The first law that does not hold for one partition.
    pub(crate) fn broken_in(
        &self,
        topic: &Topic,
        key: TopicPartition,
        found: &Partition,
    ) -> Option<BrokenLaw> {
        let replicas: BTreeSet<BrokerId> = found.replica_brokers().collect();
        let seats: BTreeSet<BrokerId> = found.isr.iter().chain(&found.elr).copied().collect();
        let standing = |broker: &BrokerId| self.broker(*broker).map(|broker| broker.standing);
        if replicas.len() != found.replicas.len()
            || seats.len() != found.isr.len() + found.elr.len()
            || !seats.is_subset(&replicas)
        {
            return Some(BrokenLaw::Seats(key));
        }
        let lives = |broker| matches!(standing(broker), Some(Standing::Active | Standing::Registered));
        if !found.isr.iter().all(lives) {
            return Some(BrokenLaw::FencedInIsr(key));
        }
        if seats.iter().any(|broker| found.is_faulty(*broker)) {
            return Some(BrokenLaw::FaultySeat(key));
        }
        if !found.elr.is_empty() && found.sound_isr() >= topic.effective_min_isr(found) {
            return Some(BrokenLaw::ElrKept(key));
        }
        let leads =
            |broker: &BrokerId| found.isr.contains(broker) && standing(broker) == Some(Standing::Active);
        if !found.leader.as_ref().is_none_or(leads) {
            return Some(BrokenLaw::Leader(key));
        }
        None
    }
}
