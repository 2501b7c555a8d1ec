//! Metadata records: everything that the brokers of a cluster agree on. Their bytes are in `record/codec.rs`.
//!
//! A record names what it expects (broker epochs, partition epochs); whether that still holds is checked when it is
//! applied, never when it is proposed (C1, C15).

mod browser;
mod codec;
#[cfg(test)]
mod tests;

use log_core::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, Incarnation, LeaderEpoch, MetadataOffset, Offset,
    PartitionEpoch, PartitionIndex, Timestamp, TopicId, TopicPartition,
};
use serde::{Deserialize, Serialize};

pub use browser::{AnnounceBrowserDoor, BrowserCertificate, BrowserDoor};
pub use codec::{
    BROWSER_DOOR_LEVEL, ENTRY_FORMAT, ENTRY_HEADER_LEN, FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN,
    LOG_START_LEVEL, REGISTERED_LIVES_LEVEL, SALVAGE_LEVEL,
};

/// Names a proposal for its origin, which answers its caller when its own copy applies the entry that carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId {
    /// The log directory of the broker that proposed.
    pub origin: DirectoryId,
    /// Grows within that directory, over restarts too.
    pub number: u64,
}

/// One entry of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its position; never part of its bytes.
    pub offset: MetadataOffset,
    /// Who proposed it.
    pub proposal: ProposalId,
    /// The proposer's wall clock. The only time that applying sees; it decides nothing about safety.
    pub time: Timestamp,
    /// What it says.
    pub record: MetadataRecord,
}

/// What an entry of the metadata log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRecord {
    /// The first record of a cluster.
    FormCluster(FormCluster),
    /// A broker has started (C3).
    RegisterBroker(Box<RegisterBroker>),
    /// A broker will not come back: it loses every seat.
    UnregisterBroker(UnregisterBroker),
    /// Sessions have expired (C4); all of one scan together.
    FenceBrokers(FenceBrokers),
    /// A broker has applied its own registration, or is back after a fencing.
    UnfenceBroker(UnfenceBroker),
    /// A broker is about to stop: leaderships and seats move away first.
    BrokerShuttingDown(BrokerShuttingDown),
    /// Makes a topic.
    CreateTopic(CreateTopic),
    /// Deletes a topic; id and last leader epoch stay in the image (C6).
    DeleteTopic(DeleteTopic),
    /// Raises a topic's number of partitions.
    AddPartitions(AddPartitions),
    /// A leader changes its ISR (C2).
    ChangeIsr(ChangeIsr),
    /// A running broker found a replica damaged (C3).
    ReportFaulty(ReportFaulty),
    /// A faulty replica has dropped all it had and begins anew as an empty follower.
    ResetReplica(ResetReplica),
    /// Elects preferred leaders.
    ElectPreferred(ElectPreferred),
    /// Elects a replica outside ISR and ELR: loses records, recorded as such (C5).
    ElectUnclean(ElectUnclean),
    /// Changes configuration keys.
    SetConfigs(SetConfigs),
    /// Takes a block of producer ids.
    AllocateProducerIds(AllocateProducerIds),
    /// A broker has durably removed what it held of deleted topics (C6).
    ConfirmRemoval(ConfirmRemoval),
    /// Drops the marks of deleted topics that need no more (C6).
    ForgetTopics(ForgetTopics),
    /// Raises the cluster's feature level.
    SetFeatureLevel(SetFeatureLevel),
    /// Makes a token that lets one broker join.
    CreateJoinToken(CreateJoinToken),
    /// A broker joins with a token.
    UseJoinToken(UseJoinToken),
    /// Says nothing; shows that the log moves.
    NoOp,
    /// A leader whose own disk is too slow asks for another one (L5).
    ResignLeader(ResignLeader),
    /// A broker says how pages in browsers reach it.
    AnnounceBrowserDoor(AnnounceBrowserDoor),
}

/// See [`MetadataRecord::FormCluster`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormCluster {
    /// The new cluster.
    pub cluster_id: ClusterId,
    /// Its feature level.
    pub feature_level: u16,
    /// Cluster-wide defaults that differ from the built-in ones, by the name a broker's file uses.
    pub configs: Vec<(String, String)>,
}

