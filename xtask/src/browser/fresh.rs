//! A fresh project, as a web developer would begin one: it installs the packed package, checks its types strictly, builds
//! with Vite, and what was built runs in the browser.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cluster::node::Node;
use crate::wasm::{self, package};
use crate::{process, workspace};

const LIMIT: Duration = Duration::from_secs(300);

/// Builds the project and runs it against a broker.
pub(super) fn check(folder: &Path, programs: &Path, package: &Path, broker: Option<&Node>) -> Result<()> {
    let broker = broker.context("a cluster has at least one node")?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let sources = workspace::root().join("crates/client-wasm/tests/fresh-project");
    fs::create_dir_all(folder)?;
    for name in ["package.json", "tsconfig.json", "index.html", "main.ts"] {
        fs::copy(sources.join(name), folder.join(name)).with_context(|| name.to_owned())?;
    }
    let tarball = package::pack(package, folder)?;
    process::run_quietly(wasm::npm(folder).arg("install").arg(&tarball), LIMIT)?;
    // The tools are installed once, beside all projects.
    let bin = programs.join("node_modules/.bin");
    process::run_quietly(Command::new(bin.join("tsc")).args(["--project", "."]).current_dir(folder), LIMIT)
        .context("the types of the package do not check under strict")?;
    process::run_quietly(
        Command::new(bin.join("vite")).args(["build", "--logLevel", "warn"]).current_dir(folder),
        LIMIT,
    )
    .context("Vite does not build the package")?;
    let built = fs::read_dir(folder.join("dist/assets"))?.filter_map(Result::ok);
    let has_module = built.into_iter().any(|file| file.path().extension() == Some("wasm".as_ref()));
    ensure!(has_module, "Vite has not taken the WebAssembly module along");
    let mut node = Command::new("node");
    node.arg(workspace::root().join("crates/client-wasm/tests/browser/built.mjs")).arg(folder.join("dist"));
    node.arg(format!("http://127.0.0.1:{}", broker.ports.http));
    node.env("BROWSER_TOOLS", programs).env("CHROMIUM", "/usr/bin/chromium");
    process::run_quietly(&mut node, LIMIT).context("what Vite has built does not run")?;
    println!("ok     fresh-project: {} installs, checks under strict, builds, runs", tarball.display());
    Ok(())
}
