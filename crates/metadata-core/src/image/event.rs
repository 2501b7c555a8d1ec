//! What operators should have seen: elections that may have lost, or did lose, records.

use log_core::{BrokerId, LeaderEpoch, MetadataOffset, Offset, Timestamp, TopicPartition};
use serde::{Deserialize, Serialize};

use crate::record::ShownEnd;

/// How many events are kept; the oldest make room.
pub const CLUSTER_EVENTS_MAX: usize = 100;

/// Something that operators should see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterEvent {
    /// The record that caused it.
    pub offset: MetadataOffset,
    /// When that was proposed.
    pub time: Timestamp,
    /// What it is.
    pub kind: ClusterEventKind,
}

/// What operators should see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterEventKind {
    /// All who could lead were suspect: the one with the most was elected. Records may be lost (C5).
    SuspectElected {
        /// The partition.
        partition: TopicPartition,
        /// The new leader.
        leader: BrokerId,
        /// Its last leader epoch.
        last_epoch: LeaderEpoch,
        /// Its log end.
        end: Offset,
    },
    /// An operator elected a replica outside ISR and ELR, or ended a wait. Records are lost (C5).
    UncleanElection {
        /// The partition.
        partition: TopicPartition,
        /// The new leader.
        leader: BrokerId,
        /// Who had a seat before.
        former: Vec<BrokerId>,
        /// What the operator was shown.
        shown: Vec<ShownEnd>,
    },
}
