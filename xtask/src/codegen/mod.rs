//! `cargo xtask codegen`: the Kafka messages of `kafka-wire` as plain Rust, from the schemas beside them.
//!
//! With `--check` nothing is written; a file that differs from what the schemas say is an error that names it.

mod decode;
mod encode;
mod index;
mod parse;
mod rust;
mod schema;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};

use schema::Api;

/// Writes the generated files, or checks that they are as the schemas say.
pub(crate) fn run(check: bool) -> Result<()> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/kafka-wire");
    let apis = read_schemas(&crate_dir.join("schemas"))?;
    let files = generate(&crate_dir, &apis)?;
    let mut stale = left_over(&crate_dir.join("src/messages"), &files)?;
    for (path, text) in &files {
        if fs::read_to_string(path).ok().as_ref() == Some(text) {
            continue;
        }
        stale.push(path.clone());
        if !check {
            fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    if check && !stale.is_empty() {
        let names: Vec<_> = stale.iter().map(|path| path.display().to_string()).collect();
        bail!("not as the schemas say (run `cargo xtask codegen`):\n  {}", names.join("\n  "));
    }
    println!("codegen: {} APIs, {} files changed", apis.len(), stale.len());
    Ok(())
}

fn generate(crate_dir: &Path, apis: &[Api]) -> Result<Vec<(PathBuf, String)>> {
    let src = crate_dir.join("src");
    let mut files = vec![
        (src.join("api_key.rs"), index::api_key(apis)),
        (src.join("messages/mod.rs"), index::messages(apis)),
    ];
    for api in apis {
        files.push((src.join(format!("messages/{}.rs", api.module())), rust::module(api)));
    }
    for (path, code) in &mut files {
        *code = rustfmt(code).with_context(|| format!("formatting {}", path.display()))?;
    }
    files.push((crate_dir.join("../../docs/kafka-apis.md"), index::table_for_users(apis)));
    Ok(files)
}

fn read_schemas(dir: &Path) -> Result<Vec<Api>> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
    let glossary = parse::glossary(&read(&dir.join("glossary.txt"))?);
    let mut apis = Vec::new();
    for path in list(dir)?.iter().filter(|path| path.extension().is_some_and(|ext| ext == "api")) {
        let api = parse::api(&read(path)?, &glossary).with_context(|| format!("in {}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default();
        ensure!(stem == api.module().as_str(), "{} holds {}", path.display(), api.name);
        apis.push(api);
    }
    apis.sort_by_key(|api| api.number);
    Ok(apis)
}

/// Files in the folder of messages that no schema makes.
fn left_over(dir: &Path, files: &[(PathBuf, String)]) -> Result<Vec<PathBuf>> {
    let known = |path: &PathBuf| files.iter().any(|(file, _)| file == path);
    Ok(list(dir)?.into_iter().filter(|path| !known(path)).collect())
}

fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("listing {}", dir.display()))?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn rustfmt(code: &str) -> Result<String> {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--config-path"]).arg(config);
    let mut child =
        rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting rustfmt")?;
    child.stdin.take().context("rustfmt has a standard input")?.write_all(code.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests;
