// @generated from schemas/offset_for_leader_epoch.api by cargo xtask codegen
//! `OffsetForLeaderEpoch` (key 23): tells where a leader epoch ends in the log.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Tells where a leader epoch ends in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetForLeaderEpochRequest<'a> {
    /// A follower's broker id; -1 for consumers, -2 for tools. From version 3 on.
    pub replica_id: i32,
    /// By topic.
    pub topics: Vec<OffsetForLeaderTopic<'a>>,
}

impl Default for OffsetForLeaderEpochRequest<'_> {
    fn default() -> Self {
        Self { replica_id: -2, topics: Vec::new() }
    }
}

impl Body for OffsetForLeaderEpochRequest<'_> {
    const KEY: ApiKey = ApiKey::OffsetForLeaderEpoch;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetForLeaderEpochRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            replica_id: if version >= 3 { r.i32()? } else { -2 },
            topics: r.array(flexible, 3, |r| OffsetForLeaderTopic::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetForLeaderEpochRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        if version >= 3 {
            w.i32(self.replica_id);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetForLeaderEpochRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetForLeaderTopic<'a> {
    /// Name of the topic.
    pub topic: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for OffsetForLeaderTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            topic: r.string(flexible)?,
            partitions: r.array(flexible, 12, |r| OffsetForLeaderPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetForLeaderTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.topic);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetForLeaderTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetForLeaderPartition {
    /// Number of the partition.
    pub partition: i32,
    /// Leader epoch that the client knows, for fencing; -1 skips the check.
    pub current_leader_epoch: i32,
    /// The epoch to look up.
    pub leader_epoch: i32,
}

impl Default for OffsetForLeaderPartition {
    fn default() -> Self {
        Self { partition: 0, current_leader_epoch: -1, leader_epoch: 0 }
    }
}

#[cfg(feature = "broker")]
impl Decode<'_> for OffsetForLeaderPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self { partition: r.i32()?, current_leader_epoch: r.i32()?, leader_epoch: r.i32()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for OffsetForLeaderPartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.i32(self.partition);
        w.i32(self.current_leader_epoch);
        w.i32(self.leader_epoch);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`OffsetForLeaderEpochRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetForLeaderEpochResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<OffsetForLeaderTopicResult<'a>>,
}

impl Body for OffsetForLeaderEpochResponse<'_> {
    const KEY: ApiKey = ApiKey::OffsetForLeaderEpoch;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetForLeaderEpochResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(flexible, 3, |r| OffsetForLeaderTopicResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetForLeaderEpochResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for OffsetForLeaderEpochResponse<'_> {}

/// Part of a [`OffsetForLeaderEpochResponse`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetForLeaderTopicResult<'a> {
    /// Name of the topic.
    pub topic: Cow<'a, str>,
    /// By partition.
    pub partitions: Vec<EpochEndOffset>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for OffsetForLeaderTopicResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            topic: r.string(flexible)?,
            partitions: r.array(flexible, 18, |r| EpochEndOffset::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for OffsetForLeaderTopicResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.topic);
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`OffsetForLeaderTopicResult`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochEndOffset {
    /// What became of it.
    pub error_code: ErrorCode,
    /// Number of the partition.
    pub partition: i32,
    /// The largest epoch that is not above the one asked for; -1 when unknown.
    pub leader_epoch: i32,
    /// Offset after its last record; -1 when unknown.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { error_code: ErrorCode::None, partition: 0, leader_epoch: -1, end_offset: -1 }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for EpochEndOffset {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            error_code: r.error()?,
            partition: r.i32()?,
            leader_epoch: r.i32()?,
            end_offset: r.i64()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for EpochEndOffset {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.error(self.error_code);
        w.i32(self.partition);
        w.i32(self.leader_epoch);
        w.i64(self.end_offset);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
