//! `highwater log`: what a data directory holds, read while no broker uses it.

use std::path::Path;

use clap::Subcommand;

use crate::data_dir;
use crate::failure::Outcome;
use crate::output::{self, Format};

mod dump;
mod list;
mod verify;

/// Look into a data directory, offline and read-only
#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    List(list::List),
    Dump(dump::Dump),
    Verify(verify::Verify),
}

impl Log {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        match self {
            Self::List(list) => list.run(format),
            Self::Dump(dump) => dump.run(format),
            Self::Verify(verify) => verify.run(format),
        }
    }
}

/// Says that a broker uses the directory: what it is writing just now may be missing or torn.
fn say_if_in_use(data_dir: &Path, format: Format) {
    if let Some(holder) = data_dir::holder(data_dir) {
        let what = format!("{} is in use by {holder}; what it is writing may be missing", data_dir.display());
        output::say(&what, format);
    }
}
