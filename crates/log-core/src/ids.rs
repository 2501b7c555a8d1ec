//! Identifiers that travel: one newtype each, so that no two can be exchanged by mistake.

use core::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// A broker, chosen by its operator; stable across restarts.
    BrokerId(i32)
);
number!(
    /// The metadata offset of a broker's registration record: grows with each registration.
    BrokerEpoch(i64)
);
number!(
    /// One leadership of a partition: grows with each election. Travels in every batch header.
    LeaderEpoch(i32)
);
number!(
    /// Grows with each applied change of a partition's leader, ISR, ELR or replicas.
    PartitionEpoch(i32)
);
number!(
    /// A partition within its topic, from 0.
    PartitionIndex(i32)
);
number!(
    /// A position in the metadata log, which is also the index of its raft entry.
    MetadataOffset(i64)
);
number!(
    /// An idempotent producer; unique in the cluster.
    ProducerId(i64)
);
number!(
    /// Fences older incarnations of one producer id.
    ProducerEpoch(i16)
);
number!(
    /// The number of a producer's record in a partition; wraps from `i32::MAX` to 0.
    Sequence(i32)
);
number!(
    /// One process start of a broker: grows with each start, by the wall clock of that start in microseconds.
    Incarnation(u64)
);
number!(
    /// One replication stream of a follower and partition: grows with each stream.
    Session(u64)
);

impl LeaderEpoch {
    /// Stands for "no epoch" on the wire.
    pub const NONE: Self = Self(-1);
}

impl ProducerId {
    /// Stands for "not idempotent" on the wire.
    pub const NONE: Self = Self(-1);
}

impl ProducerEpoch {
    /// Stands for "not idempotent" on the wire.
    pub const NONE: Self = Self(-1);
}

impl Sequence {
    /// Stands for "not idempotent" on the wire.
    pub const NONE: Self = Self(-1);

    /// This sequence moved on by `records`, which is not negative; after `i32::MAX` comes 0.
    #[must_use]
    pub const fn plus(self, records: i32) -> Self {
        Self(self.0.wrapping_add(records) & i32::MAX)
    }
}

macro_rules! id128 {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id128!(
    /// A topic from its creation to its deletion; a topic made again under the same name has another one.
    /// Zero means "none" on the wire and is never given to a topic.
    TopicId
);
id128!(
    /// A log directory, made once when the directory is formatted; it is also the broker's raft node id.
    DirectoryId
);
id128!(
    /// A cluster, made once by the node that forms it.
    ClusterId
);

/// A partition of a topic in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopicPartition {
    /// The topic.
    pub topic_id: TopicId,
    /// The partition in it.
    pub partition: PartitionIndex,
}
