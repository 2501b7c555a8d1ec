//! How long each work takes, by criterion, with the checksum that brokers use.

use criterion::{Criterion, criterion_group, criterion_main};
use highwater_bench_cores::{CHECKSUM, PORTABLE};

fn cores(criterion: &mut Criterion) {
    for work in PORTABLE.iter().chain([&CHECKSUM]) {
        let mut once = (work.make)(crc32c::crc32c_append);
        criterion.bench_function(work.name, |bencher| bencher.iter(&mut *once));
    }
}

criterion_group!(benches, cores);
criterion_main!(benches);
