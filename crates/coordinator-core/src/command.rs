//! Commands on groups and their replies, in the protocol's words but without its encoding.

use core::time::Duration;

use bytes::Bytes;

use crate::error::GroupError;

/// Names a request that waits for its [`Reply`]; given by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestToken(pub u64);

/// A member enters the group, or enters it again.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Join {
    /// The group.
    pub group: String,
    /// The id given before; empty at first.
    pub member_id: String,
    /// The static id, if any.
    pub instance_id: Option<String>,
    /// The client's own name.
    pub client_id: String,
    /// Where it connected from.
    pub client_host: String,
    /// How long it may be silent.
    pub session_timeout: Duration,
    /// How long it may take to rejoin.
    pub rebalance_timeout: Duration,
    /// `consumer` for consumers.
    pub protocol_type: String,
    /// Each assignor it knows, the preferred first, with its subscription.
    pub protocols: Vec<(String, Bytes)>,
    /// Whether a first join is sent back with an id (JoinGroup 4 and later).
    pub member_id_required: bool,
    /// Whether the client understands that a rejoining static leader need not assign (JoinGroup 9).
    pub can_skip_assignment: bool,
}

/// A completed join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The generation.
    pub generation: i32,
    /// The protocol type.
    pub protocol_type: String,
    /// The assignor chosen.
    pub protocol: String,
    /// The member that assigns.
    pub leader: String,
    /// The member's own id.
    pub member_id: String,
    /// Whether the leader need not assign.
    pub skip_assignment: bool,
    /// All members with their subscriptions; only for the leader.
    pub members: Vec<JoinedMember>,
}

/// A member as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// Its id.
    pub member_id: String,
    /// Its static id.
    pub instance_id: Option<String>,
    /// Its subscription for the chosen assignor.
    pub subscription: Bytes,
}

/// A refused join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRefused {
    /// Why.
    pub error: GroupError,
    /// The id to join with, for [`GroupError::MemberIdRequired`]; otherwise the one sent.
    pub member_id: String,
}

/// Who speaks, with the generation that it knows.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Speaker {
    /// The group.
    pub group: String,
    /// The generation; −1 where none.
    pub generation: i32,
    /// The member.
    pub member_id: String,
    /// Its static id.
    pub instance_id: Option<String>,
}

/// A member asks for its assignment; the leader brings all of them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sync {
    /// Who.
    pub speaker: Speaker,
    /// The protocol type it believes in, if it says.
    pub protocol_type: Option<String>,
    /// The assignor it believes in, if it says.
    pub protocol: Option<String>,
    /// By member, from the leader only.
    pub assignments: Vec<(String, Bytes)>,
}

/// A member's assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The protocol type.
    pub protocol_type: String,
    /// The assignor.
    pub protocol: String,
    /// Opaque to the coordinator.
    pub assignment: Bytes,
}

/// Members that leave.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Leave {
    /// The group.
    pub group: String,
    /// Who: by member id, or by static id with an empty member id.
    pub members: Vec<LeavingMember>,
}

/// One member that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LeavingMember {
    /// Its id; may be empty if it is static.
    pub member_id: String,
    /// Its static id.
    pub instance_id: Option<String>,
}

/// Offsets to commit.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Commit {
    /// Who; generation −1 and no member for one that manages its partitions itself.
    pub speaker: Speaker,
    /// The offsets.
    pub offsets: Vec<CommitOffset>,
}

/// One offset to commit.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CommitOffset {
    /// The topic's name.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// The leader epoch of the record before; −1 if none.
    pub leader_epoch: i32,
    /// What the client stores with it.
    pub metadata: String,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To [`Join`].
    Joined(Result<Joined, JoinRefused>),
    /// To [`Sync`].
    Synced(Result<Synced, GroupError>),
    /// To [`Leave`]: one result for each member, in the order asked.
    Left(Vec<Result<(), GroupError>>),
    /// To [`Commit`]: one result for each offset, in the order asked.
    Committed(Vec<Result<(), GroupError>>),
    /// To the deletion of groups: one result for each, in the order asked.
    GroupsDeleted(Vec<Result<(), GroupError>>),
    /// To the deletion of offsets: one result for each, in the order asked.
    OffsetsDeleted(Result<Vec<Result<(), GroupError>>, GroupError>),
}

/// A group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// The group.
    pub group: String,
    /// `consumer` for consumers; empty for a group that only stores offsets.
    pub protocol_type: String,
    /// Its state, as tools know it.
    pub state: &'static str,
}

/// A group in detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedGroup {
    /// Its state, as tools know it.
    pub state: &'static str,
    /// `consumer` for consumers.
    pub protocol_type: String,
    /// The assignor, while the group is stable.
    pub protocol: String,
    /// Its members.
    pub members: Vec<DescribedMember>,
}

/// A member in detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// Its id.
    pub member_id: String,
    /// Its static id.
    pub instance_id: Option<String>,
    /// The client's own name.
    pub client_id: String,
    /// Where it connected from.
    pub client_host: String,
    /// Its subscription, while the group is stable.
    pub subscription: Bytes,
    /// Its assignment, while the group is stable.
    pub assignment: Bytes,
}
