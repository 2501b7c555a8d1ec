//! Writes the protocol's primitives into one small buffer and remembers where record bytes belong between them.
//!
//! An error is kept and reported at the end, so that generated code stays straight; what was written after it is
//! never sent.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::rope::{FileRange, Records, Rope, Segment};
use crate::{EncodeError, ErrorCode, Uuid};

const LENGTH_PREFIX: usize = size_of::<i32>();

/// Records from this size on become a segment of their own; smaller ones are cheaper to copy than to send apart
/// (a guess: one more entry of a gathering write costs about as much as copying this much).
const SEGMENT_BYTES_MIN: usize = 512;

/// A value that can be written in one of its versions.
pub trait Encode {
    /// Writes the value as `version` of its API lays it out. Fields that the version does not know are left out, and
    /// a null that it cannot express is written as empty. The caller has checked that the version is accepted.
    fn encode(&self, writer: &mut Writer, version: i16);
}

/// A frame being written.
#[derive(Debug)]
pub struct Writer {
    small: Vec<u8>,
    cuts: Vec<Cut>,
    outside_bytes: usize,
    error: Option<EncodeError>,
}

/// Something that stands between the small bytes before and behind `at`.
#[derive(Debug)]
struct Cut {
    at: usize,
    what: Outside,
}

#[derive(Debug)]
enum Outside {
    Bytes(Bytes),
    /// The next of the file ranges that are handed in at the end.
    File,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// Starts a frame: room for the length prefix, which is known at the end.
    pub fn new() -> Self {
        let mut small = Vec::with_capacity(256);
        small.extend_from_slice(&[0; LENGTH_PREFIX]);
        Self { small, cuts: Vec::new(), outside_bytes: 0, error: None }
    }

    /// Ends the frame. `ranges` are the file ranges of the body in the order of writing.
    ///
    /// # Panics
    /// If there are fewer ranges than the body wrote.
    pub fn finish<F>(mut self, ranges: Vec<FileRange<F>>) -> Result<Rope<F>, EncodeError> {
        let len = self.small.len() - LENGTH_PREFIX + self.outside_bytes;
        let prefix = self.length(len, i32::MAX as usize);
        if let Some(error) = self.error {
            return Err(error);
        }
        let prefix = (prefix as i32).to_be_bytes();
        self.small.iter_mut().zip(prefix).for_each(|(byte, value)| *byte = value);
        Ok(assemble(self.small.into(), self.cuts, ranges))
    }

    /// A byte: 1 is true.
    pub fn bool(&mut self, value: bool) {
        self.small.push(u8::from(value));
    }

    /// A signed byte.
    pub fn i8(&mut self, value: i8) {
        self.small.extend_from_slice(&value.to_be_bytes());
    }

    /// A signed 16-bit number.
    pub fn i16(&mut self, value: i16) {
        self.small.extend_from_slice(&value.to_be_bytes());
    }

    /// An unsigned 16-bit number.
    pub fn u16(&mut self, value: u16) {
        self.small.extend_from_slice(&value.to_be_bytes());
    }

    /// A signed 32-bit number.
    pub fn i32(&mut self, value: i32) {
        self.small.extend_from_slice(&value.to_be_bytes());
    }

    /// A signed 64-bit number.
    pub fn i64(&mut self, value: i64) {
        self.small.extend_from_slice(&value.to_be_bytes());
    }

    /// A 128-bit id.
    pub fn uuid(&mut self, value: Uuid) {
        self.small.extend_from_slice(&value.0);
    }

    /// An error code.
    pub fn error(&mut self, value: ErrorCode) {
        self.i16(value.code());
    }

    /// An unsigned number in one to five bytes, seven bits each, lowest first.
    pub fn uvarint(&mut self, value: u32) {
        let (encoded, len) = uvarint(value);
        self.small.extend(encoded.into_iter().take(len));
    }

    /// A string.
    pub fn string(&mut self, compact: bool, value: &str) {
        self.string_length(compact, value.len());
        self.small.extend_from_slice(value.as_bytes());
    }

    /// A string that may be null if `nullable`.
    pub fn nullable_string(&mut self, compact: bool, nullable: bool, value: Option<&str>) {
        match value {
            None if nullable && compact => self.uvarint(0),
            None if nullable => self.i16(-1),
            _ => self.string(compact, value.unwrap_or_default()),
        }
    }

    /// A byte array, copied.
    pub fn bytes(&mut self, compact: bool, value: &[u8]) {
        self.count(compact, value.len());
        self.small.extend_from_slice(value);
    }

    /// Records, not copied unless they are few; may be null if `nullable`.
    pub fn nullable_records(&mut self, compact: bool, nullable: bool, value: Option<&Bytes>) {
        match value {
            None if nullable => self.null(compact),
            None => self.count(compact, 0),
            Some(bytes) => {
                self.count(compact, bytes.len());
                self.shared(bytes);
            }
        }
    }

    /// Records in pieces, not copied unless they are few.
    pub fn records<F>(&mut self, compact: bool, value: &Records<F>) {
        self.count(compact, value.len());
        for segment in value.segments() {
            match segment {
                Segment::Bytes(bytes) => self.shared(bytes),
                Segment::File(range) => self.cut(Outside::File, range.len as usize),
            }
        }
    }

    /// An array.
    pub fn array<T>(&mut self, compact: bool, elements: &[T], mut element: impl FnMut(&mut Self, &T)) {
        self.count(compact, elements.len());
        elements.iter().for_each(|value| element(self, value));
    }

