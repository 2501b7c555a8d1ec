//! A log under random use, power cuts and failing syncs against a naive model: what was said to be durable is never
//! lost, nothing is invented, and what is read is what was appended.

use log_core::batch::BatchHeader;
use log_core::segment::RollPolicy;
use log_core::{Crc32c, LeaderEpoch, Offset};

use super::{Bench, checked, client_batch, producer};
use crate::partition::types::{LogEvent, LogOptions, StartVerdict};
use crate::{AppendError, CutError, FailedSync, MemoryDisk};

/// Something that happens to a log.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Append { batches: usize, records: usize, bytes: usize },
    NewEpoch,
    Sync,
    SyncLazily,
    FiftyMilliseconds,
    Release(usize),
    FiveSeconds,
    HighWatermark(u8),
    LogStart(u8),
    Cut(u8),
    DropAll(u8),
    Chain,
    Read(u8),
    WriteBack(u64),
    FailSync(bool),
    Kill,
    PowerCut(u64),
    CleanRestart,
}

impl Step {
    /// The next step that the bytes say; none when they have ended.
    fn read(choices: &mut impl Iterator<Item = u8>) -> Option<Self> {
        let kind = choices.next()?;
        let mut byte = || choices.next().unwrap_or(0);
        Some(match kind % 16 {
            0 => Self::NewEpoch,
            1 => Self::Sync,
            2 => Self::lazily(byte()),
            3 | 4 => Self::Release(1 + usize::from(byte() % 3)),
            5 => Self::FiveSeconds,
            6 => Self::HighWatermark(byte()),
            7 => Self::LogStart(byte()),
            8 => Self::Cut(byte()),
            9 => Self::DropAll(byte()),
            10 => Self::Chain,
            11 => Self::Read(byte()),
            12 => Self::WriteBack(u64::from(byte())),
            13 => Self::restart(byte()),
            _ => {
                let (batches, records) = (1 + usize::from(byte() % 3), 1 + usize::from(byte() % 19));
                Self::Append { batches, records, bytes: 1 + usize::from(byte()) * 3 }
            }
        })
    }

    fn lazily(choice: u8) -> Self {
        match choice % 4 {
            0 => Self::SyncLazily,
            1 => Self::FiftyMilliseconds,
            _ => Self::Sync,
        }
    }

    fn restart(choice: u8) -> Self {
        match choice % 8 {
            0 => Self::Kill,
            1 => Self::CleanRestart,
            2 => Self::FailSync(false),
            3 => Self::FailSync(true),
            _ => Self::PowerCut(u64::from(choice)),
        }
    }
}

/// Lets the bytes decide what happens to a log, and whether its segments and its memory are small.
///
/// # Panics
/// If something that was said to be durable is lost, something is invented, or a read gives what was not appended.
pub fn walk_by(choices: &[u8], crc: Crc32c) {
    let mut choices = choices.iter().copied().take(200);
    let sizes = choices.next().unwrap_or(0);
    let mut steps = Vec::new();
    while let Some(step) = Step::read(&mut choices) {
        steps.push(step);
    }
    walk(&steps, sizes & 1 == 1, sizes & 2 == 2, crc);
}

/// The steps one after the other, then a power cut.
pub(crate) fn walk(steps: &[Step], small: bool, tail: bool, crc: Crc32c) {
    let segment_bytes = if small { 6_000 } else { 1 << 30 };
    let roll = RollPolicy { segment_bytes, ..RollPolicy::default() };
    let tail_bytes_max = if tail { 1 << 20 } else { 30_000 };
    let options = LogOptions { roll, tail_bytes_max, reserve_bytes: 0, ..LogOptions::new(crc) };
    let mut world = World::new(options);
    for step in steps {
        world.step(step);
    }
    world.restart(Some(7));
}

/// What the log should hold.
#[derive(Clone, Debug, Default)]
struct Model {
    start: i64,
    /// Ends and bytes of all batches since `start`.
    batches: Vec<(i64, Vec<u8>)>,
    durable: i64,
}

impl Model {
    fn end(&self) -> i64 {
        self.batches.last().map_or(self.start, |batch| batch.0)
    }

    /// The bytes from the batch that holds `from` to the one that ends with `to`.
    fn bytes(&self, from: i64, to: i64) -> Vec<u8> {
        let within = self.batches.iter().filter(|batch| batch.0 > from && batch.0 <= to);
        within.flat_map(|batch| batch.1.clone()).collect()
    }

    /// The sequence that the producer goes on with.
    fn next_sequence(&self) -> i32 {
        let last = self.batches.last().map(|(_, bytes)| BatchHeader::parse(bytes).unwrap());
        last.map_or(0, |header| header.base_sequence.plus(header.last_offset_delta).plus(1).0)
    }

    fn cut(&mut self, to: i64) {
        self.batches.retain(|batch| batch.0 <= to);
        self.durable = self.durable.min(to);
    }
}

