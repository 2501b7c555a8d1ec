//! Working on a burst: partitions settle, answers find their requests, responses leave, requests start.

use log_core::TopicPartition;
use log_store::Disk;

use super::{Ask, Pending, Shard};
use crate::action::ShardAction;
use crate::connection::Connection;
use crate::door::{ConnectionId, ShardId};
use crate::error::PartitionError;
use crate::peer::{CallId, Origin, PartitionAnswer, PartitionCall, Peer};
use crate::shard::shard_of;

impl<D: Disk> Shard<D> {
    /// Calls a partition, wherever it lives.
    pub(crate) fn call(&mut self, call: CallId, partition: TopicPartition, request: PartitionCall) {
        let own = self.core.config.shard;
        let origin = Origin { shard: own, call };
        let owner = shard_of(partition, self.core.config.shards);
        if owner == own {
            self.execute(origin, partition, request);
        } else {
            self.core.tell_shard(owner, Peer::Call { origin, partition, call: request });
        }
    }

    pub(super) fn execute(&mut self, origin: Origin, id: TopicPartition, call: PartitionCall) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.call(&mut self.core, origin, call);
            self.core.touched.insert(id);
            return;
        }
        let known = self.core.image.partition(id).is_some();
        let error = if known { PartitionError::NotLeader } else { PartitionError::Unknown };
        self.core.answer(origin, PartitionAnswer::Failed(error));
    }

    pub(super) fn flush(&mut self) {
        while self.settle_partitions() | self.deliver_answers() | self.reread_moved() | self.run_connections()
        {
        }
        self.check_stopped();
    }

    fn settle_partitions(&mut self) -> bool {
        let worked = !self.core.touched.is_empty();
        while let Some(id) = self.core.touched.pop_first() {
            if let Some(partition) = self.partitions.get_mut(&id) {
                partition.settle(&mut self.core, &mut self.streams.by_id);
                if partition.is_gone() {
                    self.stopped_clean &= partition.is_sound();
                    self.forget(id);
                }
            }
        }
        if worked {
            self.report_recovered();
        }
        worked
    }

    fn deliver_answers(&mut self) -> bool {
        let worked = !self.core.answers.is_empty() || !self.core.moved.is_empty();
        let own = self.core.config.shard;
        while let Some((origin, answer)) = self.core.answers.pop_front() {
            if origin.shard == own {
                self.take_answer(origin.call, answer);
            } else {
                self.core.tell_shard(origin.shard, Peer::Answer { call: origin.call, answer });
            }
        }
        while let Some(origin) = self.core.moved.pop_front() {
            if origin.shard == own {
                self.note_moved(origin.call);
            } else {
                self.core.tell_shard(origin.shard, Peer::Moved { call: origin.call });
            }
        }
        worked
    }

    pub(super) fn note_moved(&mut self, call: CallId) {
        if self.pending.contains_key(&call.pending) {
            self.stale.entry(call.pending).or_default().insert(call.part);
        }
    }

    fn reread_moved(&mut self) -> bool {
        let worked = !self.stale.is_empty();
        while let Some((id, parts)) = self.stale.pop_first() {
            match self.pending.remove(&id) {
                Some(Pending::Fetch(fetch)) => self.reread_fetch(id, fetch, &parts),
                Some(other) => {
                    self.pending.insert(id, other);
                }
                None => {}
            }
        }
        worked
    }

    fn run_connections(&mut self) -> bool {
        let runnable = std::mem::take(&mut self.runnable);
        let worked = !runnable.is_empty();
        runnable.into_iter().for_each(|connection| self.run_connection(connection));
        worked
    }

    /// Notes what a client's connection is used for.
    pub(crate) fn note_use<'a>(&mut self, ask: Ask, partitions: impl Iterator<Item = &'a TopicPartition>) {
        let shards = self.core.config.shards;
        let connection = self.connections.get_mut(&ask.connection);
        if let Some(connection) =
            connection.filter(|connection| shards > 1 && connection.door.kind.can_move())
        {
            connection.note_shards(partitions.map(|partition| shard_of(*partition, shards)));
        }
    }

    /// Its requests need not go from one thread to the other any more, nor their answers back.
    fn move_connection(&mut self, connection: ConnectionId, to: ShardId) {
        if let Some(Connection { door, .. }) = self.connections.remove(&connection) {
            self.core.actions.push_back(ShardAction::Move { connection, door, to });
        }
    }

    /// Sends what is ready, starts what may start, and reads on or stops reading.
    pub(super) fn run_connection(&mut self, id: ConnectionId) {
        if let Some(rope) = self.connections.get_mut(&id).and_then(|connection| connection.take_ready()) {
            self.core.actions.push_back(ShardAction::Send { connection: id, rope });
        }
        loop {
            let next = self.connections.get_mut(&id).and_then(Connection::start_next);
            let Some((sequence, frame)) = next else { break };
            self.start_request(id, sequence, &frame);
        }
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if let Some(to) = connection.shard_to_move_to(self.core.config.shard) {
            return self.move_connection(id, to);
        }
        let full = connection.is_full();
        if full != connection.paused {
            connection.paused = full;
            let action = if full { ShardAction::PauseReading(id) } else { ShardAction::ResumeReading(id) };
            self.core.actions.push_back(action);
        }
    }
}
