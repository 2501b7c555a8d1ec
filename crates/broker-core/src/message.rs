//! What shards and Control say to each other. Calls between shards are in `peer.rs`.
//!
//! A broker's start, in messages: Control replays its copy of the metadata log and sends each shard an
//! [`ShardMessage::Image`]; the shard opens the logs of its partitions and answers [`ControlRequest::Recovered`]; with
//! the reports of all shards Control registers the broker; when its copy applies that registration it sends the new
//! image and then [`ShardMessage::Registered`]. A shard leads and follows nothing before that (L1).
//!
//! Its stop: Control has the leaderships moved away, sends [`ShardMessage::Stop`], and each shard closes its logs and
//! answers [`ControlRequest::Stopped`]; only if all say clean may the clean mark be written (D8).

use core::fmt;
use std::sync::Arc;

use log_core::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, LeaderEpoch, MonoTime, Offset, PartitionEpoch, ProducerId,
    Timestamp, TopicId, TopicPartition,
};
use metadata_core::record::{ShownEnd, TokenHash};
use metadata_core::{ClusterImage, Endpoint, Refusal};

/// From Control to a shard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ShardMessage {
    /// What this broker's copy of the metadata log says now. Sent to every shard after each applied burst, before any
    /// answer that depends on it.
    Image(Arc<ClusterImage>),
    /// The registration of this incarnation is applied: the shard may lead and follow under this broker epoch.
    Registered {
        /// The epoch that the registration gave.
        broker_epoch: BrokerEpoch,
    },
    /// How an administrative command went.
    AdminAnswer {
        /// Names the command.
        id: AdminId,
        /// What came of it.
        result: Result<AdminAnswer, AdminError>,
    },
    /// A hint on an ISR proposal (L6): whatever it says, the change counts when its record is applied.
    IsrAnswer {
        /// The attempt that is answered, as in [`IsrChange::attempt`].
        attempt: IsrAttempt,
        /// What became of it.
        answer: IsrAnswer,
    },
    /// The broker stops: close every log and answer [`ControlRequest::Stopped`].
    Stop,
}

/// From a shard to Control.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlRequest {
    /// All partitions of this shard that the first image names are opened; what was found. Sent once.
    Recovered {
        /// One entry for each partition whose log stood in the directory.
        partitions: Vec<RecoveredPartition>,
    },
    /// An administrative command; answered by [`ShardMessage::AdminAnswer`] once this broker has applied its outcome.
    Admin {
        /// Unique for this shard in this process.
        id: AdminId,
        /// When the client stops waiting; the answer is then [`AdminError::TimedOut`].
        deadline: MonoTime,
        /// What is asked.
        command: AdminCommand,
    },
    /// A leader's change of an ISR.
    Isr(IsrChange),
    /// A leader's own disk is too slow (L5): another replica should lead. It serves on until metadata names one.
    Resign {
        /// The partition.
        partition: TopicPartition,
        /// The leader epoch that it leads under.
        leader_epoch: LeaderEpoch,
    },
    /// A running replica was found damaged (C3).
    ReportFaulty {
        /// The damaged replica's partition.
        partition: TopicPartition,
        /// The partition epoch that the shard has applied.
        partition_epoch: PartitionEpoch,
        /// What was found, for operators.
        fault: Fault,
    },
    /// A faulty replica without a seat has dropped all it had, durably, and begins anew as an empty follower.
    ReplicaReset {
        /// The replica's partition.
        partition: TopicPartition,
        /// The partition epoch that the shard has applied.
        partition_epoch: PartitionEpoch,
    },
    /// Every replica of a deleted topic that this shard held is removed and the removal is durable (C6). Every shard says so
    /// of each topic that the image expects this broker to confirm, also of one of which it held nothing: Control waits
    /// for all shards.
    RemovalConfirmed {
        /// The deleted topic.
        topic_id: TopicId,
    },
    /// All logs are closed.
    Stopped {
        /// Whether each bound equals its appended end and is fsynced.
        clean: bool,
    },
}

/// Names an administrative command of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdminId(pub u64);

/// A partition's log as start-up found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// Its state.
    pub state: RecoveredState,
}

/// What start-up found in one log, for the registration (C3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveredState {
    /// A clean stop went before: nothing was scanned.
    Clean,
    /// The part above the durable bound was scanned and is whole.
    Verified,
    /// Something was cut that may have been committed.
    Suspect {
        /// The last leader epoch kept.
        last_epoch: LeaderEpoch,
        /// The log end kept.
        end: Offset,
    },
    /// Damage below the durable bound; the replica gives up its seat.
    Faulty,
}

