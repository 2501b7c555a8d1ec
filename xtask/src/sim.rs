//! `cargo xtask sim`: whole brokers under seeded faults, by the simulator built fast and with every assertion.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::steps::{self, Step};
use crate::workspace;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run this many seeds
    #[arg(long, default_value_t = 200)]
    seeds: u64,

    /// Begin with this seed
    #[arg(long, default_value_t = 1)]
    first: u64,

    /// Tell one seed: with as few faults as still go wrong, and the last events before it
    #[arg(long, conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,

    /// Break each rule in turn, and write to docs/mutations.md which oracle notices and how soon
    #[arg(long)]
    mutations: bool,

    /// Break these rules
    #[arg(long, value_delimiter = ',', conflicts_with = "mutations", value_name = "NAMES")]
    broken: Vec<String>,

    /// What the simulator takes beside these; `-- --help` lists it
    #[arg(last = true)]
    others: Vec<String>,
}

/// The build that the simulator runs in: optimised, with assertions.
const BUILD: [&str; 7] = [
    "run",
    "--quiet",
    "--locked",
    "--profile=sim",
    "--package=highwater-simulator",
    "--bin=highwater-sim",
    "--",
];

/// Runs the simulator.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let mut command = steps::cargo();
    command.args(BUILD);
    if options.mutations || !options.broken.is_empty() {
        // A build of its own: the rules can be broken in no other.
        command.env("CARGO_TARGET_DIR", workspace::target_dir().join("mutations"));
        command.env("RUSTFLAGS", "--cfg highwater_mutations");
    }
    if !options.broken.is_empty() {
        command.arg(format!("--only={}", options.broken.join(",")));
    }
    if options.mutations {
        command.arg("--mutations").arg(workspace::root().join("docs/mutations.md"));
    } else if let Some(seed) = options.seed {
        command.arg(format!("--seed={seed}"));
    } else {
        command.args([format!("--seeds={}", options.seeds), format!("--first={}", options.first)]);
    }
    let status = command.args(&options.others).status().context("cargo could not be started")?;
    ensure!(status.code().is_some(), "the simulator was ended: {status}");
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What CI runs of it: every seed twice, so that it is the same run, and all seeds that once found something; and a few of
/// the mixes whose clients do what those of the others never do.
pub(crate) fn steps() -> Vec<Step> {
    let step = |name, arguments: &[&str]| Step::cargo(name, &[&BUILD, arguments].concat(), 8);
    vec![
        step("simulator", &["--seeds=200", "--repeat-every=1", "--regressions"]),
        step("simulator, lazy syncs", &["--seeds=40", "--repeat-every=1", "--mix=lazy"]),
        step("simulator, deletions", &["--seeds=40", "--repeat-every=1", "--mix=deletes"]),
    ]
}
