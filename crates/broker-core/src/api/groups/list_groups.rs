//! ListGroups: the groups that this broker coordinates.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};
use log_store::Disk;

use super::{GroupsKind, GroupsRequest};
use crate::api::topics::OFFSETS_TOPIC;
use crate::peer::{GroupAnswer, GroupCall};
use crate::shard::{Ask, Gather, Shard};

/// The type of every group served so far.
const CLASSIC: &str = "classic";

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_list_groups(&mut self, ask: Ask, request: &ListGroupsRequest<'_>) {
        let owned = |names: &[Cow<'_, str>]| names.iter().map(|name| name.to_lowercase()).collect();
        let kind =
            GroupsKind::List { states: owned(&request.states_filter), types: owned(&request.types_filter) };
        let own = self.core.broker();
        let topic = self.core.image.topic_by_name(OFFSETS_TOPIC);
        let led = topic
            .into_iter()
            .flat_map(|topic| topic.partitions())
            .filter(|(_, state)| state.leader == Some(own));
        let calls: Vec<_> = led.map(|(partition, _)| (Ok(partition), GroupCall::List)).collect();
        if calls.is_empty() {
            return self.finish_groups(GroupsRequest { ask, kind, answers: Gather::new(0) });
        }
        self.start_groups(ask, kind, calls);
    }

    pub(super) fn finish_list_groups(
        &mut self,
        ask: Ask,
        states: &[String],
        types: &[String],
        answers: Vec<Result<GroupAnswer, ErrorCode>>,
    ) {
        let mut error_code = ErrorCode::None;
        let mut groups = Vec::new();
        for answer in answers {
            match answer {
                Ok(GroupAnswer::Listed(listed)) => groups.extend(listed),
                Ok(_) => error_code = ErrorCode::UnknownServerError,
                Err(code) => error_code = code,
            }
        }
        let wanted = |wanted: &[String], name: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| *wanted == name.to_lowercase())
        };
        groups.retain(|group| wanted(states, group.state) && wanted(types, CLASSIC));
        let groups = groups.into_iter().map(|group| ListedGroup {
            group_id: Cow::Owned(group.group),
            protocol_type: Cow::Owned(group.protocol_type),
            group_state: Cow::Borrowed(group.state),
            group_type: Cow::Borrowed(CLASSIC),
        });
        let groups = groups.collect();
        self.respond(ask, &ListGroupsResponse { throttle_time_ms: 0, error_code, groups });
    }
}
