//! What the shards of one broker say to each other: calls on partitions that live elsewhere, and their answers. The same
//! calls on a partition of the own shard are plain function calls. Records travel as reference-counted slices.

use bytes::Bytes;
use coordinator_core::GroupError;
use coordinator_core::command::{Commit, DescribedGroup, Join, Leave, ListedGroup, Reply, Speaker, Sync};
use coordinator_core::records::CommittedOffset;
use kafka_wire::Records;
use log_core::{LeaderEpoch, MonoTime, Offset, Timestamp, TopicPartition};

use crate::door::ShardId;
use crate::error::PartitionError;

/// A message between two shards of one broker. Its content is the shards' own business.
#[derive(Debug)]
pub struct PeerMessage<F>(pub(crate) Peer<F>);

#[derive(Debug)]
pub(crate) enum Peer<F> {
    Call {
        origin: Origin,
        partition: TopicPartition,
        call: PartitionCall,
    },
    Answer {
        call: CallId,
        answer: PartitionAnswer<F>,
    },
    /// What a waiting Fetch saw of a partition has changed.
    Moved {
        call: CallId,
    },
}

/// A request that waits in its shard for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PendingId(pub(crate) u64);

/// One part of a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallId {
    pub(crate) pending: PendingId,
    pub(crate) part: u32,
}

/// Who gets an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) shard: ShardId,
    pub(crate) call: CallId,
}

#[derive(Debug)]
pub(crate) enum PartitionCall {
    Produce(ProduceCall),
    Fetch(FetchCall),
    /// Say [`Peer::Moved`] once the partition has more to give than up to this high watermark.
    Watch {
        seen: Offset,
    },
    Unwatch,
    ListOffset(ListOffsetCall),
    EpochEnd {
        current_leader_epoch: LeaderEpoch,
        epoch: LeaderEpoch,
    },
    /// Raise the log start to this offset, for good; −1 stands for the high watermark.
    DeleteRecords {
        to: Offset,
        /// Whoever asked waits no longer.
        until: MonoTime,
    },
    /// How much is kept.
    Size,
    Group(GroupCall),
}

#[derive(Debug)]
pub(crate) struct ProduceCall {
    /// One batch, a slice of the receive buffer.
    pub(crate) records: Bytes,
    pub(crate) acks: Acks,
    pub(crate) zstd_allowed: bool,
}

/// What a producer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acks {
    None,
    Leader,
    All,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchCall {
    pub(crate) offset: Offset,
    pub(crate) current_leader_epoch: LeaderEpoch,
    pub(crate) max_bytes: u32,
    /// Whether a first batch larger than the limit is given all the same.
    pub(crate) at_least_one: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListOffsetCall {
    /// Whether this replica's own ends are wanted, whoever leads.
    pub(crate) of_replica: bool,
    pub(crate) current_leader_epoch: LeaderEpoch,
    pub(crate) wanted: WantedOffset,
}

/// What ListOffsets may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedOffset {
    Latest,
    Earliest,
    MaxTimestamp,
    EarliestLocal,
    /// Nothing is ever moved to tiered storage here.
    LatestTiered,
    EarliestPendingUpload,
    At(Timestamp),
}

#[derive(Debug)]
pub(crate) enum GroupCall {
    Join(Join),
    Sync(Sync),
    Heartbeat(Speaker),
    Leave(Leave),
    Commit(Commit),
    /// All offsets of the group if none are named.
    FetchOffsets {
        group: String,
        partitions: Option<Vec<(String, i32)>>,
    },
    List,
    Describe {
        group: String,
    },
    Delete {
        groups: Vec<String>,
    },
    DeleteOffsets {
        group: String,
        partitions: Vec<(String, i32)>,
    },
}

#[derive(Debug)]
pub(crate) enum PartitionAnswer<F> {
    Failed(PartitionError),
    Produced(Produced),
    Fetched(Fetched<F>),
    OffsetListed(ListedOffset),
    EpochEnd { epoch: LeaderEpoch, end: Offset },
    RecordsDeleted { low_watermark: Offset },
    Sized(LogSize),
    Group(GroupAnswer),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Produced {
    pub(crate) base_offset: Offset,
    /// Only where the topic's records carry the broker's time.
    pub(crate) log_append_time: Timestamp,
    pub(crate) log_start: Offset,
}

#[derive(Debug)]
pub(crate) struct Fetched<F> {
    pub(crate) high_watermark: Offset,
    pub(crate) log_start: Offset,
    pub(crate) records: Records<F>,
    /// Whether more is there than the limit let through.
    pub(crate) cut_short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedOffset {
    pub(crate) offset: Offset,
    pub(crate) timestamp: Timestamp,
    pub(crate) leader_epoch: LeaderEpoch,
    /// It is a damaged replica's: what can be read of it ends there.
    pub(crate) damaged: bool,
}

/// What a replica keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogSize {
    pub(crate) bytes: u64,
    /// Offsets that its end is behind the high watermark that it knows of.
    pub(crate) lag: i64,
}

#[derive(Debug)]
pub(crate) enum GroupAnswer {
    /// From the coordinator, once its records are committed.
    Reply(Reply),
    Heartbeat(Result<(), GroupError>),
    Offsets(Vec<(String, i32, Option<CommittedOffset>)>),
    Listed(Vec<ListedGroup>),
    Described(Option<DescribedGroup>),
}
