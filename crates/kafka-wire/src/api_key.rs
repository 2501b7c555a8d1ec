// @generated from schemas/ by cargo xtask codegen
//! Which APIs there are and in which versions; the one place that says so.
//!
//! | key | API | decoded | advertised | flexible |
//! |---|---|---|---|---|
//! | 0 | Produce | 3-11 | 0-11 | 9+ |
//! | 1 | Fetch | 4-18 | 4-18 | 12+ |
//! | 2 | ListOffsets | 1-11 | 1-11 | 6+ |
//! | 3 | Metadata | 0-13 | 0-13 | 9+ |
//! | 8 | OffsetCommit | 2-10 | 2-10 | 8+ |
//! | 9 | OffsetFetch | 1-10 | 1-10 | 6+ |
//! | 10 | FindCoordinator | 0-6 | 0-6 | 3+ |
//! | 11 | JoinGroup | 0-9 | 0-9 | 6+ |
//! | 12 | Heartbeat | 0-4 | 0-4 | 4+ |
//! | 13 | LeaveGroup | 0-5 | 0-5 | 4+ |
//! | 14 | SyncGroup | 0-5 | 0-5 | 4+ |
//! | 15 | DescribeGroups | 0-6 | 0-6 | 5+ |
//! | 16 | ListGroups | 0-5 | 0-5 | 3+ |
//! | 17 | SaslHandshake | 0-1 | 0-1 | never |
//! | 18 | ApiVersions | 0-4 | 0-4 | 3+ |
//! | 19 | CreateTopics | 2-7 | 2-7 | 5+ |
//! | 20 | DeleteTopics | 1-6 | 1-6 | 4+ |
//! | 21 | DeleteRecords | 0-2 | 0-2 | 2+ |
//! | 22 | InitProducerId | 0-5 | 0-5 | 2+ |
//! | 23 | OffsetForLeaderEpoch | 2-4 | 2-4 | 4+ |
//! | 32 | DescribeConfigs | 1-4 | 1-4 | 4+ |
//! | 33 | AlterConfigs | 0-2 | 0-2 | 2+ |
//! | 35 | DescribeLogDirs | 1-5 | 1-5 | 2+ |
//! | 36 | SaslAuthenticate | 0-2 | 0-2 | 2+ |
//! | 37 | CreatePartitions | 0-3 | 0-3 | 2+ |
//! | 42 | DeleteGroups | 0-2 | 0-2 | 2+ |
//! | 43 | ElectLeaders | 0-2 | 0-2 | 2+ |
//! | 44 | IncrementalAlterConfigs | 0-1 | 0-1 | 1+ |
//! | 47 | OffsetDelete | 0-0 | 0-0 | never |
//! | 55 | DescribeQuorum | 0-2 | 0-2 | 0+ |
//! | 60 | DescribeCluster | 0-2 | 0-2 | 0+ |
//! | 64 | UnregisterBroker | 0-0 | 0-0 | 0+ |
//! | 69 | ConsumerGroupDescribe | 0-1 | 0-1 | 0+ |
//! | 75 | DescribeTopicPartitions | 0-0 | 0-0 | 0+ |

use crate::api::ApiSpec;

