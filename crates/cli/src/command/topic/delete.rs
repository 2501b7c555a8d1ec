//! `highwater topic delete`.

use clap::Args;
use highwater_client::ErrorCode;
use serde::Serialize;

use crate::arguments::Connection;
use crate::failure::Outcome;
use crate::output::foreign::Foreign;
use crate::output::{self, Format, Paint, Report};
use crate::session::{Session, block_on};

/// Delete topics and all their records
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,

    /// Be content if a topic is not there
    #[arg(long)]
    if_exists: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Deleted {
    deleted: Vec<Foreign>,
}

impl Report for Deleted {
    fn text(&self, _: Paint) -> String {
        match self.deleted.is_empty() {
            true => "nothing to delete\n".to_owned(),
            false => format!("deleted {}\n", named(&self.deleted)),
        }
    }
}

impl Delete {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let deleted = block_on(self.delete(format))?;
        output::show(&deleted, format)
    }

    async fn delete(&self, format: Format) -> Outcome<Deleted> {
        let session = Session::open(&self.connection).await?;
        let mut deleted: Vec<Foreign> = Vec::new();
        for topic in &self.topics {
            if deleted.contains(&Foreign::of(topic)) {
                continue;
            }
            match session.admin().delete_topic(topic.as_str()).await {
                Ok(()) => deleted.push(Foreign::of(topic)),
                Err(error)
                    if self.if_exists && error.broker_code() == Some(ErrorCode::UnknownTopicOrPartition) => {}
                Err(error) => {
                    if !deleted.is_empty() {
                        output::say(&format!("deleted {}", named(&deleted)), format);
                    }
                    return Err(session.topic_failure(topic, &error).await);
                }
            }
        }
        Ok(Deleted { deleted })
    }
}

fn named(names: &[Foreign]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
