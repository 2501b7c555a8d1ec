//! One replica's log of one partition: the rules D1 to D8 and Start of the replication rules, on any [`Disk`].
//!
//! Four kinds of methods: getters; commands (`append`, `sync`, `read`, `begin_*`), which answer at once or leave a
//! ticket; `handle_completion` for what the disk finished and `tick` for the time; `poll_event` and
//! `poll_timeout` for results. After any call, poll the events until there are none.
//!
//! Work that takes several syncs one after the other (cut, drop, recovery, close) is a *job*: a list of steps, of
//! which each submits at most one operation and the next begins when that has completed. While one runs the log
//! [is not settled](PartitionLog::is_settled) and takes no appends.

mod append;
mod bound;
mod chain;
mod close;
mod cut;
mod disk_full;
mod files;
mod indexes;
mod job;
mod keeper;
mod lookup;
mod producers;
mod ranges;
mod read;
mod recover;
mod retention;
mod salvage;
mod segment;
mod start;
mod sync;
mod tail;
#[cfg(test)]
mod tests;
mod timers;
pub mod types;
mod walk;

use std::collections::{BTreeMap, VecDeque};

use log_core::mutation::{Mutation, mutated};
use log_core::{EpochCache, LeaderEpoch, LogOffsets, Now, Offset, ProducerTable};

use self::bound::EndPoint;
pub use self::bound::read_bound;
use self::chain::ChainState;
use self::job::Job;
use self::keeper::Keeper;
use self::read::PendingRead;
use self::segment::Segment;
use self::sync::Capture;
use self::tail::TailBuffer;
use self::timers::Timers;
use self::types::{Fault, LogEvent, LogOptions, ReadAtStart};
use crate::disk::{Completion, Disk, LogId, Ticket};
use crate::error::{DiskError, DiskFault, DiskOperation};

/// One replica's log of one partition.
#[derive(Debug)]
pub struct PartitionLog<D: Disk> {
    id: LogId,
    dir: String,
    options: LogOptions,
    offsets: LogOffsets,
    epochs: EpochCache,
    producers: ProducerTable,
    /// In order; the last one is active. Empty until the first append.
    segments: VecDeque<Segment<D::File>>,
    /// How often a segment's file was asked for, to tell which ones were used last.
    file_uses: u64,
    /// Where segments begin that a start found below the log start and has not removed yet.
    retired: Vec<Offset>,
    tail: TailBuffer,
    /// The place of the durable end.
    durable: EndPoint,
    /// D1: a sync that was asked for before the last cut raises nothing.
    cut_count: u64,
    keeper: Keeper<D::File>,
    job: Option<Job>,
    waiting: BTreeMap<u64, Purpose<D::File>>,
    next_sequence: u64,
    /// Files beside the segments that the next sync carries.
    extra_dirty: Vec<D::File>,
    /// Directories above the log's own that the next sync carries.
    extra_dirs: Vec<String>,
    dir_dirty: bool,
    sync_running: bool,
    /// Somebody waits for what was appended, as far as the owner said last.
    sync_is_awaited: bool,
    suspect: Option<Offset>,
    fault: Option<Fault>,
    poisoned: Option<DiskError>,
    closed: bool,
    close_wanted: bool,
    snapshots: producers::Snapshots,
    chain: ChainState,
    cursors: read::Cursors,
    /// A log start, and where the batch begins that holds it.
    first_batch: (Offset, Offset),
    timers: Timers,
    read_at_start: ReadAtStart,
    events: VecDeque<LogEvent<D::File>>,
}

/// What a submitted operation was for.
#[derive(Debug)]
enum Purpose<F> {
    /// A sync of appends, and what it will have made durable.
    Sync(Capture),
    /// A step of the writer of the bound.
    Keeper,
    /// A step of the running job, and what it will have made durable.
    Job(Option<Capture>),
    /// A read for a caller.
    Read(Box<PendingRead<F>>),
}

impl<D: Disk> PartitionLog<D> {
    /// The id that was given when the log was opened.
    #[must_use]
    pub const fn id(&self) -> LogId {
        self.id
    }

    /// The directory of the log, relative to the log directory.
    #[must_use]
    pub fn dir(&self) -> &str {
        &self.dir
    }

    /// Log start, last stable offset, high watermark, log end and durable end.
    #[must_use]
    pub const fn offsets(&self) -> &LogOffsets {
        &self.offsets
    }

    /// Where each leader epoch begins.
    #[must_use]
    pub const fn epochs(&self) -> &EpochCache {
        &self.epochs
    }

    /// The leader epoch of the last batch; [`LeaderEpoch::NONE`] if there is none.
    #[must_use]
    pub fn last_epoch(&self) -> LeaderEpoch {
        self.epochs.latest().unwrap_or(LeaderEpoch::NONE)
    }

