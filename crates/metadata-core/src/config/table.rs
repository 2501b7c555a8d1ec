//! The one table of configuration keys: name, type, range, default, documentation.

use super::InvalidConfig;

/// A configuration key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigDef {
    /// The key of a topic; none if topics do not have it.
    pub topic: Option<&'static str>,
    /// The key of the cluster-wide default; none if there is none.
    pub cluster: Option<&'static str>,
    /// Type and range.
    pub kind: Kind,
    /// The value if nobody sets it.
    pub default: &'static str,
    /// What it does and why one would change it.
    pub doc: &'static str,
}

/// Type and range of a configuration value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of 32 bits, from `min` to `max`.
    Int {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// A whole number of 64 bits, from `min` to `max`.
    Long {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// `true` or `false`, as far as allowed.
    Boolean {
        /// The values allowed.
        allowed: &'static [&'static str],
    },
    /// One of some words.
    Choice {
        /// The words allowed.
        allowed: &'static [&'static str],
    },
    /// Some of some words, separated by commas; at least one.
    List {
        /// The words allowed.
        allowed: &'static [&'static str],
    },
}

/// Whose key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A topic's.
    Topic,
    /// The cluster's.
    Cluster,
}

const EITHER: &[&str] = &["true", "false"];

/// Every key, in the order in which they are shown.
pub const CONFIGS: &[ConfigDef] = &[
    ConfigDef {
        topic: Some("cleanup.policy"),
        cluster: Some("log.cleanup.policy"),
        kind: Kind::List { allowed: &["delete"] },
        default: "delete",
        doc: "What happens to old records: delete drops whole segments by age and size.",
    },
    ConfigDef {
        topic: Some("retention.ms"),
        cluster: Some("log.retention.ms"),
        kind: Kind::Long { min: -1, max: i64::MAX },
        default: "604800000",
        doc: "How long records are kept, in milliseconds (default 7 days); -1 keeps them for ever. Raise it for consumers that may be away longer.",
    },
    ConfigDef {
        topic: Some("retention.bytes"),
        cluster: Some("log.retention.bytes"),
        kind: Kind::Long { min: -1, max: i64::MAX },
        default: "-1",
        doc: "How many bytes each partition keeps; -1 sets no bound. Set it to bound the disk that a topic may take.",
    },
    ConfigDef {
        topic: Some("segment.bytes"),
        cluster: Some("log.segment.bytes"),
        kind: Kind::Int { min: 1_024, max: i32::MAX as i64 },
        default: "1073741824",
        doc: "The size in bytes at which a segment is closed and the next begun. Retention drops whole segments: smaller ones follow it closer.",
    },
    ConfigDef {
        topic: Some("segment.ms"),
        cluster: Some("log.roll.ms"),
        kind: Kind::Long { min: 1, max: i64::MAX },
        default: "604800000",
        doc: "The age in milliseconds at which a segment is closed even if it is small. Lower it where little is written and retention is short.",
    },
    ConfigDef {
        topic: Some("min.insync.replicas"),
        cluster: Some("min.insync.replicas"),
        kind: Kind::Int { min: 1, max: i32::MAX as i64 },
        default: "2",
        doc: "How many replicas must have fsynced a record before it is committed (at most the replication factor). Raise it to survive the loss of more disks, at the price of availability.",
    },
    ConfigDef {
        topic: Some("max.message.bytes"),
        cluster: Some("message.max.bytes"),
        kind: Kind::Int { min: 1, max: 104_857_600 },
        default: "1048588",
        doc: "The largest record batch in bytes, as it is sent. Raise it for large records; consumers must fetch as much.",
    },
    ConfigDef {
        topic: Some("message.timestamp.type"),
        cluster: Some("log.message.timestamp.type"),
        kind: Kind::Choice { allowed: &["CreateTime", "LogAppendTime"] },
        default: "CreateTime",
        doc: "Whose clock stamps records: the producer's (CreateTime) or the broker's (LogAppendTime).",
    },
    ConfigDef {
        topic: Some("message.timestamp.before.max.ms"),
        cluster: Some("log.message.timestamp.before.max.ms"),
        kind: Kind::Long { min: 0, max: i64::MAX },
        default: "9223372036854775807",
        doc: "How far a record's CreateTime may lie before the broker's clock, in milliseconds; older records are refused.",
    },
    ConfigDef {
        topic: Some("message.timestamp.after.max.ms"),
        cluster: Some("log.message.timestamp.after.max.ms"),
        kind: Kind::Long { min: 0, max: i64::MAX },
        default: "3600000",
        doc: "How far a record's CreateTime may lie after the broker's clock, in milliseconds; later records are refused, since they would outlive retention.",
    },
    ConfigDef {
        topic: Some("compression.type"),
        cluster: Some("compression.type"),
        kind: Kind::Choice { allowed: &["producer"] },
        default: "producer",
        doc: "How batches are stored: as the producer compressed them.",
    },
    ConfigDef {
        topic: Some("unclean.leader.election.enable"),
        cluster: Some("unclean.leader.election.enable"),
        kind: Kind::Boolean { allowed: &["false"] },
        default: "false",
        doc: "Always false: a replica that may lack committed records leads only by an operator's command, which is recorded as a loss.",
    },
    ConfigDef {
        topic: None,
        cluster: Some("num.partitions"),
        kind: Kind::Int { min: 1, max: crate::image::PARTITIONS_PER_TOPIC_MAX as i64 },
        default: "1",
        doc: "How many partitions a topic gets when its creator does not say.",
    },
    ConfigDef {
        topic: None,
        cluster: Some("default.replication.factor"),
        kind: Kind::Int { min: 1, max: crate::image::REPLICATION_FACTOR_MAX as i64 },
        default: "3",
        doc: "How many replicas a topic gets when its creator does not say; fewer while there are fewer brokers.",
    },
    ConfigDef {
        topic: None,
        cluster: Some("auto.create.topics.enable"),
        kind: Kind::Boolean { allowed: EITHER },
        default: "true",
        doc: "Whether a topic is made when a client that allows it first names it. Switch it off where typing errors should not make topics.",
    },
    ConfigDef {
        topic: None,
        cluster: Some("offsets.topic.num.partitions"),
        kind: Kind::Int { min: 1, max: 1_000 },
        default: "8",
        doc: "How many partitions __consumer_offsets gets when it is made; it spreads group coordinators over brokers.",
    },
    ConfigDef {
        topic: None,
        cluster: Some("producer.id.expiration.ms"),
        kind: Kind::Int { min: 1, max: i32::MAX as i64 },
        default: "86400000",
        doc: "How long an idle producer's sequence numbers are remembered, in milliseconds (default 24 h).",
    },
];

