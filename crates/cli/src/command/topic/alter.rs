//! `highwater topic alter`.

use clap::Args;
use highwater_client::{ClientError, ConfigChange, ConfigResource};
use serde::Serialize;

use crate::arguments::{Connection, Setting, each_once};
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Change a topic's settings, or give it more partitions
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true).args(["partitions", "configs", "resets"])))]
pub(crate) struct Alter {
    /// The topic
    topic: String,

    /// How many partitions it shall have; never fewer than now, and keys move to other partitions
    #[arg(long, value_name = "N", value_parser = number::parse_partitions, allow_negative_numbers = true)]
    partitions: Option<u32>,

    /// A setting by Kafka's name, such as retention.ms=86400000; may be repeated
    #[arg(long = "config", value_name = "KEY=VALUE")]
    configs: Vec<Setting>,

    /// A setting to take back to its default; may be repeated
    #[arg(long = "reset", value_name = "KEY")]
    resets: Vec<String>,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Altered {
    topic: Escaped,
    changes: Vec<Escaped>,
}

impl Report for Altered {
    fn text(&self, _: Paint) -> String {
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        format!("changed {}: {}\n", self.topic, changes.join(", "))
    }
}

impl Alter {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let altered = block_on(self.alter())?;
        output::show(&altered, format)
    }

    async fn alter(&self) -> Outcome<Altered> {
        let set = self.configs.iter().map(|setting| setting.key.as_str());
        each_once(set.chain(self.resets.iter().map(String::as_str)))?;
        let session = Session::open(&self.connection).await?;
        match self.apply(&session).await {
            Ok(changes) => {
                let changes = changes.into_iter().map(Escaped::of).collect();
                Ok(Altered { topic: Escaped::of(&self.topic), changes })
            }
            Err(error) => Err(session.topic_failure(&self.topic, &error).await),
        }
    }

    async fn apply(&self, session: &Session) -> Result<Vec<String>, ClientError> {
        let mut done = Vec::new();
        let changes = self.changes();
        if !changes.is_empty() {
            let resource = ConfigResource::Topic(self.topic.as_str().into());
            session.admin().alter_configs(resource, changes).await?;
            done.extend(self.configs.iter().map(|setting| format!("{} = {}", setting.key, setting.value)));
            done.extend(self.resets.iter().map(|key| format!("{key} back to its default")));
        }
        if let Some(partitions) = self.partitions {
            session.admin().create_partitions(self.topic.as_str(), partitions).await?;
            done.push(number::counted(partitions.into(), "partition"));
        }
        Ok(done)
    }

    fn changes(&self) -> Vec<ConfigChange> {
        let set =
            |setting: &Setting| ConfigChange::Set(setting.key.as_str().into(), setting.value.as_str().into());
        let reset = |key: &String| ConfigChange::Delete(key.as_str().into());
        self.configs.iter().map(set).chain(self.resets.iter().map(reset)).collect()
    }
}
