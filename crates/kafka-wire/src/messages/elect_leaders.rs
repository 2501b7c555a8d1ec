// @generated from schemas/elect_leaders.api by cargo xtask codegen
//! `ElectLeaders` (key 43): elects leaders of partitions: the preferred ones, or unclean ones where nobody leads.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Elects leaders of partitions: the preferred ones, or unclean ones where nobody leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectLeadersRequest<'a> {
    /// 0: the preferred replica, 1: any live replica of a partition without a leader, which loses records. From version 1 on.
    pub election_type: i8,
    /// Null for all partitions that need such an election.
    pub topic_partitions: Option<Vec<ElectLeadersTopic<'a>>>,
    /// How long the broker may work on it, in milliseconds.
    pub timeout_ms: i32,
    /// Highwater's own: whom an operator chose for unclean elections, and by what. From version 2 on.
    pub choices: Vec<ElectLeadersChoice<'a>>,
}

impl Default for ElectLeadersRequest<'_> {
    fn default() -> Self {
        Self { election_type: 0, topic_partitions: None, timeout_ms: 60000, choices: Vec::new() }
    }
}

impl Body for ElectLeadersRequest<'_> {
    const KEY: ApiKey = ApiKey::ElectLeaders;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ElectLeadersRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let mut value = Self {
            election_type: if version >= 1 { r.i8()? } else { 0 },
            topic_partitions: r
                .nullable_array(flexible, true, 3, |r| ElectLeadersTopic::decode(r, version))?,
            timeout_ms: r.i32()?,
            choices: Vec::new(),
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    9092 => value.choices = r.array(true, 15, |r| ElectLeadersChoice::decode(r, version))?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ElectLeadersRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        if version >= 1 {
            w.i8(self.election_type);
        }
        w.nullable_array(flexible, true, self.topic_partitions.as_deref(), |w, value| {
            value.encode(w, version)
        });
        w.i32(self.timeout_ms);
        if flexible {
            let choices = !self.choices.is_empty();
            w.tag_count(&[choices]);
            if choices {
                w.tag(9092, |w| w.array(true, &self.choices, |w, value| value.encode(w, version)));
            }
        }
    }
}

/// Part of a [`ElectLeadersRequest`]: `topic_partitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElectLeadersTopic<'a> {
    /// Name of the topic.
    pub topic: Cow<'a, str>,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ElectLeadersTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { topic: r.string(flexible)?, partitions: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ElectLeadersTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.topic);
        w.array(flexible, &self.partitions, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ElectLeadersRequest`]: `choices`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElectLeadersChoice<'a> {
    /// Name of the topic.
    pub topic: Cow<'a, str>,
    /// Number of the partition.
    pub partition_index: i32,
    /// Leader epoch that the operator saw; under another one the choice is refused.
    pub leader_epoch: i32,
    /// Broker that shall lead.
    pub leader_id: i32,
    /// What the operator was shown.
    pub shown: Vec<ElectLeadersReplicaEnd>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ElectLeadersChoice<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            topic: r.string(flexible)?,
            partition_index: r.i32()?,
            leader_epoch: r.i32()?,
            leader_id: r.i32()?,
            shown: r.array(flexible, 16, |r| ElectLeadersReplicaEnd::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ElectLeadersChoice<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.topic);
        w.i32(self.partition_index);
        w.i32(self.leader_epoch);
        w.i32(self.leader_id);
        w.array(flexible, &self.shown, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ElectLeadersChoice`]: `shown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectLeadersReplicaEnd {
    /// Broker that holds the replica.
    pub broker_id: i32,
    /// Its last leader epoch; -1 when unknown.
    pub last_epoch: i32,
    /// Its log end; -1 when unknown.
    pub end: i64,
}

impl Default for ElectLeadersReplicaEnd {
    fn default() -> Self {
        Self { broker_id: 0, last_epoch: -1, end: -1 }
    }
}

#[cfg(feature = "broker")]
impl Decode<'_> for ElectLeadersReplicaEnd {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { broker_id: r.i32()?, last_epoch: r.i32()?, end: r.i64()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ElectLeadersReplicaEnd {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.broker_id);
        w.i32(self.last_epoch);
        w.i64(self.end);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`ElectLeadersRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElectLeadersResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of it. From version 1 on.
    pub error_code: ErrorCode,
    /// By topic.
    pub replica_election_results: Vec<ReplicaElectionResult<'a>>,
}

impl Body for ElectLeadersResponse<'_> {
    const KEY: ApiKey = ApiKey::ElectLeaders;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ElectLeadersResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            throttle_time_ms: r.i32()?,
            error_code: if version >= 1 { r.error()? } else { ErrorCode::None },
            replica_election_results: r.array(flexible, 3, |r| ReplicaElectionResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ElectLeadersResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        if version >= 1 {
            w.error(self.error_code);
        }
        w.array(flexible, &self.replica_election_results, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for ElectLeadersResponse<'_> {}

/// Part of a [`ElectLeadersResponse`]: `replica_election_results`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaElectionResult<'a> {
    /// Name of the topic.
    pub topic: Cow<'a, str>,
    /// By partition.
    pub partition_result: Vec<PartitionElectionResult<'a>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ReplicaElectionResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            topic: r.string(flexible)?,
            partition_result: r.array(flexible, 8, |r| PartitionElectionResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ReplicaElectionResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.topic);
        w.array(flexible, &self.partition_result, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`ReplicaElectionResult`]: `partition_result`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionElectionResult<'a> {
    /// Number of the partition.
    pub partition_id: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for PartitionElectionResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            partition_id: r.i32()?,
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
impl Encode for PartitionElectionResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.partition_id);
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}
