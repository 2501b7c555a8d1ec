// @generated from schemas/offset_commit.api by cargo xtask codegen
//! `OffsetCommit` (key 8): stores a group's positions.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Stores a group's positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommitRequest<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// The generation, or the member's epoch; -1 outside of a group's life.
    pub generation_id_or_member_epoch: i32,
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others. From version 7 on.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// How long to keep the position, in milliseconds; -1 for the broker's setting. Up to version 4.
    pub retention_time_ms: i64,
    /// By topic.
    pub topics: Vec<OffsetCommitRequestTopic<'a>>,
}

impl Default for OffsetCommitRequest<'_> {
    fn default() -> Self {
        Self {
            group_id: Cow::Borrowed(""),
            generation_id_or_member_epoch: -1,
            member_id: Cow::Borrowed(""),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Vec::new(),
        }
    }
}

impl Body for OffsetCommitRequest<'_> {
    const KEY: ApiKey = ApiKey::OffsetCommit;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetCommitRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let value = Self {
            group_id: r.string(flexible)?,
            generation_id_or_member_epoch: r.i32()?,
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 7 { r.nullable_string(flexible, true)? } else { None },
            retention_time_ms: if version <= 4 { r.i64()? } else { -1 },
            topics: r.array(flexible, 3, |r| OffsetCommitRequestTopic::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetCommitRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 8;
        w.string(flexible, &self.group_id);
        w.i32(self.generation_id_or_member_epoch);
        w.string(flexible, &self.member_id);
        if version >= 7 {
            w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        }
        if version <= 4 {
            w.i64(self.retention_time_ms);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetCommitRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCommitRequestTopic<'a> {
    /// Name of the topic. Up to version 9.
    pub name: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 10 on.
    pub topic_id: Uuid,
    /// By partition.
    pub partitions: Vec<OffsetCommitRequestPartition<'a>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetCommitRequestTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let value = Self {
            name: if version <= 9 { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version == 10 { r.uuid()? } else { Uuid::NONE },
            partitions: r.array(flexible, 14, |r| OffsetCommitRequestPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetCommitRequestTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 8;
        if version <= 9 {
            w.string(flexible, &self.name);
        }
        if version == 10 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetCommitRequestTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommitRequestPartition<'a> {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset of the next record to read; -1 for none.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 for none. From version 6 on.
    pub committed_leader_epoch: i32,
    /// Text to keep with the position.
    pub committed_metadata: Option<Cow<'a, str>>,
}

impl Default for OffsetCommitRequestPartition<'_> {
    fn default() -> Self {
        Self { partition_index: 0, committed_offset: 0, committed_leader_epoch: -1, committed_metadata: None }
    }
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetCommitRequestPartition<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let value = Self {
            partition_index: r.i32()?,
            committed_offset: r.i64()?,
            committed_leader_epoch: if version >= 6 { r.i32()? } else { -1 },
            committed_metadata: r.nullable_string(flexible, true)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetCommitRequestPartition<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 8;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if version >= 6 {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(flexible, true, self.committed_metadata.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`OffsetCommitRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCommitResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 3 on.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<OffsetCommitResponseTopic<'a>>,
}

impl Body for OffsetCommitResponse<'_> {
    const KEY: ApiKey = ApiKey::OffsetCommit;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetCommitResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let value = Self {
            throttle_time_ms: if version >= 3 { r.i32()? } else { 0 },
            topics: r.array(flexible, 3, |r| OffsetCommitResponseTopic::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetCommitResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 8;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for OffsetCommitResponse<'_> {}

/// Part of a [`OffsetCommitResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCommitResponseTopic<'a> {
    /// Name of the topic. Up to version 9.
    pub name: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 10 on.
    pub topic_id: Uuid,
    /// By partition.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetCommitResponseTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let value = Self {
            name: if version <= 9 { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version == 10 { r.uuid()? } else { Uuid::NONE },
            partitions: r.array(flexible, 6, |r| OffsetCommitResponsePartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetCommitResponseTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 8;
        if version <= 9 {
            w.string(flexible, &self.name);
        }
        if version == 10 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetCommitResponseTopic`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCommitResponsePartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// What became of it.
    pub error_code: ErrorCode,
}

#[cfg(feature = "client")]
impl Decode<'_> for OffsetCommitResponsePartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let value = Self { partition_index: r.i32()?, error_code: r.error()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetCommitResponsePartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 8;
        w.i32(self.partition_index);
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
