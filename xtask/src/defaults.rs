//! `cargo xtask defaults`: the table of every default that stands in code (timeouts, intervals, sizes, limits), in `docs/defaults.md`.
//! It is read out of the sources: constants with a unit or a limit in their names or types, and the values of the options structs, each
//! with the first sentence of its documentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Where the table is.
const PAGE: &str = "docs/defaults.md";

const HEAD: &str = "# Defaults

Every timeout, interval, size and limit that stands in code, by crate. `cargo xtask fix` writes this page out of the sources. The settings of
a broker are in [configuration.md](configuration.md), those of topics in Kafka's own terms in `highwater topic describe`.
";

/// Integer constants with one of these in their names are defaults; durations always are.
const WORDS: [&str; 8] = ["_MAX", "_MIN", "DEFAULT", "_MS", "INTERVAL", "_KEPT", "TIMEOUT", "_BYTES"];
const INTEGERS: [&str; 9] = ["u8", "u16", "u32", "u64", "usize", "i16", "i32", "i64", "i8"];

/// Functions in whose bodies an options struct gets its values.
const MAKERS: [&str; 2] = ["fn default() -> Self", "pub const fn new(subscription"];

/// One row.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    value: String,
    about: String,
}

/// Writes the page, or fails if it is not as the sources say.
pub(crate) fn run(check: bool) -> Result<()> {
    let path = workspace::root().join(PAGE);
    let page = page()?;
    if !check {
        return fs::write(&path, page).with_context(|| format!("{PAGE} cannot be written"));
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    ensure!(found == page, "{PAGE} is not as the sources say; cargo xtask fix writes it");
    println!("{PAGE} is as the sources say");
    Ok(())
}

fn page() -> Result<String> {
    let mut crates: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut paths = workspace::source_files()?;
    // Files that are not added yet stand in the order in which they will.
    paths.sort();
    for path in paths {
        let Some(krate) = product_crate(&path) else { continue };
        let text = fs::read_to_string(workspace::root().join(&path)).unwrap_or_default();
        if !text.starts_with("// @generated") {
            crates.entry(krate.to_owned()).or_default().extend(rows(&text));
        }
    }
    let undocumented = crates.values().flatten().filter(|row| row.about.is_empty());
    let undocumented: Vec<&str> = undocumented.map(|row| row.name.as_str()).collect();
    ensure!(undocumented.is_empty(), "no documentation says what these are: {}", undocumented.join(", "));
    let mut page = HEAD.to_owned();
    for (krate, rows) in crates.iter().filter(|(_, rows)| !rows.is_empty()) {
        page += &format!("\n## {krate}\n\n| default | value | what it is |\n|---|---|---|\n");
        for Row { name, value, about } in rows {
            page += &format!("| `{name}` | {value} | {about} |\n");
        }
    }
    Ok(page)
}

/// The crate of a source file that is part of the product, none for tests and what only tests use.
fn product_crate(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", krate, "src", inside @ ..] = parts.as_slice() else { return None };
    let for_tests = |part: &&str| matches!(part.trim_end_matches(".rs"), "tests" | "testing" | "harness");
    (path.extension()? == "rs" && !inside.iter().any(for_tests)).then_some(*krate)
}

fn rows(text: &str) -> Vec<Row> {
    let product = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let lines: Vec<&str> = product.lines().collect();
    let mut rows: Vec<Row> = (0..lines.len()).filter_map(|at| constant(&lines, at)).collect();
    rows.extend((0..lines.len()).flat_map(|at| fields(&lines, at)));
    rows
}

/// A constant that is a default.
fn constant(lines: &[&str], at: usize) -> Option<Row> {
    let line = lines.get(at)?.trim_start();
    let declared =
        line.strip_prefix("const ").or_else(|| line.split_once(" const ").map(|(_, rest)| rest))?;
    let (name, rest) = declared.split_once(": ")?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let (kind, value) = rest.split_once(" = ")?;
    let limit = INTEGERS.contains(&kind) && WORDS.iter().any(|word| name.contains(word));
    let wanted = is_name && (limit || kind.rsplit("::").next() == Some("Duration"));
    let value = value.strip_suffix(';')?;
    wanted.then(|| Row { name: name.to_owned(), value: shown(value), about: about(lines, at) })
}

/// The fields of an options struct whose values are made from this line on.
fn fields(lines: &[&str], at: usize) -> Vec<Row> {
    let Some(line) = lines.get(at) else { return Vec::new() };
    if !MAKERS.iter().any(|maker| line.contains(maker)) {
        return Vec::new();
    }
    let before = lines.get(..at).unwrap_or_default();
    let owner = before.iter().rev().find_map(|line| line.strip_prefix("impl "));
    let Some(owner) = owner.and_then(|line| line.trim_end_matches(" {").split(' ').next_back()) else {
        return Vec::new();
    };
    let body = lines.get(at + 1..).unwrap_or_default().iter().take_while(|line| **line != "    }");
    let one_line = |line: &str| {
        line.trim().strip_prefix("Self { ").map(|rest| rest.trim_end_matches(" }").replace(", ", ",\n"))
    };
    let body: String = body.map(|line| one_line(line).unwrap_or_else(|| (*line).to_owned()) + "\n").collect();
    let values = body.lines().filter_map(|line| line.trim().split_once(": "));
    let row = |(field, value): (&str, &str)| {
        let declared =
            lines.iter().position(|line| line.trim_start().starts_with(&format!("pub {field}: ")))?;
        let value = shown(value.trim_end_matches(','));
        Some(Row { name: format!("{owner}::{field}"), value, about: about(lines, declared) })
    };
    values.filter_map(row).collect()
}

/// The first sentence of the documentation above a line.
fn about(lines: &[&str], at: usize) -> String {
    let above = lines.get(..at).unwrap_or_default().iter().rev().map(|line| line.trim_start());
    let docs: Vec<&str> = above
        .skip_while(|line| line.starts_with("#["))
        .map_while(|line| line.strip_prefix("///"))
        .map(str::trim)
        .collect();
    let text = docs.into_iter().rev().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    text.get(..end).unwrap_or_default().replace('|', "\\|")
}

/// A duration as people write it; anything else as it stands in code.
fn shown(value: &str) -> String {
    let call = value.rsplit("::").next().unwrap_or(value);
    for (function, unit) in [("from_secs(", "s"), ("from_millis(", "ms"), ("from_micros(", "µs")] {
        let argument = call.strip_prefix(function).and_then(|rest| rest.strip_suffix(')'));
        if let Some(argument) = argument {
            return format!("{argument} {unit}");
        }
    }
    if value.ends_with("Duration::ZERO") { "none".to_owned() } else { format!("`{value}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! Head.

/// How long one waits. More about it.
pub(crate) const WAIT: core::time::Duration = Duration::from_millis(20);
/// Bytes at once.
#[allow(dead_code)]
const PIECE_BYTES: usize = 64 << 10;
const OTHER: u64 = 7;

/// Options.
pub struct Options {
    /// How often.
    /// In all.
    pub every: Duration,
    /// How many | at most.
    pub most: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { every: Duration::ZERO, most: 5 }
    }
}

#[cfg(test)]
const TEST_BYTES: usize = 1;
";

    #[test]
    fn constants_and_options_are_found_with_their_meanings() {
        let row = |name: &str, value: &str, about: &str| Row {
            name: name.to_owned(),
            value: value.to_owned(),
            about: about.to_owned(),
        };
        assert_eq!(
            rows(SOURCE),
            [
                row("WAIT", "20 ms", "How long one waits."),
                row("PIECE_BYTES", "`64 << 10`", "Bytes at once."),
                row("Options::every", "none", "How often."),
                row("Options::most", "`5`", "How many \\| at most."),
            ]
        );
    }

    #[test]
    fn what_only_tests_use_is_left_out() {
        assert_eq!(product_crate(Path::new("crates/disk/src/tests/full.rs")), None);
        assert_eq!(product_crate(Path::new("crates/disk/tests/a.rs")), None);
        assert_eq!(product_crate(Path::new("crates/disk/src/real.rs")), Some("disk"));
    }
}
