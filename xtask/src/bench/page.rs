//! The measured part of `docs/performance.md`: written between two markers, so that what is explained beside it stays.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::measure::Plan;
use crate::compat::java;
use crate::workspace;

const PAGE: &str = "docs/performance.md";

/// Replaces what stands between the markers of `part`.
pub(crate) fn write(part: &str, text: &str) -> Result<()> {
    let path = workspace::root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("{PAGE} cannot be read"))?;
    let page = replaced(&page, part, text).with_context(|| format!("{PAGE} has no markers for {part}"))?;
    fs::write(&path, page).with_context(|| format!("{PAGE} cannot be written"))?;
    println!("{PAGE} is written");
    Ok(())
}

fn replaced(page: &str, part: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- measured: {part} -->\n"), format!("<!-- end of {part} -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{text}\n{end}{after}"))
}

/// The machine and the settings of the comparison, as one paragraph.
pub(super) fn conditions(plan: &Plan) -> String {
    format!(
        "{}; Apache Kafka {} on {}, G1, a heap of 1 GiB. \
         Medians of {} runs of {} s; each was under load for {} s before.",
        machine(),
        java::VERSION,
        output("sh", &["-c", "java -version 2>&1 | head -1 | tr -d '\"'"]),
        plan.runs,
        plan.run.as_secs(),
        plan.warm_up.as_secs()
    )
}

/// The commit and the machine: the beginning of a sentence.
pub(super) fn machine() -> String {
    let line = |path: &str, field: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let found = text.lines().find_map(|line| line.strip_prefix(field)?.split_once(':'));
        found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory: f64 = line("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    format!(
        "Measured at commit {} on {cores} cores ({}), {:.0} GiB of memory, Linux {}",
        output("git", &["rev-parse", "--short", "HEAD"]),
        line("/proc/cpuinfo", "model name"),
        memory / f64::from(1 << 20),
        // What follows a dash is the machine's own.
        output("uname", &["-r"]).split('-').next().unwrap_or_default(),
    )
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(workspace::root()).output();
    output.map_or_else(|_| "?".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let page = "a\n<!-- measured: x -->\nold\n<!-- end of x -->\nb\n";
        let expected = "a\n<!-- measured: x -->\n\nnew\n\n<!-- end of x -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").as_deref(), Some(expected));
        assert_eq!(replaced(page, "y", "new"), None);
    }
}
