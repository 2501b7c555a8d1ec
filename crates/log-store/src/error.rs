//! What can go wrong in the store, split by blame: the disk, the caller, the bytes found.

use core::fmt;

use log_core::{LeaderEpoch, Offset};

/// A failed disk operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskError {
    /// What was tried.
    pub operation: DiskOperation,
    /// Why it failed.
    pub fault: DiskFault,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.operation.name(), self.fault)
    }
}

impl core::error::Error for DiskError {}

impl DiskError {
    /// An error of `operation`.
    #[must_use]
    pub const fn new(operation: DiskOperation, fault: DiskFault) -> Self {
        Self { operation, fault }
    }

    /// Whether the disk was full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.fault == DiskFault::Full
    }

    /// Whether the file or directory was missing.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.fault == DiskFault::NotFound
    }

    /// Whether nothing was done for want of a file descriptor: it may be tried again.
    #[must_use]
    pub fn lacks_descriptor(&self) -> bool {
        self.fault == DiskFault::NoDescriptor
    }
}

/// The kinds of disk operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskOperation {
    /// Creating a directory.
    CreateDir,
    /// Listing a directory.
    List,
    /// Opening a file.
    Open,
    /// Asking for a file's length.
    FileLength,
    /// Writing.
    Write,
    /// Reading.
    Read,
    /// Reserving space.
    Preallocate,
    /// Cutting a file.
    Truncate,
    /// Renaming.
    Rename,
    /// Removing a file or directory.
    Remove,
    /// Asking for free space.
    FreeBytes,
    /// Making durable.
    Sync,
}

impl DiskOperation {
    /// The operation in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateDir => "creating a directory",
            Self::List => "listing a directory",
            Self::Open => "opening a file",
            Self::FileLength => "asking for a file's length",
            Self::Write => "writing",
            Self::Read => "reading",
            Self::Preallocate => "reserving space",
            Self::Truncate => "cutting a file",
            Self::Rename => "renaming",
            Self::Remove => "removing",
            Self::FreeBytes => "asking for free space",
            Self::Sync => "syncing",
        }
    }
}

/// Why a disk operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiskFault {
    /// No such file or directory.
    #[error("no such file or directory")]
    NotFound,
    /// It exists already.
    #[error("it exists already")]
    AlreadyExists,
    /// Missing rights.
    #[error("permission denied")]
    Denied,
    /// No space left.
    #[error("no space left on the disk")]
    Full,
    /// Neither this process nor the system has a file descriptor left.
    #[error("no file descriptor is free")]
    NoDescriptor,
    /// The file system is mounted read-only.
    #[error("the file system is read-only")]
    ReadOnly,
    /// The directory is poisoned: a sync or a write failed before, and what is on the disk is not known.
    #[error("an earlier write or sync of this log directory failed")]
    Poisoned,
    /// The file was opened before the machine last started (simulated disks only).
    #[error("the file was opened before the last restart")]
    Stale,
    /// The medium could not read or write.
    #[error("input/output error")]
    Medium,
    /// Another error of the operating system, by its number.
    #[error("operating system error {0}")]
    Os(i32),
}

/// Why a log could not be created, opened or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The disk failed.
    #[error("{0}")]
    Disk(#[from] DiskError),
    /// The log exists already.
    #[error("the partition's directory holds a log already")]
    Exists,
}

/// Why an append was refused. Nothing was appended, except where the variant says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// A cut, a recovery or a close is running.
    #[error("the log is being cut, recovered or closed")]
    Cutting,
    /// The log is damaged.
    #[error("the log is damaged")]
    Faulty,
    /// A write or sync failed; the directory takes no more writes. Part of the batches may be in the file.
    #[error("the log directory is poisoned: {0}")]
    Poisoned(DiskError),
    /// The append would touch the space reserved for deletes, cuts and checkpoints.
    #[error("disk full: {free} bytes are free and {reserve} are kept in reserve")]
    DiskFull {
        /// Free bytes.
        free: u64,
        /// Bytes kept in reserve.
        reserve: u64,
    },
    /// Another error of the disk before anything was written.
    #[error("{0}")]
    Disk(DiskError),
    /// The leader epoch is older than that of the last batch.
    #[error("leader epoch {given} is older than the log's {newest}")]
    OldEpoch {
        /// The epoch given.
        given: LeaderEpoch,
        /// The epoch of the last batch.
        newest: LeaderEpoch,
    },
    /// A replicated batch has an epoch above the stream's.
    #[error("batch of leader epoch {batch} on a stream of epoch {stream}")]
    EpochAboveStream {
        /// The batch's epoch.
        batch: LeaderEpoch,
        /// The stream's epoch.
        stream: LeaderEpoch,
    },
    /// A replicated batch does not continue the log.
    #[error("batch at offset {found} where {expected} is next")]
    NotContinuous {
        /// The next offset of the log.
        expected: Offset,
        /// The batch's base offset.
        found: Offset,
    },
    /// A replicated batch is damaged or cut off.
    #[error("replicated batch at offset {at} is damaged")]
    Damaged {
        /// The offset at which it was expected.
        at: Offset,
    },
    /// The producer's sequence does not continue its last one (P2 included).
    #[error("out of order sequence number")]
    OutOfOrderSequence,
    /// The producer's epoch is older than the newest seen.
    #[error("producer epoch is fenced")]
    InvalidProducerEpoch,
    /// A sequence older than the window of recent batches: appended once, at an offset no longer known.
    #[error("duplicate sequence number outside the window")]
    DuplicateSequence,
    /// A batch longer than a segment may be.
    #[error("batch of {bytes} bytes is larger than a segment may be ({segment_bytes_max} bytes)")]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The limit.
        segment_bytes_max: u64,
    },
    /// The log has no offsets left.
    #[error("no offsets left in this partition")]
    OffsetsExhausted,
    /// No batches were given.
    #[error("no batches given")]
    Empty,
}

/// Why a cut was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// The cut would go below the own high watermark: one of the two logs is wrong, and it may be the leader's.
    #[error("cut to {to} lies below the own high watermark {high_watermark}")]
    Conflict {
        /// Where to cut.
        to: Offset,
        /// The own high watermark.
        high_watermark: Offset,
    },
    /// A cut, recovery or close is running already.
    #[error("the log is being cut, recovered or closed")]
    Cutting,
    /// The log is damaged.
    #[error("the log is damaged")]
    Faulty,
    /// The directory is poisoned, or the disk failed now.
    #[error("{0}")]
    Disk(#[from] DiskError),
}

/// Why a read was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The offset lies below the log start or above the log end.
    #[error("offset {offset} lies outside {log_start} to {log_end}")]
    OutOfRange {
        /// The offset asked for.
        offset: Offset,
        /// The first offset kept.
        log_start: Offset,
        /// The offset after the last record.
        log_end: Offset,
    },
    /// The log is damaged; nothing is served.
    #[error("the log is damaged")]
    Faulty,
    /// The disk failed.
    #[error("{0}")]
    Disk(#[from] DiskError),
}
