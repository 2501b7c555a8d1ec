//! What the client counts. A snapshot is a plain value; nothing is printed anywhere.

use core::time::Duration;

/// Counters since the client began, and gauges of this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Connections that are made and usable at this moment.
    pub connections: u64,
    /// Connections that failed or broke.
    pub connection_failures: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests sent whose answer is awaited at this moment.
    pub requests_in_flight: u64,
    /// Bytes sent, with framing.
    pub bytes_sent: u64,
    /// Bytes received, with framing.
    pub bytes_received: u64,
    /// Times that metadata was learned.
    pub metadata_updates: u64,
    /// Produced batches that were handed to a broker for the first time.
    pub batches_sent: u64,
    /// Bytes of those batches, as sent.
    pub batch_bytes_sent: u64,
    /// Times that a batch was sent again.
    pub batches_resent: u64,
    /// Batches cut in two because a broker found them too large.
    pub batches_split: u64,
    /// Records acknowledged.
    pub records_delivered: u64,
    /// Records that failed, those of unknown outcome included.
    pub records_failed: u64,
    /// Bytes in the buffers of producers at this moment.
    pub producer_buffer_bytes: u64,
    /// The time from a batch's first record to its acknowledgement, summed over all delivered batches.
    pub delivery_time: Duration,
    /// Batches delivered.
    pub batches_delivered: u64,
    /// Answers to fetches.
    pub fetches: u64,
    /// Bytes of record batches fetched.
    pub fetched_bytes: u64,
    /// Bytes fetched and not yet read by the consumers at this moment.
    pub consumer_buffer_bytes: u64,
    /// The time for which brokers have asked the client to be quiet, summed.
    pub throttle_time: Duration,
}
