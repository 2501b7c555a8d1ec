// @generated from schemas/describe_configs.api by cargo xtask codegen
//! `DescribeConfigs` (key 32): tells the settings of topics and brokers.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Tells the settings of topics and brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeConfigsRequest<'a> {
    /// What to describe.
    pub resources: Vec<DescribeConfigsResource<'a>>,
    /// Whether to tell where a value would come from otherwise.
    pub include_synonyms: bool,
    /// Whether to tell what the settings mean. From version 3 on.
    pub include_documentation: bool,
}

impl Body for DescribeConfigsRequest<'_> {
    const KEY: ApiKey = ApiKey::DescribeConfigs;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribeConfigsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            resources: r.array(flexible, 4, |r| DescribeConfigsResource::decode(r, version))?,
            include_synonyms: r.bool()?,
            include_documentation: if version >= 3 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeConfigsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.array(flexible, &self.resources, |w, value| value.encode(w, version));
        w.bool(self.include_synonyms);
        if version >= 3 {
            w.bool(self.include_documentation);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribeConfigsRequest`]: `resources`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeConfigsResource<'a> {
    /// What kind of thing it is: 2 topic, 4 broker, 8 broker logger.
    pub resource_type: i8,
    /// Name of the topic, or id of the broker.
    pub resource_name: Cow<'a, str>,
    /// Keys to tell; null for all.
    pub configuration_keys: Option<Vec<Cow<'a, str>>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribeConfigsResource<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
            configuration_keys: r.nullable_array(flexible, true, 1, |r| r.string(flexible))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeConfigsResource<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name);
        w.nullable_array(flexible, true, self.configuration_keys.as_deref(), |w, value| {
            w.string(flexible, value)
        });
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`DescribeConfigsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeConfigsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By resource.
    pub results: Vec<DescribeConfigsResult<'a>>,
}

impl Body for DescribeConfigsResponse<'_> {
    const KEY: ApiKey = ApiKey::DescribeConfigs;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeConfigsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            throttle_time_ms: r.i32()?,
            results: r.array(flexible, 7, |r| DescribeConfigsResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeConfigsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.results, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for DescribeConfigsResponse<'_> {}

/// Part of a [`DescribeConfigsResponse`]: `results`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeConfigsResult<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
    /// What kind of thing it is: 2 topic, 4 broker, 8 broker logger.
    pub resource_type: i8,
    /// Name of the topic, or id of the broker.
    pub resource_name: Cow<'a, str>,
    /// The settings.
    pub configs: Vec<DescribeConfigsResourceResult<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeConfigsResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            error_code: r.error()?,
            error_message: r.nullable_string(flexible, true)?,
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
            configs: r.array(flexible, 9, |r| DescribeConfigsResourceResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeConfigsResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name);
        w.array(flexible, &self.configs, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribeConfigsResult`]: `configs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeConfigsResourceResult<'a> {
    /// Key of the setting.
    pub name: Cow<'a, str>,
    /// The value; null when secret or not set.
    pub value: Option<Cow<'a, str>>,
    /// Whether it cannot be changed.
    pub read_only: bool,
    /// Where the value comes from.
    pub config_source: i8,
    /// Whether the value is a secret.
    pub is_sensitive: bool,
    /// Where the value comes from, nearest first.
    pub synonyms: Vec<DescribeConfigsSynonym<'a>>,
    /// What kind of value it is. From version 3 on.
    pub config_type: i8,
    /// What the setting means. From version 3 on.
    pub documentation: Option<Cow<'a, str>>,
}

impl Default for DescribeConfigsResourceResult<'_> {
    fn default() -> Self {
        Self {
            name: Cow::Borrowed(""),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Vec::new(),
            config_type: 0,
            documentation: None,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeConfigsResourceResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            name: r.string(flexible)?,
            value: r.nullable_string(flexible, true)?,
            read_only: r.bool()?,
            config_source: r.i8()?,
            is_sensitive: r.bool()?,
            synonyms: r.array(flexible, 4, |r| DescribeConfigsSynonym::decode(r, version))?,
            config_type: if version >= 3 { r.i8()? } else { 0 },
            documentation: if version >= 3 { r.nullable_string(flexible, true)? } else { None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeConfigsResourceResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.name);
        w.nullable_string(flexible, true, self.value.as_deref());
        w.bool(self.read_only);
        w.i8(self.config_source);
        w.bool(self.is_sensitive);
        w.array(flexible, &self.synonyms, |w, value| value.encode(w, version));
        if version >= 3 {
            w.i8(self.config_type);
        }
        if version >= 3 {
            w.nullable_string(flexible, true, self.documentation.as_deref());
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribeConfigsResourceResult`]: `synonyms`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeConfigsSynonym<'a> {
    /// Key that gives the value.
    pub name: Cow<'a, str>,
    /// The value there.
    pub value: Option<Cow<'a, str>>,
    /// What kind of place it is.
    pub source: i8,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeConfigsSynonym<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value =
            Self { name: r.string(flexible)?, value: r.nullable_string(flexible, true)?, source: r.i8()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeConfigsSynonym<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.name);
        w.nullable_string(flexible, true, self.value.as_deref());
        w.i8(self.source);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
