//! `highwater log list`: the partitions of a data directory.

use std::path::PathBuf;

use clap::Args;
use log_core::{LeaderEpoch, Offset};
use serde::Serialize;

use crate::data_dir::walk::{Step, Walk};
use crate::data_dir::{Choice, DataDir, Partition, Segment};
use crate::failure::{Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::table::Table;
use crate::output::{self, Format, Paint, Report, number};
use crate::topic_names;

/// Show the partitions, their segments and sizes
#[derive(Debug, Args)]
pub(crate) struct List {
    /// The data directory of a node
    data_dir: PathBuf,

    #[command(flatten)]
    choice: Choice,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Partitions(Vec<Line>);

#[derive(Debug, Serialize)]
struct Line {
    topic: Escaped,
    topic_id: String,
    partition: i32,
    segments: usize,
    /// The first offset of the first segment.
    start: i64,
    /// The offset after the last good batch.
    end: i64,
    leader_epoch: Option<i32>,
    /// Bytes of batches.
    bytes: u64,
    /// Bytes of their files: a segment that is written to has room ahead of it.
    allocated_bytes: u64,
}

impl Report for Partitions {
    fn text(&self, paint: Paint) -> String {
        if self.0.is_empty() {
            return "no partitions\n".to_owned();
        }
        let columns = Table::new().text("topic").number("partition").number("segments").number("start");
        let mut table = columns.number("end").number("epoch").number("size").number("allocated");
        for line in &self.0 {
            table.row([
                line.topic.to_string(),
                line.partition.to_string(),
                number::count(line.segments as u64),
                number::offset(line.start),
                number::offset(line.end),
                line.leader_epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string()),
                number::bytes(line.bytes),
                number::bytes(line.allocated_bytes),
            ]);
        }
        table.render(paint)
    }
}

impl List {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        super::say_if_in_use(&self.data_dir, format);
        let names = topic_names::read(&self.data_dir)?;
        let directory = DataDir::open(&self.data_dir, &names, &self.choice)?;
        let lines = directory.partitions.iter().map(line).collect::<Outcome<Vec<Line>>>()?;
        output::show(&Partitions(lines), format)
    }
}

fn line(partition: &Partition) -> Outcome<Line> {
    let first = partition.segments.first().map_or(Offset::ZERO, |segment| segment.base_offset);
    let nothing = End { offset: first, epoch: None, position: 0 };
    let (last, sealed) =
        partition.segments.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
    let end = last.map_or(Ok(nothing), end_of)?;
    let sealed_bytes: u64 = sealed.iter().map(|segment| segment.bytes).sum();
    Ok(Line {
        topic: Escaped::of(&partition.topic),
        topic_id: partition.topic_id.to_string(),
        partition: partition.partition.0,
        segments: partition.segments.len(),
        start: first.0,
        end: end.offset.0,
        leader_epoch: end.epoch.map(|epoch| epoch.0),
        bytes: sealed_bytes + end.position,
        allocated_bytes: partition.segments.iter().map(|segment| segment.bytes).sum(),
    })
}

/// Where the last good batch of a log ends.
struct End {
    offset: Offset,
    epoch: Option<LeaderEpoch>,
    /// In the file of its segment.
    position: u64,
}

fn end_of(segment: &Segment) -> Outcome<End> {
    let read = || {
        let mut walk = Walk::new(segment, LeaderEpoch::NONE)?;
        while let Step::Batch(..) = walk.step()? {}
        let epoch = Some(walk.epoch()).filter(|epoch| *epoch != LeaderEpoch::NONE);
        Ok(End { offset: walk.offset(), epoch, position: walk.position() })
    };
    read().map_err(|error| Failure::file(&segment.path, &error))
}
