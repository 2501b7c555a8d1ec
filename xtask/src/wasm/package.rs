//! The npm package: the tree's client, with the JavaScript bundled into one module that has a source map, and the
//! WebAssembly made smaller and faster by `wasm-opt`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{WASM_FILE, npm, place};
use crate::{process, tools, workspace};

/// What the package may weigh, gzipped: what a page downloads.
const GZIP_BYTES_MAX: usize = 350_000;
const LIMIT: Duration = Duration::from_secs(300);
/// What optimises; pinned, so that the same source gives the same package.
const TOOLS: [&str; 2] = ["binaryen@132.0.0", "esbuild@0.28.2"];
/// What goes into the package as it lies beside the JavaScript.
const AS_THEY_ARE: [&str; 3] = ["index.d.ts", "README.md", "package.json"];

/// Makes `package/` beside the build from the tree.
pub(crate) fn make(tree: &Path) -> Result<PathBuf> {
    tools::program("npm", "npm")?;
    let client = tree.join("client");
    let package = workspace::target_dir().join("package");
    let programs = install(&folder_of_tools())?;
    fs::create_dir_all(&package)?;
    bundle(&programs, &client, &package)?;
    optimise(&programs, &client.join(WASM_FILE), &package.join(WASM_FILE))?;
    for name in AS_THEY_ARE {
        place::copy(&super::sources().join(name), &package.join(name))?;
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        place::copy(&workspace::root().join(name), &package.join(name))?;
    }
    weigh(&package)?;
    Ok(package)
}

/// Installs what makes it.
pub(crate) fn fetch() -> Result<()> {
    tools::program("npm", "npm")?;
    install(&folder_of_tools()).map(drop)
}

fn folder_of_tools() -> PathBuf {
    workspace::target_dir().join("package-tools")
}

/// Packs the package as npm would publish it, into `folder`.
pub(crate) fn pack(package: &Path, folder: &Path) -> Result<PathBuf> {
    let mut command = npm(package);
    let lines = process::run_quietly(command.args(["pack", "--pack-destination"]).arg(folder), LIMIT)?;
    let name = lines.last().context("npm pack names the file that it has made")?;
    Ok(folder.join(name))
}

fn install(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let stamp = folder.join("installed");
    let wanted = TOOLS.join(" ");
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        println!("installing {wanted}");
        place::write(&folder.join("package.json"), b"{ \"private\": true }\n")?;
        process::run_quietly(npm(folder).arg("install").args(TOOLS), LIMIT)?;
        fs::write(stamp, wanted)?;
    }
    Ok(folder.join("node_modules/.bin"))
}

/// One module of all, with the names of the sources.
fn bundle(programs: &Path, client: &Path, package: &Path) -> Result<()> {
    let mut esbuild = Command::new(programs.join("esbuild"));
    esbuild.args(["index.js", "--bundle", "--format=esm", "--target=es2022", "--sourcemap"]);
    esbuild.args(["--minify-whitespace", "--minify-syntax"]);
    esbuild.args(["--sources-content=true", "--legal-comments=none", "--log-level=warning"]);
    esbuild.arg(format!("--outfile={}", package.join("index.js").display())).current_dir(client);
    process::run_quietly(&mut esbuild, LIMIT).map(drop)
}

/// More than `-O1` inlines and reorders, and what is downloaded gets heavier by a tenth (measured, gzipped).
fn optimise(programs: &Path, from: &Path, to: &Path) -> Result<()> {
    let mut wasm_opt = Command::new(programs.join("wasm-opt"));
    wasm_opt.args(["-O1", "--enable-bulk-memory", "--enable-nontrapping-float-to-int", "--enable-sign-ext"]);
    wasm_opt.args(["--enable-mutable-globals", "--enable-reference-types", "--enable-multivalue"]);
    wasm_opt.args(["--enable-bulk-memory-opt", "--strip-debug"]).arg(from).arg("-o").arg(to);
    process::run_quietly(&mut wasm_opt, LIMIT).map(drop)
}

fn weigh(package: &Path) -> Result<()> {
    let mut total = 0;
    for name in ["index.js", WASM_FILE] {
        let bytes = fs::read(package.join(name))?;
        let zipped = gzipped(&bytes)?;
        println!("{name:<20} {:>8} bytes, {zipped:>7} gzipped", bytes.len());
        total += zipped;
    }
    println!("{:<20} {:>8}        {total:>7} gzipped, of {GZIP_BYTES_MAX} that it may be", "all", "");
    ensure!(total <= GZIP_BYTES_MAX, "the package has grown to {total} bytes gzipped");
    Ok(())
}

fn gzipped(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}