/// An API of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiKey {
    /// Appends record batches to partitions.
    Produce,
    /// Reads record batches from partitions; waits for new ones.
    Fetch,
    /// Finds offsets by time, and the ends of partitions.
    ListOffsets,
    /// Describes brokers, topics and partitions.
    Metadata,
    /// Stores a group's positions.
    OffsetCommit,
    /// Tells a group's positions.
    OffsetFetch,
    /// Finds the broker that coordinates a group or a transaction.
    FindCoordinator,
    /// Enters a consumer group, or enters it again.
    JoinGroup,
    /// Keeps a member in its group.
    Heartbeat,
    /// Takes members out of a group.
    LeaveGroup,
    /// Gives the leader's assignment to the group, and each member its own.
    SyncGroup,
    /// Describes groups and their members.
    DescribeGroups,
    /// Lists the groups that the broker coordinates.
    ListGroups,
    /// Chooses how the client will authenticate.
    SaslHandshake,
    /// Tells which APIs and versions the broker speaks, and its features.
    ApiVersions,
    /// Creates topics.
    CreateTopics,
    /// Deletes topics with all their records.
    DeleteTopics,
    /// Deletes the records before an offset.
    DeleteRecords,
    /// Gives a producer its id and epoch.
    InitProducerId,
    /// Tells where a leader epoch ends in the log.
    OffsetForLeaderEpoch,
    /// Tells the settings of topics and brokers.
    DescribeConfigs,
    /// Replaces all settings of a resource.
    AlterConfigs,
    /// Tells what a broker's log directories hold.
    DescribeLogDirs,
    /// Carries one step of authentication.
    SaslAuthenticate,
    /// Adds partitions to topics.
    CreatePartitions,
    /// Deletes groups that have no members.
    DeleteGroups,
    /// Elects leaders of partitions: the preferred ones, or unclean ones where nobody leads.
    ElectLeaders,
    /// Edits settings one by one.
    IncrementalAlterConfigs,
    /// Deletes positions of a group in topics that its members do not read.
    OffsetDelete,
    /// Describes the voters and observers of the metadata quorum.
    DescribeQuorum,
    /// Describes the brokers of the cluster and their addresses.
    DescribeCluster,
    /// Removes a broker that will not come back.
    UnregisterBroker,
    /// Describes groups of the consumer protocol (KIP-848) and their members.
    ConsumerGroupDescribe,
    /// Describes topics in pages.
    DescribeTopicPartitions,
}

