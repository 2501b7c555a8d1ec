//! What happens on a partition's replication streams, handed to its machine.

use log_store::Disk;
use replica_core::{FollowerFrame, LeaderFrame, StreamId};

use super::{Partition, Role};
use crate::action::ReplicaKey;
use crate::shard::Core;

impl<D: Disk> Partition<D> {
    pub(crate) fn is_leader(&self) -> bool {
        matches!(&self.role, Role::Leader(leader) if leader.machine.is_leading())
    }

    pub(crate) const fn is_follower(&self) -> bool {
        matches!(self.role, Role::Follower(_))
    }

    /// A follower's stream is open; its machine closes one that it no longer waits for.
    pub(crate) fn take_connected(&mut self, core: &Core<D>, key: ReplicaKey, stream: StreamId) {
        if let Role::Follower(follower) = &mut self.role {
            follower.machine.handle_connected(core.now.mono, key.session, stream);
        }
    }

    pub(crate) fn take_connect_failed(&mut self, core: &Core<D>, key: ReplicaKey) {
        if let Role::Follower(follower) = &mut self.role {
            follower.machine.handle_connect_failed(core.now.mono, key.session);
        }
    }

    pub(crate) fn take_follower_frame(&mut self, core: &Core<D>, stream: StreamId, frame: &FollowerFrame) {
        if let Role::Leader(leader) = &mut self.role {
            leader.machine.handle_frame(core.now.mono, stream, frame, self.log.epochs());
        }
    }

    pub(crate) fn take_leader_frame(&mut self, core: &Core<D>, stream: StreamId, frame: LeaderFrame) {
        if let Role::Follower(follower) = &mut self.role {
            follower.machine.handle_frame(core.now.mono, stream, frame, self.log.epochs());
        }
    }

    pub(crate) fn take_stream_closed(&mut self, core: &Core<D>, stream: StreamId) {
        match &mut self.role {
            Role::Leader(leader) => leader.machine.handle_stream_closed(core.now.mono, stream),
            Role::Follower(follower) => follower.machine.handle_closed(core.now.mono, stream),
            Role::Idle | Role::Damaged(_) | Role::Closing => {}
        }
    }
}
