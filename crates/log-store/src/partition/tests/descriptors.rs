//! Without a free file descriptor nothing of the log is lost, damaged or given up: what needs one waits.

use core::time::Duration;

use log_core::segment::RollPolicy;
use log_core::{Codecs, LeaderEpoch, Offset, ProducerId};

use super::*;
use crate::partition::bound::winner;
use crate::partition::files::OPEN_SEALED_MAX;
use crate::partition::types::{LogEvent, StartVerdict};
use crate::testing::{checked, client_batch, producer};
use crate::{AppendError, DiskFault, DiskOperation, ReadError};

fn small_segments() -> LogOptions {
    LogOptions { roll: RollPolicy { segment_bytes: 10_000, ..RollPolicy::default() }, ..without_tail() }
}

/// After so many good calls of this kind the next one finds no descriptor.
fn lack(bench: &Bench<MemoryDisk>, good: usize, operation: DiskOperation) {
    bench.disk.fail_after(good, operation, DiskFault::NoDescriptor);
}

fn pass(bench: &mut Bench<MemoryDisk>, time: Duration) {
    bench.now.mono = bench.now.mono.after(time);
    bench.log.tick(&mut bench.disk, bench.now);
    bench.run();
}

/// Lets what was put off happen, whenever the log asks for it.
fn wait(bench: &mut Bench<MemoryDisk>) {
    let at = bench.log.poll_timeout().expect("the log comes back to it");
    assert!(at <= bench.now.mono.after(Duration::from_secs(1)));
    pass(bench, at.since(bench.now.mono));
}

fn is_well(bench: &mut Bench<MemoryDisk>) {
    bench.gather();
    let broken = |event: &LogEvent<_>| matches!(event, LogEvent::Poisoned(_) | LogEvent::Faulty(_));
    assert!(!bench.events.iter().any(broken), "{:?}", bench.events);
    assert_eq!((bench.log.poisoned(), bench.log.fault()), (None, None));
}

fn open_files(bench: &Bench<MemoryDisk>) -> usize {
    bench.log.segments.iter().filter(|segment| segment.is_open()).count()
}

#[test]
fn a_roll_without_a_descriptor_refuses_the_append_and_the_next_one_is_taken() {
    let mut refused = 0;
    for good in 0..20 {
        let mut bench = Bench::create(MemoryDisk::new(), small_segments());
        bench.append_many(2, 10, 450);
        lack(&bench, good, DiskOperation::Open);
        match bench.try_append(10, 450) {
            Err(AppendError::Disk(error)) => assert!(error.lacks_descriptor()),
            appended => {
                appended.unwrap();
                break;
            }
        }
        refused += 1;
        is_well(&mut bench);
        assert_eq!(bench.log.offsets().log_end(), Offset(20), "nothing was appended");
        bench.append(10, 450);
        bench.settle();
        let disk = bench.close();
        let mut bench = Bench::open(disk, small_segments(), true);
        assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Clean);
        assert_eq!((bench.log.offsets().log_end(), bench.log.segment_count()), (Offset(30), 2));
        bench.read_all(Offset(0)).unwrap();
    }
    assert_eq!(refused, 5, "a snapshot, both indexes, their checksums, the new segment");
}

#[test]
fn a_checkpoint_without_a_descriptor_is_made_later() {
    let snapshots = |bench: &mut Bench<MemoryDisk>| {
        bench.disk.list(DIR).unwrap().iter().filter(|entry| entry.name.ends_with(".snapshot")).count()
    };
    let mut bench = Bench::create(MemoryDisk::new(), without_tail());
    lack(&bench, 1, DiskOperation::Open);
    bench.append_many(32, 1, 1 << 20);
    is_well(&mut bench);
    assert_eq!((snapshots(&mut bench), bench.log.offsets().log_end()), (0, Offset(32)));
    bench.append(1, 1 << 20);
    assert_eq!(snapshots(&mut bench), 1);
}

