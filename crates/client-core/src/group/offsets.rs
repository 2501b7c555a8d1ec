//! Coordinators and committed offsets: requests and answers in the shapes of all their versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse,
};
use kafka_wire::{DecodeError, ErrorCode, decode_response};

use crate::admin::CommittedOffset;

/// Later versions name topics by id.
pub(crate) const OFFSET_FETCH_VERSION_MAX: i16 = 9;

/// The first version that asks for several groups at once.
const GROUPS_SINCE: i16 = 8;

pub(crate) fn find_coordinator(group: &str) -> FindCoordinatorRequest<'static> {
    let key = group.to_owned();
    FindCoordinatorRequest { key: key.clone().into(), key_type: 0, coordinator_keys: vec![key.into()] }
}

/// The coordinator's broker id, or why there is none.
pub(crate) fn coordinator_of(version: i16, frame: &Bytes) -> Result<Result<i32, ErrorCode>, DecodeError> {
    let (_, answer) = decode_response::<FindCoordinatorResponse<'_>>(frame, version)?;
    let (code, node) = match answer.coordinators.first() {
        Some(found) => (found.error_code, found.node_id),
        None => (answer.error_code, answer.node_id),
    };
    Ok(if code.is_ok() { Ok(node) } else { Err(code) })
}

/// Asks for these partitions, or for all that the group has committed.
pub(crate) fn fetch_offsets(
    group: &str,
    topics: Option<&BTreeMap<Arc<str>, Vec<i32>>>,
) -> OffsetFetchRequest<'static> {
    let old = topics.map(|topics| {
        let one = |(name, indexes): (&Arc<str>, &Vec<i32>)| OffsetFetchRequestTopic {
            name: name.to_string().into(),
            partition_indexes: indexes.clone(),
        };
        topics.iter().map(one).collect()
    });
    let new = topics.map(|topics| {
        let one = |(name, indexes): (&Arc<str>, &Vec<i32>)| OffsetFetchRequestTopics {
            name: name.to_string().into(),
            partition_indexes: indexes.clone(),
            ..OffsetFetchRequestTopics::default()
        };
        topics.iter().map(one).collect()
    });
    let asked = OffsetFetchRequestGroup {
        group_id: group.to_owned().into(),
        topics: new,
        member_id: None,
        member_epoch: -1,
    };
    OffsetFetchRequest {
        group_id: group.to_owned().into(),
        topics: old,
        groups: vec![asked],
        require_stable: true,
    }
}

/// What is committed; partitions without a commit are left out. Or the first error of the group or a partition.
pub(crate) fn committed(
    version: i16,
    frame: &Bytes,
) -> Result<Result<Vec<CommittedOffset>, ErrorCode>, DecodeError> {
    let (_, answer) = decode_response::<OffsetFetchResponse<'_>>(frame, version)?;
    let mut all: Vec<(ErrorCode, CommittedOffset)> = Vec::new();
    let mut code = answer.error_code;
    if version >= GROUPS_SINCE {
        for group in answer.groups {
            code = group.error_code;
            for topic in group.topics {
                let name: Arc<str> = (*topic.name).into();
                let one = |found: &kafka_wire::messages::offset_fetch::OffsetFetchResponsePartitions<'_>| {
                    let (index, offset) = (found.partition_index, found.committed_offset);
                    (found.error_code, offset_of(&name, index, offset, found.committed_leader_epoch))
                };
                all.extend(topic.partitions.iter().map(one));
            }
        }
    } else {
        for topic in answer.topics {
            let name: Arc<str> = (*topic.name).into();
            let one = |found: &kafka_wire::messages::offset_fetch::OffsetFetchResponsePartition<'_>| {
                let (index, offset) = (found.partition_index, found.committed_offset);
                (found.error_code, offset_of(&name, index, offset, found.committed_leader_epoch))
            };
            all.extend(topic.partitions.iter().map(one));
        }
    }
    let first = std::iter::once(code).chain(all.iter().map(|(code, _)| *code)).find(|code| !code.is_ok());
    let offsets = all.into_iter().map(|(_, offset)| offset).filter(|offset| offset.offset >= 0).collect();
    Ok(first.map_or(Ok(offsets), Err))
}

fn offset_of(topic: &Arc<str>, index: i32, offset: i64, leader_epoch: i32) -> CommittedOffset {
    // A partition that cannot be is one that nobody reads.
    let partition = u32::try_from(index).unwrap_or(u32::MAX);
    CommittedOffset { topic: Arc::clone(topic), partition, offset, leader_epoch }
}
