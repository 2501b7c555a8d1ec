//! The rules of idempotence one by one, and the table against a model that keeps the whole history.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::batch::BatchHeader;
use crate::error::{FileError, SequenceError};
use crate::ids::{ProducerEpoch, ProducerId, Sequence};
use crate::limits::PRODUCER_EXPIRATION_MS_DEFAULT;
use crate::offset::Offset;
use crate::testing::{CONTAINER_FIELDS, CRC, annotated, every_cut_and_flip_is_refused, stored_batch};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp(1_000_000);

fn header(id: i64, epoch: i16, sequence: i32, records: i32, base_offset: i64) -> BatchHeader {
    let template = BatchHeader::parse(&stored_batch(base_offset, 0, &[b"v"])).unwrap();
    BatchHeader {
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(epoch),
        base_sequence: Sequence(sequence),
        last_offset_delta: records - 1,
        record_count: records,
        ..template
    }
}

/// Batches of producer 7, epoch 0, two records each, with sequences and offsets from 0 on.
fn table(batches: i32) -> ProducerTable {
    let mut table = ProducerTable::new();
    for number in 0..batches {
        table.append(&header(7, 0, number * 2, 2, i64::from(number) * 2), NOW);
    }
    table
}

fn out_of_order(found: i32, expected: i32) -> Result<SequenceCheck, SequenceError> {
    Err(SequenceError::OutOfOrder { found: Sequence(found), expected: Sequence(expected) })
}

fn duplicate_at(found: Result<SequenceCheck, SequenceError>) -> Option<Offset> {
    match found {
        Ok(SequenceCheck::Duplicate(mark)) => Some(mark.base_offset()),
        Ok(SequenceCheck::Append) | Err(_) => None,
    }
}

#[test]
fn the_next_sequence_is_appended() {
    assert_eq!(table(3).check(&header(7, 0, 6, 9, 0), false), Ok(SequenceCheck::Append));
}

#[test]
fn a_table_of_some_producers_holds_no_others_and_forgets_as_the_whole_does() {
    let mut whole = table(3);
    whole.append(&header(8, 0, 0, 1, 6), NOW);
    let some = whole.only([ProducerId(7), ProducerId(7), ProducerId(9)]);
    assert_eq!((some.len(), some.latest(ProducerId(7))), (1, whole.latest(ProducerId(7))));
    whole.expire(Timestamp(i64::MAX), 1);
    assert!(whole.only([ProducerId(7)]).has_expired());
}

#[test]
fn each_of_the_last_five_batches_is_a_duplicate_with_its_own_offset() {
    let table = table(7);
    for number in 2..7 {
        let again = table.check(&header(7, 0, number * 2, 2, 0), false);
        assert_eq!(duplicate_at(again), Some(Offset(i64::from(number) * 2)));
    }
    assert_eq!(table.check(&header(7, 0, 2, 2, 0), false), out_of_order(2, 14));
}

#[test]
fn a_repeat_with_another_length_is_out_of_order() {
    assert_eq!(table(2).check(&header(7, 0, 2, 1, 0), false), out_of_order(2, 4));
}

#[test]
fn a_gap_is_out_of_order() {
    assert_eq!(table(2).check(&header(7, 0, 5, 1, 0), true), out_of_order(5, 4));
}

#[test]
fn sequences_wrap_to_zero() {
    let mut table = ProducerTable::new();
    table.append(&header(7, 0, i32::MAX - 1, 3, 0), NOW);
    assert_eq!(table.latest(ProducerId(7)), Some((ProducerEpoch(0), Sequence(0))));
    assert_eq!(table.check(&header(7, 0, 1, 1, 3), false), Ok(SequenceCheck::Append));
    let mut table = ProducerTable::new();
    table.append(&header(7, 0, i32::MAX, 1, 0), NOW);
    assert_eq!(table.check(&header(7, 0, 0, 1, 1), false), Ok(SequenceCheck::Append));
}

#[test]
fn a_new_epoch_starts_at_zero() {
    assert_eq!(table(2).check(&header(7, 1, 4, 1, 0), true), out_of_order(4, 0));
    assert_eq!(table(2).check(&header(7, 1, 0, 1, 0), false), Ok(SequenceCheck::Append));
}

