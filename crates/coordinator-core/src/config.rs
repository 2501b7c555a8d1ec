//! The coordinator's settings.

use core::time::Duration;

/// Bounds and delays of all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// The shortest session timeout accepted.
    pub session_timeout_min: Duration,
    /// The longest session timeout accepted.
    pub session_timeout_max: Duration,
    /// How long an empty group waits for more members before its first rebalance ends.
    pub initial_rebalance_delay: Duration,
    /// The greatest number of members of a group.
    pub members_max: usize,
    /// How long offsets of an empty group are kept.
    pub offsets_retention: Duration,
    /// The greatest length of an offset's metadata, in bytes.
    pub offset_metadata_bytes_max: usize,
    /// How often expired offsets are looked for.
    pub expiry_interval: Duration,
}

impl Default for GroupConfig {
    /// Kafka's defaults, but for the initial delay: 3 s there, which makes every start of a consumer slow.
    fn default() -> Self {
        Self {
            session_timeout_min: Duration::from_secs(6),
            session_timeout_max: Duration::from_secs(1_800),
            initial_rebalance_delay: Duration::from_millis(100),
            members_max: 10_000,
            offsets_retention: Duration::from_secs(7 * 24 * 3_600),
            offset_metadata_bytes_max: 4_096,
            expiry_interval: Duration::from_secs(600),
        }
    }
}
