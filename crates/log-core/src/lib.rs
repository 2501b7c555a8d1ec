//! The log as pure answers: record batches, segments, indexes, epochs, producers, chain, retention.
//!
//! Nothing here reads a clock, a file or a socket: bytes, times and facts come in as arguments, answers go out. Who
//! appends, reads, syncs and recovers is the storage crate above.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod batch;
mod bytes;
pub mod chain;
pub mod codec;
pub mod container;
pub mod directory;
pub mod epoch;
pub mod error;
pub mod frame;
pub mod ids;
pub mod index;
pub mod limits;
pub mod mutation;
pub mod offset;
pub mod producer;
pub mod retention;
pub mod segment;
#[cfg(test)]
mod testing;
pub mod time;

pub use chain::Link;
pub use codec::{CodecError, Codecs, Compression, Crc32c};
pub use epoch::{EpochCache, EpochStart};
pub use error::{BatchError, BuildError, FileError, RecordError, Refusal, ScanError, SequenceError};
pub use frame::{FRAME_PREFIX_BYTES, Frame, FrameError, FrameLimits, FrameSizes, frame_head};
pub use ids::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, Incarnation, LeaderEpoch, MetadataOffset, PartitionEpoch,
    PartitionIndex, ProducerEpoch, ProducerId, Sequence, Session, TopicId, TopicPartition,
};
pub use offset::{LogOffsets, Offset};
pub use producer::{ProducerTable, SequenceCheck};
pub use time::{MonoTime, Now, Timestamp};
