//! CreateTopics.

use std::borrow::Cow;

use kafka_wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use kafka_wire::{ErrorCode, Uuid};
use log_core::{BrokerId, TopicId};
use log_store::Disk;

use super::admin::{AdminKind, AdminResult, Failure, check_times, each_once};
use super::describe_configs::source_code;
use super::topics;
use crate::message::{AdminAnswer, AdminCommand, NewTopic};
use crate::shard::{Ask, Shard};

/// The topics to be made, by name.
#[derive(Debug)]
pub(crate) struct CreatedTopics {
    names: Vec<String>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_create_topics(&mut self, ask: Ask, request: &CreateTopicsRequest<'_>) {
        let named = each_once(&request.topics, |topic| &topic.name);
        let parts = named.iter().map(|(topic, times)| {
            check_times(*times)?;
            check_name(&topic.name)?;
            new_topic(topic, request.validate_only).map(AdminCommand::CreateTopic)
        });
        let parts = parts.collect();
        let names = named.iter().map(|(topic, _)| topic.name.clone().into_owned()).collect();
        let kind = AdminKind::CreateTopics(CreatedTopics { names });
        self.start_admin(ask, kind, request.timeout_ms, parts);
    }

    pub(crate) fn finish_create_topics(
        &mut self,
        ask: Ask,
        created: &CreatedTopics,
        results: Vec<AdminResult>,
    ) {
        let topics = created.names.iter().zip(results).map(|(name, result)| match result {
            Ok(AdminAnswer::TopicCreated { topic_id, partitions, replication_factor }) => {
                CreatableTopicResult {
                    name: Cow::Borrowed(&**name),
                    topic_id: topics::uuid(topic_id),
                    num_partitions: partitions,
                    replication_factor,
                    configs: Some(self.configs_of(topic_id)),
                    ..CreatableTopicResult::default()
                }
            }
            Ok(_) => failed(name, Failure::new(ErrorCode::UnknownServerError, String::new())),
            Err(failure) => failed(name, failure),
        });
        let response = CreateTopicsResponse { topics: topics.collect(), throttle_time_ms: 0 };
        self.respond(ask, &response);
    }

    fn configs_of(&self, topic_id: TopicId) -> Vec<CreatableTopicConfigs<'static>> {
        let entries = self.core.image.describe_topic_configs(topic_id).unwrap_or_default();
        let described = entries.into_iter().map(|entry| CreatableTopicConfigs {
            name: Cow::Borrowed(entry.name),
            value: Some(Cow::Owned(entry.value)),
            read_only: false,
            config_source: source_code(entry.source),
            is_sensitive: false,
        });
        described.collect()
    }
}

/// Brokers make the topics that they need as they need them: of another shape they would be of no use.
fn check_name(name: &str) -> Result<(), Failure> {
    match metadata_core::names::is_internal(name) {
        true => Err(Failure::new(
            ErrorCode::InvalidTopicException,
            "brokers make it themselves when it is needed",
        )),
        false => Ok(()),
    }
}

fn new_topic(topic: &CreatableTopic<'_>, validate_only: bool) -> Result<NewTopic, Failure> {
    let assigned = !topic.assignments.is_empty();
    if assigned && (topic.num_partitions != -1 || topic.replication_factor != -1) {
        let message = "give either replica assignments or numbers of partitions and replicas, not both";
        return Err(Failure::new(ErrorCode::InvalidRequest, message));
    }
    let configs = topic.configs.iter().map(|config| match &config.value {
        Some(value) => Ok((config.name.clone().into_owned(), value.clone().into_owned())),
        None => Err(Failure::new(ErrorCode::InvalidConfig, format!("no value for {}", config.name))),
    });
    Ok(NewTopic {
        name: topic.name.clone().into_owned(),
        partitions: (topic.num_partitions != -1 && !assigned).then_some(topic.num_partitions),
        replication_factor: (topic.replication_factor != -1 && !assigned).then_some(topic.replication_factor),
        assignments: assignments(topic)?,
        configs: configs.collect::<Result<_, _>>()?,
        validate_only,
    })
}

/// The replicas by partition; partitions must be numbered from 0 without a gap.
fn assignments(topic: &CreatableTopic<'_>) -> Result<Vec<Vec<BrokerId>>, Failure> {
    let mut assigned: Vec<_> = topic.assignments.iter().collect();
    assigned.sort_by_key(|assignment| assignment.partition_index);
    let numbered = (0..).zip(&assigned).all(|(number, assignment)| assignment.partition_index == number);
    if !numbered {
        let message = "replica assignments must name the partitions from 0 on, each once";
        return Err(Failure::new(ErrorCode::InvalidReplicaAssignment, message));
    }
    let brokers = |ids: &[i32]| ids.iter().map(|id| BrokerId(*id)).collect();
    Ok(assigned.into_iter().map(|assignment| brokers(&assignment.broker_ids)).collect())
}

fn failed(name: &str, failure: Failure) -> CreatableTopicResult<'_> {
    CreatableTopicResult {
        name: Cow::Borrowed(name),
        topic_id: Uuid::NONE,
        error_code: failure.code,
        error_message: Some(Cow::Owned(failure.message)),
        num_partitions: -1,
        replication_factor: -1,
        ..CreatableTopicResult::default()
    }
}
