//! The cluster image: everything that the applied metadata log says, at one offset.
//!
//! A clone is a handful of reference counts: every shard gets its own snapshot and reads it without a lock. Applying a
//! record copies only what it touches (brokers, topics and partitions are shared one by one).

mod broker;
mod event;
mod invariants;
mod snapshot;
#[cfg(test)]
mod tests;
mod topic;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use log_core::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, MetadataOffset, PartitionIndex, TopicId, TopicPartition,
};

pub use broker::{Broker, Standing};
pub use event::{CLUSTER_EVENTS_MAX, ClusterEvent, ClusterEventKind};
pub use snapshot::{SNAPSHOT_FORMAT_MAX, SNAPSHOT_MAGIC};
pub(crate) use topic::effective_min_isr;
pub use topic::{Condition, DeletedTopic, Partition, Replica, Topic};

use crate::config::{ClusterSettings, ConfigEntry, ConfigMap, describe_cluster, describe_topic};
use crate::record::{BrowserDoor, Endpoint, FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN, TokenHash};

/// The most partitions of one topic (a guess that keeps one record's effect within a second).
pub const PARTITIONS_PER_TOPIC_MAX: i32 = 10_000;
/// The most partitions of a cluster (a guess: each costs memory on every broker).
pub const PARTITIONS_MAX: i32 = 200_000;
/// The most replicas of a partition.
pub const REPLICATION_FACTOR_MAX: i16 = 32;
/// The most producer ids given at once.
pub const PRODUCER_ID_BLOCK_MAX: u32 = 10_000;
/// The most join tokens kept at once; expired ones make room.
pub const JOIN_TOKENS_MAX: usize = 1_000;
/// How long a deleted topic's mark is kept at least, in milliseconds (C6).
pub const DELETED_TOPIC_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Everything that the applied metadata log says.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterImage {
    pub(crate) applied: Option<MetadataOffset>,
    pub(crate) cluster_id: Option<ClusterId>,
    pub(crate) feature_level: u16,
    pub(crate) brokers: Arc<BTreeMap<BrokerId, Arc<Broker>>>,
    pub(crate) browser_doors: Arc<BTreeMap<BrokerId, BrowserDoor>>,
    pub(crate) topics: Arc<BTreeMap<TopicId, Arc<Topic>>>,
    pub(crate) names: Arc<BTreeMap<Arc<str>, TopicId>>,
    pub(crate) deleted: Arc<BTreeMap<TopicId, Arc<DeletedTopic>>>,
    pub(crate) configs: Arc<ConfigMap>,
    pub(crate) settings: ClusterSettings,
    pub(crate) tokens: Arc<BTreeMap<TokenHash, JoinToken>>,
    pub(crate) reserved: Arc<BTreeMap<BrokerId, Reservation>>,
    pub(crate) next_producer_id: i64,
    pub(crate) partitions: i32,
    pub(crate) events: Arc<VecDeque<ClusterEvent>>,
}

/// A join token's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct JoinToken {
    /// When it expires, in milliseconds since 1970.
    pub(crate) expires: log_core::Timestamp,
    /// Who used it: the same directory may ask again, since the answer may have been lost.
    pub(crate) used_by: Option<DirectoryId>,
}

/// A broker id that is set aside for a directory which joined with a token and has not registered yet.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reservation {
    /// The directory.
    pub directory: DirectoryId,
    /// Where other brokers reach it.
    pub endpoints: Vec<Endpoint>,
}

impl Default for ClusterImage {
    fn default() -> Self {
        let configs = ConfigMap::new();
        Self {
            applied: None,
            cluster_id: None,
            feature_level: 0,
            brokers: Arc::default(),
            browser_doors: Arc::default(),
            topics: Arc::default(),
            names: Arc::default(),
            deleted: Arc::default(),
            settings: ClusterSettings::resolve(&configs),
            configs: Arc::new(configs),
            tokens: Arc::default(),
            reserved: Arc::default(),
            next_producer_id: 0,
            partitions: 0,
            events: Arc::default(),
        }
    }
}

impl ClusterImage {
    /// The image before the first record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The last offset applied; none before the first.
    #[must_use]
    pub const fn applied(&self) -> Option<MetadataOffset> {
        self.applied
    }

    /// The cluster; none before it is formed.
    #[must_use]
    pub const fn cluster_id(&self) -> Option<ClusterId> {
        self.cluster_id
    }

    /// The cluster's feature level; 0 before it is formed.
    #[must_use]
    pub const fn feature_level(&self) -> u16 {
        self.feature_level
    }

    /// Whether this build knows the cluster's feature level, or there is none yet. If not it must not go on: the next records
    /// may mean something else than it takes them for.
    #[must_use]
    pub fn is_known_level(&self) -> bool {
        self.cluster_id.is_none() || (FEATURE_LEVEL_MIN..=FEATURE_LEVEL_MAX).contains(&self.feature_level)
    }

    /// A registered broker.
    #[must_use]
    pub fn broker(&self, broker: BrokerId) -> Option<&Broker> {
        self.brokers.get(&broker).map(Arc::as_ref)
    }

