//! The rules, one function each. A file that must break one says why where the rule tells it to.

use super::Fault;
use super::source::{Source, has_word};
use crate::layers;

/// Above this many lines a file is due to be split by subject.
const LINES_WARNED: usize = 600;
/// Above this many lines it is refused.
const LINES_MAX: usize = 800;

/// Crates outside the cores whose threads must not wait for each other, either.
const SHARD_CRATES: [&str; 3] = ["disk", "replica", "broker"];

/// A file of those that does its work off the shard threads starts a line of its head with this and a reason.
const LOCK_REASON: &str = "//! Locks: ";

/// A harness that waits for other processes starts a line of its head with this and a reason.
const PAUSE_REASON: &str = "//! Pauses: ";

/// What is refused in any text. The halves keep this file clear of its own rule.
const PROMISES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const STUBS: [&str; 2] = [concat!("todo", "!("), concat!("unimplemented", "!(")];
const MACHINE_FOLDERS: [&str; 5] = ["home", "root", "work", "Users", "tmp"];

/// Words that say nothing about what a type does.
const EMPTY_WORDS: [&str; 6] = ["Manager", "Helper", "Helpers", "Util", "Utils", "Impl"];
const EMPTY_FILES: [&str; 5] = ["util.rs", "utils.rs", "helper.rs", "helpers.rs", "common.rs"];

/// What builds deliberate breaches in, and what switches them on: the simulator may ask for it, and the file of the switch.
const BREACHES: &str = "highwater_mutations";
const BREACH_SWITCH: &str = "switch_on";
const BREACH_FILE: &str = "crates/log-core/src/mutation.rs";

/// The rules for every text file.
pub(super) fn of_text(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(word) = PROMISES.iter().find(|word| has_word(line, word)) {
            faults.push(Fault::failure(number, format!("{word}: do it, or file an issue")));
        }
        if let Some(path) = machine_path(line) {
            faults.push(Fault::failure(number, format!("{path} is a path of one machine")));
        }
    }
    faults
}

/// The rules for Rust files.
pub(super) fn of_rust(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    stubs(source, &mut faults);
    if source.is_generated() {
        return faults;
    }
    head(source, &mut faults);
    length(source, &mut faults);
    locks(source, &mut faults);
    tests(source, &mut faults);
    names(source, &mut faults);
    no_std(source, &mut faults);
    breaches(source, &mut faults);
    faults
}

fn machine_path(line: &str) -> Option<&str> {
    for (at, _) in line.match_indices('/') {
        // A path that starts here, not one that goes on (`https://x/home`, `a/work`), nor a relative one.
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '}' | '*' | ')'))
        {
            continue;
        }
        let path = line.get(at + 1..)?;
        let end = path.find(|c: char| !c.is_alphanumeric() && !"/_.-".contains(c)).unwrap_or(path.len());
        let path = path.get(..end)?;
        let (folder, rest) = path.split_once('/').unwrap_or((path, ""));
        if MACHINE_FOLDERS.contains(&folder) && rest.starts_with(|c: char| c.is_alphanumeric()) {
            return line.get(at..=at + end);
        }
    }
    None
}

fn stubs(source: &Source, faults: &mut Vec<Fault>) {
    for (number, line) in source.lines() {
        if let Some(stub) = STUBS.iter().find(|stub| line.contains(*stub)) {
            faults.push(Fault::failure(number, format!("{stub}..): write it, or leave it out")));
        }
    }
}

fn head(source: &Source, faults: &mut Vec<Fault>) {
    if !source.text.starts_with("//! ") {
        faults.push(Fault::failure(1, "starts without a //! line that says what the file holds"));
    }
}

fn length(source: &Source, faults: &mut Vec<Fault>) {
    let lines = source.text.lines().count();
    if lines > LINES_MAX {
        faults.push(Fault::failure(
            lines,
            format!("{lines} lines; the limit is {LINES_MAX}, split it by subject"),
        ));
    } else if lines > LINES_WARNED {
        faults.push(Fault::warning(lines, format!("{lines} lines; split it by subject before it grows")));
    }
}

