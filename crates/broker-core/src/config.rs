//! What a shard is told at its making. What can change while it runs comes with the cluster image.

use core::time::Duration;
use std::sync::Arc;

use coordinator_core::GroupConfig;
use log_core::limits::RECORDS_BYTES_MAX_DEFAULT;
use log_core::{BrokerId, Codecs, Crc32c};

use crate::door::{DoorKind, ShardId};

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
    /// Where the log directory is, as administrators are told.
    pub log_dir: Arc<str>,
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
    /// The most bytes that decompressing one batch may give, where a broker has to look into it: as much as consumers take by default.
    pub decompressed_bytes_max: usize,
    /// Bytes of a partition of `__consumer_offsets` at which it is begun anew with the present state, if that is much
    /// shorter. The default is a guess: the next coordinator reads it in some hundredths of a second.
    pub groups_rewrite_bytes: u64,
}

/// Bytes of requests of one connection of a browser that wait, and of one answer to a Fetch. Small, since any page that is
/// let in may open connections; large enough that a link of 40 ms carries 25 MB/s.
const BROWSER_BYTES_MAX: u32 = 1 << 20;

/// Bytes of answers that a page has not taken, over all its streams. Small answers take three times their bytes in memory (measured).
const BROWSER_UNSENT_BYTES_MAX: u64 = 256 << 10;

/// Streams of one session of a browser over WebTransport, which share what a page may leave untaken.
const BROWSER_STREAMS: u64 = 16;

/// The longest request of a browser, in bytes: several batches of the default `max.message.bytes`.
const BROWSER_REQUEST_BYTES_MAX: usize = 8 << 20;

/// Requests of one connection of a browser that run at once.
const BROWSER_REQUESTS_IN_FLIGHT_MAX: usize = 64;

impl Limits {
    /// The bounds for a connection that comes in by this door: tighter for browsers, so that a tab that stops reading costs
    /// little.
    #[must_use]
    pub fn at(&self, kind: DoorKind) -> Self {
        if !kind.is_browser() {
            return *self;
        }
        Self {
            request_bytes_max: self.request_bytes_max.min(BROWSER_REQUEST_BYTES_MAX),
            requests_in_flight_max: self.requests_in_flight_max.min(BROWSER_REQUESTS_IN_FLIGHT_MAX),
            request_bytes_in_flight_max: self.request_bytes_in_flight_max.min(BROWSER_REQUEST_BYTES_MAX),
            waiting_bytes_max: self.waiting_bytes_max.min(BROWSER_BYTES_MAX as usize),
            unsent_bytes_max: self.unsent_bytes_max.min(match kind {
                DoorKind::WebTransport => BROWSER_UNSENT_BYTES_MAX / BROWSER_STREAMS,
                _ => BROWSER_UNSENT_BYTES_MAX,
            }),
            fetch_bytes_max: self.fetch_bytes_max.min(BROWSER_BYTES_MAX),
            ..*self
        }
    }
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
            decompressed_bytes_max: RECORDS_BYTES_MAX_DEFAULT,
            groups_rewrite_bytes: 16 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_bounded_more_tightly_and_a_setting_never_loosened() {
        let limits = Limits::default();
        assert_eq!(limits.at(DoorKind::Tcp), limits);
        let browser = limits.at(DoorKind::WebSocket);
        assert_eq!((browser.unsent_bytes_max, browser.fetch_bytes_max), (256 << 10, 1 << 20));
        let small = Limits { request_bytes_max: 4096, ..limits };
        assert_eq!(small.at(DoorKind::WebTransport).request_bytes_max, 4096);
    }
}
