//! DescribeQuorum: how the metadata quorum stands.

use std::borrow::Cow;

use kafka_wire::messages::describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, QuorumPartitionResult, QuorumTopicResult, ReplicaState,
};
use kafka_wire::{ErrorCode, Uuid};
use log_store::Disk;

use super::admin::{AdminKind, AdminResult, Failure};
use crate::message::{AdminAnswer, AdminCommand, QuorumDescription, QuorumMember};
use crate::shard::{Ask, Shard};

/// The name by which clients ask for the metadata log.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// The topics and partitions asked for.
#[derive(Debug)]
pub(crate) struct DescribedQuorum {
    topics: Vec<(String, Vec<i32>)>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_describe_quorum(&mut self, ask: Ask, request: &DescribeQuorumRequest<'_>) {
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
            (topic.topic_name.clone().into_owned(), partitions.collect())
        });
        let kind = AdminKind::DescribeQuorum(DescribedQuorum { topics: topics.collect() });
        self.start_admin(ask, kind, i32::MAX, vec![Ok(AdminCommand::DescribeQuorum)]);
    }

    pub(crate) fn finish_describe_quorum(
        &mut self,
        ask: Ask,
        described: &DescribedQuorum,
        results: Vec<AdminResult>,
    ) {
        let quorum = match results.into_iter().next() {
            Some(Ok(AdminAnswer::Quorum(quorum))) => Ok(quorum),
            Some(Err(failure)) => Err(failure),
            Some(Ok(_)) | None => Err(Failure::new(ErrorCode::UnknownServerError, String::new())),
        };
        let topics = described.topics.iter().map(|(name, partitions)| QuorumTopicResult {
            topic_name: Cow::Borrowed(&**name),
            partitions: partitions
                .iter()
                .map(|index| match &quorum {
                    Ok(quorum) if name == METADATA_TOPIC && *index == 0 => known(quorum),
                    Ok(_) => QuorumPartitionResult {
                        partition_index: *index,
                        error_code: ErrorCode::UnknownTopicOrPartition,
                        ..QuorumPartitionResult::default()
                    },
                    Err(_) => {
                        QuorumPartitionResult { partition_index: *index, ..QuorumPartitionResult::default() }
                    }
                })
                .collect(),
        });
        let failure = quorum.as_ref().err();
        let response = DescribeQuorumResponse {
            error_code: failure.map_or(ErrorCode::None, |failure| failure.code),
            error_message: failure.map(|failure| Cow::Owned(failure.message.clone())),
            topics: topics.collect(),
            nodes: Vec::new(),
        };
        self.respond(ask, &response);
    }
}

fn known(quorum: &QuorumDescription) -> QuorumPartitionResult<'static> {
    QuorumPartitionResult {
        partition_index: 0,
        error_code: ErrorCode::None,
        error_message: None,
        leader_id: quorum.leader.map_or(-1, |leader| leader.0),
        leader_epoch: quorum.term,
        high_watermark: quorum.high_watermark.0,
        current_voters: quorum.voters.iter().map(member).collect(),
        observers: quorum.observers.iter().map(member).collect(),
    }
}

fn member(member: &QuorumMember) -> ReplicaState {
    ReplicaState {
        replica_id: member.broker.0,
        replica_directory_id: Uuid(member.directory.0),
        log_end_offset: member.end.map_or(-1, |end| end.0),
        last_fetch_timestamp: -1,
        last_caught_up_timestamp: -1,
    }
}
