//! What goes out: small bytes that the encoder wrote, with shared bytes and file ranges between them, so that record
//! bytes are never copied. The order of segments is the order on the wire.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::{Buf, Bytes, BytesMut};

/// The file type of a side that sends no file ranges. It has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFile {}

/// A part of a file, to be sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange<F> {
    /// A handle that keeps the file open.
    pub file: F,
    /// Offset of the first byte in the file.
    pub position: u64,
    /// Bytes to send.
    pub len: u32,
}

/// One piece of a rope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<F> {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes in a file.
    File(FileRange<F>),
}

impl<F> Segment<F> {
    /// Bytes of the piece.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(range) => range.len as usize,
        }
    }

    /// Whether the piece has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the first `n` bytes off, which were sent.
    ///
    /// # Panics
    /// If `n` is more than [`Segment::len`].
    pub fn advance(&mut self, n: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(n),
            Self::File(range) => {
                range.position += n as u64;
                range.len -= u32::try_from(n).expect("a part is not longer than the whole");
            }
        }
    }
}

/// A frame to send, length prefix included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rope<F = NoFile> {
    segments: VecDeque<Segment<F>>,
    len: usize,
}

impl<F> Rope<F> {
    /// Joins segments in the order of sending; empty ones are dropped.
    pub fn from_segments(segments: impl IntoIterator<Item = Segment<F>>) -> Self {
        let segments: VecDeque<_> = segments.into_iter().filter(|segment| !segment.is_empty()).collect();
        let len = segments.iter().map(Segment::len).sum();
        Self { segments, len }
    }

    /// Bytes not yet sent.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether all was sent.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces not yet sent, in order; none is empty.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &Segment<F>> {
        self.segments.iter()
    }

    /// The pieces not yet sent, in order.
    pub fn into_segments(self) -> impl ExactSizeIterator<Item = Segment<F>> {
        self.segments.into_iter()
    }

    /// Notes that `n` bytes were sent.
    ///
    /// # Panics
    /// If `n` is more than [`Rope::len`].
    pub fn advance(&mut self, n: usize) {
        self.len = self.len.checked_sub(n).expect("no more is sent than there is");
        let mut n = n;
        while let Some(front) = self.segments.front_mut().filter(|_| n > 0) {
            let step = front.len().min(n);
            front.advance(step);
            n -= step;
            if front.is_empty() {
                self.segments.pop_front();
            }
        }
    }
}

impl Rope<NoFile> {
    /// The whole in one piece; copies only if there are several.
    pub fn into_bytes(self) -> Bytes {
        join(self.len, self.segments.into_iter())
    }
}

/// Record batches of one partition: any number of pieces, each a whole number of batches as far as the sender knows.
/// Never null on the wire: nothing is written as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records<F = NoFile> {
    segments: Vec<Segment<F>>,
}

impl<F> Records<F> {
    /// No records.
    pub const EMPTY: Self = Self { segments: Vec::new() };

    /// Adds a piece behind the others.
    pub fn push(&mut self, segment: Segment<F>) {
        if !segment.is_empty() {
            self.segments.push(segment);
        }
    }

    /// Bytes of all pieces.
    pub fn len(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The pieces in order; none is empty.
    pub fn segments(&self) -> &[Segment<F>] {
        &self.segments
    }

    /// The pieces that are in files, in order.
    pub fn file_ranges(&self) -> impl Iterator<Item = &FileRange<F>> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Bytes(_) => None,
            Segment::File(range) => Some(range),
        })
    }
}

impl Records<NoFile> {
    /// The whole in one piece; copies only if there are several, and a decoded response has one.
    pub fn into_bytes(self) -> Bytes {
        join(self.len(), self.segments.into_iter())
    }
}

impl<F> Default for Records<F> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<F> From<Bytes> for Records<F> {
    fn from(bytes: Bytes) -> Self {
        [Segment::Bytes(bytes)].into_iter().collect()
    }
}

impl<F> From<FileRange<F>> for Records<F> {
    fn from(range: FileRange<F>) -> Self {
        [Segment::File(range)].into_iter().collect()
    }
}

impl<F> FromIterator<Segment<F>> for Records<F> {
    fn from_iter<I: IntoIterator<Item = Segment<F>>>(segments: I) -> Self {
        Self { segments: segments.into_iter().filter(|segment| !segment.is_empty()).collect() }
    }
}

fn join(len: usize, mut segments: impl ExactSizeIterator<Item = Segment<NoFile>>) -> Bytes {
    if segments.len() == 1 {
        return segments.next().map(in_memory).unwrap_or_default();
    }
    let mut joined = BytesMut::with_capacity(len);
    segments.for_each(|segment| joined.extend_from_slice(&in_memory(segment)));
    joined.freeze()
}

fn in_memory(segment: Segment<NoFile>) -> Bytes {
    match segment {
        Segment::Bytes(bytes) => bytes,
        Segment::File(range) => match range.file {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Segment<u8> {
        Segment::Bytes(Bytes::from_static(text.as_bytes()))
    }

    fn file(position: u64, len: u32) -> Segment<u8> {
        Segment::File(FileRange { file: 7, position, len })
    }

    #[test]
    fn a_partial_write_leaves_the_rest_of_bytes_and_files() {
        let mut rope = Rope::from_segments([bytes("head"), file(100, 10), bytes(""), bytes("tail")]);
        assert_eq!(rope.len(), 18);
        rope.advance(7);
        assert_eq!(rope.segments().cloned().collect::<Vec<_>>(), [file(103, 7), bytes("tail")]);
        rope.advance(8);
        assert_eq!(rope.segments().cloned().collect::<Vec<_>>(), [bytes("ail")]);
        rope.advance(3);
        assert!(rope.is_empty());
    }

    #[test]
    fn one_piece_is_given_back_without_copying() {
        let bytes = Bytes::from_static(b"records");
        let joined = Records::<NoFile>::from(bytes.clone()).into_bytes();
        assert_eq!(joined.as_ptr(), bytes.as_ptr());
        assert!(Records::<NoFile>::from(Bytes::new()).is_empty());
    }
}
