//! ListOffsets: offsets by time, and the special ones.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kafka_wire::ErrorCode;
use kafka_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use log_core::{LeaderEpoch, Timestamp};
use log_store::Disk;

use super::topics::{self, Found};
use crate::error::partition_code;
use crate::peer::{CallId, ListOffsetCall, ListedOffset, PartitionAnswer, PartitionCall, WantedOffset};
use crate::shard::{Ask, Gather, Pending, Shard};

/// The replica id by which a client asks for the own ends of whichever replica answers, led or not: Kafka's number for
/// debugging consumers.
const OF_ANY_REPLICA: i32 = -2;

/// A ListOffsets request that waits for its partitions.
#[derive(Debug)]
pub(crate) struct ListOffsets {
    ask: Ask,
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<Result<ListedOffset, ErrorCode>>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_list_offsets(&mut self, ask: Ask, request: &ListOffsetsRequest<'_>) {
        let id = self.next_pending();
        let parts = request.topics.iter().map(|topic| topic.partitions.len()).sum();
        let mut list = ListOffsets { ask, topics: Vec::new(), results: Gather::new(parts) };
        let named = count_named(request);
        let of_replica = request.replica_id == OF_ANY_REPLICA;
        let mut part = 0_u32;
        for topic in &request.topics {
            for asked in &topic.partitions {
                let doubled = named.get(&(&*topic.name, asked.partition_index)).is_some_and(|n| *n > 1);
                match self.find_listed(&topic.name, asked, doubled) {
                    Ok((partition, call)) => {
                        let call = ListOffsetCall { of_replica, ..call };
                        let call = PartitionCall::ListOffset(call);
                        self.call(CallId { pending: id, part }, partition, call);
                    }
                    Err(code) => list.results.put(part, Err(code)),
                }
                part += 1;
            }
            let numbers = topic.partitions.iter().map(|asked| asked.partition_index).collect();
            list.topics.push((topic.name.clone().into_owned(), numbers));
        }
        if list.results.is_complete() {
            self.finish_list_offsets(list);
        } else {
            let deadline = self.core.now.mono.after(self.core.config.limits.admin_timeout_max);
            self.wait(id, Pending::ListOffsets(list), Some(deadline));
        }
    }

    fn find_listed(
        &self,
        topic: &str,
        asked: &ListOffsetsPartition,
        doubled: bool,
    ) -> Result<(log_core::TopicPartition, ListOffsetCall), ErrorCode> {
        if doubled {
            return Err(ErrorCode::InvalidRequest);
        }
        let found: Found = topics::by_name(&self.core.image, topic)
            .and_then(|topic| topics::partition_of(topic, asked.partition_index));
        let wanted = wanted(asked.timestamp).ok_or(ErrorCode::UnsupportedVersion)?;
        let current_leader_epoch = LeaderEpoch(asked.current_leader_epoch);
        Ok((found?, ListOffsetCall { of_replica: false, current_leader_epoch, wanted }))
    }

    pub(crate) fn finish_list_offsets(&mut self, list: ListOffsets) {
        let ListOffsets { ask, topics, results } = list;
        let mut results = results.into_parts(|| Err(ErrorCode::RequestTimedOut)).into_iter();
        let topics = topics.iter().map(|(name, numbers)| ListOffsetsTopicResponse {
            name: Cow::Borrowed(name),
            partitions: numbers
                .iter()
                .zip(&mut results)
                .map(|(number, result)| partition_response(*number, result))
                .collect(),
        });
        let response = ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() };
        self.respond(ask, &response);
    }
}

impl ListOffsets {
    pub(crate) fn take<F>(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        match answer {
            PartitionAnswer::OffsetListed(listed) => self.results.put(part, Ok(listed)),
            PartitionAnswer::Failed(error) => {
                let code = code_in(self.ask.version, partition_code(&error));
                self.results.put(part, Err(code));
            }
            PartitionAnswer::Produced(_)
            | PartitionAnswer::Fetched(_)
            | PartitionAnswer::EpochEnd { .. }
            | PartitionAnswer::RecordsDeleted { .. }
            | PartitionAnswer::Sized(_)
            | PartitionAnswer::Group(_) => {}
        }
        self.results.is_complete()
    }
}

/// How often each partition is named: one that is named twice is refused.
fn count_named<'a>(request: &'a ListOffsetsRequest<'_>) -> BTreeMap<(&'a str, i32), usize> {
    let mut named = BTreeMap::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            *named.entry((&*topic.name, asked.partition_index)).or_default() += 1;
        }
    }
    named
}

/// Clients of versions before 5 do not know that an offset may not be available yet, and would give up; this they retry.
const fn code_in(version: i16, code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::OffsetNotAvailable if version < 5 => ErrorCode::LeaderNotAvailable,
        code => code,
    }
}

const fn wanted(timestamp: i64) -> Option<WantedOffset> {
    match timestamp {
        -1 => Some(WantedOffset::Latest),
        -2 => Some(WantedOffset::Earliest),
        -3 => Some(WantedOffset::MaxTimestamp),
        -4 => Some(WantedOffset::EarliestLocal),
        -5 => Some(WantedOffset::LatestTiered),
        -6 => Some(WantedOffset::EarliestPendingUpload),
        0.. => Some(WantedOffset::At(Timestamp(timestamp))),
        _ => None,
    }
}

fn partition_response(
    partition_index: i32,
    result: Result<ListedOffset, ErrorCode>,
) -> ListOffsetsPartitionResponse {
    match result {
        Ok(listed) => ListOffsetsPartitionResponse {
            partition_index,
            error_code: if listed.damaged { ErrorCode::KafkaStorageError } else { ErrorCode::None },
            timestamp: listed.timestamp.0,
            offset: listed.offset.0,
            leader_epoch: listed.leader_epoch.0,
        },
        Err(error_code) => ListOffsetsPartitionResponse {
            partition_index,
            error_code,
            timestamp: -1,
            offset: -1,
            leader_epoch: -1,
        },
    }
}