/// What made a running replica faulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A batch read from disk fails its checksum or its shape.
    Damaged {
        /// The first offset that cannot be read.
        at: Offset,
    },
    /// The log ends below what is known to be committed.
    Lost,
}

/// A leader's proposal to change its ISR, with everything that C2 checks at apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrChange {
    /// The partition, the leader epoch that it is led under, and which attempt this is.
    pub attempt: IsrAttempt,
    /// The leader's own replica epoch: see [`ClusterImage::replica_epoch`].
    pub broker_epoch: BrokerEpoch,
    /// The partition epoch that it expects; the change is refused under another.
    pub partition_epoch: PartitionEpoch,
    /// The whole new ISR, each member under the replica epoch that the leader knows.
    pub members: Vec<(BrokerId, BrokerEpoch)>,
    /// Who leaves, and whether it may enter the ELR (C4).
    pub leaving: Vec<(BrokerId, LeaveReason)>,
    /// Members that L4 holds for now: suspicion of them ends with this change.
    pub proven: Vec<BrokerId>,
}

/// Names an attempt to change an ISR in its answer. Whoever leads a partition again counts anew, and an answer to what it
/// asked before may still be on its way: the number alone names no attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsrAttempt {
    /// The partition.
    pub partition: TopicPartition,
    /// The leader epoch that the leader leads under.
    pub leader_epoch: LeaderEpoch,
    /// Its number within that epoch; no part of what is proposed.
    pub number: u64,
}

/// Why a member leaves the ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// Its durable end lagged too long: it may enter the ELR.
    Lagging,
    /// Its handshake showed an end below the high watermark (L7): it may not enter the ELR.
    Behind,
}

/// What became of an ISR proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsrAnswer {
    /// Its record is applied here and changed the partition.
    Applied,
    /// Its record is applied here and was refused.
    Refused,
    /// Nobody knows: the proposal or its answer is lost.
    Unknown,
}

/// What an administrator, or this broker on a client's behalf, asks of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdminCommand {
    /// Makes a topic.
    CreateTopic(NewTopic),
    /// Deletes a topic.
    DeleteTopic {
        /// The topic.
        topic_id: TopicId,
    },
    /// Raises a topic's number of partitions.
    AddPartitions {
        /// The topic.
        topic_id: TopicId,
        /// The number afterwards.
        total: i32,
        /// The replicas of each new partition; empty to have them placed.
        assignments: Vec<Vec<BrokerId>>,
        /// Check only.
        validate_only: bool,
    },
    /// Changes configuration keys.
    AlterConfigs {
        /// Whose keys.
        resource: ConfigResource,
        /// Each change.
        changes: Vec<ConfigChange>,
        /// Whether keys that are not named return to their defaults (the older AlterConfigs).
        replace: bool,
        /// Check only.
        validate_only: bool,
    },
    /// Takes a block of producer ids.
    AllocateProducerIds,
    /// Elects a partition's leader.
    ElectLeader {
        /// The partition.
        partition: TopicPartition,
        /// Which leader is wanted.
        election: Election,
    },
    /// Asks how the metadata quorum stands.
    DescribeQuorum,
    /// Removes a broker that will not come back.
    UnregisterBroker {
        /// The broker.
        broker: BrokerId,
    },
    /// Makes a token that lets one broker join.
    CreateJoinToken {
        /// The token's hash; the token itself stays with whoever asked.
        hash: TokenHash,
        /// When it expires.
        expires: Timestamp,
    },
    /// A broker joins with a token.
    Join {
        /// The token's hash.
        hash: TokenHash,
        /// The joining broker's log directory.
        directory: DirectoryId,
        /// The id it asks for; none to be given the next free one.
        broker: Option<BrokerId>,
        /// Where other brokers reach it.
        endpoints: Vec<Endpoint>,
    },
}

/// Which leader is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Election {
    /// The preferred replica, if it is in sync.
    Preferred,
    /// A live replica outside ISR and ELR while nobody leads, which loses records (C5): the one that an operator chose, or,
    /// without a choice, the only one there is.
    Unclean(Option<UncleanChoice>),
}

/// What an operator chose for an unclean election, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncleanChoice {
    /// Who shall lead.
    pub leader: BrokerId,
    /// The leader epoch that the operator saw.
    pub leader_epoch: LeaderEpoch,
    /// The ends that the operator was shown.
    pub shown: Vec<ShownEnd>,
}

