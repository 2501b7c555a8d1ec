//! `highwater topic create`.

use clap::Args;
use highwater_client::{ErrorCode, NewTopic};
use serde::Serialize;

use super::{Summary, settings_of};
use crate::arguments::{Connection, Setting, each_once};
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Make a topic
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Its name: letters, digits, '.', '_' and '-'
    topic: String,

    /// Into how many partitions its records are divided [default: the brokers' setting]
    #[arg(long, value_name = "N", value_parser = number::parse_partitions, allow_negative_numbers = true)]
    partitions: Option<u32>,

    /// How many brokers keep each partition [default: the brokers' setting, at most one for each broker]
    #[arg(long, visible_alias = "replication", value_name = "N", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u16).range(1..=32_767))]
    replication_factor: Option<u16>,

    /// A setting by Kafka's name, such as retention.ms=86400000; may be repeated
    #[arg(long = "config", value_name = "KEY=VALUE")]
    configs: Vec<Setting>,

    /// Be content if a topic of this name is there already
    #[arg(long)]
    if_not_exists: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Created {
    created: bool,
    #[serde(flatten)]
    summary: Summary,
}

impl Report for Created {
    fn text(&self, _: Paint) -> String {
        let verb = if self.created { "created" } else { "there is already" };
        format!("{verb} {}: {}\n", self.summary.topic, self.summary.line())
    }
}

impl Create {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let created = block_on(self.create())?;
        output::show(&created, format)
    }

    async fn create(&self) -> Outcome<Created> {
        each_once(self.configs.iter().map(|setting| setting.key.as_str()))?;
        let session = Session::open(&self.connection).await?;
        let created = match session.admin().create_topic(self.wanted()).await {
            Ok(_) => true,
            Err(error)
                if self.if_not_exists && error.broker_code() == Some(ErrorCode::TopicAlreadyExists) =>
            {
                false
            }
            Err(error) => return Err(session.failure(&error)),
        };
        Ok(Created { created, summary: summary_of(&session, &self.topic).await? })
    }

    fn wanted(&self) -> NewTopic {
        let mut topic = NewTopic::named(self.topic.as_str());
        topic.partitions = self.partitions;
        topic.replication = self.replication_factor;
        let configs = self.configs.iter();
        configs.fold(topic, |topic, setting| topic.config(setting.key.as_str(), setting.value.as_str()))
    }
}

/// What the topic came out as: what was left to the brokers is said once.
async fn summary_of(session: &Session, topic: &str) -> Outcome<Summary> {
    let described = session.admin().describe_topic(topic).await.map_err(|error| session.failure(&error))?;
    Ok(Summary {
        topic: Escaped::of(topic),
        partitions: described.partitions.len(),
        replication_factor: described.partitions.first().map_or(0, |first| first.replicas.len()),
        settings: settings_of(session, topic).await?,
    })
}
