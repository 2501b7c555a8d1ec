//! What the admin is asked and what it answers, in the words of the user.

use std::sync::Arc;

use log_core::TopicId;

use super::groups::types::{GroupDescription, GroupListing};

/// A topic to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions; none leaves it to the brokers.
    pub partitions: Option<u32>,
    /// How many replicas each partition has; none leaves it to the brokers.
    pub replication: Option<u16>,
    /// Settings that differ from the defaults, by Kafka's names.
    pub configs: Vec<(Arc<str>, Arc<str>)>,
}

impl NewTopic {
    /// A topic of this name with everything else left to the brokers.
    #[must_use]
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), partitions: None, replication: None, configs: Vec::new() }
    }

    /// With this many partitions.
    #[must_use]
    pub const fn partitions(mut self, partitions: u32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// With this many replicas of each partition.
    #[must_use]
    pub const fn replication(mut self, replication: u16) -> Self {
        self.replication = Some(replication);
        self
    }

    /// With this setting, by Kafka's name: `retention.ms`, `min.insync.replicas`, ...
    #[must_use]
    pub fn config(mut self, name: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        self.configs.push((name.into(), value.into()));
        self
    }
}

/// What became of a new topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id; zero if the broker gives none.
    pub id: TopicId,
    /// How many partitions it got; none if the broker does not say.
    pub partitions: Option<u32>,
    /// How many replicas each partition got; none if the broker does not say.
    pub replication: Option<u16>,
}

/// One line of the list of topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicListing {
    /// The name.
    pub name: Arc<str>,
    /// The id; zero if the broker gives none.
    pub id: TopicId,
    /// Whether brokers made it for themselves, as `__consumer_offsets`.
    pub is_internal: bool,
    /// How many partitions it has.
    pub partitions: u32,
    /// The replicas of its first partition.
    pub replication: u16,
}

/// A topic with its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// The name.
    pub name: Arc<str>,
    /// The id; zero if the broker gives none.
    pub id: TopicId,
    /// Whether brokers made it for themselves.
    pub is_internal: bool,
    /// The partitions, in order.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition with its replicas, by broker id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its number in the topic.
    pub partition: u32,
    /// The leader, if there is one.
    pub leader: Option<i32>,
    /// The leader's epoch; −1 if the broker does not say.
    pub leader_epoch: i32,
    /// All replicas; the first one is the preferred leader.
    pub replicas: Vec<i32>,
    /// The replicas that are in sync.
    pub in_sync: Vec<i32>,
    /// The replicas whose brokers are not there, and those that are damaged or on a disk that has failed.
    pub offline: Vec<i32>,
}

/// What a configuration belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic.
    Topic(Arc<str>),
    /// A broker, by id.
    Broker(i32),
}

/// Where a setting's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigSource {
    /// Set on the topic.
    Topic,
    /// Set on the broker or for all brokers while running.
    DynamicBroker,
    /// From the broker's file, flags or environment.
    StaticBroker,
    /// Built in.
    Default,
    /// Something else, by Kafka's number.
    Other(i8),
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Kafka's name of it.
    pub name: Arc<str>,
    /// The value; none if it is secret or not set.
    pub value: Option<Arc<str>>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it cannot be changed while running.
    pub is_read_only: bool,
    /// Whether it is secret.
    pub is_sensitive: bool,
    /// What it is for, if the broker says so.
    pub documentation: Option<Arc<str>>,
}

/// One change of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigChange {
    /// Gives it a value.
    Set(Arc<str>, Arc<str>),
    /// Takes it back to the default.
    Delete(Arc<str>),
}

/// A broker as its cluster announces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerDescription {
    /// Its id.
    pub id: i32,
    /// Where clients reach it.
    pub host: Arc<str>,
    /// The port there.
    pub port: u16,
    /// Its rack, if one is set.
    pub rack: Option<Arc<str>>,
}

/// The cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// Its id, if the broker gives one.
    pub cluster_id: Option<Arc<str>>,
    /// A broker that takes admin requests.
    pub controller: Option<i32>,
    /// The live brokers.
    pub brokers: Vec<BrokerDescription>,
    /// Brokers that belong to the cluster and are not alive; none where the broker asked does not tell (Kafka before 4.0).
    pub fenced: Vec<BrokerDescription>,
}

