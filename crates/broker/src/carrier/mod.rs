//! What carries Kafka frames between clients and a shard. Each connection is served by one task on its shard's thread.

mod busy_poll;
mod ended;
mod file;
mod idle;
mod outlet;
pub(crate) mod stream;
pub(crate) mod tcp;
pub(crate) mod websocket;

pub(crate) use ended::Ended;
pub(crate) use file::{CHUNK_BYTES, Served, chunk_bytes, chunks};
pub(crate) use outlet::Outlet;
