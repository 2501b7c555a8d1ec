//! Deleted records: what clients were told to be gone does not come back (L11).

use broker_core::ReplicaStanding;
use log_core::TopicPartition;

use super::Oracle;
use crate::world::{World, words};

impl Oracle {
    /// Below this offset clients were told that everything is gone.
    pub(crate) fn gone(&self, key: TopicPartition) -> i64 {
        self.committed.get(&key).map_or(0, |found| found.gone)
    }
}

impl World {
    /// L11: what a client was told to be gone, the leader that counts does not have again.
    pub(super) fn check_gone(&mut self, broker: usize, standing: &ReplicaStanding) {
        let (key, start) = (standing.partition, standing.offsets.log_start().0);
        let gone = self.oracle.gone(key);
        if start < gone && !self.oracle.deleted.contains(&key.topic_id) {
            let text = format!(
                "leader {broker} begins {} at {start}, a client was told that it begins at {gone}",
                words(key)
            );
            self.oracle.violate("gone", text);
        }
    }

    /// A client is told that everything below `low_watermark` is deleted for good; it asked for that below `offset`, or for
    /// all that is committed.
    pub(crate) fn oracle_deleted(&mut self, key: TopicPartition, offset: i64, low_watermark: i64) {
        let end = self.oracle.committed_end(key);
        if low_watermark < offset.max(0) || low_watermark > end {
            let text = format!(
                "what lies below {offset} of {} was to be deleted, what lies below {low_watermark} is, of {end}",
                words(key)
            );
            return self.oracle.violate("gone", text);
        }
        if let Some(found) = self.oracle.committed.get_mut(&key) {
            found.gone = found.gone.max(low_watermark);
        }
    }

    /// A client is told that its position, up to which it has read, is out of range.
    pub(crate) fn oracle_out_of_range(
        &mut self,
        key: TopicPartition,
        position: i64,
        epoch: log_core::LeaderEpoch,
    ) {
        let (start, end) = (self.oracle.log_start(key), self.oracle.committed_end(key));
        if position >= start && position <= end && !self.oracle.deleted.contains(&key.topic_id) {
            let text = format!(
                "position {position} of {} is out of range for the leader of epoch {epoch:?}, {start} to {end} is there",
                words(key)
            );
            return self.oracle.violate("out of range", text);
        }
        if let Some(found) = self.oracle.committed.get_mut(&key).filter(|_| position < start) {
            found.gone = found.gone.max(position + 1);
        }
    }
}
