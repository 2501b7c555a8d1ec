//! OffsetForLeaderEpoch: where a leader epoch ended, for a reader that wants to know whether its log was cut.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use log_core::{LeaderEpoch, Offset};
use log_store::Disk;

use super::topics;
use crate::action::CloseReason;
use crate::error::partition_code;
use crate::peer::{CallId, PartitionAnswer, PartitionCall};
use crate::shard::{Ask, Gather, Pending, Shard};

/// An OffsetForLeaderEpoch request that waits for its partitions.
#[derive(Debug)]
pub(crate) struct EpochEnds {
    ask: Ask,
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<Result<(LeaderEpoch, Offset), ErrorCode>>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_offset_for_leader_epoch(
        &mut self,
        ask: Ask,
        request: &OffsetForLeaderEpochRequest<'_>,
    ) {
        if request.replica_id >= 0 {
            return self.close(ask.connection, CloseReason::FetchAsReplica);
        }
        let id = self.next_pending();
        let parts = request.topics.iter().map(|topic| topic.partitions.len()).sum();
        let mut ends = EpochEnds { ask, topics: Vec::new(), results: Gather::new(parts) };
        let mut part = 0_u32;
        for topic in &request.topics {
            let found = topics::by_name(&self.core.image, &topic.topic).cloned();
            for asked in &topic.partitions {
                match found
                    .as_ref()
                    .map_err(|code| *code)
                    .and_then(|topic| topics::partition_of(topic, asked.partition))
                {
                    Ok(partition) => {
                        let call = PartitionCall::EpochEnd {
                            current_leader_epoch: LeaderEpoch(asked.current_leader_epoch),
                            epoch: LeaderEpoch(asked.leader_epoch),
                        };
                        self.call(CallId { pending: id, part }, partition, call);
                    }
                    Err(code) => ends.results.put(part, Err(code)),
                }
                part += 1;
            }
            let numbers = topic.partitions.iter().map(|asked| asked.partition).collect();
            ends.topics.push((topic.topic.clone().into_owned(), numbers));
        }
        if ends.results.is_complete() {
            self.finish_epoch_ends(ends);
        } else {
            let deadline = self.core.now.mono.after(self.core.config.limits.admin_timeout_max);
            self.wait(id, Pending::EpochEnds(ends), Some(deadline));
        }
    }

    pub(crate) fn finish_epoch_ends(&mut self, ends: EpochEnds) {
        let EpochEnds { ask, topics, results } = ends;
        let mut results = results.into_parts(|| Err(ErrorCode::RequestTimedOut)).into_iter();
        let topics = topics.iter().map(|(name, numbers)| OffsetForLeaderTopicResult {
            topic: Cow::Borrowed(name),
            partitions: numbers
                .iter()
                .zip(&mut results)
                .map(|(number, result)| partition_response(*number, result))
                .collect(),
        });
        let response = OffsetForLeaderEpochResponse { topics: topics.collect(), throttle_time_ms: 0 };
        self.respond(ask, &response);
    }
}

impl EpochEnds {
    pub(crate) fn take<F>(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        match answer {
            PartitionAnswer::EpochEnd { epoch, end } => self.results.put(part, Ok((epoch, end))),
            PartitionAnswer::Failed(error) => self.results.put(part, Err(partition_code(&error))),
            PartitionAnswer::Produced(_)
            | PartitionAnswer::Fetched(_)
            | PartitionAnswer::OffsetListed(_)
            | PartitionAnswer::RecordsDeleted { .. }
            | PartitionAnswer::Sized(_)
            | PartitionAnswer::Group(_) => {}
        }
        self.results.is_complete()
    }
}

fn partition_response(partition: i32, result: Result<(LeaderEpoch, Offset), ErrorCode>) -> EpochEndOffset {
    let (error_code, (epoch, end)) = match result {
        Ok(found) => (ErrorCode::None, found),
        Err(code) => (code, (LeaderEpoch::NONE, Offset(-1))),
    };
    EpochEndOffset { error_code, partition, leader_epoch: epoch.0, end_offset: end.0 }
}
