//! `highwater topic delete`.

use std::io;

use clap::Args;
use highwater_client::ErrorCode;

use crate::arguments::Connection;
use crate::command::deletion::{Deleted, delete_each};
use crate::failure::Outcome;
use crate::output::Format;
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

impl Delete {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        block_on(self.delete(format))?.end(format)
    }

    async fn delete(&self, format: Format) -> Outcome<Deleted> {
        let session = Session::open(&self.connection).await?;
        let delete = async |topic: &str| match session.admin().delete_topic(topic).await {
            Ok(()) => Ok(true),
            Err(error)
                if self.if_exists && error.broker_code() == Some(ErrorCode::UnknownTopicOrPartition) =>
            {
                Ok(false)
            }
            Err(error) => Err(session.topic_failure(topic, &error).await),
        };
        Ok(delete_each(&self.topics, format, &mut io::stderr(), delete).await)
    }
}
