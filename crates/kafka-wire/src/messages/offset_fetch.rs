// @generated from schemas/offset_fetch.api by cargo xtask codegen
//! `OffsetFetch` (key 9): tells a group's positions.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Tells a group's positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchRequest<'a> {
    /// Id of the group. Up to version 7.
    pub group_id: Cow<'a, str>,
    /// Topics to tell; null means all. Up to version 7.
    pub topics: Option<Vec<OffsetFetchRequestTopic<'a>>>,
    /// By group. From version 8 on.
    pub groups: Vec<OffsetFetchRequestGroup<'a>>,
    /// Whether to refuse while transactions hold positions back. From version 7 on.
    pub require_stable: bool,
}

impl Body for OffsetFetchRequest<'_> {
    const KEY: ApiKey = ApiKey::OffsetFetch;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetFetchRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            group_id: if version <= 7 { r.string(flexible)? } else { Cow::Borrowed("") },
            topics: if version <= 7 {
                r.nullable_array(flexible, version >= 2, 3, |r| OffsetFetchRequestTopic::decode(r, version))?
            } else {
                None
            },
            groups: if version >= 8 {
                r.array(flexible, 3, |r| OffsetFetchRequestGroup::decode(r, version))?
            } else {
                Vec::new()
            },
            require_stable: if version >= 7 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetFetchRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        if version <= 7 {
            w.string(flexible, &self.group_id);
        }
        if version <= 7 {
            w.nullable_array(flexible, version >= 2, self.topics.as_deref(), |w, value| {
                value.encode(w, version)
            });
        }
        if version >= 8 {
            w.array(flexible, &self.groups, |w, value| value.encode(w, version));
        }
        if version >= 7 {
            w.bool(self.require_stable);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetFetchRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchRequestTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// Partitions to tell.
    pub partition_indexes: Vec<i32>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetFetchRequestTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self { name: r.string(flexible)?, partition_indexes: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetFetchRequestTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partition_indexes, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetFetchRequest`]: `groups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetchRequestGroup<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// Id of the member; empty before it has one. From version 9 on.
    pub member_id: Option<Cow<'a, str>>,
    /// The member's epoch; -1 for none. From version 9 on.
    pub member_epoch: i32,
    /// Topics to tell; null means all.
    pub topics: Option<Vec<OffsetFetchRequestTopics<'a>>>,
}

impl Default for OffsetFetchRequestGroup<'_> {
    fn default() -> Self {
        Self { group_id: Cow::Borrowed(""), member_id: None, member_epoch: -1, topics: None }
    }
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetFetchRequestGroup<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            group_id: r.string(flexible)?,
            member_id: if version >= 9 { r.nullable_string(flexible, true)? } else { None },
            member_epoch: if version >= 9 { r.i32()? } else { -1 },
            topics: r.nullable_array(flexible, true, 2, |r| OffsetFetchRequestTopics::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetFetchRequestGroup<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.group_id);
        if version >= 9 {
            w.nullable_string(flexible, true, self.member_id.as_deref());
        }
        if version >= 9 {
            w.i32(self.member_epoch);
        }
        w.nullable_array(flexible, true, self.topics.as_deref(), |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetFetchRequestGroup`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchRequestTopics<'a> {
    /// Name of the topic. In versions 8 to 9.
    pub name: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 10 on.
    pub topic_id: Uuid,
    /// Partitions to tell.
    pub partition_indexes: Vec<i32>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetFetchRequestTopics<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            name: if (8..=9).contains(&version) { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version == 10 { r.uuid()? } else { Uuid::NONE },
            partition_indexes: r.array(flexible, 4, Reader::i32)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetFetchRequestTopics<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        if (8..=9).contains(&version) {
            w.string(flexible, &self.name);
        }
        if version == 10 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partition_indexes, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`OffsetFetchRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 3 on.
    pub throttle_time_ms: i32,
    /// By topic. Up to version 7.
    pub topics: Vec<OffsetFetchResponseTopic<'a>>,
    /// What became of it. In versions 2 to 7.
    pub error_code: ErrorCode,
    /// By group. From version 8 on.
    pub groups: Vec<OffsetFetchResponseGroup<'a>>,
}

impl Body for OffsetFetchResponse<'_> {
    const KEY: ApiKey = ApiKey::OffsetFetch;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetFetchResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            throttle_time_ms: if version >= 3 { r.i32()? } else { 0 },
            topics: if version <= 7 {
                r.array(flexible, 3, |r| OffsetFetchResponseTopic::decode(r, version))?
            } else {
                Vec::new()
            },
            error_code: if (2..=7).contains(&version) { r.error()? } else { ErrorCode::None },
            groups: if version >= 8 {
                r.array(flexible, 5, |r| OffsetFetchResponseGroup::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetFetchResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        if version <= 7 {
            w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        }
        if (2..=7).contains(&version) {
            w.error(self.error_code);
        }
        if version >= 8 {
            w.array(flexible, &self.groups, |w, value| value.encode(w, version));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for OffsetFetchResponse<'_> {}

/// Part of a [`OffsetFetchResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchResponseTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<OffsetFetchResponsePartition<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetFetchResponseTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 16, |r| OffsetFetchResponsePartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetFetchResponseTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetFetchResponseTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetchResponsePartition<'a> {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset of the next record to read; -1 for none.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 for none. In versions 5 to 7.
    pub committed_leader_epoch: i32,
    /// Text kept with the position.
    pub metadata: Option<Cow<'a, str>>,
    /// What became of it.
    pub error_code: ErrorCode,
}

impl Default for OffsetFetchResponsePartition<'_> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: ErrorCode::None,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetFetchResponsePartition<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            partition_index: r.i32()?,
            committed_offset: r.i64()?,
            committed_leader_epoch: if (5..=7).contains(&version) { r.i32()? } else { -1 },
            metadata: r.nullable_string(flexible, true)?,
            error_code: r.error()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetFetchResponsePartition<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if (5..=7).contains(&version) {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(flexible, true, self.metadata.as_deref());
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetFetchResponse`]: `groups`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchResponseGroup<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// By topic.
    pub topics: Vec<OffsetFetchResponseTopics<'a>>,
    /// What became of it.
    pub error_code: ErrorCode,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetFetchResponseGroup<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            group_id: r.string(flexible)?,
            topics: r.array(flexible, 2, |r| OffsetFetchResponseTopics::decode(r, version))?,
            error_code: r.error()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetFetchResponseGroup<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.group_id);
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetFetchResponseGroup`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetFetchResponseTopics<'a> {
    /// Name of the topic. In versions 8 to 9.
    pub name: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 10 on.
    pub topic_id: Uuid,
    /// By partition.
    pub partitions: Vec<OffsetFetchResponsePartitions<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetFetchResponseTopics<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            name: if (8..=9).contains(&version) { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version == 10 { r.uuid()? } else { Uuid::NONE },
            partitions: r.array(flexible, 20, |r| OffsetFetchResponsePartitions::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetFetchResponseTopics<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        if (8..=9).contains(&version) {
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

/// Part of a [`OffsetFetchResponseTopics`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetchResponsePartitions<'a> {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset of the next record to read; -1 for none.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 for none.
    pub committed_leader_epoch: i32,
    /// Text kept with the position.
    pub metadata: Option<Cow<'a, str>>,
    /// What became of it.
    pub error_code: ErrorCode,
}

impl Default for OffsetFetchResponsePartitions<'_> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: ErrorCode::None,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetFetchResponsePartitions<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            partition_index: r.i32()?,
            committed_offset: r.i64()?,
            committed_leader_epoch: r.i32()?,
            metadata: r.nullable_string(flexible, true)?,
            error_code: r.error()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetFetchResponsePartitions<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        w.i32(self.committed_leader_epoch);
        w.nullable_string(flexible, true, self.metadata.as_deref());
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
