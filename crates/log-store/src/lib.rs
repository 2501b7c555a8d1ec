//! A partition's log on a disk: append, read, cut, roll, recover.
//!
//! Everything here is a value that is told the time and given a [`Disk`]; nothing waits. What may block is
//! submitted to the disk, and its completion comes back through `handle_completion` of the log that it names.

#![forbid(unsafe_code)]

pub mod directory;
pub mod disk;
pub mod error;
pub mod memory;
pub mod partition;
pub mod record_log;
pub mod slot_file;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use disk::{Completed, Completion, DirEntry, Disk, LogId, OpenMode, Ticket};
pub use error::{AppendError, CutError, DiskError, DiskFault, DiskOperation, LogError, ReadError};
pub use memory::{FailedSync, MemoryCounters, MemoryDisk, MemoryFile};
pub use partition::types::{
    Appended, Fault, FileRange, FoundRecord, LeaderBatch, LogEvent, LogOptions, OpenFacts, ReadAtStart,
    ReadLimit, ReadOutcome, ReadSlices, Recovered, Replicated, Slice, StartVerdict,
};
pub use partition::{PartitionLog, read_bound};
pub use record_log::{Record, RecordLog, RecordLogError, RecordLogOptions, records_of};
pub use slot_file::{SLOT_STATE_BYTES_MAX, SlotFile, SlotState};