#[test]
fn a_roll_by_age_and_a_bound_without_a_descriptor_are_made_later() {
    let roll = RollPolicy { segment_ms: 2_000, ..RollPolicy::default() };
    let mut bench = Bench::create(MemoryDisk::new(), LogOptions { roll, ..without_tail() });
    bench.append(10, 100);
    bench.settle();
    let wall = bench.now.wall;
    bench.now.wall = log_core::Timestamp(wall.0 + 2_000);
    lack(&bench, 0, DiskOperation::Open);
    pass(&mut bench, Duration::from_secs(2));
    is_well(&mut bench);
    assert!(bench.log.growing().is_some());
    // The epoch is new, so that the bound waits for a checkpoint.
    lack(&bench, 4, DiskOperation::Open);
    wait(&mut bench);
    assert!(bench.log.growing().is_none(), "rolled");
    is_well(&mut bench);
    let bound = |bench: &Bench<MemoryDisk>| winner(slots(&bench.disk)).unwrap().end.offset;
    assert_eq!(bound(&bench), Offset(0));
    wait(&mut bench);
    assert_eq!(bound(&bench), Offset(10));
}

#[test]
fn a_clean_stop_and_a_drop_wait_for_a_descriptor() {
    for good in 0..5 {
        let mut bench = batches_of_ten(3);
        bench.events.clear();
        lack(&bench, good, DiskOperation::Open);
        assert!(bench.log.begin_close(&mut bench.disk));
        bench.run();
        is_well(&mut bench);
        assert_eq!(bench.events.last(), None, "{good}");
        wait(&mut bench);
        assert_eq!(bench.events.last(), Some(&LogEvent::Closed));
        let bench = Bench::open(bench.disk, options(), true);
        assert_eq!(bench.recovered.unwrap().verdict, StartVerdict::Clean);
    }
    // A stop that is put off keeps nothing open: the descriptors would be short for ever.
    let mut bench = batches_of_ten(3);
    lack(&bench, 1, DiskOperation::Open);
    assert!(bench.log.begin_close(&mut bench.disk));
    for _ in 0..3 {
        assert!(bench.log.extra_dirty.is_empty());
        lack(&bench, 1, DiskOperation::Open);
        wait(&mut bench);
    }
    let mut bench = batches_of_ten(3);
    lack(&bench, 0, DiskOperation::List);
    bench.log.begin_drop_all(&mut bench.disk, Offset(7)).unwrap();
    bench.run();
    is_well(&mut bench);
    wait(&mut bench);
    assert_eq!(bench.events.last(), Some(&LogEvent::Dropped { start_at: Offset(7) }));
}

#[test]
fn a_cut_that_finds_no_descriptor_for_a_snapshot_is_no_damage() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    for number in 0..9 {
        let batch = client_batch(CRC, 1, 10, 450, producer(5, 0, number * 10));
        bench.log.append(&mut bench.disk, bench.now, LeaderEpoch(1), &[checked(CRC, batch)]).unwrap();
    }
    bench.settle();
    // Of the five batches that are remembered none is left: a snapshot has to be read.
    lack(&bench, 0, DiskOperation::Open);
    lack(&bench, 0, DiskOperation::Open);
    bench.log.begin_cut(&mut bench.disk, Offset(30)).unwrap();
    bench.run();
    is_well(&mut bench);
    assert!(bench.log.is_cutting());
    wait(&mut bench);
    assert_eq!(bench.events.last(), Some(&LogEvent::CutFinished { at: Offset(30) }));
    let (_, last) = bench.log.producers().latest(ProducerId(5)).unwrap();
    assert_eq!(last.0, 29);
}

#[test]
fn what_can_be_derived_is_not_derived_for_want_of_a_descriptor() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    bench.append_many(8, 10, 450);
    bench.commit();
    while bench.log.chain_step(&mut bench.disk, 1 << 20) > 0 {}
    let link = bench.log.chain_end().unwrap();
    bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(20));
    bench.run();
    let disk = bench.close();
    let mut bench = Bench::open(disk, small_segments(), true);
    bench.commit();
    let before = bench.disk.counters().bytes_read;
    lack(&bench, 0, DiskOperation::Open);
    let refused = bench.read_slices(Offset(20), 1).unwrap_err();
    assert!(matches!(refused, ReadError::Disk(error) if error.lacks_descriptor()), "{refused}");
    let read = bench.disk.counters().bytes_read - before;
    assert!(read < 100, "{read} bytes: the segment is not walked");
    // The chain would begin anew where its links cannot be computed any more.
    for _ in 0..bench.log.segment_count() + 1 {
        lack(&bench, 0, DiskOperation::Open);
    }
    while bench.log.chain_step(&mut bench.disk, 1 << 20) > 0 {}
    bench.disk.cancel_failures();
    while bench.log.chain_step(&mut bench.disk, 1 << 20) > 0 {}
    is_well(&mut bench);
    assert_eq!(bench.log.chain_end(), Some(link));
}

