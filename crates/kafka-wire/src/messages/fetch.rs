// @generated from schemas/fetch.api by cargo xtask codegen
//! `Fetch` (key 1): reads record batches from partitions; waits for new ones.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRange, FileRanges, NoFile, Records, Uuid};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Reads record batches from partitions; waits for new ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest<'a> {
    /// Id of the cluster. From version 12 on.
    pub cluster_id: Option<Cow<'a, str>>,
    /// A follower's broker id; -1 for consumers. Up to version 14.
    pub replica_id: i32,
    /// Who the follower is. From version 15 on.
    pub replica_state: ReplicaState,
    /// How long the broker may wait for `min_bytes`.
    pub max_wait_ms: i32,
    /// Bytes worth answering for.
    pub min_bytes: i32,
    /// Bytes that the answer may have, unless its first batch alone is larger.
    pub max_bytes: i32,
    /// 0: everything committed, 1: only records of finished transactions.
    pub isolation_level: i8,
    /// Fetch session; 0 for none. From version 7 on.
    pub session_id: i32,
    /// Number of the request in its session; 0 begins one, -1 has none. From version 7 on.
    pub session_epoch: i32,
    /// What to read.
    pub topics: Vec<FetchTopic<'a>>,
    /// Partitions to take out of the session. From version 7 on.
    pub forgotten_topics_data: Vec<ForgottenTopic<'a>>,
    /// Where the reader is. From version 11 on.
    pub rack_id: Cow<'a, str>,
}

impl Default for FetchRequest<'_> {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: ReplicaState::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
            rack_id: Cow::Borrowed(""),
        }
    }
}

impl Body for FetchRequest<'_> {
    const KEY: ApiKey = ApiKey::Fetch;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for FetchRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut value = Self {
            cluster_id: None,
            replica_id: if version <= 14 { r.i32()? } else { -1 },
            replica_state: ReplicaState::default(),
            max_wait_ms: r.i32()?,
            min_bytes: r.i32()?,
            max_bytes: r.i32()?,
            isolation_level: r.i8()?,
            session_id: if version >= 7 { r.i32()? } else { 0 },
            session_epoch: if version >= 7 { r.i32()? } else { -1 },
            topics: r.array(flexible, 3, |r| FetchTopic::decode(r, version))?,
            forgotten_topics_data: if version >= 7 {
                r.array(flexible, 3, |r| ForgottenTopic::decode(r, version))?
            } else {
                Vec::new()
            },
            rack_id: if version >= 11 { r.string(flexible)? } else { Cow::Borrowed("") },
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 => value.cluster_id = r.nullable_string(true, true)?,
                    1 if version >= 15 => value.replica_state = ReplicaState::decode(r, version)?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for FetchRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        if version <= 14 {
            w.i32(self.replica_id);
        }
        w.i32(self.max_wait_ms);
        w.i32(self.min_bytes);
        w.i32(self.max_bytes);
        w.i8(self.isolation_level);
        if version >= 7 {
            w.i32(self.session_id);
        }
        if version >= 7 {
            w.i32(self.session_epoch);
        }
        w.array(flexible, &self.topics, |w, value| value.encode(w, version));
        if version >= 7 {
            w.array(flexible, &self.forgotten_topics_data, |w, value| value.encode(w, version));
        }
        if version >= 11 {
            w.string(flexible, &self.rack_id);
        }
        if flexible {
            let cluster_id = self.cluster_id.is_some();
            let replica_state = version >= 15 && self.replica_state != ReplicaState::default();
            w.tag_count(&[cluster_id, replica_state]);
            if cluster_id {
                w.tag(0, |w| w.nullable_string(true, true, self.cluster_id.as_deref()));
            }
            if replica_state {
                w.tag(1, |w| self.replica_state.encode(w, version));
            }
        }
    }
}

/// Part of a [`FetchRequest`]: `replica_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    /// Broker id; -1 for consumers.
    pub replica_id: i32,
    /// The broker's epoch.
    pub replica_epoch: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1 }
    }
}

