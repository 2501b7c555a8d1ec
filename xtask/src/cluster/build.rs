//! Building the binary, with cargo's own progress shown.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::{steps, wasm, workspace};

/// What the broker's build takes the pages from that it serves to browsers.
pub(crate) const WEB_DIR: &str = "HIGHWATER_WEB_DIR";

/// Builds as a user's binary is built, with the browser's client in it, and says where it is.
pub(crate) fn release() -> Result<PathBuf> {
    let started = Instant::now();
    let status = steps::cargo()
        .args(["build", "--release", "--locked", "--package", "highwater"])
        .env(WEB_DIR, wasm::tree()?)
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "highwater does not build");
    let seconds = started.elapsed().as_secs();
    if seconds > 1 {
        eprintln!("   built highwater in {seconds} s");
    }
    Ok(workspace::target_dir().join("release/highwater"))
}

/// An example program of the binary's package, as users' binaries are built.
pub(crate) fn release_example(name: &str) -> Result<PathBuf> {
    example(name, &["--release", "--package", "highwater"], "release")
}

/// The same as tests are built. Tests do not build it: one that has tests of its own is built with them, as another program.
pub(crate) fn debug_example(name: &str) -> Result<PathBuf> {
    // The whole workspace is named so that nothing is built again that its tests have built with the same features.
    example(name, &["--workspace"], "debug")
}

fn example(name: &str, arguments: &[&str], folder: &str) -> Result<PathBuf> {
    let mut command = steps::cargo();
    command.args(["build", "--locked", "--example", name]).args(arguments);
    // If there is none, a binary from elsewhere is examined.
    if wasm::served().is_dir() {
        command.env(WEB_DIR, wasm::served());
    }
    let status = command.status().context("cargo could not be started")?;
    ensure!(status.success(), "{name} does not build");
    Ok(workspace::target_dir().join(folder).join("examples").join(name))
}
