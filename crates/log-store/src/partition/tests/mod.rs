//! The rules of one replica's disk, each with a test named for it, on the simulated medium.

mod basics;
mod bounds;
mod cuts;
mod descriptors;
mod media;
mod model;
mod producers;
mod salvage;
mod space;
mod starts;
mod timestamps;

use log_core::Crc32c;

use super::bound::{Bound, SLOT_BYTES};
use super::types::LogOptions;
use crate::memory::MemoryDisk;
use crate::testing::{Bench, DIR};
use crate::{Disk, OpenMode};

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

/// Both slots as the medium would show them after a power cut that kept nothing unsynced.
pub(super) fn slots(disk: &MemoryDisk) -> [Option<Bound>; 2] {
    let mut disk = disk.another_handle();
    let file = disk.open(&format!("{DIR}/bound"), OpenMode::Read).unwrap();
    let mut bytes = vec![0; 2 * SLOT_BYTES as usize];
    disk.read_at(&file, 0, &mut bytes).unwrap();
    let (first, second) = bytes.split_at(SLOT_BYTES as usize);
    [Bound::decode(first, CRC), Bound::decode(second, CRC)]
}

/// Durable batches of ten records each.
pub(super) fn batches_of_ten(count: usize) -> Bench<MemoryDisk> {
    let mut bench = bench();
    bench.append_many(count, 10, 100);
    bench.settle();
    bench
}

/// Lets the bound be written: five seconds pass.
pub(super) fn pass_five_seconds(bench: &mut Bench<MemoryDisk>) {
    bench.now.mono = bench.now.mono.after(core::time::Duration::from_secs(5));
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
}
