//! Applying a record: all checks of C1 to C6, and all consequences in the same step.
//!
//! Nothing here knows the time (but for the wall clock that the entry carries), a random number or the order in which a map
//! was filled: every broker that applied the same entries has the same image. A record is checked as a whole before
//! anything is changed; a refused one changes nothing but the applied offset.

mod brokers;
mod configs;
mod elections;
mod isr;
mod ledger;
mod seats;
#[cfg(test)]
pub(crate) mod tests;
mod topics;

use std::collections::BTreeMap;
use std::sync::Arc;

use log_core::mutation::{Mutation, mutated};
use log_core::{
    BrokerEpoch, BrokerId, MetadataOffset, PartitionEpoch, PartitionIndex, Timestamp, TopicId, TopicPartition,
};

use crate::error::Refusal;
use crate::image::{
    Broker, CLUSTER_EVENTS_MAX, ClusterEvent, ClusterEventKind, ClusterImage, Partition, Topic,
};
use crate::outcome::{Answer, Change, Outcome};
use crate::record::{Entry, MetadataRecord};
use seats::Seats;

/// What one step of applying may see beside the image, and what it leaves behind.
struct Step {
    offset: MetadataOffset,
    time: Timestamp,
    changes: Vec<Change>,
    events: Vec<ClusterEventKind>,
}

impl ClusterImage {
    /// Applies an entry. Deterministic; the outcome is the answer to whoever proposed it (C1).
    ///
    /// # Panics
    ///
    /// If the entry's offset is not above all applied ones: the caller skips what it has applied already.
    pub fn apply(&mut self, entry: &Entry) -> Outcome {
        self.advance(entry.offset);
        let mut step =
            Step { offset: entry.offset, time: entry.time, changes: Vec::new(), events: Vec::new() };
        let result =
            self.check_level(&entry.record).and_then(|()| self.apply_record(&mut step, &entry.record));
        if result.is_err() {
            debug_assert!(
                step.changes.is_empty() && step.events.is_empty(),
                "a refused record changes nothing"
            );
        }
        self.record_events(&mut step);
        step.changes.sort_unstable();
        step.changes.dedup();
        if mutated(Mutation::Unasserted, cfg!(debug_assertions), false) {
            self.assert_laws(&step.changes);
        }
        Outcome { result, changes: step.changes }
    }

    /// Passes over an entry that the quorum wrote for itself.
    ///
    /// # Panics
    ///
    /// If its offset is not above all applied ones.
    pub fn skip(&mut self, offset: MetadataOffset) {
        self.advance(offset);
    }

    fn advance(&mut self, offset: MetadataOffset) {
        let before = self.applied.unwrap_or(MetadataOffset(-1));
        assert!(offset > before, "metadata offset {offset} is applied after {before}");
        self.applied = Some(offset);
    }

    fn check_level(&self, record: &MetadataRecord) -> Result<(), Refusal> {
        if matches!(record, MetadataRecord::FormCluster(_)) {
            return Ok(());
        }
        if self.cluster_id.is_none() {
            return Err(Refusal::NotFormed);
        }
        let (required, level) = (record.required_level(), self.feature_level);
        if required > level { Err(Refusal::FeatureLevel { required, level }) } else { Ok(()) }
    }

    fn apply_record(&mut self, step: &mut Step, record: &MetadataRecord) -> Result<Answer, Refusal> {
        match record {
            MetadataRecord::FormCluster(fields) => self.form_cluster(step, fields),
            MetadataRecord::RegisterBroker(fields) => self.register_broker(step, fields),
            MetadataRecord::UnregisterBroker(fields) => self.unregister_broker(step, fields),
            MetadataRecord::FenceBrokers(fields) => self.fence_brokers(step, fields),
            MetadataRecord::UnfenceBroker(fields) => self.unfence_broker(step, fields),
            MetadataRecord::BrokerShuttingDown(fields) => self.shut_down_broker(step, fields),
            MetadataRecord::CreateTopic(fields) => self.create_topic(step, fields),
            MetadataRecord::DeleteTopic(fields) => self.delete_topic(step, fields),
            MetadataRecord::AddPartitions(fields) => self.add_partitions(step, fields),
            MetadataRecord::ChangeIsr(fields) => self.change_isr(step, fields),
            MetadataRecord::ReportFaulty(fields) => self.report_faulty(step, fields),
            MetadataRecord::ResetReplica(fields) => self.reset_replica(step, fields),
            MetadataRecord::ElectPreferred(fields) => self.elect_preferred(step, fields),
            MetadataRecord::ElectUnclean(fields) => self.elect_unclean(step, fields),
            MetadataRecord::SetConfigs(fields) => self.set_configs(step, fields),
            MetadataRecord::AllocateProducerIds(fields) => self.allocate_producer_ids(step, fields),
            MetadataRecord::ConfirmRemoval(fields) => self.confirm_removal(step, fields),
            MetadataRecord::ForgetTopics(fields) => self.forget_topics(step, fields),
            MetadataRecord::SetFeatureLevel(fields) => self.set_feature_level(step, fields),
            MetadataRecord::CreateJoinToken(fields) => self.create_join_token(step, fields),
            MetadataRecord::UseJoinToken(fields) => self.use_join_token(step, fields),
            MetadataRecord::NoOp => Ok(Answer::Done),
            MetadataRecord::ResignLeader(fields) => self.resign_leader(step, fields),
            MetadataRecord::AnnounceBrowserDoor(fields) => self.announce_browser_door(step, fields),
        }
    }

