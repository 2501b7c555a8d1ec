//! `cargo xtask browser`: the browser client in a real browser, against a cluster of three real brokers. The stories are
//! told by JavaScript, in `crates/client-wasm/tests/browser`; this makes what they need. The first one is a fresh project
//! that installs the packed package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::cluster::{self, Cluster};
use crate::wasm::{self, package};
use crate::{process, test, tools, workspace};

pub(crate) mod bench;
mod fresh;
mod link;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only these stories, comma-separated; `fresh-project` is the one that builds with Vite
    #[arg(long, value_delimiter = ',', value_name = "STORIES")]
    only: Vec<String>,

    /// Only this way to the brokers: webtransport or websocket
    #[arg(long, value_name = "CARRIER")]
    carrier: Option<String>,

    /// Tell stories of minutes in their whole length, and judge times as on a machine that does nothing else
    #[arg(long)]
    long: bool,

    /// Measure over a slow link with this package, in the network namespace that the benchmark has made
    #[arg(long, hide = true, value_name = "FOLDER", requires = "binary")]
    bench_link: Option<PathBuf>,

    /// Test this binary instead of building one; it has to have the browser's files in it
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

const STORIES_LIMIT: Duration = Duration::from_secs(1200);
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
/// What drives the browser, and what the fresh project is built with; pinned, so that a run is like the last one.
const PROGRAMS: [&str; 3] = ["playwright-core@1.65.1", "typescript@7.0.2", "vite@8.4.0"];
const CHROMIUM: &str = "chromium";
const FRESH: &str = "fresh-project";

/// What CI runs of it: everything, with the binary that the tests have built.
pub(crate) fn all() -> Result<()> {
    run(&Options {
        only: Vec::new(),
        carrier: None,
        long: false,
        bench_link: None,
        binary: Some(test::debug_binary()),
    })
}

/// Installs what they need from elsewhere.
pub(crate) fn fetch() -> Result<()> {
    Tools::fetch(&folder()).map(drop)
}

/// Where they keep their things.
fn folder() -> PathBuf {
    workspace::target_dir().join("browser")
}

/// Runs the stories.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some((package, binary)) = options.bench_link.as_ref().zip(options.binary.as_ref()) {
        return bench::inside(binary, package);
    }
    let folder = folder();
    let tools = Tools::install(&folder)?;
    unit_tests()?;
    let binary = options.binary.clone().map_or_else(cluster::build::release, Ok)?.canonicalize()?;
    let mut cluster = Cluster::prepare(&binary, &folder.join("cluster"), 3, true)?;
    ensure!(cluster.start()?.is_some(), "interrupted");
    let mut others: Vec<&str> = options.only.iter().map(String::as_str).collect();
    if others.is_empty() || others.contains(&FRESH) {
        fresh::check(&folder.join(FRESH), &tools.programs, &tools.package, cluster.layout.nodes.first())?;
        others.retain(|name| *name != FRESH);
        if others.is_empty() && !options.only.is_empty() {
            return Ok(());
        }
    }
    let mut stories = Command::new("node");
    stories.arg(tests().join("browser/run.mjs"));
    if !others.is_empty() {
        stories.args(["--only", &others.join(",")]);
    }
    if let Some(carrier) = &options.carrier {
        stories.args(["--carrier", carrier]);
    }
    stories.env("BROWSER_LONG", u8::from(options.long).to_string());
    tools.describe(&mut stories, &cluster, &binary, &folder);
    process::run(&mut stories, STORIES_LIMIT).map(drop)
}

/// What is tested, and what tests it.
struct Tools {
    /// The built package.
    package: PathBuf,
    /// A folder with the programs from npm.
    programs: PathBuf,
}

impl Tools {
    /// Installs what is not there and builds the package.
    fn install(folder: &Path) -> Result<Self> {
        let programs = Self::fetch(folder)?;
        Ok(Self { package: package::make(&wasm::tree()?)?, programs })
    }

    /// Installs what is not there, and says where the programs from npm are.
    fn fetch(folder: &Path) -> Result<PathBuf> {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        tools::program(CHROMIUM, CHROMIUM)?;
        tools::program("npm", "npm")?;
        install(&folder.join("tools"))
    }

    /// Tells the JavaScript where everything is.
    fn describe(&self, node: &mut Command, cluster: &Cluster, binary: &Path, folder: &Path) {
        node.env("HIGHWATER_CLUSTER", cluster.layout.description())
            .env("HIGHWATER_BINARY", binary)
            .env("BROWSER_PACKAGE", &self.package)
            .env("BROWSER_TOOLS", &self.programs)
            .env("BROWSER_ARTEFACTS", folder.join("artefacts"))
            .env("CHROMIUM", format!("/usr/bin/{CHROMIUM}"));
    }
}

fn tests() -> PathBuf {
    workspace::root().join("crates/client-wasm/tests")
}

/// The parts that need neither a browser nor a broker.
fn unit_tests() -> Result<()> {
    let files = fs::read_dir(tests().join("js"))?.filter_map(Result::ok).map(|entry| entry.path());
    let files = files.filter(|path| path.to_string_lossy().ends_with(".test.mjs"));
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot"]).args(files);
    process::run_quietly(&mut node, INSTALL_LIMIT)
        .map(drop)
        .context("the JavaScript of the client fails its tests")
}

/// Installs what drives and builds, and says where.
fn install(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let stamp = folder.join("installed");
    let wanted = PROGRAMS.join(" ");
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        println!("installing {wanted}");
        fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
        process::run_quietly(wasm::npm(folder).arg("install").args(PROGRAMS), INSTALL_LIMIT)?;
        fs::write(stamp, wanted)?;
    }
    Ok(folder.to_path_buf())
}