/// The metadata quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumDescription {
    /// The node that leads it, if one does.
    pub leader: Option<i32>,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// What is committed in the metadata log.
    pub high_watermark: i64,
    /// The nodes that vote.
    pub voters: Vec<QuorumReplica>,
    /// The nodes that only follow.
    pub observers: Vec<QuorumReplica>,
}

/// One node of the metadata quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuorumReplica {
    /// Its id.
    pub id: i32,
    /// Up to where it has the metadata log; −1 if unknown.
    pub log_end_offset: i64,
    /// When it last fetched, in milliseconds since 1970; −1 if unknown.
    pub last_fetch_timestamp: i64,
    /// When it last had everything, in milliseconds since 1970; −1 if unknown.
    pub last_caught_up_timestamp: i64,
}

/// Which offset of a partition is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first offset that is kept.
    Earliest,
    /// The offset of the next committed record.
    Latest,
    /// The offset of the record with the greatest timestamp.
    MaxTimestamp,
    /// The offset of the first record at or after this time, in milliseconds since 1970.
    Timestamp(i64),
}

/// An offset of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The offset; none if no record has such a timestamp.
    pub offset: Option<i64>,
    /// That record's timestamp in milliseconds since 1970, if the offset was asked for by time.
    pub timestamp: Option<i64>,
    /// The leader epoch of that record; −1 if unknown.
    pub leader_epoch: i32,
}

/// A position that a group has committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the record before it; −1 if unknown.
    pub leader_epoch: i32,
}

/// A directory in which a broker keeps replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirDescription {
    /// Its path on the broker's machine.
    pub path: Arc<str>,
    /// Bytes that are free on its disk, if the broker says so.
    pub free_bytes: Option<u64>,
    /// The replicas that were asked for and are there.
    pub replicas: Vec<ReplicaSize>,
}

/// What a replica takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaSize {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// Bytes of its batches.
    pub bytes: u64,
    /// Offsets that its end is behind the high watermark.
    pub lag: u64,
}

/// Which leaders are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Election {
    /// The preferred replicas, where they are in sync.
    Preferred,
    /// Live replicas of partitions that nobody leads, which loses records: those chosen here, and where none is chosen the
    /// only one there is. Kafka's brokers pass over the choices.
    Unclean(Vec<UncleanChoice>),
}

/// Whom to elect where nobody leads, and by what it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncleanChoice {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The partition's leader epoch when the replicas were asked; under another one the choice is refused.
    pub leader_epoch: i32,
    /// The broker that shall lead.
    pub leader: i32,
    /// What the replicas said; kept with the record of the loss.
    pub shown: Vec<ReplicaEnd>,
}

/// The end of one replica of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaEnd {
    /// The broker that holds it.
    pub broker: i32,
    /// The leader epoch of its last record; none if it has none, or did not say.
    pub last_epoch: Option<i32>,
    /// The offset after its last record, committed or not; none if it did not say.
    pub end: Option<i64>,
    /// Whether it is damaged: what can be read of it ends at `end`, or before.
    pub is_damaged: bool,
}

/// What became of one partition's election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectedPartition {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// Whether it has the leader that was wanted.
    pub result: Result<(), crate::ClientError>,
}

