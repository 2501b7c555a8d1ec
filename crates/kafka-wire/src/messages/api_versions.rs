// @generated from schemas/api_versions.api by cargo xtask codegen
//! `ApiVersions` (key 18): tells which APIs and versions the broker speaks, and its features.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Tells which APIs and versions the broker speaks, and its features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersionsRequest<'a> {
    /// Name of the client's library. From version 3 on.
    pub client_software_name: Cow<'a, str>,
    /// Version of the client's library. From version 3 on.
    pub client_software_version: Cow<'a, str>,
}

impl Body for ApiVersionsRequest<'_> {
    const KEY: ApiKey = ApiKey::ApiVersions;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ApiVersionsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            client_software_name: if version >= 3 { r.string(flexible)? } else { Cow::Borrowed("") },
            client_software_version: if version >= 3 { r.string(flexible)? } else { Cow::Borrowed("") },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ApiVersionsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        if version >= 3 {
            w.string(flexible, &self.client_software_name);
        }
        if version >= 3 {
            w.string(flexible, &self.client_software_version);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`ApiVersionsRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiVersionsResponse<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// What the broker speaks.
    pub api_keys: Vec<ApiVersion>,
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// Features the broker could use; one with minimum 0 is left out below version 4. From version 3 on.
    pub supported_features: Vec<SupportedFeature<'a>>,
    /// Grows with each change of the finalized features; -1 when unknown. From version 3 on.
    pub finalized_features_epoch: i64,
    /// Features in use in the whole cluster; they count only with an epoch. From version 3 on.
    pub finalized_features: Vec<FinalizedFeature<'a>>,
    /// Whether a migration away from ZooKeeper may begin. From version 3 on.
    pub zk_migration_ready: bool,
}

impl Default for ApiVersionsResponse<'_> {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            api_keys: Vec::new(),
            throttle_time_ms: 0,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        }
    }
}

impl Body for ApiVersionsResponse<'_> {
    const KEY: ApiKey = ApiKey::ApiVersions;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ApiVersionsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let mut value = Self {
            error_code: r.error()?,
            api_keys: r.array(flexible, 6, |r| ApiVersion::decode(r, version))?,
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 => {
                        value.supported_features =
                            r.array(true, 6, |r| SupportedFeature::decode(r, version))?
                    }
                    1 => value.finalized_features_epoch = r.i64()?,
                    2 => {
                        value.finalized_features =
                            r.array(true, 6, |r| FinalizedFeature::decode(r, version))?
                    }
                    3 => value.zk_migration_ready = r.bool()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ApiVersionsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        w.error(self.error_code);
        w.array(flexible, &self.api_keys, |w, value| value.encode(w, version));
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        if flexible {
            let supported_features = !self.supported_features.is_empty();
            let finalized_features_epoch = self.finalized_features_epoch != -1;
            let finalized_features = !self.finalized_features.is_empty();
            let zk_migration_ready = self.zk_migration_ready;
            w.tag_count(&[
                supported_features,
                finalized_features_epoch,
                finalized_features,
                zk_migration_ready,
            ]);
            if supported_features {
                w.tag(0, |w| w.array(true, &self.supported_features, |w, value| value.encode(w, version)));
            }
            if finalized_features_epoch {
                w.tag(1, |w| w.i64(self.finalized_features_epoch));
            }
            if finalized_features {
                w.tag(2, |w| w.array(true, &self.finalized_features, |w, value| value.encode(w, version)));
            }
            if zk_migration_ready {
                w.tag(3, |w| w.bool(self.zk_migration_ready));
            }
        }
    }
}

impl<F> FileRanges<F> for ApiVersionsResponse<'_> {}

/// Part of a [`ApiVersionsResponse`]: `api_keys`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersion {
    /// Number of the API.
    pub api_key: i16,
    /// Lowest version.
    pub min_version: i16,
    /// Highest version.
    pub max_version: i16,
}

#[cfg(feature = "client")]
impl Decode<'_> for ApiVersion {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self { api_key: r.i16()?, min_version: r.i16()?, max_version: r.i16()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ApiVersion {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        w.i16(self.api_key);
        w.i16(self.min_version);
        w.i16(self.max_version);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ApiVersionsResponse`]: `supported_features`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SupportedFeature<'a> {
    /// Name of the feature.
    pub name: Cow<'a, str>,
    /// Lowest level.
    pub min_version: i16,
    /// Highest level.
    pub max_version: i16,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for SupportedFeature<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self { name: r.string(flexible)?, min_version: r.i16()?, max_version: r.i16()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for SupportedFeature<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        w.string(flexible, &self.name);
        w.i16(self.min_version);
        w.i16(self.max_version);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ApiVersionsResponse`]: `finalized_features`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalizedFeature<'a> {
    /// Name of the feature.
    pub name: Cow<'a, str>,
    /// Highest level in use.
    pub max_version_level: i16,
    /// Lowest level in use.
    pub min_version_level: i16,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for FinalizedFeature<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value =
            Self { name: r.string(flexible)?, max_version_level: r.i16()?, min_version_level: r.i16()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for FinalizedFeature<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        w.string(flexible, &self.name);
        w.i16(self.max_version_level);
        w.i16(self.min_version_level);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
