//! What a topic and the cluster are set to, as typed values: resolved once when a record changes them.

use super::value::{ConfigMap, resolve};

/// What a topic is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicSettings {
    /// How long records are kept, in milliseconds; none for ever.
    pub retention_ms: Option<i64>,
    /// How many bytes a partition keeps; none without bound.
    pub retention_bytes: Option<i64>,
    /// When a segment rolls by size, in bytes.
    pub segment_bytes: i32,
    /// When a segment rolls by age, in milliseconds.
    pub segment_ms: i64,
    /// `min.insync.replicas` as set; the effective one is at most the replication factor.
    pub min_insync_replicas: i32,
    /// The largest record batch in bytes.
    pub max_message_bytes: i32,
    /// Whose clock stamps records.
    pub timestamp_type: TimestampType,
    /// How far a CreateTime may lie before the broker's clock, in milliseconds.
    pub timestamp_before_max_ms: i64,
    /// How far a CreateTime may lie after the broker's clock, in milliseconds.
    pub timestamp_after_max_ms: i64,
}

/// Whose clock stamps a topic's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's at append.
    LogAppendTime,
}

/// What the whole cluster is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Partitions of a topic whose creator does not say.
    pub num_partitions: i32,
    /// Replicas of a topic whose creator does not say.
    pub default_replication_factor: i16,
    /// Whether topics are made on first use.
    pub auto_create_topics: bool,
    /// Partitions of `__consumer_offsets` when it is made.
    pub offsets_topic_partitions: i32,
    /// How long an idle producer is remembered, in milliseconds.
    pub producer_id_expiration_ms: i64,
    /// What a topic without own configuration is set to.
    pub topic: TopicSettings,
}

impl TopicSettings {
    pub(crate) fn resolve(topic: &ConfigMap, cluster: &ConfigMap) -> Self {
        let number = |key| number(key, topic, cluster);
        Self {
            retention_ms: bounded(number("retention.ms")),
            retention_bytes: bounded(number("retention.bytes")),
            segment_bytes: narrow(number("segment.bytes")),
            segment_ms: number("segment.ms"),
            min_insync_replicas: narrow(number("min.insync.replicas")),
            max_message_bytes: narrow(number("max.message.bytes")),
            timestamp_type: match resolve("message.timestamp.type", topic, cluster) {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            timestamp_before_max_ms: number("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: number("message.timestamp.after.max.ms"),
        }
    }
}

impl ClusterSettings {
    pub(crate) fn resolve(cluster: &ConfigMap) -> Self {
        let none = ConfigMap::new();
        let number = |key| number(key, &none, cluster);
        Self {
            num_partitions: narrow(number("num.partitions")),
            default_replication_factor: i16::try_from(number("default.replication.factor"))
                .unwrap_or(i16::MAX),
            auto_create_topics: resolve("auto.create.topics.enable", &none, cluster) == "true",
            offsets_topic_partitions: narrow(number("offsets.topic.num.partitions")),
            producer_id_expiration_ms: number("producer.id.expiration.ms"),
            topic: TopicSettings::resolve(&none, cluster),
        }
    }
}

/// Values in the maps and defaults in the table are checked: a test parses each default.
fn number(key: &str, topic: &ConfigMap, cluster: &ConfigMap) -> i64 {
    resolve(key, topic, cluster).parse().expect("a checked value of a numeric key is a number")
}

fn narrow(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn bounded(number: i64) -> Option<i64> {
    (number >= 0).then_some(number)
}
