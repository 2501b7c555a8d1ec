//! `cargo xtask wasm`: the npm package of the browser client, and the tree of files that brokers serve. The tree needs
//! Rust alone, so that a cluster can be started without anything else; the package is optimised by tools from npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use wasm_bindgen_cli_support::Bindgen;

use crate::{steps, tools, workspace};

pub(crate) mod package;
mod place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Make only the tree that brokers serve, which needs no npm
    #[arg(long)]
    tree_only: bool,
}

/// The module's name: `highwater.js` and `highwater_bg.wasm`.
const MODULE: &str = "highwater";
const GLUE_FILE: &str = "highwater.js";
const WASM_FILE: &str = "highwater_bg.wasm";
/// What lies beside the JavaScript for the package alone, as documents do.
const MANIFEST: &str = "client/package.json";
/// The profile of the root manifest that is made for the browser.
const PROFILE: &str = "web";

/// Makes the tree and the package, and shows what they weigh.
pub(crate) fn run(options: &Options) -> Result<()> {
    let tree = tree()?;
    println!("{} is what brokers serve", tree.display());
    if options.tree_only { Ok(()) } else { package::make(&tree).map(drop) }
}

/// Makes the tree that brokers serve, with Rust alone, and says where it is. Files that did not change are left as they
/// are, so that the broker which embeds them is not built anew.
pub(crate) fn tree() -> Result<PathBuf> {
    tools::wasm_target()?;
    let bindings = bind(&build()?)?;
    let root = workspace::root();
    let mut contents = place::below(&root.join("web"), Path::new(""))?;
    contents.append(&mut place::below(&root.join("examples"), Path::new("examples"))?);
    contents.append(&mut place::below(&sources(), Path::new("client"))?);
    contents.retain(|to, _| to != Path::new(MANIFEST) && to.extension() != Some("md".as_ref()));
    for name in [GLUE_FILE, WASM_FILE] {
        contents.insert(Path::new("client").join(name), bindings.join(name));
    }
    let tree = served();
    place::mirror(&contents, &tree)?;
    Ok(tree)
}

/// Where the tree lies.
pub(crate) fn served() -> PathBuf {
    // Not `web`: there cargo keeps what it builds for this machine by the profile of that name.
    workspace::target_dir().join("served")
}

/// The JavaScript and its types.
fn sources() -> PathBuf {
    workspace::root().join("crates/client-wasm/js")
}

/// Builds the module as cargo leaves it.
fn build() -> Result<PathBuf> {
    let status = steps::cargo()
        .args(["build", "--quiet", "--locked", "--lib", "--package", "highwater-client-wasm"])
        .args(["--target", tools::WASM, "--profile", PROFILE])
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "highwater-client-wasm does not build for the browser");
    Ok(workspace::target_dir().join(tools::WASM).join(PROFILE).join("highwater_client_wasm.wasm"))
}

/// Makes the module as browsers take it and its glue, of the version of the library that the module is built with.
fn bind(module: &Path) -> Result<PathBuf> {
    let bindings = workspace::target_dir().join("web-bindings");
    let stamp = bindings.join("input");
    let bytes = fs::read(module).with_context(|| format!("{} is not there", module.display()))?;
    if fs::read(&stamp).ok().as_ref() != Some(&bytes) {
        fs::create_dir_all(&bindings)?;
        let mut bindgen = Bindgen::new();
        bindgen.web(true)?.typescript(false).remove_name_section(true).remove_producers_section(true);
        bindgen.reset_state_function(true).input_bytes(MODULE, bytes.clone()).generate(&bindings)?;
        fs::write(&stamp, &bytes)?;
    }
    Ok(bindings)
}

/// Npm, to be run in `folder`.
pub(crate) fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.args(["--no-audit", "--no-fund", "--loglevel", "error"]).current_dir(folder);
    command
}
