//! What goes into a partition's log and what comes out: options, facts, answers, events.

use bytes::Bytes;
use log_core::batch::Produced;
use log_core::limits;
use log_core::retention::RetentionPolicy;
use log_core::segment::RollPolicy;
use log_core::{Crc32c, LeaderEpoch, Offset, Timestamp};

use crate::disk::Ticket;
use crate::error::{AppendError, DiskError, ReadError};

/// What a log is told by its topic and its broker; may be changed while it runs.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// The checksum.
    pub crc: Crc32c,
    /// When segments are rolled.
    pub roll: RollPolicy,
    /// How long, and how much of, the log is kept.
    pub retention: RetentionPolicy,
    /// Idle time after which an idempotent producer is forgotten, in milliseconds.
    pub producer_expiration_ms: i64,
    /// The topic has the name of one that existed before: producers may begin at any sequence (P2).
    pub name_used_before: bool,
    /// Bytes of the disk that appends leave for deletes, cuts and checkpoints.
    pub reserve_bytes: u64,
    /// Bytes of recent appends that are kept in memory.
    pub tail_bytes_max: usize,
}

impl LogOptions {
    /// The defaults of `log-core`, a reserve of 64 MiB, 1 MiB of recent appends.
    #[must_use]
    pub fn new(crc: Crc32c) -> Self {
        Self {
            crc,
            roll: RollPolicy::default(),
            retention: RetentionPolicy::default(),
            producer_expiration_ms: limits::PRODUCER_EXPIRATION_MS_DEFAULT,
            name_used_before: false,
            reserve_bytes: RESERVE_BYTES_DEFAULT,
            tail_bytes_max: TAIL_BYTES_MAX_DEFAULT,
        }
    }
}

/// Default reserve of a log directory in bytes: room for the bounds, checkpoints and quarantined tails of a
/// broker with some thousand partitions (guess).
pub const RESERVE_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;

/// Default bytes of recent appends kept per log (guess: a few requests of the largest default size).
pub const TAIL_BYTES_MAX_DEFAULT: usize = 1024 * 1024;

/// What the broker knows when it opens a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFacts {
    /// The directory carried the clean mark.
    pub clean: bool,
    /// The newest leader epoch that the metadata on this disk knows for the partition; a batch with a newer one
    /// cannot be whole.
    pub newest_epoch: LeaderEpoch,
}

/// What the start of a log found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The verdict.
    pub verdict: StartVerdict,
    /// What was read for it.
    pub read: ReadAtStart,
    /// Bytes of batches accepted above the bound.
    pub bytes_recovered: u64,
    /// Bytes behind the last good batch that are cut.
    pub bytes_cut: u64,
}

/// What a start read from files, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAtStart {
    /// Of segments: scans and walks over batches. None after a clean stop.
    pub record_bytes: u64,
    /// Of the bound, the checkpoints, the indexes and the producers' snapshots: what says that nothing has to be scanned.
    pub bookkeeping_bytes: u64,
}

/// The verdict on a log at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartVerdict {
    /// The stop was clean; nothing was scanned.
    Clean,
    /// What lay above the bound was read and is whole, but for a last write that never completed.
    Verified,
    /// The log may have held more above this offset; a copy of what follows is kept in the quarantine.
    Suspect {
        /// Where it was cut.
        at: Offset,
    },
    /// Durable or committed records are damaged; everything is kept, nothing is served.
    Faulty(Fault),
}

