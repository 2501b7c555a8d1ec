//! One broker as a value: shards, control, and one file per API handler.
//!
//! A broker is some [`Shard`]s, each with the connections and partitions of one thread, and one Control with the metadata.
//! They exchange messages ([`message`]); none of them has a clock, a socket or a thread, so that a process runs each on
//! its own thread and a simulator runs all in one.

#![forbid(unsafe_code)]

pub mod action;
mod api;
pub mod config;
mod connection;
pub mod control;
pub mod door;
pub mod error;
pub mod message;
pub mod metrics;
mod partition;
pub mod peer;
mod repeated;
pub mod shard;
pub mod standing;

pub use action::{CloseReason, ReplicaKey, ShardAction};
pub use config::{Limits, ShardConfig};
pub use door::{AddressFamily, ConnectionId, Door, DoorKind, ShardId};
pub use error::PartitionError;
pub use message::{ControlRequest, ExitCode, ShardMessage};
pub use metrics::{Metric, ShardGauges, ShardMetrics};
pub use peer::PeerMessage;
pub use shard::{Shard, shard_of};
pub use standing::{LeaderStanding, ReplicaRole, ReplicaStanding};