#[cfg(feature = "broker")]
impl Decode<'_> for ReplicaState {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self { replica_id: r.i32()?, replica_epoch: r.i64()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ReplicaState {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.replica_id);
        w.i64(self.replica_epoch);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`FetchRequest`]: `topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchTopic<'a> {
    /// Name of the topic. Up to version 12.
    pub topic: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 13 on.
    pub topic_id: Uuid,
    /// By partition.
    pub partitions: Vec<FetchPartition>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for FetchTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self {
            topic: if version <= 12 { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::NONE },
            partitions: r.array(flexible, 16, |r| FetchPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for FetchTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        if version <= 12 {
            w.string(flexible, &self.topic);
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`FetchTopic`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchPartition {
    /// Number of the partition.
    pub partition: i32,
    /// Leader epoch that the client knows, for fencing; -1 skips the check. From version 9 on.
    pub current_leader_epoch: i32,
    /// First offset to read.
    pub fetch_offset: i64,
    /// Leader epoch of the last record the reader has; -1 for consumers. From version 12 on.
    pub last_fetched_epoch: i32,
    /// A follower's log start offset; -1 for consumers. From version 5 on.
    pub log_start_offset: i64,
    /// Bytes that this partition may have in the answer.
    pub partition_max_bytes: i32,
    /// A follower's log directory. From version 17 on.
    pub replica_directory_id: Uuid,
    /// High watermark that the follower knows. From version 18 on.
    pub high_watermark: i64,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Uuid::NONE,
            high_watermark: i64::MAX,
        }
    }
}

#[cfg(feature = "broker")]
impl Decode<'_> for FetchPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut value = Self {
            partition: r.i32()?,
            current_leader_epoch: if version >= 9 { r.i32()? } else { -1 },
            fetch_offset: r.i64()?,
            last_fetched_epoch: if version >= 12 { r.i32()? } else { -1 },
            log_start_offset: if version >= 5 { r.i64()? } else { -1 },
            partition_max_bytes: r.i32()?,
            replica_directory_id: Uuid::NONE,
            high_watermark: i64::MAX,
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 if version >= 17 => value.replica_directory_id = r.uuid()?,
                    1 if version == 18 => value.high_watermark = r.i64()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for FetchPartition {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.partition);
        if version >= 9 {
            w.i32(self.current_leader_epoch);
        }
        w.i64(self.fetch_offset);
        if version >= 12 {
            w.i32(self.last_fetched_epoch);
        }
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        w.i32(self.partition_max_bytes);
        if flexible {
            let replica_directory_id = version >= 17 && self.replica_directory_id != Uuid::NONE;
            let high_watermark = version == 18 && self.high_watermark != i64::MAX;
            w.tag_count(&[replica_directory_id, high_watermark]);
            if replica_directory_id {
                w.tag(0, |w| w.uuid(self.replica_directory_id));
            }
            if high_watermark {
                w.tag(1, |w| w.i64(self.high_watermark));
            }
        }
    }
}

/// Part of a [`FetchRequest`]: `forgotten_topics_data`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgottenTopic<'a> {
    /// Name of the topic. In versions 7 to 12.
    pub topic: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 13 on.
    pub topic_id: Uuid,
    /// Partitions to forget.
    pub partitions: Vec<i32>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ForgottenTopic<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self {
            topic: if (7..=12).contains(&version) { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::NONE },
            partitions: r.array(flexible, 4, Reader::i32)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for ForgottenTopic<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        if (7..=12).contains(&version) {
            w.string(flexible, &self.topic);
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, value| w.i32(*value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`FetchRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchResponse<'a, F = NoFile> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of it. From version 7 on.
    pub error_code: ErrorCode,
    /// Fetch session; 0 when there is none. From version 7 on.
    pub session_id: i32,
    /// What was read.
    pub responses: Vec<FetchableTopicResponse<'a, F>>,
    /// Addresses of the leaders named above. From version 16 on.
    pub node_endpoints: Vec<FetchNodeEndpoint<'a>>,
}

impl<F> Default for FetchResponse<'_, F> {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::None,
            session_id: 0,
            responses: Vec::new(),
            node_endpoints: Vec::new(),
        }
    }
}

