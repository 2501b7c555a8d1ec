//! `cargo xtask ci`: what CI runs. Nothing in here writes to the tree, and the last step shows that nothing did.

use anyhow::{Result, bail};
use clap::Args;

use crate::steps::{self, Step};
use crate::{codegen, defaults, faults, fetch, fuzz, guard, layers, sim, soak, test, tidy, tools, workspace};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave out what starts clusters and foreign clients, and what needs a nightly compiler or valgrind
    #[arg(long)]
    quick: bool,
}

/// Runs the checks, then the tests.
pub(crate) fn run(options: &Options) -> Result<()> {
    let before = workspace::changes()?;
    let mut all = checks(options.quick);
    all.extend(test::steps());
    all.extend(sim::steps());
    if !options.quick {
        all.push(fetch::awaited());
        all.push(Step::inside("instruction counts", guard::check));
        all.extend(test::cluster_steps());
        all.push(Step::inside("soak, a share", soak::share));
        all.push(Step::inside("fuzzing, a share", fuzz::share));
    }
    let result = steps::run(all);
    let after = workspace::changes()?;
    if before != after {
        bail!("the tree was changed while it was checked:\n{after}");
    }
    result
}

fn checks(quick: bool) -> Vec<Step> {
    let mut all = vec![Step::inside("toolchain", tools::toolchain)];
    if !quick {
        all.push(fetch::begun());
    }
    all.extend([
        test::pages(),
        Step::cargo("format", &["fmt", "--all", "--check"], 2),
        Step::cargo("format of fuzz", &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"], 2),
        Step::cargo(
            "format of bench-clients",
            &["fmt", "--manifest-path", "bench-clients/Cargo.toml", "--check"],
            2,
        ),
        Step::cargo(
            "format of bench-cores",
            &["fmt", "--manifest-path", "bench-cores/Cargo.toml", "--check"],
            2,
        ),
        Step::inside("generated code", || codegen::run(true)),
        Step::inside("table of defaults", || defaults::run(true)),
        Step::inside("layers", layers::run),
        Step::inside("tidy", tidy::run),
        Step::cargo(
            "clippy",
            &["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"],
            15,
        )
        .with_pages(),
        faults::clippy(),
        Step::cargo("documentation", &["doc", "--quiet", "--locked", "--workspace", "--no-deps"], 10)
            .with("RUSTDOCFLAGS", "-D warnings"),
    ]);
    all
}
