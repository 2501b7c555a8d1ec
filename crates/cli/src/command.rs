//! The commands: one file each, and their choice by name.

use std::process::ExitCode;

use clap::Subcommand;

use crate::arguments::Arguments;
use crate::failure::Outcome;

mod bench;
mod cluster;
mod completions;
mod consume;
mod deletion;
mod group;
mod log;
mod produce;
mod serve;
mod topic;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    #[command(subcommand)]
    Topic(topic::Topic),
    Produce(produce::Produce),
    Consume(consume::Consume),
    #[command(subcommand)]
    Group(group::Group),
    #[command(subcommand)]
    Cluster(cluster::Cluster),
    #[command(subcommand)]
    Log(log::Log),
    #[command(subcommand)]
    Bench(bench::Bench),
    Sim(highwater_simulator::Arguments),
    Completions(completions::Completions),
}

/// Runs the command that was asked for.
pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let format = arguments.output;
    match arguments.command {
        Command::Serve(serve) => return serve.run(),
        Command::Sim(sim) => return Ok(sim.run()),
        Command::Topic(topic) => topic.run(format)?,
        Command::Produce(produce) => produce.run(format)?,
        Command::Consume(consume) => consume.run(format)?,
        Command::Group(group) => group.run(format)?,
        Command::Cluster(cluster) => cluster.run(format)?,
        Command::Log(log) => log.run(format)?,
        Command::Bench(bench) => bench.run(format)?,
        Command::Completions(completions) => completions.run()?,
    }
    Ok(ExitCode::SUCCESS)
}
