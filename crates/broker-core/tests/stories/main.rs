//! Stories of brokers' shards: frames go in, bytes come out; no socket, no thread, no clock.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at what it did not expect")]

mod administration;
mod bad_input;
mod connections;
mod damage;
mod deletion;
mod elections;
mod groups;
mod long_polls;
mod produce_and_fetch;
mod replication;
mod support;
mod walk;
mod whole;
