//! What a machine knows of its partition: what the applied metadata log says, and where its own log stands.

use alloc::vec::Vec;
use core::time::Duration;

use log_core::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionEpoch, TopicPartition};

use crate::mutation::{Mutation, on};

/// A partition as the applied metadata log shows it. Views are handed in whole, in the order of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionView {
    /// The partition.
    pub partition: TopicPartition,
    /// Its leader, if one is elected.
    pub leader: Option<BrokerId>,
    /// The leadership; grows with each election.
    pub leader_epoch: LeaderEpoch,
    /// Grows with each applied change of the partition.
    pub partition_epoch: PartitionEpoch,
    /// The committed ISR.
    pub isr: Vec<BrokerId>,
    /// The members eligible beside the ISR.
    pub elr: Vec<BrokerId>,
    /// min(`min.insync.replicas`, replication factor), in members.
    pub effective_min_isr: usize,
    /// Every broker knows the frame by which followers confirm their log starts (L11).
    pub confirms_log_starts: bool,
    /// All replicas, assigned and being added, in no order.
    pub replicas: Vec<ReplicaView>,
}

/// One replica as the applied metadata log shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaView {
    /// Its broker.
    pub broker: BrokerId,
    /// Under which epoch the replica is known: its broker's current registration, or a later point at which this
    /// replica was reset. What was said of it under another one does not count.
    pub broker_epoch: BrokerEpoch,
    /// The broker has no session.
    pub fenced: bool,
    /// The broker is about to stop.
    pub shutting_down: bool,
    /// The replica was found damaged.
    pub faulty: bool,
    /// The replica may have lost the end of its log (C5).
    pub suspect: bool,
}

/// Where a replica's log stands when a machine begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogFacts {
    /// First offset kept.
    pub log_start: Offset,
    /// Where the batch begins that holds the log start: below it in a log of which records were deleted up to the midst of a
    /// batch. Replicas exchange whole batches. None while it could not be looked for: no stream begins until it is known.
    pub first_batch: Option<Offset>,
    /// The log start that a start after a power cut would find.
    pub durable_log_start: Offset,
    /// The high watermark that this replica knows.
    pub high_watermark: Offset,
    /// The offset after the last batch written.
    pub appended_end: Offset,
    /// The largest offset below which all is fsynced.
    pub durable_end: Offset,
    /// The epoch of the last batch; `None` in a log without batches.
    pub last_epoch: Option<LeaderEpoch>,
    /// A cut is running (D4).
    pub cutting: bool,
}

/// Times and sizes of both machines; the same for all partitions of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a durable end may lag before its owner leaves the ISR, or a leader resigns (L5).
    pub lag_max: Duration,
    /// How long a leader waits for the answer to an ISR proposal before it repeats it (L6).
    pub isr_answer_timeout: Duration,
    /// First pause before something refused or lost is tried again; doubles each time, with jitter.
    pub backoff_min: Duration,
    /// Longest such pause.
    pub backoff_max: Duration,
    /// How long a follower waits for a leader's lineage.
    pub handshake_timeout: Duration,
    /// Most bytes of batches in one push; a single batch may be larger.
    pub push_bytes_max: usize,
    /// Bytes that a follower takes beyond what is durable on its disk: the credit of a partition.
    pub window_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lag_max: Duration::from_secs(10),
            isr_answer_timeout: Duration::from_millis(1500),
            backoff_min: Duration::from_millis(20),
            backoff_max: Duration::from_secs(1),
            handshake_timeout: Duration::from_secs(3),
            push_bytes_max: 1 << 20,
            window_bytes: 8 << 20,
        }
    }
}

impl PartitionView {
    /// The replica on `broker`, if there is one.
    #[must_use]
    pub fn replica(&self, broker: BrokerId) -> Option<&ReplicaView> {
        self.replicas.iter().find(|replica| replica.broker == broker)
    }

    /// Whether `broker` is in the committed ISR.
    #[must_use]
    pub fn in_isr(&self, broker: BrokerId) -> bool {
        self.isr.contains(&broker)
    }

    /// Whether `broker` holds a seat: in the ISR or the ELR.
    #[must_use]
    pub fn has_seat(&self, broker: BrokerId) -> bool {
        self.in_isr(broker) || self.elr.contains(&broker)
    }

    /// Members of the committed ISR that count where a number of members is compared with min ISR: not the suspect
    /// ones.
    #[must_use]
    pub fn sound_isr_members(&self) -> usize {
        self.isr
            .iter()
            .filter(|&&broker| {
                self.replica(broker).is_some_and(|replica| !replica.suspect || on(Mutation::C19))
            })
            .count()
    }

    /// Whether the high watermark may move and `acks=all` may be accepted (L2, L3).
    #[must_use]
    pub fn has_min_isr(&self) -> bool {
        self.sound_isr_members() >= self.effective_min_isr
    }
}
