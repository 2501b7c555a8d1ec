//! The bytes of a whole image (`docs/format/metadata.md`), for brokers that are too far behind for single records.
//!
//! ```text
//!  0               8              10         12                16               24
//!  | "HWIMAGE\0"   | format u16   | 0 u16    | crc-32c u32     | length u64     | image (postcard) ..
//! ```
//!
//! Little-endian; the checksum and the length are those of the postcard part. Derived parts (names, settings, counts) are
//! not stored but made again, and the laws of the image are checked before it is used.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use log_core::{BrokerId, ClusterId, LeaderEpoch, MetadataOffset, TopicId};
use serde::{Deserialize, Serialize};

use super::{Broker, ClusterEvent, ClusterImage, DeletedTopic, JoinToken, Partition, Reservation, Topic};
use crate::config::{ClusterSettings, ConfigMap, Scope, TopicSettings, restore};
use crate::error::DecodeError;
use crate::record::{BROWSER_DOOR_LEVEL, BrowserDoor, FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN, TokenHash};

/// The first bytes of a snapshot.
pub const SNAPSHOT_MAGIC: [u8; 8] = *b"HWIMAGE\0";
/// The greatest format that this build reads. An image is written in the one that its feature level allows, so that every
/// broker of the cluster can read it.
pub const SNAPSHOT_FORMAT_MAX: u16 = 2;
/// Has doors for browsers behind the fields of the first format.
const FORMAT_WITH_DOORS: u16 = 2;
const FORMAT_FIRST: u16 = 1;
const HEADER_LEN: usize = 24;
/// Why writing cannot fail.
const WRITABLE: &str = "an image holds only what postcard can write";

#[derive(Serialize, Deserialize)]
struct StoredImage {
    applied: Option<MetadataOffset>,
    cluster_id: Option<ClusterId>,
    feature_level: u16,
    brokers: Vec<Broker>,
    topics: Vec<StoredTopic>,
    deleted: Vec<DeletedTopic>,
    configs: Vec<(String, String)>,
    tokens: Vec<(TokenHash, JoinToken)>,
    reserved: Vec<(BrokerId, Reservation)>,
    next_producer_id: i64,
    events: Vec<ClusterEvent>,
}

#[derive(Serialize, Deserialize)]
struct StoredTopic {
    id: TopicId,
    name: String,
    first_leader_epoch: LeaderEpoch,
    name_used_before: bool,
    configs: Vec<(String, String)>,
    partitions: Vec<Partition>,
}

impl ClusterImage {
    /// The image as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let with_doors = self.feature_level >= BROWSER_DOOR_LEVEL;
        let mut body = postcard::to_allocvec(&self.store()).expect(WRITABLE);
        if with_doors {
            let doors: Vec<_> = self.browser_doors.iter().collect();
            body = postcard::to_extend(&doors, body).expect(WRITABLE);
        }
        let format = if with_doors { FORMAT_WITH_DOORS } else { FORMAT_FIRST };
        let mut out = Vec::with_capacity(HEADER_LEN + body.len());
        out.extend_from_slice(&SNAPSHOT_MAGIC);
        out.extend_from_slice(&format.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// Reads an image.
    ///
    /// # Errors
    ///
    /// If the bytes are no image of a format that this build knows, are damaged, or break a law of the image.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let short = DecodeError::Short { len: bytes.len() };
        let (magic, rest) = bytes.split_first_chunk::<8>().ok_or(short)?;
        let (format, rest) = rest.split_first_chunk::<2>().ok_or(short)?;
        let (_, rest) = rest.split_first_chunk::<2>().ok_or(short)?;
        let (sum, rest) = rest.split_first_chunk::<4>().ok_or(short)?;
        let (len, body) = rest.split_first_chunk::<8>().ok_or(short)?;
        let format = u16::from_le_bytes(*format);
        if *magic != SNAPSHOT_MAGIC || !(FORMAT_FIRST..=SNAPSHOT_FORMAT_MAX).contains(&format) {
            return Err(DecodeError::Format { found: format.to_le_bytes()[0] });
        }
        if u64::from_le_bytes(*len) != body.len() as u64 {
            return Err(short);
        }
        let (expected, found) = (u32::from_le_bytes(*sum), crc32c::crc32c(body));
        if expected != found {
            return Err(DecodeError::Checksum { found, expected });
        }
        let (stored, rest): (StoredImage, _) =
            postcard::take_from_bytes(body).map_err(|_| DecodeError::Image)?;
        let known = FEATURE_LEVEL_MIN..=FEATURE_LEVEL_MAX;
        if stored.cluster_id.is_some() && !known.contains(&stored.feature_level) {
            return Err(DecodeError::Level { found: stored.feature_level });
        }
        let (doors, rest): (Vec<(BrokerId, BrowserDoor)>, _) = match format {
            FORMAT_WITH_DOORS => postcard::take_from_bytes(rest).map_err(|_| DecodeError::Image)?,
            _ => (Vec::new(), rest),
        };
        let with_doors = stored.feature_level >= BROWSER_DOOR_LEVEL;
        if with_doors != (format == FORMAT_WITH_DOORS) {
            return Err(DecodeError::Image);
        }
        if !rest.is_empty() || stored.feature_level > FEATURE_LEVEL_MAX {
            return Err(DecodeError::Image);
        }
        Self::restore(stored, doors)
    }

