//! Why a partition does not do what is asked, and the one place where reasons become the protocol's error codes.
//!
//! Enums of other crates that may grow need a last arm; it is `UNKNOWN_SERVER_ERROR`, which a client reports and does not
//! retry. Enums of this crate have no such arm.

use coordinator_core::GroupError;
use kafka_wire::ErrorCode;
use log_core::mutation::{Mutation, mutated};
use log_core::{BatchError, LeaderEpoch};
use log_store::AppendError;
use metadata_core::Refusal;
use metadata_core::config::InvalidConfig;

use crate::message::AdminError;

/// Why a partition does not do what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// This broker holds no such partition, or not yet.
    #[error("unknown topic or partition")]
    Unknown,
    /// This broker does not lead the partition now.
    #[error("this broker does not lead the partition")]
    NotLeader,
    /// The broker that led until now cannot say whether what was appended is kept.
    #[error("this broker no longer leads the partition; whether the records are kept is not known")]
    LeadershipLost,
    /// The client knows an older leader epoch.
    #[error("leader epoch {asked} is older than the present {present}")]
    FencedLeaderEpoch {
        /// What the client knows.
        asked: LeaderEpoch,
        /// What holds.
        present: LeaderEpoch,
    },
    /// The client knows a newer leader epoch than this broker.
    #[error("leader epoch {asked} is newer than the present {present}")]
    UnknownLeaderEpoch {
        /// What the client knows.
        asked: LeaderEpoch,
        /// What holds.
        present: LeaderEpoch,
    },
    /// Too few replicas are in sync; nothing was appended.
    #[error("{in_sync} replicas are in sync, {required} are required; nothing was appended")]
    NotEnoughReplicas {
        /// Members of the ISR that count.
        in_sync: usize,
        /// The effective min ISR.
        required: usize,
    },
    /// It was not committed in time; it may be yet.
    #[error("not committed in time; the records may still be committed")]
    TimedOut,
    /// The offset lies outside of the log.
    #[error("the offset is outside of the log")]
    OffsetOutOfRange,
    /// The new leader does not know yet what is committed.
    #[error("the latest offset is not known yet")]
    OffsetNotAvailable,
    /// The replica is damaged and serves nothing.
    #[error("the replica is damaged")]
    Damaged,
    /// The disk failed.
    #[error("the disk failed: {0}")]
    Storage(log_store::DiskError),
    /// A batch that breaks a rule; nothing was appended.
    #[error("{0}")]
    Batch(BatchError),
    /// The log refused the append.
    #[error("{0}")]
    Append(AppendError),
    /// No records were given.
    #[error("no records were given")]
    NoRecords,
    /// Clients do not write to the cluster's own topics.
    #[error("clients may not write to the cluster's own topics")]
    InternalTopic,
    /// The topic's policy does not allow it.
    #[error("the topic's cleanup policy does not allow to delete records")]
    Policy,
    /// The groups of this partition are still being read.
    #[error("the coordinator is still reading its groups")]
    CoordinatorLoading,
    /// The broker is stopping.
    #[error("the broker is stopping")]
    Stopping,
}

/// The protocol's code for a partition's refusal.
#[must_use]
pub fn partition_code(error: &PartitionError) -> ErrorCode {
    match error {
        PartitionError::Unknown => ErrorCode::UnknownTopicOrPartition,
        PartitionError::NotLeader | PartitionError::LeadershipLost | PartitionError::Stopping => {
            mutated(Mutation::P3, ErrorCode::NotLeaderOrFollower, ErrorCode::NotEnoughReplicas)
        }
        PartitionError::FencedLeaderEpoch { .. } => ErrorCode::FencedLeaderEpoch,
        PartitionError::UnknownLeaderEpoch { .. } => ErrorCode::UnknownLeaderEpoch,
        PartitionError::NotEnoughReplicas { .. } => ErrorCode::NotEnoughReplicas,
        PartitionError::TimedOut => ErrorCode::RequestTimedOut,
        PartitionError::OffsetOutOfRange => ErrorCode::OffsetOutOfRange,
        PartitionError::OffsetNotAvailable => ErrorCode::OffsetNotAvailable,
        PartitionError::Damaged | PartitionError::Storage(_) => ErrorCode::KafkaStorageError,
        PartitionError::Batch(error) => ErrorCode::from(error.refusal().code()),
        PartitionError::Append(error) => append_code(error),
        PartitionError::NoRecords => ErrorCode::InvalidRecord,
        PartitionError::InternalTopic => ErrorCode::InvalidTopicException,
        PartitionError::Policy => ErrorCode::PolicyViolation,
        PartitionError::CoordinatorLoading => ErrorCode::CoordinatorLoadInProgress,
    }
}

fn append_code(error: &AppendError) -> ErrorCode {
    match error {
        AppendError::OutOfOrderSequence | AppendError::DuplicateSequence => {
            ErrorCode::OutOfOrderSequenceNumber
        }
        AppendError::InvalidProducerEpoch => ErrorCode::InvalidProducerEpoch,
        AppendError::TooLarge { .. } => ErrorCode::RecordListTooLarge,
        AppendError::Empty => ErrorCode::InvalidRecord,
        AppendError::OldEpoch { .. } => ErrorCode::NotLeaderOrFollower,
        AppendError::Damaged { .. } => ErrorCode::CorruptMessage,
        AppendError::Cutting
        | AppendError::Faulty
        | AppendError::Poisoned(_)
        | AppendError::DiskFull { .. }
        | AppendError::Disk(_)
        | AppendError::OffsetsExhausted => ErrorCode::KafkaStorageError,
        _ => ErrorCode::UnknownServerError,
    }
}

