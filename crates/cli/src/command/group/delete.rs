//! `highwater group delete`.

use clap::Args;
use highwater_client::ErrorCode;
use serde::Serialize;

use super::group_failure;
use crate::arguments::Connection;
use crate::failure::Outcome;
use crate::output::foreign::Foreign;
use crate::output::{self, Format, Paint, Report};
use crate::session::{Session, block_on};

/// Delete groups without members, and all their positions
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The groups
    #[arg(required = true, value_name = "GROUP")]
    groups: Vec<String>,

    /// Be content if a group is not there
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
        for group in &self.groups {
            if deleted.contains(&Foreign::of(group)) {
                continue;
            }
            match session.admin().delete_group(group.as_str()).await {
                Ok(()) => deleted.push(Foreign::of(group)),
                Err(error) if self.if_exists && error.broker_code() == Some(ErrorCode::GroupIdNotFound) => {}
                Err(error) => {
                    if !deleted.is_empty() {
                        output::say(&format!("deleted {}", named(&deleted)), format);
                    }
                    return Err(group_failure(&session, group, &error).await);
                }
            }
        }
        Ok(Deleted { deleted })
    }
}

fn named(names: &[Foreign]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
