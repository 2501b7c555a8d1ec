// @generated from schemas/delete_records.api by cargo xtask codegen
//! `DeleteRecords` (key 21): deletes the records before an offset.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Deletes the records before an offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRecordsRequest<'a> {
    /// By topic.
    pub topics: Vec<DeleteRecordsTopic<'a>>,
    /// How long the broker may work on it, in milliseconds.
    pub timeout_ms: i32,
}

impl Body for DeleteRecordsRequest<'_> {
    const KEY: ApiKey = ApiKey::DeleteRecords;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DeleteRecordsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            topics: r.array(flexible, 3, |r| DeleteRecordsTopic::decode(r, version))?,
            timeout_ms: r.i32()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DeleteRecordsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        w.i32(self.timeout_ms);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DeleteRecordsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRecordsTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<DeleteRecordsPartition>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DeleteRecordsTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 12, |r| DeleteRecordsPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DeleteRecordsTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DeleteRecordsTopic`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRecordsPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// First offset to keep; -1 for the high watermark.
    pub offset: i64,
}

#[cfg(feature = "broker")]
impl Decode<'_> for DeleteRecordsPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { partition_index: r.i32()?, offset: r.i64()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DeleteRecordsPartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i64(self.offset);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`DeleteRecordsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRecordsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<DeleteRecordsTopicResult<'a>>,
}

impl Body for DeleteRecordsResponse<'_> {
    const KEY: ApiKey = ApiKey::DeleteRecords;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DeleteRecordsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(flexible, 3, |r| DeleteRecordsTopicResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeleteRecordsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for DeleteRecordsResponse<'_> {}

/// Part of a [`DeleteRecordsResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRecordsTopicResult<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DeleteRecordsTopicResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 14, |r| DeleteRecordsPartitionResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeleteRecordsTopicResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DeleteRecordsTopicResult`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRecordsPartitionResult {
    /// Number of the partition.
    pub partition_index: i32,
    /// First offset that is still there.
    pub low_watermark: i64,
    /// What became of it.
    pub error_code: ErrorCode,
}

#[cfg(feature = "client")]
impl Decode<'_> for DeleteRecordsPartitionResult {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { partition_index: r.i32()?, low_watermark: r.i64()?, error_code: r.error()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeleteRecordsPartitionResult {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i64(self.low_watermark);
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
