//! Zigzag varints: how numbers stand inside a record.

use alloc::vec::Vec;

use crate::error::RecordError;

/// Takes a 32-bit zigzag varint off the front of `bytes`.
#[inline]
pub(super) fn take_i32(bytes: &mut &[u8]) -> Result<i32, RecordError> {
    // Almost every length below 64 bytes takes one byte; the walk over a batch lives from this line.
    if let Some((&first, rest)) = bytes.split_first()
        && first < 0x80
    {
        *bytes = rest;
        return Ok(unzigzag_32(u32::from(first)));
    }
    let value = take_raw(bytes, 5)?;
    u32::try_from(value).map(unzigzag_32).map_err(|_| RecordError::Varint)
}

/// Takes a 64-bit zigzag varint off the front of `bytes`.
pub(super) fn take_i64(bytes: &mut &[u8]) -> Result<i64, RecordError> {
    take_raw(bytes, 10).map(|raw| ((raw >> 1) as i64) ^ -((raw & 1) as i64))
}

/// Appends a 32-bit number.
pub(super) fn put_i32(out: &mut Vec<u8>, value: i32) {
    put_i64(out, i64::from(value));
}

/// Appends a 64-bit number; a 32-bit one has the same bytes in both forms.
pub(super) fn put_i64(out: &mut Vec<u8>, value: i64) {
    let mut raw = zigzag(value);
    while raw >= 0x80 {
        out.push((raw as u8) | 0x80);
        raw >>= 7;
    }
    out.push(raw as u8);
}

/// Bytes that the number takes.
pub(super) const fn encoded_bytes(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

const fn unzigzag_32(raw: u32) -> i32 {
    ((raw >> 1) as i32) ^ -((raw & 1) as i32)
}

fn take_raw(bytes: &mut &[u8], bytes_max: usize) -> Result<u64, RecordError> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(bytes_max).enumerate() {
        let shift = 7 * index as u32;
        let part = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit only.
        if part << shift >> shift != part {
            return Err(RecordError::Varint);
        }
        value |= part << shift;
        if byte < 0x80 {
            *bytes = bytes.get(index + 1..).expect("the byte was inside");
            return Ok(value);
        }
    }
    if bytes.len() < bytes_max { Err(RecordError::Truncated) } else { Err(RecordError::Varint) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_numbers_have_their_known_bytes() {
        let cases: [(i64, &[u8]); 6] =
            [(0, &[0]), (-1, &[1]), (1, &[2]), (63, &[126]), (64, &[0x80, 1]), (-65, &[0x81, 1])];
        for (value, bytes) in cases {
            let mut out = Vec::new();
            put_i64(&mut out, value);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn a_varint_longer_than_its_type_is_refused() {
        assert_eq!(take_i32(&mut [0xff; 5].as_slice()), Err(RecordError::Varint));
        assert_eq!(take_i32(&mut [0xff, 0xff, 0xff, 0xff, 0x1f].as_slice()), Err(RecordError::Varint));
        assert_eq!(take_i64(&mut [0xff; 10].as_slice()), Err(RecordError::Varint));
        assert_eq!(take_i64(&mut [0xff; 9].as_slice()), Err(RecordError::Truncated));
        assert_eq!(take_i32(&mut [].as_slice()), Err(RecordError::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value: i64, narrow: i32) {
            let mut out = Vec::new();
            put_i64(&mut out, value);
            prop_assert_eq!(out.len(), encoded_bytes(value));
            prop_assert_eq!(take_i64(&mut out.as_slice()), Ok(value));
            out.clear();
            put_i32(&mut out, narrow);
            prop_assert_eq!(take_i32(&mut out.as_slice()), Ok(narrow));
        }

        #[test]
        fn arbitrary_bytes_give_a_number_or_an_error(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            if take_i64(&mut rest).is_ok() {
                prop_assert!(rest.len() < bytes.len());
            }
            let _ = take_i32(&mut bytes.as_slice());
        }
    }
}