#[test]
fn an_old_epoch_is_fenced() {
    let mut table = table(2);
    table.append(&header(7, 3, 0, 1, 4), NOW);
    let fenced = SequenceError::Epoch { found: ProducerEpoch(0), current: ProducerEpoch(3) };
    assert_eq!(table.check(&header(7, 0, 4, 1, 0), true), Err(fenced));
    assert_eq!(fenced.code(), 47);
}

#[test]
fn an_unknown_producer_starts_at_zero_unless_it_may_have_been_forgotten() {
    let mut table = ProducerTable::new();
    let late = header(7, 0, 12, 1, 0);
    assert_eq!(table.check(&late, false), out_of_order(12, 0));
    assert_eq!(table.check(&late, true), Ok(SequenceCheck::Append));
    table.append(&header(8, 0, 0, 1, 0), NOW);
    let later = Timestamp(NOW.0 + PRODUCER_EXPIRATION_MS_DEFAULT);
    assert_eq!(table.expire(Timestamp(later.0 - 1), PRODUCER_EXPIRATION_MS_DEFAULT), 0);
    assert_eq!(table.expire(later, PRODUCER_EXPIRATION_MS_DEFAULT), 1);
    assert_eq!(table.check(&late, false), Ok(SequenceCheck::Append));
}

#[test]
fn batches_without_producer_leave_no_trace() {
    let mut table = ProducerTable::new();
    let plain = header(-1, -1, -1, 1, 0);
    assert_eq!(table.check(&plain, false), Ok(SequenceCheck::Append));
    table.append(&plain, NOW);
    assert!(table.is_empty());
}

#[test]
fn a_cut_batch_is_no_duplicate_any_more() {
    let mut table = table(5);
    assert_eq!(table.cut_to(Offset(6)), Cut::Exact);
    assert_eq!(table.check(&header(7, 0, 6, 2, 6), false), Ok(SequenceCheck::Append));
    assert_eq!(duplicate_at(table.check(&header(7, 0, 4, 2, 6), false)), Some(Offset(4)));
    assert_eq!(table.cut_to(Offset(0)), Cut::Exact);
    assert!(table.is_empty());
}

#[test]
fn a_cut_below_the_window_needs_the_log() {
    let mut seven = table(7);
    assert_eq!(seven.cut_to(Offset(4)), Cut::Rebuild);
    let mut bumped = table(1);
    bumped.append(&header(7, 1, 0, 1, 2), NOW);
    assert_eq!(bumped.cut_to(Offset(2)), Cut::Rebuild);
}

#[test]
fn a_snapshot_that_knows_more_than_its_log_is_refused() {
    let file = table(3).encode(Offset(5), CRC);
    assert_eq!(ProducerTable::decode(&file, CRC), Err(FileError::Entry { entry: 0 }));
}

#[test]
fn every_cut_and_flip_of_a_snapshot_is_refused() {
    let mut table = table(6);
    table.append(&header(9, 4, 0, 1, 12), NOW);
    let file = table.encode(Offset(13), CRC);
    every_cut_and_flip_is_refused(&file, |file| ProducerTable::decode(file, CRC));
}

#[test]
fn the_bytes_of_a_snapshot_are_frozen() {
    let producer = [
        (8, "producer id"),
        (2, "epoch"),
        (1, "had more"),
        (8, "last marker"),
        (8, "last append"),
        (1, "batch count"),
    ];
    let batch = [(4, "base sequence"), (8, "last offset"), (4, "offset delta"), (8, "timestamp")];
    let head = [(8, "log end"), (1, "has expired"), (4, "producer count")];
    let fields = [&CONTAINER_FIELDS[..], &head, &producer, &batch, &batch].concat();
    insta::assert_snapshot!(annotated(&table(2).encode(Offset(4), CRC), &fields));
}

/// The rules, told over the whole history of the partition.
#[derive(Default)]
struct Model {
    history: Vec<BatchHeader>,
}

