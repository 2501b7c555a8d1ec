// @generated from schemas/ by cargo xtask codegen
//! The messages: one module for each API, and enums over all of them.

use crate::{ApiKey, NoFile};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, EncodeError, Reader, Rope};

pub mod api_versions;
pub mod fetch;
pub mod metadata;
pub mod produce;

/// The body of any request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Appends record batches to partitions.
    Produce(produce::ProduceRequest<'a>),
    /// Reads record batches from partitions; waits for new ones.
    Fetch(fetch::FetchRequest<'a>),
    /// Describes brokers, topics and partitions.
    Metadata(metadata::MetadataRequest<'a>),
    /// Tells which APIs and versions the broker speaks, and its features.
    ApiVersions(api_versions::ApiVersionsRequest<'a>),
}

impl<'a> Request<'a> {
    /// The API that the body belongs to.
    pub const fn key(&self) -> ApiKey {
        match self {
            Self::Produce(_) => ApiKey::Produce,
            Self::Fetch(_) => ApiKey::Fetch,
            Self::Metadata(_) => ApiKey::Metadata,
            Self::ApiVersions(_) => ApiKey::ApiVersions,
        }
    }

    /// Reads the body of `key` in `version`, which the caller has checked to be accepted.
    #[cfg(feature = "broker")]
    pub fn decode(r: &mut Reader<'a>, key: ApiKey, version: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            ApiKey::Produce => Self::Produce(Decode::decode(r, version)?),
            ApiKey::Fetch => Self::Fetch(Decode::decode(r, version)?),
            ApiKey::Metadata => Self::Metadata(Decode::decode(r, version)?),
            ApiKey::ApiVersions => Self::ApiVersions(Decode::decode(r, version)?),
        })
    }

    /// The whole frame of the request.
    #[cfg(feature = "client")]
    pub fn to_frame(
        &self,
        version: i16,
        correlation_id: i32,
        client_id: Option<&str>,
    ) -> Result<Rope, EncodeError> {
        match self {
            Self::Produce(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::Fetch(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::Metadata(body) => crate::encode_request(version, correlation_id, client_id, body),
            Self::ApiVersions(body) => crate::encode_request(version, correlation_id, client_id, body),
        }
    }
}

/// The body of any response. `F` is the handle of files whose ranges are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<'a, F = NoFile> {
    /// Appends record batches to partitions.
    Produce(produce::ProduceResponse<'a>),
    /// Reads record batches from partitions; waits for new ones.
    Fetch(fetch::FetchResponse<'a, F>),
    /// Describes brokers, topics and partitions.
    Metadata(metadata::MetadataResponse<'a>),
    /// Tells which APIs and versions the broker speaks, and its features.
    ApiVersions(api_versions::ApiVersionsResponse<'a>),
}

impl<'a> Response<'a> {
    /// Reads the body of `key` in `version`, which the caller has checked to be accepted.
    #[cfg(feature = "client")]
    pub fn decode(r: &mut Reader<'a>, key: ApiKey, version: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            ApiKey::Produce => Self::Produce(Decode::decode(r, version)?),
            ApiKey::Fetch => Self::Fetch(Decode::decode(r, version)?),
            ApiKey::Metadata => Self::Metadata(Decode::decode(r, version)?),
            ApiKey::ApiVersions => Self::ApiVersions(Decode::decode(r, version)?),
        })
    }
}

impl<F> Response<'_, F> {
    /// The API that the body belongs to.
    pub const fn key(&self) -> ApiKey {
        match self {
            Self::Produce(_) => ApiKey::Produce,
            Self::Fetch(_) => ApiKey::Fetch,
            Self::Metadata(_) => ApiKey::Metadata,
            Self::ApiVersions(_) => ApiKey::ApiVersions,
        }
    }

    /// The whole frame of the response.
    #[cfg(feature = "broker")]
    pub fn to_frame(&self, version: i16, correlation_id: i32) -> Result<Rope<F>, EncodeError>
    where
        F: Clone,
    {
        match self {
            Self::Produce(body) => crate::encode_response(version, correlation_id, body),
            Self::Fetch(body) => crate::encode_response(version, correlation_id, body),
            Self::Metadata(body) => crate::encode_response(version, correlation_id, body),
            Self::ApiVersions(body) => crate::encode_response(version, correlation_id, body),
        }
    }
}