/// See [`MetadataRecord::RegisterBroker`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterBroker {
    /// The broker.
    pub broker: BrokerId,
    /// Its log directory.
    pub directory: DirectoryId,
    /// Its process start: registrations of one broker are ordered by it.
    pub incarnation: Incarnation,
    /// Where it stands; replicas are spread over racks.
    pub rack: Option<String>,
    /// Where it is reached.
    pub endpoints: Vec<Endpoint>,
    /// How many shards it runs: a partition's shard is a hash modulo this.
    pub shards: u16,
    /// The greatest feature level it knows.
    pub feature_level_max: u16,
    /// What its start found on its disk.
    pub report: DirectoryReport,
}

/// What a broker's start found in its log directory (C3). A partition that is not listed is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryReport {
    /// Whether a clean stop went before. Decides nothing; operators see it.
    pub clean: bool,
    /// Replicas from which something was cut that may have been committed.
    pub suspect: Vec<SuspectReport>,
    /// Replicas damaged below what is known durable.
    pub faulty: Vec<TopicPartition>,
}

/// A replica from which something was cut that may have been committed, and what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspectReport {
    /// The partition.
    pub partition: TopicPartition,
    /// The last leader epoch kept.
    pub last_epoch: LeaderEpoch,
    /// The log end kept.
    pub end: Offset,
}

/// One address under which a broker is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// What listens there.
    pub listener: Listener,
    /// A host name, an IPv4 address or an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// What listens at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Listener {
    /// The Kafka protocol on TCP, plain and TLS.
    Kafka,
    /// The Kafka protocol on QUIC and WebTransport.
    Quic,
    /// HTTP: console, metrics, WebSocket.
    Http,
    /// Other brokers: replication, control, metadata quorum.
    Replica,
}

/// See [`MetadataRecord::UnregisterBroker`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnregisterBroker {
    /// The broker; refused while it lives.
    pub broker: BrokerId,
    /// The registration that is meant; none for whichever it is.
    pub broker_epoch: Option<BrokerEpoch>,
}

/// See [`MetadataRecord::FenceBrokers`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceBrokers {
    /// Each with the registration whose session expired. One that registered since stays.
    pub brokers: Vec<(BrokerId, BrokerEpoch)>,
}

/// See [`MetadataRecord::UnfenceBroker`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfenceBroker {
    /// The broker.
    pub broker: BrokerId,
    /// Its registration, which it has applied.
    pub broker_epoch: BrokerEpoch,
}

/// See [`MetadataRecord::BrokerShuttingDown`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerShuttingDown {
    /// The broker.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
}

/// See [`MetadataRecord::CreateTopic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateTopic {
    /// Its id, chosen at random by the proposer; also the seed of the placement.
    pub topic_id: TopicId,
    /// Its name.
    pub name: String,
    /// How many partitions; the cluster's default if none.
    pub partitions: Option<i32>,
    /// How many replicas each; the cluster's default, or as many as there are brokers if those are fewer, if none.
    pub replication_factor: Option<i16>,
    /// The replicas of each partition in the order of preference; empty to have them placed.
    pub assignment: Vec<Vec<BrokerId>>,
    /// Configuration that differs from the cluster's.
    pub configs: Vec<(String, String)>,
}

/// See [`MetadataRecord::DeleteTopic`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteTopic {
    /// The topic: never its name, which another topic may bear by now.
    pub topic_id: TopicId,
}

/// See [`MetadataRecord::AddPartitions`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddPartitions {
    /// The topic.
    pub topic_id: TopicId,
    /// How many it shall have afterwards.
    pub total: i32,
    /// The replicas of each new partition; empty to have them placed.
    pub assignment: Vec<Vec<BrokerId>>,
}

/// See [`MetadataRecord::ChangeIsr`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeIsr {
    /// The partition.
    pub partition: TopicPartition,
    /// The leader that asks.
    pub leader: BrokerId,
    /// Its replica epoch: see [`ClusterImage::replica_epoch`](crate::ClusterImage::replica_epoch).
    pub leader_broker_epoch: BrokerEpoch,
    /// The leader epoch it leads under.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch it has applied.
    pub partition_epoch: PartitionEpoch,
    /// The whole new ISR, each member under the replica epoch that the leader knows.
    pub isr: Vec<(BrokerId, BrokerEpoch)>,
    /// Members that L4 holds for now: suspicion of them ends.
    pub proven: Vec<BrokerId>,
    /// Those who leave because they were seen behind the high watermark: they do not enter the ELR.
    pub behind: Vec<BrokerId>,
}

