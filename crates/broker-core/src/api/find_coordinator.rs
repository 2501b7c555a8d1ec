//! FindCoordinator: a group lives on the leader of its partition of `__consumer_offsets`, which is made on first use.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use log_core::{PartitionIndex, TopicPartition};
use log_store::Disk;
use metadata_core::ClusterImage;

use super::endpoints::Address;
use super::metadata::{exists_already, has_leaders, new_topic};
use super::topics::OFFSETS_TOPIC;
use crate::error::admin_code;
use crate::message::{AdminAnswer, AdminCommand, AdminError};
use crate::peer::{CallId, PendingId};
use crate::shard::{Ask, Pending, Shard};

/// The kind of key that names a group; 1 stands for transactions, which are not served yet.
const GROUP: i8 = 0;

/// A FindCoordinator request that waits for `__consumer_offsets` to be made and led.
#[derive(Debug)]
pub(crate) struct AwaitedCoordinators {
    ask: Ask,
    keys: Vec<String>,
    refused: Option<ErrorCode>,
    expired: bool,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_find_coordinator(&mut self, ask: Ask, request: &FindCoordinatorRequest<'_>) {
        let keys: Vec<String> = match ask.version {
            4.. => request.coordinator_keys.iter().map(|key| key.clone().into_owned()).collect(),
            _ => vec![request.key.clone().into_owned()],
        };
        if request.key_type != GROUP {
            let code = ErrorCode::TransactionalIdAuthorizationFailed;
            return self.answer_coordinators(ask, &keys, Some((code, "transactions are not served yet")));
        }
        let awaited = AwaitedCoordinators { ask, keys, refused: None, expired: false };
        let id = self.next_pending();
        let deadline = self.core.now.mono.after(self.core.config.limits.auto_create_wait);
        if self.core.image.topic_by_name(OFFSETS_TOPIC).is_none() {
            let topic = new_topic(&self.core.image, OFFSETS_TOPIC);
            self.command(CallId { pending: id, part: 0 }, deadline, AdminCommand::CreateTopic(topic));
        } else if has_leaders(&self.core.image, OFFSETS_TOPIC) {
            return self.answer_coordinators(ask, &awaited.keys, None);
        }
        self.awaiting_image.insert(id);
        self.wait(id, Pending::FindCoordinator(awaited), Some(deadline));
    }

    pub(crate) fn finish_find_coordinator(&mut self, id: PendingId, awaited: AwaitedCoordinators) {
        let settled = awaited.expired || awaited.refused.is_some();
        if !settled && !has_leaders(&self.core.image, OFFSETS_TOPIC) {
            self.awaiting_image.insert(id);
            return self.put_back(id, Pending::FindCoordinator(awaited));
        }
        let refused = awaited.refused.map(|code| (code, "the topic of the groups cannot be made"));
        self.answer_coordinators(awaited.ask, &awaited.keys, refused);
    }

    fn answer_coordinators(&mut self, ask: Ask, keys: &[String], refused: Option<(ErrorCode, &'static str)>) {
        let found = keys.iter().map(|key| match refused {
            Some(refused) => coordinator(key, Err(refused)),
            None => coordinator(key, self.coordinator_of(ask, key)),
        });
        let mut found: Vec<_> = found.collect();
        let response = match ask.version {
            4.. => FindCoordinatorResponse { coordinators: found, ..FindCoordinatorResponse::default() },
            _ => single(found.pop().expect("the older form has one key")),
        };
        self.respond(ask, &response);
    }

    fn coordinator_of(&self, ask: Ask, group: &str) -> Result<Address, (ErrorCode, &'static str)> {
        let not_led = (ErrorCode::CoordinatorNotAvailable, "the group's partition has no leader now");
        let partition = partition_of_group(&self.core.image, group).ok_or(not_led)?;
        let leader = self.core.image.partition(partition).and_then(|state| state.leader).ok_or(not_led)?;
        self.address(&self.door(ask), leader).ok_or(not_led)
    }
}

impl AwaitedCoordinators {
    /// Whether the topic can never be made; if it is made, its leaders come with the image.
    pub(crate) fn take(&mut self, result: Result<AdminAnswer, AdminError>) -> bool {
        self.refused = match result {
            Err(error @ AdminError::Refused(_)) if !exists_already(&error) => Some(admin_code(&error)),
            Err(_) | Ok(_) => None,
        };
        true
    }

    pub(crate) fn expire(&mut self) {
        self.expired = true;
    }
}

/// The partition of `__consumer_offsets` that holds a group; none before the topic is made.
pub(crate) fn partition_of_group(image: &ClusterImage, group: &str) -> Option<TopicPartition> {
    let topic = image.topic_by_name(OFFSETS_TOPIC)?;
    let count = u32::try_from(topic.partition_count()).ok()?;
    let partition = (java_hash(group).cast_unsigned() & 0x7fff_ffff).checked_rem(count)?;
    Some(TopicPartition { topic_id: topic.id, partition: PartitionIndex(partition.cast_signed()) })
}

/// Java's `String.hashCode`, so that groups lie where Kafka's tools expect them.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

fn coordinator<'a>(key: &'a str, found: Result<Address, (ErrorCode, &'static str)>) -> Coordinator<'a> {
    match found {
        Ok(address) => Coordinator {
            key: Cow::Borrowed(key),
            node_id: address.broker.0,
            host: Cow::Owned(address.host),
            port: address.port,
            error_code: ErrorCode::None,
            error_message: None,
        },
        Err((error_code, message)) => Coordinator {
            key: Cow::Borrowed(key),
            node_id: -1,
            host: Cow::Borrowed(""),
            port: -1,
            error_code,
            error_message: Some(Cow::Borrowed(message)),
        },
    }
}

fn single(found: Coordinator<'_>) -> FindCoordinatorResponse<'_> {
    FindCoordinatorResponse {
        error_code: found.error_code,
        error_message: found.error_message,
        node_id: found.node_id,
        host: found.host,
        port: found.port,
        ..FindCoordinatorResponse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_ids_hash_as_java_hashes_them() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("hello"), 99_162_322);
        assert_eq!(java_hash("console-consumer-12345"), 158_455_506);
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
    }
}
