//! Offsets, and the law between the four that bound a log.

use core::fmt;

/// A position in a partition's log. As a boundary it is exclusive: the offset *after* the last record meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(pub i64);

impl Offset {
    /// The first offset of every log.
    pub const ZERO: Self = Self(0);

    /// This offset moved on by `records`; the greatest offset if that lies beyond it.
    #[must_use]
    pub const fn plus(self, records: i64) -> Self {
        Self(self.0.saturating_add(records))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
