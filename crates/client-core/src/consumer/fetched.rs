//! What one fetch brought for one partition: whole batches, still compressed, as slices of the received frame.

use std::sync::Arc;

use bytes::Bytes;

/// Batches of one partition.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// Changes with every assignment and seek of the partition: batches of an older one are no longer wanted.
    pub generation: u32,
    /// The offset that was asked for. The first batch may begin before it.
    pub from: i64,
    /// The offset after the last whole batch.
    pub next: i64,
    /// Whole batches.
    pub records: Bytes,
    /// The partition's high watermark.
    pub high_watermark: i64,
}
