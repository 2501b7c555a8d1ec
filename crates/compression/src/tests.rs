//! Every codec: round trips, frames of others, and bytes that want to do harm.

use std::io::Write;

use log_core::{CodecError, Compression};
use proptest::prelude::*;

use super::*;

const CODED: [Compression; 4] = [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

const MIB: usize = 1024 * 1024;

fn packed(codec: Compression, input: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    (CODECS.compress)(codec, input, &mut output).unwrap();
    output
}

fn unpacked(codec: Compression, input: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    let mut output = b"before".to_vec();
    let result = (CODECS.decompress)(codec, input, limit, &mut output);
    assert!(output.starts_with(b"before"));
    assert!(result.is_ok() || output == b"before", "an error leaves the output as it was");
    assert!(output.len() - 6 <= limit);
    result.map(|()| output.split_off(6))
}

fn pure_zstd(input: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    let mut output = Vec::new();
    zstd_pure::decompress(input, limit, &mut output).map(|()| output)
}

/// Text of some length that compresses about as well as logs do.
fn text(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 64);
    let mut number = 1_u32;
    while text.len() < bytes {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        writeln!(text, "request {} took {} us", number >> 20, number >> 27).unwrap();
    }
    text.truncate(bytes);
    text
}

#[test]
fn everything_comes_back() {
    for codec in CODED.into_iter().chain([Compression::None]) {
        for bytes in [0, 1, 100, 32 * 1024, 64 * 1024 + 1, MIB] {
            let input = text(bytes);
            assert_eq!(unpacked(codec, &packed(codec, &input), bytes), Ok(input), "{}", codec.name());
        }
    }
}

#[test]
fn text_becomes_shorter() {
    for codec in CODED {
        assert!(packed(codec, &text(MIB)).len() < MIB / 2, "{}", codec.name());
    }
}

#[test]
fn a_byte_above_the_limit_is_too_large() {
    let input = text(100_000);
    for codec in CODED.into_iter().chain([Compression::None]) {
        let limit = input.len() - 1;
        assert_eq!(unpacked(codec, &packed(codec, &input), limit), Err(CodecError::TooLarge { limit }));
    }
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![0; 64 * MIB];
    for codec in CODED {
        let bomb = packed(codec, &zeros);
        assert_eq!(unpacked(codec, &bomb, MIB), Err(CodecError::TooLarge { limit: MIB }), "{}", codec.name());
    }
    let bomb = packed(Compression::Zstd, &zeros);
    assert_eq!(pure_zstd(&bomb, MIB), Err(CodecError::TooLarge { limit: MIB }));
}

#[test]
fn a_length_that_the_bytes_cannot_hold_is_not_believed() {
    let claims_4_gib = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1];
    let malformed = Err(CodecError::Malformed(Compression::Snappy));
    assert_eq!(unpacked(Compression::Snappy, &claims_4_gib, usize::MAX), malformed);
}

#[test]
fn nothing_is_not_a_compressed_batch() {
    for codec in CODED {
        assert_eq!(unpacked(codec, &[], MIB), Err(CodecError::Malformed(codec)));
    }
    assert!(pure_zstd(&[], MIB).is_err());
}

#[test]
fn every_cut_is_noticed() {
    let input = text(70_000);
    for codec in CODED {
        let whole = packed(codec, &input);
        for end in (0..whole.len()).step_by(97).chain(whole.len() - 20..whole.len()) {
            let found = unpacked(codec, &whole[..end], MIB);
            // A snappy stream has no end of its own: cut between two blocks it is a shorter one. The
            // record count of the batch and its CRC notice.
            let shorter =
                codec == Compression::Snappy && found.as_ref().is_ok_and(|out| input.starts_with(out));
            assert!(found.is_err() || shorter, "{} cut to {end}", codec.name());
        }
    }
    let whole = packed(Compression::Zstd, &input);
    for end in (0..whole.len()).step_by(97) {
        assert!(pure_zstd(&whole[..end], MIB).is_err(), "cut to {end}");
    }
}

#[test]
fn bytes_behind_the_end_are_refused() {
    for codec in [Compression::Gzip, Compression::Lz4, Compression::Zstd] {
        let mut longer = packed(codec, &text(1000));
        longer.extend_from_slice(b"garbage behind it");
        assert_eq!(unpacked(codec, &longer, MIB), Err(CodecError::Malformed(codec)), "{}", codec.name());
    }
}

