//! `cargo xtask fix`: everything that a program can put right, in place.

use std::time::Duration;

use anyhow::Result;

use crate::{codegen, defaults, process, steps, tools};

const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Generates code, applies clippy's suggestions, formats, and writes the generated documents.
pub(crate) fn run() -> Result<()> {
    tools::toolchain()?;
    codegen::run(false)?;
    let clippy = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    process::run(steps::cargo().args(clippy), LIMIT)?;
    process::run(steps::cargo().args(["fmt", "--all"]), LIMIT)?;
    process::run(steps::cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml"]), LIMIT)?;
    process::run(steps::cargo().args(["fmt", "--manifest-path", "bench-clients/Cargo.toml"]), LIMIT)?;
    process::run(steps::cargo().args(["fmt", "--manifest-path", "bench-cores/Cargo.toml"]), LIMIT)?;
    let documents = ["test", "--quiet", "--package", "highwater", "--test", "documents"];
    process::run(steps::cargo().args(documents).env("HIGHWATER_WRITE_DOCS", "1"), LIMIT)?;
    defaults::run(false)
}
