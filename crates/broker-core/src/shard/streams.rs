//! Replication streams: which partition each belongs to, and their frames on the way to its machine.

use log_core::{BrokerId, Frame, Now, TopicPartition};
use log_store::Disk;
use replica_core::{FollowerFrame, LeaderFrame, StreamId, StreamRefusal};

use super::Shard;
use crate::action::{ReplicaKey, ShardAction};
use crate::partition::{Partition, StreamTable};

/// What a replication stream is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamUse {
    /// A follower opened it and has not said yet which partition it follows.
    Accepted { peer: BrokerId },
    /// A follower of this partition reads from it.
    Leading(TopicPartition),
    /// This replica follows on it.
    Following(TopicPartition),
}

#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(super) by_id: StreamTable,
}

impl<D: Disk> Shard<D> {
    /// A follower opened a stream; its certificate says which broker it is. The stream's hello is already read.
    pub fn handle_replica_accepted(&mut self, now: Now, stream: StreamId, peer: BrokerId) {
        self.core.now = now;
        self.streams.by_id.insert(stream, StreamUse::Accepted { peer });
    }

    /// The stream that [`ShardAction::ConnectReplica`] asked for is open, its hello sent.
    pub fn handle_replica_connected(&mut self, now: Now, key: ReplicaKey, stream: StreamId) {
        self.core.now = now;
        // Whoever asked for it may be gone, or lead by now.
        if !self.partitions.get(&key.partition).is_some_and(Partition::is_follower) {
            return self.core.actions.push_back(ShardAction::CloseReplica { stream });
        }
        self.streams.by_id.insert(stream, StreamUse::Following(key.partition));
        self.with_partition(key.partition, |partition, core| partition.take_connected(core, key, stream));
    }

    /// The stream that was asked for cannot be opened now.
    pub fn handle_replica_refused(&mut self, now: Now, key: ReplicaKey) {
        self.core.now = now;
        self.with_partition(key.partition, |partition, core| partition.take_connect_failed(core, key));
    }

    /// A frame came on a stream.
    pub fn handle_replica_frame(&mut self, now: Now, stream: StreamId, frame: &Frame) {
        self.core.now = now;
        match self.streams.by_id.get(&stream).copied() {
            Some(StreamUse::Accepted { peer }) => self.take_open(stream, peer, frame),
            Some(StreamUse::Leading(partition)) => match FollowerFrame::decode(frame) {
                Ok(frame) => self.with_partition(partition, |partition, core| {
                    partition.take_follower_frame(core, stream, &frame);
                }),
                Err(_) => self.break_stream(stream),
            },
            Some(StreamUse::Following(partition)) => match LeaderFrame::decode(frame) {
                Ok(frame) => self.with_partition(partition, |partition, core| {
                    partition.take_leader_frame(core, stream, frame);
                }),
                Err(_) => self.break_stream(stream),
            },
            None => {}
        }
    }

    /// A stream ended, or its connection is lost.
    pub fn handle_replica_closed(&mut self, now: Now, stream: StreamId) {
        self.core.now = now;
        match self.streams.by_id.remove(&stream) {
            Some(StreamUse::Leading(partition) | StreamUse::Following(partition)) => {
                self.with_partition(partition, |partition, core| partition.take_stream_closed(core, stream));
            }
            Some(StreamUse::Accepted { .. }) | None => {}
        }
    }

    /// The first frame says which partition is followed; it must come from the broker whose certificate it is.
    fn take_open(&mut self, stream: StreamId, peer: BrokerId, frame: &Frame) {
        let open = match FollowerFrame::decode(frame) {
            Ok(FollowerFrame::Open(open)) if open.follower == peer => open,
            Ok(_) | Err(_) => return self.break_stream(stream),
        };
        if self.partitions.get(&open.partition).is_some_and(Partition::is_leader) {
            self.streams.by_id.insert(stream, StreamUse::Leading(open.partition));
            return self.with_partition(open.partition, |partition, core| {
                partition.take_follower_frame(core, stream, &FollowerFrame::Open(open));
            });
        }
        let refused = LeaderFrame::Refused { session: open.session, refusal: StreamRefusal::NotLeader };
        let rope = kafka_wire::Rope::from_segments([kafka_wire::Segment::Bytes(refused.encode().into())]);
        self.core.actions.push_back(ShardAction::ReplicaSend { stream, rope });
        self.drop_stream(stream);
    }

    /// The peer broke the protocol.
    fn break_stream(&mut self, stream: StreamId) {
        tracing::warn!(%stream, "a broker sent a malformed replication frame");
        let used = self.streams.by_id.get(&stream).copied();
        self.drop_stream(stream);
        if let Some(StreamUse::Leading(partition) | StreamUse::Following(partition)) = used {
            self.with_partition(partition, |partition, core| partition.take_stream_closed(core, stream));
        }
    }

    fn drop_stream(&mut self, stream: StreamId) {
        if self.streams.by_id.remove(&stream).is_some() {
            self.core.actions.push_back(ShardAction::CloseReplica { stream });
        }
    }
}
