//! DescribeConfigs: every key of a topic or of the cluster with its value, source, synonyms, type and documentation; and how
//! pages in browsers reach a broker, as keys that only the broker itself changes.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};
use log_store::Disk;
use metadata_core::config::Kind;
use metadata_core::{ConfigEntry, ConfigSource};

use super::admin::Failure;
use super::alter_configs::{BROKER, TOPIC};
use super::topics;
use crate::shard::{Ask, Shard};

/// Where pages reach a broker by WebTransport.
const WEBTRANSPORT_URL: &str = "browser.webtransport.url";
/// Where pages reach a broker by WebSocket.
const WEBSOCKET_URL: &str = "browser.websocket.url";
/// The SHA-256 of the certificates that browsers are shown, the present one first; empty where the user's own serves.
const CERTIFICATES: &str = "browser.certificates.sha256";

/// The protocol's number for a value of the broker's own file, which no request can change.
const OF_THE_BROKER: i8 = 4;
/// The protocol's number for a text.
const TEXT: i8 = 2;
/// The protocol's number for a list.
const LIST: i8 = 7;

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_describe_configs(&mut self, ask: Ask, request: &DescribeConfigsRequest<'_>) {
        let results = request.resources.iter().map(|resource| {
            let (failure, entries) = match self.entries(resource) {
                Ok(entries) => (None, entries),
                Err(failure) => (Some(failure), Vec::new()),
            };
            let wanted = |entry: &ConfigEntry| {
                let keys = resource.configuration_keys.as_ref();
                keys.is_none_or(|keys| keys.iter().any(|key| key == entry.name))
            };
            DescribeConfigsResult {
                error_code: failure.as_ref().map_or(ErrorCode::None, |failure| failure.code),
                error_message: failure.map(|failure| Cow::Owned(failure.message)),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs: described_all(entries.into_iter().filter(wanted), self.facts(resource), request),
            }
        });
        let results = results.collect();
        self.respond(ask, &DescribeConfigsResponse { throttle_time_ms: 0, results });
    }

    /// What is known of one broker beside its configuration.
    fn facts(&self, resource: &DescribeConfigsResource<'_>) -> Vec<(&'static str, String)> {
        let named = resource.resource_name.parse().ok().map(log_core::BrokerId);
        let door = named
            .filter(|_| resource.resource_type == BROKER)
            .and_then(|id| self.core.image.browser_door(id));
        let Some(door) = door else { return Vec::new() };
        let hashes: Vec<String> =
            door.certificates.iter().map(|certificate| hex(&certificate.sha256)).collect();
        let all = [
            (WEBTRANSPORT_URL, door.webtransport.clone().unwrap_or_default()),
            (WEBSOCKET_URL, door.websocket.clone().unwrap_or_default()),
            (CERTIFICATES, hashes.join(",")),
        ];
        let keys = resource.configuration_keys.as_ref();
        let wanted = |name: &str| keys.is_none_or(|keys| keys.iter().any(|key| key == name));
        all.into_iter().filter(|(name, _)| wanted(name)).collect()
    }

    fn entries(&self, resource: &DescribeConfigsResource<'_>) -> Result<Vec<ConfigEntry>, Failure> {
        let image = &self.core.image;
        match resource.resource_type {
            TOPIC => {
                let topic = topics::by_name(image, &resource.resource_name);
                let topic = topic.map_err(|code| Failure::new(code, "there is no such topic"))?;
                Ok(image.describe_topic_configs(topic.id).unwrap_or_default())
            }
            // All brokers share one configuration, so that any of them answers for any.
            BROKER => {
                let named = resource.resource_name.parse().ok().map(log_core::BrokerId);
                let known = named.is_some_and(|broker| image.broker(broker).is_some());
                if known || resource.resource_name.is_empty() {
                    Ok(image.describe_cluster_configs())
                } else {
                    Err(Failure::new(ErrorCode::InvalidRequest, "there is no such broker"))
                }
            }
            _ => Err(Failure::new(ErrorCode::InvalidRequest, "only topics and brokers have configurations")),
        }
    }
}

fn described_all(
    entries: impl Iterator<Item = ConfigEntry>,
    facts: Vec<(&'static str, String)>,
    request: &DescribeConfigsRequest<'_>,
) -> Vec<DescribeConfigsResourceResult<'static>> {
    let facts = facts.into_iter().map(|(name, value)| DescribeConfigsResourceResult {
        name: Cow::Borrowed(name),
        value: Some(Cow::Owned(value)),
        read_only: true,
        config_source: OF_THE_BROKER,
        config_type: if name == CERTIFICATES { LIST } else { TEXT },
        ..DescribeConfigsResourceResult::default()
    });
    entries.map(|entry| described(entry, request)).chain(facts).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn described(
    entry: ConfigEntry,
    request: &DescribeConfigsRequest<'_>,
) -> DescribeConfigsResourceResult<'static> {
    let synonyms = entry.synonyms.into_iter().map(|(name, value, source)| DescribeConfigsSynonym {
        name: Cow::Borrowed(name),
        value: Some(Cow::Owned(value)),
        source: source_code(source),
    });
    DescribeConfigsResourceResult {
        name: Cow::Borrowed(entry.name),
        value: Some(Cow::Owned(entry.value)),
        read_only: false,
        config_source: source_code(entry.source),
        is_sensitive: false,
        synonyms: if request.include_synonyms { synonyms.collect() } else { Vec::new() },
        config_type: type_code(entry.def.kind),
        documentation: request.include_documentation.then_some(Cow::Borrowed(entry.def.doc)),
    }
}

/// The protocol's number for where a value comes from.
pub(crate) const fn source_code(source: ConfigSource) -> i8 {
    match source {
        ConfigSource::Topic => 1,
        ConfigSource::Cluster => 3,
        ConfigSource::Default => 5,
    }
}

const fn type_code(kind: Kind) -> i8 {
    match kind {
        Kind::Boolean { .. } => 1,
        Kind::Choice { .. } => 2,
        Kind::Int { .. } => 3,
        Kind::Long { .. } => 5,
        Kind::List { .. } => 7,
    }
}
