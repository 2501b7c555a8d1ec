//! The rules of one replica's disk, each with a test named for it, on the simulated medium.

mod basics;
mod cuts;
mod model;
mod producers;
mod space;
mod starts;

use log_core::Crc32c;

use super::types::LogOptions;
use crate::memory::MemoryDisk;
use crate::testing::Bench;

pub(super) const CRC: Crc32c = crc32c::crc32c_append;

pub(super) fn options() -> LogOptions {
    LogOptions { reserve_bytes: 0, ..LogOptions::new(CRC) }
}

/// A new log on a new medium.
pub(super) fn bench() -> Bench<MemoryDisk> {
    Bench::create(MemoryDisk::new(), options())
}

/// Options without recent appends in memory, so that every read goes to the file.
pub(super) fn without_tail() -> LogOptions {
    LogOptions { tail_bytes_max: 0, ..options() }
}
