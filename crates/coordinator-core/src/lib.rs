//! The group coordinator: a command makes records and a reply, state changes only by replay.
//!
//! It covers the classic group protocol. Requests come in as [`command`]s without their encoding; records are Kafka's
//! own ([`records`]); who appends them and who is waiting for a reply is the caller's business.

#![forbid(unsafe_code)]

pub mod command;
mod config;
mod coordinator;
mod error;
mod group;
mod outbox;
pub mod records;

pub use config::GroupConfig;
pub use coordinator::GroupCoordinator;
pub use error::{GroupError, RecordError};
pub use outbox::{CoordinatorAction, WriteId};

#[cfg(test)]
mod tests;
