//! Highwater's own build commands: `cargo xtask --help` lists them. One file a command; each does one thing that a
//! person or CI asks for, and says what it does.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod browser;
mod ci;
mod cluster;
mod codegen;
mod compat;
mod defaults;
mod faults;
mod fetch;
mod fix;
mod fuzz;
mod guard;
mod layers;
mod miri;
mod process;
mod sim;
mod soak;
mod steps;
mod test;
mod tidy;
mod tools;
mod usage;
mod wasm;
mod workspace;

/// Build, check and try Highwater.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster on this machine; Ctrl-C stops it
    Cluster(cluster::Options),
    /// What the check of `cluster --run` has it run
    #[command(hide = true)]
    ClusterRestartTask,
    /// Measure brokers under load, beside Apache Kafka if asked, and write docs/performance.md
    Bench(bench::Options),
    /// Run every test, installing what is needed
    Test(test::Options),
    /// Run what CI runs; never writes to the tree
    Ci(ci::Options),
    /// Send the same file through four clients and every codec, each reading what each other wrote
    Compat(compat::Options),
    /// Kill brokers under load, again and again, and check what producers were promised
    Faults(faults::Options),
    /// Kill brokers under a load that lasts, and check that nothing is lost and nothing grows
    Soak(soak::Options),
    /// Run whole brokers in one thread under seeded faults, and look at every step
    Sim(sim::Options),
    /// Write the Kafka messages that the schemas in crates/kafka-wire/schemas describe
    Codegen {
        /// Write nothing; fail if a file is not as the schemas say
        #[arg(long)]
        check: bool,
    },
    /// Try the browser client in Chromium against a cluster
    Browser(browser::Options),
    /// Build the npm package of the browser client, and what brokers serve of it
    Wasm(wasm::Options),
    /// Feed arbitrary bytes to every decoder and arbitrary events to every state machine
    Fuzz(fuzz::Options),
    /// Count the instructions of the cores' hot paths and compare them with those kept
    Guard(guard::Options),
    /// Run the unit tests of the lowest cores in an interpreter that finds undefined behaviour
    Miri(miri::Options),
    /// Write the table of every default into docs/defaults.md
    Defaults {
        /// Write nothing; fail if the table is not as the sources say
        #[arg(long)]
        check: bool,
    },
    /// Format, generate code and documents, apply what clippy can mend
    Fix,
    /// Check who imports whom against the layer table
    Layers,
    /// Check what the house style asks of files and a compiler does not see
    Tidy,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Cluster(options) => return cluster::run(&options),
        Command::ClusterRestartTask => return cluster::restart::task(),
        Command::Sim(options) => return sim::run(&options),
        Command::Test(options) => test::run(&options)?,
        Command::Ci(options) => ci::run(&options)?,
        Command::Bench(options) => bench::run(&options)?,
        Command::Compat(options) => compat::run(&options)?,
        Command::Browser(options) => browser::run(&options)?,
        Command::Wasm(options) => wasm::run(&options)?,
        Command::Faults(options) => faults::run(&options)?,
        Command::Soak(options) => soak::run(&options)?,
        Command::Codegen { check } => codegen::run(check)?,
        Command::Fuzz(options) => fuzz::run(&options)?,
        Command::Guard(options) => guard::run(&options)?,
        Command::Miri(options) => miri::run(&options)?,
        Command::Defaults { check } => defaults::run(check)?,
        Command::Fix => fix::run()?,
        Command::Layers => layers::run()?,
        Command::Tidy => tidy::run()?,
    }
    Ok(ExitCode::SUCCESS)
}
