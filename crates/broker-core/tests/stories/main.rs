//! Stories of brokers' shards: frames go in, bytes come out; no socket, no thread, no clock.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at what it did not expect")]

mod produce_and_fetch;
mod support;
