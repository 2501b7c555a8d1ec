//! Cuts a connection's bytes into frames without copying them.
//!
//! ```text
//! length i32 | that many bytes        the frames that are given out have no length
//! ```
//!
//! A carrier reads straight into the buffer and may bring several frames at once; each frame is a refcounted slice of the
//! buffer. Once a length is known there is room for the whole frame, so that a large produce request stays where it was
//! received. Room for a claim of more than [`EAGER_BYTES_MAX`] grows only with what has come: four bytes buy no memory.

use bytes::buf::Limit;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::FrameError;

/// The longest frame that a connection takes unless told otherwise, in bytes (Kafka's `socket.request.max.bytes`).
pub const FRAME_BYTES_MAX_DEFAULT: usize = 100 << 20;

/// Room that is made for a frame on the strength of its length alone, in bytes: a produce request of the default
/// `max.request.size` (1 MiB) with its header. Untouched room costs no memory until bytes arrive.
pub const EAGER_BYTES_MAX: usize = (1 << 20) + (64 << 10);

/// Room that a new buffer has at least, in bytes (a guess: some hundred small requests).
const BUFFER_BYTES_MIN: usize = 64 << 10;

/// Room for a read below which a new buffer is made although no frame asks for it, in bytes (a guess: some requests).
const READ_BYTES_MIN: usize = 4 << 10;

/// Frames like the last one that a new buffer has room for, so that one read brings several.
const FRAMES_A_BUFFER: usize = 4;

/// The shortest body: a correlation id.
const BODY_BYTES_MIN: i32 = 4;

const LENGTH_PREFIX: usize = size_of::<i32>();

/// The receive buffer of one connection.
///
/// Order of calls: [`FrameReader::spare`] and a read into it (or [`FrameReader::extend`]), then
/// [`FrameReader::next_frame`] until it gives `None`, then again. After an error nothing more can be read.
#[derive(Debug)]
pub struct FrameReader {
    buffer: BytesMut,
    frame_bytes_max: usize,
    /// The last frame with its length, which the next one probably resembles.
    last_frame_bytes: usize,
}

impl FrameReader {
    /// An empty buffer that takes frames of at most `frame_bytes_max` bytes.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self { buffer: BytesMut::new(), frame_bytes_max, last_frame_bytes: 0 }
    }

    /// Room for the next read, at least one byte and as a rule the rest of the frame. It takes any `read_buf`; bytes
    /// put into it are received.
    pub fn spare(&mut self) -> Limit<&mut BytesMut> {
        let (wanted, needed) = self.room();
        if self.buffer.capacity() - self.buffer.len() < needed {
            self.buffer.reserve(wanted);
        }
        let room = self.buffer.capacity() - self.buffer.len();
        (&mut self.buffer).limit(room)
    }

    /// Receives bytes that a carrier already holds. They are copied.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes received and not yet given out.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Gives the memory back if nothing is buffered: for a connection that has been silent for a while.
    pub fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.last_frame_bytes = 0;
        }
    }

    /// The next whole frame, if it is there.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(len) = self.frame_length()? else {
            return Ok(None);
        };
        if self.buffer.len() < LENGTH_PREFIX + len {
            return Ok(None);
        }
        self.last_frame_bytes = LENGTH_PREFIX + len;
        self.buffer.advance(LENGTH_PREFIX);
        Ok(Some(self.buffer.split_to(len).freeze()))
    }

    fn frame_length(&self) -> Result<Option<usize>, FrameError> {
        let Some(prefix) = self.buffer.first_chunk::<LENGTH_PREFIX>() else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*prefix);
        if length < BODY_BYTES_MIN {
            return Err(FrameError::TooShort { length });
        }
        match length as usize {
            length if length > self.frame_bytes_max => {
                Err(FrameError::TooLong { length, limit: self.frame_bytes_max })
            }
            length => Ok(Some(length)),
        }
    }

    /// Room that a new buffer shall have, and room below which one is made.
    ///
    /// While a frame is awaited both are its rest, as far as it has earned it. Between frames the next one is taken to
    /// resemble the last: it shall fit whole, or its beginning would be copied when its length is known.
    fn room(&self) -> (usize, usize) {
        let have = self.buffer.len();
        if let Ok(Some(len)) = self.frame_length() {
            let earned = EAGER_BYTES_MAX.max(2 * have);
            let rest = (LENGTH_PREFIX + len).min(earned).saturating_sub(have).max(1);
            return (rest, rest);
        }
        let next = self.last_frame_bytes.min(EAGER_BYTES_MAX);
        let wanted = (FRAMES_A_BUFFER * next).clamp(BUFFER_BYTES_MIN, EAGER_BYTES_MAX);
        (wanted, next.max(READ_BYTES_MIN) - have.min(LENGTH_PREFIX))
    }
}

#[cfg(test)]
mod tests;
