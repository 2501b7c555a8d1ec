//! What is going to happen, by time.

use std::collections::BTreeMap;

use broker_core::action::StreamId;
use broker_core::{ControlRequest, PeerMessage, ReplicaKey, ShardId, ShardMessage};
use log_core::{DirectoryId, TopicPartition};
use log_store::MemoryFile;
use metadata_core::Proposal;

/// One process of one broker: whoever comes for an earlier one finds nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessId {
    pub(crate) broker: usize,
    pub(crate) number: u64,
}

/// Something that is going to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// A deadline of a process.
    Wake(ProcessId),
    /// A process has a moment without work.
    Idle(ProcessId),
    /// An operation of a process's disk ends.
    Disk(ProcessId),
    /// A shard's word arrives at Control.
    ToControl(ProcessId, ShardId, ControlRequest),
    /// Control's word arrives at a shard.
    ToShard(ProcessId, ShardId, ShardMessage),
    /// A shard's word arrives at another.
    Peer(ProcessId, ShardId, ShardId, PeerMessage<MemoryFile>),
    /// The first parcel of a stream's lane may arrive.
    Arrive { stream: u64, lane: usize },
    /// A follower's call reaches the leader's broker.
    Dial { from: ProcessId, shard: ShardId, key: ReplicaKey, to: usize, to_shard: ShardId },
    /// The call was answered.
    Dialled { from: ProcessId, shard: ShardId, key: ReplicaKey, stream: Option<u64> },
    /// A control stream cannot be opened, or is gone.
    PeerClosed(ProcessId, DirectoryId),
    /// A shard learns that a replication stream is gone.
    Gone { at: ProcessId, shard: ShardId, stream: StreamId },
    /// A proposal is agreed on, if the term still lasts.
    Commit { term: u64, proposal: Proposal },
    /// A node is shown the log up to there.
    Show { broker: usize, upto: usize },
    /// The quorum's own heartbeat.
    Tick,
    /// A process begins.
    Start(usize),
    /// A planned fault, by its number.
    Fault(usize),
    /// A fault ends.
    Mend(Mend),
    /// The operator looks after the cluster.
    Operate,
    /// A client's own time.
    Client(usize),
}

/// A fault that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mend {
    /// A disk is as fast as before.
    Disk(usize),
    /// A disk has room.
    Full(usize),
    /// Metadata arrives as before.
    Metadata(usize),
    /// Proposals are lost no more.
    Proposals,
    /// Agreement is as fast as before.
    Commits,
    /// Messages are as fast as before.
    Network,
    /// A deleted topic is wanted again.
    Topic(usize),
    /// A broker dies, for so long; its machine loses power, if there is a seed for what survives.
    Dies(usize, u64, Option<u64>),
    /// A follower that came back after a stop dies, and the end of its log is lost.
    LoseEnd(usize, TopicPartition, u64),
    /// From now on nothing passes from one broker to another, until then.
    Part(usize, usize, u64),
    /// A disk is lost; the broker is down for so long.
    Wipes(usize, u64),
}

/// Events by time, and for equal times in the order in which they were planned.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Boxed: the map moves what it holds about.
    events: BTreeMap<(u64, u64), Box<Event>>,
    planned: u64,
}

impl Queue {
    pub(crate) fn plan(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.events.insert((at, self.planned), Box::new(event));
    }

    pub(crate) fn next(&mut self) -> Option<(u64, Event)> {
        self.events.pop_first().map(|((at, _), event)| (at, *event))
    }
}
