//! File names of a segment: its base offset in 20 digits and a suffix, as Kafka names them.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::offset::Offset;

const DIGITS: usize = 20;

/// What a file of a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentKind {
    /// The record batches.
    Log,
    /// The sparse offset index.
    OffsetIndex,
    /// The sparse time index.
    TimeIndex,
    /// The checksums of both indexes.
    IndexChecksums,
    /// The BLAKE3 chain.
    Chain,
    /// Producer state as it was before the segment's first batch.
    Snapshot,
}

impl SegmentKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::IndexChecksums, Self::Chain, Self::Snapshot];

    /// Both indexes and their checksums: what is written and removed together, and may be rebuilt.
    pub const INDEXES: [Self; 3] = [Self::OffsetIndex, Self::TimeIndex, Self::IndexChecksums];

    /// The suffix, dot included.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::OffsetIndex => ".index",
            Self::TimeIndex => ".timeindex",
            Self::IndexChecksums => ".checksums",
            Self::Chain => ".chain",
            Self::Snapshot => ".snapshot",
        }
    }
}

/// The name of one file of a segment; ordered by base offset first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentFile {
    /// Base offset of the segment.
    pub base_offset: Offset,
    /// What the file holds.
    pub kind: SegmentKind,
}

/// A name that no segment file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a segment file: 20 digits and a known suffix")]
pub struct NameError;

impl SegmentFile {
    /// The name of this kind of file of the segment that starts at `base_offset`, which is not negative.
    #[must_use]
    pub const fn new(base_offset: Offset, kind: SegmentKind) -> Self {
        Self { base_offset, kind }
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> String {
        alloc::format!("{self}")
    }

    /// Reads a name; [`NameError`] unless [`SegmentFile::name`] gives exactly this name back.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let (digits, suffix) = name.split_at_checked(DIGITS).ok_or(NameError)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NameError);
        }
        let base_offset = digits.parse().map(Offset).map_err(|_| NameError)?;
        let kind = SegmentKind::ALL.into_iter().find(|kind| kind.suffix() == suffix).ok_or(NameError)?;
        Ok(Self { base_offset, kind })
    }
}

impl fmt::Display for SegmentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}{}", self.base_offset.0, self.kind.suffix())
    }
}

impl FromStr for SegmentFile {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::parse(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_those_of_kafka() {
        let name = SegmentFile::new(Offset(4711), SegmentKind::Log).name();
        assert_eq!(name, "00000000000000004711.log");
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "4711.log",
            "00000000000000004711",
            "00000000000000004711.log.bak",
            "+0000000000000004711.log",
            "99999999999999999999.log",
            "0000000000000000471é.log",
        ] {
            assert_eq!(SegmentFile::parse(name), Err(NameError), "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_back(base in 0..=i64::MAX, kind in 0..SegmentKind::ALL.len()) {
            let file = SegmentFile::new(Offset(base), SegmentKind::ALL[kind]);
            prop_assert_eq!(file.name().parse(), Ok(file));
        }

        #[test]
        fn arbitrary_text_gives_a_name_or_an_error(text: String) {
            if let Ok(file) = SegmentFile::parse(&text) {
                prop_assert_eq!(file.name(), text);
            }
        }
    }
}
