//! DescribeTopicPartitions: partitions page by page, with their ELR.

use std::borrow::Cow;

use kafka_wire::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribedPartition, DescribedTopic,
    ResponseCursor,
};
use kafka_wire::{ErrorCode, Uuid};
use log_store::Disk;
use metadata_core::{ClusterImage, Partition};

use super::metadata::{numbers, offline};
use super::topics;
use crate::shard::{Ask, Shard};

/// The most partitions of one answer (Kafka's `max.request.partition.size.limit`).
const PARTITIONS_MAX: usize = 2_000;

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_describe_topic_partitions(
        &mut self,
        ask: Ask,
        request: &DescribeTopicPartitionsRequest<'_>,
    ) {
        let image = self.core.image.clone();
        let mut names: Vec<&str> = match request.topics.is_empty() {
            true => image.topic_names().collect(),
            false => request.topics.iter().map(|topic| &*topic.name).collect(),
        };
        names.sort_unstable();
        names.dedup();
        let from = request.cursor.as_ref();
        names.retain(|name| from.is_none_or(|cursor| *name >= &*cursor.topic_name));
        let limit = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, PARTITIONS_MAX);
        let mut page = Page { image: &image, left: limit, topics: Vec::new(), next: None };
        for name in names {
            let cursor = from.filter(|cursor| *name == *cursor.topic_name);
            let first = cursor.map_or(0, |cursor| cursor.partition_index);
            if !page.add(name, first) {
                break;
            }
        }
        let response = DescribeTopicPartitionsResponse {
            throttle_time_ms: 0,
            topics: page.topics,
            next_cursor: page.next,
        };
        self.respond(ask, &response);
    }
}

struct Page<'a> {
    image: &'a ClusterImage,
    left: usize,
    topics: Vec<DescribedTopic<'a>>,
    next: Option<ResponseCursor<'a>>,
}

impl<'a> Page<'a> {
    /// Adds a topic from one of its partitions on; false once the page is full.
    fn add(&mut self, name: &'a str, first: i32) -> bool {
        let Some(topic) = self.image.topic_by_name(name) else {
            self.topics.push(unknown(name));
            return true;
        };
        if self.left == 0 {
            self.next = Some(ResponseCursor { topic_name: Cow::Borrowed(name), partition_index: first });
            return false;
        }
        let wanted = topic.partitions().filter(|(id, _)| id.partition.0 >= first);
        let partitions: Vec<_> =
            wanted.take(self.left).map(|(id, state)| described(self.image, id.partition.0, state)).collect();
        self.left -= partitions.len();
        let last = partitions.last().map_or(first, |partition| partition.partition_index + 1);
        self.topics.push(DescribedTopic {
            error_code: ErrorCode::None,
            name: Some(Cow::Borrowed(name)),
            topic_id: topics::uuid(topic.id),
            is_internal: topic.is_internal(),
            partitions,
            topic_authorized_operations: i32::MIN,
        });
        if last < topic.partition_count() {
            self.next = Some(ResponseCursor { topic_name: Cow::Borrowed(name), partition_index: last });
            return false;
        }
        true
    }
}

fn unknown(name: &str) -> DescribedTopic<'_> {
    let valid = metadata_core::names::check(name).is_ok();
    DescribedTopic {
        error_code: if valid { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::InvalidTopicException },
        name: Some(Cow::Borrowed(name)),
        topic_id: Uuid::NONE,
        topic_authorized_operations: i32::MIN,
        ..DescribedTopic::default()
    }
}

fn described(image: &ClusterImage, index: i32, state: &Partition) -> DescribedPartition {
    DescribedPartition {
        error_code: if state.leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable },
        partition_index: index,
        leader_id: state.leader.map_or(-1, |leader| leader.0),
        leader_epoch: state.leader_epoch.0,
        replica_nodes: numbers(state.replica_brokers()),
        isr_nodes: numbers(state.isr.iter().copied()),
        eligible_leader_replicas: Some(numbers(state.elr.iter().copied())),
        last_known_elr: Some(Vec::new()),
        offline_replicas: offline(image, state),
    }
}
