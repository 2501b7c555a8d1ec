// @generated from schemas/metadata.api by cargo xtask codegen
//! `Metadata` (key 3): describes brokers, topics and partitions.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Describes brokers, topics and partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataRequest<'a> {
    /// Topics to describe; null means all. In version 0 an empty list means all.
    pub topics: Option<Vec<MetadataRequestTopic<'a>>>,
    /// Whether the broker may create topics that do not exist. From version 4 on.
    pub allow_auto_topic_creation: bool,
    /// Whether to tell what the client may do with the cluster. In versions 8 to 10.
    pub include_cluster_authorized_operations: bool,
    /// Whether to tell what the client may do with each topic. From version 8 on.
    pub include_topic_authorized_operations: bool,
}

impl Default for MetadataRequest<'_> {
    fn default() -> Self {
        Self {
            topics: None,
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

impl Body for MetadataRequest<'_> {
    const KEY: ApiKey = ApiKey::Metadata;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for MetadataRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            topics: r
                .nullable_array(flexible, version >= 1, 2, |r| MetadataRequestTopic::decode(r, version))?,
            allow_auto_topic_creation: if version >= 4 { r.bool()? } else { true },
            include_cluster_authorized_operations: if (8..=10).contains(&version) {
                r.bool()?
            } else {
                false
            },
            include_topic_authorized_operations: if version >= 8 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for MetadataRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.nullable_array(flexible, version >= 1, self.topics.as_deref(), |w, value| value.encode(w, version));
        if version >= 4 {
            w.bool(self.allow_auto_topic_creation);
        }
        if (8..=10).contains(&version) {
            w.bool(self.include_cluster_authorized_operations);
        }
        if version >= 8 {
            w.bool(self.include_topic_authorized_operations);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`MetadataRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataRequestTopic<'a> {
    /// Id of the topic; zero for none. From version 10 on.
    pub topic_id: Uuid,
    /// Name of the topic; null when it is asked for by id.
    pub name: Option<Cow<'a, str>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for MetadataRequestTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::NONE },
            name: r.nullable_string(flexible, version >= 10)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for MetadataRequestTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.nullable_string(flexible, version >= 10, self.name.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`MetadataRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 3 on.
    pub throttle_time_ms: i32,
    /// Brokers that are alive.
    pub brokers: Vec<MetadataBroker<'a>>,
    /// Id of the cluster. From version 2 on.
    pub cluster_id: Option<Cow<'a, str>>,
    /// A live broker to send administration to. From version 1 on.
    pub controller_id: i32,
    /// What was asked for.
    pub topics: Vec<MetadataTopic<'a>>,
    /// Bits of what the client may do with the cluster; the lowest number when not asked. In versions 8 to 10.
    pub cluster_authorized_operations: i32,
    /// What became of it. From version 13 on.
    pub error_code: ErrorCode,
}

impl Default for MetadataResponse<'_> {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Vec::new(),
            cluster_id: None,
            controller_id: -1,
            topics: Vec::new(),
            cluster_authorized_operations: i32::MIN,
            error_code: ErrorCode::None,
        }
    }
}

