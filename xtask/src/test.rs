//! `cargo xtask test`: every test there is, from the unit tests to clusters with foreign clients.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::steps::{self, Step};
use crate::{browser, cluster, compat, faults, fetch, tools, wasm, workspace};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave out what starts clusters and foreign clients
    #[arg(long)]
    quick: bool,

    /// Only the steps with this in their name; those that start clusters use the binary of the last debug build
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// The cores that a browser can run too, and what runs there.
const WASM_CRATES: [&str; 7] = [
    "highwater-log-core",
    "highwater-kafka-wire",
    "highwater-replica-core",
    "highwater-metadata-core",
    "highwater-coordinator-core",
    "highwater-client-core",
    "highwater-client-wasm",
];

/// Any number does; another one is another set of random inputs.
pub(crate) const PROPTEST_SEED: &str = "20261201";

/// Runs everything.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut first = vec![Step::inside("toolchain", tools::toolchain)];
    let mut all = steps();
    if !options.quick {
        if options.only.is_none() {
            first.push(fetch::begun());
            all.push(fetch::awaited());
        }
        all.extend(cluster_steps());
    }
    if let Some(text) = &options.only {
        all.retain(|step| step.name().contains(text.as_str()));
    }
    first.push(pages());
    first.append(&mut all);
    steps::run(first)
}

/// The browser's client and its pages, which every broker that is tested has in it.
pub(crate) fn pages() -> Step {
    Step::inside("pages for browsers", || wasm::tree().map(drop))
}

/// The tests that need nothing but Rust.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        // A snapshot that differs is a failure; accepting it is a decision that a person makes. Random inputs are the same in
        // every run, so that a change is judged by what it changed; `cargo test` by itself draws new ones each time.
        Step::cargo("tests", &["test", "--quiet", "--locked", "--workspace", "--no-fail-fast"], 25)
            .with_pages()
            .with("INSTA_UPDATE", "no")
            .with("PROPTEST_RNG_SEED", PROPTEST_SEED),
        Step::cargo("crates for the browser", &wasm_arguments(), 10),
    ]
}

/// The tests that start clusters and foreign clients.
pub(crate) fn cluster_steps() -> Vec<Step> {
    // The tests have built the binary; as a user has it, it would take minutes more.
    let mut all = vec![
        // The story that watches a broker's system calls is skipped without it.
        Step::inside("strace", || tools::program("strace", "strace")),
        Step::inside("cluster --run", || cluster::restart::check(&debug_binary())),
        Step::inside("compatibility, small", || compat::small(&debug_binary())),
        Step::inside("browser", browser::all),
    ];
    all.extend(faults::steps());
    all
}

/// The binary that the tests have built.
pub(crate) fn debug_binary() -> PathBuf {
    workspace::target_dir().join("debug/highwater")
}

fn wasm_arguments() -> Vec<&'static str> {
    let mut arguments = vec!["clippy", "--quiet", "--locked", "--lib", "--target", tools::WASM];
    for name in WASM_CRATES {
        arguments.extend(["--package", name]);
    }
    arguments.extend(["--", "-D", "warnings"]);
    arguments
}