/// Why a log is faulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Segments exist, but neither slot of the bound can be read.
    #[error("neither slot of the durable bound can be read")]
    BoundUnreadable,
    /// The log ends or breaks below its bound or high watermark.
    #[error("the log breaks at offset {at}, below what was durable or committed")]
    BelowBound {
        /// The first offset that is missing.
        at: Offset,
    },
    /// A durable batch does not hold its checksum, or is not where it should be.
    #[error("the batch at offset {at} is damaged")]
    BadBatch {
        /// The offset expected there.
        at: Offset,
    },
    /// The disk is full: there is no room for a copy of what has to be cut.
    #[error("no room on the disk for a copy of what has to be cut behind offset {at}")]
    NoRoom {
        /// Where it would be cut.
        at: Offset,
    },
    /// The leader has deleted all that this log, which lost its end, still holds (ADR 0018).
    #[error("the log lost its end: it ends at {at}, below all that its leader still has")]
    Outlived {
        /// Where it ends.
        at: Offset,
    },
    /// The medium does not read.
    #[error("the segment of offset {at} cannot be read: {error}")]
    Unreadable {
        /// The base offset of the segment.
        at: Offset,
        /// The disk's answer.
        error: DiskError,
    },
}

/// A batch of a client, as checked by `log_core::batch::validate`.
#[derive(Clone, Debug)]
pub struct LeaderBatch {
    /// Exactly the batch: a slice of the receive buffer. Its record bytes go to the disk from there.
    pub bytes: Bytes,
    /// What the check gave. `Stamp::Walk` must have been resolved into `Stamp::CreateTime`.
    pub produced: Produced,
}

/// What an append of a leader's push gave: at least one batch was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicated {
    /// The log end.
    pub end: Offset,
    /// Why the batches from there on were not appended; none if there are none. They have to be asked for again.
    pub rest: Option<AppendError>,
}

/// What an append gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record.
    pub base_offset: Offset,
    /// The offset after the last record: an `acks=all` request waits until this is committed.
    pub end_offset: Offset,
    /// The batch was appended before, at these offsets; nothing was appended now.
    pub is_duplicate: bool,
    /// The broker's time, if the records carry it.
    pub log_append_time: Option<Timestamp>,
}

/// How much to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// Bytes at most.
    pub max_bytes: u64,
    /// No batch that reaches beyond this offset (high watermark for consumers, log end for followers).
    pub end: Offset,
    /// Give one batch even if it is longer than `max_bytes`.
    pub at_least_one: bool,
}

/// A piece of what was read, to be sent as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slice<F> {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes of a file below the high watermark that were checked since the process started.
    File(FileRange<F>),
}

/// A range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRange<F> {
    /// The file.
    pub file: F,
    /// Where it starts, in bytes.
    pub position: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// Whole batches, the first of which holds the offset asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSlices<F> {
    /// The pieces, in order.
    pub slices: Vec<Slice<F>>,
    /// Their bytes altogether.
    pub bytes: u64,
    /// Where to read on; the offset asked for if nothing was read.
    pub next_offset: Offset,
}

/// The answer to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOutcome<F> {
    /// At once.
    Ready(ReadSlices<F>),
    /// The bytes are cold or not checked yet; [`LogEvent::ReadReady`] will bring them.
    Pending(Ticket),
}

/// A record found by its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// The leader epoch of its batch.
    pub leader_epoch: LeaderEpoch,
}

/// What happened in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogEvent<F> {
    /// Everything below this offset is durable.
    DurableEnd(Offset),
    /// A start after a power cut would find this log start, or a later one.
    DurableLogStart(Offset),
    /// The recovery of an unclean stop is durable: the log may be served, counted and reported.
    Recovered {
        /// The log end.
        end: Offset,
    },
    /// A cut ended, durably.
    CutFinished {
        /// The log end now.
        at: Offset,
    },
    /// All was dropped, durably; the log begins anew here.
    Dropped {
        /// The log start and end now.
        start_at: Offset,
    },
    /// A read that was pending ended.
    ReadReady {
        /// The ticket of the read.
        ticket: Ticket,
        /// What it gave.
        result: Result<ReadSlices<F>, ReadError>,
    },
    /// The suspect mark is no longer on the disk.
    SuspicionCleared,
    /// Damage was found below what is durable. Nothing of the log is served from now on.
    Faulty(Fault),
    /// A write or sync failed: the directory takes no more writes, the process is to end.
    Poisoned(DiskError),
    /// The close is complete: the bound equals the log end, durably.
    Closed,
}
