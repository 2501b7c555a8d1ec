//! Configuration by Kafka's names: one table of keys, what a topic and the cluster are set to, and what a client is shown.
//!
//! A key has a name for topics, a name for cluster-wide defaults (the one a broker's file uses in Kafka), or both. A topic's
//! value is its own, else the cluster's, else the table's default.

mod describe;
mod settings;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use describe::{ConfigEntry, ConfigSource, describe_cluster, describe_topic};
pub use settings::{ClusterSettings, TimestampType, TopicSettings};
pub use table::{CONFIGS, ConfigDef, Kind, Scope, find};
pub use value::{ConfigMap, check};
pub(crate) use value::{edit, restore};

/// Why a key or a value is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// The key is not in the table, or not for that resource.
    #[error("unknown configuration key {key}; did you mean {nearest}?")]
    UnknownKey {
        /// The key given.
        key: String,
        /// The known key that resembles it most.
        nearest: &'static str,
    },
    /// A number that is none, or out of range.
    #[error("{key} is {value}: it must be a whole number from {min} to {max}")]
    Number {
        /// The key.
        key: &'static str,
        /// The value given.
        value: String,
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// A value that is not one of those allowed.
    #[error("{key} is {value}: allowed is {}", .allowed.join(", "))]
    Choice {
        /// The key.
        key: &'static str,
        /// The value given.
        value: String,
        /// The values allowed.
        allowed: &'static [&'static str],
    },
    /// Append or subtract on a key that holds no list.
    #[error("{key} is not a list: it can only be set or deleted")]
    NotAList {
        /// The key.
        key: &'static str,
    },
}
