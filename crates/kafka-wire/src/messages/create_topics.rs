// @generated from schemas/create_topics.api by cargo xtask codegen
//! `CreateTopics` (key 19): creates topics.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Creates topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTopicsRequest<'a> {
    /// What to create.
    pub topics: Vec<CreatableTopic<'a>>,
    /// How long the broker may work on it, in milliseconds.
    pub timeout_ms: i32,
    /// Check and change nothing.
    pub validate_only: bool,
}

impl Default for CreateTopicsRequest<'_> {
    fn default() -> Self {
        Self { topics: Vec::new(), timeout_ms: 60000, validate_only: false }
    }
}

impl Body for CreateTopicsRequest<'_> {
    const KEY: ApiKey = ApiKey::CreateTopics;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for CreateTopicsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            topics: r.array(flexible, 10, |r| CreatableTopic::decode(r, version))?,
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
impl Encode for CreateTopicsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        w.i32(self.timeout_ms);
        w.bool(self.validate_only);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`CreateTopicsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatableTopic<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// How many partitions; -1 for the default, or with assignments.
    pub num_partitions: i32,
    /// How many replicas; -1 for the default, or with assignments.
    pub replication_factor: i16,
    /// Brokers chosen by the client; empty leaves it to the controller.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// Settings that differ from the defaults.
    pub configs: Vec<CreatableTopicConfig<'a>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for CreatableTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            name: r.string(flexible)?,
            num_partitions: r.i32()?,
            replication_factor: r.i16()?,
            assignments: r.array(flexible, 6, |r| CreatableReplicaAssignment::decode(r, version))?,
            configs: r.array(flexible, 3, |r| CreatableTopicConfig::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for CreatableTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.string(flexible, &self.name);
        w.i32(self.num_partitions);
        w.i16(self.replication_factor);
        w.array(flexible, &self.assignments, |w, value| value.encode(w, version));
        w.array(flexible, &self.configs, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`CreatableTopic`]: `assignments`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatableReplicaAssignment {
    /// Number of the partition.
    pub partition_index: i32,
    /// Brokers that hold the partition, the preferred leader first.
    pub broker_ids: Vec<i32>,
}

#[cfg(feature = "broker")]
impl Decode<'_> for CreatableReplicaAssignment {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self { partition_index: r.i32()?, broker_ids: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for CreatableReplicaAssignment {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.i32(self.partition_index);
        w.array(flexible, &self.broker_ids, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`CreatableTopic`]: `configs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatableTopicConfig<'a> {
    /// Key of the setting.
    pub name: Cow<'a, str>,
    /// The value.
    pub value: Option<Cow<'a, str>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for CreatableTopicConfig<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self { name: r.string(flexible)?, value: r.nullable_string(flexible, true)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for CreatableTopicConfig<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.string(flexible, &self.name);
        w.nullable_string(flexible, true, self.value.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`CreateTopicsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateTopicsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<CreatableTopicResult<'a>>,
}

impl Body for CreateTopicsResponse<'_> {
    const KEY: ApiKey = ApiKey::CreateTopics;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for CreateTopicsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(flexible, 6, |r| CreatableTopicResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for CreateTopicsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for CreateTopicsResponse<'_> {}

/// Part of a [`CreateTopicsResponse`]: `topics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatableTopicResult<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 7 on.
    pub topic_id: Uuid,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
    /// Why settings are not told. From version 5 on.
    pub topic_config_error_code: ErrorCode,
    /// How many partitions; -1 when unknown. From version 5 on.
    pub num_partitions: i32,
    /// How many replicas; -1 when unknown. From version 5 on.
    pub replication_factor: i16,
    /// Settings of the topic. From version 5 on.
    pub configs: Option<Vec<CreatableTopicConfigs<'a>>>,
}

impl Default for CreatableTopicResult<'_> {
    fn default() -> Self {
        Self {
            name: Cow::Borrowed(""),
            topic_id: Uuid::NONE,
            error_code: ErrorCode::None,
            error_message: None,
            topic_config_error_code: ErrorCode::None,
            num_partitions: -1,
            replication_factor: -1,
            configs: None,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for CreatableTopicResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let mut value = Self {
            name: r.string(flexible)?,
            topic_id: if version == 7 { r.uuid()? } else { Uuid::NONE },
            error_code: r.error()?,
            error_message: r.nullable_string(flexible, true)?,
            topic_config_error_code: ErrorCode::None,
            num_partitions: if version >= 5 { r.i32()? } else { -1 },
            replication_factor: if version >= 5 { r.i16()? } else { -1 },
            configs: if version >= 5 {
                r.nullable_array(flexible, true, 6, |r| CreatableTopicConfigs::decode(r, version))?
            } else {
                None
            },
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 => value.topic_config_error_code = r.error()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for CreatableTopicResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.string(flexible, &self.name);
        if version == 7 {
            w.uuid(self.topic_id);
        }
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        if version >= 5 {
            w.i32(self.num_partitions);
        }
        if version >= 5 {
            w.i16(self.replication_factor);
        }
        if version >= 5 {
            w.nullable_array(flexible, true, self.configs.as_deref(), |w, value| value.encode(w, version));
        }
        if flexible {
            let topic_config_error_code = self.topic_config_error_code != ErrorCode::None;
            w.tag_count(&[topic_config_error_code]);
            if topic_config_error_code {
                w.tag(0, |w| w.error(self.topic_config_error_code));
            }
        }
    }
}

/// Part of a [`CreatableTopicResult`]: `configs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatableTopicConfigs<'a> {
    /// Key of the setting.
    pub name: Cow<'a, str>,
    /// The value.
    pub value: Option<Cow<'a, str>>,
    /// Whether it cannot be changed.
    pub read_only: bool,
    /// Where the value comes from.
    pub config_source: i8,
    /// Whether the value is a secret; it is null then.
    pub is_sensitive: bool,
}

impl Default for CreatableTopicConfigs<'_> {
    fn default() -> Self {
        Self {
            name: Cow::Borrowed(""),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for CreatableTopicConfigs<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            name: r.string(flexible)?,
            value: r.nullable_string(flexible, true)?,
            read_only: r.bool()?,
            config_source: r.i8()?,
            is_sensitive: r.bool()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for CreatableTopicConfigs<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.string(flexible, &self.name);
        w.nullable_string(flexible, true, self.value.as_deref());
        w.bool(self.read_only);
        w.i8(self.config_source);
        w.bool(self.is_sensitive);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
