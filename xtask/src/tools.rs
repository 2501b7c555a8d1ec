//! What the toolchain needs beyond cargo, installed when it is missing.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// The target of the browser, for which the cores build too.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

const INSTALL_LIMIT: Duration = Duration::from_secs(300);

/// Installs the formatter, the linter and the browser's target unless they are there.
pub(crate) fn toolchain() -> Result<()> {
    ensure(&["component", "list", "--installed"], "rustfmt", &["component", "add", "rustfmt"])?;
    ensure(&["component", "list", "--installed"], "clippy", &["component", "add", "clippy"])?;
    ensure(&["target", "list", "--installed"], WASM, &["target", "add", WASM])
}

fn ensure(list: &[&str], wanted: &str, install: &[&str]) -> Result<()> {
    let installed = process::run_quietly(&mut rustup(list), INSTALL_LIMIT)
        .context("rustup is needed to install what the build uses")?;
    if installed.iter().any(|line| line.starts_with(wanted)) {
        println!("{wanted} is installed");
        return Ok(());
    }
    process::run(&mut rustup(install), INSTALL_LIMIT).map(drop)
}

fn rustup(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(arguments).current_dir(workspace::root());
    command
}
