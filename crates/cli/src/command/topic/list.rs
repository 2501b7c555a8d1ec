//! `highwater topic list`.

use clap::Args;
use serde::Serialize;

use crate::arguments::Connection;
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Show all topics
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show also what the brokers keep for themselves
    #[arg(long)]
    internal: bool,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Topics(Vec<Line>);

#[derive(Debug, Serialize)]
struct Line {
    topic: Escaped,
    id: String,
    partitions: u32,
    replication_factor: u16,
    internal: bool,
}

impl Report for Topics {
    fn text(&self, paint: Paint) -> String {
        if self.0.is_empty() {
            return "no topics; highwater topic create NAME makes one\n".to_owned();
        }
        let mut table = Table::new().text("topic").number("partitions").number("replication factor");
        for line in &self.0 {
            table.row([
                line.topic.to_string(),
                number::count(line.partitions.into()),
                line.replication_factor.to_string(),
            ]);
        }
        table.render(paint)
    }
}

impl List {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let topics = block_on(self.list())?;
        output::show(&topics, format)
    }

    async fn list(&self) -> Outcome<Topics> {
        let session = Session::open(&self.connection).await?;
        let listed = session.admin().list_topics().await.map_err(|error| session.failure(&error))?;
        let shown = listed.into_iter().filter(|topic| self.internal || !topic.is_internal);
        let mut lines: Vec<Line> = shown
            .map(|topic| Line {
                topic: Escaped::of(topic.name),
                id: topic.id.to_string(),
                partitions: topic.partitions,
                replication_factor: topic.replication,
                internal: topic.is_internal,
            })
            .collect();
        lines.sort_by(|a, b| a.topic.cmp(&b.topic));
        Ok(Topics(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_a_table() {
        let line = |topic: &str, partitions| Line {
            topic: Escaped::of(topic),
            id: "00".into(),
            partitions,
            replication_factor: 3,
            internal: false,
        };
        let topics = Topics(vec![line("orders", 1_200), line("payments.failed", 6)]);
        insta::assert_snapshot!(topics.text(Paint::OFF));
    }
}
