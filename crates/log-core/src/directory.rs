//! Names in a data directory that the log decides: where a partition lives and what its files are called.
//!
//! ```text
//! topics/<topic id, 32 hex digits>/<partition>/
//!     00000000000000000000.log .index .timeindex .checksums .chain .snapshot
//!     leader-epoch-checkpoint
//!     bound
//!     quarantine/
//! ```

use alloc::string::String;

use crate::ids::{PartitionIndex, TopicId, TopicPartition};

/// The directory of all topics.
pub const TOPICS_DIR: &str = "topics";

/// In a partition's directory: the leader-epoch cache.
pub const LEADER_EPOCH_FILE: &str = "leader-epoch-checkpoint";

/// In a partition's directory: the durable bound, in two slots.
pub const BOUND_FILE: &str = "bound";

/// In a partition's directory: copies of what was cut from a suspect log.
pub const QUARANTINE_DIR: &str = "quarantine";

/// The directory of a topic, relative to the data directory.
#[must_use]
pub fn topic_dir(topic_id: TopicId) -> String {
    alloc::format!("{TOPICS_DIR}/{topic_id}")
}

/// The directory of a partition, relative to the data directory.
#[must_use]
pub fn partition_dir(of: &TopicPartition) -> String {
    alloc::format!("{TOPICS_DIR}/{}/{}", of.topic_id, of.partition)
}

/// Reads the name of a topic's directory; `None` unless it is 32 lower-case hex digits.
#[must_use]
pub fn parse_topic_dir(name: &str) -> Option<TopicId> {
    let mut id = [0; 16];
    let (pairs, rest) = name.as_bytes().as_chunks::<2>();
    if pairs.len() != id.len() || !rest.is_empty() {
        return None;
    }
    for (byte, &[high, low]) in id.iter_mut().zip(pairs) {
        *byte = hex_digit(high)? << 4 | hex_digit(low)?;
    }
    Some(TopicId(id))
}

/// Reads the name of a partition's directory; `None` unless it is a number as [`partition_dir`] writes it.
#[must_use]
pub fn parse_partition_dir(name: &str) -> Option<PartitionIndex> {
    let partition = name.parse().ok().filter(|partition| *partition >= 0).map(PartitionIndex)?;
    (alloc::format!("{partition}") == name).then_some(partition)
}

const fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn other_names_are_no_partition() {
        for name in ["", "-1", "+1", "01", "1 ", "2147483648", "../0", "x"] {
            assert_eq!(parse_partition_dir(name), None, "{name}");
        }
        for name in ["", "../..", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcde"] {
            assert_eq!(parse_topic_dir(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_directory_is_read_back(id: [u8; 16], partition in 0..=i32::MAX) {
            let of = TopicPartition { topic_id: TopicId(id), partition: PartitionIndex(partition) };
            let path = partition_dir(&of);
            let mut parts = path.split('/');
            prop_assert_eq!(parts.next(), Some(TOPICS_DIR));
            prop_assert_eq!(parts.next().and_then(parse_topic_dir), Some(of.topic_id));
            prop_assert_eq!(parts.next().and_then(parse_partition_dir), Some(of.partition));
        }

        #[test]
        fn arbitrary_text_gives_a_name_or_nothing(text: String) {
            let _ = (parse_topic_dir(&text), parse_partition_dir(&text));
        }
    }
}
