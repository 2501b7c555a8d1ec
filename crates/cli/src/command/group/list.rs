//! `highwater group list`.

use clap::Args;
use highwater_client::GroupState;
use serde::Serialize;

use crate::arguments::Connection;
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report};
use crate::session::{Session, block_on};

/// Show all groups
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Groups(Vec<Line>);

#[derive(Debug, Serialize)]
struct Line {
    group: Escaped,
    /// Null if the broker does not say.
    state: Option<Escaped>,
    /// By which its members share partitions: classic or consumer.
    protocol: Escaped,
    /// What its members are: consumer for consumers; empty for a group that never had members.
    protocol_type: Escaped,
}

impl Report for Groups {
    fn text(&self, paint: Paint) -> String {
        if self.0.is_empty() {
            return "no groups; highwater consume TOPIC --group NAME makes one\n".to_owned();
        }
        let mut table = Table::new().text("group").text("state").text("protocol").text("type");
        for line in &self.0 {
            let or_dash = |text: Option<&Escaped>| match text {
                Some(text) if !text.is_empty() => text.to_string(),
                _ => "-".to_owned(),
            };
            table.row([
                line.group.to_string(),
                or_dash(line.state.as_ref()),
                line.protocol.to_string(),
                or_dash(Some(&line.protocol_type)),
            ]);
        }
        table.render(paint)
    }
}

impl List {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let groups = block_on(self.list())?;
        output::show(&groups, format)
    }

    async fn list(&self) -> Outcome<Groups> {
        let session = Session::open(&self.connection).await?;
        let listed = session.admin().list_groups().await.map_err(|error| session.failure(&error))?;
        let lines = listed.into_iter().map(|listing| Line {
            group: Escaped::of(&listing.group),
            state: listing.state.as_ref().map(GroupState::name).map(Escaped::of),
            protocol: Escaped::of(listing.protocol.name()),
            protocol_type: Escaped::of(&listing.protocol_type),
        });
        Ok(Groups(lines.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_a_table() {
        let line = |group: &str, state: Option<&str>, protocol_type: &str| Line {
            group: Escaped::of(group),
            state: state.map(Escaped::of),
            protocol: Escaped::of("classic"),
            protocol_type: Escaped::of(protocol_type),
        };
        let groups = [line("billing", Some("Stable"), "consumer"), line("\u{1b}[2Jimported\n", None, "")];
        insta::assert_snapshot!(Groups(groups.into()).text(Paint::OFF));
    }
}
