// @generated from schemas/describe_log_dirs.api by cargo xtask codegen
//! `DescribeLogDirs` (key 35): tells what a broker's log directories hold.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Tells what a broker's log directories hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeLogDirsRequest<'a> {
    /// Topics to tell of; null for all.
    pub topics: Option<Vec<DescribableLogDirTopic<'a>>>,
}

impl Body for DescribeLogDirsRequest<'_> {
    const KEY: ApiKey = ApiKey::DescribeLogDirs;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribeLogDirsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            topics: r.nullable_array(flexible, true, 3, |r| DescribableLogDirTopic::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeLogDirsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.nullable_array(flexible, true, self.topics.as_deref(), |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribeLogDirsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribableLogDirTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// Partitions to tell of.
    pub partitions: Vec<i32>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribableLogDirTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { name: r.string(flexible)?, partitions: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribableLogDirTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`DescribeLogDirsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeLogDirsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of it. From version 3 on.
    pub error_code: ErrorCode,
    /// By directory.
    pub results: Vec<DescribeLogDirsResult<'a>>,
}

impl Body for DescribeLogDirsResponse<'_> {
    const KEY: ApiKey = ApiKey::DescribeLogDirs;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeLogDirsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            throttle_time_ms: r.i32()?,
            error_code: if version >= 3 { r.error()? } else { ErrorCode::None },
            results: r.array(flexible, 5, |r| DescribeLogDirsResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeLogDirsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        if version >= 3 {
            w.error(self.error_code);
        }
        w.array(flexible, &self.results, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for DescribeLogDirsResponse<'_> {}

/// Part of a [`DescribeLogDirsResponse`]: `results`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeLogDirsResult<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// Path of the directory.
    pub log_dir: Cow<'a, str>,
    /// By topic.
    pub topics: Vec<DescribeLogDirsTopic<'a>>,
    /// Bytes of the disk that the directory is on. From version 4 on.
    pub total_bytes: i64,
    /// Bytes that are free there. From version 4 on.
    pub usable_bytes: i64,
    /// Whether the directory takes no more replicas. From version 5 on.
    pub is_cordoned: bool,
}

impl Default for DescribeLogDirsResult<'_> {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            log_dir: Cow::Borrowed(""),
            topics: Vec::new(),
            total_bytes: -1,
            usable_bytes: -1,
            is_cordoned: false,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeLogDirsResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            error_code: r.error()?,
            log_dir: r.string(flexible)?,
            topics: r.array(flexible, 3, |r| DescribeLogDirsTopic::decode(r, version))?,
            total_bytes: if version >= 4 { r.i64()? } else { -1 },
            usable_bytes: if version >= 4 { r.i64()? } else { -1 },
            is_cordoned: if version == 5 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeLogDirsResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.error(self.error_code);
        w.string(flexible, &self.log_dir);
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if version >= 4 {
            w.i64(self.total_bytes);
        }
        if version >= 4 {
            w.i64(self.usable_bytes);
        }
        if version == 5 {
            w.bool(self.is_cordoned);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribeLogDirsResult`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeLogDirsTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<DescribeLogDirsPartition>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeLogDirsTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 21, |r| DescribeLogDirsPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeLogDirsTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribeLogDirsTopic`]: `partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeLogDirsPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Bytes of the replica's batches.
    pub partition_size: i64,
    /// Offsets that the log's end is behind the high watermark.
    pub offset_lag: i64,
    /// Whether it is to replace the replica in another directory.
    pub is_future_key: bool,
}

#[cfg(feature = "client")]
impl Decode<'_> for DescribeLogDirsPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            partition_index: r.i32()?,
            partition_size: r.i64()?,
            offset_lag: r.i64()?,
            is_future_key: r.bool()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeLogDirsPartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i64(self.partition_size);
        w.i64(self.offset_lag);
        w.bool(self.is_future_key);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
