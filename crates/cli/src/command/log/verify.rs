//! `highwater log verify`: every batch, index and chain of a data directory is read and checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use log_core::batch::{BatchHeader, Records, decompress, records_of};
use log_core::chain::{Chain, Link};
use log_core::directory::{BOUND_FILE, LEADER_EPOCH_FILE};
use log_core::index::{IndexChecksums, OffsetIndex, TimeIndex};
use log_core::limits::RECORDS_BYTES_MAX_DEFAULT;
use log_core::segment::{BoundFacts, SegmentKind};
use log_core::{EpochCache, LeaderEpoch, Offset};
use log_store::read_bound;
use serde::Serialize;

use crate::data_dir::walk::{Step, Walk, crc32c};
use crate::data_dir::{self, Choice, DataDir, Partition, Segment};
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::{Escaped, escaped};
use crate::output::progress::Progress;
use crate::output::{self, Format, Paint, Report, number};
use crate::topic_names;

/// Read and check every batch, index and chain
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The data directory of a node
    data_dir: PathBuf,

    #[command(flatten)]
    choice: Choice,
}

#[derive(Debug, Default, Serialize)]
struct Verified {
    partitions: u64,
    segments: u64,
    batches: u64,
    records: u64,
    bytes: u64,
    faults: Vec<Fault>,
    notes: Vec<Fault>,
}

/// Something that is not as it should be.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Fault {
    topic: Escaped,
    partition: i32,
    file: PathBuf,
    /// Where in the file, in bytes.
    position: u64,
    /// The offset expected there.
    offset: i64,
    what: String,
}

impl Report for Verified {
    fn text(&self, paint: Paint) -> String {
        let mut text = format!(
            "{}, {}, {}, {}, {}: {}\n",
            number::counted(self.partitions, "partition"),
            number::counted(self.segments, "segment"),
            number::counted(self.batches, "batch"),
            number::counted(self.records, "record"),
            number::bytes(self.bytes),
            if self.faults.is_empty() { "no fault".to_owned() } else { paint.alarm(&self.verdict()) }
        );
        for fault in self.faults.iter().chain(&self.notes) {
            text.push_str(&format!(
                "  {} partition {}, offset {}: {}\n    {}, byte {}\n",
                fault.topic,
                fault.partition,
                number::offset(fault.offset),
                fault.what,
                escaped(&fault.file.display().to_string()),
                number::count(fault.position)
            ));
        }
        text
    }
}

impl Verified {
    fn verdict(&self) -> String {
        number::counted(self.faults.len() as u64, "fault")
    }
}

impl Verify {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        if let Some(holder) = data_dir::holder(&self.data_dir) {
            let what = format!("{} is in use by {holder}", self.data_dir.display());
            return Err(
                Failure::new(Code::Failed, what).or("stop it first: a log that grows cannot be verified")
            );
        }
        let names = topic_names::read(&self.data_dir)?;
        let directory = DataDir::open(&self.data_dir, &names, &self.choice)?;
        let segments = directory.partitions.iter().flat_map(|partition| &partition.segments);
        let mut progress = Progress::start(Some(segments.map(|segment| segment.bytes).sum()), true);
        let mut verified = Verified::default();
        for partition in &directory.partitions {
            Check::new(partition, &mut verified, &mut progress).run()?;
        }
        progress.clear();
        output::show(&verified, format)?;
        match verified.faults.is_empty() {
            true => Ok(()),
            false => Err(Failure::quiet(Code::Damaged)),
        }
    }
}

/// The check of one partition.
struct Check<'a> {
    partition: &'a Partition,
    verified: &'a mut Verified,
    progress: &'a mut Progress,
    epoch: LeaderEpoch,
    epochs: EpochCache,
    /// The link behind the last batch, while the chain is known.
    link: Option<Link>,
    buffer: Vec<u8>,
}

impl<'a> Check<'a> {
    fn new(partition: &'a Partition, verified: &'a mut Verified, progress: &'a mut Progress) -> Self {
        let epochs = EpochCache::default();
        let (epoch, link, buffer) = (LeaderEpoch::NONE, None, Vec::new());
        Self { partition, verified, progress, epoch, epochs, link, buffer }
    }

    fn run(mut self) -> Outcome {
        self.verified.partitions += 1;
        let partition = self.partition;
        let mut end = None;
        for (index, segment) in partition.segments.iter().enumerate() {
            if let Some(end) = end.filter(|end| *end != segment.base_offset) {
                let what = format!("the segment before ends at offset {end}");
                self.fault(&segment.path, 0, segment.base_offset, what);
            }
            let is_last = index + 1 == partition.segments.len();
            end = self.segment(segment, is_last).map_err(|error| Failure::file(&segment.path, &error))?;
        }
        self.against_bound(end);
        self.leader_epochs(end.unwrap_or_default())
    }

