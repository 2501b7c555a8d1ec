//! `highwater log dump`: the batches of a data directory, or the records in them.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use log_core::batch::{BatchHeader, Records, decompress, records_of};
use log_core::limits::RECORDS_BYTES_MAX_DEFAULT;
use log_core::segment::ScannedBatch;
use log_core::{LeaderEpoch, ProducerId};
use serde::Serialize;

use crate::calendar;
use crate::data_dir::walk::{Step, Walk};
use crate::data_dir::{Choice, DataDir, Partition, Segment};
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::escaped;
use crate::output::{Format, number};
use crate::record_json::JsonRecord;
use crate::topic_names;

/// Print the batches, or the records in them
#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The data directory of a node
    data_dir: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// Begin with the batch that holds this offset
    #[arg(short, long, default_value_t = 0, allow_negative_numbers = true, value_name = "OFFSET",
        value_parser = clap::value_parser!(i64).range(0..))]
    from: i64,

    /// Print each record as a JSON object instead of its batch
    #[arg(short, long)]
    records: bool,
}

#[derive(Debug, Serialize)]
struct BatchLine<'a> {
    topic: &'a str,
    partition: i32,
    base_offset: i64,
    last_offset: i64,
    position: u64,
    bytes: usize,
    records: i32,
    codec: &'static str,
    leader_epoch: i32,
    max_timestamp: i64,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    transactional: bool,
    control: bool,
}

impl Dump {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        super::say_if_in_use(&self.data_dir, format);
        let names = topic_names::read(&self.data_dir)?;
        let directory = DataDir::open(&self.data_dir, &names, &self.choice)?;
        let mut out = BufWriter::new(io::stdout().lock());
        for partition in &directory.partitions {
            if format == Format::Table && !self.records {
                writeln!(out, "{}, partition {}", escaped(&partition.topic), partition.partition)?;
            }
            self.dump_partition(partition, format, &mut out)?;
        }
        Ok(out.flush()?)
    }

    fn dump_partition(&self, partition: &Partition, format: Format, out: &mut impl Write) -> Outcome {
        let mut epoch = LeaderEpoch::NONE;
        for (index, segment) in partition.segments.iter().enumerate() {
            let next = partition.segments.get(index + 1);
            if next.is_some_and(|next| next.base_offset.0 <= self.from) {
                continue;
            }
            let mut walk = Walk::new(segment, epoch).map_err(|error| Failure::file(&segment.path, &error))?;
            while let Some((batch, bytes)) = next_batch(&mut walk, segment)? {
                if batch.header.last_offset().0 >= self.from {
                    self.dump_batch(partition, &batch, bytes, format, out)?;
                }
            }
            epoch = walk.epoch();
        }
        Ok(())
    }

    fn dump_batch(
        &self,
        partition: &Partition,
        batch: &ScannedBatch,
        bytes: &[u8],
        format: Format,
        out: &mut impl Write,
    ) -> Outcome {
        if self.records {
            return self.dump_records(partition, &batch.header, bytes, out);
        }
        let line = batch_line(partition, batch);
        match format {
            Format::Table => writeln!(out, "{}", line.text())?,
            Format::Json => {
                serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
                writeln!(out)?;
            }
        }
        Ok(())
    }

    fn dump_records(
        &self,
        partition: &Partition,
        header: &BatchHeader,
        bytes: &[u8],
        out: &mut impl Write,
    ) -> Outcome {
        let damaged = |why: &dyn std::fmt::Display| {
            let place = format!(
                "{}, partition {}, offset {}",
                partition.topic, partition.partition, header.base_offset
            );
            Failure::new(Code::Damaged, format!("{place}: {why}"))
                .or(format!("--from {} goes on", header.next_offset()))
        };
        let stored = records_of(header, bytes).map_err(|error| damaged(&error))?;
        let mut buffer = Vec::new();
        let records = decompress(header, stored, compression::CODECS, RECORDS_BYTES_MAX_DEFAULT, &mut buffer);
        let records = records.map_err(|error| damaged(&error))?;
        let mut text = Vec::new();
        for record in Records::new(header, records) {
            let record = record.map_err(|error| damaged(&error))?;
            if record.offset.0 < self.from {
                continue;
            }
            let headers = record
                .headers
                .map(|header| (String::from_utf8_lossy(header.key), header.value.unwrap_or_default()));
            let json = JsonRecord {
                topic: &partition.topic,
                partition: partition.partition.0.unsigned_abs(),
                offset: record.offset.0,
                timestamp: record.timestamp.0,
                key: record.key,
                value: record.value,
                headers: headers.collect(),
            };
            json.write(&mut text)?;
        }
        Ok(out.write_all(&text)?)
    }
}

/// The next good batch; damage ends the dump with an error that says where.
fn next_batch<'a>(walk: &'a mut Walk, segment: &Segment) -> Outcome<Option<(ScannedBatch, &'a [u8])>> {
    match walk.step().map_err(|error| Failure::file(&segment.path, &error))? {
        Step::Batch(batch, bytes) => Ok(Some((batch, bytes))),
        Step::End | Step::Zeros => Ok(None),
        Step::Refused(refused) => {
            let place = format!("{}, byte {}", segment.path.display(), number::count(refused.position));
            let what = format!("{place}: {} (offset {})", refused.why, refused.offset);
            Err(Failure::new(Code::Damaged, what).or("highwater log verify tells all that is wrong"))
        }
    }
}

fn batch_line<'a>(partition: &'a Partition, batch: &ScannedBatch) -> BatchLine<'a> {
    let header = &batch.header;
    BatchLine {
        topic: &partition.topic,
        partition: partition.partition.0,
        base_offset: header.base_offset.0,
        last_offset: header.last_offset().0,
        position: batch.position,
        bytes: header.batch_bytes,
        records: header.record_count,
        codec: header.compression().name(),
        leader_epoch: header.leader_epoch.0,
        max_timestamp: header.max_timestamp.0,
        producer_id: header.producer_id.0,
        producer_epoch: header.producer_epoch.0,
        base_sequence: header.base_sequence.0,
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
    }
}

impl BatchLine<'_> {
    fn text(&self) -> String {
        let mut text = format!(
            "  {}..{}  {}, {}, {}, epoch {}, {}",
            number::offset(self.base_offset),
            number::offset(self.last_offset),
            number::counted(u64::from(self.records.unsigned_abs()), "record"),
            number::bytes(self.bytes as u64),
            self.codec,
            self.leader_epoch,
            calendar::timestamp(self.max_timestamp)
        );
        if self.producer_id != ProducerId::NONE.0 {
            text.push_str(&format!(
                ", producer {} epoch {} from sequence {}",
                self.producer_id, self.producer_epoch, self.base_sequence
            ));
        }
        for (set, word) in [(self.transactional, "transactional"), (self.control, "control")] {
            if set {
                text.push_str(&format!(", {word}"));
            }
        }
        text
    }
}
