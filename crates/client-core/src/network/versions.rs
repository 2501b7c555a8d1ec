//! The first exchange on a connection: which versions of which APIs the broker speaks.

use bytes::Bytes;
use kafka_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_wire::{ApiKey, DecodeError, ErrorCode, decode_response};
use log_core::Now;

use super::Stage;
use crate::action::ConnectionId;
use crate::core::Core;
use crate::error::Damage;
use crate::purpose::Purpose;

/// What we tell brokers that we are; they accept letters, digits, '-' and '.'.
const SOFTWARE_NAME: &str = "highwater";

impl Core {
    pub(super) fn ask_versions(&mut self, now: Now, connection: ConnectionId, version: i16) {
        let request = ApiVersionsRequest {
            client_software_name: SOFTWARE_NAME.into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
        };
        let patience = self.options.connect_timeout;
        self.send(now, connection, version, &request, Purpose::Versions, patience);
    }

    pub(super) fn on_versions(
        &mut self,
        now: Now,
        connection: ConnectionId,
        asked: i16,
        frame: &Bytes,
    ) -> Result<(), Damage> {
        let answer = match decode_response::<ApiVersionsResponse<'_>>(frame, asked) {
            Ok((_, answer)) if answer.error_code != ErrorCode::UnsupportedVersion => answer,
            // A broker that does not know the version answers in the layout of version 0, with the versions it knows
            // (KIP-511).
            first => {
                let second = decode_response::<ApiVersionsResponse<'_>>(frame, 0).map(|(_, answer)| answer);
                return match second {
                    Ok(answer) if answer.error_code == ErrorCode::UnsupportedVersion && asked > 0 => {
                        let known =
                            answer.api_keys.iter().find(|api| api.api_key == ApiKey::ApiVersions.number());
                        let next = known.map_or(0, |api| api.max_version.clamp(0, asked - 1));
                        self.ask_versions(now, connection, next);
                        Ok(())
                    }
                    _ => Err(Damage::Answer(first.err().unwrap_or(DecodeError::UnsupportedVersion {
                        key: ApiKey::ApiVersions,
                        version: asked,
                        correlation_id: 0,
                    }))),
                };
            }
        };
        // Without metadata nothing can be asked of the broker, and the connection would be kept for nothing.
        let metadata = answer.api_keys.iter().find(|api| api.api_key == ApiKey::Metadata.number());
        if !answer.error_code.is_ok()
            || metadata.and_then(|api| ApiKey::Metadata.common_version(api)).is_none()
        {
            return Err(Damage::Rule("the broker names no version of Metadata that this client speaks"));
        }
        let found =
            self.network.connections.get_mut(&connection).ok_or(Damage::Rule("no such connection"))?;
        found.versions = answer.api_keys.into_iter().map(|api| (api.api_key, api)).collect();
        found.stage = Stage::Ready;
        let target = found.target;
        self.network.troubles.remove(&target);
        self.network.wanted.remove(&target);
        self.metrics.connections += 1;
        Ok(())
    }
}