impl<F> Body for FetchResponse<'_, F> {
    const KEY: ApiKey = ApiKey::Fetch;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for FetchResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut value = Self {
            throttle_time_ms: r.i32()?,
            error_code: if version >= 7 { r.error()? } else { ErrorCode::None },
            session_id: if version >= 7 { r.i32()? } else { 0 },
            responses: r.array(flexible, 3, |r| FetchableTopicResponse::decode(r, version))?,
            node_endpoints: Vec::new(),
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 if version >= 16 => {
                        value.node_endpoints = r.array(true, 11, |r| FetchNodeEndpoint::decode(r, version))?
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
impl<F> Encode for FetchResponse<'_, F> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.throttle_time_ms);
        if version >= 7 {
            w.error(self.error_code);
        }
        if version >= 7 {
            w.i32(self.session_id);
        }
        w.array(flexible, &self.responses, |w, value| value.encode(w, version));
        if flexible {
            let node_endpoints = version >= 16 && !self.node_endpoints.is_empty();
            w.tag_count(&[node_endpoints]);
            if node_endpoints {
                w.tag(0, |w| w.array(true, &self.node_endpoints, |w, value| value.encode(w, version)));
            }
        }
    }
}

impl<F: Clone> FileRanges<F> for FetchResponse<'_, F> {
    fn file_ranges(&self, ranges: &mut Vec<FileRange<F>>) {
        self.responses.iter().for_each(|value| value.file_ranges(ranges));
    }
}

/// Part of a [`FetchResponse`]: `responses`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchableTopicResponse<'a, F = NoFile> {
    /// Name of the topic. Up to version 12.
    pub topic: Cow<'a, str>,
    /// Id of the topic; zero for none. From version 13 on.
    pub topic_id: Uuid,
    /// By partition.
    pub partitions: Vec<FetchedPartition<F>>,
}

impl<F> Default for FetchableTopicResponse<'_, F> {
    fn default() -> Self {
        Self { topic: Cow::Borrowed(""), topic_id: Uuid::NONE, partitions: Vec::new() }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for FetchableTopicResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self {
            topic: if version <= 12 { r.string(flexible)? } else { Cow::Borrowed("") },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::NONE },
            partitions: r.array(flexible, 30, |r| FetchedPartition::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl<F> Encode for FetchableTopicResponse<'_, F> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        if version <= 12 {
            w.string(flexible, &self.topic);
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F: Clone> FileRanges<F> for FetchableTopicResponse<'_, F> {
    fn file_ranges(&self, ranges: &mut Vec<FileRange<F>>) {
        self.partitions.iter().for_each(|value| value.file_ranges(ranges));
    }
}

/// Part of a [`FetchableTopicResponse`]: `partitions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPartition<F = NoFile> {
    /// Number of the partition.
    pub partition_index: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// Offset after the last committed record.
    pub high_watermark: i64,
    /// Offset before which no transaction is open.
    pub last_stable_offset: i64,
    /// First offset that is still there; -1 when unknown. From version 5 on.
    pub log_start_offset: i64,
    /// Where the follower's log parts from the leader's. From version 12 on.
    pub diverging_epoch: FetchEpochEndOffset,
    /// Who leads the partition, when it is not this broker. From version 12 on.
    pub current_leader: FetchLeaderIdAndEpoch,
    /// Snapshot to read instead, in the metadata quorum. From version 12 on.
    pub snapshot_id: FetchSnapshotId,
    /// Transactions whose records below must be left out, by first offset.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// Broker to read from instead; then there are no records. From version 11 on.
    pub preferred_read_replica: i32,
    /// Whole record batches.
    pub records: Records<F>,
}

