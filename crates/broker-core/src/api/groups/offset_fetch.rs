//! OffsetFetch: the positions that groups committed. Versions up to 7 ask for one group, later ones for several.

use std::borrow::Cow;
use std::collections::BTreeMap;

use coordinator_core::records::CommittedOffset;
use kafka_wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use kafka_wire::{ErrorCode, Uuid};
use log_store::Disk;

use super::{GroupsKind, GroupsRequest};
use crate::api::topics;
use crate::peer::{GroupAnswer, GroupCall};
use crate::shard::{Ask, Gather, Shard};

/// The groups asked for.
#[derive(Debug)]
pub(super) struct FetchedOffsets {
    groups: Vec<AskedGroup>,
}

#[derive(Debug)]
struct AskedGroup {
    group: String,
    /// The topics asked for; all if none.
    topics: Option<Vec<AskedTopic>>,
}

#[derive(Debug)]
struct AskedTopic {
    name: Result<String, ErrorCode>,
    id: Uuid,
    partitions: Vec<i32>,
}

type Found = BTreeMap<String, BTreeMap<i32, CommittedOffset>>;

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_offset_fetch(&mut self, ask: Ask, request: &OffsetFetchRequest<'_>) {
        let groups = self.asked_groups(ask, request);
        let calls = groups.iter().map(|asked| {
            let partitions = asked.topics.as_ref().map(|topics| {
                let named =
                    topics.iter().filter_map(|topic| Some((topic.name.as_ref().ok()?, &topic.partitions)));
                named.flat_map(|(name, numbers)| numbers.iter().map(|n| (name.clone(), *n))).collect()
            });
            let call = GroupCall::FetchOffsets { group: asked.group.clone(), partitions };
            (self.coordinating(&asked.group), call)
        });
        let calls: Vec<_> = calls.collect();
        let kind = GroupsKind::FetchOffsets(FetchedOffsets { groups });
        if calls.is_empty() {
            return self.finish_groups(GroupsRequest { ask, kind, answers: Gather::new(0) });
        }
        self.start_groups(ask, kind, calls);
    }

    fn asked_groups(&self, ask: Ask, request: &OffsetFetchRequest<'_>) -> Vec<AskedGroup> {
        if ask.version < 8 {
            let topics = request.topics.as_ref().map(|topics| {
                let asked = topics.iter().map(|topic| AskedTopic {
                    name: Ok(topic.name.clone().into_owned()),
                    id: Uuid::NONE,
                    partitions: topic.partition_indexes.clone(),
                });
                asked.collect()
            });
            return vec![AskedGroup { group: request.group_id.clone().into_owned(), topics }];
        }
        let groups = request.groups.iter().map(|group| AskedGroup {
            group: group.group_id.clone().into_owned(),
            topics: group.topics.as_ref().map(|topics| {
                let asked = topics.iter().map(|topic| AskedTopic {
                    name: self.asked_name(ask, topic.topic_id, &topic.name),
                    id: topic.topic_id,
                    partitions: topic.partition_indexes.clone(),
                });
                asked.collect()
            }),
        });
        groups.collect()
    }

    fn asked_name(&self, ask: Ask, id: Uuid, name: &str) -> Result<String, ErrorCode> {
        if ask.version >= 10 {
            topics::by_id(&self.core.image, id).map(|topic| topic.name.to_string())
        } else {
            Ok(name.to_owned())
        }
    }

    pub(super) fn finish_offset_fetch(
        &mut self,
        ask: Ask,
        fetched: &FetchedOffsets,
        answers: Vec<Result<GroupAnswer, ErrorCode>>,
    ) {
        let mut groups = fetched.groups.iter().zip(answers).map(|(asked, answer)| match answer {
            Ok(GroupAnswer::Offsets(offsets)) => self.group_response(ask, asked, &by_topic(offsets), None),
            Ok(_) => self.group_response(ask, asked, &Found::new(), Some(ErrorCode::UnknownServerError)),
            Err(code) => self.group_response(ask, asked, &Found::new(), Some(code)),
        });
        let response = match ask.version {
            8.. => OffsetFetchResponse { groups: groups.collect(), ..OffsetFetchResponse::default() },
            _ => groups.next().map(single).unwrap_or_default(),
        };
        self.respond(ask, &response);
    }

    fn group_response(
        &self,
        ask: Ask,
        asked: &AskedGroup,
        found: &Found,
        error: Option<ErrorCode>,
    ) -> OffsetFetchResponseGroup<'static> {
        let topics = match &asked.topics {
            Some(topics) => topics.iter().map(|topic| topic_response(ask, topic, found, error)).collect(),
            None => found.iter().map(|(name, offsets)| self.whole_topic(name, offsets)).collect(),
        };
        OffsetFetchResponseGroup {
            group_id: Cow::Owned(asked.group.clone()),
            topics,
            error_code: error.unwrap_or_default(),
        }
    }

    fn whole_topic(
        &self,
        name: &str,
        offsets: &BTreeMap<i32, CommittedOffset>,
    ) -> OffsetFetchResponseTopics<'static> {
        let id = self.core.image.topic_by_name(name).map_or(Uuid::NONE, |topic| topics::uuid(topic.id));
        let partitions = offsets.iter().map(|(number, committed)| partition(*number, Ok(Some(committed))));
        OffsetFetchResponseTopics {
            name: Cow::Owned(name.to_owned()),
            topic_id: id,
            partitions: partitions.collect(),
        }
    }
}

