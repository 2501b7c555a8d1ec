//! LeaveGroup: members leave at once instead of falling silent.

use std::borrow::Cow;

use coordinator_core::command::{Leave, LeavingMember, Reply};
use kafka_wire::ErrorCode;
use kafka_wire::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberResponse};
use log_store::Disk;

use super::{GroupKind, WRITE_WAIT};
use crate::error::group_code;
use crate::peer::GroupCall;
use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_leave_group(&mut self, ask: Ask, request: &LeaveGroupRequest<'_>) {
        let members: Vec<(String, Option<String>)> = match ask.version {
            3.. => request
                .members
                .iter()
                .map(|member| {
                    let instance = member.group_instance_id.clone().map(Cow::into_owned);
                    (member.member_id.clone().into_owned(), instance)
                })
                .collect(),
            _ => vec![(request.member_id.clone().into_owned(), None)],
        };
        let leaving = members.iter().cloned();
        let leave = Leave {
            group: request.group_id.clone().into_owned(),
            members: leaving
                .map(|(member_id, instance_id)| LeavingMember { member_id, instance_id })
                .collect(),
        };
        let kind = GroupKind::Leave { members };
        self.start_group(ask, kind, &request.group_id, GroupCall::Leave(leave), Some(WRITE_WAIT));
    }

    pub(super) fn finish_leave(
        &mut self,
        ask: Ask,
        members: &[(String, Option<String>)],
        reply: Result<Reply, ErrorCode>,
    ) {
        let (error_code, results) = match reply {
            Ok(Reply::Left(results)) => (ErrorCode::None, results),
            Ok(_) => (ErrorCode::UnknownServerError, Vec::new()),
            Err(code) => (code, Vec::new()),
        };
        let codes = results.into_iter().map(|result| result.err().map_or(ErrorCode::None, group_code));
        let mut codes = codes.collect::<Vec<_>>();
        // Before version 3 there is one member, whose error is the answer's.
        if ask.version < 3 {
            let code = codes.pop().unwrap_or(error_code);
            return self
                .respond(ask, &LeaveGroupResponse { error_code: code, ..LeaveGroupResponse::default() });
        }
        let members = members.iter().zip(codes).map(|((member_id, instance), error_code)| MemberResponse {
            member_id: Cow::Borrowed(&**member_id),
            group_instance_id: instance.as_deref().map(Cow::Borrowed),
            error_code,
        });
        let members = members.collect();
        self.respond(ask, &LeaveGroupResponse { throttle_time_ms: 0, error_code, members });
    }
}
