//! The BLAKE3 chain over a log: one link per batch, each made of the one before and the batch. Two replicas hold the
//! same bytes iff their links at an offset are equal.
//!
//! ```text
//! leaf = BLAKE3("leaf/v1" ++ stored batch bytes)        link = BLAKE3("link/v1" ++ previous link ++ leaf)
//! ```
//!
//! File `.chain` of a segment: a [`Container`] with magic `HWCH` and payload base offset i64, start link (32 bytes) (the
//! link before the segment's first batch: primary data, it cannot be computed again once older segments are deleted),
//! then entries as they are computed:
//!
//! ```text
//! relative end offset u32 (of the batch, exclusive) | CRC-32C u32 | link [32]     CRC over base offset, end and link
//! ```
//!
//! Entries may be sparse; what lies between two can be computed from the batches. A cut last entry is no damage: the
//! chain trails the log anyway and goes on from the last whole entry.

use alloc::vec::Vec;
use core::fmt;

use crate::bytes::Reader;
use crate::codec::Crc32c;
use crate::container::{CONTAINER_HEADER_BYTES, Container};
use crate::error::FileError;
use crate::offset::Offset;

const CONTAINER: Container = Container { magic: *b"HWCH", version: 1 };
const LEAF: &[u8] = b"leaf/v1";
const LINK: &[u8] = b"link/v1";

/// Bytes of a chain file before its entries.
pub const CHAIN_HEADER_BYTES: usize = CONTAINER_HEADER_BYTES + 40;

/// Bytes of an entry.
pub const CHAIN_ENTRY_BYTES: usize = 40;

/// A link of the chain: it stands for every byte of the log before it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub [u8; 32]);

impl Link {
    /// The link before the first batch of a log that begins at offset 0.
    pub const START: Self = Self([0; 32]);

    /// The link behind a batch, given as it is stored: placed, stamped, compressed as it is.
    #[must_use]
    pub fn after(self, batch: &[u8]) -> Self {
        let leaf = blake3::Hasher::new().update(LEAF).update(batch).finalize();
        let link = blake3::Hasher::new().update(LINK).update(&self.0).update(leaf.as_bytes()).finalize();
        Self(*link.as_bytes())
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The link behind the batch that ends before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainEntry {
    /// The offset after the batch.
    pub end: Offset,
    /// The link.
    pub link: Link,
}

/// What a chain file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Base offset of the segment.
    pub base_offset: Offset,
    /// The link before its first batch.
    pub start: Link,
    /// The links computed so far, in order.
    pub entries: Vec<ChainEntry>,
}

impl Chain {
    /// The bytes that begin the chain file of a segment.
    #[must_use]
    pub fn header(base_offset: Offset, start: Link, crc: Crc32c) -> Vec<u8> {
        let mut payload = Vec::from(base_offset.0.to_be_bytes());
        payload.extend_from_slice(&start.0);
        CONTAINER.seal(&payload, crc)
    }

    /// The bytes of one entry of the segment with this base offset.
    ///
    /// # Panics
    /// If the entry does not lie in the segment: a roll keeps its offsets within 31 bits.
    #[must_use]
    pub fn entry(base_offset: Offset, entry: &ChainEntry, crc: Crc32c) -> [u8; CHAIN_ENTRY_BYTES] {
        let relative = u32::try_from(entry.end.0.saturating_sub(base_offset.0));
        let relative = relative.expect("a segment's offsets fit 32 bits");
        let checksum = entry_checksum(base_offset, relative, &entry.link, crc);
        let mut bytes = [0; CHAIN_ENTRY_BYTES];
        let parts = relative.to_be_bytes().into_iter().chain(checksum.to_be_bytes()).chain(entry.link.0);
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// Reads a chain file of the segment with this base offset. Entries are taken up to the first that is cut, fails
    /// its checksum or is out of order; the file is good up to there.
    ///
    /// Errors: a bad header. The start link is lost then, and with it the comparison of this segment.
    pub fn decode(base_offset: Offset, file: &[u8], crc: Crc32c) -> Result<Self, FileError> {
        let (_, payload, rest) = CONTAINER.open_prefix(file, crc)?;
        let mut reader = Reader::new(payload);
        let found = reader.i64().map(Offset).ok_or(FileError::Length { have: file.len() })?;
        let start = reader.array().map(Link).ok_or(FileError::Length { have: file.len() })?;
        if !reader.rest().is_empty() {
            return Err(FileError::Length { have: file.len() });
        }
        if found != base_offset {
            return Err(FileError::Entry { entry: 0 });
        }
        let mut chain = Self { base_offset, start, entries: Vec::new() };
        let (entries, _cut) = rest.as_chunks::<CHAIN_ENTRY_BYTES>();
        for entry in entries {
            let Some(entry) = chain.next_entry(entry, crc) else { break };
            chain.entries.push(entry);
        }
        Ok(chain)
    }

    /// Length of the good part of the file in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> usize {
        CHAIN_HEADER_BYTES + self.entries.len() * CHAIN_ENTRY_BYTES
    }

    /// Where the chain goes on: the end and link of the last batch that it covers.
    #[must_use]
    pub fn last(&self) -> ChainEntry {
        let start = ChainEntry { end: self.base_offset, link: self.start };
        self.entries.last().copied().unwrap_or(start)
    }

