//! The log as pure answers: record batches, segments, indexes, epochs, producers, chain, retention.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod codec;
pub mod ids;
pub mod offset;
pub mod time;

pub use codec::{CodecError, Codecs, Compression, Crc32c};
pub use ids::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, Incarnation, LeaderEpoch, MetadataOffset, PartitionEpoch,
    PartitionIndex, ProducerEpoch, ProducerId, Sequence, Session, TopicId, TopicPartition,
};
pub use offset::Offset;
pub use time::{MonoTime, Now, Timestamp};
