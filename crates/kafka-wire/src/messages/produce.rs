// @generated from schemas/produce.api by cargo xtask codegen
//! `Produce` (key 0): appends record batches to partitions.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Appends record batches to partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceRequest<'a> {
    /// The transaction's producer; null outside of transactions.
    pub transactional_id: Option<Cow<'a, str>>,
    /// 0: no answer at all, 1: the leader has it, -1: it is committed.
    pub acks: i16,
    /// How long the broker may work on it, in milliseconds.
    pub timeout_ms: i32,
    /// What to append.
    pub topic_data: Vec<TopicProduceData<'a>>,
}

impl Body for ProduceRequest<'_> {
    const KEY: ApiKey = ApiKey::Produce;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ProduceRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            transactional_id: r.nullable_string(flexible, true)?,
            acks: r.i16()?,
            timeout_ms: r.i32()?,
            topic_data: r.array(flexible, 3, |r| TopicProduceData::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ProduceRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.nullable_string(flexible, true, self.transactional_id.as_deref());
        w.i16(self.acks);
        w.i32(self.timeout_ms);
        w.array(flexible, &self.topic_data, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ProduceRequest`]: `topic_data`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicProduceData<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// What to append to each partition.
    pub partition_data: Vec<PartitionProduceData>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for TopicProduceData<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            name: r.string(flexible)?,
            partition_data: r.array(flexible, 6, |r| PartitionProduceData::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for TopicProduceData<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partition_data, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`TopicProduceData`]: `partition_data`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionProduceData {
    /// Number of the partition.
    pub index: i32,
    /// One record batch.
    pub records: Option<Bytes>,
}

#[cfg(feature = "broker")]
impl Decode<'_> for PartitionProduceData {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self { index: r.i32()?, records: r.nullable_records(flexible, true)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for PartitionProduceData {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.i32(self.index);
        w.nullable_records(flexible, true, self.records.as_ref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`ProduceRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceResponse<'a> {
    /// What became of each topic.
    pub responses: Vec<TopicProduceResponse<'a>>,
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// Addresses of the leaders named above. From version 10 on.
    pub node_endpoints: Vec<ProduceNodeEndpoint<'a>>,
}

impl Body for ProduceResponse<'_> {
    const KEY: ApiKey = ApiKey::Produce;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ProduceResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let mut value = Self {
            responses: r.array(flexible, 3, |r| TopicProduceResponse::decode(r, version))?,
            throttle_time_ms: r.i32()?,
            node_endpoints: Vec::new(),
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 if version >= 10 => {
                        value.node_endpoints =
                            r.array(true, 11, |r| ProduceNodeEndpoint::decode(r, version))?
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ProduceResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.array(flexible, &self.responses, |w, value| value.encode(w, version));
        w.i32(self.throttle_time_ms);
        if flexible {
            let node_endpoints = version >= 10 && !self.node_endpoints.is_empty();
            w.tag_count(&[node_endpoints]);
            if node_endpoints {
                w.tag(0, |w| w.array(true, &self.node_endpoints, |w, value| value.encode(w, version)));
            }
        }
    }
}

impl<F> FileRanges<F> for ProduceResponse<'_> {}

/// Part of a [`ProduceResponse`]: `responses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicProduceResponse<'a> {
    /// Name of the topic.
    pub name: Cow<'a, str>,
    /// What became of each partition.
    pub partition_responses: Vec<PartitionProduceResponse<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for TopicProduceResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            name: r.string(flexible)?,
            partition_responses: r.array(flexible, 22, |r| PartitionProduceResponse::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for TopicProduceResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.string(flexible, &self.name);
        w.array(flexible, &self.partition_responses, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`TopicProduceResponse`]: `partition_responses`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionProduceResponse<'a> {
    /// Number of the partition.
    pub index: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// Offset of the first record.
    pub base_offset: i64,
    /// Time given by the broker, milliseconds since 1970; -1 when the producer's time was kept.
    pub log_append_time_ms: i64,
    /// First offset that is still there; -1 when unknown. From version 5 on.
    pub log_start_offset: i64,
    /// Records that made the broker refuse the batch. From version 8 on.
    pub record_errors: Vec<BatchIndexAndErrorMessage<'a>>,
    /// The error in words; null when there is none or nothing to add. From version 8 on.
    pub error_message: Option<Cow<'a, str>>,
    /// Who leads the partition, when it is not this broker. From version 10 on.
    pub current_leader: ProduceLeaderIdAndEpoch,
}

impl Default for PartitionProduceResponse<'_> {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode::None,
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: ProduceLeaderIdAndEpoch::default(),
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for PartitionProduceResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let mut value = Self {
            index: r.i32()?,
            error_code: r.error()?,
            base_offset: r.i64()?,
            log_append_time_ms: r.i64()?,
            log_start_offset: if version >= 5 { r.i64()? } else { -1 },
            record_errors: if version >= 8 {
                r.array(flexible, 6, |r| BatchIndexAndErrorMessage::decode(r, version))?
            } else {
                Vec::new()
            },
            error_message: if version >= 8 { r.nullable_string(flexible, true)? } else { None },
            current_leader: ProduceLeaderIdAndEpoch::default(),
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 if version >= 10 => value.current_leader = ProduceLeaderIdAndEpoch::decode(r, version)?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for PartitionProduceResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.i32(self.index);
        w.error(self.error_code);
        w.i64(self.base_offset);
        w.i64(self.log_append_time_ms);
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        if version >= 8 {
            w.array(flexible, &self.record_errors, |w, value| value.encode(w, version));
        }
        if version >= 8 {
            w.nullable_string(flexible, true, self.error_message.as_deref());
        }
        if flexible {
            let current_leader = version >= 10 && self.current_leader != ProduceLeaderIdAndEpoch::default();
            w.tag_count(&[current_leader]);
            if current_leader {
                w.tag(0, |w| self.current_leader.encode(w, version));
            }
        }
    }
}

/// Part of a [`PartitionProduceResponse`]: `record_errors`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchIndexAndErrorMessage<'a> {
    /// Position in the batch, from 0.
    pub batch_index: i32,
    /// What is wrong with the record.
    pub batch_index_error_message: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for BatchIndexAndErrorMessage<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value =
            Self { batch_index: r.i32()?, batch_index_error_message: r.nullable_string(flexible, true)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for BatchIndexAndErrorMessage<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.i32(self.batch_index);
        w.nullable_string(flexible, true, self.batch_index_error_message.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`PartitionProduceResponse`]: `current_leader`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProduceLeaderIdAndEpoch {
    /// Broker that leads the partition; -1 when there is none.
    pub leader_id: i32,
    /// The leader's epoch; -1 for none.
    pub leader_epoch: i32,
}

impl Default for ProduceLeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for ProduceLeaderIdAndEpoch {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self { leader_id: r.i32()?, leader_epoch: r.i32()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ProduceLeaderIdAndEpoch {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ProduceResponse`]: `node_endpoints`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceNodeEndpoint<'a> {
    /// Id of the broker.
    pub node_id: i32,
    /// Host to connect to.
    pub host: Cow<'a, str>,
    /// Port to connect to.
    pub port: i32,
    /// Where the broker is; null when not told.
    pub rack: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ProduceNodeEndpoint<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let value = Self {
            node_id: r.i32()?,
            host: r.string(flexible)?,
            port: r.i32()?,
            rack: r.nullable_string(flexible, true)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ProduceNodeEndpoint<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 9;
        w.i32(self.node_id);
        w.string(flexible, &self.host);
        w.i32(self.port);
        w.nullable_string(flexible, true, self.rack.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}
