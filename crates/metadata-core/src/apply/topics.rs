//! Topics: making, deleting, growing, and the marks that deleted ones leave (C6).

use std::collections::BTreeSet;
use std::sync::Arc;

use log_core::{BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex, TopicId};

use super::Step;
use crate::config::{ConfigMap, Scope, TopicSettings, edit};
use crate::error::Refusal;
use crate::image::{
    ClusterImage, DELETED_TOPIC_KEPT_MS, DeletedTopic, PARTITIONS_MAX, PARTITIONS_PER_TOPIC_MAX, Partition,
    REPLICATION_FACTOR_MAX, Replica, Topic,
};
use crate::names;
use crate::outcome::{Answer, Change};
use crate::placement::{Site, place};
use crate::record::{
    AddPartitions, ConfigOp, ConfirmRemoval, CreateTopic, DeleteTopic, ForgetTopics, topic_partition,
};

impl ClusterImage {
    pub(super) fn create_topic(&mut self, step: &mut Step, fields: &CreateTopic) -> Result<Answer, Refusal> {
        let topic = self.new_topic(fields)?;
        let (topic_id, name) = (topic.id, topic.name.clone());
        let (partitions, replication_factor) = (topic.partition_count(), topic.replication_factor());
        self.partitions += partitions;
        Arc::make_mut(&mut self.topics).insert(topic_id, Arc::new(topic));
        Arc::make_mut(&mut self.names).insert(name, topic_id);
        step.changes.push(Change::TopicCreated(topic_id));
        step.changes.extend((0..partitions).map(|index| Change::Partition(topic_partition(topic_id, index))));
        Ok(Answer::TopicCreated { topic_id, partitions, replication_factor })
    }

    /// What a record that makes a topic would make, or why it would be refused. Also the answer to a "validate only"
    /// request, which proposes nothing.
    ///
    /// # Errors
    ///
    /// If the name, the counts, the assignment or a configuration value is refused.
    pub fn new_topic(&self, fields: &CreateTopic) -> Result<Topic, Refusal> {
        names::check(&fields.name)?;
        if self.names.contains_key(fields.name.as_str()) {
            return Err(Refusal::TopicExists { name: fields.name.clone() });
        }
        let topic_id = fields.topic_id;
        if topic_id == TopicId::default()
            || self.topics.contains_key(&topic_id)
            || self.deleted.contains_key(&topic_id)
        {
            return Err(Refusal::TopicIdUsed { topic_id });
        }
        let set = |(key, value): &(String, String)| (key.clone(), ConfigOp::Set(value.clone()));
        let configs =
            edit(Scope::Topic, &ConfigMap::new(), true, &fields.configs.iter().map(set).collect::<Vec<_>>())?;
        let replicas = self.replicas_of_new_topic(fields)?;
        let last_epoch = self.last_epoch_of_name(&fields.name);
        let first_leader_epoch =
            last_epoch.map_or(LeaderEpoch(0), |last| LeaderEpoch(last.0.saturating_add(1)));
        Ok(Topic {
            id: topic_id,
            name: fields.name.as_str().into(),
            first_leader_epoch,
            name_used_before: last_epoch.is_some(),
            settings: TopicSettings::resolve(&configs, &self.configs),
            configs: Arc::new(configs),
            partitions: replicas.iter().map(|list| self.new_partition(list, first_leader_epoch)).collect(),
        })
    }

    fn replicas_of_new_topic(&self, fields: &CreateTopic) -> Result<Vec<Vec<BrokerId>>, Refusal> {
        if !fields.assignment.is_empty() {
            let asked = i32::try_from(fields.assignment.len()).unwrap_or(i32::MAX);
            self.check_count(asked, asked)?;
            self.check_assignment(&fields.assignment, 0, None)?;
            return Ok(fields.assignment.clone());
        }
        let count = fields.partitions.unwrap_or(self.settings.num_partitions);
        self.check_count(count, count)?;
        let sites = self.sites();
        let available = i16::try_from(sites.len()).unwrap_or(i16::MAX);
        let fitting = self.settings.default_replication_factor.min(available);
        let factor = self.check_factor(fields.replication_factor.unwrap_or(fitting), available)?;
        Ok(place(fields.topic_id, &sites, &[], usize::try_from(count).unwrap_or_default(), factor))
    }

