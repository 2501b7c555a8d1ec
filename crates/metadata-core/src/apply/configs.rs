//! Configuration changes. One of min ISR recomputes the ELR of every partition concerned in the same step (C4).

use std::sync::Arc;

use log_core::TopicId;
use log_core::mutation::{Mutation, mutated};

use super::Step;
use crate::config::{ClusterSettings, ConfigMap, Scope, TopicSettings, edit};
use crate::error::Refusal;
use crate::image::{ClusterImage, PARTITIONS_MAX};
use crate::outcome::{Answer, Change};
use crate::record::{Resource, SetConfigs};

impl ClusterImage {
    /// Whether such a record would be applied; the answer to a "validate only" request, which proposes nothing.
    ///
    /// # Errors
    ///
    /// If the topic does not exist, or a key or value is refused.
    pub fn check_configs(&self, fields: &SetConfigs) -> Result<(), Refusal> {
        match fields.resource {
            Resource::Topic(topic_id) => {
                let present = &self.existing_topic(topic_id)?.configs;
                edit(Scope::Topic, present, fields.replace, &fields.changes)?;
            }
            Resource::Cluster => {
                edit(Scope::Cluster, &self.configs, fields.replace, &fields.changes)?;
            }
        }
        Ok(())
    }

    pub(super) fn set_configs(&mut self, step: &mut Step, fields: &SetConfigs) -> Result<Answer, Refusal> {
        match fields.resource {
            Resource::Topic(topic_id) => {
                let present = self.existing_topic(topic_id)?.configs.clone();
                let configs = edit(Scope::Topic, &present, fields.replace, &fields.changes)?;
                self.set_topic_configs(step, topic_id, Arc::new(configs));
            }
            Resource::Cluster => {
                let configs = edit(Scope::Cluster, &self.configs, fields.replace, &fields.changes)?;
                self.set_cluster_configs(step, configs);
            }
        }
        Ok(Answer::Done)
    }

    pub(super) fn set_cluster_configs(&mut self, step: &mut Step, configs: ConfigMap) {
        self.settings = ClusterSettings::resolve(&configs);
        self.configs = Arc::new(configs);
        step.changes.push(Change::Cluster);
        let topics: Vec<_> = self.topics().map(|topic| (topic.id, topic.configs.clone())).collect();
        for (topic_id, own) in topics {
            self.set_topic_configs(step, topic_id, own);
        }
    }

    fn set_topic_configs(&mut self, step: &mut Step, topic_id: TopicId, configs: Arc<ConfigMap>) {
        let settings = TopicSettings::resolve(&configs, &self.configs);
        let Some(topic) = Arc::make_mut(&mut self.topics).get_mut(&topic_id) else { return };
        if topic.settings == settings && topic.configs == configs {
            return;
        }
        let min_isr_changed = topic.settings.min_insync_replicas != settings.min_insync_replicas;
        let topic = Arc::make_mut(topic);
        topic.settings = settings;
        topic.configs = configs;
        let count = if min_isr_changed { topic.partition_count().min(PARTITIONS_MAX) } else { 0 };
        step.changes.push(Change::TopicConfigs(topic_id));
        for partition in 0..count {
            self.edit_partition(step, crate::record::topic_partition(topic_id, partition), |seats| {
                if mutated(Mutation::C7, true, false) {
                    seats.normalise();
                }
                seats.elect();
                seats.touch();
            });
        }
    }
}
