//! Building the binary, with cargo's own progress shown.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::{steps, wasm, workspace};

/// What the broker's build takes the pages from that it serves to browsers.
const WEB_DIR: &str = "HIGHWATER_WEB_DIR";

/// Builds as a user's binary is built, with the browser's client in it, and says where it is.
pub(crate) fn release() -> Result<PathBuf> {
    build(&["--release"], "release")
}

/// The same as the tests build it: slower to run, and there in no time once they were built.
pub(crate) fn debug() -> Result<PathBuf> {
    build(&[], "debug")
}

/// An example program of the binary's package, as users' binaries are built.
pub(crate) fn release_example(name: &str) -> Result<PathBuf> {
    example(name, &["--release"], "release")
}

/// The same as tests are built. Tests do not build it: one that has tests of its own is built with them, as another program.
pub(crate) fn debug_example(name: &str) -> Result<PathBuf> {
    example(name, &[], "debug")
}

fn example(name: &str, profile: &[&str], folder: &str) -> Result<PathBuf> {
    let status = steps::cargo()
        .args(["build", "--locked", "--package", "highwater", "--example", name])
        .args(profile)
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "{name} does not build");
    Ok(workspace::target_dir().join(folder).join("examples").join(name))
}

fn build(profile: &[&str], folder: &str) -> Result<PathBuf> {
    let started = Instant::now();
    let status = steps::cargo()
        .args(["build", "--locked", "--package", "highwater"])
        .args(profile)
        .env(WEB_DIR, wasm::tree()?)
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "highwater does not build");
    let seconds = started.elapsed().as_secs();
    if seconds > 1 {
        eprintln!("   built highwater in {seconds} s ({folder})");
    }
    Ok(workspace::target_dir().join(folder).join("highwater"))
}