    /// What the bound vouches for must be there, from the log start on. `end` is where the last segment ends, if that is known.
    fn against_bound(&mut self, end: Option<Offset>) {
        let Some(bound) = self.bound() else { return };
        let first = self.partition.segments.first();
        if let Some(first) = first.filter(|first| first.base_offset > bound.log_start) {
            let what =
                format!("segments before it are missing: the log begins at offset {}", bound.log_start);
            self.fault(&first.path, 0, first.base_offset, what);
        }
        let end = if first.is_some() { end } else { Some(bound.log_start) };
        if let Some(end) = end.filter(|end| *end < bound.durable_end) {
            let path = self.partition.path.join(BOUND_FILE);
            let what = format!("the log ends at offset {end}, and was durable up to {}", bound.durable_end);
            self.fault(&path, 0, end, what);
        }
    }

    /// What is known to be on the medium; none where that cannot be read.
    fn bound(&self) -> Option<BoundFacts> {
        let file = fs::read(self.partition.path.join(BOUND_FILE)).ok()?;
        read_bound(&file, crc32c)
    }

    /// Checks one segment and gives the offset where it ends, if that is known: behind damage it is not.
    fn segment(&mut self, segment: &Segment, is_last: bool) -> io::Result<Option<Offset>> {
        self.verified.segments += 1;
        let chain = self.chain_of(segment)?;
        let offsets = self.indexes(segment)?;
        let mut links = chain.as_ref().map(|chain| chain.entries.iter().peekable());
        let mut walk = Walk::new(segment, self.epoch)?;
        loop {
            let (batch, bytes) = match walk.step()? {
                Step::Batch(batch, bytes) => (batch, bytes),
                Step::End => break,
                Step::Zeros if is_last => break,
                Step::Zeros => {
                    let (end, what) = (walk.offset(), "zeros at the end of a sealed segment");
                    self.fault(&segment.path, segment.bytes, end, what);
                    break;
                }
                Step::Refused(refused) => {
                    self.refused(segment, is_last, &refused);
                    self.link = None;
                    return Ok(None);
                }
            };
            let header = batch.header;
            self.batch(segment, batch.position, &header, bytes);
            let position = u32::try_from(batch.position).unwrap_or(u32::MAX);
            if let Some(offsets) = &offsets {
                self.indexed(segment, offsets, &header, position);
            }
            let link = self.link.map(|link| link.after(bytes));
            self.link = link;
            if let (Some(links), Some(link)) = (&mut links, link) {
                while let Some(entry) = links.next_if(|entry| entry.end <= header.next_offset()) {
                    if entry.end != header.next_offset() || entry.link != link {
                        let what = "the chain does not fit the batch: one of both was changed";
                        self.fault(&segment.path, batch.position, header.base_offset, what);
                    }
                }
            }
        }
        self.epoch = walk.epoch();
        Ok(Some(walk.offset()))
    }

    /// Counts a batch and reads its records.
    fn batch(&mut self, segment: &Segment, position: u64, header: &BatchHeader, bytes: &[u8]) {
        self.verified.batches += 1;
        self.verified.bytes += bytes.len() as u64;
        if self.epochs.latest() != Some(header.leader_epoch) {
            self.epochs.assign(header.leader_epoch, header.base_offset);
        }
        match self.read_records(header, bytes) {
            Ok(records) => self.verified.records += records,
            Err(what) => self.fault(&segment.path, position, header.base_offset, what),
        }
        self.progress.update(self.verified.records, self.verified.bytes);
    }

    fn read_records(&mut self, header: &BatchHeader, bytes: &[u8]) -> Result<u64, String> {
        let stored = records_of(header, bytes).map_err(|error| error.to_string())?;
        let limit = RECORDS_BYTES_MAX_DEFAULT;
        let records = decompress(header, stored, compression::CODECS, limit, &mut self.buffer);
        let records = records.map_err(|error| error.to_string())?;
        let mut count = 0;
        for record in Records::new(header, records) {
            let record = record.map_err(|error| error.to_string())?;
            if record.offset < header.base_offset || record.offset > header.last_offset() {
                return Err(format!("a record has offset {}, outside of its batch", record.offset));
            }
            count += 1;
        }
        Ok(count)
    }

    /// The index must lead to this batch, or to one before it, for every offset in it.
    fn indexed(&mut self, segment: &Segment, offsets: &OffsetIndex, header: &BatchHeader, position: u32) {
        let lower = offsets.position_for(header.base_offset);
        if lower > position {
            let path = segment.beside(SegmentKind::OffsetIndex);
            let what = format!("the index leads to byte {lower}, behind the batch at byte {position}");
            self.fault(&path, 0, header.base_offset, what);
        }
    }

