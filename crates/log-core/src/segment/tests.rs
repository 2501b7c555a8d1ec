//! Scans of whole, cut and damaged segments, and the judgement of what lies behind.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::batch::HEADER_BYTES;
use crate::error::ScanError;
use crate::ids::LeaderEpoch;
use crate::offset::Offset;
use crate::testing::{CRC, stored_batch};

const START: ScanStart =
    ScanStart { position: 0, offset: Offset(10), epoch: LeaderEpoch(1), newest_epoch: LeaderEpoch(5) };

const ZERO_BOUND: BoundFacts =
    BoundFacts { log_start: Offset::ZERO, durable_end: Offset::ZERO, high_watermark: Offset::ZERO };

/// Three batches of one, two and one records from offset 10 on, of epochs 1, 3 and 3.
fn segment() -> Vec<u8> {
    let mut segment = stored_batch(10, 1, &[b"one"]);
    segment.extend(stored_batch(11, 3, &[b"two", b"three"]));
    segment.extend(stored_batch(13, 3, &[b"four"]));
    segment
}

/// Steps through `file` in windows of `window` bytes, longer where the scanner asks: the stop, and the scanner there.
fn scan(file: &[u8], window: usize) -> (Scanner, ScanStep) {
    let mut scanner = Scanner::new(START, CRC);
    let mut need = window;
    loop {
        let from = scanner.position() as usize;
        let to = (from + need).min(file.len());
        match scanner.step(&file[from..to], to == file.len()) {
            ScanStep::Batch(batch) => {
                assert_eq!(batch.position as usize, from);
                need = window;
            }
            ScanStep::NeedBytes(bytes) => {
                assert!(bytes > need, "asks for more than it had");
                need = bytes;
            }
            stop => return (scanner, stop),
        }
    }
}

/// Recovers `file` with a durable bound of zero: where it stops and what that means.
fn verdict(file: &[u8]) -> (Offset, TailVerdict) {
    let (scanner, _) = scan(file, 64);
    let tail = &file[scanner.position() as usize..];
    let mut facts = scanner.tail(tail);
    tail.chunks(100).for_each(|chunk| facts.feed(chunk));
    (scanner.offset(), tail_verdict(&facts.finish(false), &ZERO_BOUND))
}

fn check_refused(file: &[u8], offset: i64, why: ScanError) {
    let (_, stop) = scan(file, 64);
    let ScanStep::Refused(refused) = stop else { panic!("{stop:?}") };
    assert_eq!((refused.offset, refused.why), (Offset(offset), why));
}

#[test]
fn a_whole_segment_is_walked_to_its_end() {
    for window in [1, 61, 64, 100, 10_000] {
        let (scanner, stop) = scan(&segment(), window);
        assert_eq!(stop, ScanStep::End);
        assert_eq!((scanner.offset(), scanner.epoch()), (Offset(14), LeaderEpoch(3)));
    }
}

#[test]
fn preallocated_zeros_are_a_clean_end() {
    for zeros in [1, 30, 61, 4096] {
        let mut file = segment();
        file.extend(vec![0; zeros]);
        assert_eq!(scan(&file, 10_000).1, ScanStep::Zeros);
        assert_eq!(verdict(&file), (Offset(14), TailVerdict::CleanEnd));
    }
    assert_eq!(verdict(&segment()), (Offset(14), TailVerdict::CleanEnd));
}

#[test]
fn another_offset_than_the_expected_is_refused() {
    let mut file = segment();
    file.extend(stored_batch(15, 3, &[b"gap"]));
    let (expected, found) = (Offset(14), Offset(15));
    check_refused(&file, 14, ScanError::BaseOffset { expected, found });
    assert_eq!(verdict(&file), (Offset(14), TailVerdict::Suspect));
}

#[test]
fn epochs_stay_between_the_previous_and_the_newest_known() {
    let mut file = segment();
    file.extend(stored_batch(14, 2, &[b"old"]));
    let (previous, found) = (LeaderEpoch(3), LeaderEpoch(2));
    check_refused(&file, 14, ScanError::EpochBackwards { previous, found });
    let mut file = segment();
    file.extend(stored_batch(14, 6, &[b"new"]));
    let (newest, found) = (LeaderEpoch(5), LeaderEpoch(6));
    check_refused(&file, 14, ScanError::EpochAhead { newest, found });
}

