// @generated from schemas/offset_delete.api by cargo xtask codegen
//! `OffsetDelete` (key 47): deletes positions of a group in topics that its members do not read.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Deletes positions of a group in topics that its members do not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetDeleteRequest<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// By topic.
    pub topics: Vec<OffsetDeleteRequestTopic<'a>>,
}

impl Body for OffsetDeleteRequest<'_> {
    const KEY: ApiKey = ApiKey::OffsetDelete;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetDeleteRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string(false)?,
            topics: r.array(false, 6, |r| OffsetDeleteRequestTopic::decode(r, version))?,
        })
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetDeleteRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(false, &self.group_id);
        w.array(false, &self.topics, |w, value| value.encode(w, version));
    }
}

/// Part of a [`OffsetDeleteRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetDeleteRequestTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetDeleteRequestTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string(false)?,
            partitions: r.array(false, 4, |r| OffsetDeleteRequestPartition::decode(r, version))?,
        })
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetDeleteRequestTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(false, &self.name);
        w.array(false, &self.partitions, |w, value| value.encode(w, version));
    }
}

/// Part of a [`OffsetDeleteRequestTopic`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetDeleteRequestPartition {
    /// Number of the partition.
    pub partition_index: i32,
}

#[cfg(feature = "broker")]
impl Decode<'_> for OffsetDeleteRequestPartition {
    fn decode(r: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32()? })
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetDeleteRequestPartition {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.i32(self.partition_index);
    }
}

/// The answer to a [`OffsetDeleteRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetDeleteResponse<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<OffsetDeleteResponseTopic<'a>>,
}

impl Body for OffsetDeleteResponse<'_> {
    const KEY: ApiKey = ApiKey::OffsetDelete;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetDeleteResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: r.error()?,
            throttle_time_ms: r.i32()?,
            topics: r.array(false, 6, |r| OffsetDeleteResponseTopic::decode(r, version))?,
        })
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetDeleteResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.error(self.error_code);
        w.i32(self.throttle_time_ms);
        w.array(false, &self.topics, |w, value| value.encode(w, version));
    }
}

impl<F> FileRanges<F> for OffsetDeleteResponse<'_> {}

/// Part of a [`OffsetDeleteResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetDeleteResponseTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetDeleteResponseTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string(false)?,
            partitions: r.array(false, 6, |r| OffsetDeleteResponsePartition::decode(r, version))?,
        })
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetDeleteResponseTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.string(false, &self.name);
        w.array(false, &self.partitions, |w, value| value.encode(w, version));
    }
}

/// Part of a [`OffsetDeleteResponseTopic`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetDeleteResponsePartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// What became of it.
    pub error_code: ErrorCode,
}

#[cfg(feature = "client")]
impl Decode<'_> for OffsetDeleteResponsePartition {
    fn decode(r: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32()?, error_code: r.error()? })
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetDeleteResponsePartition {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.i32(self.partition_index);
        w.error(self.error_code);
    }
}