    /// An array that may be null if `nullable`.
    pub fn nullable_array<T>(
        &mut self,
        compact: bool,
        nullable: bool,
        elements: Option<&[T]>,
        element: impl FnMut(&mut Self, &T),
    ) {
        match elements {
            None if nullable => self.null(compact),
            _ => self.array(compact, elements.unwrap_or_default(), element),
        }
    }

    /// A struct behind a byte that says whether it is there.
    pub fn nullable_struct<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        match value {
            None => self.i8(-1),
            Some(value) => {
                self.i8(1);
                write(self, value);
            }
        }
    }

    /// The number of tagged fields that follow, in ascending order of tags: as many as are there.
    pub fn tag_count(&mut self, there: &[bool]) {
        let count = there.iter().filter(|there| **there).count();
        self.uvarint(count as u32);
    }

    /// One tagged field: its tag, its size, its value. Holds no records.
    pub fn tag(&mut self, tag: u32, field: impl FnOnce(&mut Self)) {
        self.uvarint(tag);
        let start = self.small.len();
        field(self);
        let size = self.small.len() - start;
        let size = self.length(size, u32::MAX as usize);
        let (encoded, len) = uvarint(size);
        self.small.extend(encoded.into_iter().take(len));
        if let Some(field_and_size) = self.small.get_mut(start..) {
            field_and_size.rotate_right(len);
        }
    }

    fn null(&mut self, compact: bool) {
        if compact {
            self.uvarint(0);
        } else {
            self.i32(-1);
        }
    }

    fn string_length(&mut self, compact: bool, len: usize) {
        let len = self.length(len, i16::MAX as usize);
        if compact {
            self.uvarint(len + 1);
        } else {
            self.i16(len as i16);
        }
    }

    fn count(&mut self, compact: bool, len: usize) {
        let len = self.length(len, i32::MAX as usize);
        if compact {
            self.uvarint(len + 1);
        } else {
            self.i32(len as i32);
        }
    }

    /// `len` if it is within the limit; else notes the error.
    fn length(&mut self, len: usize, limit: usize) -> u32 {
        if len > limit {
            self.error.get_or_insert(EncodeError::TooLong { len, limit });
            return 0;
        }
        len as u32
    }

    fn shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SEGMENT_BYTES_MIN {
            self.small.extend_from_slice(bytes);
        } else {
            self.cut(Outside::Bytes(bytes.clone()), bytes.len());
        }
    }

    fn cut(&mut self, what: Outside, len: usize) {
        self.outside_bytes += len;
        self.cuts.push(Cut { at: self.small.len(), what });
    }
}

fn assemble<F>(mut small: Bytes, cuts: Vec<Cut>, ranges: Vec<FileRange<F>>) -> Rope<F> {
    let mut ranges = ranges.into_iter();
    let mut segments = Vec::with_capacity(2 * cuts.len() + 1);
    let mut done = 0;
    for cut in cuts {
        segments.push(Segment::Bytes(small.split_to(cut.at - done)));
        done = cut.at;
        segments.push(match cut.what {
            Outside::Bytes(bytes) => Segment::Bytes(bytes),
            Outside::File => Segment::File(ranges.next().expect("a body names each file range it writes")),
        });
    }
    segments.push(Segment::Bytes(small));
    Rope::from_segments(segments)
}

fn uvarint(value: u32) -> ([u8; 5], usize) {
    let mut encoded = [0; 5];
    let mut rest = value;
    let mut len = 0;
    for byte in &mut encoded {
        len += 1;
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    (encoded, len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rope::NoFile;

    fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::new();
        write(&mut writer);
        writer.finish::<NoFile>(Vec::new()).unwrap().into_bytes().to_vec()
    }

    #[test]
    fn the_length_prefix_counts_what_follows_it() {
        assert_eq!(written(|w| w.i16(5)), [0, 0, 0, 2, 0, 5]);
    }

    #[test]
    fn a_varint_has_seven_bits_a_byte() {
        assert_eq!(written(|w| w.uvarint(300))[4..], [0xac, 0x02]);
        assert_eq!(written(|w| w.uvarint(u32::MAX))[4..], [0xff, 0xff, 0xff, 0xff, 0x0f]);
    }

    #[test]
    fn a_tag_carries_its_size_before_its_value() {
        let field = |w: &mut Writer| w.string(true, &"x".repeat(200));
        let bytes = written(|w| w.tag(3, field));
        assert_eq!(bytes[4..9], [3, 0xca, 0x01, 0xc9, 0x01]);
        assert_eq!(bytes.len(), 4 + 3 + 202);
    }

    #[test]
    fn a_string_that_does_not_fit_its_length_is_refused_at_the_end() {
        let mut writer = Writer::new();
        writer.string(false, &"x".repeat(40_000));
        writer.i32(1);
        let refused = writer.finish::<NoFile>(Vec::new());
        assert_eq!(refused, Err(EncodeError::TooLong { len: 40_000, limit: 32_767 }));
    }

    #[test]
    fn record_bytes_stay_where_they_are() {
        let records = Bytes::from(alloc::vec![7; 1 << 20]);
        let mut writer = Writer::new();
        writer.nullable_records(true, true, Some(&records));
        writer.i8(1);
        let rope = writer.finish::<NoFile>(Vec::new()).unwrap();
        let segments: Vec<_> = rope.segments().collect();
        let [_, Segment::Bytes(middle), _] = segments.as_slice() else { panic!("three segments") };
        assert_eq!(middle.as_ptr(), records.as_ptr());
    }
}