/// A topic to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name, not yet checked.
    pub name: String,
    /// The number of partitions; the cluster's default if none.
    pub partitions: Option<i32>,
    /// The number of replicas of each; the cluster's default if none.
    pub replication_factor: Option<i16>,
    /// The replicas of each partition, from partition 0; empty to have them placed.
    pub assignments: Vec<Vec<BrokerId>>,
    /// Configuration keys that differ from the defaults.
    pub configs: Vec<(String, String)>,
    /// Check only.
    pub validate_only: bool,
}

/// Whose configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigResource {
    /// One topic's.
    Topic(TopicId),
    /// The defaults of the whole cluster.
    Cluster,
}

/// One change of a configuration key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The key.
    pub key: String,
    /// What happens to it.
    pub operation: ConfigOperation,
}

/// What happens to a configuration key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigOperation {
    /// It gets this value.
    Set(String),
    /// It returns to its default.
    Delete,
    /// These entries, separated by commas, are added to its list.
    Append(String),
    /// These entries, separated by commas, are removed from its list.
    Subtract(String),
}

/// What came of an administrative command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdminAnswer {
    /// The topic is made and this broker has applied it.
    TopicCreated {
        /// Its id; zero when only checked.
        topic_id: TopicId,
        /// Its number of partitions.
        partitions: i32,
        /// The replicas of each.
        replication_factor: i16,
    },
    /// Done, or found possible.
    Done,
    /// A block of producer ids that nobody else has.
    ProducerIds {
        /// The first.
        first: ProducerId,
        /// How many.
        count: i32,
    },
    /// How the metadata quorum stands.
    Quorum(QuorumDescription),
    /// A broker may join: the quorum takes its directory in as an observer.
    Joined {
        /// The cluster.
        cluster_id: ClusterId,
        /// The id that is set aside for it.
        broker: BrokerId,
    },
}

/// The metadata quorum as seen by one broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumDescription {
    /// The leader, if known.
    pub leader: Option<BrokerId>,
    /// The raft term.
    pub term: i32,
    /// The offset after the last agreed metadata record.
    pub high_watermark: Offset,
    /// Members that vote.
    pub voters: Vec<QuorumMember>,
    /// Members that only follow.
    pub observers: Vec<QuorumMember>,
}

/// A member of the metadata quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuorumMember {
    /// The broker.
    pub broker: BrokerId,
    /// Its log directory.
    pub directory: DirectoryId,
    /// The end of its copy as the leader knows it; none if unknown.
    pub end: Option<Offset>,
}

/// Why an administrative command has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// It was checked and refused; nothing changed.
    #[error("{0}")]
    Refused(Refusal),
    /// The deadline passed; the command may or may not have been carried out.
    #[error("the outcome is unknown: no answer from the controller in time")]
    TimedOut,
    /// There is no controller now; nothing was proposed.
    #[error("no controller is known")]
    NoController,
    /// This broker is stopping; nothing was proposed.
    #[error("this broker is stopping")]
    Stopping,
    /// Several replicas could lead and nobody chose one by their ends; nothing was proposed.
    #[error(
        "{candidates} live replicas could lead, and the one that has most has to be chosen: `highwater topic elect --unclean` shows what each has"
    )]
    EndsUnknown {
        /// How many there are.
        candidates: usize,
    },
}

/// Why a broker ends, as the exit code of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ExitCode {
    /// Asked to, and every log is closed.
    Clean,
    /// A write or a sync of the log directory failed: nothing later in it can be trusted until a new start (D5).
    DirectoryPoisoned,
    /// Another process registered this broker id with another log directory.
    DuplicateBroker,
    /// The broker was removed from the cluster.
    Unregistered,
    /// The log directory belongs to another cluster or broker, or has a newer format.
    ForeignDirectory,
    /// A metadata record is of a kind that this build does not know, or is damaged; or the cluster is at a feature level that it
    /// does not know.
    UnreadableMetadata,
}

impl ExitCode {
    /// The number that the process exits with; it never changes its meaning.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::DirectoryPoisoned => 70,
            Self::DuplicateBroker => 71,
            Self::Unregistered => 72,
            Self::ForeignDirectory => 73,
            Self::UnreadableMetadata => 74,
        }
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clean => "stopped cleanly",
            Self::DirectoryPoisoned => "a write or sync of the log directory failed",
            Self::DuplicateBroker => "another broker has registered with this broker id",
            Self::Unregistered => "this broker was removed from the cluster",
            Self::ForeignDirectory => "the log directory does not belong to this broker",
            Self::UnreadableMetadata => "the metadata cannot be read by this build",
        })
    }
}
