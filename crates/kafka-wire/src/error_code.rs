//! The protocol's error codes, with what a client may do about them.

use core::fmt;

macro_rules! error_codes {
    ($($code:literal $variant:ident $name:literal $action:ident $doc:literal,)*) => {
        /// What became of a request or of one part of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(#[doc = $doc] $variant,)*
            /// A code that this version of the protocol does not know.
            Unknown(i16),
        }

        impl ErrorCode {
            /// Every known code, in ascending order.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),*];

            /// The number on the wire.
            pub const fn code(self) -> i16 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Unknown(code) => code,
                }
            }

            /// The protocol's name of the error, in capitals.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Unknown(_) => "UNKNOWN",
                }
            }

            /// What the error means, as a sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $doc,)*
                    Self::Unknown(_) => "A code that this version of the protocol does not know.",
                }
            }

            const fn action(self) -> Action {
                match self {
                    $(Self::$variant => Action::$action,)*
                    Self::Unknown(_) => Action::Fail,
                }
            }
        }

        impl From<i16> for ErrorCode {
            fn from(code: i16) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    code => Self::Unknown(code),
                }
            }
        }
    };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Fail,
    Retry,
    /// Retry after asking for metadata (or for the coordinator) again.
    Refresh,
}

impl ErrorCode {
    /// Whether there is no error.
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether the same request may succeed later.
    pub const fn is_retriable(self) -> bool {
        !matches!(self.action(), Action::Fail)
    }

    /// Whether the client's view of the cluster is out of date: ask for metadata, or for the coordinator, before trying
    /// again.
    pub const fn asks_for_refresh(self) -> bool {
        matches!(self.action(), Action::Refresh)
    }
}

#[expect(clippy::derivable_impls, reason = "the macro cannot mark one of its variants")]
impl Default for ErrorCode {
    fn default() -> Self {
        Self::None
    }
}

/// The name and the number: `NOT_LEADER_OR_FOLLOWER (6)`.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.code())
    }
}

