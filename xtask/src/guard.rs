//! `cargo xtask guard`: how many instructions the hot paths of the cores take, counted by callgrind, beside the numbers that
//! `bench-cores/instructions.txt` keeps. Time depends on the machine; a number of instructions hardly does, so CI can judge it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{process, steps, tools, workspace};

mod baselines;

use baselines::{Baselines, Count};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Keep what is counted now as what later runs are compared with
    #[arg(long)]
    accept: bool,
}

const BUILD_LIMIT: Duration = Duration::from_secs(600);
const COUNT_LIMIT: Duration = Duration::from_secs(120);
const PACKAGE: &str = "bench-cores";

/// The function that the program does its work in; what comes before is not counted.
const COUNTED: &str = "*counted_by_callgrind*";

/// The C library copies memory in the way that the processor does best, and under callgrind it asks the processor, too. Without these
/// features it does it in the one way that every processor of this kind can; names that a version does not know are passed over.
const SAME_EVERYWHERE: &str = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX2_Usable,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,\
    -SSSE3,-SSE4_1,-SSE4_2,-Fast_Copy_Backward,-Fast_Unaligned_Copy,-AVX512F,-AVX512VL,-AVX512BW";

/// What the kept numbers were counted on; other processors have other instructions.
const ARCHITECTURE: &str = "x86_64";

/// Counts, then compares or keeps.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(reason) = unavailable()? {
        println!("not counted: {reason}");
        return Ok(());
    }
    let program = build()?;
    let names = process::run_quietly(&mut Command::new(&program), COUNT_LIMIT)?;
    let counts = names.iter().map(|name| count(&program, name)).collect::<Result<Vec<Count>>>()?;
    let now = Baselines { toolchain: toolchain()?, counts };
    let file = workspace::root().join(PACKAGE).join("instructions.txt");
    if options.accept {
        fs::write(&file, now.text()).with_context(|| format!("{} cannot be written", file.display()))?;
        println!("{}kept in {}", now.text(), file.display());
        return Ok(());
    }
    let kept = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let compared = Baselines::parse(&kept)?.compare(&now);
    println!("{}", compared.table);
    if !compared.faults.is_empty() {
        bail!("{}; if that is meant, keep it by `cargo xtask guard --accept`", compared.faults.join("; "));
    }
    Ok(())
}

/// What CI runs.
pub(crate) fn check() -> Result<()> {
    run(&Options { accept: false })
}

/// Installs valgrind; the reason if this machine cannot have it or cannot be compared. Where CI runs there is apt-get, so a failure
/// there is an error.
fn unavailable() -> Result<Option<String>> {
    if (env::consts::OS, env::consts::ARCH) != ("linux", ARCHITECTURE) {
        let here = format!("{} on {}", env::consts::OS, env::consts::ARCH);
        return Ok(Some(format!("the numbers are of linux on {ARCHITECTURE}, and this is {here}")));
    }
    match tools::program("valgrind", "valgrind") {
        Ok(()) => Ok(None),
        Err(error) if tools::is_there("apt-get")? => Err(error),
        Err(error) => Ok(Some(format!("{error}"))),
    }
}

fn build() -> Result<PathBuf> {
    let package = workspace::root().join(PACKAGE);
    let target = workspace::target_dir().join(PACKAGE);
    let mut cargo = steps::cargo();
    // The main workspace's other builds go elsewhere; flags of the caller would be other instructions.
    // Nor may whoever works incrementally: what is made inline would differ.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env("CARGO_INCREMENTAL", "0");
    cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
    cargo.arg(package.join("Cargo.toml")).arg("--target-dir").arg(&target);
    process::run(&mut cargo, BUILD_LIMIT)?;
    Ok(target.join("release").join("highwater-bench-cores"))
}

fn count(program: &Path, name: &str) -> Result<Count> {
    let out = workspace::target_dir().join(PACKAGE).join(format!("{name}.callgrind"));
    let mut valgrind = Command::new("valgrind");
    valgrind.env("GLIBC_TUNABLES", SAME_EVERYWHERE).args(["--tool=callgrind", "--quiet"]);
    valgrind.arg(format!("--toggle-collect={COUNTED}"));
    valgrind.arg(format!("--callgrind-out-file={}", out.display()));
    process::run_quietly(valgrind.arg(program).arg(name), COUNT_LIMIT)?;
    let told = fs::read_to_string(&out).with_context(|| format!("{} cannot be read", out.display()))?;
    let instructions = total(&told).with_context(|| format!("{} has no total", out.display()))?;
    ensure!(instructions > 0, "callgrind met no function {COUNTED} in {name}");
    Ok(Count { name: name.to_owned(), instructions })
}

/// What callgrind counted in all, at the end of its file.
fn total(told: &str) -> Option<u64> {
    told.lines()
        .rev()
        .find_map(|line| line.strip_prefix("totals: "))
        .and_then(|number| number.trim().parse().ok())
}

/// The compiler by its version and its commit, and the kind of machine it builds for.
fn toolchain() -> Result<String> {
    let mut rustc = Command::new("rustc");
    rustc.arg("--version").current_dir(workspace::root());
    let lines = process::run_quietly(&mut rustc, COUNT_LIMIT)?;
    let version = lines.first().context("rustc does not tell its version")?;
    Ok(format!("{version}, {ARCHITECTURE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_last_of_the_file() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 12\n\ntotals: 12\n"), Some(12));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }
}
