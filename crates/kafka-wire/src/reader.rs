//! Reads the protocol's primitives out of one frame, without copying and without trusting a length.
//!
//! ```text
//! string   i16 length | bytes          compact, from the flexible version on:   uvarint length + 1 | bytes
//! bytes    i32 length | bytes                                                   uvarint length + 1 | bytes
//! array    i32 count  | elements                                                uvarint count + 1  | elements
//! null     length -1                                                            uvarint 0
//! tags     -                                        uvarint count | (uvarint tag | uvarint size | field)*
//! ```

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::{DecodeError, ErrorCode, Uuid};

/// Memory that the arrays of one frame may take together, in bytes. A request for 100,000 partitions needs about a
/// tenth; without a bound a frame of 100 MiB could claim elements forty times its size.
pub const ARRAY_BYTES_MAX: usize = 64 << 20;

/// The longest string that either form of its length may announce.
const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// A value that can be read from a frame in one of its versions.
pub trait Decode<'a>: Sized {
    /// Reads the value as `version` of its API lays it out. The caller has checked that the version is accepted.
    fn decode(reader: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError>;
}

/// A position in a frame. Strings and bytes borrow from the frame, records are refcounted slices of it.
#[derive(Debug)]
pub struct Reader<'a> {
    frame: &'a Bytes,
    rest: &'a [u8],
    /// Where `rest` ends in the frame: before its end inside of a tagged field.
    end: usize,
    array_bytes_left: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `frame`, which has no length prefix.
    pub fn new(frame: &'a Bytes) -> Self {
        Self { frame, rest: frame, end: frame.len(), array_bytes_left: ARRAY_BYTES_MAX }
    }

    /// Bytes read so far, from the start of the frame.
    pub fn position(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.truncated(len));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(N));
        };
        self.rest = rest;
        Ok(*taken)
    }

    fn truncated(&self, needed: usize) -> DecodeError {
        DecodeError::Truncated { at: self.position(), needed, remaining: self.remaining() }
    }

    /// A byte: zero is false.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.i8()? != 0)
    }

    /// A signed byte.
    pub fn i8(&mut self) -> Result<i8, DecodeError> {
        self.fixed().map(i8::from_be_bytes)
    }

    /// A signed 16-bit number.
    pub fn i16(&mut self) -> Result<i16, DecodeError> {
        self.fixed().map(i16::from_be_bytes)
    }

    /// An unsigned 16-bit number.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.fixed().map(u16::from_be_bytes)
    }

    /// A signed 32-bit number.
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        self.fixed().map(i32::from_be_bytes)
    }

    /// A signed 64-bit number.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        self.fixed().map(i64::from_be_bytes)
    }

    /// A 128-bit id.
    pub fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        self.fixed().map(Uuid)
    }

    /// An error code.
    pub fn error(&mut self) -> Result<ErrorCode, DecodeError> {
        self.i16().map(ErrorCode::from)
    }

    /// An unsigned number of 32 bits in one to five bytes, seven bits each, lowest first.
    pub fn uvarint(&mut self) -> Result<u32, DecodeError> {
        let at = self.position();
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.fixed::<1>()?;
            let low = u32::from(byte & 0x7f);
            if shift == 28 && byte > 0x0f {
                break;
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::VarintTooLong { at })
    }

    /// A string that is never null.
    pub fn string(&mut self, compact: bool) -> Result<Cow<'a, str>, DecodeError> {
        let len = self.string_length(compact)?;
        let len = len.ok_or(DecodeError::UnexpectedNull { at: self.position() })?;
        self.utf8(len).map(Cow::Borrowed)
    }

    /// A string that may be null if `nullable`.
    pub fn nullable_string(
        &mut self,
        compact: bool,
        nullable: bool,
    ) -> Result<Option<Cow<'a, str>>, DecodeError> {
        match self.string_length(compact)? {
            Some(len) => self.utf8(len).map(|s| Some(Cow::Borrowed(s))),
            None => self.null(nullable),
        }
    }

    /// A byte array that is never null.
    pub fn bytes(&mut self, compact: bool) -> Result<Cow<'a, [u8]>, DecodeError> {
        let len = self.bytes_length(compact)?;
        let len = len.ok_or(DecodeError::UnexpectedNull { at: self.position() })?;
        self.take(len).map(Cow::Borrowed)
    }

    /// Records as a refcounted slice of the frame; may be null if `nullable`.
    pub fn nullable_records(&mut self, compact: bool, nullable: bool) -> Result<Option<Bytes>, DecodeError> {
        match self.bytes_length(compact)? {
            Some(len) => {
                let taken = self.take(len)?;
                Ok(Some(self.frame.slice_ref(taken)))
            }
            None => self.null(nullable),
        }
    }

    /// Records as a refcounted slice of the frame; null is read as empty.
    pub fn records(&mut self, compact: bool) -> Result<Bytes, DecodeError> {
        self.nullable_records(compact, true).map(Option::unwrap_or_default)
    }

    /// An array whose elements take at least `element_bytes_min` bytes each.
    pub fn array<T>(
        &mut self,
        compact: bool,
        element_bytes_min: usize,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.count(compact, element_bytes_min)?;
        let count = count.ok_or(DecodeError::UnexpectedNull { at: self.position() })?;
        self.elements(count, element)
    }

    /// An array that may be null if `nullable`.
    pub fn nullable_array<T>(
        &mut self,
        compact: bool,
        nullable: bool,
        element_bytes_min: usize,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        match self.count(compact, element_bytes_min)? {
            Some(count) => self.elements(count, element).map(Some),
            None => self.null(nullable),
        }
    }

    /// A struct behind a byte that is negative when the struct is null.
    pub fn nullable_struct<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.i8()? < 0 { Ok(None) } else { read(self).map(Some) }
    }

    /// Tagged fields. `known` gets each tag and a reader that ends with the field; it answers whether it knows the
    /// tag. Unknown fields are skipped by their size. Any order is taken, as Kafka does; of two equal tags the last wins.
    pub fn tags(
        &mut self,
        mut known: impl FnMut(u32, &mut Self) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let size = self.uvarint()? as usize;
            let rest = self.take(size)?;
            let end = self.position();
            let mut field = Self { frame: self.frame, rest, end, array_bytes_left: self.array_bytes_left };
            let known = known(tag, &mut field)?;
            self.array_bytes_left = field.array_bytes_left;
            let remaining = field.remaining();
            if known && remaining > 0 {
                return Err(DecodeError::TagSize { at: end, tag, remaining });
            }
        }
        Ok(())
    }

    /// Tagged fields of a struct that knows none.
    pub fn skip_tags(&mut self) -> Result<(), DecodeError> {
        self.tags(|_, _| Ok(false))
    }

    fn null<T>(&self, nullable: bool) -> Result<Option<T>, DecodeError> {
        if nullable { Ok(None) } else { Err(DecodeError::UnexpectedNull { at: self.position() }) }
    }

    fn utf8(&mut self, len: usize) -> Result<&'a str, DecodeError> {
        let at = self.position();
        core::str::from_utf8(self.take(len)?).map_err(|_| DecodeError::InvalidUtf8 { at })
    }

    fn string_length(&mut self, compact: bool) -> Result<Option<usize>, DecodeError> {
        let claimed = if compact { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i16()?) };
        self.length(claimed, STRING_BYTES_MAX.min(self.remaining()))
    }

    fn bytes_length(&mut self, compact: bool) -> Result<Option<usize>, DecodeError> {
        let claimed = if compact { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i32()?) };
        self.length(claimed, self.remaining())
    }

    fn count(&mut self, compact: bool, element_bytes_min: usize) -> Result<Option<usize>, DecodeError> {
        let claimed = if compact { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i32()?) };
        self.length(claimed, self.remaining() / element_bytes_min.max(1))
    }

    fn length(&self, claimed: i64, limit: usize) -> Result<Option<usize>, DecodeError> {
        match usize::try_from(claimed) {
            Ok(len) if len <= limit => Ok(Some(len)),
            Err(_) if claimed == -1 => Ok(None),
            _ => Err(DecodeError::LengthOutOfBounds { at: self.position(), claimed, limit }),
        }
    }

    /// `count` is bounded by the rest of the frame; the memory it takes is charged before it is allocated.
    fn elements<T>(
        &mut self,
        count: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let left = self.array_bytes_left.checked_sub(count.saturating_mul(size_of::<T>()));
        self.array_bytes_left =
            left.ok_or(DecodeError::TooManyElements { at: self.position(), limit: ARRAY_BYTES_MAX })?;
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(elements)
    }
}
