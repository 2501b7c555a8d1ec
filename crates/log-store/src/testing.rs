//! What tests of logs share, here and in crates above: batches, a log with its disk, a clock that is told.

#[allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]
pub(crate) mod model;

use bytes::Bytes;
use log_core::batch::{BatchBuilder, BatchSpec, NewRecord, ProduceRules, ProducerStamp, validate};
use log_core::{
    Codecs, Crc32c, LeaderEpoch, MonoTime, Now, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp,
};

use crate::disk::{Disk, LogId};
use crate::error::{AppendError, ReadError};
use crate::partition::PartitionLog;
use crate::partition::types::{
    Appended, LeaderBatch, LogEvent, LogOptions, OpenFacts, ReadLimit, ReadOutcome, ReadSlices, Recovered,
    Slice,
};

pub use self::model::walk_by;

/// The time at which tests begin, in milliseconds since 1970.
pub const START_MS: i64 = 1_700_000_000_000;

/// A batch of `count` records with values of `value_bytes` bytes that differ by `tag`.
#[must_use]
pub fn client_batch(
    crc: Crc32c,
    tag: u64,
    count: usize,
    value_bytes: usize,
    producer: Option<ProducerStamp>,
) -> Bytes {
    timed_batch(crc, tag, count, value_bytes, producer, Timestamp(START_MS))
}

/// Like [`client_batch`], with this timestamp on all records.
///
/// # Panics
/// If the batch would be longer than any may be.
#[must_use]
pub fn timed_batch(
    crc: Crc32c,
    tag: u64,
    count: usize,
    value_bytes: usize,
    producer: Option<ProducerStamp>,
    timestamp: Timestamp,
) -> Bytes {
    let mut builder = BatchBuilder::new();
    for index in 0..count {
        let mut value = format!("{tag}/{index}/").into_bytes();
        let mut noise = tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        while value.len() < value_bytes {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            value.push((noise >> 56) as u8 | 1);
        }
        let record = NewRecord { timestamp, key: None, value: Some(&value), headers: &[] };
        builder.push(&record).expect("test batches are short");
    }
    let spec = BatchSpec { producer, ..BatchSpec::default() };
    Bytes::from(builder.build(&spec, Codecs::PLAIN, crc).expect("test batches are short"))
}

/// The fields of a producer.
#[must_use]
pub fn producer(id: i64, epoch: i16, sequence: i32) -> Option<ProducerStamp> {
    let (id, epoch, base_sequence) = (ProducerId(id), ProducerEpoch(epoch), Sequence(sequence));
    Some(ProducerStamp { id, epoch, base_sequence })
}

/// Checks a batch as a broker does.
///
/// # Panics
/// If the batch is not valid.
#[must_use]
pub fn checked(crc: Crc32c, bytes: Bytes) -> LeaderBatch {
    let rules = ProduceRules { batch_bytes_max: usize::MAX, ..ProduceRules::at(Timestamp(START_MS)) };
    let produced = validate(&bytes, &rules, crc).expect("test batches are valid");
    LeaderBatch { bytes, produced }
}

/// A log, its disk and the time.
#[derive(Debug)]
pub struct Bench<D: Disk> {
    /// The disk.
    pub disk: D,
    /// The log.
    pub log: PartitionLog<D>,
    /// The time.
    pub now: Now,
    /// Events that happened and were not taken.
    pub events: Vec<LogEvent<D::File>>,
    /// What the last open found.
    pub recovered: Option<Recovered>,
    /// How long to wait for a disk that completes on threads of its own.
    pub patience: core::time::Duration,
    tags: u64,
}

/// The directory of the log in tests.
pub const DIR: &str = "topics/00000000000000000000000000000001/0";

const PATIENCE: core::time::Duration = core::time::Duration::from_secs(60);

fn start() -> Now {
    Now { mono: MonoTime(1), wall: Timestamp(START_MS) }
}

impl<D: Disk> Bench<D> {
    /// A new log, settled.
    ///
    /// # Panics
    /// If the disk fails.
    #[must_use]
    pub fn create(mut disk: D, options: LogOptions) -> Self {
        let log = PartitionLog::create(&mut disk, LogId(7), DIR, options, start()).expect("a log is made");
        let mut bench = Self {
            disk,
            log,
            now: start(),
            events: Vec::new(),
            recovered: None,
            patience: PATIENCE,
            tags: 0,
        };
        bench.run();
        bench
    }

    /// Opens the log of a disk; does not wait for its recovery.
    ///
    /// # Panics
    /// If the disk fails.
    #[must_use]
    pub fn open(mut disk: D, options: LogOptions, clean: bool) -> Self {
        let facts = OpenFacts { clean, newest_epoch: LeaderEpoch(i32::MAX) };
        let opened = PartitionLog::open(&mut disk, LogId(7), DIR, options, facts, start());
        let (log, recovered) = opened.expect("a log is opened");
        Self {
            disk,
            log,
            now: start(),
            events: Vec::new(),
            recovered: Some(recovered),
            patience: PATIENCE,
            tags: 1 << 40,
        }
    }

    /// Hands over completions until there are none; gathers events.
    pub fn run(&mut self) {
        while let Some(completion) = self.disk.poll() {
            self.log.handle_completion(&mut self.disk, self.now, completion);
        }
        self.gather();
    }