    /// The idempotent producers.
    #[must_use]
    pub const fn producers(&self) -> &ProducerTable {
        &self.producers
    }

    /// The options in force.
    #[must_use]
    pub const fn options(&self) -> &LogOptions {
        &self.options
    }

    /// Changes the options.
    pub fn set_options(&mut self, options: LogOptions) {
        self.options = options;
    }

    /// Whether no recovery, cut, drop or close is running, so that appends are taken.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.job.is_none() && !self.closed
    }

    /// Whether a cut or a drop is running.
    #[must_use]
    pub fn is_cutting(&self) -> bool {
        self.job.as_ref().is_some_and(Job::is_cut)
    }

    /// The log may have held more above this offset before a start (C5).
    #[must_use]
    pub const fn suspect(&self) -> Option<Offset> {
        self.suspect
    }

    /// Why nothing of the log is served, if so.
    #[must_use]
    pub const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// The error after which the log directory takes no writes.
    #[must_use]
    pub const fn poisoned(&self) -> Option<DiskError> {
        self.poisoned
    }

    /// Bytes of all batches kept, those of partly deleted segments included.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// How many segments there are.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// What was read from files when the log was opened.
    #[must_use]
    pub const fn read_at_start(&self) -> ReadAtStart {
        self.read_at_start
    }

    /// Whether something happened that was not taken yet.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<LogEvent<D::File>> {
        self.events.pop_front()
    }

    /// Moves the high watermark; a lower one than before changes nothing, one above the log end counts as that.
    pub fn set_high_watermark(&mut self, offset: Offset) {
        let offset = offset.min(self.offsets.log_end());
        if offset > self.offsets.high_watermark() {
            self.offsets.raise_high_watermark(offset);
            self.timers.on_bound_changed();
        }
    }

    /// Takes a completion whose ticket names this log.
    pub fn handle_completion(&mut self, disk: &mut D, now: Now, completion: Completion) {
        self.timers.see(now);
        let Some(purpose) = self.waiting.remove(&completion.ticket.sequence) else { return };
        let result = match purpose {
            Purpose::Read(read) => return self.finish_read(disk, *read, completion.result),
            Purpose::Sync(capture) => {
                let result = completion.result.map(|_| ());
                mutated(Mutation::S1, result, Ok(())).and_then(|()| self.on_synced(disk, capture))
            }
            Purpose::Keeper => completion.result.and_then(|_| self.on_keeper_synced(disk)),
            Purpose::Job(capture) => completion.result.and_then(|_| self.on_job_synced(disk, capture)),
        };
        if let Err(error) = result {
            self.poison(error);
        }
    }

    fn new_ticket(&mut self, purpose: Purpose<D::File>) -> Ticket {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.waiting.insert(sequence, purpose);
        Ticket { log: self.id, sequence }
    }

    /// D5: nothing is tried again; whoever owns the log ends the process. Not for what the medium does not give back: that is
    /// damage of this log alone.
    fn poison(&mut self, error: DiskError) {
        if is_unreadable(&error) {
            let at = self.segments.back().map_or(self.offsets.log_end(), |active| active.base);
            // If a job runs, one of its steps failed before it submitted anything: the rest must not go on from there.
            self.job = None;
            self.fail(Fault::Unreadable { at, error });
        } else if self.poisoned.is_none() {
            self.poisoned = Some(error);
            self.events.push_back(LogEvent::Poisoned(error));
        }
    }

    /// A medium that does not give durable bytes back is damage of this log, wherever it is noticed; any other error of
    /// a read is the caller's to try again. Whether it was damage.
    fn note_unreadable(&mut self, at: Offset, error: DiskError) -> bool {
        let damage = is_unreadable(&error);
        if damage {
            self.fail(Fault::Unreadable { at, error });
        }
        damage
    }

    fn fail(&mut self, fault: Fault) {
        if self.fault.is_none() {
            self.fault = Some(fault);
            self.tail.clear();
            self.events.push_back(LogEvent::Faulty(fault));
        }
    }

    /// The place of the log end.
    fn end_point(&self) -> EndPoint {
        let epoch = self.last_epoch();
        let offset = self.offsets.log_end();
        match self.segments.back() {
            Some(active) => EndPoint { offset, segment: active.base, position: active.bytes, epoch },
            None => EndPoint { offset, segment: offset, position: 0, epoch },
        }
    }

    /// The index of the segment that holds `offset`, or would.
    fn segment_of(&self, offset: Offset) -> Option<usize> {
        self.segments.partition_point(|segment| segment.base <= offset).checked_sub(1)
    }
}

/// Whether the medium does not give bytes back that it should have.
fn is_unreadable(error: &DiskError) -> bool {
    error.operation == DiskOperation::Read && error.fault == DiskFault::Medium
}
