//! The client without socket or clock: connections, metadata, producer, consumer, group membership, admin.
//!
//! Three values, each driven by whoever has the sockets and clocks (the native client, a browser tab, a simulator):
//!
//! * [`ClientBrain`] decides everything. One per client, on one task.
//! * [`Accumulator`] gathers the records of one producer into batches, on the task of whoever produces.
//! * [`FetchBuffer`] holds the fetched batches of one consumer, on the task of whoever reads.
//!
//! # Call order
//!
//! Time and randomness are arguments: `now` at every call, a seed in [`Environment`]. After *every* call to the brain:
//!
//! 1. [`ClientBrain::poll_action`] until it gives `None`, carrying out each [`Action`]. Carrying one out may lead to
//!    further calls ([`Action::Pull`] asks for [`ClientBrain::pull`]); then poll again.
//! 2. [`ClientBrain::poll_timeout`] and [`Accumulator::poll_timeout`] name the moments at which
//!    [`ClientBrain::handle_timeout`] (and `pull`) must be called if nothing else happens before. Calls that come early or
//!    late do no harm but for the delay.
//!
//! `handle_*` methods say what the world did; verbs (`open_consumer`, `seek`, `admin`) what the caller wants. Each
//! connection named by [`Action::Connect`] is answered by `handle_connected` or `handle_connection_failed`, and ends by
//! `handle_closed` or [`Action::Close`], whichever is first. Nothing that comes from a broker makes the brain panic.
//!
//! An [`Accumulator`] and a [`FetchBuffer`] may be locked by two tasks; the brain is never behind a lock.

#![forbid(unsafe_code)]

mod action;
pub mod address;
pub mod admin;
mod backoff;
mod brain;
mod cluster;
mod consumer;
mod core;
mod cure;
pub mod error;
mod group;
mod metrics;
mod network;
pub mod options;
pub mod partitioner;
mod producer;
mod purpose;
mod queries;
mod random;
mod record;

pub use action::{
    Action, Answer, BatchId, CallId, ConnectionId, ConsumerEvent, ConsumerHandle, Delivery, Placed,
    ProducerHandle,
};
pub use address::{Address, Transport};
pub use brain::ClientBrain;
pub use consumer::{Ends, FetchBuffer, Fetched, RecordBatch, SeekTo};
pub use core::Environment;
pub use error::{ClientError, NetworkCause};
pub use kafka_wire::ErrorCode;
pub use metrics::Metrics;
pub use options::{
    Acks, ClientOptions, ConsumerOptions, GroupOptions, OnLostPosition, ProducerOptions, Start, Subscription,
};
pub use producer::{Accumulator, Appended, Refused};
pub use record::{Ack, ConsumedRecord, Header, Record};