    /// The chain of a segment, and what it says of the link before it.
    fn chain_of(&mut self, segment: &Segment) -> io::Result<Option<Chain>> {
        let path = segment.beside(SegmentKind::Chain);
        let Some(file) = read_if_there(&path)? else { return Ok(None) };
        match Chain::decode(segment.base_offset, &file, crc32c) {
            Ok(chain) => {
                if self.link.is_some_and(|link| link != chain.start) {
                    let what = "the chain does not go on from the segment before";
                    self.fault(&path, 0, segment.base_offset, what);
                }
                self.link = Some(chain.start);
                Ok(Some(chain))
            }
            Err(error) => {
                self.fault(&path, 0, segment.base_offset, format!("the chain is damaged: {error}"));
                Ok(None)
            }
        }
    }

    /// Reads both indexes and gives that of offsets.
    fn indexes(&mut self, segment: &Segment) -> io::Result<Option<OffsetIndex>> {
        let crc = crc32c;
        let checksums = self.derived(segment, SegmentKind::IndexChecksums, |base, file| {
            IndexChecksums::decode(base, file, crc)
        })?;
        let Some(IndexChecksums { offsets, times, .. }) = checksums else { return Ok(None) };
        let _times = self.derived(segment, SegmentKind::TimeIndex, |base, file| {
            TimeIndex::decode(base, file, times, crc)
        })?;
        self.derived(segment, SegmentKind::OffsetIndex, |base, file| {
            OffsetIndex::decode(base, file, offsets, crc)
        })
    }

    /// An index that cannot be read is built again when it is needed: worth a note, not a fault.
    fn derived<T>(
        &mut self,
        segment: &Segment,
        kind: SegmentKind,
        decode: impl Fn(Offset, &[u8]) -> Result<T, log_core::FileError>,
    ) -> io::Result<Option<T>> {
        let path = segment.beside(kind);
        let Some(file) = read_if_there(&path)? else { return Ok(None) };
        match decode(segment.base_offset, &file) {
            Ok(index) => Ok(Some(index)),
            Err(error) => {
                let what = format!("the index will be built again: {error}");
                self.note(&path, 0, segment.base_offset, what);
                Ok(None)
            }
        }
    }

    /// The end of the last segment may be torn by a crash: the next start cuts it off. Everything else is damage.
    fn refused(&mut self, segment: &Segment, is_last: bool, refused: &log_core::segment::Refused) {
        let what = refused.why.to_string();
        if is_last && self.is_above_bound(refused.offset) {
            let what = format!("an unfinished write at the end, which the next start looks into: {what}");
            self.note(&segment.path, refused.position, refused.offset, what);
        } else {
            self.fault(&segment.path, refused.position, refused.offset, what);
        }
    }

    fn is_above_bound(&self, offset: Offset) -> bool {
        self.bound().is_none_or(|bound| offset >= bound.durable_end)
    }

    /// The checkpoint of leader epochs must agree with the batches; it is derived from them.
    fn leader_epochs(&mut self, end: Offset) -> Outcome {
        let path = self.partition.path.join(LEADER_EPOCH_FILE);
        let file = read_if_there(&path).map_err(|error| Failure::file(&path, &error))?;
        let Some(file) = file else { return Ok(()) };
        let stored = match EpochCache::decode(&file, crc32c) {
            Ok(stored) => stored,
            Err(error) => {
                self.note(&path, 0, end, format!("the leader epochs will be derived again: {error}"));
                return Ok(());
            }
        };
        let disagrees = self.epochs.entries().iter().any(|start| {
            let first = self.partition.segments.first().map_or(Offset::ZERO, |segment| segment.base_offset);
            start.start > first && !stored.entries().contains(start)
        });
        if disagrees {
            self.note(&path, 0, end, "the leader epochs differ from the batches' and will be derived again");
        }
        Ok(())
    }

    fn fault(&mut self, file: &Path, position: u64, offset: Offset, what: impl Into<String>) {
        let fault = self.placed(file, position, offset, what.into());
        self.verified.faults.push(fault);
    }

    fn note(&mut self, file: &Path, position: u64, offset: Offset, what: impl Into<String>) {
        let note = self.placed(file, position, offset, what.into());
        self.verified.notes.push(note);
    }

    fn placed(&self, file: &Path, position: u64, offset: Offset, what: String) -> Fault {
        Fault {
            topic: Escaped::of(&self.partition.topic),
            partition: self.partition.partition.0,
            file: file.to_path_buf(),
            position,
            offset: offset.0,
            what,
        }
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