    /// The last known link at or before `offset`, if the segment reaches that far back.
    #[must_use]
    pub fn floor(&self, offset: Offset) -> Option<ChainEntry> {
        let after = self.entries.partition_point(|entry| entry.end <= offset);
        match after.checked_sub(1) {
            Some(index) => self.entries.get(index).copied(),
            None => Some(ChainEntry { end: self.base_offset, link: self.start })
                .filter(|entry| entry.end <= offset),
        }
    }

    fn next_entry(&self, bytes: &[u8; CHAIN_ENTRY_BYTES], crc: Crc32c) -> Option<ChainEntry> {
        let mut reader = Reader::new(bytes);
        let (relative, stored) = reader.u32().zip(reader.u32())?;
        let link = reader.array().map(Link)?;
        let end = self.base_offset.plus(i64::from(relative));
        let holds = entry_checksum(self.base_offset, relative, &link, crc) == stored;
        (holds && end > self.last().end).then_some(ChainEntry { end, link })
    }
}

fn entry_checksum(base_offset: Offset, relative: u32, link: &Link, crc: Crc32c) -> u32 {
    crc(crc(crc(0, &base_offset.0.to_be_bytes()), &relative.to_be_bytes()), &link.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CONTAINER_FIELDS, CRC, annotated};
    use proptest::prelude::*;

    fn file(base: Offset, start: Link, ends: &[i64]) -> Vec<u8> {
        let mut file = Chain::header(base, start, CRC);
        let mut link = start;
        for &end in ends {
            link = link.after(&end.to_be_bytes());
            file.extend_from_slice(&Chain::entry(base, &ChainEntry { end: Offset(end), link }, CRC));
        }
        file
    }

    #[test]
    fn a_link_is_made_of_the_one_before_and_the_batch() {
        let leaf = blake3::hash(b"leaf/v1batch");
        let mut input = Vec::from(*b"link/v1");
        input.extend_from_slice(&[0; 32]);
        input.extend_from_slice(leaf.as_bytes());
        assert_eq!(Link::START.after(b"batch").0, *blake3::hash(&input).as_bytes());
    }

    #[test]
    fn the_bytes_of_a_chain_are_frozen() {
        let own = [(8, "base offset"), (32, "start link"), (4, "relative end"), (4, "crc-32c"), (32, "link")];
        let fields = [&CONTAINER_FIELDS[..], &own].concat();
        insta::assert_snapshot!(annotated(&file(Offset(10), Link::START, &[15]), &fields));
    }

    #[test]
    fn floor_is_the_last_link_at_or_before_an_offset() {
        let chain = Chain::decode(Offset(10), &file(Offset(10), Link([7; 32]), &[15, 20]), CRC).unwrap();
        let end = |offset| chain.floor(Offset(offset)).map(|entry| entry.end.0);
        assert_eq!(
            [9, 10, 14, 15, 19, 99].map(end),
            [None, Some(10), Some(10), Some(15), Some(15), Some(20)]
        );
        assert_eq!(chain.last().end, Offset(20));
    }

    #[test]
    fn a_cut_entry_is_left_out() {
        let file = file(Offset(10), Link::START, &[15, 20]);
        for cut in 1..CHAIN_ENTRY_BYTES {
            let chain = Chain::decode(Offset(10), &file[..file.len() - cut], CRC).unwrap();
            assert_eq!(chain.entries.len(), 1);
            assert_eq!(chain.file_bytes(), file.len() - CHAIN_ENTRY_BYTES);
        }
    }

    #[test]
    fn a_flipped_bit_hides_the_entries_behind_it_and_never_changes_a_link() {
        let good = file(Offset(10), Link::START, &[15, 20, 30]);
        let chain = Chain::decode(Offset(10), &good, CRC).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let found = Chain::decode(Offset(10), &bad, CRC);
            let in_header = bit / 8 < CHAIN_HEADER_BYTES;
            assert_eq!(found.is_err(), in_header);
            if let Ok(found) = found {
                assert_eq!(
                    found.entries,
                    chain.entries[..(bit / 8 - CHAIN_HEADER_BYTES) / CHAIN_ENTRY_BYTES]
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_chain_is_read_back(base in 0..1_i64 << 40, steps in proptest::collection::vec(1..1000_i64, 0..9)) {
            let mut end = base;
            let ends: Vec<i64> = steps.iter().map(|step| { end += step; end }).collect();
            let chain = Chain::decode(Offset(base), &file(Offset(base), Link([1; 32]), &ends), CRC).unwrap();
            prop_assert_eq!(chain.entries.iter().map(|entry| entry.end.0).collect::<Vec<_>>(), ends);
            prop_assert_eq!(chain.start, Link([1; 32]));
        }

        #[test]
        fn arbitrary_bytes_are_refused(file: Vec<u8>) {
            prop_assert!(Chain::decode(Offset::ZERO, &file, CRC).is_err());
        }

        #[test]
        fn arbitrary_entries_are_left_out(entries: Vec<u8>) {
            let mut file = Chain::header(Offset::ZERO, Link::START, CRC);
            file.extend_from_slice(&entries);
            prop_assert_eq!(Chain::decode(Offset::ZERO, &file, CRC).map(|chain| chain.entries.len()), Ok(0));
        }
    }
}