/// One thing that the admin is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminCall {
    /// Creates topics, or only checks whether they could be.
    CreateTopics {
        /// The topics.
        topics: Vec<NewTopic>,
        /// Whether nothing is to be created.
        validate_only: bool,
    },
    /// Deletes topics.
    DeleteTopics(Vec<Arc<str>>),
    /// Gives a topic more partitions.
    CreatePartitions {
        /// The topic.
        topic: Arc<str>,
        /// How many it shall have in all.
        total: u32,
    },
    /// Lists all topics.
    ListTopics,
    /// Describes topics.
    DescribeTopics(Vec<Arc<str>>),
    /// Lists all settings of a topic or broker.
    DescribeConfigs(ConfigResource),
    /// Changes some settings of a topic or broker.
    AlterConfigs {
        /// What they belong to.
        resource: ConfigResource,
        /// The changes.
        changes: Vec<ConfigChange>,
    },
    /// Describes the cluster.
    DescribeCluster,
    /// Describes the metadata quorum.
    DescribeQuorum,
    /// Describes the directories of a broker.
    DescribeLogDirs {
        /// The broker.
        broker: i32,
        /// The partitions to tell of, by topic; none for all.
        partitions: Option<Vec<(Arc<str>, Vec<u32>)>>,
    },
    /// Elects leaders.
    ElectLeaders {
        /// Which.
        election: Election,
        /// Of which partitions, by topic; none for all that need it.
        partitions: Option<Vec<(Arc<str>, Vec<u32>)>>,
    },
    /// Asks a broker for the ends of replicas that it holds, led or not.
    ReplicaEnds {
        /// The broker.
        broker: i32,
        /// The topic.
        topic: Arc<str>,
        /// The partitions.
        partitions: Vec<u32>,
    },
    /// Removes a broker that will not come back.
    UnregisterBroker(i32),
    /// Asks for offsets of partitions.
    ListOffsets(Vec<(Arc<str>, u32, OffsetSpec)>),
    /// Lists all groups.
    ListGroups,
    /// Describes a group.
    DescribeGroup(Arc<str>),
    /// Asks for what a group has committed.
    GroupOffsets(Arc<str>),
    /// Commits positions for a group without members.
    SetGroupOffsets {
        /// The group.
        group: Arc<str>,
        /// The positions.
        offsets: Vec<CommittedOffset>,
    },
    /// Deletes positions of a group.
    DeleteGroupOffsets {
        /// The group.
        group: Arc<str>,
        /// Of these partitions.
        partitions: Vec<(Arc<str>, u32)>,
    },
    /// Deletes a group without members, with all that it has committed.
    DeleteGroup(Arc<str>),
}

/// What the admin answers, one variant for each kind of question. Where several things were asked for at once, each
/// has its own result, in the order asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminAnswer {
    /// To [`AdminCall::CreateTopics`].
    Created(Vec<Result<CreatedTopic, crate::ClientError>>),
    /// To [`AdminCall::DeleteTopics`].
    Deleted(Vec<Result<(), crate::ClientError>>),
    /// To [`AdminCall::CreatePartitions`], [`AdminCall::AlterConfigs`], [`AdminCall::UnregisterBroker`] and
    /// [`AdminCall::DeleteGroup`].
    Done,
    /// To [`AdminCall::ListTopics`].
    Topics(Vec<TopicListing>),
    /// To [`AdminCall::DescribeTopics`].
    Described(Vec<Result<TopicDescription, crate::ClientError>>),
    /// To [`AdminCall::DescribeConfigs`].
    Configs(Vec<ConfigEntry>),
    /// To [`AdminCall::DescribeCluster`].
    Cluster(ClusterDescription),
    /// To [`AdminCall::DescribeQuorum`].
    Quorum(QuorumDescription),
    /// To [`AdminCall::DescribeLogDirs`].
    LogDirs(Vec<Result<LogDirDescription, crate::ClientError>>),
    /// To [`AdminCall::ElectLeaders`]: of all partitions named, or of all that needed it.
    Elected(Vec<ElectedPartition>),
    /// To [`AdminCall::ReplicaEnds`].
    ReplicaEnds(Vec<Result<ReplicaEnd, crate::ClientError>>),
    /// To [`AdminCall::ListOffsets`].
    Offsets(Vec<Result<PartitionOffset, crate::ClientError>>),
    /// To [`AdminCall::ListGroups`]: by name.
    Groups(Vec<GroupListing>),
    /// To [`AdminCall::DescribeGroup`].
    Group(GroupDescription),
    /// To [`AdminCall::GroupOffsets`].
    Committed(Vec<CommittedOffset>),
    /// To [`AdminCall::SetGroupOffsets`] and [`AdminCall::DeleteGroupOffsets`].
    GroupOffsetsChanged(Vec<Result<(), crate::ClientError>>),
}
