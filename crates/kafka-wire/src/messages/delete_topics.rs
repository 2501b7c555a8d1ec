// @generated from schemas/delete_topics.api by cargo xtask codegen
//! `DeleteTopics` (key 20): deletes topics with all their records.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Deletes topics with all their records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteTopicsRequest<'a> {
    /// Topics by name or by id. From version 6 on.
    pub topics: Vec<DeleteTopicState<'a>>,
    /// Topics by name. Up to version 5.
    pub topic_names: Vec<Cow<'a, str>>,
    /// How long the broker may work on it, in milliseconds.
    pub timeout_ms: i32,
}

impl Body for DeleteTopicsRequest<'_> {
    const KEY: ApiKey = ApiKey::DeleteTopics;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DeleteTopicsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            topics: if version == 6 {
                r.array(flexible, 18, |r| DeleteTopicState::decode(r, version))?
            } else {
                Vec::new()
            },
            topic_names: if version <= 5 {
                r.array(flexible, 1, |r| r.string(flexible))?
            } else {
                Vec::new()
            },
            timeout_ms: r.i32()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DeleteTopicsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        if version == 6 {
            w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        }
        if version <= 5 {
            w.array(flexible, &self.topic_names, |w, value| w.string(flexible, value));
        }
        w.i32(self.timeout_ms);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DeleteTopicsRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteTopicState<'a> {
    /// Name of the topic; null when it is named by id.
    pub name: Option<Cow<'a, str>>,
    /// Id of the topic; zero for none.
    pub topic_id: Uuid,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DeleteTopicState<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self { name: r.nullable_string(flexible, true)?, topic_id: r.uuid()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DeleteTopicState<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.nullable_string(flexible, true, self.name.as_deref());
        w.uuid(self.topic_id);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`DeleteTopicsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteTopicsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of each topic.
    pub responses: Vec<DeletableTopicResult<'a>>,
}

impl Body for DeleteTopicsResponse<'_> {
    const KEY: ApiKey = ApiKey::DeleteTopics;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DeleteTopicsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            throttle_time_ms: r.i32()?,
            responses: r.array(flexible, 4, |r| DeletableTopicResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeleteTopicsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.responses, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for DeleteTopicsResponse<'_> {}

/// Part of a [`DeleteTopicsResponse`]: `responses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletableTopicResult<'a> {
    /// Name of the topic; null when it was named by an unknown id.
    pub name: Option<Cow<'a, str>>,
    /// Id of the topic; zero for none. From version 6 on.
    pub topic_id: Uuid,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add. From version 5 on.
    pub error_message: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DeletableTopicResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            name: r.nullable_string(flexible, version == 6)?,
            topic_id: if version == 6 { r.uuid()? } else { Uuid::NONE },
            error_code: r.error()?,
            error_message: if version >= 5 { r.nullable_string(flexible, true)? } else { None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeletableTopicResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.nullable_string(flexible, version == 6, self.name.as_deref());
        if version == 6 {
            w.uuid(self.topic_id);
        }
        w.error(self.error_code);
        if version >= 5 {
            w.nullable_string(flexible, true, self.error_message.as_deref());
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}
