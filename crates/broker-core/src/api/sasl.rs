//! SaslHandshake and SaslAuthenticate: there is no user database, and a client that wants one is told so.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use kafka_wire::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use log_store::Disk;

use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_sasl_handshake(&mut self, ask: Ask, _request: &SaslHandshakeRequest<'_>) {
        let error_code = ErrorCode::UnsupportedSaslMechanism;
        self.respond(ask, &SaslHandshakeResponse { error_code, mechanisms: Vec::new() });
    }

    pub(crate) fn handle_sasl_authenticate(&mut self, ask: Ask, _request: &SaslAuthenticateRequest<'_>) {
        let message =
            "this cluster has no SASL users: connect without SASL (security.protocol PLAINTEXT or SSL)";
        let response = SaslAuthenticateResponse {
            error_code: ErrorCode::IllegalSaslState,
            error_message: Some(Cow::Borrowed(message)),
            ..SaslAuthenticateResponse::default()
        };
        self.respond(ask, &response);
    }
}
