//! DeleteTopics, by name or by id.

use std::borrow::Cow;

use kafka_wire::messages::delete_topics::{DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse};
use kafka_wire::{ErrorCode, Uuid};
use log_store::Disk;

use super::admin::{AdminKind, AdminResult, Failure};
use super::topics;
use crate::message::AdminCommand;
use crate::shard::{Ask, Shard};

/// The topics to be deleted.
#[derive(Debug)]
pub(crate) struct DeletedTopics {
    topics: Vec<(Option<String>, Uuid)>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_delete_topics(&mut self, ask: Ask, request: &DeleteTopicsRequest<'_>) {
        let by_name = request.topic_names.iter().map(|name| (Some(name.clone().into_owned()), Uuid::NONE));
        let states = request.topics.iter();
        let by_state = states.map(|topic| (topic.name.clone().map(Cow::into_owned), topic.topic_id));
        let (mut topics, mut parts) = (Vec::new(), Vec::new());
        for (name, id) in by_name.chain(by_state) {
            let found = self.find_topic(name.as_deref(), id);
            parts.push(found.clone().map(|(_, topic_id)| AdminCommand::DeleteTopic { topic_id }));
            topics.push(match found {
                Ok((name, topic_id)) => (Some(name), topics::uuid(topic_id)),
                Err(_) => (name, id),
            });
        }
        let kind = AdminKind::DeleteTopics(DeletedTopics { topics });
        self.start_admin(ask, kind, request.timeout_ms, parts);
    }

    fn find_topic(&self, name: Option<&str>, id: Uuid) -> Result<(String, log_core::TopicId), Failure> {
        let image = &self.core.image;
        let found = match name {
            Some(_) if !id.is_none() => {
                let message = "name a topic by its name or its id, not both";
                return Err(Failure::new(ErrorCode::InvalidRequest, message));
            }
            Some(name) => topics::by_name(image, name),
            None => topics::by_id(image, id),
        };
        match found {
            Ok(topic) if topic.is_internal() => {
                let message =
                    "brokers keep the positions of all groups in it: delete those of a group, or the group";
                Err(Failure::new(ErrorCode::InvalidTopicException, message))
            }
            Ok(topic) => Ok((topic.name.to_string(), topic.id)),
            Err(code) => Err(Failure::new(code, "there is no such topic")),
        }
    }

    pub(crate) fn finish_delete_topics(
        &mut self,
        ask: Ask,
        deleted: &DeletedTopics,
        results: Vec<AdminResult>,
    ) {
        let responses = deleted.topics.iter().zip(results).map(|((name, topic_id), result)| {
            let failure = result.err();
            DeletableTopicResult {
                name: name.as_deref().map(Cow::Borrowed),
                topic_id: *topic_id,
                error_code: failure.as_ref().map_or(ErrorCode::None, |failure| failure.code),
                error_message: failure.map(|failure| Cow::Owned(failure.message)),
            }
        });
        let response = DeleteTopicsResponse { responses: responses.collect(), throttle_time_ms: 0 };
        self.respond(ask, &response);
    }
}
