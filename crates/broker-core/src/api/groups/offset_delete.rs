//! OffsetDelete: positions that a group shall not keep; answered once that is committed.

use std::borrow::Cow;

use coordinator_core::command::Reply;
use kafka_wire::ErrorCode;
use kafka_wire::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use log_store::Disk;

use super::{GroupKind, WRITE_WAIT};
use crate::api::topics;
use crate::error::group_code;
use crate::peer::GroupCall;
use crate::shard::{Ask, Shard};

/// What is to be deleted, in the order of the request; partitions that do not exist carry their error.
#[derive(Debug)]
pub(super) struct Deletions {
    topics: Vec<DeletionTopic>,
}

#[derive(Debug)]
struct DeletionTopic {
    name: String,
    partitions: Vec<(i32, Option<ErrorCode>)>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_offset_delete(&mut self, ask: Ask, request: &OffsetDeleteRequest<'_>) {
        let (mut named, mut found) = (Vec::new(), Vec::new());
        for asked in &request.topics {
            let topic = topics::by_name(&self.core.image, &asked.name);
            let partitions = asked.partitions.iter().map(|partition| {
                let number = partition.partition_index;
                let there = topic.and_then(|topic| topics::partition_of(topic, number));
                if there.is_ok() {
                    found.push((asked.name.clone().into_owned(), number));
                }
                (number, there.err())
            });
            let partitions = partitions.collect();
            named.push(DeletionTopic { name: asked.name.clone().into_owned(), partitions });
        }
        let call =
            GroupCall::DeleteOffsets { group: request.group_id.clone().into_owned(), partitions: found };
        let kind = GroupKind::DeleteOffsets(Deletions { topics: named });
        self.start_group(ask, kind, &request.group_id, call, Some(WRITE_WAIT));
    }

    pub(super) fn finish_offset_delete(
        &mut self,
        ask: Ask,
        deletions: &Deletions,
        reply: Result<Reply, ErrorCode>,
    ) {
        let results = match reply {
            Ok(Reply::OffsetsDeleted(results)) => results.map_err(group_code),
            Ok(_) => Err(ErrorCode::UnknownServerError),
            Err(code) => Err(code),
        };
        let response = match results {
            Ok(results) => deletions.response(results.into_iter().map(|result| result.err().map(group_code))),
            Err(error_code) => OffsetDeleteResponse { error_code, ..OffsetDeleteResponse::default() },
        };
        self.respond(ask, &response);
    }
}

impl Deletions {
    /// `codes`: what became of those that exist, in their order.
    fn response(&self, mut codes: impl Iterator<Item = Option<ErrorCode>>) -> OffsetDeleteResponse<'_> {
        let topics = self.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|(partition_index, missing)| {
                let became = || codes.next().unwrap_or(Some(ErrorCode::UnknownServerError));
                let error_code = missing.or_else(became).unwrap_or_default();
                OffsetDeleteResponsePartition { partition_index: *partition_index, error_code }
            });
            OffsetDeleteResponseTopic { name: Cow::Borrowed(&*topic.name), partitions: partitions.collect() }
        });
        OffsetDeleteResponse { topics: topics.collect(), ..OffsetDeleteResponse::default() }
    }
}
