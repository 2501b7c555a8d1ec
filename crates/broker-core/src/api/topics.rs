//! Finding topics and partitions of requests in the cluster image.

use kafka_wire::{ErrorCode, Uuid};
use log_core::{PartitionIndex, TopicId, TopicPartition};
use metadata_core::{ClusterImage, Topic};

/// A partition named in a request, or the error that answers it.
pub(crate) type Found = Result<TopicPartition, ErrorCode>;

/// The topic whose partitions are the groups' log.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

pub(crate) fn partition_of(topic: &Topic, partition: i32) -> Found {
    let partition = PartitionIndex(partition);
    match topic.partition(partition) {
        Some(_) => Ok(TopicPartition { topic_id: topic.id, partition }),
        None => Err(ErrorCode::UnknownTopicOrPartition),
    }
}

pub(crate) fn by_name<'a>(image: &'a ClusterImage, name: &str) -> Result<&'a Topic, ErrorCode> {
    image.topic_by_name(name).ok_or(ErrorCode::UnknownTopicOrPartition)
}

pub(crate) fn by_id(image: &ClusterImage, id: Uuid) -> Result<&Topic, ErrorCode> {
    image.topic(TopicId(id.0)).ok_or(ErrorCode::UnknownTopicId)
}

/// A topic by its id where the request's version has ids, else by its name.
pub(crate) fn by_id_or_name<'a>(
    image: &'a ClusterImage,
    ids: bool,
    id: Uuid,
    name: &str,
) -> Result<&'a Topic, ErrorCode> {
    if ids { by_id(image, id) } else { by_name(image, name) }
}

pub(crate) fn uuid(id: TopicId) -> Uuid {
    Uuid(id.0)
}