    pub(super) fn add_partitions(
        &mut self,
        step: &mut Step,
        fields: &AddPartitions,
    ) -> Result<Answer, Refusal> {
        let added = self.new_partitions(fields)?;
        let topic_id = fields.topic_id;
        let first = self.existing_topic(topic_id)?.partition_count();
        let total = first + i32::try_from(added.len()).unwrap_or(i32::MAX);
        self.partitions += total - first;
        if let Some(topic) = Arc::make_mut(&mut self.topics).get_mut(&topic_id) {
            Arc::make_mut(topic).partitions.extend(added);
        }
        step.changes.extend((first..total).map(|index| Change::Partition(topic_partition(topic_id, index))));
        Ok(Answer::Done)
    }

    /// The partitions that such a record would add, or why it would be refused.
    ///
    /// # Errors
    ///
    /// If the topic does not exist, or the total or the assignment is refused.
    pub fn new_partitions(&self, fields: &AddPartitions) -> Result<Vec<Arc<Partition>>, Refusal> {
        let topic = self.existing_topic(fields.topic_id)?;
        let (present, asked) = (topic.partition_count(), fields.total);
        if asked <= present {
            return Err(Refusal::PartitionsNotMore { asked, present });
        }
        self.check_count(asked, asked - present)?;
        let count = usize::try_from(asked - present).unwrap_or_default();
        let factor = topic.replication_factor();
        let replicas = if fields.assignment.is_empty() {
            let sites = self.sites();
            let available = i16::try_from(sites.len()).unwrap_or(i16::MAX);
            let taken: Vec<Vec<BrokerId>> =
                topic.partitions.iter().map(|partition| partition.replica_brokers().collect()).collect();
            place(fields.topic_id, &sites, &taken, count, self.check_factor(factor, available)?)
        } else {
            if fields.assignment.len() != count {
                return Err(Refusal::InvalidAssignment { partition: PartitionIndex(present) });
            }
            self.check_assignment(
                &fields.assignment,
                present,
                Some(topic.partitions.first().map_or(0, |partition| partition.replicas.len())),
            )?;
            fields.assignment.clone()
        };
        Ok(replicas.iter().map(|list| self.new_partition(list, topic.first_leader_epoch)).collect())
    }

    pub(super) fn delete_topic(&mut self, step: &mut Step, fields: &DeleteTopic) -> Result<Answer, Refusal> {
        let topic = self.existing_topic(fields.topic_id)?;
        let holders = topic.partitions.iter().flat_map(|partition| partition.replica_brokers());
        let last = topic.partitions.iter().map(|partition| partition.leader_epoch).max();
        let mark = DeletedTopic {
            id: topic.id,
            name: topic.name.to_string(),
            last_leader_epoch: last.unwrap_or(topic.first_leader_epoch),
            deleted_at: step.time,
            holders: holders.filter(|broker| self.brokers.contains_key(broker)).collect(),
        };
        let (name, count) = (topic.name.clone(), topic.partition_count());
        self.partitions -= count;
        Arc::make_mut(&mut self.names).remove(&name);
        Arc::make_mut(&mut self.topics).remove(&mark.id);
        step.changes.push(Change::TopicDeleted(mark.id));
        Arc::make_mut(&mut self.deleted).insert(mark.id, Arc::new(mark));
        Ok(Answer::Done)
    }

    pub(super) fn confirm_removal(
        &mut self,
        step: &mut Step,
        fields: &ConfirmRemoval,
    ) -> Result<Answer, Refusal> {
        self.current_broker(fields.broker, fields.broker_epoch)?;
        self.drop_holder(step, fields.broker, &fields.topics);
        Ok(Answer::Done)
    }

