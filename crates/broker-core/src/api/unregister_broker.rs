//! UnregisterBroker: removes a broker that will not come back.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
use log_core::BrokerId;
use log_store::Disk;

use super::admin::{AdminKind, AdminResult};
use crate::message::AdminCommand;
use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_unregister_broker(&mut self, ask: Ask, request: &UnregisterBrokerRequest) {
        let command = AdminCommand::UnregisterBroker { broker: BrokerId(request.broker_id) };
        self.start_admin(ask, AdminKind::UnregisterBroker, i32::MAX, vec![Ok(command)]);
    }

    pub(crate) fn finish_unregister_broker(&mut self, ask: Ask, results: Vec<AdminResult>) {
        let failure = results.into_iter().find_map(Result::err);
        let response = UnregisterBrokerResponse {
            throttle_time_ms: 0,
            error_code: failure.as_ref().map_or(ErrorCode::None, |failure| failure.code),
            error_message: failure.map(|failure| Cow::Owned(failure.message)),
        };
        self.respond(ask, &response);
    }
}
