//! `highwater cluster`: the cluster as a whole.

use clap::Subcommand;

use crate::failure::Outcome;
use crate::output::Format;

mod status;

/// Show the cluster as a whole
#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    Status(status::Status),
}

impl Cluster {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        match self {
            Self::Status(status) => status.run(format),
        }
    }
}
