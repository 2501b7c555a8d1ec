//! JoinGroup: a member enters its group; answered when the rebalance that this begins has ended.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use coordinator_core::command::{Join, JoinRefused, Joined, Reply};
use kafka_wire::ErrorCode;
use kafka_wire::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use log_store::Disk;

use super::GroupKind;
use crate::error::group_code;
use crate::peer::GroupCall;
use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_join_group(&mut self, ask: Ask, client_id: &str, request: &JoinGroupRequest<'_>) {
        let millis = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let session_timeout = millis(request.session_timeout_ms);
        // Version 0 has no rebalance timeout: the session timeout stands for it.
        let rebalance_timeout =
            if ask.version == 0 { session_timeout } else { millis(request.rebalance_timeout_ms) };
        let protocols = request
            .protocols
            .iter()
            .map(|protocol| (protocol.name.clone().into_owned(), Bytes::copy_from_slice(&protocol.metadata)));
        let join = Join {
            group: request.group_id.clone().into_owned(),
            member_id: request.member_id.clone().into_owned(),
            instance_id: request.group_instance_id.clone().map(Cow::into_owned),
            client_id: client_id.to_owned(),
            client_host: self.client_host(ask),
            session_timeout,
            rebalance_timeout,
            protocol_type: request.protocol_type.clone().into_owned(),
            protocols: protocols.collect(),
            member_id_required: ask.version >= 4,
            can_skip_assignment: ask.version >= 9,
        };
        let kind = GroupKind::Join { member_id: join.member_id.clone() };
        self.start_group(ask, kind, &request.group_id, GroupCall::Join(join), None);
    }

    /// Where a client connects from, written as Kafka writes it.
    fn client_host(&self, ask: Ask) -> String {
        let peer = self.door(ask).peer;
        peer.map_or_else(|| "/memory".to_owned(), |peer| format!("/{}", peer.ip().to_canonical()))
    }

    pub(super) fn finish_join(&mut self, ask: Ask, member_id: &str, reply: Result<Reply, ErrorCode>) {
        let response = match reply {
            Ok(Reply::Joined(Ok(joined))) => joined_response(ask, joined),
            Ok(Reply::Joined(Err(JoinRefused { error, member_id }))) => {
                refused(ask, group_code(error), member_id)
            }
            Ok(_) => refused(ask, ErrorCode::UnknownServerError, member_id.to_owned()),
            Err(code) => refused(ask, code, member_id.to_owned()),
        };
        self.respond(ask, &response);
    }
}

fn joined_response(_ask: Ask, joined: Joined) -> JoinGroupResponse<'static> {
    let members = joined.members.into_iter().map(|member| JoinGroupResponseMember {
        member_id: Cow::Owned(member.member_id),
        group_instance_id: member.instance_id.map(Cow::Owned),
        metadata: Cow::Owned(member.subscription.into()),
    });
    JoinGroupResponse {
        throttle_time_ms: 0,
        error_code: ErrorCode::None,
        generation_id: joined.generation,
        protocol_type: Some(Cow::Owned(joined.protocol_type)),
        protocol_name: Some(Cow::Owned(joined.protocol)),
        leader: Cow::Owned(joined.leader),
        skip_assignment: joined.skip_assignment,
        member_id: Cow::Owned(joined.member_id),
        members: members.collect(),
    }
}

fn refused(ask: Ask, error_code: ErrorCode, member_id: String) -> JoinGroupResponse<'static> {
    JoinGroupResponse {
        error_code,
        generation_id: -1,
        // Null only where the version allows it.
        protocol_name: (ask.version < 7).then_some(Cow::Borrowed("")),
        member_id: Cow::Owned(member_id),
        ..JoinGroupResponse::default()
    }
}
