//! `cargo xtask faults`: brokers are killed under load, again and again; and the steps of CI that tell every story of real clusters.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::cluster::build;
use crate::compat::python;
use crate::steps::{Step, cargo};
use crate::{process, wasm, workspace};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How often a broker is killed under each producer
    #[arg(long, default_value_t = 20, value_name = "N")]
    rounds: u32,

    /// The door of our own client in all rounds, instead of one door after the other
    #[arg(long, value_enum)]
    door: Option<Door>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Door {
    Tcp,
    Tls,
    Quic,
}

impl Door {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
        }
    }
}

/// Rounds in CI.
const ROUNDS: &str = "3";

/// What the stories are told of rounds and of the door.
const ROUNDS_NAME: &str = "HIGHWATER_FAULT_ROUNDS";
const DOOR_NAME: &str = "HIGHWATER_FAULT_DOOR";

/// Names the interpreter that has the foreign client.
const PYTHON_NAME: &str = "HIGHWATER_STORY_PYTHON";

/// The whole workspace is named so that nothing is built again that its tests have built with the same features.
const STORIES: [&str; 5] = ["test", "--locked", "--workspace", "--test", "cluster"];

/// For a disk on which a kill acts like a power cut; no default build has it.
const POWER_CUTS: &str = "highwater/unsynced-in-memory";

/// At most; about ten seconds are usual.
const ROUND_LIMIT: Duration = Duration::from_secs(90);
const BUILD_LIMIT: Duration = Duration::from_secs(1_200);

/// Kills brokers.
pub(crate) fn run(options: &Options) -> Result<()> {
    install()?;
    let mut command = cargo();
    if wasm::served().is_dir() {
        command.env(build::WEB_DIR, wasm::served());
    }
    command.args(STORIES).args([
        "--",
        "--test-threads",
        "1",
        "--nocapture",
        "leader_killed::",
        "confluent::",
    ]);
    command.env(ROUNDS_NAME, options.rounds.to_string()).env(PYTHON_NAME, python_path());
    if let Some(door) = options.door {
        command.env(DOOR_NAME, door.name());
    }
    process::run(&mut command, BUILD_LIMIT + ROUND_LIMIT * 3 * options.rounds).map(drop)
}

/// Every story of real clusters, and those that need a disk on which a kill acts like a power cut, with its own tests.
pub(crate) fn steps() -> Vec<Step> {
    let alone = ["--quiet", "--", "--test-threads", "1"];
    let power_cuts = ["--quiet", "--lib", "--features", POWER_CUTS, "--", "unsynced::", "power_cut::"];
    vec![
        Step::inside("confluent-kafka", install),
        Step::cargo("stories of clusters", &[&STORIES[..], &alone[..]].concat(), 15)
            .with_pages()
            .with(ROUNDS_NAME, ROUNDS)
            .with(PYTHON_NAME, &python_path().to_string_lossy()),
        Step::cargo("stories of power cuts", &[&STORIES[..], &power_cuts[..]].concat(), 15).with_pages(),
    ]
}

/// Clippy, for what it does not see by itself: the stories, and what only tests build.
pub(crate) fn clippy() -> Step {
    let mut arguments = vec!["clippy", "--quiet", "--locked", "--workspace", "--features", POWER_CUTS];
    arguments.extend(["--lib", "--bins", "--test", "cluster", "--", "-D", "warnings"]);
    Step::cargo("clippy, stories", &arguments, 10).with_pages()
}

fn install() -> Result<()> {
    std::fs::create_dir_all(folder())?;
    python::install(&folder()).map(drop)
}

fn folder() -> PathBuf {
    workspace::target_dir().join("compat")
}

fn python_path() -> PathBuf {
    python::interpreter(&folder())
}
