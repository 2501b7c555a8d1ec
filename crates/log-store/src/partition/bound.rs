//! The durable bound: what is known to be on the medium, in two slots of one file (`docs/format/data-dir.md`).
//!
//! ```text
//! 0     slot 0: a container with magic HWBD        4096  slot 1: the same
//! ```
//! Each slot lies in sectors of its own, so that a torn write of one leaves the other readable.

use log_core::container::Container;
use log_core::mutation::{Mutation, mutated};
use log_core::segment::BoundFacts;
use log_core::{Crc32c, LeaderEpoch, Offset, Timestamp};

/// Where the second slot starts, in bytes: no device tears a write across more than a page.
pub(super) const SLOT_BYTES: u64 = 4096;

const CONTAINER: Container = Container { magic: *b"HWBD", version: 1 };
/// Nine numbers of 64 bits and one of 32.
const PAYLOAD_BYTES: usize = 8 * 9 + 4;
const NONE: i64 = -1;

/// A batch boundary, as an offset and as a place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndPoint {
    /// The offset after the last batch.
    pub(super) offset: Offset,
    /// Base offset of the segment that the batch is in, or the next will be in.
    pub(super) segment: Offset,
    /// Where the batch ends in that segment's file, in bytes.
    pub(super) position: u64,
    /// Leader epoch of the batch.
    pub(super) epoch: LeaderEpoch,
}

impl EndPoint {
    /// The end of a log that holds nothing and begins at `start`.
    pub(super) const fn empty_at(start: Offset) -> Self {
        Self { offset: start, segment: start, position: 0, epoch: LeaderEpoch::NONE }
    }
}

/// One slot's content. Everything below `end` is durable; the high watermark is at most `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) end: EndPoint,
    pub(super) high_watermark: Offset,
    pub(super) log_start: Offset,
    /// The log may have held more above this offset (C5).
    pub(super) suspect: Option<Offset>,
    /// Everything is being dropped, to begin anew at this offset.
    pub(super) dropping: Option<Offset>,
    /// When the first batch of the segment of `end` was appended.
    pub(super) first_append: Timestamp,
    /// Number of the write: decides between slots that say the same otherwise.
    pub(super) sequence: u64,
}

impl Bound {
    /// The bound of a log that holds nothing and begins at `start`.
    pub(super) const fn empty_at(start: Offset) -> Self {
        Self {
            end: EndPoint::empty_at(start),
            high_watermark: start,
            log_start: start,
            suspect: None,
            dropping: None,
            first_append: Timestamp::NONE,
            sequence: 0,
        }
    }

    pub(super) const fn facts(&self) -> BoundFacts {
        BoundFacts {
            log_start: self.log_start,
            durable_end: self.end.offset,
            high_watermark: self.high_watermark,
        }
    }

    /// The order in which slots win at a start. A cut writes its lower bound to both.
    pub(super) const fn rank(&self) -> (Offset, Offset, Offset, u64) {
        (self.end.offset, self.high_watermark, self.log_start, self.sequence)
    }

    /// Whether both say the same, whenever they were written.
    pub(super) fn says_same(&self, other: &Self) -> bool {
        Self { sequence: 0, ..*self } == Self { sequence: 0, ..*other }
    }

    pub(super) fn encode(&self, crc: Crc32c) -> Vec<u8> {
        let mut payload = Vec::with_capacity(PAYLOAD_BYTES);
        for number in [
            self.end.offset.0,
            self.high_watermark.0,
            self.log_start.0,
            self.end.segment.0,
            mutated(Mutation::S20, self.suspect, None).map_or(NONE, |offset| offset.0),
            self.dropping.map_or(NONE, |offset| offset.0),
            self.first_append.0,
        ] {
            payload.extend_from_slice(&number.to_be_bytes());
        }
        payload.extend_from_slice(&self.end.position.to_be_bytes());
        payload.extend_from_slice(&self.sequence.to_be_bytes());
        payload.extend_from_slice(&self.end.epoch.0.to_be_bytes());
        CONTAINER.seal(&payload, crc)
    }

    /// Reads one slot; `None` if it was never written, is damaged, or breaks the law of its numbers.
    pub(super) fn decode(slot: &[u8], crc: Crc32c) -> Option<Self> {
        let (_, payload, _) = CONTAINER.open_prefix(slot, crc).ok()?;
        let (numbers, epoch) = payload.as_chunks::<8>();
        let &[end, high, start, segment, suspect, dropping, first_append, position, sequence] = numbers
        else {
            return None;
        };
        let number = i64::from_be_bytes;
        let offset = |bytes| Some(number(bytes)).filter(|number| *number >= 0).map(Offset);
        let bound = Self {
            end: EndPoint {
                offset: offset(end)?,
                segment: offset(segment)?,
                position: u64::from_be_bytes(position),
                epoch: LeaderEpoch(i32::from_be_bytes(epoch.try_into().ok()?)),
            },
            high_watermark: offset(high)?,
            log_start: offset(start)?,
            suspect: offset(suspect),
            dropping: offset(dropping),
            first_append: Timestamp(number(first_append)),
            sequence: u64::from_be_bytes(sequence),
        };
        bound.is_lawful().then_some(bound)
    }

