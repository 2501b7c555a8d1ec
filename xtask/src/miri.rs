//! `cargo xtask miri`: the unit tests of the two lowest cores under Miri, which runs them in an interpreter and finds undefined behaviour in what they
//! and the crates below them do: reads out of bounds, values that are none of their types, borrows that overlap.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::{process, test, tools, workspace};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only tests with this in their name
    #[arg(value_name = "TEXT")]
    only: Option<String>,
}

const LIMIT: Duration = Duration::from_secs(60 * 60);

const PACKAGES: [&str; 2] = ["highwater-log-core", "highwater-kafka-wire"];

/// Random inputs of each property: one costs as much here as hundreds do at full speed.
const CASES: &str = "4";

/// Runs the tests.
pub(crate) fn run(options: &Options) -> Result<()> {
    tools::miri()?;
    let mut cargo = tools::nightly_cargo();
    cargo.args(["miri", "test", "--quiet", "--locked", "--lib", "--target-dir"]);
    cargo.arg(workspace::target_dir().join("miri"));
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    cargo.arg("--").args(&options.only);
    // Snapshots are files.
    cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    // Without it insta would start a program to find the workspace, which Miri cannot.
    cargo.env("INSTA_WORKSPACE_ROOT", workspace::root()).env("INSTA_UPDATE", "no");
    cargo.env("PROPTEST_CASES", CASES).env("PROPTEST_RNG_SEED", test::PROPTEST_SEED);
    process::run(&mut cargo, LIMIT).map(drop)
}
