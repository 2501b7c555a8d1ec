//! A partition's log on a simulated disk: walks with crashes against a model, and files cut or changed behind its back.
//!
//! Whatever was done to the files, a start ends in a verdict, and what is served was appended: all of it but the leader's epoch, which
//! no checksum of a batch covers (Kafka's format) and which the hash chain alone tells from another.

#![no_main]

use highwater_fuzz::Choices;
use log_core::segment::RollPolicy;
use log_core::{Offset, Timestamp};
use log_store::testing::{Bench, DIR};
use log_store::{Disk, LogOptions, MemoryDisk, OpenMode, ReadError, StartVerdict};

highwater_fuzz::target!(seeds, check);

fn check(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, rest)) => log_store::testing::walk_by(rest, crc32c::crc32c_append),
        Some((_, rest)) => damage(rest),
        None => {}
    }
}

fn options(small: bool) -> LogOptions {
    let segment_bytes = if small { 2_000 } else { 1 << 30 };
    let roll = RollPolicy { segment_bytes, ..RollPolicy::default() };
    LogOptions { roll, reserve_bytes: 0, tail_bytes_max: 0, ..LogOptions::new(crc32c::crc32c_append) }
}

/// A log of a few batches that stops cleanly or not, then damage as the input says, then a start.
fn damage(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (small, clean, committed) =
        (choices.byte() & 1 == 1, choices.byte() & 1 == 1, choices.byte() & 1 == 1);
    let mut bench = Bench::create(MemoryDisk::new(), options(small));
    bench.append_many(2 + choices.below(5), 3, 100);
    bench.settle();
    if committed {
        bench.commit();
    }
    bench.append_many(choices.below(4), 2, 50);
    bench.run();
    let appended = bench.read_all(Offset::ZERO).expect("it was just appended");
    let mut disk = if clean {
        bench.settle();
        bench.close()
    } else {
        bench.disk.another_handle()
    };
    disk.kill_process();
    while !choices.is_empty() {
        harm(&mut disk, &mut choices);
    }
    start(disk, options(small), clean, &appended);
}

/// One change to one file.
fn harm(disk: &mut MemoryDisk, choices: &mut Choices<'_>) {
    let names: Vec<String> = disk.list(DIR).unwrap_or_default().into_iter().map(|entry| entry.name).collect();
    if names.is_empty() {
        choices.rest();
        return;
    }
    let path = format!("{DIR}/{}", names[choices.below(names.len())]);
    let Ok(file) = disk.open(&path, OpenMode::Write) else { return };
    let length = disk.file_len(&file).unwrap_or(0);
    let position = u64::from(choices.short()) % (length + 1);
    let _ = match choices.below(4) {
        0 => disk.truncate(&file, position),
        1 => disk.remove_file(&path),
        2 => disk.write_at(&file, position, &[choices.piece(60)]),
        _ => disk.write_at(&file, position, &[&[0; 64]]),
    };
}

fn start(disk: MemoryDisk, options: LogOptions, clean: bool, appended: &[u8]) {
    let mut bench = Bench::open(disk, options, clean);
    let verdict = bench.recovered.expect("it was just opened").verdict;
    bench.settle();
    if matches!(verdict, StartVerdict::Faulty(_)) || bench.log.fault().is_some() {
        return;
    }
    let begin = bench.log.offsets().log_start();
    match bench.read_all(begin) {
        Ok(served) => {
            let (served, appended) = (without_epochs(&served), without_epochs(appended));
            assert!(is_within(&served, &appended), "bytes are served that were not appended");
        }
        Err(ReadError::Faulty) => {}
        Err(error) => panic!("{error}"),
    }
    let (now, end) = (Timestamp(bench.now.wall.0), bench.log.offsets().log_end());
    let _ = bench.log.offset_for_timestamp(&mut bench.disk, now, end, compression::CODECS);
}

/// Whole batches with zeros where each has its leader's epoch.
fn without_epochs(batches: &[u8]) -> Vec<u8> {
    let mut batches = batches.to_vec();
    let mut at = 0;
    while let Some(batch) = batches.get_mut(at..).filter(|batch| batch.len() >= 16) {
        let length = u32::from_be_bytes([batch[8], batch[9], batch[10], batch[11]]);
        batch[12..16].fill(0);
        at += 12 + length as usize;
    }
    batches
}

fn is_within(part: &[u8], whole: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

fn seeds() -> Vec<Vec<u8>> {
    let mut noise = 1_u32;
    let mut next = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8
    };
    let mut seeds = Vec::new();
    for length in [20, 60, 150] {
        seeds.push([0].into_iter().chain((0..length).map(|_| next())).collect());
    }
    for switches in 0..8_u8 {
        let head = [1, switches & 1, switches >> 1 & 1, switches >> 2 & 1, 2, 2];
        seeds.push(head.into_iter().chain((0..6).map(|_| next())).collect());
        seeds.push(head.to_vec());
    }
    seeds
}