fn by_topic(offsets: Vec<(String, i32, Option<CommittedOffset>)>) -> Found {
    let mut found = Found::new();
    for (topic, partition, committed) in offsets {
        if let Some(committed) = committed {
            found.entry(topic).or_default().insert(partition, committed);
        }
    }
    found
}

fn topic_response(
    ask: Ask,
    topic: &AskedTopic,
    found: &Found,
    error: Option<ErrorCode>,
) -> OffsetFetchResponseTopics<'static> {
    // Version 1 has no place for an error of the whole: it stands in each partition.
    let whole = error.filter(|_| ask.version < 2);
    let offsets = topic.name.as_ref().ok().and_then(|name| found.get(name));
    let partitions = topic.partitions.iter().map(|number| {
        let committed = offsets.and_then(|offsets| offsets.get(number));
        let refused = whole.or(topic.name.as_ref().err().copied());
        partition(*number, refused.map_or(Ok(committed), Err))
    });
    OffsetFetchResponseTopics {
        name: Cow::Owned(topic.name.clone().unwrap_or_default()),
        topic_id: topic.id,
        partitions: partitions.collect(),
    }
}

fn partition(
    partition_index: i32,
    committed: Result<Option<&CommittedOffset>, ErrorCode>,
) -> OffsetFetchResponsePartitions<'static> {
    let error_code = committed.err().unwrap_or_default();
    let committed = committed.ok().flatten();
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: committed.map_or(-1, |committed| committed.offset),
        committed_leader_epoch: committed.map_or(-1, |committed| committed.leader_epoch),
        metadata: Some(Cow::Owned(committed.map(|committed| committed.metadata.clone()).unwrap_or_default())),
        error_code,
    }
}

/// The answer in the form for one group.
fn single(group: OffsetFetchResponseGroup<'static>) -> OffsetFetchResponse<'static> {
    let topics = group.topics.into_iter().map(|topic| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic
            .partitions
            .into_iter()
            .map(|partition| OffsetFetchResponsePartition {
                partition_index: partition.partition_index,
                committed_offset: partition.committed_offset,
                committed_leader_epoch: partition.committed_leader_epoch,
                metadata: partition.metadata,
                error_code: partition.error_code,
            })
            .collect(),
    });
    OffsetFetchResponse {
        topics: topics.collect(),
        error_code: group.error_code,
        ..OffsetFetchResponse::default()
    }
}
