//! Groups in the words of the user.

use std::sync::Arc;

use crate::error::ClientError;

/// One line of the list of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupListing {
    /// The name.
    pub group: Arc<str>,
    /// By which protocol its members share partitions.
    pub protocol: GroupProtocol,
    /// What its members are: `consumer` for consumers, empty for a group that never had members.
    pub protocol_type: Arc<str>,
    /// Its state; none if the broker does not say (Kafka before 2.6).
    pub state: Option<GroupState>,
}

/// By which protocol the members of a group share partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupProtocol {
    /// A member divides them.
    Classic,
    /// The coordinator divides them (KIP-848).
    Consumer,
    /// Something else, by Kafka's name.
    Other(Arc<str>),
}

/// What a group is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupState {
    /// It has no members.
    Empty,
    /// Members are waited for, to divide partitions anew.
    PreparingRebalance,
    /// The partitions are being divided.
    CompletingRebalance,
    /// Every member has its partitions.
    Stable,
    /// The coordinator is dividing partitions (consumer protocol).
    Assigning,
    /// Members give up and take over partitions (consumer protocol).
    Reconciling,
    /// Something else, by Kafka's name.
    Other(Arc<str>),
}

/// A group with its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// The name.
    pub group: Arc<str>,
    /// By which protocol its members share partitions.
    pub protocol: GroupProtocol,
    /// What its members are: `consumer` for consumers, empty for a group that never had members.
    pub protocol_type: Arc<str>,
    /// Its state.
    pub state: GroupState,
    /// How partitions are divided: `range`, `uniform`, ...; empty while they are not.
    pub assignor: Arc<str>,
    /// The broker that coordinates it.
    pub coordinator: i32,
    /// The members, by id.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Its id, given by the coordinator.
    pub member_id: Arc<str>,
    /// Its own name, if it is static.
    pub instance_id: Option<Arc<str>>,
    /// What its client calls itself.
    pub client_id: Arc<str>,
    /// From where it is connected.
    pub host: Arc<str>,
    /// The partitions that it has, by topic; empty for members that are no consumers.
    pub assigned: Vec<(Arc<str>, u32)>,
}

/// How far a group is behind in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLag {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The offset of the next record to be read, as it is committed; none if nothing is.
    pub committed: Option<i64>,
    /// The offset of the next record to be committed in the log, or why nobody can tell.
    pub end: Result<i64, ClientError>,
}

/// Where a group shall go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetTo {
    /// At the first record that is kept.
    Earliest,
    /// Behind the last record.
    Latest,
    /// At this offset; at the nearest one where the log does not reach so far.
    Offset(i64),
    /// At the first record at or after this time, in milliseconds since 1970; behind the last one if there is none.
    Timestamp(i64),
    /// So many records after the committed position, or before it where negative, within what the log has.
    Shift(i64),
}

/// A reset of one partition's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReset {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The offset that is committed; none if nothing is.
    pub before: Option<i64>,
    /// The offset to be committed, or why there is none.
    pub after: Result<i64, ClientError>,
}

impl GroupProtocol {
    /// Kafka's name of it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
            Self::Other(name) => name,
        }
    }

    /// Brokers that do not tell know the classic one alone.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "" | "classic" => Self::Classic,
            "consumer" => Self::Consumer,
            other => Self::Other(other.into()),
        }
    }
}

impl GroupState {
    /// Kafka's name of it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Other(name) => name,
        }
    }

    pub(super) fn named(name: &str) -> Self {
        match name {
            "Empty" => Self::Empty,
            "PreparingRebalance" => Self::PreparingRebalance,
            "CompletingRebalance" => Self::CompletingRebalance,
            "Stable" => Self::Stable,
            "Assigning" => Self::Assigning,
            "Reconciling" => Self::Reconciling,
            other => Self::Other(other.into()),
        }
    }
}

impl GroupLag {
    /// Offsets between the committed position and the end; none if one of them is not known.
    #[must_use]
    pub fn records(&self) -> Option<i64> {
        let (committed, end) = (self.committed?, *self.end.as_ref().ok()?);
        Some(end.saturating_sub(committed).max(0))
    }
}
