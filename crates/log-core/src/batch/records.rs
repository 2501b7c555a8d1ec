//! The records inside an uncompressed (or decompressed) batch, read without allocation.
//!
//! ```text
//! length varint | attributes i8 | timestamp delta varlong | offset delta varint
//! key length varint (−1: none) | key | value length varint (−1: none) | value
//! header count varint | per header: key length varint | key | value length varint (−1: none) | value
//! ```

use super::header::BatchHeader;
use super::varint;
use crate::error::RecordError;
use crate::offset::Offset;
use crate::time::Timestamp;

/// Least bytes of a record after its length: attributes, two deltas, two lengths and a header count of one byte each.
const RECORD_BYTES_MIN: i32 = 6;

/// One record, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset in the log, if the batch has been appended.
    pub offset: Offset,
    /// Its time; the batch's max timestamp when the batch carries the broker's time.
    pub timestamp: Timestamp,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; none marks a tombstone in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// The headers in the order of the producer, duplicates kept.
    pub headers: Headers<'a>,
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader<'a> {
    /// The key; UTF-8 by convention, not checked.
    pub key: &'a [u8],
    /// The value.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record whose bytes were proven when the record was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    left: i32,
    rest: &'a [u8],
}

/// The records of one batch in order. After an error nothing more is yielded.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    base_offset: Offset,
    base_timestamp: Timestamp,
    append_time: Option<Timestamp>,
    left: i32,
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// The records of the batch with this header; `records` are its bytes after the header, decompressed.
    #[must_use]
    pub fn new(header: &BatchHeader, records: &'a [u8]) -> Self {
        Self {
            base_offset: header.base_offset,
            base_timestamp: header.base_timestamp,
            append_time: header.attributes.is_log_append_time().then_some(header.max_timestamp),
            left: header.record_count,
            rest: records,
        }
    }

    fn take_record(&mut self) -> Result<Record<'a>, RecordError> {
        let mut body = take_body(&mut self.rest)?;
        let body = &mut body;
        take(body, 1)?;
        let timestamp_delta = varint::take_i64(body)?;
        let offset_delta = varint::take_i32(body)?;
        let key = take_nullable(body)?;
        let value = take_nullable(body)?;
        let headers = Headers { left: varint::take_i32(body)?, rest: body };
        headers.prove()?;
        let created = Timestamp(self.base_timestamp.0.wrapping_add(timestamp_delta));
        Ok(Record {
            offset: self.base_offset.plus(i64::from(offset_delta)),
            timestamp: self.append_time.unwrap_or(created),
            key,
            value,
            headers,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let trailing = core::mem::take(&mut self.rest).len();
            return (trailing > 0).then_some(Err(RecordError::Trailing { bytes: trailing }));
        }
        self.left -= 1;
        let record = self.take_record();
        if record.is_err() {
            (self.left, self.rest) = (0, &[]);
        }
        Some(record)
    }
}

impl<'a> Headers<'a> {
    fn prove(mut self) -> Result<(), RecordError> {
        // A header takes two bytes at least, so a count above the bytes left never loops long.
        if self.left < 0 {
            return Err(RecordError::Length { found: self.left });
        }
        while self.left > 0 {
            self.take_header()?;
        }
        if self.rest.is_empty() { Ok(()) } else { Err(RecordError::Trailing { bytes: self.rest.len() }) }
    }

    fn take_header(&mut self) -> Result<RecordHeader<'a>, RecordError> {
        self.left -= 1;
        let length = varint::take_i32(&mut self.rest)?;
        let key = take(&mut self.rest, length)?;
        let value = take_nullable(&mut self.rest)?;
        Ok(RecordHeader { key, value })
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = RecordHeader<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.left > 0).then(|| self.take_header().expect("headers are proven when their record is read"))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(0);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// The greatest timestamp of the records; [`Timestamp::NONE`] if there are none. `records` are decompressed.
///
/// Errors: the first record that cannot be read.
pub fn max_timestamp_of(header: &BatchHeader, records: &[u8]) -> Result<Timestamp, RecordError> {
    let created = Records { append_time: None, ..Records::new(header, records) };
    let mut max = Timestamp::NONE;
    for record in created {
        max = max.max(record?.timestamp);
    }
    Ok(max)
}

/// Walks the chain of record lengths: `count` records must fill `records` exactly. Their inside stays opaque.
///
/// Errors: where the chain breaks.
pub fn walk_lengths(records: &[u8], count: i32) -> Result<(), RecordError> {
    let mut rest = records;
    for _ in 0..count {
        take_body(&mut rest)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(RecordError::Trailing { bytes: rest.len() }) }
}

#[inline]
fn take_body<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], RecordError> {
    let length = varint::take_i32(rest)?;
    if length < RECORD_BYTES_MIN {
        return Err(RecordError::Length { found: length });
    }
    take(rest, length)
}

fn take_nullable<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordError> {
    match varint::take_i32(rest)? {
        -1 => Ok(None),
        length => take(rest, length).map(Some),
    }
}

#[inline]
fn take<'a>(rest: &mut &'a [u8], length: i32) -> Result<&'a [u8], RecordError> {
    let count = usize::try_from(length).map_err(|_| RecordError::Length { found: length })?;
    let (taken, after) = rest.split_at_checked(count).ok_or(RecordError::Truncated)?;
    *rest = after;
    Ok(taken)
}
