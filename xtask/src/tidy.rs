//! `cargo xtask tidy`: what the house style asks of files and neither compiler nor clippy sees. The rules are in
//! `tidy/rules.rs`, one function each; this file walks the tree and reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

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
    let sources = workspace::source_files()?;
    let functions = functions(&root, &sources);
    for path in sources {
        let Some(faults) = faults_of(&root, &path, &functions)? else { continue };
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

/// The names of all functions, tests among them.
fn functions(root: &Path, sources: &[PathBuf]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in sources.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        let declared = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
        names.extend(declared.map(str::to_owned));
    }
    names
}

/// The faults of one file; `None` if no rule is about files of its kind.
fn faults_of(root: &Path, path: &Path, functions: &BTreeSet<String>) -> Result<Option<Vec<Fault>>> {
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
        "toml" | "sh" | "" => faults.extend(rules::of_settings(&text)),
        "md" => faults.extend(documents::dead_links(&text, |target| exists(root, path, target))),
        _ => {}
    }
    if path == Path::new(documents::TEST_PAGE) {
        faults.extend(documents::missing_tests(&text, |name| functions.contains(name)));
    }
    Ok(Some(faults))
}

fn exists(root: &Path, document: &Path, target: &str) -> bool {
    let folder = document.parent().unwrap_or(Path::new(""));
    root.join(folder).join(target).exists()
}
