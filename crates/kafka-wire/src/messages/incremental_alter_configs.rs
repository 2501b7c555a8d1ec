// @generated from schemas/incremental_alter_configs.api by cargo xtask codegen
//! `IncrementalAlterConfigs` (key 44): edits settings one by one.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Edits settings one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncrementalAlterConfigsRequest<'a> {
    /// What to change.
    pub resources: Vec<AlterConfigsResource<'a>>,
    /// Check and change nothing.
    pub validate_only: bool,
}

impl Body for IncrementalAlterConfigsRequest<'_> {
    const KEY: ApiKey = ApiKey::IncrementalAlterConfigs;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for IncrementalAlterConfigsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let value = Self {
            resources: r.array(flexible, 4, |r| AlterConfigsResource::decode(r, version))?,
            validate_only: r.bool()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for IncrementalAlterConfigsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 1;
        w.array(flexible, &self.resources, |w, value| value.encode(w, version));
        w.bool(self.validate_only);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`IncrementalAlterConfigsRequest`]: `resources`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlterConfigsResource<'a> {
    /// What kind of thing it is: 2 topic, 4 broker, 8 broker logger.
    pub resource_type: i8,
    /// Name of the topic, or id of the broker.
    pub resource_name: Cow<'a, str>,
    /// The changes.
    pub configs: Vec<AlterableConfig<'a>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for AlterConfigsResource<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let value = Self {
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
            configs: r.array(flexible, 4, |r| AlterableConfig::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for AlterConfigsResource<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 1;
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name);
        w.array(flexible, &self.configs, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`AlterConfigsResource`]: `configs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlterableConfig<'a> {
    /// Key of the setting.
    pub name: Cow<'a, str>,
    /// 0: set, 1: delete, 2: append to a list, 3: take out of a list.
    pub config_operation: i8,
    /// The value; null for delete.
    pub value: Option<Cow<'a, str>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for AlterableConfig<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let value = Self {
            name: r.string(flexible)?,
            config_operation: r.i8()?,
            value: r.nullable_string(flexible, true)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for AlterableConfig<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 1;
        w.string(flexible, &self.name);
        w.i8(self.config_operation);
        w.nullable_string(flexible, true, self.value.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`IncrementalAlterConfigsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncrementalAlterConfigsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of each resource.
    pub responses: Vec<AlterConfigsResourceResponse<'a>>,
}

impl Body for IncrementalAlterConfigsResponse<'_> {
    const KEY: ApiKey = ApiKey::IncrementalAlterConfigs;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for IncrementalAlterConfigsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let value = Self {
            throttle_time_ms: r.i32()?,
            responses: r.array(flexible, 6, |r| AlterConfigsResourceResponse::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for IncrementalAlterConfigsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 1;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.responses, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for IncrementalAlterConfigsResponse<'_> {}

/// Part of a [`IncrementalAlterConfigsResponse`]: `responses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlterConfigsResourceResponse<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
    /// What kind of thing it is: 2 topic, 4 broker, 8 broker logger.
    pub resource_type: i8,
    /// Name of the topic, or id of the broker.
    pub resource_name: Cow<'a, str>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for AlterConfigsResourceResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let value = Self {
            error_code: r.error()?,
            error_message: r.nullable_string(flexible, true)?,
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for AlterConfigsResourceResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 1;
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