/// Time passes, up to which the log is called when it wants to be; it wants nothing over and over.
fn pass(bench: &mut Bench<MemoryDisk>, time: core::time::Duration) {
    let until = bench.now.mono.after(time);
    for _ in 0..100 {
        let due = bench.log.poll_timeout().filter(|due| *due <= until);
        bench.now.mono = due.unwrap_or(until).max(bench.now.mono);
        bench.log.tick(&mut bench.disk, bench.now);
        if due.is_none() {
            return;
        }
    }
    panic!("the log wants to be called again and again");
}

struct World {
    bench: Bench<MemoryDisk>,
    options: LogOptions,
    model: Model,
    /// What the log may be as well after a crash: that of before a running cut or drop.
    before: Option<Model>,
    epoch: i32,
    tags: u64,
}

impl World {
    fn new(options: LogOptions) -> Self {
        let mut bench = Bench::create(MemoryDisk::new(), options);
        bench.patience = core::time::Duration::ZERO;
        bench.disk.hold(true);
        Self { bench, options, model: Model::default(), before: None, epoch: 1, tags: 0 }
    }

    fn gather(&mut self) {
        self.bench.run();
        for event in self.bench.events.drain(..) {
            match event {
                LogEvent::DurableEnd(end) => self.model.durable = self.model.durable.max(end.0),
                // A cut at the end or above cuts nothing, and makes nothing durable.
                LogEvent::CutFinished { .. } | LogEvent::Dropped { .. } => {
                    self.before = None;
                    self.model.durable = self.bench.log.offsets().durable_end().0;
                }
                LogEvent::Faulty(fault) => panic!("faulty: {fault}"),
                _ => {}
            }
        }
        let offsets = self.bench.log.offsets();
        assert_eq!(offsets.log_end().0, self.model.end());
        assert!(offsets.durable_end().0 <= self.model.end());
    }

    fn pick(&self, choice: u8, low: i64, high: i64) -> i64 {
        low + i64::from(choice) * (high - low + 1).max(1) / 256
    }

    fn step(&mut self, step: &Step) {
        let bench = &mut self.bench;
        let (end, high) = (self.model.end(), bench.log.offsets().high_watermark().0);
        match *step {
            Step::Append { batches, records, bytes } => {
                (0..batches).for_each(|_| self.append(records, bytes))
            }
            Step::NewEpoch => self.epoch += 1,
            Step::Sync => bench.log.sync(&mut bench.disk),
            Step::Release(count) => (0..count).for_each(|_| {
                self.bench.disk.release_one();
                self.gather();
            }),
            Step::SyncLazily => bench.log.sync_lazily(&mut bench.disk),
            Step::FiftyMilliseconds => pass(bench, core::time::Duration::from_millis(50)),
            Step::FiveSeconds => pass(bench, core::time::Duration::from_secs(5)),
            Step::HighWatermark(choice) => {
                let to = self.pick(choice, high, end);
                self.bench.log.set_high_watermark(Offset(to));
            }
            Step::LogStart(choice) => {
                let start = bench.log.offsets().log_start().0;
                let now = bench.now;
                let to = self.pick(choice, start, high);
                self.bench.log.advance_log_start(&mut self.bench.disk, now, Offset(to));
            }
            Step::Cut(choice) => self.cut(self.pick(choice, self.model.start, end)),
            Step::DropAll(choice) => {
                let start = end + i64::from(choice);
                if bench.log.begin_drop_all(&mut bench.disk, Offset(start)).is_ok() {
                    let dropped = Model { start, batches: Vec::new(), durable: start };
                    self.before = Some(std::mem::replace(&mut self.model, dropped));
                }
            }
            Step::Chain => drop(bench.log.chain_step(&mut bench.disk, 1 << 20)),
            Step::Read(choice) => self.read(choice),
            Step::WriteBack(seed) => bench.disk.write_back(seed),
            Step::FailSync(old) => {
                bench.disk.fail_next_sync(if old { FailedSync::ShowsOld } else { FailedSync::ShowsNew });
            }
            Step::Kill => self.restart(None),
            Step::PowerCut(seed) => self.restart(Some(seed)),
            Step::CleanRestart => self.restart_cleanly(),
        }
        self.gather();
        if self.bench.log.poisoned().is_some() {
            self.restart(None);
        }
    }

    /// Appends the next batch of the one producer: its state has to be that of exactly the batches in the log.
    fn append(&mut self, records: usize, bytes: usize) {
        let producer = producer(5, 0, self.model.next_sequence());
        self.tags += 1;
        let crc = self.options.crc;
        let batch = checked(crc, client_batch(crc, self.tags, records, bytes, producer));
        let log = &mut self.bench.log;
        let epoch = LeaderEpoch(self.epoch);
        let appended = log.append(&mut self.bench.disk, self.bench.now, epoch, &[batch]);
        assert_ne!(appended, Err(AppendError::OutOfOrderSequence), "sequence {producer:?}");
        if let Ok(appended) = appended {
            assert!(!appended.is_duplicate, "{appended:?} of {producer:?}");
            assert_eq!(appended.base_offset.0, self.model.end());
            let end = appended.end_offset.0;
            let limit = crate::ReadLimit { max_bytes: 1, end: appended.end_offset, at_least_one: true };
            let from = appended.base_offset;
            let stored = self.bench.log.read(&mut self.bench.disk, from, limit).unwrap();
            let crate::ReadOutcome::Ready(found) = stored else { panic!("just appended") };
            let bytes = self.bench.bytes_of(&found).unwrap();
            self.model.batches.push((end, bytes));
        }
    }

