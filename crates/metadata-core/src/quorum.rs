//! The metadata quorum as Control sees it: one agreed log, of which Control keeps its own fsynced copy (Q1).
//!
//! # Laws that an implementation keeps
//!
//! 1. **One log.** Every node is shown the same entry at the same offset, in order, without gaps, once it is agreed by a
//!    majority of voters. Entries that the quorum wrote for itself (blank, membership) are shown as `None`, so that an
//!    offset is a raft index everywhere and a broker epoch means the same on all nodes.
//! 2. **Durable first.** A vote and an appended entry are fsynced before they are answered. What this trait shows as
//!    committed is agreed; it is *not* yet in this broker's copy. Control appends it there, fsyncs, applies, and only then
//!    calls [`MetadataQuorum::applied`].
//! 3. **Redelivery.** After a start, entries or a snapshot at or below the offset given to `applied` before may be shown
//!    again; Control skips them. Nothing above it is ever left out.
//! 4. **Fire and forget.** A proposal may be agreed, lost, or agreed late, even after the leadership that took it has
//!    ended; at most the entry's [`ProposalId`] tells. It is never agreed more than once for one call of `propose`.
//! 5. **Nothing blocks** in any method: an implementation answers from what it holds and works elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use log_core::{BrokerId, DirectoryId, MetadataOffset};

use crate::record::ProposalId;

/// Agreement on the metadata log. See the module's laws.
pub trait MetadataQuorum {
    /// Asks for an entry to be agreed. On a node that does not lead it is dropped: Control sends proposals to the
    /// leader's broker itself.
    fn propose(&mut self, proposal: Proposal);

    /// The next thing that happened; none if nothing did since.
    fn poll_event(&mut self) -> Option<QuorumEvent>;

    /// This broker has appended, fsynced and applied everything up to and including `upto` (Q1).
    fn applied(&mut self, upto: MetadataOffset);

    /// A snapshot of the image after `upto`: the quorum may drop its entries up to there and sends it to nodes that are
    /// too far behind.
    fn offer_snapshot(&mut self, upto: MetadataOffset, bytes: Bytes);

    /// Forms a quorum of this node alone. Only for a directory that belongs to no cluster; ignored once there are voters.
    fn form(&mut self, own: QuorumMember);

    /// Asks, on the leader, for these members; takes effect one step at a time, keeping quorums that overlap. A call
    /// while a change is under way is dropped, and asked again by the controller.
    fn change_members(&mut self, members: Members);

    /// On the leader, which is about to stop: asks the one of `among` whose log is the most complete to lead instead. False if
    /// there is none, or this node does not lead; true promises nothing: who leads is shown by an event.
    fn hand_over(&mut self, among: &BTreeSet<DirectoryId>) -> bool {
        let _ = among;
        false
    }

    /// How the quorum stands for this node, from memory.
    fn status(&self) -> QuorumStatus;
}

/// An entry to be agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Whose it is; also in the bytes.
    pub id: ProposalId,
    /// The bytes of an [`Entry`](crate::Entry).
    pub bytes: Bytes,
}

/// Something that happened in the quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumEvent {
    /// These entries are agreed; consecutive, ascending.
    Committed {
        /// The entries.
        entries: Vec<CommittedEntry>,
    },
    /// Who leads, as far as this node knows. On the leader itself it is shown only after every entry of earlier terms
    /// has been shown as committed.
    Leader {
        /// The raft term.
        term: u64,
        /// The leader; none if unknown.
        leader: Option<DirectoryId>,
        /// Whether it is this node.
        is_self: bool,
    },
    /// This node is too far behind for entries: the image as it is after `upto` replaces its own.
    Snapshot {
        /// The last offset in it.
        upto: MetadataOffset,
        /// The bytes that some node gave to `offer_snapshot`.
        bytes: Bytes,
    },
    /// The quorum's own storage failed; this node may not vote any more and has to stop (D5).
    Poisoned,
}

/// An agreed entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedEntry {
    /// Its offset.
    pub offset: MetadataOffset,
    /// Its bytes; none if the quorum wrote it for itself.
    pub bytes: Option<Bytes>,
}

/// A node of the quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumMember {
    /// The raft node id *is* the directory id: a wiped disk is another node (M9).
    pub directory: DirectoryId,
    /// The broker that runs on it.
    pub broker: BrokerId,
    /// Host and port pairs where its quorum is reached.
    pub addresses: Vec<(String, u16)>,
}

/// The wished-for members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// All nodes, voters and observers.
    pub nodes: BTreeMap<DirectoryId, QuorumMember>,
    /// Those that vote.
    pub voters: BTreeSet<DirectoryId>,
}

/// How the quorum stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumStatus {
    /// The raft term.
    pub term: u64,
    /// The leader, if known.
    pub leader: Option<DirectoryId>,
    /// The members as last agreed, whether or not a change is under way.
    pub members: Members,
    /// Whether a change of members is under way.
    pub changing: bool,
    /// The last agreed offset that this node knows of; none before the first.
    pub committed: Option<MetadataOffset>,
    /// On the leader: how far each node's log is known to reach. Empty elsewhere.
    pub matched: BTreeMap<DirectoryId, MetadataOffset>,
}
