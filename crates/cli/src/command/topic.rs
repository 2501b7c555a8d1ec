//! `highwater topic`: make, show, change and delete topics.

use std::time::Duration;

use clap::Subcommand;
use highwater_client::{ConfigEntry, ConfigResource, ConfigSource};
use serde::Serialize;

use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::{Format, number};
use crate::session::Session;

mod alter;
mod create;
mod delete;
mod describe;
mod elect;
mod list;

/// Make, show, change and delete topics
#[derive(Debug, Subcommand)]
pub(crate) enum Topic {
    Create(create::Create),
    List(list::List),
    Describe(describe::Describe),
    Alter(alter::Alter),
    Delete(delete::Delete),
    Elect(elect::Elect),
}

impl Topic {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        match self {
            Self::Create(create) => create.run(format),
            Self::List(list) => list.run(format),
            Self::Describe(describe) => describe.run(format),
            Self::Alter(alter) => alter.run(format),
            Self::Delete(delete) => delete.run(format),
            Self::Elect(elect) => elect.run(format),
        }
    }
}

/// What most want to know of a topic, in one line.
#[derive(Debug, Serialize)]
struct Summary {
    topic: Escaped,
    partitions: usize,
    replication_factor: usize,
    /// Settings by Kafka's names, those that differ from the default marked.
    settings: Vec<SettingShown>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SettingShown {
    name: Escaped,
    value: Option<Escaped>,
    /// Whether the topic has a value of its own.
    own: bool,
}

impl SettingShown {
    fn of(entry: ConfigEntry) -> Self {
        let own = entry.source == ConfigSource::Topic;
        Self { name: Escaped::of(entry.name), value: entry.value.map(Escaped::of), own }
    }
}

async fn settings_of(session: &Session, topic: &str) -> Outcome<Vec<SettingShown>> {
    let entries = session.admin().describe_configs(ConfigResource::Topic(topic.into())).await;
    let entries = entries.map_err(|error| session.failure(&error))?;
    Ok(entries.into_iter().map(SettingShown::of).collect())
}

impl Summary {
    /// `6 partitions, replication factor 3, min in-sync 2, retention 7 days`.
    fn line(&self) -> String {
        let mut parts = vec![
            number::counted(self.partitions as u64, "partition"),
            format!("replication factor {}", self.replication_factor),
        ];
        parts.extend(self.value("min.insync.replicas").map(|value| format!("min in-sync {value}")));
        parts.extend(self.value("retention.ms").map(|value| format!("retention {}", retention(value))));
        parts.join(", ")
    }

    fn value(&self, name: &str) -> Option<&Escaped> {
        let setting = self.settings.iter().find(|setting| setting.name.as_sent() == name)?;
        setting.value.as_ref()
    }
}

fn retention(millis: &Escaped) -> String {
    match millis.as_sent().parse::<i64>() {
        Ok(millis) if millis >= 0 => number::duration(Duration::from_millis(millis.unsigned_abs())),
        Ok(_) => "for ever".to_owned(),
        Err(_) => millis.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_in_one_line() {
        let setting = |name: &str, value: &str| SettingShown {
            name: Escaped::of(name),
            value: Some(Escaped::of(value)),
            own: false,
        };
        let mut summary = Summary {
            topic: Escaped::of("orders"),
            partitions: 6,
            replication_factor: 3,
            settings: vec![setting("min.insync.replicas", "2"), setting("retention.ms", "604800000")],
        };
        assert_eq!(summary.line(), "6 partitions, replication factor 3, min in-sync 2, retention 7 days");
        summary.partitions = 1;
        summary.settings = vec![setting("retention.ms", "-1")];
        assert_eq!(summary.line(), "1 partition, replication factor 3, retention for ever");
    }
}
