//! Frames against their rules: no copy, bounded growth, refusals, any cut of the stream.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = (body.len() as i32).to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

/// Reads as a socket does: as much as there is room for.
fn read(reader: &mut FrameReader, bytes: &[u8]) -> usize {
    let mut spare = reader.spare();
    let n = spare.remaining_mut().min(bytes.len());
    spare.put_slice(&bytes[..n]);
    n
}

fn read_all(reader: &mut FrameReader, mut bytes: &[u8]) -> Vec<Bytes> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let n = read(reader, bytes);
        bytes = &bytes[n..];
        while let Some(frame) = reader.next_frame().unwrap() {
            frames.push(frame);
        }
    }
    frames
}

#[test]
fn several_frames_of_one_read_are_slices_of_one_buffer() {
    let mut reader = FrameReader::new(1000);
    read(&mut reader, &[framed(b"first"), framed(b"second"), framed(b"half")[..6].to_vec()].concat());
    let first = reader.next_frame().unwrap().unwrap();
    let second = reader.next_frame().unwrap().unwrap();
    assert_eq!((&first[..], &second[..]), (&b"first"[..], &b"second"[..]));
    assert_eq!(second.as_ptr() as usize - first.as_ptr() as usize, 5 + LENGTH_PREFIX);
    assert_eq!(reader.next_frame(), Ok(None));
    read(&mut reader, b"lf");
    assert_eq!(reader.next_frame().unwrap().unwrap(), "half");
}

#[test]
fn a_frame_of_one_mebibyte_stays_where_it_was_received() {
    let mut reader = FrameReader::new(FRAME_BYTES_MAX_DEFAULT);
    let frame = framed(&alloc::vec![7; 1 << 20]);
    read(&mut reader, &frame[..LENGTH_PREFIX]);
    let body_at = reader.spare().chunk_mut().as_mut_ptr();
    let frames = read_all(&mut reader, &frame[LENGTH_PREFIX..]);
    assert_eq!(frames[0].as_ptr(), body_at.cast_const());
}

#[test]
fn frames_of_like_size_are_never_copied() {
    for len in [100, 16 << 10, 65_600, 1 << 20] {
        let mut reader = FrameReader::new(FRAME_BYTES_MAX_DEFAULT);
        let frame = framed(&alloc::vec![7; len]);
        let mut kept = read_all(&mut reader, &frame);
        for _ in 0..20 {
            let from = reader.spare().chunk_mut().as_mut_ptr();
            kept.extend(read_all(&mut reader, &frame));
            assert_eq!(kept.last().unwrap().as_ptr(), from.wrapping_add(LENGTH_PREFIX).cast_const(), "{len}");
        }
    }
}

#[test]
fn small_frames_share_a_buffer() {
    let mut reader = FrameReader::new(1000);
    let frames: Vec<_> = (0..100).flat_map(|_| read_all(&mut reader, &framed(&[7; 96]))).collect();
    let follows = |pair: &[Bytes]| pair[1].as_ptr() as usize - pair[0].as_ptr() as usize == 100;
    assert!(frames.windows(2).all(follows));
}

#[test]
fn a_silent_connection_holds_no_memory_after_release() {
    let mut reader = FrameReader::new(FRAME_BYTES_MAX_DEFAULT);
    read_all(&mut reader, &framed(&alloc::vec![7; 1 << 20]));
    read(&mut reader, b"\0\0");
    reader.release();
    assert_eq!(reader.buffered_bytes(), 2);
    read_all(&mut reader, b"\0\x04body");
    reader.release();
    assert_eq!(reader.buffer.capacity(), 0);
}

#[test]
fn a_claim_of_a_large_frame_buys_no_memory() {
    let mut reader = FrameReader::new(FRAME_BYTES_MAX_DEFAULT);
    read(&mut reader, &(100i32 << 20).to_be_bytes());
    assert_eq!(reader.next_frame(), Ok(None));
    reader.spare();
    assert!(reader.buffer.capacity() <= 2 * EAGER_BYTES_MAX);
    let received = alloc::vec![0; 4 << 20];
    let mut rest = &received[..];
    while !rest.is_empty() {
        let n = read(&mut reader, rest);
        rest = &rest[n..];
        assert!(reader.buffer.capacity() <= 4 * reader.buffered_bytes().max(EAGER_BYTES_MAX));
    }
}

#[test]
fn a_negative_short_or_long_length_is_refused() {
    let refused = |length: i32| {
        let mut reader = FrameReader::new(1000);
        reader.extend(&length.to_be_bytes());
        reader.next_frame().unwrap_err()
    };
    assert_eq!(refused(-1), FrameError::TooShort { length: -1 });
    assert_eq!(refused(3), FrameError::TooShort { length: 3 });
    assert_eq!(refused(1001), FrameError::TooLong { length: 1001, limit: 1000 });
    assert_eq!(refused(i32::MAX), FrameError::TooLong { length: 0x7fff_ffff, limit: 1000 });
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_frames(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 4..300), 0..20),
        cuts in prop::collection::vec(1usize..200, 1..50),
    ) {
        let stream: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
        let mut reader = FrameReader::new(1000);
        let mut frames = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            frames.extend(read_all(&mut reader, now));
            rest = later;
        }
        prop_assert_eq!(frames, bodies);
        prop_assert_eq!(reader.buffered_bytes(), 0);
    }

    #[test]
    fn arbitrary_bytes_never_panic_the_framing(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut reader = FrameReader::new(1000);
        read(&mut reader, &bytes);
        while let Ok(Some(_)) = reader.next_frame() {}
        reader.spare();
    }
}