fn locks(source: &Source, faults: &mut Vec<Fault>) {
    let Some(krate) = source.krate() else { return };
    if !source.path.iter().any(|part| part == "src") {
        return;
    }
    let is_core = layers::is_core(krate);
    let in_shard_crate = SHARD_CRATES.contains(&krate);
    let excused = !is_core && source.text.lines().any(|line| line.starts_with(LOCK_REASON));
    if !(is_core || in_shard_crate) || excused {
        return;
    }
    for (number, line) in source.lines() {
        if !is_core && number >= source.first_test_line() {
            break;
        }
        if let Some(word) = ["Mutex", "RwLock", "Condvar"].iter().find(|word| has_word(line, word)) {
            let text = if is_core {
                format!("{word} in a core: a core is a value that one thread owns")
            } else {
                format!(
                    "{word} where shards run; a file off their threads says so in its head: {LOCK_REASON}why"
                )
            };
            faults.push(Fault::failure(number, text));
        }
    }
}

fn tests(source: &Source, faults: &mut Vec<Fault>) {
    let first = source.first_test_line();
    let may_pause = source.text.lines().any(|line| line.starts_with(PAUSE_REASON));
    for (number, line) in source.lines().filter(|(number, _)| *number >= first) {
        if line.contains("sleep(") && !may_pause {
            faults.push(Fault::failure(number, "a sleep in a test: wait for the condition itself"));
        }
        if line.contains("#[ignore") {
            faults.push(Fault::failure(number, "an ignored test: mend it or delete it"));
        }
    }
}

fn names(source: &Source, faults: &mut Vec<Fault>) {
    let file = source.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if EMPTY_FILES.contains(&file) {
        faults.push(Fault::failure(1, format!("{file} is named for nothing; name it for what it holds")));
    }
    for (number, line) in source.lines() {
        let Some(name) = declared_type(line) else { continue };
        if let Some(word) = EMPTY_WORDS.iter().find(|word| has_part(name, word)) {
            faults.push(Fault::failure(number, format!("{name}: {word} does not say what it does")));
        }
    }
}

fn declared_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line
        .strip_prefix("pub ")
        .or_else(|| line.split_once(") ").filter(|(head, _)| head.starts_with("pub(")).map(|(_, tail)| tail))
        .unwrap_or(line);
    let name =
        ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|word| line.strip_prefix(word))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    name.get(..end)
}

/// Whether `part` is one of the words of which the type's name is made.
fn has_part(name: &str, part: &str) -> bool {
    name.match_indices(part).any(|(at, _)| {
        let after = name.get(at + part.len()..).and_then(|tail| tail.chars().next());
        !after.is_some_and(char::is_lowercase)
    })
}

/// The cores that promise to build without the standard library say so, and contain no unsafe code.
fn no_std(source: &Source, faults: &mut Vec<Fault>) {
    let required: &[&str] = match source.krate() {
        Some("log-core" | "kafka-wire") => &["#![no_std]", "#![forbid(unsafe_code)]"],
        Some("replica-core") => &["#![no_std]"],
        _ => return,
    };
    if !source.path.ends_with("src/lib.rs") {
        return;
    }
    for attribute in required {
        if !source.code.contains(attribute) {
            faults.push(Fault::failure(1, format!("lacks {attribute}")));
        }
    }
}

/// Breaches of rules are for the simulator to find: nothing else asks whether they are built in, nor switches one on.
fn breaches(source: &Source, faults: &mut Vec<Fault>) {
    if source.krate() == Some("simulator") || source.path.ends_with(BREACH_FILE) {
        return;
    }
    for (number, line) in source.lines() {
        if has_word(line, BREACHES) || has_word(line, BREACH_SWITCH) {
            faults.push(Fault::failure(
                number,
                "a breach is one expression: mutated(Mutation::X, right, wrong)",
            ));
        }
    }
}

/// No manifest or script builds breaches in; the lint table names the switch only so that the compiler knows it.
pub(super) fn of_settings(text: &str) -> Vec<Fault> {
    let lines = (1..).zip(text.lines());
    let named = lines.filter(|(_, line)| line.contains(BREACHES) && !line.contains("check-cfg"));
    named
        .map(|(number, _)| {
            Fault::failure(number, "breaches are built in by `cargo xtask sim --mutations` alone")
        })
        .collect()
}

#[cfg(test)]
mod tests;
