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
    wasm_target()
}

/// Installs the browser's target unless it is there.
pub(crate) fn wasm_target() -> Result<()> {
    ensure(&["target", "list", "--installed"], WASM, &["target", "add", WASM])
}

fn ensure(list: &[&str], wanted: &str, install: &[&str]) -> Result<()> {
    let installed = process::run_quietly(&mut rustup(list), INSTALL_LIMIT)
        .context("rustup is needed to install what the build uses")?;
    if installed.iter().any(|line| line.starts_with(wanted)) {
        return Ok(());
    }
    process::run(&mut rustup(install), INSTALL_LIMIT).map(drop)
}

/// Installs a program by the system's package `package` unless it is there.
pub(crate) fn program(name: &str, package: &str) -> Result<()> {
    if Command::new("sh").args(["-c", &format!("command -v {name}")]).output()?.status.success() {
        return Ok(());
    }
    println!("installing {package}");
    let refresh = process::run_quietly(Command::new("apt-get").args(["update", "--quiet"]), INSTALL_LIMIT);
    let mut install = Command::new("apt-get");
    install.args(["install", "--quiet", "--yes", "--no-install-recommends", package]);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    refresh.and_then(|_| process::run_quietly(&mut install, INSTALL_LIMIT)).map(drop).with_context(|| {
        format!("{name} is not there and {package} could not be installed; install it yourself")
    })
}

fn rustup(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(arguments).current_dir(workspace::root());
    command
}
