//! The container of what brokers send each other: a length, a header, a payload. What a header holds is left to
//! the crates that own the protocols (`replica-core`, `metadata-core`); record bytes travel as the payload, raw.
//!
//! ```text
//!  0        4        6            6+h                  4+length
//!  | length | h      | header     | payload            |
//!  | u32 le | u16 le | h bytes    | length - 2 - h     |
//! ```
//!
//! `length` counts everything behind itself. All numbers are little-endian, as in the headers themselves.

use alloc::vec::Vec;

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of the length and of the header's length that stand before a header.
pub const FRAME_PREFIX_BYTES: usize = 6;

/// What a reader accepts at most, known before anything is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Largest header in bytes.
    pub header_bytes_max: usize,
    /// Largest payload in bytes.
    pub payload_bytes_max: usize,
}

/// One frame, as slices of the buffer that it was received into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// What the frame says; its owner checks it before access.
    pub header: Bytes,
    /// Raw bytes that the header speaks of; often empty.
    pub payload: Bytes,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The header is longer than the reader accepts.
    #[error("frame header of {length} bytes, at most {limit} are accepted")]
    HeaderTooLarge {
        /// Bytes that the frame claims.
        length: usize,
        /// Bytes that the reader accepts.
        limit: usize,
    },
    /// The payload is longer than the reader accepts.
    #[error("frame payload of {length} bytes, at most {limit} are accepted")]
    PayloadTooLarge {
        /// Bytes that the frame claims.
        length: usize,
        /// Bytes that the reader accepts.
        limit: usize,
    },
    /// The header does not fit into the frame's length.
    #[error("frame header of {header} bytes in a frame of {length} bytes")]
    HeaderOutside {
        /// Bytes of the header.
        header: usize,
        /// The frame's length field.
        length: usize,
    },
    /// Bytes that had to hold exactly one frame hold less or more.
    #[error("{found} bytes where one frame of {expected} bytes was expected")]
    NotOne {
        /// Bytes of the frame with its prefix, as far as known.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
}

/// The sizes in a frame's prefix, proven to lie within the reader's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSizes {
    /// Bytes of the header.
    pub header: usize,
    /// Bytes of the payload.
    pub payload: usize,
}

impl FrameSizes {
    /// Reads the prefix of the frame that starts at `bytes`; `None` if fewer than [`FRAME_PREFIX_BYTES`] are there.
    ///
    /// # Errors
    /// If the prefix contradicts itself or passes a limit.
    pub fn peek(bytes: &[u8], limits: FrameLimits) -> Result<Option<Self>, FrameError> {
        let Some(&[a, b, c, d, e, f]) = bytes.first_chunk::<FRAME_PREFIX_BYTES>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let header = usize::from(u16::from_le_bytes([e, f]));
        let Some(payload) = length.checked_sub(header + 2) else {
            return Err(FrameError::HeaderOutside { header, length });
        };
        if header > limits.header_bytes_max {
            return Err(FrameError::HeaderTooLarge { length: header, limit: limits.header_bytes_max });
        }
        if payload > limits.payload_bytes_max {
            return Err(FrameError::PayloadTooLarge { length: payload, limit: limits.payload_bytes_max });
        }
        Ok(Some(Self { header, payload }))
    }

    /// Bytes of the whole frame, its prefix included.
    #[must_use]
    pub const fn total(self) -> usize {
        FRAME_PREFIX_BYTES + self.header + self.payload
    }
}

impl Frame {
    /// Takes the first whole frame out of what was received; `None` if more bytes are needed. Nothing is copied.
    ///
    /// # Errors
    /// If the prefix contradicts itself or passes a limit; the stream is of no use then.
    pub fn take(received: &mut BytesMut, limits: FrameLimits) -> Result<Option<Self>, FrameError> {
        let Some(sizes) = FrameSizes::peek(received, limits)? else { return Ok(None) };
        if received.len() < sizes.total() {
            return Ok(None);
        }
        let mut whole = received.split_to(sizes.total()).freeze();
        whole.advance(FRAME_PREFIX_BYTES);
        let header = whole.split_to(sizes.header);
        Ok(Some(Self { header, payload: whole }))
    }

