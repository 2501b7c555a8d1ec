//! `highwater-sim`: the simulator by itself, for `cargo xtask sim`.

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "highwater-sim")]
struct Whole {
    #[command(flatten)]
    arguments: highwater_simulator::Arguments,
}

fn main() -> ExitCode {
    Whole::parse().arguments.run()
}
