//! What the broker wants agreed and asks for until it sees it applied: damaged replicas reported, emptied ones known as
//! empty, removals confirmed, its door for browsers announced.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use log_core::{BrokerEpoch, MonoTime, TopicId, TopicPartition};
use log_store::Disk;
use metadata_core::record::{
    AnnounceBrowserDoor, BROWSER_DOOR_LEVEL, BrowserDoor, ConfirmRemoval, ReportFaulty, ResetReplica,
};
use metadata_core::{ClusterImage, MetadataQuorum, MetadataRecord};

use super::Control;
use crate::door::ShardId;

/// After which time a wish that has not come true is proposed again.
const WISH_RETRY: Duration = Duration::from_secs(1);
/// How many replicas are reported at once; the others follow.
const WISHES_AT_ONCE: usize = 100;

#[derive(Debug)]
pub(super) struct Wishes {
    shards: usize,
    /// Replicas that were found damaged.
    pub(super) faulty: BTreeSet<TopicPartition>,
    /// Faulty replicas that have been emptied.
    pub(super) resets: BTreeSet<TopicPartition>,
    /// Deleted topics, with the shards that hold nothing of them any more.
    removals: BTreeMap<TopicId, BTreeSet<ShardId>>,
    /// How pages in browsers shall be told to reach this broker.
    pub(super) door: Option<BrowserDoor>,
    /// When each wish was proposed last.
    asked: BTreeMap<Wish, MonoTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    Faulty(TopicPartition),
    Reset(TopicPartition),
    Removal(TopicId),
    Door,
}

impl Wishes {
    pub(super) fn new(shards: u16) -> Self {
        Self {
            shards: usize::from(shards),
            faulty: BTreeSet::new(),
            resets: BTreeSet::new(),
            removals: BTreeMap::new(),
            door: None,
            asked: BTreeMap::new(),
        }
    }

    pub(super) fn confirm(&mut self, shard: ShardId, topic_id: TopicId) {
        self.removals.entry(topic_id).or_default().insert(shard);
    }

    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        self.asked.values().map(|at| at.after(WISH_RETRY)).min()
    }

    /// Drops what has come true or lost its object.
    fn drop_fulfilled(&mut self, own: log_core::BrokerId, image: &ClusterImage) {
        let faulty = |key: &TopicPartition| image.partition(*key).map(|found| found.is_faulty(own));
        self.faulty.retain(|key| faulty(key) == Some(false));
        self.resets.retain(|key| faulty(key) == Some(true));
        let expected =
            |topic: &TopicId| image.deleted_topic(*topic).is_some_and(|mark| mark.holders.contains(&own));
        self.removals.retain(|topic, _| expected(topic) || image.topic(*topic).is_some());
        let door = self.wishes_door(own, image).is_some();
        let (faulty, resets, removals) = (&self.faulty, &self.resets, &self.removals);
        self.asked.retain(|wish, _| match wish {
            Wish::Faulty(key) => faulty.contains(key),
            Wish::Reset(key) => resets.contains(key),
            Wish::Removal(topic) => removals.contains_key(topic),
            Wish::Door => door,
        });
    }

    /// The door to announce, while the image shows another one.
    fn wishes_door(&self, own: log_core::BrokerId, image: &ClusterImage) -> Option<&BrowserDoor> {
        let allowed = image.feature_level() >= BROWSER_DOOR_LEVEL;
        self.door.as_ref().filter(|door| allowed && image.browser_door(own) != Some(*door))
    }

    fn due(&self, now: MonoTime, own: log_core::BrokerId, image: &ClusterImage) -> Vec<Wish> {
        let confirmed = |(topic, shards): (&TopicId, &BTreeSet<ShardId>)| {
            let deleted = image.deleted_topic(*topic).is_some();
            (deleted && shards.len() >= self.shards).then_some(Wish::Removal(*topic))
        };
        let all = self.faulty.iter().copied().map(Wish::Faulty);
        let all = all.chain(self.resets.iter().copied().map(Wish::Reset));
        let all = all.chain(self.removals.iter().filter_map(confirmed));
        let all = all.chain(self.wishes_door(own, image).map(|_| Wish::Door));
        let due = |wish: &Wish| self.asked.get(wish).is_none_or(|at| now >= at.after(WISH_RETRY));
        all.filter(due).take(WISHES_AT_ONCE).collect()
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// Proposes what is wished and not asked for just now. Each is made afresh from this broker's image.
    pub(super) fn pursue_wishes(&mut self) {
        self.wishes.drop_fulfilled(self.config.broker, &self.image);
        let Some(broker_epoch) = self.life.broker_epoch() else { return };
        let mut removed = Vec::new();
        for wish in self.wishes.due(self.now.mono, self.config.broker, &self.image) {
            self.wishes.asked.insert(wish, self.now.mono);
            match wish {
                Wish::Removal(topic_id) => removed.push(topic_id),
                Wish::Faulty(partition) => self.propose_faulty(partition, broker_epoch),
                Wish::Reset(partition) => self.propose_reset(partition, broker_epoch),
                Wish::Door => self.propose_door(broker_epoch),
            }
        }
        if !removed.is_empty() {
            let (broker, topics) = (self.config.broker, removed);
            self.propose_own(MetadataRecord::ConfirmRemoval(ConfirmRemoval { broker, broker_epoch, topics }));
        }
    }

    fn propose_door(&mut self, broker_epoch: BrokerEpoch) {
        if let Some(door) = self.wishes.door.clone() {
            let record = AnnounceBrowserDoor { broker: self.config.broker, broker_epoch, door };
            self.propose_own(MetadataRecord::AnnounceBrowserDoor(record));
        }
    }

    fn propose_faulty(&mut self, partition: TopicPartition, broker_epoch: BrokerEpoch) {
        if let Some(partition_epoch) = self.image.partition(partition).map(|found| found.partition_epoch) {
            let broker = self.config.broker;
            let record = ReportFaulty { broker, broker_epoch, partition, partition_epoch };
            self.propose_own(MetadataRecord::ReportFaulty(record));
        }
    }

    fn propose_reset(&mut self, partition: TopicPartition, broker_epoch: BrokerEpoch) {
        if let Some(partition_epoch) = self.image.partition(partition).map(|found| found.partition_epoch) {
            let broker = self.config.broker;
            let record = ResetReplica { broker, broker_epoch, partition, partition_epoch };
            self.propose_own(MetadataRecord::ResetReplica(record));
        }
    }
}
