//! Whatever comes in: no panic, and no more memory than a small multiple of what came in.

#![cfg(all(feature = "broker", feature = "client"))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod support;

use bytes::Bytes;
use highwater_kafka_wire::{ApiKey, DecodeError, Reader, Request, RequestFrame, Response};
use proptest::prelude::*;
use support::make::{Random, body, bytes_of};
use support::notation::{Side, schema};

/// What it gives, and the bytes that it allocates in all; frees are not taken off, so the count is an upper bound.
fn allocated<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let mut result = None;
    let counted = allocation_counter::measure(|| result = Some(run()));
    (result.unwrap(), usize::try_from(counted.bytes_total).unwrap())
}

/// Bytes of memory for each byte of a frame, at most: the element of a list that is largest for its bytes on the wire
/// (a name in `ListGroups`, 24 for 1) and the refcount of record slices.
const MEMORY_PER_BYTE: usize = 40;

fn check(side: Side, key: ApiKey, version: i16, bytes: &Bytes) {
    let decode = || {
        let mut reader = Reader::new(bytes);
        match side {
            Side::Request => Request::decode(&mut reader, key, version).map(drop),
            Side::Response => Response::decode(&mut reader, key, version).map(drop),
        }
    };
    let (_, memory) = allocated(decode);
    assert!(
        memory <= MEMORY_PER_BYTE * bytes.len() + 256,
        "{key:?} {side:?} {version}: {memory} for {bytes:02x?}"
    );
}

fn sides() -> impl Strategy<Value = (Side, ApiKey, i16)> {
    let key = prop::sample::select(ApiKey::ALL);
    let side = prop::sample::select(&[Side::Request, Side::Response][..]);
    (side, key).prop_flat_map(|(side, key)| (Just(side), Just(key), key.spec().accepted_min..=key.spec().max))
}

#[test]
fn a_request_claiming_2_31_elements_in_12_bytes_costs_nothing() {
    let header = b"\0\0\0\x03\0\0\0\x01\xff\xff";
    let frame = Bytes::from([&header[..], b"\xff\xff\0\x01\0\0\0\x0a\x7f\xff\xff\xff"].concat());
    let (parsed, memory) = allocated(|| RequestFrame::parse(&frame).map(drop));
    assert_eq!(parsed, Err(DecodeError::LengthOutOfBounds { at: 22, claimed: 0x7fff_ffff, limit: 0 }));
    assert_eq!(memory, 0);
}

#[test]
fn a_frame_full_of_empty_names_is_refused_before_it_takes_the_memory() {
    // 16 MiB of null names would be 24 times as much in memory.
    let mut frame = b"\0\x10\0\x05\0\0\0\x01\xff\xff\0".to_vec();
    frame.extend_from_slice(&[0x80, 0x80, 0x80, 0x08]);
    frame.resize(frame.len() + (16 << 20), 1);
    let frame = Bytes::from(frame);
    let (parsed, memory) = allocated(|| RequestFrame::parse(&frame).map(drop));
    assert!(matches!(parsed, Err(DecodeError::TooManyElements { .. })), "{parsed:?}");
    assert_eq!(memory, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn arbitrary_bytes_never_panic_a_body(
        (side, key, version) in sides(),
        bytes in prop::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..300),
    ) {
        check(side, key, version, &Bytes::from(bytes));
    }

    #[test]
    fn arbitrary_bytes_never_panic_a_whole_request(
        (_, key, version) in sides(),
        bytes in prop::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..300),
        with_key: bool,
    ) {
        let head = [key.number().to_be_bytes(), version.to_be_bytes()].concat();
        let frame = Bytes::from(if with_key { [head, bytes].concat() } else { bytes });
        let (_, memory) = allocated(|| RequestFrame::parse(&frame).map(drop));
        prop_assert!(memory <= MEMORY_PER_BYTE * frame.len() + 256);
    }

    #[test]
    fn a_cut_or_flipped_body_never_panics((side, key, version) in sides(), seed: u64, at: usize, bit in 0..8) {
        let pieces = body(key, &schema(key, side), version, &mut Random(seed));
        let whole = Bytes::from(bytes_of(&pieces));
        let cut = whole.slice(..at % (whole.len() + 1));
        check(side, key, version, &cut);
        let mut flipped = whole.to_vec();
        if let Some(byte) = flipped.get_mut(at % whole.len().max(1)) {
            *byte ^= 1u8 << bit;
        }
        check(side, key, version, &Bytes::from(flipped));
    }

    #[test]
    fn a_body_cut_short_is_an_error((side, key, version) in sides(), seed: u64, at: usize) {
        let pieces = body(key, &schema(key, side), version, &mut Random(seed));
        let whole = Bytes::from(bytes_of(&pieces));
        if !whole.is_empty() {
            let cut = whole.slice(..at % whole.len());
            let mut reader = Reader::new(&cut);
            let read = match side {
                Side::Request => Request::decode(&mut reader, key, version).map(drop),
                Side::Response => Response::decode(&mut reader, key, version).map(drop),
            };
            prop_assert!(read.is_err());
        }
    }
}
