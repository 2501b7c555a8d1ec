//! Why bytes are not understood, and why a record changes nothing when it is applied.
//!
//! A [`Refusal`] is an answer to a client or a broker; the mapping to the protocol's error codes is `broker-core`'s.

use log_core::{
    BrokerEpoch, BrokerId, Incarnation, LeaderEpoch, PartitionEpoch, PartitionIndex, Timestamp, TopicId,
    TopicPartition,
};

use crate::record::{FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN};

/// Why bytes are no entry or no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Fewer bytes than a header takes.
    #[error("{len} bytes are too few")]
    Short {
        /// How many there are.
        len: usize,
    },
    /// The first byte or the magic is none that this build knows.
    #[error("format {found} is not known")]
    Format {
        /// What stands there.
        found: u8,
    },
    /// A kind of record that this build does not know.
    #[error("record kind {kind} is not known: this build is older than the cluster's feature level")]
    UnknownKind {
        /// The kind's number.
        kind: u8,
    },
    /// A version of a record that this build does not know.
    #[error(
        "version {version} of record kind {kind} is not known: this build is older than the cluster's feature level"
    )]
    UnknownVersion {
        /// The kind's number.
        kind: u8,
        /// The version.
        version: u8,
    },
    /// The fields do not make a record of that kind.
    #[error("the fields of record kind {kind} are malformed")]
    Fields {
        /// The kind's number.
        kind: u8,
    },
    /// Bytes follow the fields.
    #[error("{len} bytes follow the fields of record kind {kind}")]
    Trailing {
        /// The kind's number.
        kind: u8,
        /// How many bytes.
        len: usize,
    },
    /// An image's checksum does not match.
    #[error("checksum is {found:08x}, expected {expected:08x}")]
    Checksum {
        /// What the bytes sum to.
        found: u32,
        /// What the header says.
        expected: u32,
    },
    /// An image of a cluster whose feature level this build does not know.
    #[error(
        "the cluster's feature level is {found}; this build knows {FEATURE_LEVEL_MIN} to {FEATURE_LEVEL_MAX}"
    )]
    Level {
        /// The cluster's.
        found: u16,
    },
    /// An image's content is malformed or breaks a law of the image.
    #[error("the content of a metadata image is malformed")]
    Image,
    /// A frame between brokers is malformed.
    #[error("a control frame is malformed")]
    Frame,
}

/// Why a broker may not be in an ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// It is no replica of the partition.
    #[error("is no replica")]
    NoReplica,
    /// It is named under another registration than its current one.
    #[error("is registered anew")]
    StaleEpoch,
    /// It is fenced.
    #[error("is fenced")]
    Fenced,
    /// It is about to stop.
    #[error("is shutting down")]
    ShuttingDown,
    /// Its replica is damaged.
    #[error("has a faulty replica")]
    Faulty,
}

