//! OffsetCommit: stores positions of a group; answered once their records are committed.

use std::borrow::Cow;

use coordinator_core::command::{Commit, CommitOffset, Reply, Speaker};
use kafka_wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};
use kafka_wire::{ErrorCode, Uuid};
use log_store::Disk;

use super::{GroupKind, WRITE_WAIT};
use crate::api::topics;
use crate::error::group_code;
use crate::peer::GroupCall;
use crate::shard::{Ask, Shard};

/// What a commit names, in the order of the request; partitions that do not exist carry their error.
#[derive(Debug)]
pub(super) struct Commits {
    topics: Vec<CommitTopic>,
}

#[derive(Debug)]
struct CommitTopic {
    name: String,
    id: Uuid,
    partitions: Vec<(i32, Option<ErrorCode>)>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_offset_commit(&mut self, ask: Ask, request: &OffsetCommitRequest<'_>) {
        let (mut topics, mut offsets) = (Vec::new(), Vec::new());
        for asked in &request.topics {
            let found =
                topics::by_id_or_name(&self.core.image, ask.version >= 10, asked.topic_id, &asked.name);
            let partitions = asked.partitions.iter().map(|partition| {
                let number = partition.partition_index;
                match found.and_then(|topic| topics::partition_of(topic, number).map(|_| topic)) {
                    Ok(topic) => {
                        offsets.push(offset(&topic.name, partition));
                        (number, None)
                    }
                    Err(code) => (number, Some(code)),
                }
            });
            let partitions = partitions.collect();
            topics.push(CommitTopic {
                name: asked.name.clone().into_owned(),
                id: asked.topic_id,
                partitions,
            });
        }
        let speaker = Speaker {
            group: request.group_id.clone().into_owned(),
            generation: request.generation_id_or_member_epoch,
            member_id: request.member_id.clone().into_owned(),
            instance_id: request.group_instance_id.clone().map(Cow::into_owned),
        };
        let call = GroupCall::Commit(Commit { speaker, offsets });
        let kind = GroupKind::Commit(Commits { topics });
        self.start_group(ask, kind, &request.group_id, call, Some(WRITE_WAIT));
    }

    pub(super) fn finish_commit(&mut self, ask: Ask, commits: &Commits, reply: Result<Reply, ErrorCode>) {
        let (whole, results) = match reply {
            Ok(Reply::Committed(results)) => (None, results),
            Ok(_) => (Some(ErrorCode::UnknownServerError), Vec::new()),
            Err(code) => (Some(code), Vec::new()),
        };
        let mut codes = results.into_iter().map(|result| result.err().map_or(ErrorCode::None, group_code));
        let topics = commits.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|(partition_index, error)| {
                let written = || whole.or_else(|| codes.next()).unwrap_or(ErrorCode::UnknownServerError);
                let error_code = error.unwrap_or_else(written);
                OffsetCommitResponsePartition { partition_index: *partition_index, error_code }
            });
            OffsetCommitResponseTopic {
                name: Cow::Borrowed(&*topic.name),
                topic_id: topic.id,
                partitions: partitions.collect(),
            }
        });
        let topics = topics.collect();
        self.respond(ask, &OffsetCommitResponse { throttle_time_ms: 0, topics });
    }
}

fn offset(topic: &str, partition: &OffsetCommitRequestPartition<'_>) -> CommitOffset {
    CommitOffset {
        topic: topic.to_owned(),
        partition: partition.partition_index,
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.as_deref().unwrap_or_default().to_owned(),
    }
}
