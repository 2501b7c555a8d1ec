//! A broker's data directory, read from outside while the broker does not run. Nothing in here writes, creates or
//! locks for writing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use disk::{DirectoryLock, LockHolder};
use log_core::directory::{TOPICS_DIR, parse_partition_dir, parse_topic_dir};
use log_core::segment::{SegmentFile, SegmentKind};
use log_core::{Offset, PartitionIndex, TopicId};
use log_store::directory::FORMAT_FILE;

use crate::failure::{Code, Failure, Outcome};
use crate::nearest::nearest;

pub(crate) mod walk;

/// What a data directory holds.
#[derive(Debug)]
pub(crate) struct DataDir {
    pub(crate) partitions: Vec<Partition>,
}

/// One partition's files.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// The topic's name; its id where the directory's metadata does not know it.
    pub(crate) topic: String,
    pub(crate) topic_id: TopicId,
    pub(crate) partition: PartitionIndex,
    pub(crate) path: PathBuf,
    /// Ordered by base offset.
    pub(crate) segments: Vec<Segment>,
}

/// One segment's log file.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) base_offset: Offset,
    pub(crate) path: PathBuf,
    /// Length of the file, preallocated space included.
    pub(crate) bytes: u64,
}

/// Which partitions a command is about.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Choice {
    /// Only this topic, by name or id
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,

    /// Only this partition
    #[arg(short, long, value_name = "N", requires = "topic")]
    pub(crate) partition: Option<i32>,
}

impl DataDir {
    /// Looks through a data directory for the partitions that are chosen.
    pub(crate) fn open(path: &Path, names: &BTreeMap<TopicId, String>, choice: &Choice) -> Outcome<Self> {
        let topics = path.join(TOPICS_DIR);
        let topic_dirs = match topics.is_dir() {
            true => entries(&topics)?,
            // A node that has not been given a replica yet.
            false if path.join(FORMAT_FILE).is_file() => Vec::new(),
            false => return Err(no_data_dir(path)),
        };
        let mut partitions = Vec::new();
        for (name, topic_path) in topic_dirs {
            let Some(topic_id) = parse_topic_dir(&name) else { continue };
            for (name, path) in entries(&topic_path)? {
                let Some(partition) = parse_partition_dir(&name) else { continue };
                let topic = names.get(&topic_id).cloned().unwrap_or_else(|| topic_id.to_string());
                partitions.push(Partition { topic, topic_id, partition, segments: segments(&path)?, path });
            }
        }
        partitions.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
        Self { partitions }.chosen(choice)
    }

    fn chosen(mut self, choice: &Choice) -> Outcome<Self> {
        let Some(topic) = &choice.topic else { return Ok(self) };
        let all = self.partitions.clone();
        self.partitions.retain(|partition| {
            (partition.topic == *topic || partition.topic_id.to_string() == *topic)
                && choice.partition.is_none_or(|wanted| partition.partition.0 == wanted)
        });
        if self.partitions.is_empty() {
            return Err(not_here(topic, choice.partition, &all));
        }
        Ok(self)
    }
}

fn not_here(topic: &str, partition: Option<i32>, all: &[Partition]) -> Failure {
    let wanted =
        partition.map_or_else(|| topic.to_owned(), |partition| format!("{topic}, partition {partition}"));
    let failure = Failure::new(Code::NotFound, format!("{wanted} has no replica in this directory"));
    match nearest(topic, all.iter().map(|known| known.topic.as_str())) {
        Some(meant) if meant != topic => failure.or(format!("there is {meant}")),
        _ => failure.or("highwater log list shows what is there"),
    }
}

/// Who uses the directory now; nobody, as far as that can be told.
pub(crate) fn holder(path: &Path) -> Option<LockHolder> {
    DirectoryLock::holder(path).ok().flatten()
}

fn no_data_dir(path: &Path) -> Failure {
    if !path.exists() {
        return Failure::new(Code::NotFound, format!("{} does not exist", path.display()));
    }
    Failure::new(Code::NotFound, format!("{} is not a data directory of highwater", path.display()))
        .or(format!("one holds a file {FORMAT_FILE}: it is what highwater serve --data-dir was given"))
}

fn segments(partition: &Path) -> Outcome<Vec<Segment>> {
    let mut segments = Vec::new();
    for (name, path) in entries(partition)? {
        let Ok(SegmentFile { base_offset, kind: SegmentKind::Log }) = SegmentFile::parse(&name) else {
            continue;
        };
        let bytes = fs::metadata(&path).map_err(|error| Failure::file(&path, &error))?.len();
        segments.push(Segment { base_offset, path, bytes });
    }
    segments.sort_by_key(|segment| segment.base_offset);
    Ok(segments)
}

/// The entries of a directory whose names are text; no file of ours has another.
fn entries(directory: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let read = || -> io::Result<Vec<(String, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, entry.path()));
            }
        }
        Ok(found)
    };
    read().map_err(|error| Failure::file(directory, &error))
}

impl Segment {
    /// The file beside the log that holds something else of this segment.
    pub(crate) fn beside(&self, kind: SegmentKind) -> PathBuf {
        self.path.with_file_name(SegmentFile::new(self.base_offset, kind).name())
    }
}
