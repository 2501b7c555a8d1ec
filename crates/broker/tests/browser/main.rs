//! Pages in browsers as clients: who is let in, how each carrier is closed and why, and what a client that misbehaves costs.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod brokers;
mod http3;
mod own_certificate;
#[allow(dead_code, reason = "stories in other processes use the rest")]
mod page;
#[allow(dead_code, reason = "stories in other processes use the rest")]
mod support;
mod websocket;
mod webtransport;