    fn store(&self) -> StoredImage {
        StoredImage {
            applied: self.applied,
            cluster_id: self.cluster_id,
            feature_level: self.feature_level,
            brokers: self.brokers().cloned().collect(),
            topics: self.topics().map(store_topic).collect(),
            deleted: self.deleted_topics().cloned().collect(),
            configs: store_configs(&self.configs),
            tokens: self.tokens.iter().map(|(hash, token)| (*hash, *token)).collect(),
            reserved: self.reserved.iter().map(|(broker, kept)| (*broker, kept.clone())).collect(),
            next_producer_id: self.next_producer_id,
            events: self.events.iter().cloned().collect(),
        }
    }

    fn restore(stored: StoredImage, doors: Vec<(BrokerId, BrowserDoor)>) -> Result<Self, DecodeError> {
        let configs = restore(Scope::Cluster, &stored.configs).map_err(|_| DecodeError::Image)?;
        let topics = stored.topics.into_iter().map(|topic| restore_topic(topic, &configs));
        let topics: BTreeMap<TopicId, Arc<Topic>> = topics.collect::<Result<_, _>>()?;
        let names: BTreeMap<Arc<str>, TopicId> =
            topics.values().map(|topic| (topic.name.clone(), topic.id)).collect();
        let image = Self {
            applied: stored.applied,
            cluster_id: stored.cluster_id,
            feature_level: stored.feature_level,
            brokers: Arc::new(
                stored.brokers.into_iter().map(|broker| (broker.id, Arc::new(broker))).collect(),
            ),
            browser_doors: Arc::new(doors.into_iter().collect()),
            partitions: topics.values().map(|topic| topic.partition_count()).fold(0, i32::saturating_add),
            topics: Arc::new(topics),
            names: Arc::new(names),
            deleted: Arc::new(stored.deleted.into_iter().map(|topic| (topic.id, Arc::new(topic))).collect()),
            settings: ClusterSettings::resolve(&configs),
            configs: Arc::new(configs),
            tokens: Arc::new(stored.tokens.into_iter().collect()),
            reserved: Arc::new(stored.reserved.into_iter().collect()),
            next_producer_id: stored.next_producer_id,
            events: Arc::new(stored.events.into_iter().collect::<VecDeque<_>>()),
        };
        if image.broken_law().is_some() { Err(DecodeError::Image) } else { Ok(image) }
    }
}

fn store_topic(topic: &Topic) -> StoredTopic {
    StoredTopic {
        id: topic.id,
        name: topic.name.to_string(),
        first_leader_epoch: topic.first_leader_epoch,
        name_used_before: topic.name_used_before,
        configs: store_configs(&topic.configs),
        partitions: topic.partitions.iter().map(|partition| partition.as_ref().clone()).collect(),
    }
}

fn restore_topic(stored: StoredTopic, cluster: &ConfigMap) -> Result<(TopicId, Arc<Topic>), DecodeError> {
    let configs = restore(Scope::Topic, &stored.configs).map_err(|_| DecodeError::Image)?;
    let topic = Topic {
        id: stored.id,
        name: stored.name.into(),
        first_leader_epoch: stored.first_leader_epoch,
        name_used_before: stored.name_used_before,
        settings: TopicSettings::resolve(&configs, cluster),
        configs: Arc::new(configs),
        partitions: stored.partitions.into_iter().map(Arc::new).collect(),
    };
    Ok((topic.id, Arc::new(topic)))
}

fn store_configs(configs: &ConfigMap) -> Vec<(String, String)> {
    configs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}
