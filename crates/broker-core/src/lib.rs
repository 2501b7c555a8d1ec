//! One broker as a value: shards, control, and one file per API handler.

#![forbid(unsafe_code)]

pub mod control;
pub mod door;
pub mod message;

pub use door::{AddressFamily, ConnectionId, Door, DoorKind, ShardId};
pub use message::{ControlRequest, ExitCode, ShardMessage};