impl ApiKey {
    /// Every API, by number.
    pub const ALL: &'static [Self] = &[
        Self::Produce,
        Self::Fetch,
        Self::ListOffsets,
        Self::Metadata,
        Self::OffsetCommit,
        Self::OffsetFetch,
        Self::FindCoordinator,
        Self::JoinGroup,
        Self::Heartbeat,
        Self::LeaveGroup,
        Self::SyncGroup,
        Self::DescribeGroups,
        Self::ListGroups,
        Self::SaslHandshake,
        Self::ApiVersions,
        Self::CreateTopics,
        Self::DeleteTopics,
        Self::DeleteRecords,
        Self::InitProducerId,
        Self::OffsetForLeaderEpoch,
        Self::DescribeConfigs,
        Self::AlterConfigs,
        Self::DescribeLogDirs,
        Self::SaslAuthenticate,
        Self::CreatePartitions,
        Self::DeleteGroups,
        Self::ElectLeaders,
        Self::IncrementalAlterConfigs,
        Self::OffsetDelete,
        Self::DescribeQuorum,
        Self::DescribeCluster,
        Self::UnregisterBroker,
        Self::ConsumerGroupDescribe,
        Self::DescribeTopicPartitions,
    ];

    /// The API of that number.
    pub const fn from_number(number: i16) -> Option<Self> {
        Some(match number {
            0 => Self::Produce,
            1 => Self::Fetch,
            2 => Self::ListOffsets,
            3 => Self::Metadata,
            8 => Self::OffsetCommit,
            9 => Self::OffsetFetch,
            10 => Self::FindCoordinator,
            11 => Self::JoinGroup,
            12 => Self::Heartbeat,
            13 => Self::LeaveGroup,
            14 => Self::SyncGroup,
            15 => Self::DescribeGroups,
            16 => Self::ListGroups,
            17 => Self::SaslHandshake,
            18 => Self::ApiVersions,
            19 => Self::CreateTopics,
            20 => Self::DeleteTopics,
            21 => Self::DeleteRecords,
            22 => Self::InitProducerId,
            23 => Self::OffsetForLeaderEpoch,
            32 => Self::DescribeConfigs,
            33 => Self::AlterConfigs,
            35 => Self::DescribeLogDirs,
            36 => Self::SaslAuthenticate,
            37 => Self::CreatePartitions,
            42 => Self::DeleteGroups,
            43 => Self::ElectLeaders,
            44 => Self::IncrementalAlterConfigs,
            47 => Self::OffsetDelete,
            55 => Self::DescribeQuorum,
            60 => Self::DescribeCluster,
            64 => Self::UnregisterBroker,
            69 => Self::ConsumerGroupDescribe,
            75 => Self::DescribeTopicPartitions,
            _ => return None,
        })
    }

    /// Number, name and versions of the API.
    pub const fn spec(self) -> &'static ApiSpec {
        match self {
            Self::Produce => const { &ApiSpec::new(0, "Produce", [3, 0, 11], Some(9)) },
            Self::Fetch => const { &ApiSpec::new(1, "Fetch", [4, 4, 18], Some(12)) },
            Self::ListOffsets => const { &ApiSpec::new(2, "ListOffsets", [1, 1, 11], Some(6)) },
            Self::Metadata => const { &ApiSpec::new(3, "Metadata", [0, 0, 13], Some(9)) },
            Self::OffsetCommit => const { &ApiSpec::new(8, "OffsetCommit", [2, 2, 10], Some(8)) },
            Self::OffsetFetch => const { &ApiSpec::new(9, "OffsetFetch", [1, 1, 10], Some(6)) },
            Self::FindCoordinator => const { &ApiSpec::new(10, "FindCoordinator", [0, 0, 6], Some(3)) },
            Self::JoinGroup => const { &ApiSpec::new(11, "JoinGroup", [0, 0, 9], Some(6)) },
            Self::Heartbeat => const { &ApiSpec::new(12, "Heartbeat", [0, 0, 4], Some(4)) },
            Self::LeaveGroup => const { &ApiSpec::new(13, "LeaveGroup", [0, 0, 5], Some(4)) },
            Self::SyncGroup => const { &ApiSpec::new(14, "SyncGroup", [0, 0, 5], Some(4)) },
            Self::DescribeGroups => const { &ApiSpec::new(15, "DescribeGroups", [0, 0, 6], Some(5)) },
            Self::ListGroups => const { &ApiSpec::new(16, "ListGroups", [0, 0, 5], Some(3)) },
            Self::SaslHandshake => const { &ApiSpec::new(17, "SaslHandshake", [0, 0, 1], None) },
            Self::ApiVersions => const { &ApiSpec::new(18, "ApiVersions", [0, 0, 4], Some(3)) },
            Self::CreateTopics => const { &ApiSpec::new(19, "CreateTopics", [2, 2, 7], Some(5)) },
            Self::DeleteTopics => const { &ApiSpec::new(20, "DeleteTopics", [1, 1, 6], Some(4)) },
            Self::DeleteRecords => const { &ApiSpec::new(21, "DeleteRecords", [0, 0, 2], Some(2)) },
            Self::InitProducerId => const { &ApiSpec::new(22, "InitProducerId", [0, 0, 5], Some(2)) },
            Self::OffsetForLeaderEpoch => {
                const { &ApiSpec::new(23, "OffsetForLeaderEpoch", [2, 2, 4], Some(4)) }
            }
            Self::DescribeConfigs => const { &ApiSpec::new(32, "DescribeConfigs", [1, 1, 4], Some(4)) },
            Self::AlterConfigs => const { &ApiSpec::new(33, "AlterConfigs", [0, 0, 2], Some(2)) },
            Self::DescribeLogDirs => const { &ApiSpec::new(35, "DescribeLogDirs", [1, 1, 5], Some(2)) },
            Self::SaslAuthenticate => const { &ApiSpec::new(36, "SaslAuthenticate", [0, 0, 2], Some(2)) },
            Self::CreatePartitions => const { &ApiSpec::new(37, "CreatePartitions", [0, 0, 3], Some(2)) },
            Self::DeleteGroups => const { &ApiSpec::new(42, "DeleteGroups", [0, 0, 2], Some(2)) },
            Self::ElectLeaders => const { &ApiSpec::new(43, "ElectLeaders", [0, 0, 2], Some(2)) },
            Self::IncrementalAlterConfigs => {
                const { &ApiSpec::new(44, "IncrementalAlterConfigs", [0, 0, 1], Some(1)) }
            }
            Self::OffsetDelete => const { &ApiSpec::new(47, "OffsetDelete", [0, 0, 0], None) },
            Self::DescribeQuorum => const { &ApiSpec::new(55, "DescribeQuorum", [0, 0, 2], Some(0)) },
            Self::DescribeCluster => const { &ApiSpec::new(60, "DescribeCluster", [0, 0, 2], Some(0)) },
            Self::UnregisterBroker => const { &ApiSpec::new(64, "UnregisterBroker", [0, 0, 0], Some(0)) },
            Self::ConsumerGroupDescribe => {
                const { &ApiSpec::new(69, "ConsumerGroupDescribe", [0, 0, 1], Some(0)) }
            }
            Self::DescribeTopicPartitions => {
                const { &ApiSpec::new(75, "DescribeTopicPartitions", [0, 0, 0], Some(0)) }
            }
        }
    }
}