    fn record_events(&mut self, step: &mut Step) {
        if step.events.is_empty() {
            return;
        }
        let (offset, time) = (step.offset, step.time);
        let events = Arc::make_mut(&mut self.events);
        events.extend(step.events.drain(..).map(|kind| ClusterEvent { offset, time, kind }));
        while events.len() > CLUSTER_EVENTS_MAX {
            events.pop_front();
        }
        step.changes.push(Change::Event);
    }

    fn assert_laws(&self, changes: &[Change]) {
        for change in changes {
            if let Change::Partition(key) = change
                && let Some(topic) = self.topic(key.topic_id)
                && let Some(partition) = topic.partition(key.partition)
            {
                let broken = self.broken_in(topic, *key, partition);
                assert!(
                    broken.is_none(),
                    "{broken:?} after {}: {partition:?}",
                    self.applied.unwrap_or_default()
                );
            }
        }
    }

    /// The broker, if it is registered under that epoch (C1).
    fn current_broker(&self, broker: BrokerId, named: BrokerEpoch) -> Result<&Broker, Refusal> {
        let found = self.broker(broker).ok_or(Refusal::UnknownBroker { broker })?;
        let current = found.epoch;
        if current == named { Ok(found) } else { Err(Refusal::StaleBrokerEpoch { broker, named, current }) }
    }

    fn existing_topic(&self, topic_id: TopicId) -> Result<&Topic, Refusal> {
        self.topic(topic_id).ok_or(Refusal::UnknownTopicId { topic_id })
    }

    fn existing_partition(&self, key: TopicPartition) -> Result<&Partition, Refusal> {
        let missing = Refusal::UnknownPartition { topic_id: key.topic_id, partition: key.partition };
        self.existing_topic(key.topic_id)?.partition(key.partition).ok_or(missing)
    }

    /// Changes a broker's registration in place.
    fn edit_broker(&mut self, step: &mut Step, broker: BrokerId, edit: impl FnOnce(&mut Broker)) {
        if let Some(found) = Arc::make_mut(&mut self.brokers).get_mut(&broker) {
            edit(Arc::make_mut(found));
            step.changes.push(Change::Broker(broker));
        }
    }

    /// Edits the seats of every partition that `touches` picks.
    fn edit_partitions(
        &mut self,
        step: &mut Step,
        touches: impl Fn(&Partition) -> bool,
        mut edit: impl FnMut(&mut Seats<'_>),
    ) {
        let touched = |topic: &Topic| topic.partitions.iter().any(|partition| touches(partition));
        let picked: Vec<TopicId> =
            self.topics().filter(|topic| touched(topic)).map(|topic| topic.id).collect();
        let brokers = self.brokers.clone();
        for topic_id in picked {
            if let Some(topic) = Arc::make_mut(&mut self.topics).get_mut(&topic_id) {
                edit_topic(step, &brokers, Arc::make_mut(topic), &touches, &mut edit);
            }
        }
    }

    /// Edits the seats of one partition.
    fn edit_partition(&mut self, step: &mut Step, key: TopicPartition, edit: impl FnOnce(&mut Seats<'_>)) {
        let brokers = self.brokers.clone();
        let topic = Arc::make_mut(&mut self.topics).get_mut(&key.topic_id).map(Arc::make_mut);
        let Some(topic) = topic else { return };
        let settings = topic.settings;
        let slot =
            crate::image::position(key.partition).and_then(|position| topic.partitions.get_mut(position));
        if let Some(slot) = slot {
            let mut seats = Seats::new(&brokers, &settings, key, slot.as_ref().clone());
            edit(&mut seats);
            seats.finish(slot, &mut step.changes, &mut step.events);
        }
    }
}

fn edit_topic(
    step: &mut Step,
    brokers: &BTreeMap<BrokerId, Arc<Broker>>,
    topic: &mut Topic,
    touches: &impl Fn(&Partition) -> bool,
    edit: &mut impl FnMut(&mut Seats<'_>),
) {
    let (topic_id, settings) = (topic.id, topic.settings);
    for (index, slot) in (0..).zip(&mut topic.partitions) {
        if touches(slot) {
            let key = TopicPartition { topic_id, partition: PartitionIndex(index) };
            let mut seats = Seats::new(brokers, &settings, key, slot.as_ref().clone());
            edit(&mut seats);
            seats.finish(slot, &mut step.changes, &mut step.events);
        }
    }
}

/// The check of C1 on a partition.
fn check_partition_epoch(partition: &Partition, named: PartitionEpoch) -> Result<(), Refusal> {
    let current = partition.partition_epoch;
    let same = mutated(Mutation::C1, current == named, true);
    if same { Ok(()) } else { Err(Refusal::StalePartitionEpoch { named, current }) }
}