#[test]
fn a_batch_that_does_not_end_in_the_file_is_refused() {
    let file = segment();
    let last = stored_batch(13, 3, &[b"four"]).len();
    // Of a shorter rest only the zeros at the start of its base offset would be left.
    for cut in 1..last - 7 {
        let (scanner, stop) = scan(&file[..file.len() - cut], 64);
        assert_eq!(scanner.offset(), Offset(13));
        assert!(matches!(stop, ScanStep::Refused(_)), "{stop:?}");
    }
}

/// A batch of about three sectors behind [`segment`], in a file of eight sectors.
fn file_with_long_batch() -> (usize, Vec<u8>) {
    let mut file = segment();
    let start = file.len();
    file.extend(stored_batch(14, 3, &[&[0xab; 1500]]));
    file.resize(8 * 512, 0);
    (start, file)
}

#[test]
fn a_batch_whose_last_sectors_never_arrived_is_a_torn_tail() {
    for sectors in 1..3 {
        let (_, mut file) = file_with_long_batch();
        file[sectors * 512..].fill(0);
        assert_eq!(verdict(&file), (Offset(14), TailVerdict::TornTail), "{sectors}");
    }
}

#[test]
fn a_header_cut_by_a_sector_boundary_is_a_torn_tail() {
    for before_boundary in 1..HEADER_BYTES {
        let overhead = stored_batch(10, 1, &[&[1; 300]]).len() - 300;
        let mut file = stored_batch(10, 1, &[&vec![1; 512 - before_boundary - overhead]]);
        let start = file.len();
        assert_eq!(start, 512 - before_boundary);
        file.extend(stored_batch(11, 3, &[&[1; 700]]));
        file.resize(4096, 0);
        file[512..].fill(0);
        let nothing_written = file[start..].iter().all(|&byte| byte == 0);
        let expected = if nothing_written { TailVerdict::CleanEnd } else { TailVerdict::TornTail };
        assert_eq!(verdict(&file), (Offset(11), expected), "{before_boundary}");
    }
}

#[test]
fn rot_of_a_whole_last_batch_is_suspect() {
    let (start, good) = file_with_long_batch();
    assert_eq!(verdict(&good), (Offset(15), TailVerdict::CleanEnd));
    for byte in start..start + 1561 {
        let mut file = good.clone();
        file[byte] ^= 0x40;
        let (end, found) = verdict(&file);
        // The CRC does not cover the leader epoch; one that stays in range is no visible damage.
        if end == Offset(14) {
            assert_eq!(found, TailVerdict::Suspect, "byte {}", byte - start);
        }
    }
}

#[test]
fn a_rotten_length_does_not_make_a_whole_batch_look_torn() {
    let (start, mut file) = file_with_long_batch();
    file[start + 10] ^= 0x04;
    assert_eq!(verdict(&file), (Offset(14), TailVerdict::Suspect));
}

#[test]
fn a_missing_middle_sector_is_suspect() {
    let (_, mut file) = file_with_long_batch();
    file[512..1024].fill(0);
    assert_eq!(verdict(&file), (Offset(14), TailVerdict::Suspect));
}

#[test]
fn a_good_batch_behind_a_missing_one_is_suspect() {
    let (_, mut file) = file_with_long_batch();
    file[512..2048].fill(0);
    let behind = stored_batch(15, 3, &[b"behind"]);
    file[2048..2048 + behind.len()].copy_from_slice(&behind);
    assert_eq!(verdict(&file), (Offset(14), TailVerdict::Suspect));
}

fn facts() -> TailFacts {
    TailFacts {
        position: 100,
        offset: Offset(14),
        claimed_bytes: Some(1000),
        zeros_from: 500,
        file_bytes: 4096,
        length_rotten: false,
        later_segment_written: false,
    }
}