/// See [`MetadataRecord::ReportFaulty`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportFaulty {
    /// The broker whose replica is damaged.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
    /// The partition.
    pub partition: TopicPartition,
    /// The partition epoch it has applied.
    pub partition_epoch: PartitionEpoch,
}

/// See [`MetadataRecord::ResetReplica`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetReplica {
    /// The broker whose replica is empty again, durably.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
    /// The partition.
    pub partition: TopicPartition,
    /// The partition epoch it has applied.
    pub partition_epoch: PartitionEpoch,
}

/// See [`MetadataRecord::ElectPreferred`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectPreferred {
    /// The partitions, each with the partition epoch that the proposer saw.
    pub partitions: Vec<(TopicPartition, PartitionEpoch)>,
}

/// See [`MetadataRecord::ElectUnclean`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectUnclean {
    /// The partition; it must have no leader.
    pub partition: TopicPartition,
    /// The partition epoch that the operator saw.
    pub partition_epoch: PartitionEpoch,
    /// Who shall lead; none for the live replica that is thought to have the most.
    pub broker: Option<BrokerId>,
    /// What the operator was shown of each former member, kept with the event.
    pub shown: Vec<ShownEnd>,
}

/// The end of a replica as shown to an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownEnd {
    /// The replica.
    pub broker: BrokerId,
    /// Its last leader epoch; none if unknown.
    pub last_epoch: Option<LeaderEpoch>,
    /// Its log end; none if unknown.
    pub end: Option<Offset>,
}

/// See [`MetadataRecord::SetConfigs`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetConfigs {
    /// Whose configuration.
    pub resource: Resource,
    /// Whether every key that is not named returns to its default first.
    pub replace: bool,
    /// The changes, in order.
    pub changes: Vec<(String, ConfigOp)>,
}

/// Whose configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Resource {
    /// The defaults of the whole cluster.
    Cluster,
    /// One topic's.
    Topic(TopicId),
}

/// A change of one configuration key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfigOp {
    /// Gives it this value.
    Set(String),
    /// Returns it to its default.
    Delete,
    /// Adds these comma-separated entries to its list.
    Append(String),
    /// Removes these comma-separated entries from its list.
    Subtract(String),
}

/// See [`MetadataRecord::AllocateProducerIds`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocateProducerIds {
    /// The broker that will hand them out.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
    /// How many, from 1 to [`PRODUCER_ID_BLOCK_MAX`](crate::image::PRODUCER_ID_BLOCK_MAX).
    pub count: u32,
}

/// See [`MetadataRecord::ConfirmRemoval`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmRemoval {
    /// The broker that holds nothing of them any more.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
    /// The deleted topics.
    pub topics: Vec<TopicId>,
}

/// See [`MetadataRecord::ForgetTopics`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetTopics {
    /// Deleted topics; those that may not be forgotten yet stay.
    pub topics: Vec<TopicId>,
}

/// See [`MetadataRecord::SetFeatureLevel`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetFeatureLevel {
    /// The new level: above the present one and known to every registered broker.
    pub level: u16,
}

/// See [`MetadataRecord::ResignLeader`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResignLeader {
    /// The partition.
    pub partition: TopicPartition,
    /// The leader that asks.
    pub leader: BrokerId,
    /// The leader epoch it leads under.
    pub leader_epoch: LeaderEpoch,
}

/// The BLAKE3 or other 256-bit hash of a join token: the image never holds the token itself.
pub type TokenHash = [u8; 32];

/// See [`MetadataRecord::CreateJoinToken`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateJoinToken {
    /// The token's hash.
    pub hash: TokenHash,
    /// When it expires.
    pub expires: Timestamp,
}

/// See [`MetadataRecord::UseJoinToken`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseJoinToken {
    /// The token's hash.
    pub hash: TokenHash,
    /// The joining broker's log directory.
    pub directory: DirectoryId,
    /// The id it asks for; none to be given the next free one.
    pub broker: Option<BrokerId>,
    /// Where other brokers reach it before it has registered.
    pub endpoints: Vec<Endpoint>,
}

/// A partition by its parts, for callers that hold them apart.
#[must_use]
pub const fn topic_partition(topic_id: TopicId, partition: i32) -> TopicPartition {
    TopicPartition { topic_id, partition: PartitionIndex(partition) }
}
