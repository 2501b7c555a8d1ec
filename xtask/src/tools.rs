//! What the toolchain needs beyond cargo, installed when it is missing.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{process, steps, workspace};

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

/// The compiler that instruments fuzz targets and brings Miri; products are never built with it.
const NIGHTLY: &str = "nightly";
const CARGO_FUZZ: &str = "cargo-fuzz";
const CARGO_FUZZ_VERSION: &str = "0.13.2";

/// Installs what fuzzing needs: a nightly compiler, a C++ compiler for libFuzzer, cargo-fuzz.
pub(crate) fn fuzzing() -> Result<()> {
    nightly()?;
    program("c++", "g++")?;
    if process::run_quietly(cargo_fuzz().arg("--version"), INSTALL_LIMIT).is_ok() {
        println!("{CARGO_FUZZ} is installed");
        return Ok(());
    }
    let mut install = nightly_cargo();
    install.args(["install", "--quiet", "--locked", "--version", CARGO_FUZZ_VERSION, "--root"]);
    install.arg(own_tools()).arg(CARGO_FUZZ);
    process::run(&mut install, INSTALL_LIMIT).map(drop)
}

/// Installs a nightly compiler unless there is one.
pub(crate) fn nightly() -> Result<()> {
    ensure(&["toolchain", "list"], NIGHTLY, &["toolchain", "install", NIGHTLY, "--profile", "minimal"])
}

/// Installs Miri, which is a part of the nightly toolchain, and the sources of the standard library, which it runs too.
pub(crate) fn miri() -> Result<()> {
    nightly()?;
    for component in ["miri", "rust-src"] {
        let list = ["component", "list", "--installed", "--toolchain", NIGHTLY];
        ensure(&list, component, &["component", "add", component, "--toolchain", NIGHTLY])?;
    }
    Ok(())
}

/// Cargo of the nightly toolchain.
pub(crate) fn nightly_cargo() -> Command {
    let mut command = steps::cargo();
    on_nightly(&mut command);
    command
}

/// cargo-fuzz, from where it was installed by this program or by the user.
pub(crate) fn cargo_fuzz() -> Command {
    let own = own_tools().join("bin").join(CARGO_FUZZ);
    let mut command = if own.is_file() { Command::new(own) } else { Command::new(CARGO_FUZZ) };
    command.current_dir(workspace::root());
    on_nightly(&mut command);
    command
}

fn on_nightly(command: &mut Command) {
    command.env("RUSTUP_TOOLCHAIN", NIGHTLY);
    // What the cargo that runs this program has set would bring its own compiler back, or end up in the programs built.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
        command.env_remove(name);
    }
}

/// Programs that only this workspace's commands use.
fn own_tools() -> PathBuf {
    workspace::target_dir().join("tools")
}

fn ensure(list: &[&str], wanted: &str, install: &[&str]) -> Result<()> {
    let installed = process::run_quietly(&mut rustup(list), INSTALL_LIMIT)
        .context("rustup is needed to install what the build uses")?;
    if installed.iter().any(|line| line.starts_with(wanted)) {
        return Ok(());
    }
    process::run(&mut rustup(install), INSTALL_LIMIT).map(drop)
}

/// Whether a program is there.
pub(crate) fn is_there(name: &str) -> Result<bool> {
    Ok(Command::new("sh").args(["-c", &format!("command -v {name}")]).output()?.status.success())
}

/// Installs a program by the system's package `package` unless it is there.
pub(crate) fn program(name: &str, package: &str) -> Result<()> {
    if is_there(name)? {
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
