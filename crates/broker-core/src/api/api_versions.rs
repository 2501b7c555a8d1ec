//! ApiVersions: which APIs and versions are served.

use kafka_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_wire::{ErrorCode, api_version_ranges};
use log_store::Disk;

use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_api_versions(&mut self, ask: Ask, request: &ApiVersionsRequest<'_>) {
        let named = ask.version < 3
            || (is_software_name(&request.client_software_name)
                && is_software_name(&request.client_software_version));
        let response = ApiVersionsResponse {
            error_code: if named { ErrorCode::None } else { ErrorCode::InvalidRequest },
            api_keys: if named { api_version_ranges(|_| true) } else { Vec::new() },
            finalized_features_epoch: -1,
            ..ApiVersionsResponse::default()
        };
        self.respond(ask, &response);
    }
}

/// Letters and digits, with dots and dashes between them.
fn is_software_name(name: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_names_are_letters_digits_dots_and_dashes() {
        assert!(["librdkafka", "2.0.2", "apache-kafka-java", "a"].into_iter().all(is_software_name));
        assert!(!["", "-a", "a.", "a b", "a_b", "ä"].into_iter().any(is_software_name));
    }
}
