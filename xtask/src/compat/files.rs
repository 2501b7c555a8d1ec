//! The files on disk, read by Kafka's own tool: sealed segments and, after a clean stop, the last ones too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::client::Tools;
use crate::cluster::layout::Layout;
use crate::process;

const LIMIT: Duration = Duration::from_secs(300);
/// One start of the Java tool reads so many files.
const FILES_AT_ONCE: usize = 200;
/// What the tool says of a file that it does not like; it ends with code 0 all the same.
const COMPLAINTS: [&str; 6] = [
    "Mismatches in",
    "Found timestamp mismatch",
    "Found out of order",
    "Non-consecutive",
    "Exception",
    "isValid: false",
];

/// Checks the first node's files by our own verification and, if Java is there, by Kafka's reader.
pub(crate) fn check(layout: &Layout, tools: &Tools) -> Result<()> {
    let first = layout.nodes.first().context("a cluster has at least one node")?;
    let mut verify = tools.highwater();
    process::run_quietly(verify.args(["log", "verify"]).arg(&first.data_dir), LIMIT)?;
    println!("highwater log verify finds no fault");
    if !tools.has_java() {
        return Ok(());
    }
    let files = segment_files(&first.data_dir.join("topics"))?;
    ensure!(!files.is_empty(), "there is no segment to read in {}", first.data_dir.display());
    for some in files.chunks(FILES_AT_ONCE) {
        read_by_kafka(tools, some)?;
    }
    println!("Kafka's DumpLogSegments reads {} segments without an error", files.len());
    Ok(())
}

fn read_by_kafka(tools: &Tools, files: &[PathBuf]) -> Result<()> {
    let list = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(",");
    let mut tool = tools.java()?.tool("org.apache.kafka.tools.DumpLogSegments");
    let lines = process::run_quietly(tool.args(["--deep-iteration", "--files", &list]), LIMIT)?;
    let complaint = lines.iter().find(|line| COMPLAINTS.iter().any(|complaint| line.contains(complaint)));
    ensure!(complaint.is_none(), "Kafka's DumpLogSegments says: {}", complaint.map_or("", String::as_str));
    let batches = lines.iter().filter(|line| line.starts_with("baseOffset:")).count();
    ensure!(batches > 0, "Kafka's DumpLogSegments found no batch in {} files", files.len());
    Ok(())
}

/// The logs below a directory. Indexes are left out: Kafka's tool takes the checksum at their end for an entry.
fn segment_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).with_context(|| format!("{}", directory.display()))? {
            let path = entry?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                left.push(path);
            } else if extension == Some("log") && fs::metadata(&path)?.len() > 0 {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
