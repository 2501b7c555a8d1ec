//! Building the binary, with cargo's own progress shown.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::{steps, workspace};

/// Builds as a user's binary is built, and says where it is.
pub(crate) fn release() -> Result<PathBuf> {
    let started = Instant::now();
    let status = steps::cargo()
        .args(["build", "--release", "--locked", "--package", "highwater"])
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "highwater does not build");
    let seconds = started.elapsed().as_secs();
    if seconds > 1 {
        eprintln!("   built highwater in {seconds} s (release)");
    }
    Ok(workspace::target_dir().join("release").join("highwater"))
}