    fn cut(&mut self, to: i64) {
        let high = self.bench.log.offsets().high_watermark();
        let whole = self.model.batches.iter().map(|batch| batch.0).filter(|end| *end <= to).max();
        let at = whole.unwrap_or(self.model.start);
        match self.bench.log.begin_cut(&mut self.bench.disk, Offset(to)) {
            Ok(()) if to < self.model.end() => {
                assert!(at >= high.0);
                self.before = Some(self.model.clone());
                self.model.cut(at);
            }
            Ok(()) => {}
            Err(CutError::Conflict { .. }) => assert!(at < high.0),
            Err(CutError::Cutting | CutError::Disk(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn read(&mut self, choice: u8) {
        let (start, end) = (self.bench.log.offsets().log_start().0, self.model.end());
        let from = self.pick(choice, start, end);
        let limit = crate::ReadLimit {
            max_bytes: u64::from(choice) * 50,
            end: Offset(end),
            at_least_one: choice.is_multiple_of(2),
        };
        let outcome = self.bench.log.read(&mut self.bench.disk, Offset(from), limit).unwrap();
        if let crate::ReadOutcome::Ready(found) = outcome {
            let bytes = self.bench.bytes_of(&found).unwrap();
            assert!(bytes == self.model.bytes(from, found.next_offset.0));
            assert!(bytes.len() as u64 <= limit.max_bytes || limit.at_least_one);
        }
    }

    /// The process or the machine stops; what comes back has to be explained by the model.
    fn restart(&mut self, power_cut: Option<u64>) {
        let fresh = Bench::create(MemoryDisk::new(), self.options);
        let bench = std::mem::replace(&mut self.bench, fresh);
        let claimed = bench.log.offsets().durable_end().0;
        let (poisoned, start) = (bench.log.poisoned().is_some(), bench.log.offsets().log_start().0);
        match power_cut {
            Some(seed) => bench.disk.power_cut(seed),
            None => bench.disk.kill_process(),
        }
        bench.disk.hold(true);
        self.bench = Bench::open(bench.disk, self.options, false);
        let verdict = self.bench.recovered.unwrap().verdict;
        assert!(!matches!(verdict, StartVerdict::Faulty(_)), "{verdict:?}");
        if power_cut.is_none() && !poisoned {
            assert!(matches!(verdict, StartVerdict::Verified | StartVerdict::Suspect { .. }));
        }
        self.explain(claimed.min(self.model.durable.max(start)));
    }

    /// The log after a start is the model, or that of before a cut, up to some batch at or above the durable end.
    fn explain(&mut self, claimed: i64) {
        let offsets = self.bench.log.offsets();
        let (start, end) = (offsets.log_start().0, offsets.log_end().0);
        let old = self.before.take();
        let fits = |model: &&Model| {
            let known = model.batches.iter().any(|batch| batch.0 == end) || model.start == end;
            known && start >= model.start && end >= model.durable.min(claimed) && end <= model.end()
        };
        let mut found = old.iter().chain([&self.model]).find(fits).cloned().unwrap_or_else(|| {
            panic!("{start}..{end} is neither {:?} nor {:?}", summary(&self.model), old.as_ref().map(summary))
        });
        found.cut(end);
        self.model = found;
        self.model.durable = self.model.durable.min(end);
        self.finish_recovery();
    }

    fn finish_recovery(&mut self) {
        self.bench.patience = core::time::Duration::ZERO;
        self.bench.disk.hold(false);
        self.bench.settle();
        self.bench.events.clear();
        assert_eq!(self.bench.log.fault(), None);
        assert_eq!(self.bench.log.offsets().log_end().0, self.model.end());
        let start = self.bench.log.offsets().log_start();
        let bytes = self.bench.read_all(start).unwrap();
        assert!(bytes == self.model.bytes(start.0, self.model.end()), "other bytes after the start");
        self.model.durable = self.model.end();
        self.bench.disk.hold(true);
    }

    fn restart_cleanly(&mut self) {
        self.bench.disk.cancel_failures();
        self.bench.disk.hold(false);
        self.bench.settle();
        self.gather();
        if self.bench.log.poisoned().is_some() {
            return;
        }
        let fresh = Bench::create(MemoryDisk::new(), self.options);
        let bench = std::mem::replace(&mut self.bench, fresh);
        let suspect = bench.log.suspect().is_some();
        let disk = bench.close();
        disk.power_cut(1);
        self.bench = Bench::open(disk, self.options, true);
        let verdict = self.bench.recovered.unwrap().verdict;
        assert_eq!(verdict == StartVerdict::Clean, !suspect, "{verdict:?}");
        self.before = None;
        self.finish_recovery();
    }
}

fn summary(model: &Model) -> (i64, i64, i64) {
    (model.start, model.durable, model.end())
}
