//! DeleteGroups: groups without members, with all they committed.

use std::borrow::Cow;

use coordinator_core::command::Reply;
use kafka_wire::ErrorCode;
use kafka_wire::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
use log_store::Disk;

use super::{GroupsKind, GroupsRequest, reply};
use crate::error::group_code;
use crate::peer::{GroupAnswer, GroupCall};
use crate::shard::{Ask, Gather, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_delete_groups(&mut self, ask: Ask, request: &DeleteGroupsRequest<'_>) {
        let groups: Vec<String> =
            request.groups_names.iter().map(|group| group.clone().into_owned()).collect();
        let calls: Vec<_> = groups
            .iter()
            .map(|group| (self.coordinating(group), GroupCall::Delete { groups: vec![group.clone()] }))
            .collect();
        let kind = GroupsKind::Delete { groups };
        if calls.is_empty() {
            return self.finish_groups(GroupsRequest { ask, kind, answers: Gather::new(0) });
        }
        self.start_groups(ask, kind, calls);
    }

    pub(super) fn finish_delete_groups(
        &mut self,
        ask: Ask,
        groups: &[String],
        answers: Vec<Result<GroupAnswer, ErrorCode>>,
    ) {
        let results = groups.iter().zip(answers).map(|(group, answer)| DeletableGroupResult {
            group_id: Cow::Borrowed(&**group),
            error_code: match reply(answer) {
                Ok(Reply::GroupsDeleted(results)) => {
                    results.into_iter().find_map(Result::err).map_or(ErrorCode::None, group_code)
                }
                Ok(_) => ErrorCode::UnknownServerError,
                Err(code) => code,
            },
        });
        let results = results.collect();
        self.respond(ask, &DeleteGroupsResponse { throttle_time_ms: 0, results });
    }
}
