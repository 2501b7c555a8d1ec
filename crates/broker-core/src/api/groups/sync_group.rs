//! SyncGroup: a member gets its assignment; the leader brings all of them.

use std::borrow::Cow;

use bytes::Bytes;
use coordinator_core::command::{Reply, Speaker, Sync};
use kafka_wire::ErrorCode;
use kafka_wire::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use log_store::Disk;

use super::GroupKind;
use crate::error::group_code;
use crate::peer::GroupCall;
use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_sync_group(&mut self, ask: Ask, request: &SyncGroupRequest<'_>) {
        let assignments = request.assignments.iter().map(|assigned| {
            (assigned.member_id.clone().into_owned(), Bytes::copy_from_slice(&assigned.assignment))
        });
        let sync = Sync {
            speaker: Speaker {
                group: request.group_id.clone().into_owned(),
                generation: request.generation_id,
                member_id: request.member_id.clone().into_owned(),
                instance_id: request.group_instance_id.clone().map(Cow::into_owned),
            },
            protocol_type: request.protocol_type.clone().map(Cow::into_owned),
            protocol: request.protocol_name.clone().map(Cow::into_owned),
            assignments: assignments.collect(),
        };
        self.start_group(ask, GroupKind::Sync, &request.group_id, GroupCall::Sync(sync), None);
    }

    pub(super) fn finish_sync(&mut self, ask: Ask, reply: Result<Reply, ErrorCode>) {
        let response = match reply {
            Ok(Reply::Synced(Ok(synced))) => SyncGroupResponse {
                throttle_time_ms: 0,
                error_code: ErrorCode::None,
                protocol_type: Some(Cow::Owned(synced.protocol_type)),
                protocol_name: Some(Cow::Owned(synced.protocol)),
                assignment: Cow::Owned(synced.assignment.into()),
            },
            Ok(Reply::Synced(Err(error))) => refused(group_code(error)),
            Ok(_) => refused(ErrorCode::UnknownServerError),
            Err(code) => refused(code),
        };
        self.respond(ask, &response);
    }
}

fn refused(error_code: ErrorCode) -> SyncGroupResponse<'static> {
    SyncGroupResponse { error_code, ..SyncGroupResponse::default() }
}
