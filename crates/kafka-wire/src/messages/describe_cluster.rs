// @generated from schemas/describe_cluster.api by cargo xtask codegen
//! `DescribeCluster` (key 60): describes the brokers of the cluster and their addresses.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Describes the brokers of the cluster and their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeClusterRequest {
    /// Whether to tell what the client may do with the cluster.
    pub include_cluster_authorized_operations: bool,
    /// 1: brokers, 2: controllers. From version 1 on.
    pub endpoint_type: i8,
    /// Whether brokers that are registered and not alive are wanted too. From version 2 on.
    pub include_fenced_brokers: bool,
}

impl Default for DescribeClusterRequest {
    fn default() -> Self {
        Self { include_cluster_authorized_operations: false, endpoint_type: 1, include_fenced_brokers: false }
    }
}

impl Body for DescribeClusterRequest {
    const KEY: ApiKey = ApiKey::DescribeCluster;
}

#[cfg(feature = "broker")]
impl Decode<'_> for DescribeClusterRequest {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            include_cluster_authorized_operations: r.bool()?,
            endpoint_type: if version >= 1 { r.i8()? } else { 1 },
            include_fenced_brokers: if version == 2 { r.bool()? } else { false },
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeClusterRequest {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.bool(self.include_cluster_authorized_operations);
        if version >= 1 {
            w.i8(self.endpoint_type);
        }
        if version == 2 {
            w.bool(self.include_fenced_brokers);
        }
        w.tag_count(&[]);
    }
}

/// The answer to a [`DescribeClusterRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeClusterResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
    /// 1: brokers, 2: controllers. From version 1 on.
    pub endpoint_type: i8,
    /// Id of the cluster.
    pub cluster_id: Cow<'a, str>,
    /// A live broker to send administration to.
    pub controller_id: i32,
    /// The brokers.
    pub brokers: Vec<DescribeClusterBroker<'a>>,
    /// Bits of what the client may do with the cluster; the lowest number when not asked.
    pub cluster_authorized_operations: i32,
}

impl Default for DescribeClusterResponse<'_> {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::None,
            error_message: None,
            endpoint_type: 1,
            cluster_id: Cow::Borrowed(""),
            controller_id: -1,
            brokers: Vec::new(),
            cluster_authorized_operations: i32::MIN,
        }
    }
}

impl Body for DescribeClusterResponse<'_> {
    const KEY: ApiKey = ApiKey::DescribeCluster;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeClusterResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            throttle_time_ms: r.i32()?,
            error_code: r.error()?,
            error_message: r.nullable_string(true, true)?,
            endpoint_type: if version >= 1 { r.i8()? } else { 1 },
            cluster_id: r.string(true)?,
            controller_id: r.i32()?,
            brokers: r.array(true, 11, |r| DescribeClusterBroker::decode(r, version))?,
            cluster_authorized_operations: r.i32()?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeClusterResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.throttle_time_ms);
        w.error(self.error_code);
        w.nullable_string(true, true, self.error_message.as_deref());
        if version >= 1 {
            w.i8(self.endpoint_type);
        }
        w.string(true, &self.cluster_id);
        w.i32(self.controller_id);
        w.array(true, &self.brokers, |w, value| value.encode(w, version));
        w.i32(self.cluster_authorized_operations);
        w.tag_count(&[]);
    }
}

impl<F> FileRanges<F> for DescribeClusterResponse<'_> {}

/// Part of a [`DescribeClusterResponse`]: `brokers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeClusterBroker<'a> {
    /// Id of the broker.
    pub broker_id: i32,
    /// Host to connect to.
    pub host: Cow<'a, str>,
    /// Port to connect to.
    pub port: i32,
    /// Where the broker is; null when not told.
    pub rack: Option<Cow<'a, str>>,
    /// Whether the broker is registered and not alive. From version 2 on.
    pub is_fenced: bool,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeClusterBroker<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            broker_id: r.i32()?,
            host: r.string(true)?,
            port: r.i32()?,
            rack: r.nullable_string(true, true)?,
            is_fenced: if version == 2 { r.bool()? } else { false },
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeClusterBroker<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        w.i32(self.broker_id);
        w.string(true, &self.host);
        w.i32(self.port);
        w.nullable_string(true, true, self.rack.as_deref());
        if version == 2 {
            w.bool(self.is_fenced);
        }
        w.tag_count(&[]);
    }
}
