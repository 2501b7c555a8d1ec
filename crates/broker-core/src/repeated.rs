//! Lines of the log about what is tried again and again: of each kind one now and then, with how many were left out since.

use core::time::Duration;
use std::collections::BTreeMap;

use log_core::MonoTime;

/// Between two lines of one kind (a guess: somebody who watches sees that it goes on).
const PAUSE_MIN: Duration = Duration::from_secs(10);

/// What is told seldom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Repeats {
    /// A partition's log cannot be opened.
    Open,
    /// A deleted topic cannot be removed.
    Remove,
    /// A follower's log takes nothing.
    Append,
    /// A leader cannot read what a follower needs.
    Push,
}

/// When each kind was told, and how many were not since.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    told: BTreeMap<Repeats, (MonoTime, u64)>,
}

impl Repeated {
    /// Whether it is to be told now: then how many of its kind were left out since the last one.
    pub(crate) fn is_due(&mut self, now: MonoTime, what: Repeats) -> Option<u64> {
        match self.told.get_mut(&what) {
            Some((again, left_out)) if now < *again => {
                *left_out += 1;
                None
            }
            _ => self
                .told
                .insert(what, (now.after(PAUSE_MIN), 0))
                .map_or(Some(0), |(_, left_out)| Some(left_out)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_kind_one_is_told_now_and_then() {
        let mut repeated = Repeated::default();
        let at = |seconds| MonoTime(0).after(Duration::from_secs(seconds));
        assert_eq!(repeated.is_due(at(1), Repeats::Open), Some(0));
        assert_eq!(repeated.is_due(at(2), Repeats::Open), None);
        assert_eq!(repeated.is_due(at(2), Repeats::Append), Some(0));
        assert_eq!(repeated.is_due(at(10), Repeats::Open), None);
        assert_eq!(repeated.is_due(at(11), Repeats::Open), Some(2));
        assert_eq!(repeated.is_due(at(30), Repeats::Open), Some(0));
    }
}
