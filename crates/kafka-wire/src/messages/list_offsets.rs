// @generated from schemas/list_offsets.api by cargo xtask codegen
//! `ListOffsets` (key 2): finds offsets by time, and the ends of partitions.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Finds offsets by time, and the ends of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOffsetsRequest<'a> {
    /// A follower's broker id; -1 for clients.
    pub replica_id: i32,
    /// 0: everything committed, 1: only records of finished transactions. From version 2 on.
    pub isolation_level: i8,
    /// By topic.
    pub topics: Vec<ListOffsetsTopic<'a>>,
    /// How long the broker may work on it, in milliseconds. From version 10 on.
    pub timeout_ms: i32,
}

impl Default for ListOffsetsRequest<'_> {
    fn default() -> Self {
        Self { replica_id: -1, isolation_level: 0, topics: Vec::new(), timeout_ms: 0 }
    }
}

impl Body for ListOffsetsRequest<'_> {
    const KEY: ApiKey = ApiKey::ListOffsets;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ListOffsetsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            replica_id: r.i32()?,
            isolation_level: if version >= 2 { r.i8()? } else { 0 },
            topics: r.array(flexible, 3, |r| ListOffsetsTopic::decode(r, version))?,
            timeout_ms: if version >= 10 { r.i32()? } else { 0 },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ListOffsetsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.i32(self.replica_id);
        if version >= 2 {
            w.i8(self.isolation_level);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if version >= 10 {
            w.i32(self.timeout_ms);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ListOffsetsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOffsetsTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<ListOffsetsPartition>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ListOffsetsTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 12, |r| ListOffsetsPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ListOffsetsTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ListOffsetsTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOffsetsPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Leader epoch that the client knows, for fencing; -1 skips the check. From version 4 on.
    pub current_leader_epoch: i32,
    /// Milliseconds since 1970, or -1 latest, -2 earliest, -3 largest timestamp, -4 earliest local, -5 latest tiered, -6 earliest to upload.
    pub timestamp: i64,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self { partition_index: 0, current_leader_epoch: -1, timestamp: 0 }
    }
}

#[cfg(feature = "broker")]
impl Decode<'_> for ListOffsetsPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            partition_index: r.i32()?,
            current_leader_epoch: if version >= 4 { r.i32()? } else { -1 },
            timestamp: r.i64()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ListOffsetsPartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        if version >= 4 {
            w.i32(self.current_leader_epoch);
        }
        w.i64(self.timestamp);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`ListOffsetsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOffsetsResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 2 on.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<ListOffsetsTopicResponse<'a>>,
}

impl Body for ListOffsetsResponse<'_> {
    const KEY: ApiKey = ApiKey::ListOffsets;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ListOffsetsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            throttle_time_ms: if version >= 2 { r.i32()? } else { 0 },
            topics: r.array(flexible, 3, |r| ListOffsetsTopicResponse::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ListOffsetsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        if version >= 2 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for ListOffsetsResponse<'_> {}

/// Part of a [`ListOffsetsResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOffsetsTopicResponse<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ListOffsetsTopicResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 22, |r| ListOffsetsPartitionResponse::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ListOffsetsTopicResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ListOffsetsTopicResponse`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOffsetsPartitionResponse {
    /// Number of the partition.
    pub partition_index: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// Timestamp of the record found; -1 when there is none.
    pub timestamp: i64,
    /// Offset found; -1 when there is none.
    pub offset: i64,
    /// The leader's epoch; -1 for none. From version 4 on.
    pub leader_epoch: i32,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode::None, timestamp: -1, offset: -1, leader_epoch: -1 }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for ListOffsetsPartitionResponse {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            partition_index: r.i32()?,
            error_code: r.error()?,
            timestamp: r.i64()?,
            offset: r.i64()?,
            leader_epoch: if version >= 4 { r.i32()? } else { -1 },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ListOffsetsPartitionResponse {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        w.error(self.error_code);
        w.i64(self.timestamp);
        w.i64(self.offset);
        if version >= 4 {
            w.i32(self.leader_epoch);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}
