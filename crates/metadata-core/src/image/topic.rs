//! Topics, partitions, replicas, and the marks that deleted topics leave.

use std::collections::BTreeSet;
use std::sync::Arc;

use log_core::mutation::{Mutation, mutated};
use log_core::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionEpoch, PartitionIndex, Timestamp, TopicId,
    TopicPartition,
};
use serde::{Deserialize, Serialize};

use super::position;
use crate::config::{ConfigMap, TopicSettings};

/// A topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Its id.
    pub id: TopicId,
    /// Its name.
    pub name: Arc<str>,
    /// The leader epoch that its partitions started with: 0, or one more than a deleted topic of the name had (C6).
    pub first_leader_epoch: LeaderEpoch,
    /// Whether a deleted topic of that name was remembered when this one was made (P2).
    pub name_used_before: bool,
    /// What it is set to.
    pub settings: TopicSettings,
    pub(crate) configs: Arc<ConfigMap>,
    pub(crate) partitions: Vec<Arc<Partition>>,
}

/// A partition as the cluster has agreed on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Its replicas in the order of preference.
    pub replicas: Vec<Replica>,
    /// Who leads; none while it is offline.
    pub leader: Option<BrokerId>,
    /// Grows with each election.
    pub leader_epoch: LeaderEpoch,
    /// Grows with each change of the partition.
    pub partition_epoch: PartitionEpoch,
    /// The in-sync replicas; may be empty (C4).
    pub isr: Vec<BrokerId>,
    /// The eligible leader replicas: those that left the ISR while it was below min ISR.
    pub elr: Vec<BrokerId>,
}

/// A replica of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// The broker that holds it.
    pub broker: BrokerId,
    /// What is known of its bytes.
    pub condition: Condition,
    /// The metadata offset at which it was last emptied while its broker ran; counts like a registration.
    pub reset: Option<BrokerEpoch>,
}

/// What is known of a replica's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// Nothing against it.
    Sound,
    /// Something was cut that may have been committed (C5).
    Suspect {
        /// The last leader epoch kept.
        last_epoch: LeaderEpoch,
        /// The log end kept.
        end: Offset,
    },
    /// Damaged below what is known durable; without a seat until it has been emptied.
    Faulty,
}

/// What a deleted topic leaves behind (C6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedTopic {
    /// Its id.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// The greatest leader epoch of its partitions.
    pub last_leader_epoch: LeaderEpoch,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Brokers that have not confirmed yet that they hold nothing of it.
    pub holders: BTreeSet<BrokerId>,
}

impl Topic {
    /// How many partitions it has.
    #[must_use]
    pub fn partition_count(&self) -> i32 {
        i32::try_from(self.partitions.len()).unwrap_or(i32::MAX)
    }

    /// One of its partitions.
    #[must_use]
    pub fn partition(&self, partition: PartitionIndex) -> Option<&Partition> {
        self.partitions.get(position(partition)?).map(Arc::as_ref)
    }

    /// All its partitions in order.
    pub fn partitions(&self) -> impl Iterator<Item = (TopicPartition, &Partition)> {
        let id = self.id;
        (0..).zip(&self.partitions).map(move |(index, partition)| {
            (TopicPartition { topic_id: id, partition: PartitionIndex(index) }, partition.as_ref())
        })
    }

    /// How many replicas its partitions have; the first partition's number.
    #[must_use]
    pub fn replication_factor(&self) -> i16 {
        let replicas = self.partitions.first().map_or(0, |partition| partition.replicas.len());
        i16::try_from(replicas).unwrap_or(i16::MAX)
    }

    /// The min ISR of one of its partitions: what is set, at most the number of replicas.
    #[must_use]
    pub fn effective_min_isr(&self, partition: &Partition) -> usize {
        effective_min_isr(&self.settings, partition)
    }

    /// Its own configuration values by key.
    pub fn own_configs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.configs.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// Whether it is the cluster's own.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        crate::names::is_internal(&self.name)
    }
}

pub(crate) fn effective_min_isr(settings: &TopicSettings, partition: &Partition) -> usize {
    usize::try_from(settings.min_insync_replicas).unwrap_or(usize::MAX).min(partition.replicas.len())
}

impl Partition {
    /// The replica of a broker.
    #[must_use]
    pub fn replica(&self, broker: BrokerId) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.broker == broker)
    }

    /// Whether a broker is in the ISR or the ELR.
    #[must_use]
    pub fn has_seat(&self, broker: BrokerId) -> bool {
        self.isr.contains(&broker) || self.elr.contains(&broker)
    }

    /// The brokers of the replicas in the order of preference.
    pub fn replica_brokers(&self) -> impl Iterator<Item = BrokerId> {
        self.replicas.iter().map(|replica| replica.broker)
    }

    /// The replica that leads when all is well.
    #[must_use]
    pub fn preferred(&self) -> Option<BrokerId> {
        self.replicas.first().map(|replica| replica.broker)
    }

    /// How many ISR members count towards min ISR: suspect ones do not.
    #[must_use]
    pub fn sound_isr(&self) -> usize {
        self.isr.iter().filter(|broker| mutated(Mutation::C19, !self.is_suspect(**broker), true)).count()
    }

    /// Whether a broker's replica is suspect.
    #[must_use]
    pub fn is_suspect(&self, broker: BrokerId) -> bool {
        self.replica(broker).is_some_and(|replica| matches!(replica.condition, Condition::Suspect { .. }))
    }

    /// Whether a broker's replica is faulty.
    #[must_use]
    pub fn is_faulty(&self, broker: BrokerId) -> bool {
        self.replica(broker).is_some_and(|replica| replica.condition == Condition::Faulty)
    }
}

impl Replica {
    /// A replica of which nothing is known.
    #[must_use]
    pub const fn new(broker: BrokerId) -> Self {
        Self { broker, condition: Condition::Sound, reset: None }
    }

    /// Under which epoch it is known, if its broker is registered under `registered`.
    #[must_use]
    pub fn epoch(&self, registered: BrokerEpoch) -> BrokerEpoch {
        self.reset.map_or(registered, |reset| reset.max(registered))
    }
}
