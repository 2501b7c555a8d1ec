//! `cargo xtask tidy`: what the house style asks of files and neither compiler nor clippy sees. The rules are in
//! `tidy/rules.rs`, one function each; this file walks the tree and reports.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

mod documents;
mod rules;
mod source;

use source::Source;

/// Something that a rule has against a line of a file.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    /// From 1.
    line: usize,
    text: String,
    weight: Weight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Warning,
    Failure,
}

impl Fault {
    fn failure(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), weight: Weight::Failure }
    }

    fn warning(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), weight: Weight::Warning }
    }
}

/// Checks every tracked text file.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let mut files = 0;
    let mut failures = 0;
    for path in workspace::source_files()? {
        let Some(faults) = faults_of(&root, &path)? else { continue };
        files += 1;
        for fault in faults {
            let word = match fault.weight {
                Weight::Warning => "warning: ",
                Weight::Failure => "",
            };
            failures += usize::from(fault.weight == Weight::Failure);
            println!("{}:{}: {word}{}", path.display(), fault.line, fault.text);
        }
    }
    ensure!(failures == 0, "{failures} places are not tidy; the rules are in xtask/src/tidy/rules.rs");
    println!("{files} files are tidy");
    Ok(())
}

/// The faults of one file; `None` if no rule is about files of its kind.
fn faults_of(root: &Path, path: &Path) -> Result<Option<Vec<Fault>>> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let known = matches!(extension, "rs" | "md" | "toml" | "sh" | "schema") || path.starts_with(".ci");
    if !known || !root.join(path).is_file() {
        return Ok(None);
    }
    let text =
        fs::read_to_string(root.join(path)).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut faults = rules::of_text(&text);
    match extension {
        "rs" => faults.extend(rules::of_rust(&Source::new(path, &text))),
        "md" => faults.extend(documents::dead_links(&text, |target| exists(root, path, target))),
        _ => {}
    }
    Ok(Some(faults))
}

fn exists(root: &Path, document: &Path, target: &str) -> bool {
    let folder = document.parent().unwrap_or(Path::new(""));
    root.join(folder).join(target).exists()
}