/// Why an applied record changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A record other than the first forms a cluster.
    #[error("the cluster is formed already")]
    AlreadyFormed,
    /// A record before the first.
    #[error("the cluster is not formed yet")]
    NotFormed,
    /// The record's version is above the cluster's feature level.
    #[error("needs feature level {required}, the cluster has {level}")]
    FeatureLevel {
        /// What the record needs.
        required: u16,
        /// What the cluster has.
        level: u16,
    },
    /// A feature level that goes back, or that a registered broker does not know.
    #[error("feature level {asked} is not above {level} or not known to broker {broker}")]
    FeatureLevelRefused {
        /// The level asked for.
        asked: u16,
        /// The level now.
        level: u16,
        /// A broker that does not know it, or the one that asked.
        broker: BrokerId,
    },
    /// No such broker is registered.
    #[error("broker {broker} is not registered")]
    UnknownBroker {
        /// The broker.
        broker: BrokerId,
    },
    /// The record names another registration of the broker than the current one.
    #[error("broker {broker} is registered under epoch {current}, not {named}")]
    StaleBrokerEpoch {
        /// The broker.
        broker: BrokerId,
        /// The epoch named.
        named: BrokerEpoch,
        /// The current epoch.
        current: BrokerEpoch,
    },
    /// A live broker of that id with another directory exists.
    #[error("broker {broker} is registered from another directory and lives")]
    DuplicateBroker {
        /// The broker.
        broker: BrokerId,
    },
    /// The id is set aside for another directory, which joined with a token.
    #[error("broker id {broker} is reserved for another directory")]
    ReservedBroker {
        /// The broker.
        broker: BrokerId,
    },
    /// A later start of that broker has registered.
    #[error("broker {broker} has registered a later start ({current})")]
    StaleIncarnation {
        /// The broker.
        broker: BrokerId,
        /// The incarnation registered.
        current: Incarnation,
    },
    /// Broker ids start at 0.
    #[error("broker id {broker} is negative")]
    InvalidBrokerId {
        /// The broker.
        broker: BrokerId,
    },
    /// The broker lives.
    #[error("broker {broker} is running: stop it before it is removed")]
    BrokerLives {
        /// The broker.
        broker: BrokerId,
    },
    /// The broker is not in the state that the record changes.
    #[error("broker {broker} is in that state already")]
    BrokerStands {
        /// The broker.
        broker: BrokerId,
    },
    /// The broker is about to stop and has to register anew.
    #[error("broker {broker} is shutting down")]
    BrokerShuttingDown {
        /// The broker.
        broker: BrokerId,
    },
    /// No topic of that id.
    #[error("topic id {topic_id} does not exist")]
    UnknownTopicId {
        /// The topic.
        topic_id: TopicId,
    },
    /// No such partition.
    #[error("partition {partition} of topic id {topic_id} does not exist")]
    UnknownPartition {
        /// The topic.
        topic_id: TopicId,
        /// The partition.
        partition: PartitionIndex,
    },
    /// The topic's name is taken.
    #[error("topic {name} exists")]
    TopicExists {
        /// The name.
        name: String,
    },
    /// The topic's id is taken; the proposer draws another.
    #[error("topic id {topic_id} is used")]
    TopicIdUsed {
        /// The id.
        topic_id: TopicId,
    },
    /// The name cannot be a topic's.
    #[error("not a topic name: {0}")]
    InvalidTopicName(#[from] crate::names::InvalidName),
    /// A number of partitions out of range.
    #[error("{asked} partitions: a topic has 1 to {max}, and the cluster has room for {room} more")]
    InvalidPartitions {
        /// The number asked for.
        asked: i32,
        /// The most for one topic.
        max: i32,
        /// How many more the cluster takes.
        room: i32,
    },
    /// The number of partitions can only grow.
    #[error("the topic has {present} partitions; {asked} are not more")]
    PartitionsNotMore {
        /// The number asked for.
        asked: i32,
        /// The number now.
        present: i32,
    },
    /// A replication factor out of range.
    #[error("replication factor {asked}: it must be 1 to {available}, the number of live brokers")]
    InvalidReplicationFactor {
        /// The factor asked for.
        asked: i16,
        /// How many brokers can take a replica.
        available: i16,
    },
    /// A list of replicas that is empty, names a broker twice, an unknown one, or only dead ones.
    #[error(
        "the replicas of partition {partition} are not a list of known brokers, one of them live, equally long for all"
    )]
    InvalidAssignment {
        /// The partition.
        partition: PartitionIndex,
    },
    /// A configuration key or value that is refused.
    #[error("{0}")]
    InvalidConfig(#[from] crate::config::InvalidConfig),
    /// The broker does not lead the partition.
    #[error("broker {broker} does not lead the partition")]
    NotLeader {
        /// The broker.
        broker: BrokerId,
    },
    /// The leader epoch is not the current one.
    #[error("leader epoch is {current}, not {named}")]
    FencedLeaderEpoch {
        /// The epoch named.
        named: LeaderEpoch,
        /// The current epoch.
        current: LeaderEpoch,
    },
    /// The partition has changed since.
    #[error("partition epoch is {current}, not {named}")]
    StalePartitionEpoch {
        /// The epoch named.
        named: PartitionEpoch,
        /// The current epoch.
        current: PartitionEpoch,
    },
    /// A member that may not be in the ISR.
    #[error("broker {broker} {why}")]
    IneligibleReplica {
        /// The broker.
        broker: BrokerId,
        /// Why.
        why: Ineligible,
    },
    /// A list of members that is no ISR: empty, without the leader, with a double.
    #[error("not an ISR: it must name the leader, and each member once")]
    InvalidIsr,
    /// The replica has a seat in the ISR or ELR, or is not faulty.
    #[error("the replica of broker {broker} is not faulty, or still has a seat")]
    NotResettable {
        /// The broker.
        broker: BrokerId,
    },
    /// The replica is faulty already.
    #[error("the replica of broker {broker} is faulty already")]
    FaultyAlready {
        /// The broker.
        broker: BrokerId,
    },
    /// The partition has that leader, or any leader, already.
    #[error("an election is not needed")]
    ElectionNotNeeded {
        /// The partition.
        partition: TopicPartition,
    },
    /// The preferred leader is not in the ISR, not live, or suspect.
    #[error("the preferred leader is not available")]
    PreferredLeaderNotAvailable {
        /// The partition.
        partition: TopicPartition,
    },
    /// No live replica can be elected.
    #[error("no live replica can be elected")]
    NoEligibleLeader {
        /// The partition.
        partition: TopicPartition,
    },
    /// A number of producer ids out of range, or none left.
    #[error("a block of {count} producer ids cannot be given")]
    InvalidProducerIds {
        /// How many were asked for.
        count: u32,
    },
    /// The join token is not known, was used by another directory or is dropped.
    #[error("the join token is not known or was used: make a new one with `highwater cluster token`")]
    UnknownToken,
    /// The join token has expired.
    #[error("the join token has expired (at {expires:?} ms): make a new one with `highwater cluster token`")]
    TokenExpired {
        /// When.
        expires: Timestamp,
    },
    /// A token with that hash exists, expires in the past, or there are too many.
    #[error("the join token cannot be kept: it exists, has expired, or there are too many")]
    TokenRefused,
}
