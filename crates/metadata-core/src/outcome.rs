//! What applying a record comes to: an answer for whoever proposed it, and a list of what changed.

use log_core::{
    BrokerEpoch, BrokerId, ClusterId, LeaderEpoch, PartitionEpoch, ProducerId, TopicId, TopicPartition,
};

use crate::error::Refusal;

/// What one applied record came to; the same on every broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer to whoever proposed it.
    pub result: Result<Answer, Refusal>,
    /// What is different in the image now; empty if refused.
    pub changes: Vec<Change>,
}

/// The answer to a record that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Done; there is nothing more to say.
    Done,
    /// A broker is registered.
    Registered {
        /// Its broker epoch: the offset of the record.
        broker_epoch: BrokerEpoch,
    },
    /// These were fenced; the others had registered anew or were fenced already.
    Fenced(Vec<BrokerId>),
    /// A topic is made.
    TopicCreated {
        /// Its id.
        topic_id: TopicId,
        /// Its number of partitions.
        partitions: i32,
        /// The replicas of each.
        replication_factor: i16,
    },
    /// A partition's ISR is changed.
    IsrChanged {
        /// The partition epoch now.
        partition_epoch: PartitionEpoch,
    },
    /// Each partition's election.
    Elected(Vec<(TopicPartition, Result<Elected, Refusal>)>),
    /// A block of producer ids that nobody else has.
    ProducerIds {
        /// The first.
        first: ProducerId,
        /// How many.
        count: u32,
    },
    /// A broker may join.
    Joined {
        /// The cluster that it joins.
        cluster_id: ClusterId,
        /// The id that is set aside for it.
        broker: BrokerId,
    },
}

/// The outcome of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elected {
    /// The leader now.
    pub leader: BrokerId,
    /// Its leader epoch.
    pub leader_epoch: LeaderEpoch,
}

/// Something that is different in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Change {
    /// The cluster was formed, or its feature level or defaults changed.
    Cluster,
    /// A broker's registration or standing.
    Broker(BrokerId),
    /// How pages in browsers reach a broker.
    BrowserDoor(BrokerId),
    /// A topic was made.
    TopicCreated(TopicId),
    /// A topic was deleted.
    TopicDeleted(TopicId),
    /// A topic's configuration, or the default behind it.
    TopicConfigs(TopicId),
    /// A partition's leader, ISR, ELR, replicas or epochs; also its making.
    Partition(TopicPartition),
    /// A deleted topic's mark changed or is gone.
    DeletedTopic(TopicId),
    /// Something that operators should see was recorded.
    Event,
    /// Join tokens, reserved ids, producer ids.
    Ledger,
}