    /// Gathers events.
    pub fn gather(&mut self) {
        while let Some(event) = self.log.poll_event() {
            self.events.push(event);
        }
    }

    /// Runs until the log says that something happened, asking the disk again and again.
    ///
    /// # Panics
    /// If it does not happen while the patience lasts.
    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        let begun = std::time::Instant::now();
        loop {
            self.run();
            if done(self) {
                return;
            }
            assert!(begun.elapsed() <= self.patience, "waited in vain; events: {:?}", self.events);
            std::thread::yield_now();
        }
    }

    /// Runs until the log is settled and all that was appended is durable.
    pub fn settle(&mut self) {
        self.log.sync(&mut self.disk);
        self.run_until(|bench| {
            let offsets = bench.log.offsets();
            let broken = bench.log.poisoned().is_some() || bench.log.fault().is_some();
            broken || bench.log.is_settled() && offsets.durable_end() == offsets.log_end()
        });
    }

    /// A fresh batch of `count` records with values of `value_bytes` bytes.
    #[must_use]
    pub fn batch(&mut self, count: usize, value_bytes: usize) -> LeaderBatch {
        self.tags += 1;
        let crc = self.log.options().crc;
        let timestamp = self.now.wall;
        let bytes = timed_batch(crc, self.tags, count, value_bytes, None, timestamp);
        let rules = ProduceRules { batch_bytes_max: usize::MAX, ..ProduceRules::at(timestamp) };
        let produced = validate(&bytes, &rules, crc).expect("test batches are valid");
        LeaderBatch { bytes, produced }
    }

    /// Appends a fresh batch as leader of epoch 1.
    ///
    /// Errors: those of the append.
    pub fn try_append(&mut self, count: usize, value_bytes: usize) -> Result<Appended, AppendError> {
        let batch = self.batch(count, value_bytes);
        self.log.append(&mut self.disk, self.now, LeaderEpoch(1), &[batch])
    }

    /// Appends a fresh batch as leader of this epoch.
    ///
    /// # Panics
    /// If it is refused.
    pub fn append_in(&mut self, epoch: i32, count: usize, value_bytes: usize) -> Appended {
        let batch = self.batch(count, value_bytes);
        self.log.append(&mut self.disk, self.now, LeaderEpoch(epoch), &[batch]).expect("the append is taken")
    }

    /// Appends a fresh batch as leader of epoch 1.
    ///
    /// # Panics
    /// If it is refused.
    pub fn append(&mut self, count: usize, value_bytes: usize) -> Appended {
        self.append_in(1, count, value_bytes)
    }

    /// Appends several fresh batches as leader of epoch 1.
    pub fn append_many(&mut self, batches: usize, count: usize, value_bytes: usize) {
        for _ in 0..batches {
            let _ = self.append(count, value_bytes);
        }
    }

    /// Makes everything durable and committed.
    pub fn commit(&mut self) {
        self.settle();
        self.log.set_high_watermark(self.log.offsets().log_end());
    }

    /// Reads from an offset to the log end, waiting if need be; the pieces as they came.
    ///
    /// Errors: those of the read.
    pub fn read_slices(&mut self, from: Offset, max_bytes: u64) -> Result<ReadSlices<D::File>, ReadError> {
        let limit = ReadLimit { max_bytes, end: self.log.offsets().log_end(), at_least_one: true };
        match self.log.read(&mut self.disk, from, limit)? {
            ReadOutcome::Ready(found) => Ok(found),
            ReadOutcome::Pending(asked) => {
                let is_answer = |event: &LogEvent<D::File>| matches!(event, LogEvent::ReadReady { ticket, .. } if *ticket == asked);
                self.run_until(|bench| bench.events.iter().any(is_answer));
                let at = self.events.iter().position(is_answer).expect("it was just found");
                match self.events.remove(at) {
                    LogEvent::ReadReady { result, .. } => result,
                    _ => unreachable!("only answers are found"),
                }
            }
        }
    }

    /// The bytes of all batches from an offset to the log end.
    ///
    /// Errors: those of the reads.
    ///
    /// # Panics
    /// If a read gives nothing before the log end.
    pub fn read_all(&mut self, mut from: Offset) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        while from < self.log.offsets().log_end() {
            let found = self.read_slices(from, 1 << 20)?;
            assert!(found.next_offset > from, "nothing at {from}");
            from = found.next_offset;
            bytes.extend(self.bytes_of(&found)?);
        }
        Ok(bytes)
    }

    /// The bytes of what was read.
    ///
    /// Errors: those of the disk.
    pub fn bytes_of(&mut self, found: &ReadSlices<D::File>) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        for slice in &found.slices {
            match slice {
                Slice::Bytes(piece) => bytes.extend_from_slice(piece),
                Slice::File(range) => {
                    let mut piece = vec![0; range.len as usize];
                    let count = self.disk.read_at(&range.file, range.position, &mut piece)?;
                    assert_eq!(count as u64, range.len, "a file range lies inside its file");
                    bytes.extend(piece);
                }
            }
        }
        Ok(bytes)
    }

    /// Closes the log cleanly and gives the disk back.
    pub fn close(mut self) -> D {
        assert!(self.log.begin_close(&mut self.disk), "the log can be closed");
        self.run_until(|bench| bench.events.iter().any(|event| matches!(event, LogEvent::Closed)));
        self.disk
    }
}
