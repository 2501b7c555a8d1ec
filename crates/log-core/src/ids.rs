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
    ($(#[$doc:meta])* $name:ident, $written:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $written(&self.0, f)
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
    TopicId,
    hex
);
id128!(
    /// A log directory, made once when the directory is formatted; it is also the broker's raft node id.
    DirectoryId,
    hex
);
id128!(
    /// A cluster, made once by the node that forms it. Written as Kafka's clients see it.
    ClusterId,
    base64
);

/// Hexadecimal, as names of directories have it.
fn hex(id: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// 22 characters of URL-safe base64 without padding (RFC 4648, section 5).
fn base64(id: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = u128::from_be_bytes(*id);
    // 21 sextets from the top, then the last two bits and four zero bits.
    let sextets = (0..21u32).map(|index| (bits >> (122 - 6 * index)) & 63);
    sextets.chain([(bits << 4) & 63]).try_for_each(|sextet| {
        let at = sextet as usize;
        f.write_str(ALPHABET.get(at..=at).expect("a sextet is below 64"))
    })
}

/// A partition of a topic in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopicPartition {
    /// The topic.
    pub topic_id: TopicId,
    /// The partition in it.
    pub partition: PartitionIndex,
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_cluster_is_written_as_kafka_clients_see_it_and_a_topic_as_its_directory() {
        let id = |last: u128| (0x0123_4567_89ab_cdef_0123_4567_89ab_cd00 | last).to_be_bytes();
        assert_eq!(ClusterId(id(0xef)).to_string(), "ASNFZ4mrze8BI0VniavN7w");
        assert_eq!(ClusterId([0xff; 16]).to_string(), "_____________________w");
        assert_eq!(TopicId(id(0xef)).to_string(), "0123456789abcdef0123456789abcdef");
    }
}