#[test]
fn snappy_is_framed_as_java_does() {
    let framed = packed(Compression::Snappy, &text(40_000));
    assert_eq!(framed[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    let first = u32::from_be_bytes(framed[16..20].try_into().unwrap()) as usize;
    assert_eq!(snap::raw::decompress_len(&framed[20..20 + first]), Ok(32 * 1024));
}

#[test]
fn raw_snappy_and_joined_streams_are_read() {
    let raw = snap::raw::Encoder::new().compress_vec(b"hello hello hello").unwrap();
    assert_eq!(unpacked(Compression::Snappy, &raw, 100).unwrap(), b"hello hello hello");
    let mut joined = packed(Compression::Snappy, b"one ");
    joined.extend(packed(Compression::Snappy, b"two"));
    assert_eq!(unpacked(Compression::Snappy, &joined, 100).unwrap(), b"one two");
}

#[test]
fn joined_gzip_members_and_zstd_frames_are_read() {
    for codec in [Compression::Gzip, Compression::Zstd] {
        let mut joined = packed(codec, b"one ");
        joined.extend(packed(codec, b"two"));
        assert_eq!(unpacked(codec, &joined, 7).unwrap(), b"one two");
        assert_eq!(unpacked(codec, &joined, 6), Err(CodecError::TooLarge { limit: 6 }));
    }
    let mut joined = packed(Compression::Zstd, b"one ");
    joined.extend(packed(Compression::Zstd, b"two"));
    assert_eq!(pure_zstd(&joined, 7).unwrap(), b"one two");
    assert_eq!(pure_zstd(&joined, 6), Err(CodecError::TooLarge { limit: 6 }));
}

#[test]
fn lz4_frames_have_independent_64_kib_blocks() {
    let frame = packed(Compression::Lz4, &text(1000));
    let (version, independent, checksums) = (frame[4] >> 6, frame[4] >> 5 & 1, frame[4] & 0b1_0100);
    assert_eq!((version, independent, checksums), (1, 1, 0));
    assert_eq!(frame[5], 4 << 4);
}

#[test]
fn a_wrong_content_checksum_of_lz4_is_noticed() {
    let frame = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(frame, Vec::new());
    encoder.write_all(b"checked").unwrap();
    let mut frame = encoder.finish().unwrap();
    assert_eq!(unpacked(Compression::Lz4, &frame, 100).unwrap(), b"checked");
    *frame.last_mut().unwrap() ^= 1;
    assert_eq!(unpacked(Compression::Lz4, &frame, 100), Err(CodecError::Malformed(Compression::Lz4)));
}

#[test]
fn linked_lz4_blocks_are_read() {
    let input = text(300_000);
    let linked = lz4_flex::frame::FrameInfo::new().block_mode(lz4_flex::frame::BlockMode::Linked);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(linked, Vec::new());
    encoder.write_all(&input).unwrap();
    assert_eq!(unpacked(Compression::Lz4, &encoder.finish().unwrap(), MIB), Ok(input));
}

#[test]
fn the_browser_reads_zstd_and_says_that_it_does_not_write_it() {
    let input = text(300_000);
    assert_eq!(pure_zstd(&packed(Compression::Zstd, &input), MIB), Ok(input));
    let unavailable = Err(CodecError::Unavailable(Compression::Zstd));
    assert_eq!(zstd_pure::compress(b"", &mut Vec::new()), unavailable);
}

#[test]
fn a_wrong_zstd_checksum_is_noticed_by_both_decoders() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(b"checked").unwrap();
    let mut frame = encoder.finish().unwrap();
    assert_eq!(pure_zstd(&frame, 100).unwrap(), b"checked");
    *frame.last_mut().unwrap() ^= 1;
    let malformed = Err(CodecError::Malformed(Compression::Zstd));
    assert_eq!(unpacked(Compression::Zstd, &frame, 100), malformed);
    assert_eq!(pure_zstd(&frame, 100), malformed);
}

fn codec() -> impl Strategy<Value = Compression> {
    proptest::sample::select(CODED.to_vec())
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(codec in codec(), input: Vec<u8>, copies in 1..50_usize) {
        let input = input.repeat(copies);
        prop_assert_eq!(unpacked(codec, &packed(codec, &input), input.len()), Ok(input));
    }

    #[test]
    fn a_flip_gives_bytes_or_an_error_within_the_limit(codec in codec(), bytes in 0..5000_usize, at in 0.0..1.0) {
        let mut frame = packed(codec, &text(bytes));
        let bit = ((frame.len() * 8) as f64 * at) as usize;
        frame[bit / 8] ^= 1 << (bit % 8);
        let _ = unpacked(codec, &frame, 10_000);
        let _ = pure_zstd(&frame, 10_000);
    }

    #[test]
    fn arbitrary_bytes_give_bytes_or_an_error_within_the_limit(codec in codec(), input: Vec<u8>, headed: bool) {
        let mut frame = if headed { packed(codec, b"")[..4].to_vec() } else { Vec::new() };
        frame.extend_from_slice(&input);
        let _ = unpacked(codec, &frame, 1000);
        let _ = pure_zstd(&frame, 1000);
    }
}