    /// Reads bytes that hold exactly one frame. Nothing is copied.
    ///
    /// # Errors
    /// As [`Frame::take`], and if the bytes end early or go on.
    pub fn parse(mut whole: Bytes, limits: FrameLimits) -> Result<Self, FrameError> {
        let found = whole.len();
        let not_one = |expected| FrameError::NotOne { expected, found };
        let sizes = FrameSizes::peek(&whole, limits)?.ok_or(not_one(FRAME_PREFIX_BYTES))?;
        if sizes.total() != found {
            return Err(not_one(sizes.total()));
        }
        whole.advance(FRAME_PREFIX_BYTES);
        let header = whole.split_to(sizes.header);
        Ok(Self { header, payload: whole })
    }
}

/// The bytes of a frame that stand before a payload of `payload_bytes`: prefix and header.
///
/// # Panics
/// If the header is longer than 65,535 bytes or the frame longer than 4 GiB: headers are made by our own code.
#[must_use]
pub fn frame_head(header: &[u8], payload_bytes: usize) -> Vec<u8> {
    let header_bytes = u16::try_from(header.len()).expect("headers are bounded by their types");
    let length =
        u32::try_from(2 + header.len() + payload_bytes).expect("payloads are bounded by the pushes' limit");
    let mut head = Vec::with_capacity(FRAME_PREFIX_BYTES + header.len());
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(&header_bytes.to_le_bytes());
    head.extend_from_slice(header);
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: FrameLimits = FrameLimits { header_bytes_max: 64, payload_bytes_max: 1024 };

    fn whole(header: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = frame_head(header, payload.len());
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn the_layout_is_length_header_length_header_payload() {
        assert_eq!(whole(&[7, 8], &[9, 9, 9]), [7, 0, 0, 0, 2, 0, 7, 8, 9, 9, 9]);
    }

    #[test]
    fn slices_of_a_frame_lie_in_the_receive_buffer() {
        let mut received = BytesMut::from(&whole(b"head", b"payload")[..]);
        let start = received.as_ptr() as usize;
        let frame = Frame::take(&mut received, LIMITS).unwrap().unwrap();
        assert_eq!(
            (frame.header.as_ptr() as usize - start, frame.payload.as_ptr() as usize - start),
            (6, 10)
        );
        assert!(received.is_empty());
    }

    #[test]
    fn a_claimed_length_is_refused_before_anything_is_allocated() {
        let claims = [0xff, 0xff, 0xff, 0xff, 2, 0];
        let refused = FrameSizes::peek(&claims, LIMITS);
        assert_eq!(refused, Err(FrameError::PayloadTooLarge { length: 0xffff_fffb, limit: 1024 }));
        let outside = FrameSizes::peek(&[3, 0, 0, 0, 2, 0], LIMITS);
        assert_eq!(outside, Err(FrameError::HeaderOutside { header: 2, length: 3 }));
        let header = FrameSizes::peek(&[100, 0, 0, 0, 65, 0], LIMITS);
        assert_eq!(header, Err(FrameError::HeaderTooLarge { length: 65, limit: 64 }));
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            frames in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..64), prop::collection::vec(any::<u8>(), 0..200)), 0..6),
            step in 1_usize..90,
        ) {
            let sent: Vec<u8> = frames.iter().flat_map(|(header, payload)| whole(header, payload)).collect();
            let (mut received, mut seen) = (BytesMut::new(), Vec::new());
            for piece in sent.chunks(step) {
                received.extend_from_slice(piece);
                while let Some(frame) = Frame::take(&mut received, LIMITS).unwrap() {
                    seen.push((frame.header.to_vec(), frame.payload.to_vec()));
                }
            }
            prop_assert_eq!(seen, frames);
            prop_assert!(received.is_empty());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut received = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = Frame::take(&mut received, LIMITS) {}
            let _ = Frame::parse(Bytes::from(bytes), LIMITS);
        }
    }
}
