// @generated from schemas/describe_quorum.api by cargo xtask codegen
//! `DescribeQuorum` (key 55): describes the voters and observers of the metadata quorum.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Describes the voters and observers of the metadata quorum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeQuorumRequest<'a> {
    /// By topic.
    pub topics: Vec<QuorumTopic<'a>>,
}

impl Body for DescribeQuorumRequest<'_> {
    const KEY: ApiKey = ApiKey::DescribeQuorum;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribeQuorumRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self { topics: r.array(true, 3, |r| QuorumTopic::decode(r, version))? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeQuorumRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.array(true, &self.topics, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribeQuorumRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumTopic<'a> {
    /// Name of the topic.
    pub topic_name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<QuorumPartition>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for QuorumTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            topic_name: r.string(true)?,
            partitions: r.array(true, 5, |r| QuorumPartition::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for QuorumTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(true, &self.topic_name);
        w.array(true, &self.partitions, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`QuorumTopic`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumPartition {
    /// Number of the partition.
    pub partition_index: i32,
}

#[cfg(feature = "broker")]
impl Decode<'_> for QuorumPartition {
    fn decode(r: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self { partition_index: r.i32()? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for QuorumPartition {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.i32(self.partition_index);
        w.tag_count(&[]);
    }
}

/// The answer to a [`DescribeQuorumRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeQuorumResponse<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add. From version 2 on.
    pub error_message: Option<Cow<'a, str>>,
    /// By topic.
    pub topics: Vec<QuorumTopicResult<'a>>,
    /// Addresses of the nodes. From version 2 on.
    pub nodes: Vec<QuorumNode<'a>>,
}

impl Body for DescribeQuorumResponse<'_> {
    const KEY: ApiKey = ApiKey::DescribeQuorum;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeQuorumResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            error_code: r.error()?,
            error_message: if version == 2 { r.nullable_string(true, true)? } else { None },
            topics: r.array(true, 3, |r| QuorumTopicResult::decode(r, version))?,
            nodes: if version == 2 {
                r.array(true, 6, |r| QuorumNode::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeQuorumResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.error(self.error_code);
        if version == 2 {
            w.nullable_string(true, true, self.error_message.as_deref());
        }
        w.array(true, &self.topics, |w, value| value.encode(w, version));
        if version == 2 {
            w.array(true, &self.nodes, |w, value| value.encode(w, version));
        }
        w.tag_count(&[]);
    }
}

impl<F> FileRanges<F> for DescribeQuorumResponse<'_> {}

/// Part of a [`DescribeQuorumResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumTopicResult<'a> {
    /// Name of the topic.
    pub topic_name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<QuorumPartitionResult<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for QuorumTopicResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            topic_name: r.string(true)?,
            partitions: r.array(true, 25, |r| QuorumPartitionResult::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for QuorumTopicResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(true, &self.topic_name);
        w.array(true, &self.partitions, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`QuorumTopicResult`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumPartitionResult<'a> {
    /// Number of the partition.
    pub partition_index: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add. From version 2 on.
    pub error_message: Option<Cow<'a, str>>,
    /// Broker that leads the partition; -1 when there is none.
    pub leader_id: i32,
    /// The leader's epoch; -1 for none.
    pub leader_epoch: i32,
    /// Offset after the last committed record.
    pub high_watermark: i64,
    /// Nodes that vote.
    pub current_voters: Vec<ReplicaState>,
    /// Nodes that follow without a vote.
    pub observers: Vec<ReplicaState>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for QuorumPartitionResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            partition_index: r.i32()?,
            error_code: r.error()?,
            error_message: if version == 2 { r.nullable_string(true, true)? } else { None },
            leader_id: r.i32()?,
            leader_epoch: r.i32()?,
            high_watermark: r.i64()?,
            current_voters: r.array(true, 13, |r| ReplicaState::decode(r, version))?,
            observers: r.array(true, 13, |r| ReplicaState::decode(r, version))?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for QuorumPartitionResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.partition_index);
        w.error(self.error_code);
        if version == 2 {
            w.nullable_string(true, true, self.error_message.as_deref());
        }
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.i64(self.high_watermark);
        w.array(true, &self.current_voters, |w, value| value.encode(w, version));
        w.array(true, &self.observers, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`QuorumPartitionResult`]: `current_voters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    /// Id of the node.
    pub replica_id: i32,
    /// The node's log directory. From version 2 on.
    pub replica_directory_id: Uuid,
    /// Offset after its last record; -1 when unknown.
    pub log_end_offset: i64,
    /// When it last asked for records, milliseconds since 1970; -1 when unknown. From version 1 on.
    pub last_fetch_timestamp: i64,
    /// When it last had everything, milliseconds since 1970; -1 when unknown. From version 1 on.
    pub last_caught_up_timestamp: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self {
            replica_id: 0,
            replica_directory_id: Uuid::NONE,
            log_end_offset: 0,
            last_fetch_timestamp: -1,
            last_caught_up_timestamp: -1,
        }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for ReplicaState {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            replica_id: r.i32()?,
            replica_directory_id: if version == 2 { r.uuid()? } else { Uuid::NONE },
            log_end_offset: r.i64()?,
            last_fetch_timestamp: if version >= 1 { r.i64()? } else { -1 },
            last_caught_up_timestamp: if version >= 1 { r.i64()? } else { -1 },
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ReplicaState {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.replica_id);
        if version == 2 {
            w.uuid(self.replica_directory_id);
        }
        w.i64(self.log_end_offset);
        if version >= 1 {
            w.i64(self.last_fetch_timestamp);
        }
        if version >= 1 {
            w.i64(self.last_caught_up_timestamp);
        }
        w.tag_count(&[]);
    }
}

/// Part of a [`DescribeQuorumResponse`]: `nodes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumNode<'a> {
    /// Id of the broker.
    pub node_id: i32,
    /// By listener.
    pub listeners: Vec<QuorumListener<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for QuorumNode<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value =
            Self { node_id: r.i32()?, listeners: r.array(true, 5, |r| QuorumListener::decode(r, version))? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for QuorumNode<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.node_id);
        w.array(true, &self.listeners, |w, value| value.encode(w, version));
        w.tag_count(&[]);
    }
}

/// Part of a [`QuorumNode`]: `listeners`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumListener<'a> {
    /// Name of the listener.
    pub name: Cow<'a, str>,
    /// Host to connect to.
    pub host: Cow<'a, str>,
    /// Port to connect to.
    pub port: u16,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for QuorumListener<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self { name: r.string(true)?, host: r.string(true)?, port: r.u16()? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for QuorumListener<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(true, &self.name);
        w.string(true, &self.host);
        w.u16(self.port);
        w.tag_count(&[]);
    }
}
