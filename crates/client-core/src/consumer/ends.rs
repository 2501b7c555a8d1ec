//! Where a reading ends that is to end: an offset for each partition, and whether all are reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Key;

/// The ends of the partitions that are read.
///
/// It is asked before every record. One partition that is not read to its end answers for all, so that the answer costs
/// one look however many partitions there are; the others are looked at only when that one is done.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    by_partition: BTreeMap<Key, i64>,
    unread: Option<Key>,
}

impl Ends {
    /// The offset where a partition ends, if the reading ends there.
    #[must_use]
    pub fn of(&self, topic: &Arc<str>, partition: u32) -> Option<i64> {
        self.by_partition.get(&(Arc::clone(topic), partition)).copied()
    }

    /// Whether each partition is at its end or behind it, by what `position` tells of one.
    pub fn are_reached(&mut self, mut position: impl FnMut(&(Arc<str>, u32)) -> Option<i64>) -> bool {
        let mut is_read = |key: &Key, end: i64| position(key).is_some_and(|at| at >= end);
        let Some(from) = self.unread.clone().or_else(|| self.by_partition.keys().next().cloned()) else {
            return true;
        };
        // Round from the one that was unread: what stands before it was read when it was passed, unless someone sought.
        let mut round = self.by_partition.range(&from..).chain(self.by_partition.range(..&from));
        self.unread = round.find(|(key, end)| !is_read(key, **end)).map(|(key, _)| key.clone());
        self.unread.is_none()
    }
}

impl FromIterator<(Arc<str>, u32, i64)> for Ends {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, u32, i64)>>(ends: I) -> Self {
        let by_partition =
            ends.into_iter().map(|(topic, partition, end)| ((topic, partition), end)).collect();
        Self { by_partition, unread: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITIONS: u32 = 1000;
    const RECORDS: i64 = 10;

    fn ends() -> Ends {
        (0..PARTITIONS).map(|partition| ("t".into(), partition, RECORDS)).collect()
    }

    #[test]
    fn a_record_costs_one_look_however_many_partitions_there_are() {
        let (mut ends, mut looks) = (ends(), 0_u64);
        let mut read = vec![0; PARTITIONS as usize];
        for partition in (0..PARTITIONS as usize).rev() {
            for _ in 0..RECORDS {
                assert!(!ends.are_reached(|(_, index)| {
                    looks += 1;
                    read.get(*index as usize).copied()
                }));
                read[partition] += 1;
            }
        }
        assert!(ends.are_reached(|(_, index)| read.get(*index as usize).copied()));
        let records = u64::from(PARTITIONS) * RECORDS.unsigned_abs();
        assert!(looks <= records + u64::from(PARTITIONS), "{looks} looks for {records} records");
    }

    #[test]
    fn a_partition_that_is_sought_back_in_is_unread_again() {
        let mut ends = ends();
        assert!(!ends.are_reached(|_| None));
        assert!(ends.are_reached(|_| Some(RECORDS)));
        assert!(!ends.are_reached(|(_, partition)| Some(if *partition == 3 { 0 } else { RECORDS })));
        assert!(ends.are_reached(|_| Some(RECORDS + 1)));
    }

    #[test]
    fn nothing_to_read_is_read() {
        assert!(Ends::default().are_reached(|_| None));
    }
}
