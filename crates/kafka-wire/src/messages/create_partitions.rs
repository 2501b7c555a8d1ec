// @generated from schemas/create_partitions.api by cargo xtask codegen
//! `CreatePartitions` (key 37): adds partitions to topics.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Adds partitions to topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatePartitionsRequest<'a> {
    /// By topic.
    pub topics: Vec<CreatePartitionsTopic<'a>>,
    /// How long the broker may work on it, in milliseconds.
    pub timeout_ms: i32,
    /// Check and change nothing.
    pub validate_only: bool,
}

impl Body for CreatePartitionsRequest<'_> {
    const KEY: ApiKey = ApiKey::CreatePartitions;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for CreatePartitionsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            topics: r.array(flexible, 7, |r| CreatePartitionsTopic::decode(r, version))?,
            timeout_ms: r.i32()?,
            validate_only: r.bool()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for CreatePartitionsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        w.i32(self.timeout_ms);
        w.bool(self.validate_only);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`CreatePartitionsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatePartitionsTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// How many partitions the topic shall have in all.
    pub count: i32,
    /// Brokers of each new partition; null leaves it to the controller.
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for CreatePartitionsTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            name: r.string(flexible)?,
            count: r.i32()?,
            assignments: r
                .nullable_array(flexible, true, 2, |r| CreatePartitionsAssignment::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for CreatePartitionsTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.name);
        w.i32(self.count);
        w.nullable_array(flexible, true, self.assignments.as_deref(), |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`CreatePartitionsTopic`]: `assignments`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatePartitionsAssignment {
    /// Brokers that hold the partition, the preferred leader first.
    pub broker_ids: Vec<i32>,
}

#[cfg(feature = "broker")]
impl Decode<'_> for CreatePartitionsAssignment {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { broker_ids: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for CreatePartitionsAssignment {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.array(flexible, &self.broker_ids, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`CreatePartitionsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatePartitionsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of each topic.
    pub results: Vec<CreatePartitionsTopicResult<'a>>,
}

impl Body for CreatePartitionsResponse<'_> {
    const KEY: ApiKey = ApiKey::CreatePartitions;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for CreatePartitionsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            throttle_time_ms: r.i32()?,
            results: r.array(flexible, 5, |r| CreatePartitionsTopicResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for CreatePartitionsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.results, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for CreatePartitionsResponse<'_> {}

/// Part of a [`CreatePartitionsResponse`]: `results`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatePartitionsTopicResult<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for CreatePartitionsTopicResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            name: r.string(flexible)?,
            error_code: r.error()?,
            error_message: r.nullable_string(flexible, true)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for CreatePartitionsTopicResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.name);
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}
