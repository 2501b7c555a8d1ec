//! The files on disk, read by Kafka's own tool: sealed segments and, after a clean stop, the last ones too, each with
//! both of its indexes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::client::Tools;
use crate::cluster::layout::Layout;
use crate::process;

const LIMIT: Duration = Duration::from_secs(600);
/// One start of the Java tool reads so many files; a command line has an end.
const FILES_AT_ONCE: usize = 400;
/// Room for the largest batch that a topic takes by default, and more.
const BATCH_BYTES_MAX: &str = "16777216";

/// One way of calling the tool: with these arguments on files with these suffixes, and what each of its lines begins with
/// if all is well. Anything else that it says is a complaint: it ends with code 0 all the same.
struct Reading {
    arguments: &'static [&'static str],
    suffixes: &'static [&'static str],
    lines: &'static [&'static str],
    /// There must be at least one line that begins so.
    needed: &'static str,
}

const READINGS: [Reading; 4] = [
    Reading {
        arguments: &["--deep-iteration"],
        suffixes: &["log"],
        lines: &["Log starting offset: ", "baseOffset: ", "| offset: "],
        needed: "baseOffset: ",
    },
    Reading {
        arguments: &[],
        suffixes: &["index", "timeindex"],
        lines: &["offset: ", "timestamp: "],
        needed: "offset: ",
    },
    Reading {
        arguments: &["--verify-index-only"],
        suffixes: &["index", "timeindex"],
        lines: &[],
        needed: "Dumping ",
    },
    Reading {
        arguments: &["--index-sanity-check"],
        suffixes: &["index", "timeindex"],
        lines: &[],
        needed: "Dumping ",
    },
];

/// Checks every node's files by our own verification and, if Java is there, the first node's by Kafka's reader.
pub(crate) fn check(layout: &Layout, tools: &Tools) -> Result<()> {
    for node in &layout.nodes {
        let mut verify = tools.highwater();
        process::run_quietly(verify.args(["log", "verify"]).arg(&node.data_dir), LIMIT)?;
    }
    println!("highwater log verify finds no fault on {} nodes", layout.nodes.len());
    if !tools.has_java() {
        return Ok(());
    }
    let first = layout.nodes.first().context("a cluster has at least one node")?;
    let logs = logs_below(&first.data_dir.join("topics"))?;
    ensure!(!logs.is_empty(), "there is no segment to read in {}", first.data_dir.display());
    for reading in &READINGS {
        let files: Vec<PathBuf> = logs
            .iter()
            .flat_map(|log| reading.suffixes.iter().map(|suffix| log.with_extension(suffix)))
            .collect();
        for some in files.chunks(FILES_AT_ONCE) {
            read_by_kafka(tools, reading, some)?;
        }
    }
    println!("Kafka's DumpLogSegments reads {} segments and their indexes without a complaint", logs.len());
    Ok(())
}

fn read_by_kafka(tools: &Tools, reading: &Reading, files: &[PathBuf]) -> Result<()> {
    for file in files {
        ensure!(file.exists(), "{} is missing", file.display());
    }
    let list = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(",");
    let mut tool = tools.java()?.tool("org.apache.kafka.tools.DumpLogSegments");
    tool.args(reading.arguments).args(["--max-message-size", BATCH_BYTES_MAX, "--files", &list]);
    let lines = process::run_quietly(&mut tool, LIMIT)?;
    let complaint = reading.complaint(&lines);
    ensure!(complaint.is_none(), "Kafka's DumpLogSegments says: {}", complaint.unwrap_or_default());
    let dumped = lines.iter().filter(|line| line.starts_with("Dumping ")).count();
    ensure!(dumped == files.len(), "Kafka's DumpLogSegments read {dumped} of {} files", files.len());
    let needed = lines.iter().any(|line| line.starts_with(reading.needed));
    ensure!(needed, "Kafka's DumpLogSegments found nothing in {} files", files.len());
    Ok(())
}

impl Reading {
    /// The first line that is not expected, with the one behind it. The tool says some of it as errors, which may come between
    /// any two lines of the rest.
    fn complaint(&self, lines: &[String]) -> Option<String> {
        let mut counted: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(COUNTS_FROM)).collect();
        let mut lines = lines.iter().filter(|line| !line.starts_with(COUNTS_FROM));
        while let Some(line) = lines.next() {
            if !counts_from_the_start(line, &mut counted) && !self.expects(line) {
                return Some(format!("{line}\n{}", lines.next().map_or("", String::as_str)));
            }
        }
        counted.first().map(|base| format!("{COUNTS_FROM}{base}"))
    }

    fn expects(&self, line: &str) -> bool {
        let about_a_file = [" passed sanity check.", " is empty."].iter().any(|end| line.ends_with(end));
        // The tool's logging has no back end among its jars, and says so first.
        let always = ["Dumping ", "SLF4J: "];
        about_a_file || always.iter().chain(self.lines).any(|start| line.starts_with(start))
    }
}

/// What the tool says of every segment, Kafka's own included, that does not begin at offset 0: it counts from -1 on, and
/// says so in two lines.
fn counts_from_the_start(line: &str, counted: &mut Vec<&str>) -> bool {
    let Some(file) = line.strip_prefix("Non-consecutive offsets in ") else { return false };
    let base = Path::new(file).file_stem().and_then(|name| name.to_str()?.parse::<i64>().ok());
    let found = counted.iter().position(|of| base.is_some_and(|base| *of == base.to_string()));
    found.map(|at| counted.swap_remove(at)).is_some()
}

const COUNTS_FROM: &str = "  -1 is followed by ";

/// The logs with at least one batch below a directory.
fn logs_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).with_context(|| format!("{}", directory.display()))? {
            let path = entry?.path();
            let is_log = path.extension().is_some_and(|extension| extension == "log");
            if path.is_dir() {
                left.push(path);
            } else if is_log && fs::metadata(&path)?.len() > 0 {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tool_says_of_a_bad_file_is_a_complaint() {
        let [log, print, verify, sanity] = &READINGS;
        for good in [
            "Dumping a/0.log",
            "Log starting offset: 0",
            "baseOffset: 0 lastOffset: 1",
            "| offset: 0 CreateTime",
        ] {
            assert!(log.expects(good), "{good}");
        }
        assert!(print.expects("timestamp: 1 offset: 2") && !verify.expects("timestamp: 1 offset: 2"));
        assert!(sanity.expects("a/0.index passed sanity check.") && print.expects("a/0.index is empty."));
        for bad in [
            "Exception in thread \"main\" java.lang.IllegalArgumentException: Invalid position",
            "Mismatches in :a/0.index",
            "  Index offset: 1, log offset: 2",
            "Found timestamp mismatch in :a/0.timeindex",
            "isValid: false",
        ] {
            assert!(READINGS.iter().all(|reading| reading.complaint(&[bad.to_owned()]).is_some()), "{bad}");
        }
        let complains = |lines: &[&str]| {
            log.complaint(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()).is_some()
        };
        let gap = |first: &str, next: &str| complains(&[first, next]);
        let file = "Non-consecutive offsets in a/00000000000000000012.log";
        assert!(!gap(file, "  -1 is followed by 12"));
        assert!(gap(file, "  -1 is followed by 13") && gap(file, "  12 is followed by 14"));
        assert!(
            !complains(&[file, "| offset: 1 CreateTime", "  -1 is followed by 12"]),
            "errors come when they come"
        );
        assert!(complains(&["  -1 is followed by 12"]) && complains(&[file]));
    }
}