    fn is_lawful(&self) -> bool {
        let ordered = self.log_start <= self.high_watermark && self.high_watermark <= self.end.offset;
        ordered && self.end.segment <= self.end.offset && self.end.position <= i64::MAX as u64
    }
}

/// What the file of a bound says, for a reader from outside; `None` if neither slot can be read.
#[must_use]
pub fn read_bound(file: &[u8], crc: Crc32c) -> Option<BoundFacts> {
    let second = usize::try_from(SLOT_BYTES).ok().and_then(|start| file.get(start..));
    let slots = [Some(file), second].map(|slot| Bound::decode(slot?, crc));
    let bound = winner(slots)?;
    Some(bound.facts())
}

/// The slot that wins at a start.
pub(super) fn winner(slots: [Option<Bound>; 2]) -> Option<Bound> {
    slots.into_iter().flatten().max_by_key(Bound::rank)
}

/// The slot that the next write goes to: the unreadable one, else the one written longer ago; never the only
/// readable one. So two writes in a row, as a cut makes them, reach both.
pub(super) fn next_slot(slots: [Option<Bound>; 2]) -> usize {
    match slots {
        [None, _] => 0,
        [_, None] => 1,
        [Some(first), Some(second)] => {
            let older = first.sequence > second.sequence;
            usize::from(mutated(Mutation::D3c, older, !older))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CRC: Crc32c = crc32c::crc32c_append;

    fn bound(end: i64, high_watermark: i64, sequence: u64) -> Bound {
        Bound {
            end: EndPoint { offset: Offset(end), segment: Offset(3), position: 700, epoch: LeaderEpoch(5) },
            high_watermark: Offset(high_watermark),
            log_start: Offset(2),
            suspect: Some(Offset(9)),
            dropping: None,
            first_append: Timestamp(77),
            sequence,
        }
    }

    #[test]
    fn d3_a_slot_is_read_back_and_every_cut_or_flipped_one_is_refused() {
        let slot = bound(10, 8, 1).encode(CRC);
        assert_eq!(Bound::decode(&slot, CRC), Some(bound(10, 8, 1)));
        for end in 0..slot.len() {
            assert_eq!(Bound::decode(&slot[..end], CRC), None);
        }
        for bit in 0..slot.len() * 8 {
            let mut flipped = slot.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Bound::decode(&flipped, CRC), None);
        }
    }

    #[test]
    fn d3_a_high_watermark_above_the_durable_end_is_no_bound() {
        assert_eq!(Bound::decode(&bound(10, 11, 1).encode(CRC), CRC), None);
    }

    #[test]
    fn d3_the_greatest_durable_end_and_high_watermark_wins_whenever_it_was_written() {
        let (low, high) = (bound(10, 8, 7), bound(11, 3, 1));
        assert_eq!(winner([Some(low), Some(high)]), Some(high));
        assert_eq!(winner([Some(high), Some(low)]), Some(high));
        assert_eq!(winner([Some(bound(10, 9, 1)), Some(low)]), Some(bound(10, 9, 1)));
        assert_eq!(winner([None, Some(low)]), Some(low));
        assert_eq!(winner([None, None]), None);
    }

    #[test]
    fn d3c_the_only_readable_slot_is_never_overwritten() {
        assert_eq!(next_slot([None, Some(bound(1, 1, 1))]), 0);
        assert_eq!(next_slot([Some(bound(99, 1, 9)), None]), 1);
        assert_eq!(next_slot([Some(bound(10, 8, 1)), Some(bound(10, 8, 2))]), 0);
        assert_eq!(next_slot([Some(bound(10, 8, 3)), Some(bound(10, 8, 2))]), 1);
    }

    #[test]
    fn a_reader_from_outside_sees_the_slot_that_wins_at_a_start() {
        let mut file = vec![0; 2 * 4096];
        assert_eq!(read_bound(&file, CRC), None);
        let (first, second) = (bound(10, 8, 1).encode(CRC), bound(11, 3, 2).encode(CRC));
        file[4096..4096 + second.len()].copy_from_slice(&second);
        assert_eq!(read_bound(&file, CRC), Some(bound(11, 3, 2).facts()));
        assert_eq!(read_bound(&first, CRC), Some(bound(10, 8, 1).facts()));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_no_bound(slot: Vec<u8>) {
            prop_assert_eq!(Bound::decode(&slot, CRC), None);
        }
    }
}
