//! DeleteRecords: raises the log start of partitions, and answers once it cannot go back any more (ADR 0015).

use std::borrow::Cow;
use std::time::Duration;

use kafka_wire::ErrorCode;
use kafka_wire::messages::delete_records::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopicResult,
};
use log_core::Offset;
use log_store::Disk;

use super::topics::{self, Found};
use crate::error::partition_code;
use crate::peer::{CallId, PartitionAnswer, PartitionCall};
use crate::shard::{Ask, Gather, Pending, Shard};

/// A DeleteRecords request that waits for its partitions.
#[derive(Debug)]
pub(crate) struct DeleteRecords {
    ask: Ask,
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<Result<Offset, ErrorCode>>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_delete_records(&mut self, ask: Ask, request: &DeleteRecordsRequest<'_>) {
        let id = self.next_pending();
        let parts = request.topics.iter().map(|topic| topic.partitions.len()).sum();
        let mut delete = DeleteRecords { ask, topics: Vec::new(), results: Gather::new(parts) };
        let timeout = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
        let until = self.core.now.mono.after(timeout.min(self.core.config.limits.admin_timeout_max));
        let mut part = 0_u32;
        for topic in &request.topics {
            for asked in &topic.partitions {
                match self.find_deletable(&topic.name, asked.partition_index, asked.offset) {
                    Ok(partition) => {
                        let call = PartitionCall::DeleteRecords { to: Offset(asked.offset), until };
                        self.call(CallId { pending: id, part }, partition, call);
                    }
                    Err(code) => delete.results.put(part, Err(code)),
                }
                part += 1;
            }
            let numbers = topic.partitions.iter().map(|asked| asked.partition_index).collect();
            delete.topics.push((topic.name.clone().into_owned(), numbers));
        }
        if delete.results.is_complete() {
            self.finish_delete_records(delete);
        } else {
            self.wait(id, Pending::DeleteRecords(delete), Some(until));
        }
    }

    fn find_deletable(&self, name: &str, partition: i32, offset: i64) -> Found {
        let topic = topics::by_name(&self.core.image, name)?;
        if topic.is_internal() {
            return Err(ErrorCode::InvalidTopicException);
        }
        if offset < -1 {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        topics::partition_of(topic, partition)
    }

    pub(crate) fn finish_delete_records(&mut self, delete: DeleteRecords) {
        let DeleteRecords { ask, topics, results } = delete;
        let mut results = results.into_parts(|| Err(ErrorCode::RequestTimedOut)).into_iter();
        let topics = topics.iter().map(|(name, numbers)| DeleteRecordsTopicResult {
            name: Cow::Borrowed(name),
            partitions: numbers
                .iter()
                .zip(&mut results)
                .map(|(number, result)| DeleteRecordsPartitionResult {
                    partition_index: *number,
                    low_watermark: result.map_or(-1, |offset| offset.0),
                    error_code: result.err().unwrap_or_default(),
                })
                .collect(),
        });
        let response = DeleteRecordsResponse { topics: topics.collect(), throttle_time_ms: 0 };
        self.respond(ask, &response);
    }
}

impl DeleteRecords {
    pub(crate) fn take<F>(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        match answer {
            PartitionAnswer::RecordsDeleted { low_watermark } => self.results.put(part, Ok(low_watermark)),
            PartitionAnswer::Failed(error) => self.results.put(part, Err(partition_code(&error))),
            PartitionAnswer::Produced(_)
            | PartitionAnswer::Fetched(_)
            | PartitionAnswer::OffsetListed(_)
            | PartitionAnswer::EpochEnd { .. }
            | PartitionAnswer::Sized(_)
            | PartitionAnswer::Group(_) => {}
        }
        self.results.is_complete()
    }
}
