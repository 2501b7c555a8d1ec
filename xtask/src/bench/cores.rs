//! `cargo xtask bench --cores`: the hot paths of the cores by themselves, timed by criterion. The works stand in `bench-cores/`, a workspace of
//! its own; how many instructions they take is counted by `cargo xtask guard`.

use std::time::Duration;

use anyhow::Result;

use crate::{process, steps, workspace};

const LIMIT: Duration = Duration::from_secs(1800);

/// Builds and measures; what criterion compares the next run with stays where cargo builds to.
pub(super) fn run() -> Result<()> {
    let target = workspace::target_dir().join("bench-cores");
    let mut cargo = steps::cargo();
    cargo.args(["bench", "--quiet", "--locked", "--manifest-path"]);
    cargo.arg(workspace::root().join("bench-cores/Cargo.toml")).arg("--target-dir").arg(&target);
    cargo.args(["--bench", "cores"]).env("CRITERION_HOME", target.join("criterion"));
    process::run(&mut cargo, LIMIT).map(drop)
}
