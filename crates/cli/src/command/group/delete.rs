//! `highwater group delete`.

use std::io;

use clap::Args;
use highwater_client::ErrorCode;

use super::group_failure;
use crate::arguments::{Connection, group_name};
use crate::command::deletion::{Deleted, delete_each};
use crate::failure::Outcome;
use crate::output::Format;
use crate::session::{Session, block_on};

/// Delete groups without members, and all their positions
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The groups
    #[arg(required = true, value_name = "GROUP", value_parser = group_name)]
    groups: Vec<String>,

    /// Be content if a group is not there
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
        let delete = async |group: &str| match session.admin().delete_group(group).await {
            Ok(()) => Ok(true),
            Err(error) if self.if_exists && error.broker_code() == Some(ErrorCode::GroupIdNotFound) => {
                Ok(false)
            }
            Err(error) => Err(group_failure(&session, group, &error).await),
        };
        Ok(delete_each(&self.groups, format, &mut io::stderr(), delete).await)
    }
}
