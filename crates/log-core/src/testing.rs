//! What the tests of this crate share: the checksum, short batches, and the checks that every decoder has to pass.

use alloc::string::String;
use alloc::vec::Vec;

use crate::batch::{BatchBuilder, BatchSpec, NewRecord, ProducerStamp};
use crate::codec::{Codecs, Crc32c};
use crate::ids::{LeaderEpoch, ProducerEpoch, ProducerId, Sequence};
use crate::offset::Offset;
use crate::time::Timestamp;

pub(crate) const CRC: Crc32c = crc32c::crc32c_append;

/// A batch as it stands in a log: `values` at `base_offset`, each with its offset as timestamp.
pub(crate) fn stored_batch(base_offset: i64, leader_epoch: i32, values: &[&[u8]]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for (index, value) in values.iter().enumerate() {
        let timestamp = Timestamp(base_offset + index as i64);
        builder.push(&NewRecord { timestamp, key: None, value: Some(value), headers: &[] }).unwrap();
    }
    let producer = ProducerStamp { id: ProducerId(1), epoch: ProducerEpoch(0), base_sequence: Sequence(0) };
    let spec = BatchSpec {
        base_offset: Offset(base_offset),
        leader_epoch: LeaderEpoch(leader_epoch),
        producer: Some(producer),
        ..BatchSpec::default()
    };
    builder.build(&spec, Codecs::PLAIN, CRC).unwrap()
}

/// Cuts `file` at every length and flips every bit: `decode` has to refuse each.
pub(crate) fn every_cut_and_flip_is_refused<T, E>(file: &[u8], decode: impl Fn(&[u8]) -> Result<T, E>) {
    assert!(decode(file).is_ok(), "the file itself is good");
    for end in 0..file.len() {
        assert!(decode(&file[..end]).is_err(), "cut to {end} bytes");
    }
    for bit in 0..file.len() * 8 {
        let mut flipped = Vec::from(file);
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&flipped).is_err(), "bit {bit} flipped");
    }
}

/// `bytes` field by field: offset, bytes in hex, name. The fields have these lengths and names and take all of it.
pub(crate) fn annotated(bytes: &[u8], fields: &[(usize, &str)]) -> String {
    let mut at = 0;
    let mut text = String::new();
    for (count, name) in fields {
        let hex: String = bytes[at..at + count].iter().map(|byte| std::format!("{byte:02x}")).collect();
        text += &std::format!("{at:4}  {hex}  {name}\n");
        at += count;
    }
    assert_eq!(at, bytes.len(), "the fields take all bytes");
    text
}

/// The fields of a container's header.
pub(crate) const CONTAINER_FIELDS: [(usize, &str); 5] =
    [(4, "magic"), (2, "version"), (2, "reserved"), (4, "payload length"), (4, "crc-32c")];
