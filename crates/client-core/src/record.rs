//! Records as users see them: on the way in ([`Record`]) and on the way out ([`ConsumedRecord`]).

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

/// A record to be produced. Made by [`Record::to`]; bytes are shared, not copied, until they are put into a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition, if it is not left to the key.
    pub partition: Option<u32>,
    /// The key: equal keys go to the same partition and keep their order.
    pub key: Option<Bytes>,
    /// The value; none is a tombstone in a compacted topic.
    pub value: Option<Bytes>,
    /// The headers, in order; names may repeat.
    pub headers: Vec<Header>,
    /// Milliseconds since 1970; none takes the time at which the record is accepted.
    pub timestamp: Option<i64>,
}

/// One header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name; UTF-8 by convention.
    pub name: Bytes,
    /// The value.
    pub value: Option<Bytes>,
}

/// A record that was read. Key, value and headers are slices of what the broker sent (or of a decompressed batch).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedRecord {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: u32,
    /// The record's offset.
    pub offset: i64,
    /// Milliseconds since 1970: when it was produced, or appended if the topic says so; −1 if there is none.
    pub timestamp: i64,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers, in the producer's order.
    pub headers: Vec<Header>,
    /// The leader epoch in which it was appended; −1 if the broker did not say.
    pub leader_epoch: i32,
}

/// Where a record was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The partition.
    pub partition: u32,
    /// The record's offset; −1 with acks none, and for a batch that the broker had already and could not place.
    pub offset: i64,
    /// Its timestamp in milliseconds since 1970: the broker's if the topic uses it, else the record's own.
    pub timestamp: i64,
}

impl Record {
    /// A record to `topic`, without key and value. Pass an `Arc<str>` to save a copy of the name per record.
    #[must_use]
    pub fn to(topic: impl Into<Arc<str>>) -> Self {
        let topic = topic.into();
        Self { topic, partition: None, key: None, value: None, headers: Vec::new(), timestamp: None }
    }

    /// With this key. Borrowed bytes that do not live for ever go in with [`Bytes::copy_from_slice`].
    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With this value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Bytes>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.headers.push(Header { name: name.into(), value: Some(value.into()) });
        self
    }

    /// To this partition, whatever the key.
    #[must_use]
    pub const fn partition(mut self, partition: u32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// With this time, in milliseconds since 1970.
    #[must_use]
    pub const fn timestamp(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Bytes of key, value and headers.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        let of = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers: usize = self.headers.iter().map(|header| header.name.len() + of(&header.value)).sum();
        of(&self.key) + of(&self.value) + headers
    }
}

impl Header {
    /// The name as text; what is not UTF-8 is replaced.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }
}
