//! Heartbeat: a member lives, and learns whether to join again.

use std::borrow::Cow;

use coordinator_core::command::Speaker;
use kafka_wire::ErrorCode;
use kafka_wire::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use log_store::Disk;

use super::{GroupKind, WRITE_WAIT};
use crate::error::group_code;
use crate::peer::{GroupAnswer, GroupCall};
use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_heartbeat(&mut self, ask: Ask, request: &HeartbeatRequest<'_>) {
        let speaker = Speaker {
            group: request.group_id.clone().into_owned(),
            generation: request.generation_id,
            member_id: request.member_id.clone().into_owned(),
            instance_id: request.group_instance_id.clone().map(Cow::into_owned),
        };
        let call = GroupCall::Heartbeat(speaker);
        self.start_group(ask, GroupKind::Heartbeat, &request.group_id, call, Some(WRITE_WAIT));
    }

    pub(super) fn finish_heartbeat(&mut self, ask: Ask, answer: Result<GroupAnswer, ErrorCode>) {
        let error_code = match answer {
            Ok(GroupAnswer::Heartbeat(result)) => result.err().map_or(ErrorCode::None, group_code),
            Ok(_) => ErrorCode::UnknownServerError,
            Err(code) => code,
        };
        self.respond(ask, &HeartbeatResponse { throttle_time_ms: 0, error_code });
    }
}
