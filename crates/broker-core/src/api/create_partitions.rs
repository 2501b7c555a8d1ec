//! CreatePartitions: raises the number of a topic's partitions.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use log_core::BrokerId;
use log_store::Disk;

use super::admin::{AdminKind, AdminResult, Failure, check_times, each_once};
use super::topics;
use crate::message::AdminCommand;
use crate::shard::{Ask, Shard};

/// The topics that get partitions, by name.
#[derive(Debug)]
pub(crate) struct CreatedPartitions {
    names: Vec<String>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_create_partitions(&mut self, ask: Ask, request: &CreatePartitionsRequest<'_>) {
        let named = each_once(&request.topics, |topic| &topic.name);
        let parts = named.iter().map(|(topic, times)| {
            check_times(*times)?;
            self.add_partitions(topic, request.validate_only)
        });
        let parts = parts.collect();
        let names = named.iter().map(|(topic, _)| topic.name.clone().into_owned()).collect();
        let kind = AdminKind::CreatePartitions(CreatedPartitions { names });
        self.start_admin(ask, kind, request.timeout_ms, parts);
    }

    fn add_partitions(
        &self,
        topic: &CreatePartitionsTopic<'_>,
        validate_only: bool,
    ) -> Result<AdminCommand, Failure> {
        let found = topics::by_name(&self.core.image, &topic.name);
        let found = found.map_err(|code| Failure::new(code, "there is no such topic"))?;
        if found.is_internal() {
            let message = "which of its partitions a group lives in goes by how many there are";
            return Err(Failure::new(ErrorCode::InvalidTopicException, message));
        }
        let brokers = |ids: &[i32]| ids.iter().map(|id| BrokerId(*id)).collect();
        let assigned = topic.assignments.iter().flatten();
        Ok(AdminCommand::AddPartitions {
            topic_id: found.id,
            total: topic.count,
            assignments: assigned.map(|assignment| brokers(&assignment.broker_ids)).collect(),
            validate_only,
        })
    }

    pub(crate) fn finish_create_partitions(
        &mut self,
        ask: Ask,
        created: &CreatedPartitions,
        results: Vec<AdminResult>,
    ) {
        let results = created.names.iter().zip(results).map(|(name, result)| {
            let failure = result.err();
            CreatePartitionsTopicResult {
                name: Cow::Borrowed(&**name),
                error_code: failure.as_ref().map_or(ErrorCode::None, |failure| failure.code),
                error_message: failure.map(|failure| Cow::Owned(failure.message)),
            }
        });
        let response = CreatePartitionsResponse { results: results.collect(), throttle_time_ms: 0 };
        self.respond(ask, &response);
    }
}
