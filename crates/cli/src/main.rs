//! The binary `highwater`: one command a file under `command/`. This file reads the command line, runs the command
//! and turns its end into two lines and an exit code.

use std::io;
use std::process::ExitCode;

mod arguments;
mod calendar;
mod command;
mod confirm;
mod damage;
mod data_dir;
mod failure;
mod lines;
mod nearest;
mod output;
mod position;
mod record_json;
mod session;
mod topic_names;

fn main() -> ExitCode {
    let arguments = match arguments::Arguments::read() {
        Ok(arguments) => arguments,
        Err((failure, format)) => return failure.report(&mut io::stderr(), format),
    };
    let format = arguments.output;
    match command::run(arguments) {
        Ok(code) => code,
        Err(failure) => failure.report(&mut io::stderr(), format),
    }
}
