//! A set of byte ranges of a file: those whose batches were checked since the process started (R3).

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that neither overlap nor touch. A log that is read in order needs one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    by_start: BTreeMap<u64, u64>,
}

impl Ranges {
    pub(super) fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&left, &right)) = self.by_start.range(..=end).next_back() {
            if right < start {
                break;
            }
            self.by_start.remove(&left);
            start = start.min(left);
            end = end.max(right);
        }
        self.by_start.insert(start, end);
    }

    /// Whether all of `range` is in the set.
    pub(super) fn contains(&self, range: &Range<u64>) -> bool {
        let floor = self.by_start.range(..=range.start).next_back();
        range.is_empty() || floor.is_some_and(|(_, &end)| end >= range.end)
    }

    /// Drops what lies at or above `end`.
    pub(super) fn truncate(&mut self, end: u64) {
        self.by_start.split_off(&end);
        if let Some(mut last) = self.by_start.last_entry() {
            let cut = (*last.get()).min(end);
            *last.get_mut() = cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_of_bytes(
            steps in proptest::collection::vec((0..60_u64, 0..20_u64, any::<bool>()), 0..20),
            asked in (0..60_u64, 0..20_u64),
        ) {
            let mut ranges = Ranges::default();
            let mut bytes = BTreeSet::new();
            for (start, len, add) in steps {
                if add {
                    ranges.add(start..start + len);
                    bytes.extend(start..start + len);
                } else {
                    ranges.truncate(start);
                    bytes.split_off(&start);
                }
                let touch = ranges.by_start.iter().zip(ranges.by_start.keys().skip(1));
                for ((_, end), next) in touch {
                    prop_assert!(end < next);
                }
            }
            let asked = asked.0..asked.0 + asked.1;
            prop_assert_eq!(ranges.contains(&asked), asked.clone().all(|byte| bytes.contains(&byte)));
        }
    }
}
