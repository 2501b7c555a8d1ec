//! ISR replication as two sans-IO machines, and the frames between them.
//!
//! A `Leader` and a `Follower` each decide for one replica of one partition, by the rules L1 to L10
//! and the stream of section 4. Neither has a clock, a socket or a file. Their owner
//!
//! 1. tells them what happened with `handle_*(now, ..)`;
//! 2. takes actions with `poll_action()` until there is none, doing each before it takes the next;
//! 3. calls `handle_timeout(now)` once `poll_timeout()` has passed.
//!
//! Times are monotonic. A metadata change that ends a leadership is given to the leader first; when its actions
//! are done the value is dropped, and a follower made.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, feature = "testing"))]
extern crate std;

pub mod action;
mod backoff;
pub mod error;
pub mod follower;
pub mod frames;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]
mod harness;
#[cfg(debug_assertions)]
mod invariants;
pub mod leader;
mod mutation;
pub mod stream;
#[cfg(any(test, feature = "testing"))]
#[allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may panic; walks use a part"
)]
mod testing;
pub mod view;
#[cfg(any(test, feature = "testing"))]
pub mod walks;

pub use action::{
    FollowerAction, FollowerAlarm, IsrAnswer, IsrProposal, LeaderAction, LeaderAlarm, LeaveReason, PushOrder,
    ResignReason,
};
pub use error::{DecodeError, HelloError, NotLeading, PushFault};
pub use follower::{Follower, FollowerStart};
pub use frames::{
    Ack, FOLLOWER_FRAME_LIMITS, FRAME_HEADER_BYTES_MAX, FRAME_VERSION, FollowerFrame, LEADER_FRAME_LIMITS,
    LeaderFrame, Lineage, Open, Push, StreamRefusal,
};
pub use leader::{ClientEpochRefusal, Leader, LeaderStart, ReadBound};
pub use stream::{CloseReason, HELLO_LIMITS, REPLICA_STREAM_VERSION, StreamId, StreamKind};
pub use view::{LogFacts, PartitionView, ReplicaView, Settings};
