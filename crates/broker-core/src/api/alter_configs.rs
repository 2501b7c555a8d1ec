//! IncrementalAlterConfigs, which edits keys, and the older AlterConfigs, which replaces them all.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::{alter_configs as whole, incremental_alter_configs as incremental};
use log_store::Disk;

use super::admin::{AdminKind, AdminResult, Failure};
use super::topics;
use crate::message::{AdminCommand, ConfigChange, ConfigOperation, ConfigResource};
use crate::shard::{Ask, Shard};

/// The protocol's number for topics among resources.
pub(crate) const TOPIC: i8 = 2;
/// The protocol's number for brokers among resources.
pub(crate) const BROKER: i8 = 4;

/// The resources whose keys are changed.
#[derive(Debug)]
pub(crate) struct AlteredConfigs {
    replace: bool,
    resources: Vec<(i8, String)>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_incremental_alter_configs(
        &mut self,
        ask: Ask,
        request: &incremental::IncrementalAlterConfigsRequest<'_>,
    ) {
        let parts = request.resources.iter().map(|asked| {
            let changes = asked.configs.iter().map(|config| {
                let operation = operation(config.config_operation, config.value.as_deref());
                operation.map(|operation| ConfigChange { key: config.name.clone().into_owned(), operation })
            });
            let changes = changes.collect::<Result<_, _>>()?;
            let resource = self.resource(asked.resource_type, &asked.resource_name)?;
            let validate_only = request.validate_only;
            Ok(AdminCommand::AlterConfigs { resource, changes, replace: false, validate_only })
        });
        let parts = parts.collect();
        let resources = request.resources.iter();
        let resources =
            resources.map(|asked| (asked.resource_type, asked.resource_name.clone().into_owned()));
        let altered = AlteredConfigs { replace: false, resources: resources.collect() };
        self.start_admin(ask, AdminKind::AlterConfigs(altered), i32::MAX, parts);
    }

    pub(crate) fn handle_alter_configs(&mut self, ask: Ask, request: &whole::AlterConfigsRequest<'_>) {
        let parts = request.resources.iter().map(|asked| {
            let changes = asked.configs.iter().map(|config| ConfigChange {
                key: config.name.clone().into_owned(),
                operation: match &config.value {
                    Some(value) => ConfigOperation::Set(value.clone().into_owned()),
                    None => ConfigOperation::Delete,
                },
            });
            let changes = changes.collect();
            let resource = self.resource(asked.resource_type, &asked.resource_name)?;
            let validate_only = request.validate_only;
            Ok(AdminCommand::AlterConfigs { resource, changes, replace: true, validate_only })
        });
        let parts = parts.collect();
        let resources = request.resources.iter();
        let resources =
            resources.map(|asked| (asked.resource_type, asked.resource_name.clone().into_owned()));
        let altered = AlteredConfigs { replace: true, resources: resources.collect() };
        self.start_admin(ask, AdminKind::AlterConfigs(altered), i32::MAX, parts);
    }

    fn resource(&self, kind: i8, name: &str) -> Result<ConfigResource, Failure> {
        match kind {
            TOPIC => {
                let topic = topics::by_name(&self.core.image, name);
                let topic = topic.map_err(|code| Failure::new(code, "there is no such topic"))?;
                Ok(ConfigResource::Topic(topic.id))
            }
            BROKER if name.is_empty() => Ok(ConfigResource::Cluster),
            BROKER => {
                let message = "brokers share one configuration: change it with an empty broker name";
                Err(Failure::new(ErrorCode::InvalidRequest, message))
            }
            _ => Err(Failure::new(ErrorCode::InvalidRequest, "only topics and brokers have configurations")),
        }
    }

    pub(crate) fn finish_alter_configs(
        &mut self,
        ask: Ask,
        altered: &AlteredConfigs,
        results: Vec<AdminResult>,
    ) {
        let resources = altered.resources.iter().zip(results);
        let outcomes = resources.map(|((kind, name), result)| {
            let failure = result.err();
            let code = failure.as_ref().map_or(ErrorCode::None, |failure| failure.code);
            (*kind, Cow::Borrowed(&**name), code, failure.map(|failure| Cow::Owned(failure.message)))
        });
        if altered.replace {
            let responses = outcomes.map(|(resource_type, resource_name, error_code, error_message)| {
                whole::AlterConfigsResourceResponse {
                    error_code,
                    error_message,
                    resource_type,
                    resource_name,
                }
            });
            let response =
                whole::AlterConfigsResponse { throttle_time_ms: 0, responses: responses.collect() };
            return self.respond(ask, &response);
        }
        let responses = outcomes.map(|(resource_type, resource_name, error_code, error_message)| {
            incremental::AlterConfigsResourceResponse {
                error_code,
                error_message,
                resource_type,
                resource_name,
            }
        });
        let responses = responses.collect();
        self.respond(ask, &incremental::IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses });
    }
}

fn operation(number: i8, value: Option<&str>) -> Result<ConfigOperation, Failure> {
    let given = || match value {
        Some(value) => Ok(value.to_owned()),
        None => Err(Failure::new(ErrorCode::InvalidRequest, "the operation needs a value")),
    };
    match number {
        0 => given().map(ConfigOperation::Set),
        1 => Ok(ConfigOperation::Delete),
        2 => given().map(ConfigOperation::Append),
        3 => given().map(ConfigOperation::Subtract),
        _ => Err(Failure::new(ErrorCode::InvalidRequest, "unknown operation on a configuration key")),
    }
}
