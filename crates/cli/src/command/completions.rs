//! `highwater completions`: what a shell needs to complete the command line.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Outcome;

/// Print the completions of a shell
///
/// For example: highwater completions bash > highwater.bash
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete in
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "highwater", &mut script);
        Ok(io::Write::write_all(&mut io::stdout(), &script)?)
    }
}
