//! What a request was sent for: goes with it and comes back with its answer, or with the news that there will be none.

use std::sync::Arc;

use crate::action::{BatchId, CallId, ConsumerHandle, ProducerHandle};

/// The reason for a request.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// Agreeing on versions; handled by the network itself.
    Versions,
    /// The picture of the cluster.
    Metadata,
    /// Batches of a producer.
    Produce { producer: ProducerHandle, batches: Vec<SentBatch> },
    /// A producer's id.
    ProducerId { producer: ProducerHandle },
    /// Offsets by time, by query.
    ListOffsets { queries: Vec<u64> },
    /// Batches for a consumer.
    Fetch { consumer: ConsumerHandle, partitions: Vec<FetchedPartition> },
    /// Where the epochs that a consumer has read end.
    EpochEnds { consumer: ConsumerHandle, partitions: Vec<(Arc<str>, u32, u32)> },
    /// Something of a group member.
    Group { consumer: ConsumerHandle, step: GroupStep },
    /// A call of an admin.
    Call { call: CallId },
}

/// A batch in a produce request.
#[derive(Clone, Debug)]
pub(crate) struct SentBatch {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: u32,
    pub(crate) batch: BatchId,
    pub(crate) part: u32,
}

/// A partition in a fetch.
#[derive(Clone, Debug)]
pub(crate) struct FetchedPartition {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: u32,
    pub(crate) generation: u32,
    pub(crate) offset: i64,
}

/// What a group member has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupStep {
    FindCoordinator,
    Join,
    Sync,
    Heartbeat,
    Leave,
    FetchOffsets,
    Commit,
}
