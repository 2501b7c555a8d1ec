//! How the replicas of a shard stand at one moment, for whoever looks from outside: health checks, oracles of tests.

use log_core::{BrokerId, LeaderEpoch, LogOffsets, TopicPartition};
use log_store::Disk;

use crate::shard::Shard;

/// How one replica stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaStanding {
    /// The partition.
    pub partition: TopicPartition,
    /// What the replica does.
    pub role: ReplicaRole,
    /// Log start, high watermark, durable end and log end.
    pub offsets: LogOffsets,
    /// Whether no recovery, cut or drop is running.
    pub settled: bool,
}

/// What a replica does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaRole {
    /// Neither: not registered, recovering, cutting, or without a leader.
    Idle,
    /// It leads.
    Leader(LeaderStanding),
    /// It follows.
    Follower,
    /// It is damaged, and served by nobody.
    Damaged,
    /// Its log is being closed.
    Closing,
}

/// What a leader believes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderStanding {
    /// The epoch that it leads.
    pub epoch: LeaderEpoch,
    /// The committed ISR that it has applied, and those whose addition is undecided.
    pub maximal_isr: Vec<BrokerId>,
    /// How many members of the committed ISR count towards min ISR.
    pub sound_isr: usize,
    /// The min ISR, at most the number of replicas.
    pub min_isr: usize,
}

impl<D: Disk> Shard<D> {
    /// How each replica of this shard stands, in order.
    pub fn replicas(&self) -> impl Iterator<Item = ReplicaStanding> {
        self.partitions.values().map(|partition| partition.standing())
    }
}