impl Body for MetadataResponse<'_> {
    const KEY: ApiKey = ApiKey::Metadata;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for MetadataResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            throttle_time_ms: if version >= 3 { r.i32()? } else { 0 },
            brokers: r.array(flexible, 10, |r| MetadataBroker::decode(r, version))?,
            cluster_id: if version >= 2 { r.nullable_string(flexible, true)? } else { None },
            controller_id: if version >= 1 { r.i32()? } else { -1 },
            topics: r.array(flexible, 8, |r| MetadataTopic::decode(r, version))?,
            cluster_authorized_operations: if (8..=10).contains(&version) { r.i32()? } else { i32::MIN },
            error_code: if version == 13 { r.error()? } else { ErrorCode::None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for MetadataResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.brokers, |w, value| value.encode(w, version));
        if version >= 2 {
            w.nullable_string(flexible, true, self.cluster_id.as_deref());
        }
        if version >= 1 {
            w.i32(self.controller_id);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if (8..=10).contains(&version) {
            w.i32(self.cluster_authorized_operations);
        }
        if version == 13 {
            w.error(self.error_code);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for MetadataResponse<'_> {}

/// Part of a [`MetadataResponse`]: `brokers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataBroker<'a> {
    /// Id of the broker.
    pub node_id: i32,
    /// Host to connect to.
    pub host: Cow<'a, str>,
    /// Port to connect to.
    pub port: i32,
    /// Where the broker is; null when not told. From version 1 on.
    pub rack: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for MetadataBroker<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            node_id: r.i32()?,
            host: r.string(flexible)?,
            port: r.i32()?,
            rack: if version >= 1 { r.nullable_string(flexible, true)? } else { None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for MetadataBroker<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.i32(self.node_id);
        w.string(flexible, &self.host);
        w.i32(self.port);
        if version >= 1 {
            w.nullable_string(flexible, true, self.rack.as_deref());
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`MetadataResponse`]: `topics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataTopic<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// Name of the topic; null when it was asked for by an unknown id.
    pub name: Option<Cow<'a, str>>,
    /// Id of the topic; zero for none. From version 10 on.
    pub topic_id: Uuid,
    /// Whether the topic belongs to the brokers. From version 1 on.
    pub is_internal: bool,
    /// By partition.
    pub partitions: Vec<MetadataPartition>,
    /// Bits of what the client may do with the topic; the lowest number when not asked. From version 8 on.
    pub topic_authorized_operations: i32,
}

impl Default for MetadataTopic<'_> {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            name: None,
            topic_id: Uuid::NONE,
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for MetadataTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            error_code: r.error()?,
            name: r.nullable_string(flexible, version >= 12)?,
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::NONE },
            is_internal: if version >= 1 { r.bool()? } else { false },
            partitions: r.array(flexible, 18, |r| MetadataPartition::decode(r, version))?,
            topic_authorized_operations: if version >= 8 { r.i32()? } else { i32::MIN },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for MetadataTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.error(self.error_code);
        w.nullable_string(flexible, version >= 12, self.name.as_deref());
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version >= 1 {
            w.bool(self.is_internal);
        }
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if version >= 8 {
            w.i32(self.topic_authorized_operations);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`MetadataTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataPartition {
    /// What became of it.
    pub error_code: ErrorCode,
    /// Number of the partition.
    pub partition_index: i32,
    /// Broker that leads the partition; -1 when there is none.
    pub leader_id: i32,
    /// The leader's epoch; -1 for none. From version 7 on.
    pub leader_epoch: i32,
    /// Brokers that hold the partition.
    pub replica_nodes: Vec<i32>,
    /// Brokers that are in sync.
    pub isr_nodes: Vec<i32>,
    /// Brokers that hold the partition and are not there. From version 5 on.
    pub offline_replicas: Vec<i32>,
}

impl Default for MetadataPartition {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for MetadataPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            error_code: r.error()?,
            partition_index: r.i32()?,
            leader_id: r.i32()?,
            leader_epoch: if version >= 7 { r.i32()? } else { -1 },
            replica_nodes: r.array(flexible, 4, Reader::i32)?,
            isr_nodes: r.array(flexible, 4, Reader::i32)?,
            offline_replicas: if version >= 5 { r.array(flexible, 4, Reader::i32)? } else { Vec::new() },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for MetadataPartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.error(self.error_code);
        w.i32(self.partition_index);
        w.i32(self.leader_id);
        if version >= 7 {
            w.i32(self.leader_epoch);
        }
        w.array(flexible, &self.replica_nodes, |w, value| w.i32(*value));
        w.array(flexible, &self.isr_nodes, |w, value| w.i32(*value));
        if version >= 5 {
            w.array(flexible, &self.offline_replicas, |w, value| w.i32(*value));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}
