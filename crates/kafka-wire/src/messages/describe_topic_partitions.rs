// @generated from schemas/describe_topic_partitions.api by cargo xtask codegen
//! `DescribeTopicPartitions` (key 75): describes topics in pages.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Describes topics in pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeTopicPartitionsRequest<'a> {
    /// Topics to describe; none means all.
    pub topics: Vec<TopicRequest<'a>>,
    /// Partitions in the answer.
    pub response_partition_limit: i32,
    /// Where to go on.
    pub cursor: Option<RequestCursor<'a>>,
}

impl Default for DescribeTopicPartitionsRequest<'_> {
    fn default() -> Self {
        Self { topics: Vec::new(), response_partition_limit: 2000, cursor: None }
    }
}

impl Body for DescribeTopicPartitionsRequest<'_> {
    const KEY: ApiKey = ApiKey::DescribeTopicPartitions;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribeTopicPartitionsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            topics: r.array(true, 2, |r| TopicRequest::decode(r, version))?,
            response_partition_limit: r.i32()?,
            cursor: r.nullable_struct(|r| RequestCursor::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeTopicPartitionsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(true, &self.topics, |w, value| value.encode(w, version));
        w.i32(self.response_partition_limit);
        w.nullable_struct(self.cursor.as_ref(), |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribeTopicPartitionsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicRequest<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for TopicRequest<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self { name: r.string(true)? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for TopicRequest<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(true, &self.name);
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribeTopicPartitionsRequest`]: `cursor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestCursor<'a> {
    /// Name of the topic.
    pub topic_name: Cow<'a, str>,
    /// Number of the partition.
    pub partition_index: i32,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for RequestCursor<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self { topic_name: r.string(true)?, partition_index: r.i32()? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for RequestCursor<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(true, &self.topic_name);
        w.i32(self.partition_index);
        w.tag_count(&[]);
    }
}

/// The answer to a [`DescribeTopicPartitionsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeTopicPartitionsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<DescribedTopic<'a>>,
    /// Where to go on; null at the end.
    pub next_cursor: Option<ResponseCursor<'a>>,
}

impl Body for DescribeTopicPartitionsResponse<'_> {
    const KEY: ApiKey = ApiKey::DescribeTopicPartitions;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeTopicPartitionsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(true, 26, |r| DescribedTopic::decode(r, version))?,
            next_cursor: r.nullable_struct(|r| ResponseCursor::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeTopicPartitionsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.throttle_time_ms);
        w.array(true, &self.topics, |w, value| value.encode(w, version));
        w.nullable_struct(self.next_cursor.as_ref(), |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

impl<F> FileRanges<F> for DescribeTopicPartitionsResponse<'_> {}

/// Part of a [`DescribeTopicPartitionsResponse`]: `topics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedTopic<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// Name of the topic.
    pub name: Option<Cow<'a, str>>,
    /// Id of the topic; zero for none.
    pub topic_id: Uuid,
    /// Whether the topic belongs to the brokers.
    pub is_internal: bool,
    /// By partition.
    pub partitions: Vec<DescribedPartition>,
    /// Bits of what the client may do with the topic; the lowest number when not asked.
    pub topic_authorized_operations: i32,
}

impl Default for DescribedTopic<'_> {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            name: None,
            topic_id: Uuid::NONE,
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribedTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            error_code: r.error()?,
            name: r.nullable_string(true, true)?,
            topic_id: r.uuid()?,
            is_internal: r.bool()?,
            partitions: r.array(true, 20, |r| DescribedPartition::decode(r, version))?,
            topic_authorized_operations: r.i32()?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribedTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.error(self.error_code);
        w.nullable_string(true, true, self.name.as_deref());
        w.uuid(self.topic_id);
        w.bool(self.is_internal);
        w.array(true, &self.partitions, |w, value| value.encode(w, version));
        w.i32(self.topic_authorized_operations);
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribedTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedPartition {
    /// What became of it.
    pub error_code: ErrorCode,
    /// Number of the partition.
    pub partition_index: i32,
    /// Broker that leads the partition; -1 when there is none.
    pub leader_id: i32,
    /// The leader's epoch; -1 for none.
    pub leader_epoch: i32,
    /// Brokers that hold the partition.
    pub replica_nodes: Vec<i32>,
    /// Brokers that are in sync.
    pub isr_nodes: Vec<i32>,
    /// Brokers outside of the ISR that may lead.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// Brokers that were in sync last.
    pub last_known_elr: Option<Vec<i32>>,
    /// Brokers that hold the partition and are not there.
    pub offline_replicas: Vec<i32>,
}

impl Default for DescribedPartition {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Vec::new(),
        }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for DescribedPartition {
    fn decode(r: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            error_code: r.error()?,
            partition_index: r.i32()?,
            leader_id: r.i32()?,
            leader_epoch: r.i32()?,
            replica_nodes: r.array(true, 4, Reader::i32)?,
            isr_nodes: r.array(true, 4, Reader::i32)?,
            eligible_leader_replicas: r.nullable_array(true, true, 4, Reader::i32)?,
            last_known_elr: r.nullable_array(true, true, 4, Reader::i32)?,
            offline_replicas: r.array(true, 4, Reader::i32)?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribedPartition {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.error(self.error_code);
        w.i32(self.partition_index);
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.array(true, &self.replica_nodes, |w, value| w.i32(*value));
        w.array(true, &self.isr_nodes, |w, value| w.i32(*value));
        w.nullable_array(true, true, self.eligible_leader_replicas.as_deref(), |w, value| w.i32(*value));
        w.nullable_array(true, true, self.last_known_elr.as_deref(), |w, value| w.i32(*value));
        w.array(true, &self.offline_replicas, |w, value| w.i32(*value));
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribeTopicPartitionsResponse`]: `next_cursor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseCursor<'a> {
    /// Name of the topic.
    pub topic_name: Cow<'a, str>,
    /// Number of the partition.
    pub partition_index: i32,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ResponseCursor<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self { topic_name: r.string(true)?, partition_index: r.i32()? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ResponseCursor<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(true, &self.topic_name);
        w.i32(self.partition_index);
        w.tag_count(&[]);
    }
}