    pub(super) fn drop_holder(&mut self, step: &mut Step, broker: BrokerId, topics: &[TopicId]) {
        for topic_id in topics {
            let holds = self.deleted_topic(*topic_id).is_some_and(|mark| mark.holders.contains(&broker));
            if let Some(mark) = Arc::make_mut(&mut self.deleted).get_mut(topic_id).filter(|_| holds) {
                Arc::make_mut(mark).holders.remove(&broker);
                step.changes.push(Change::DeletedTopic(*topic_id));
            }
        }
    }

    pub(super) fn forget_topics(
        &mut self,
        step: &mut Step,
        fields: &ForgetTopics,
    ) -> Result<Answer, Refusal> {
        for topic_id in &fields.topics {
            if self.deleted_topic(*topic_id).is_some_and(|mark| mark.may_be_forgotten(step.time)) {
                Arc::make_mut(&mut self.deleted).remove(topic_id);
                step.changes.push(Change::DeletedTopic(*topic_id));
            }
        }
        Ok(Answer::Done)
    }

    fn new_partition(&self, replicas: &[BrokerId], leader_epoch: LeaderEpoch) -> Arc<Partition> {
        let live = |broker: &BrokerId| self.broker(*broker).is_some_and(|found| found.is_active());
        let isr: Vec<BrokerId> = replicas.iter().copied().filter(live).collect();
        Arc::new(Partition {
            replicas: replicas.iter().copied().map(Replica::new).collect(),
            leader: isr.first().copied(),
            leader_epoch,
            partition_epoch: PartitionEpoch(0),
            isr,
            elr: Vec::new(),
        })
    }

    fn sites(&self) -> Vec<Site<'_>> {
        let live = self.brokers().filter(|broker| broker.is_active());
        live.map(|broker| Site { broker: broker.id, rack: broker.rack.as_deref() }).collect()
    }

    fn check_count(&self, asked: i32, more: i32) -> Result<(), Refusal> {
        let room = PARTITIONS_MAX.saturating_sub(self.partitions).max(0);
        let fits = (1..=PARTITIONS_PER_TOPIC_MAX).contains(&asked) && more <= room;
        let refused = Refusal::InvalidPartitions { asked, max: PARTITIONS_PER_TOPIC_MAX, room };
        if fits { Ok(()) } else { Err(refused) }
    }

    fn check_factor(&self, asked: i16, available: i16) -> Result<usize, Refusal> {
        let available = available.min(REPLICATION_FACTOR_MAX);
        let factor = usize::try_from(asked).ok().filter(|factor| *factor > 0 && asked <= available);
        factor.ok_or(Refusal::InvalidReplicationFactor { asked, available })
    }

    /// Lists of known brokers, none twice, one of them live, all equally long.
    fn check_assignment(
        &self,
        lists: &[Vec<BrokerId>],
        first: i32,
        len: Option<usize>,
    ) -> Result<(), Refusal> {
        let len = len.or(lists.first().map(Vec::len)).unwrap_or_default();
        let most = usize::try_from(REPLICATION_FACTOR_MAX).unwrap_or_default();
        for (index, list) in (first..).zip(lists) {
            let distinct = list.iter().collect::<BTreeSet<_>>().len() == list.len();
            let known = list.iter().all(|broker| self.brokers.contains_key(broker));
            let live = list.iter().any(|broker| self.broker(*broker).is_some_and(|found| found.is_active()));
            if list.len() != len || len > most || !distinct || !known || !live {
                return Err(Refusal::InvalidAssignment { partition: PartitionIndex(index) });
            }
        }
        Ok(())
    }

    /// The greatest leader epoch of remembered deleted topics of that name; none if there are none.
    fn last_epoch_of_name(&self, name: &str) -> Option<LeaderEpoch> {
        self.deleted_topics().filter(|mark| mark.name == name).map(|mark| mark.last_leader_epoch).max()
    }
}

impl DeletedTopic {
    /// Whether nobody holds anything of it and it was deleted long enough ago.
    #[must_use]
    pub fn may_be_forgotten(&self, now: log_core::Timestamp) -> bool {
        self.holders.is_empty() && now.0.saturating_sub(self.deleted_at.0) >= DELETED_TOPIC_KEPT_MS
    }
}
