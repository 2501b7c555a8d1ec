//! Reads the numbers and strings of an answer in order.

use anyhow::{Context, Result};

/// What is left of an answer.
pub(super) struct Cursor<'a> {
    left: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Behind the correlation id.
    pub(super) fn answer(bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Self::new(bytes);
        cursor.skip(4)?;
        Ok(cursor)
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(count).context("an answer is too short")?;
        self.left = left;
        Ok(taken)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(drop)
    }

    pub(super) fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// A string; an absent one is read as an empty one.
    pub(super) fn string(&mut self) -> Result<&'a str> {
        let length = usize::try_from(self.i16()?.max(0))?;
        Ok(std::str::from_utf8(self.take(length)?)?)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into()?)
    }
}