/// The protocol's code for a group's refusal.
#[must_use]
pub fn group_code(error: GroupError) -> ErrorCode {
    match error {
        GroupError::InvalidGroupId => ErrorCode::InvalidGroupId,
        GroupError::InvalidRequest => ErrorCode::InvalidRequest,
        GroupError::InvalidSessionTimeout => ErrorCode::InvalidSessionTimeout,
        GroupError::InconsistentProtocol => ErrorCode::InconsistentGroupProtocol,
        GroupError::UnknownMember => ErrorCode::UnknownMemberId,
        GroupError::MemberIdRequired => ErrorCode::MemberIdRequired,
        GroupError::FencedInstance => ErrorCode::FencedInstanceId,
        GroupError::IllegalGeneration => ErrorCode::IllegalGeneration,
        GroupError::RebalanceInProgress => ErrorCode::RebalanceInProgress,
        GroupError::GroupFull => ErrorCode::GroupMaxSizeReached,
        GroupError::NonEmptyGroup => ErrorCode::NonEmptyGroup,
        GroupError::GroupNotFound => ErrorCode::GroupIdNotFound,
        GroupError::SubscribedToTopic => ErrorCode::GroupSubscribedToTopic,
        GroupError::MetadataTooLarge => ErrorCode::OffsetMetadataTooLarge,
        GroupError::NotAvailable | GroupError::TimedOut => ErrorCode::CoordinatorNotAvailable,
        GroupError::NotCoordinator => ErrorCode::NotCoordinator,
        _ => ErrorCode::UnknownServerError,
    }
}

/// The protocol's code for a group request that a partition of `__consumer_offsets` did not take.
#[must_use]
pub fn coordinator_code(error: &PartitionError) -> ErrorCode {
    match error {
        PartitionError::CoordinatorLoading => ErrorCode::CoordinatorLoadInProgress,
        PartitionError::NotLeader | PartitionError::LeadershipLost | PartitionError::Unknown => {
            ErrorCode::NotCoordinator
        }
        PartitionError::FencedLeaderEpoch { .. }
        | PartitionError::UnknownLeaderEpoch { .. }
        | PartitionError::NotEnoughReplicas { .. }
        | PartitionError::TimedOut
        | PartitionError::OffsetOutOfRange
        | PartitionError::OffsetNotAvailable
        | PartitionError::Damaged
        | PartitionError::Storage(_)
        | PartitionError::Batch(_)
        | PartitionError::Append(_)
        | PartitionError::NoRecords
        | PartitionError::InternalTopic
        | PartitionError::Policy
        | PartitionError::Stopping => ErrorCode::CoordinatorNotAvailable,
    }
}

/// The protocol's code for an administrative command that failed.
#[must_use]
pub fn admin_code(error: &AdminError) -> ErrorCode {
    match error {
        AdminError::TimedOut | AdminError::NoController | AdminError::Stopping => ErrorCode::RequestTimedOut,
        AdminError::EndsUnknown { .. } => ErrorCode::EligibleLeadersNotAvailable,
        AdminError::Refused(refusal) => refusal_code(refusal),
    }
}

fn refusal_code(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::UnknownTopicId { .. } => ErrorCode::UnknownTopicId,
        Refusal::UnknownPartition { .. } => ErrorCode::UnknownTopicOrPartition,
        Refusal::TopicExists { .. } => ErrorCode::TopicAlreadyExists,
        Refusal::InvalidTopicName(_) => ErrorCode::InvalidTopicException,
        Refusal::InvalidPartitions { .. } | Refusal::PartitionsNotMore { .. } => ErrorCode::InvalidPartitions,
        Refusal::InvalidReplicationFactor { .. } => ErrorCode::InvalidReplicationFactor,
        Refusal::InvalidAssignment { .. } => ErrorCode::InvalidReplicaAssignment,
        Refusal::InvalidConfig(error) => config_code(error),
        Refusal::ElectionNotNeeded { .. } => ErrorCode::ElectionNotNeeded,
        Refusal::PreferredLeaderNotAvailable { .. } => ErrorCode::PreferredLeaderNotAvailable,
        Refusal::NoEligibleLeader { .. } => ErrorCode::EligibleLeadersNotAvailable,
        Refusal::UnknownBroker { .. } => ErrorCode::BrokerIdNotRegistered,
        Refusal::StaleBrokerEpoch { .. } => ErrorCode::StaleBrokerEpoch,
        Refusal::FencedLeaderEpoch { .. } => ErrorCode::FencedLeaderEpoch,
        Refusal::StalePartitionEpoch { .. } => ErrorCode::InvalidUpdateVersion,
        Refusal::IneligibleReplica { .. } => ErrorCode::IneligibleReplica,
        Refusal::NotLeader { .. } => ErrorCode::NotLeaderOrFollower,
        _ => ErrorCode::InvalidRequest,
    }
}

/// The protocol's code for a configuration key or value that is refused.
#[must_use]
pub const fn config_code(_error: &InvalidConfig) -> ErrorCode {
    ErrorCode::InvalidConfig
}