impl ConfigDef {
    /// The key's name in a scope.
    #[must_use]
    pub const fn name(&self, scope: Scope) -> Option<&'static str> {
        match scope {
            Scope::Topic => self.topic,
            Scope::Cluster => self.cluster,
        }
    }
}

/// The key of that name.
///
/// # Errors
///
/// If there is none in that scope; the error names the one that resembles it most.
pub fn find(scope: Scope, key: &str) -> Result<&'static ConfigDef, InvalidConfig> {
    CONFIGS.iter().find(|def| def.name(scope) == Some(key)).ok_or_else(|| InvalidConfig::UnknownKey {
        key: key.chars().take(80).collect(),
        nearest: nearest(scope, key),
    })
}

fn nearest(scope: Scope, key: &str) -> &'static str {
    let names = CONFIGS.iter().filter_map(|def| def.name(scope));
    names.min_by_key(|name| distance(name, key)).unwrap_or_default()
}

/// The number of single-character edits between two names (Levenshtein), of the first 80 characters.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(80).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.chars().enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        if let Some(first) = row.first_mut() {
            *first = before;
        }
        for (cell, to) in row.iter_mut().skip(1).zip(&right) {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = *cell;
            *cell = replaced.min(diagonal + 1).min(before + 1);
            before = *cell;
        }
    }
    row.last().copied().unwrap_or_default()
}