impl Model {
    fn check(&self, batch: &BatchHeader, may_have_forgotten: bool) -> Result<SequenceCheck, SequenceError> {
        let own = || self.history.iter().filter(|old| old.producer_id == batch.producer_id);
        let Some(current) = own().map(|old| old.producer_epoch).max() else {
            let starts = batch.base_sequence == Sequence(0) || may_have_forgotten;
            return if starts { Ok(SequenceCheck::Append) } else { out_of_order(batch.base_sequence.0, 0) };
        };
        let found = batch.producer_epoch;
        if found < current {
            return Err(SequenceError::Epoch { found, current });
        }
        let same: Vec<_> = own().filter(|old| old.producer_epoch == found).collect();
        let window = &same[same.len().saturating_sub(5)..];
        let repeat = window
            .iter()
            .find(|old| old.base_sequence == batch.base_sequence && old.record_count == batch.record_count);
        if let Some(repeat) = repeat {
            return Ok(SequenceCheck::Duplicate(BatchMark::of(repeat)));
        }
        let expected = same.last().map_or(0, |last| last.last_sequence().plus(1).0);
        let next = batch.base_sequence.0 == expected;
        if next { Ok(SequenceCheck::Append) } else { out_of_order(batch.base_sequence.0, expected) }
    }

    fn replayed(&self) -> ProducerTable {
        let mut table = ProducerTable::new();
        self.history.iter().for_each(|header| table.append(header, NOW));
        table
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A batch: producer, epoch, sequence relative to the expected one, records.
    Produce(i64, i16, i32, i32),
    CutTo(f64),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let delta = prop_oneof![6 => Just(0), 2 => -12..0_i32, 1 => 1..3_i32];
    prop_oneof![
        20 => (0..3_i64, prop_oneof![8 => Just(0_i16), 1 => Just(1)], delta, 1..3_i32)
            .prop_map(|(id, epoch, delta, records)| Step::Produce(id, epoch, delta, records)),
        1 => (0.0..1.0).prop_map(Step::CutTo),
        1 => Just(Step::Snapshot),
    ]
}

proptest! {
    #[test]
    fn the_table_answers_as_the_whole_history_would(steps in proptest::collection::vec(step(), 0..80)) {
        let (mut table, mut model, mut cut_once) = (ProducerTable::new(), Model::default(), false);
        let mut end = 0_i64;
        for step in steps {
            match step {
                Step::Produce(id, epoch, delta, records) => {
                    let expected = table.latest(ProducerId(id)).filter(|latest| latest.0.0 == epoch);
                    let next = expected.map_or(Sequence(0), |(_, last)| last.plus(1));
                    let batch = header(id, epoch, (next.0 + delta).max(0), records, end);
                    let (found, said) = (table.check(&batch, false), model.check(&batch, false));
                    prop_assert_eq!(table.only([ProducerId(id)]).check(&batch, false), found);
                    // Behind a cut the window may be shorter than five; it is then refused, never doubled.
                    let forgot = cut_once && duplicate_at(said).is_some() && found.is_err();
                    prop_assert!(found == said || forgot, "{found:?} {said:?}");
                    if found == Ok(SequenceCheck::Append) {
                        table.append(&batch, NOW);
                        model.history.push(batch);
                        end += i64::from(records);
                    }
                }
                Step::CutTo(share) => {
                    let to = (share * end as f64) as i64;
                    model.history.retain(|old| old.last_offset() < Offset(to));
                    end = model.history.last().map_or(0, |last| last.next_offset().0);
                    match table.cut_to(Offset(end)) {
                        Cut::Exact => cut_once = true,
                        Cut::Rebuild => table = model.replayed(),
                    }
                    for id in 0..3 {
                        let id = ProducerId(id);
                        prop_assert_eq!(table.latest(id), model.replayed().latest(id));
                    }
                }
                Step::Snapshot => {
                    let file = table.encode(Offset(end), CRC);
                    prop_assert_eq!(ProducerTable::decode(&file, CRC), Ok((Offset(end), table.clone())));
                }
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_refused(payload: Vec<u8>) {
        prop_assert!(ProducerTable::decode(&payload, CRC).is_err());
        let container = crate::container::Container { magic: *b"HWPS", version: 1 };
        if let Ok((end, table)) = ProducerTable::decode(&container.seal(&payload, CRC), CRC) {
            prop_assert_eq!(table.encode(end, CRC), container.seal(&payload, CRC));
        }
    }
}