    /// All registered brokers by id, fenced ones included.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.values().map(Arc::as_ref)
    }

    /// How pages in browsers reach a broker, once it has said so.
    #[must_use]
    pub fn browser_door(&self, broker: BrokerId) -> Option<&BrowserDoor> {
        self.browser_doors.get(&broker)
    }

    /// The broker that is registered from a log directory.
    #[must_use]
    pub fn broker_of_directory(&self, directory: DirectoryId) -> Option<&Broker> {
        self.brokers().find(|broker| broker.directory == directory)
    }

    /// A topic by id.
    #[must_use]
    pub fn topic(&self, topic_id: TopicId) -> Option<&Topic> {
        self.topics.get(&topic_id).map(Arc::as_ref)
    }

    /// A topic by id, to be kept.
    #[must_use]
    pub fn topic_shared(&self, topic_id: TopicId) -> Option<Arc<Topic>> {
        self.topics.get(&topic_id).cloned()
    }

    /// A topic by name.
    #[must_use]
    pub fn topic_by_name(&self, name: &str) -> Option<&Topic> {
        self.names.get(name).and_then(|topic_id| self.topic(*topic_id))
    }

    /// All topics by id.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.values().map(Arc::as_ref)
    }

    /// All topic names in order.
    pub fn topic_names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(Arc::as_ref)
    }

    /// A partition.
    #[must_use]
    pub fn partition(&self, partition: TopicPartition) -> Option<&Partition> {
        self.topic(partition.topic_id)?.partition(partition.partition)
    }

    /// All partitions of all topics.
    pub fn all_partitions(&self) -> impl Iterator<Item = (TopicPartition, &Partition)> {
        self.topics().flat_map(|topic| topic.partitions())
    }

    /// How many partitions all topics have together.
    #[must_use]
    pub const fn partition_count(&self) -> i32 {
        self.partitions
    }

    /// A partition's min ISR: what is set, at most the number of replicas (section 1).
    #[must_use]
    pub fn effective_min_isr(&self, partition: TopicPartition) -> Option<usize> {
        let topic = self.topic(partition.topic_id)?;
        topic.partition(partition.partition).map(|found| topic.effective_min_isr(found))
    }

    /// Under which epoch a replica is known: its broker's registration, or a later point at which the replica was reset.
    /// ISR changes and replication streams name replicas by it, so that nothing said of a replica before it was emptied
    /// counts after.
    #[must_use]
    pub fn replica_epoch(&self, partition: TopicPartition, broker: BrokerId) -> Option<BrokerEpoch> {
        let registered = self.broker(broker)?.epoch;
        let replica = self.partition(partition)?.replica(broker)?;
        Some(replica.epoch(registered))
    }

    /// The mark of a deleted topic.
    #[must_use]
    pub fn deleted_topic(&self, topic_id: TopicId) -> Option<&DeletedTopic> {
        self.deleted.get(&topic_id).map(Arc::as_ref)
    }

    /// All marks of deleted topics.
    pub fn deleted_topics(&self) -> impl Iterator<Item = &DeletedTopic> {
        self.deleted.values().map(Arc::as_ref)
    }

    /// What the cluster is set to.
    #[must_use]
    pub const fn settings(&self) -> &ClusterSettings {
        &self.settings
    }

    /// Every cluster-wide key with its value, as a client is shown it.
    #[must_use]
    pub fn describe_cluster_configs(&self) -> Vec<ConfigEntry> {
        describe_cluster(&self.configs)
    }

    /// Every key of a topic with its value, as a client is shown it; none if there is no such topic.
    #[must_use]
    pub fn describe_topic_configs(&self, topic_id: TopicId) -> Option<Vec<ConfigEntry>> {
        self.topic(topic_id).map(|topic| describe_topic(&topic.configs, &self.configs))
    }

    /// What operators should have seen, the oldest first; at most [`CLUSTER_EVENTS_MAX`].
    pub fn events(&self) -> impl Iterator<Item = &ClusterEvent> {
        self.events.iter()
    }

    /// Whether a partition is fully served: it has a leader.
    #[must_use]
    pub fn is_offline(&self, partition: TopicPartition) -> bool {
        self.partition(partition).is_some_and(|found| found.leader.is_none())
    }

    /// The partitions of which a broker holds a replica.
    pub fn partitions_of(&self, broker: BrokerId) -> impl Iterator<Item = (TopicPartition, &Partition)> {
        self.all_partitions().filter(move |(_, partition)| partition.replica(broker).is_some())
    }

    /// Deleted topics whose removal a broker has not confirmed yet.
    pub fn removals_of(&self, broker: BrokerId) -> impl Iterator<Item = TopicId> {
        self.deleted_topics().filter(move |topic| topic.holders.contains(&broker)).map(|topic| topic.id)
    }

    /// Brokers that have joined and not registered yet.
    pub fn reservations(&self) -> impl Iterator<Item = (BrokerId, &Reservation)> {
        self.reserved.iter().map(|(broker, reservation)| (*broker, reservation))
    }

    /// Racks in use.
    #[must_use]
    pub fn racks(&self) -> BTreeSet<&str> {
        self.brokers().filter_map(|broker| broker.rack.as_deref()).collect()
    }
}

/// A topic's partition by number, from 0; none if negative or beyond.
pub(crate) fn position(partition: PartitionIndex) -> Option<usize> {
    usize::try_from(partition.0).ok()
}
