//! What a shard is told at its making. What can change while it runs comes with the cluster image.

use core::time::Duration;

use coordinator_core::GroupConfig;
use log_core::{BrokerId, Codecs, Crc32c};

use crate::door::ShardId;

/// A shard's settings.
#[derive(Clone, Debug)]
pub struct ShardConfig {
    /// This broker.
    pub broker: BrokerId,
    /// This shard.
    pub shard: ShardId,
    /// How many shards this broker has, at least 1.
    pub shards: u16,
    /// The CRC-32C used for batches.
    pub crc: Crc32c,
    /// The codecs, for batches whose timestamps have to be looked at and for group records.
    pub codecs: Codecs,
    /// Makes member ids and nothing else.
    pub seed: u64,
    /// Bounds on clients.
    pub limits: Limits,
    /// Bounds and delays of groups.
    pub groups: GroupConfig,
    /// Times and sizes of replication.
    pub replication: replica_core::Settings,
    /// Whether the log directory carried the clean mark at this start (D8).
    pub clean_start: bool,
    /// Bytes of the disk that appends leave for deletes, cuts and checkpoints.
    pub reserve_bytes: u64,
}

/// Bounds on what clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest request, in bytes (Kafka's `socket.request.max.bytes`). The driver enforces it.
    pub request_bytes_max: usize,
    /// Requests of one connection that run at once.
    pub requests_in_flight_max: usize,
    /// Bytes of requests of one connection that run at once; one request may always run.
    pub request_bytes_in_flight_max: usize,
    /// Bytes of requests of one connection that wait; beyond it nothing more is read from it.
    pub waiting_bytes_max: usize,
    /// Bytes of answers of one connection that the client has not taken; beyond it nothing is read from it.
    pub unsent_bytes_max: u64,
    /// How long a connection may be silent (Kafka's `connections.max.idle.ms`).
    pub idle: Duration,
    /// The most bytes of one Fetch answer (Kafka's `fetch.max.bytes`).
    pub fetch_bytes_max: u32,
    /// The longest a Fetch may wait.
    pub fetch_wait_max: Duration,
    /// The longest a Produce request may wait for its commit.
    pub produce_timeout_max: Duration,
    /// How long Metadata waits for the leaders of topics that it made.
    pub auto_create_wait: Duration,
    /// How long an administrative request waits at most.
    pub admin_timeout_max: Duration,
    /// The most bytes that decompressing one batch may give.
    pub decompressed_bytes_max: usize,
    /// Bytes of a partition of `__consumer_offsets` at which it is begun anew with the present state, if that is much
    /// shorter. The default is a guess: the next coordinator reads it in some hundredths of a second.
    pub groups_rewrite_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes_max: kafka_wire::FRAME_BYTES_MAX_DEFAULT,
            requests_in_flight_max: 1_024,
            request_bytes_in_flight_max: 64 << 20,
            waiting_bytes_max: 4 << 20,
            unsent_bytes_max: 16 << 20,
            idle: Duration::from_secs(600),
            fetch_bytes_max: 55 << 20,
            fetch_wait_max: Duration::from_secs(300),
            produce_timeout_max: Duration::from_secs(300),
            auto_create_wait: Duration::from_secs(5),
            admin_timeout_max: Duration::from_secs(120),
            decompressed_bytes_max: 128 << 20,
            groups_rewrite_bytes: 16 << 20,
        }
    }
}
