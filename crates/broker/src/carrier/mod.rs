//! What carries Kafka frames between clients and a shard. Each connection is served by one task on its shard's thread.

mod file;
mod outlet;
pub(crate) mod stream;
pub(crate) mod tcp;

pub(crate) use file::{Served, chunks};
pub(crate) use outlet::Outlet;