impl<F> Default for FetchedPartition<F> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode::None,
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: FetchEpochEndOffset::default(),
            current_leader: FetchLeaderIdAndEpoch::default(),
            snapshot_id: FetchSnapshotId::default(),
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: Records::EMPTY,
        }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for FetchedPartition {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut value = Self {
            partition_index: r.i32()?,
            error_code: r.error()?,
            high_watermark: r.i64()?,
            last_stable_offset: r.i64()?,
            log_start_offset: if version >= 5 { r.i64()? } else { -1 },
            diverging_epoch: FetchEpochEndOffset::default(),
            current_leader: FetchLeaderIdAndEpoch::default(),
            snapshot_id: FetchSnapshotId::default(),
            aborted_transactions: r
                .nullable_array(flexible, true, 16, |r| AbortedTransaction::decode(r, version))?,
            preferred_read_replica: if version >= 11 { r.i32()? } else { -1 },
            records: r.records(flexible)?.into(),
        };
        if flexible {
            r.tags(|tag, r| {
                match tag {
                    0 => value.diverging_epoch = FetchEpochEndOffset::decode(r, version)?,
                    1 => value.current_leader = FetchLeaderIdAndEpoch::decode(r, version)?,
                    2 => value.snapshot_id = FetchSnapshotId::decode(r, version)?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl<F> Encode for FetchedPartition<F> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.partition_index);
        w.error(self.error_code);
        w.i64(self.high_watermark);
        w.i64(self.last_stable_offset);
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        w.nullable_array(flexible, true, self.aborted_transactions.as_deref(), |w, value| {
            value.encode(w, version)
        });
        if version >= 11 {
            w.i32(self.preferred_read_replica);
        }
        w.records(flexible, &self.records);
        if flexible {
            let diverging_epoch = self.diverging_epoch != FetchEpochEndOffset::default();
            let current_leader = self.current_leader != FetchLeaderIdAndEpoch::default();
            let snapshot_id = self.snapshot_id != FetchSnapshotId::default();
            w.tag_count(&[diverging_epoch, current_leader, snapshot_id]);
            if diverging_epoch {
                w.tag(0, |w| self.diverging_epoch.encode(w, version));
            }
            if current_leader {
                w.tag(1, |w| self.current_leader.encode(w, version));
            }
            if snapshot_id {
                w.tag(2, |w| self.snapshot_id.encode(w, version));
            }
        }
    }
}

impl<F: Clone> FileRanges<F> for FetchedPartition<F> {
    fn file_ranges(&self, ranges: &mut Vec<FileRange<F>>) {
        ranges.extend(self.records.file_ranges().cloned());
    }
}

/// Part of a [`FetchedPartition`]: `diverging_epoch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchEpochEndOffset {
    /// A leader epoch.
    pub epoch: i32,
    /// Offset after the last record.
    pub end_offset: i64,
}

impl Default for FetchEpochEndOffset {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1 }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for FetchEpochEndOffset {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self { epoch: r.i32()?, end_offset: r.i64()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for FetchEpochEndOffset {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.epoch);
        w.i64(self.end_offset);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`FetchedPartition`]: `current_leader`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchLeaderIdAndEpoch {
    /// Broker that leads the partition; -1 when there is none.
    pub leader_id: i32,
    /// The leader's epoch; -1 for none.
    pub leader_epoch: i32,
}

impl Default for FetchLeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for FetchLeaderIdAndEpoch {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self { leader_id: r.i32()?, leader_epoch: r.i32()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for FetchLeaderIdAndEpoch {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`FetchedPartition`]: `snapshot_id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSnapshotId {
    /// Offset after the last record.
    pub end_offset: i64,
    /// A leader epoch.
    pub epoch: i32,
}

impl Default for FetchSnapshotId {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1 }
    }
}

#[cfg(feature = "client")]
impl Decode<'_> for FetchSnapshotId {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self { end_offset: r.i64()?, epoch: r.i32()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for FetchSnapshotId {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i64(self.end_offset);
        w.i32(self.epoch);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`FetchedPartition`]: `aborted_transactions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Id of the producer; -1 for none.
    pub producer_id: i64,
    /// First offset of the transaction.
    pub first_offset: i64,
}

#[cfg(feature = "client")]
impl Decode<'_> for AbortedTransaction {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let value = Self { producer_id: r.i64()?, first_offset: r.i64()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for AbortedTransaction {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i64(self.producer_id);
        w.i64(self.first_offset);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`FetchResponse`]: `node_endpoints`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchNodeEndpoint<'a> {
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
impl<'a> Decode<'a> for FetchNodeEndpoint<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
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
impl Encode for FetchNodeEndpoint<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 12;
        w.i32(self.node_id);
        w.string(flexible, &self.host);
        w.i32(self.port);
        w.nullable_string(flexible, true, self.rack.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}