#[test]
fn a_log_holds_few_files_open_however_it_is_written_and_read() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    for _ in 0..20 {
        bench.append_many(2, 10, 450);
        bench.commit();
    }
    assert_eq!(bench.log.segment_count(), 20);
    assert!(open_files(&bench) <= OPEN_SEALED_MAX + 2, "{} files are open", open_files(&bench));
    while bench.log.chain_step(&mut bench.disk, 1 << 20) > 0 {}
    bench.read_all(Offset(0)).unwrap();
    assert!(open_files(&bench) <= OPEN_SEALED_MAX + 2, "{} files are open", open_files(&bench));
    // Who reads in one place keeps its file, whoever passes by.
    for from in (0..400).step_by(20) {
        bench.read_slices(Offset(0), 1).unwrap();
        bench.read_slices(Offset(from), 1).unwrap();
        assert!(bench.log.segments[0].is_open());
    }
}

#[test]
fn what_the_next_sync_has_to_carry_stays_open() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    bench.append_many(20, 10, 450);
    assert_eq!(bench.log.segment_count(), 10);
    assert_eq!(open_files(&bench), 10);
    bench.settle();
    bench.disk.power_cut(3);
    let mut bench = Bench::open(bench.disk, small_segments(), false);
    bench.settle();
    assert_eq!(bench.log.offsets().log_end(), Offset(200));
}

#[test]
fn the_greatest_timestamp_is_not_told_without_a_segment_that_cannot_be_looked_at() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    bench.append_many(4, 10, 450);
    bench.commit();
    let disk = bench.close();
    let mut bench = Bench::open(disk, small_segments(), true);
    bench.commit();
    // The file that says it, and the index that does too.
    lack(&bench, 0, DiskOperation::Open);
    lack(&bench, 0, DiskOperation::Open);
    let end = Offset(40);
    let refused = bench.log.max_timestamp(&mut bench.disk, end, Codecs::PLAIN).unwrap_err();
    assert!(matches!(refused, ReadError::Disk(error) if error.lacks_descriptor()), "{refused}");
    is_well(&mut bench);
    assert!(bench.log.max_timestamp(&mut bench.disk, end, Codecs::PLAIN).unwrap().is_some());
}

#[test]
fn the_first_batch_is_looked_for_again_once_there_is_a_descriptor() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    bench.append_many(4, 10, 450);
    bench.commit();
    bench.log.advance_log_start(&mut bench.disk, bench.now, Offset(5));
    let mut bench = Bench::open(bench.close(), small_segments(), true);
    lack(&bench, 0, DiskOperation::Open);
    assert!(bench.log.first_batch(&mut bench.disk).unwrap_err().lacks_descriptor());
    is_well(&mut bench);
    assert_eq!(bench.log.first_batch(&mut bench.disk), Ok(Offset(0)));
}

#[test]
fn a_salvage_holds_no_more_files_than_the_log_has_segments() {
    let mut bench = Bench::create(MemoryDisk::new(), small_segments());
    bench.append_many(40, 10, 450);
    bench.commit();
    assert_eq!(bench.log.segment_count(), 20);
    bench.log.begin_salvage(&mut bench.disk, LeaderEpoch(9), bench.now).unwrap();
    assert_eq!((open_files(&bench), bench.log.extra_dirty.len()), (20, 0));
    bench.run();
    is_well(&mut bench);
    let found = bench.log.max_timestamp(&mut bench.disk, Offset(400), Codecs::PLAIN).unwrap();
    assert!(found.is_some(), "indexes are built when they are needed");
}