#[rustfmt::skip]
error_codes! {
    -1 UnknownServerError "UNKNOWN_SERVER_ERROR" Fail "The broker failed in a way that has no code of its own.",
    0 None "NONE" Fail "No error.",
    1 OffsetOutOfRange "OFFSET_OUT_OF_RANGE" Fail "The offset is outside of what the partition holds.",
    2 CorruptMessage "CORRUPT_MESSAGE" Retry "A checksum or a length in the records is wrong.",
    3 UnknownTopicOrPartition "UNKNOWN_TOPIC_OR_PARTITION" Refresh "The broker does not know the topic or partition, or not yet.",
    4 InvalidFetchSize "INVALID_FETCH_SIZE" Fail "The size asked for is not possible.",
    5 LeaderNotAvailable "LEADER_NOT_AVAILABLE" Refresh "The partition has no leader at the moment.",
    6 NotLeaderOrFollower "NOT_LEADER_OR_FOLLOWER" Refresh "The broker does not lead the partition, or does not replicate it.",
    7 RequestTimedOut "REQUEST_TIMED_OUT" Retry "The time given with the request passed before it could be met; whether it took effect is not known.",
    8 BrokerNotAvailable "BROKER_NOT_AVAILABLE" Fail "The broker is not there.",
    9 ReplicaNotAvailable "REPLICA_NOT_AVAILABLE" Refresh "The replica is not there at the moment.",
    10 MessageTooLarge "MESSAGE_TOO_LARGE" Fail "A record batch is over the size limit of the topic.",
    11 StaleControllerEpoch "STALE_CONTROLLER_EPOCH" Fail "The controller's epoch is old.",
    12 OffsetMetadataTooLarge "OFFSET_METADATA_TOO_LARGE" Fail "The text committed with an offset is too long.",
    13 NetworkException "NETWORK_EXCEPTION" Refresh "The connection was lost before the answer came.",
    14 CoordinatorLoadInProgress "COORDINATOR_LOAD_IN_PROGRESS" Retry "The coordinator is still reading its state.",
    15 CoordinatorNotAvailable "COORDINATOR_NOT_AVAILABLE" Refresh "There is no coordinator at the moment.",
    16 NotCoordinator "NOT_COORDINATOR" Refresh "The broker does not coordinate this group or transaction.",
    17 InvalidTopicException "INVALID_TOPIC_EXCEPTION" Fail "The topic name is not allowed, or the topic may not be written to.",
    18 RecordListTooLarge "RECORD_LIST_TOO_LARGE" Fail "The records are longer than a segment may be.",
    19 NotEnoughReplicas "NOT_ENOUGH_REPLICAS" Retry "Fewer replicas are in sync than the topic requires; nothing was appended.",
    20 NotEnoughReplicasAfterAppend "NOT_ENOUGH_REPLICAS_AFTER_APPEND" Retry "The records were appended, then fewer replicas were in sync than the topic requires.",
    21 InvalidRequiredAcks "INVALID_REQUIRED_ACKS" Fail "The required acknowledgements are not 0, 1 or all.",
    22 IllegalGeneration "ILLEGAL_GENERATION" Fail "The generation is not the group's current one.",
    23 InconsistentGroupProtocol "INCONSISTENT_GROUP_PROTOCOL" Fail "The member shares no protocol with the group.",
    24 InvalidGroupId "INVALID_GROUP_ID" Fail "The group id is not allowed.",
    25 UnknownMemberId "UNKNOWN_MEMBER_ID" Fail "The group does not know the member.",
    26 InvalidSessionTimeout "INVALID_SESSION_TIMEOUT" Fail "The session timeout is outside of what the broker allows.",
    27 RebalanceInProgress "REBALANCE_IN_PROGRESS" Fail "The group is rebalancing: join again.",
    28 InvalidCommitOffsetSize "INVALID_COMMIT_OFFSET_SIZE" Fail "The committed offset is too large to store.",
    29 TopicAuthorizationFailed "TOPIC_AUTHORIZATION_FAILED" Fail "No right to this topic.",
    30 GroupAuthorizationFailed "GROUP_AUTHORIZATION_FAILED" Fail "No right to this group.",
    31 ClusterAuthorizationFailed "CLUSTER_AUTHORIZATION_FAILED" Fail "No right to this on the cluster.",
    32 InvalidTimestamp "INVALID_TIMESTAMP" Fail "A record's timestamp is outside of what the topic allows.",
    33 UnsupportedSaslMechanism "UNSUPPORTED_SASL_MECHANISM" Fail "The SASL mechanism is not offered.",
    34 IllegalSaslState "ILLEGAL_SASL_STATE" Fail "The request does not fit the state of authentication.",
    35 UnsupportedVersion "UNSUPPORTED_VERSION" Fail "The version of the request is not supported.",
    36 TopicAlreadyExists "TOPIC_ALREADY_EXISTS" Fail "A topic of that name exists.",
    37 InvalidPartitions "INVALID_PARTITIONS" Fail "The number of partitions is not possible.",
    38 InvalidReplicationFactor "INVALID_REPLICATION_FACTOR" Fail "The replication factor is not possible.",
    39 InvalidReplicaAssignment "INVALID_REPLICA_ASSIGNMENT" Fail "The replica assignment is not possible.",
    40 InvalidConfig "INVALID_CONFIG" Fail "A configuration key or value is not possible.",
    41 NotController "NOT_CONTROLLER" Retry "The broker is not the controller.",
    42 InvalidRequest "INVALID_REQUEST" Fail "The request contradicts itself or the protocol.",
    43 UnsupportedForMessageFormat "UNSUPPORTED_FOR_MESSAGE_FORMAT" Fail "The message format does not support this.",
    44 PolicyViolation "POLICY_VIOLATION" Fail "A policy of the broker forbids this.",
    45 OutOfOrderSequenceNumber "OUT_OF_ORDER_SEQUENCE_NUMBER" Fail "A sequence is neither the next one nor a recent repeat.",
    46 DuplicateSequenceNumber "DUPLICATE_SEQUENCE_NUMBER" Fail "The sequence was appended before.",
    47 InvalidProducerEpoch "INVALID_PRODUCER_EPOCH" Fail "The producer's epoch is old.",
    48 InvalidTxnState "INVALID_TXN_STATE" Fail "The transaction's state does not allow this.",
    49 InvalidProducerIdMapping "INVALID_PRODUCER_ID_MAPPING" Fail "The producer id does not belong to this transactional id.",
    50 InvalidTransactionTimeout "INVALID_TRANSACTION_TIMEOUT" Fail "The transaction timeout is longer than the broker allows.",
    51 ConcurrentTransactions "CONCURRENT_TRANSACTIONS" Retry "The transaction before this one is still being ended.",
    52 TransactionCoordinatorFenced "TRANSACTION_COORDINATOR_FENCED" Fail "The transaction coordinator that sent this is an old one.",
    53 TransactionalIdAuthorizationFailed "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" Fail "No right to this transactional id.",
    54 SecurityDisabled "SECURITY_DISABLED" Fail "Security is switched off.",
    55 OperationNotAttempted "OPERATION_NOT_ATTEMPTED" Fail "Not tried, since another part of the request failed first.",
    56 KafkaStorageError "KAFKA_STORAGE_ERROR" Refresh "The log directory cannot be read or written.",
    57 LogDirNotFound "LOG_DIR_NOT_FOUND" Fail "The broker has no such log directory.",
    58 SaslAuthenticationFailed "SASL_AUTHENTICATION_FAILED" Fail "Authentication failed.",
    59 UnknownProducerId "UNKNOWN_PRODUCER_ID" Fail "The broker has no state of this producer id.",
    60 ReassignmentInProgress "REASSIGNMENT_IN_PROGRESS" Fail "The partition is being reassigned.",
    61 DelegationTokenAuthDisabled "DELEGATION_TOKEN_AUTH_DISABLED" Fail "Delegation tokens are switched off.",
    62 DelegationTokenNotFound "DELEGATION_TOKEN_NOT_FOUND" Fail "The delegation token does not exist.",
    63 DelegationTokenOwnerMismatch "DELEGATION_TOKEN_OWNER_MISMATCH" Fail "The delegation token belongs to another principal.",
    64 DelegationTokenRequestNotAllowed "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" Fail "A delegation token may not be asked for over this connection.",
    65 DelegationTokenAuthorizationFailed "DELEGATION_TOKEN_AUTHORIZATION_FAILED" Fail "No right to this delegation token.",
    66 DelegationTokenExpired "DELEGATION_TOKEN_EXPIRED" Fail "The delegation token has expired.",
    67 InvalidPrincipalType "INVALID_PRINCIPAL_TYPE" Fail "The kind of principal is not supported.",
    68 NonEmptyGroup "NON_EMPTY_GROUP" Fail "The group has members.",
    69 GroupIdNotFound "GROUP_ID_NOT_FOUND" Fail "The group does not exist.",
    70 FetchSessionIdNotFound "FETCH_SESSION_ID_NOT_FOUND" Retry "The fetch session does not exist.",
    71 InvalidFetchSessionEpoch "INVALID_FETCH_SESSION_EPOCH" Retry "The fetch session's epoch is not the next one.",
    72 ListenerNotFound "LISTENER_NOT_FOUND" Refresh "The leader has no listener of the name that the client came by.",
    73 TopicDeletionDisabled "TOPIC_DELETION_DISABLED" Fail "Topics may not be deleted here.",
    74 FencedLeaderEpoch "FENCED_LEADER_EPOCH" Refresh "The leader epoch given is older than the broker's.",
    75 UnknownLeaderEpoch "UNKNOWN_LEADER_EPOCH" Retry "The leader epoch given is newer than the broker's.",
    76 UnsupportedCompressionType "UNSUPPORTED_COMPRESSION_TYPE" Fail "The codec of the records is not supported in this version.",
    77 StaleBrokerEpoch "STALE_BROKER_EPOCH" Fail "The broker's epoch is old: it has registered again.",
    78 OffsetNotAvailable "OFFSET_NOT_AVAILABLE" Retry "A new leader does not know its high watermark yet.",
    79 MemberIdRequired "MEMBER_ID_REQUIRED" Fail "Join again with the member id that was given.",
    80 PreferredLeaderNotAvailable "PREFERRED_LEADER_NOT_AVAILABLE" Refresh "The preferred leader is not there.",
    81 GroupMaxSizeReached "GROUP_MAX_SIZE_REACHED" Fail "The group is full.",
    82 FencedInstanceId "FENCED_INSTANCE_ID" Fail "Another member took this static instance id.",
    83 EligibleLeadersNotAvailable "ELIGIBLE_LEADERS_NOT_AVAILABLE" Refresh "None of the replicas that may lead is there.",
    84 ElectionNotNeeded "ELECTION_NOT_NEEDED" Refresh "The partition's leader is already the wanted one.",
    85 NoReassignmentInProgress "NO_REASSIGNMENT_IN_PROGRESS" Fail "No reassignment is going on.",
    86 GroupSubscribedToTopic "GROUP_SUBSCRIBED_TO_TOPIC" Fail "The group consumes the topic.",
    87 InvalidRecord "INVALID_RECORD" Fail "A record does not fit the topic or the protocol.",
    88 UnstableOffsetCommit "UNSTABLE_OFFSET_COMMIT" Retry "Offsets of open transactions stand in the way.",
    89 ThrottlingQuotaExceeded "THROTTLING_QUOTA_EXCEEDED" Retry "A quota is used up: try again later.",
    90 ProducerFenced "PRODUCER_FENCED" Fail "A newer producer took this transactional id.",
    91 ResourceNotFound "RESOURCE_NOT_FOUND" Fail "What was asked for does not exist.",
    92 DuplicateResource "DUPLICATE_RESOURCE" Fail "What was asked for exists more than once in the request.",
    93 UnacceptableCredential "UNACCEPTABLE_CREDENTIAL" Fail "The credential is not acceptable.",
    94 InconsistentVoterSet "INCONSISTENT_VOTER_SET" Fail "Sender and receiver disagree about the voters.",
    95 InvalidUpdateVersion "INVALID_UPDATE_VERSION" Fail "The version of the update is not the next one.",
    96 FeatureUpdateFailed "FEATURE_UPDATE_FAILED" Fail "Features could not be updated.",
    97 PrincipalDeserializationFailure "PRINCIPAL_DESERIALIZATION_FAILURE" Fail "A forwarded principal cannot be read.",
    98 SnapshotNotFound "SNAPSHOT_NOT_FOUND" Fail "The snapshot does not exist.",
    99 PositionOutOfRange "POSITION_OUT_OF_RANGE" Fail "The position is outside of the snapshot.",
    100 UnknownTopicId "UNKNOWN_TOPIC_ID" Refresh "The broker does not know the topic id, or not yet.",
    101 DuplicateBrokerRegistration "DUPLICATE_BROKER_REGISTRATION" Fail "Another broker with this id is registered.",
    102 BrokerIdNotRegistered "BROKER_ID_NOT_REGISTERED" Fail "No broker with this id is registered.",
    103 InconsistentTopicId "INCONSISTENT_TOPIC_ID" Refresh "The topic id belongs to another topic name.",
    104 InconsistentClusterId "INCONSISTENT_CLUSTER_ID" Fail "The cluster id is another one.",
    105 TransactionalIdNotFound "TRANSACTIONAL_ID_NOT_FOUND" Fail "The transactional id does not exist.",
    106 FetchSessionTopicIdError "FETCH_SESSION_TOPIC_ID_ERROR" Retry "A fetch session mixes topic names and topic ids.",
    107 IneligibleReplica "INELIGIBLE_REPLICA" Fail "The replica may not join the ISR.",
    108 NewLeaderElected "NEW_LEADER_ELECTED" Fail "The change made another replica the leader.",
    109 OffsetMovedToTieredStorage "OFFSET_MOVED_TO_TIERED_STORAGE" Fail "The offset is only in tiered storage.",
    110 FencedMemberEpoch "FENCED_MEMBER_EPOCH" Fail "The member's epoch is old.",
    111 UnreleasedInstanceId "UNRELEASED_INSTANCE_ID" Fail "The static instance id is still held by a member.",
    112 UnsupportedAssignor "UNSUPPORTED_ASSIGNOR" Fail "The assignor is not supported.",
    113 StaleMemberEpoch "STALE_MEMBER_EPOCH" Fail "The member's epoch is behind: take the current one and try again.",
    114 MismatchedEndpointType "MISMATCHED_ENDPOINT_TYPE" Fail "The request came to the wrong kind of endpoint.",
    115 UnsupportedEndpointType "UNSUPPORTED_ENDPOINT_TYPE" Fail "The kind of endpoint is not supported.",
    116 UnknownControllerId "UNKNOWN_CONTROLLER_ID" Fail "The controller id is not known.",
    117 UnknownSubscriptionId "UNKNOWN_SUBSCRIPTION_ID" Fail "The telemetry subscription is not known.",
    118 TelemetryTooLarge "TELEMETRY_TOO_LARGE" Fail "The telemetry is too large.",
    119 InvalidRegistration "INVALID_REGISTRATION" Fail "The registration is not possible.",
    120 TransactionAbortable "TRANSACTION_ABORTABLE" Fail "The transaction must be aborted.",
    121 InvalidRecordState "INVALID_RECORD_STATE" Fail "A record's state does not allow the acknowledgement.",
    122 ShareSessionNotFound "SHARE_SESSION_NOT_FOUND" Retry "The share session does not exist.",
    123 InvalidShareSessionEpoch "INVALID_SHARE_SESSION_EPOCH" Retry "The share session's epoch is not the next one.",
    124 FencedStateEpoch "FENCED_STATE_EPOCH" Fail "The state epoch is old.",
    125 InvalidVoterKey "INVALID_VOTER_KEY" Fail "The voter's key is not the right one.",
    126 DuplicateVoter "DUPLICATE_VOTER" Fail "The voter is there already.",
    127 VoterNotFound "VOTER_NOT_FOUND" Fail "The voter does not exist.",
    128 InvalidRegularExpression "INVALID_REGULAR_EXPRESSION" Fail "The regular expression is not valid.",
    129 RebootstrapRequired "REBOOTSTRAP_REQUIRED" Fail "The client shall look for the cluster again from its first addresses.",
    130 StreamsInvalidTopology "STREAMS_INVALID_TOPOLOGY" Fail "The streams topology is not valid.",
    131 StreamsInvalidTopologyEpoch "STREAMS_INVALID_TOPOLOGY_EPOCH" Fail "The streams topology's epoch is not valid.",
    132 StreamsTopologyFenced "STREAMS_TOPOLOGY_FENCED" Fail "A newer streams topology is in use.",
    133 ShareSessionLimitReached "SHARE_SESSION_LIMIT_REACHED" Retry "The broker holds as many share sessions as it may.",
    134 GroupDeletionFailed "GROUP_DELETION_FAILED" Fail "The group could not be deleted.",
    135 StreamsTopologyDescriptionUpdateFailed "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED" Fail "The streams topology's description could not be updated.",
    136 ControllerIdNotRegistered "CONTROLLER_ID_NOT_REGISTERED" Fail "No controller with this id is registered.",
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn every_number_goes_there_and_back() {
        for code in i16::MIN..=i16::MAX {
            assert_eq!(ErrorCode::from(code).code(), code);
        }
        assert!(ErrorCode::KNOWN.is_sorted_by_key(|known| known.code()));
    }

    #[test]
    fn an_error_prints_its_name_and_number() {
        assert_eq!(ErrorCode::NotLeaderOrFollower.to_string(), "NOT_LEADER_OR_FOLLOWER (6)");
        assert_eq!(ErrorCode::from(999).to_string(), "UNKNOWN (999)");
    }

    #[test]
    fn a_lost_leader_asks_for_metadata_and_a_full_quota_only_for_patience() {
        assert!(ErrorCode::NotLeaderOrFollower.asks_for_refresh());
        assert!(ErrorCode::ThrottlingQuotaExceeded.is_retriable());
        assert!(!ErrorCode::ThrottlingQuotaExceeded.asks_for_refresh());
        assert!(!ErrorCode::InvalidRecord.is_retriable());
    }
}
