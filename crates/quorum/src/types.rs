//! The types that openraft is made to work with, and how ours become its.

use std::fmt;

use bytes::Bytes;
use log_core::{BrokerId, DirectoryId, MetadataOffset};
use metadata_core::QuorumMember;
use serde::{Deserialize, Serialize};

openraft::declare_raft_types!(
    /// Entries are opaque bytes of the metadata log; a node is a log directory.
    pub(crate) Raft:
        D = Payload,
        R = Applied,
        NodeId = RaftNodeId,
        Node = RaftNode,
        SnapshotData = Bytes,
        AsyncRuntime = crate::runtime::Runtime,
);

pub(crate) type RaftEntry = openraft::Entry<Raft>;
pub(crate) type RaftLogId = openraft::LogId<RaftNodeId>;
pub(crate) type RaftVote = openraft::Vote<RaftNodeId>;
pub(crate) type RaftMembership = openraft::StoredMembership<RaftNodeId, RaftNode>;
pub(crate) type RaftStorageError = openraft::StorageError<RaftNodeId>;

/// A raft node id *is* the directory id (Q1): a wiped directory is another voter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct RaftNodeId(pub(crate) [u8; 16]);

impl fmt::Display for RaftNodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DirectoryId(self.0).fmt(f)
    }
}

impl From<DirectoryId> for RaftNodeId {
    fn from(directory: DirectoryId) -> Self {
        Self(directory.0)
    }
}

impl From<RaftNodeId> for DirectoryId {
    fn from(node: RaftNodeId) -> Self {
        Self(node.0)
    }
}

/// A raft node: which broker runs on it, and where it was reachable when it became a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RaftNode {
    pub(crate) broker: i32,
    pub(crate) addresses: Vec<(String, u16)>,
}

/// A member as raft stores it.
pub(crate) fn node_of(member: &QuorumMember) -> (RaftNodeId, RaftNode) {
    (member.directory.into(), RaftNode { broker: member.broker.0, addresses: member.addresses.clone() })
}

/// A member as the controller names it.
pub(crate) fn member_of(id: RaftNodeId, node: &RaftNode) -> QuorumMember {
    QuorumMember { directory: id.into(), broker: BrokerId(node.broker), addresses: node.addresses.clone() }
}

/// One proposal, as the metadata log stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payload(pub(crate) Bytes);

/// The longest proposal in bytes: with its place in the log it still is a record.
pub const PROPOSAL_BYTES_MAX: usize = log_store::record_log::RECORD_BYTES_MAX - (64 << 10);

/// Applying answers nothing through raft: the proposer reads the outcome off its own copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Applied;

/// The metadata offset of a raft index. Both count from 0; an index beyond 2^63 cannot be reached.
pub(crate) fn offset_of(index: u64) -> MetadataOffset {
    MetadataOffset(i64::try_from(index).unwrap_or(i64::MAX))
}