fn check(facts: TailFacts, expected: TailVerdict) {
    assert_eq!(tail_verdict(&facts, &ZERO_BOUND), expected);
}

#[test]
fn whatever_follows_nothing_below_the_bound_may_miss() {
    for (durable_end, high_watermark) in [(15, 0), (0, 15)] {
        let bound = BoundFacts {
            durable_end: Offset(durable_end),
            high_watermark: Offset(high_watermark),
            ..ZERO_BOUND
        };
        assert_eq!(tail_verdict(&facts(), &bound), TailVerdict::Damage);
        let clean = TailFacts { zeros_from: 100, ..facts() };
        assert_eq!(tail_verdict(&clean, &bound), TailVerdict::Damage);
    }
    let bound = BoundFacts { durable_end: Offset(14), high_watermark: Offset(14), ..ZERO_BOUND };
    assert_eq!(tail_verdict(&facts(), &bound), TailVerdict::TornTail);
}

#[test]
fn the_zeros_of_a_torn_tail_begin_at_a_sector_boundary_inside_the_batch() {
    check(facts(), TailVerdict::TornTail);
    check(TailFacts { zeros_from: 512, ..facts() }, TailVerdict::TornTail);
    check(TailFacts { zeros_from: 513, ..facts() }, TailVerdict::TornTail);
    check(TailFacts { zeros_from: 1025, ..facts() }, TailVerdict::Suspect);
    check(TailFacts { claimed_bytes: Some(412), ..facts() }, TailVerdict::Suspect);
    check(TailFacts { claimed_bytes: Some(413), ..facts() }, TailVerdict::TornTail);
    check(TailFacts { claimed_bytes: None, ..facts() }, TailVerdict::Suspect);
    check(TailFacts { position: 460, claimed_bytes: None, ..facts() }, TailVerdict::TornTail);
}

#[test]
fn a_file_that_ends_inside_the_batch_without_zeros_is_suspect() {
    check(TailFacts { zeros_from: 700, file_bytes: 700, ..facts() }, TailVerdict::Suspect);
    check(TailFacts { zeros_from: 512, file_bytes: 512, ..facts() }, TailVerdict::Suspect);
}

#[test]
fn nothing_before_a_written_segment_is_torn_or_clean() {
    check(TailFacts { later_segment_written: true, ..facts() }, TailVerdict::Suspect);
    check(TailFacts { later_segment_written: true, zeros_from: 100, ..facts() }, TailVerdict::Suspect);
}

proptest! {
    #[test]
    fn a_scan_survives_arbitrary_bytes_in_any_windows(file: Vec<u8>, window in 1..200_usize) {
        let _ = scan(&file, window);
    }

    #[test]
    fn any_flip_stops_the_scan_at_its_batch_or_is_outside_the_checksum(bit in 0..2200_usize) {
        let good = segment();
        let bit = bit % (good.len() * 8);
        let mut file = good.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        let first = stored_batch(10, 1, &[b"one"]).len();
        let last = good.len() - stored_batch(13, 3, &[b"four"]).len();
        // An epoch can only be seen to be wrong when it leaves the order.
        let in_epoch = [0, first, last].iter().any(|start| (start + 12..start + 16).contains(&(bit / 8)));
        let (scanner, stop) = scan(&file, 64);
        prop_assert!(in_epoch || stop != ScanStep::End, "bit {bit} went unseen");
        prop_assert!(in_epoch || scanner.position() as usize <= bit / 8);
    }

    #[test]
    fn a_tail_is_judged_alike_in_chunks_of_any_size(chunk in 1..700_usize, flip in 0..1561_usize, zero in 0..9_usize) {
        let (start, mut file) = file_with_long_batch();
        file[start + flip] ^= 0x40;
        file[zero * 512 % 4096..].fill(0);
        let (scanner, _) = scan(&file, 64);
        let tail = &file[scanner.position() as usize..];
        let mut whole = scanner.tail(tail);
        whole.feed(tail);
        let mut facts = scanner.tail(tail);
        tail.chunks(chunk).for_each(|chunk| facts.feed(chunk));
        prop_assert_eq!(facts.finish(false), whole.finish(false));
    }
}
