//! A shard's counters: plain numbers, written on the way, read by the driver. Their names are for ever.

use std::collections::BTreeMap;

use kafka_wire::ApiKey;

/// What a shard has counted since it began, and what it holds now.
#[derive(Clone, Debug, Default)]
pub struct ShardMetrics {
    /// Requests by API.
    pub requests: BTreeMap<ApiKey, u64>,
    /// Frames that were no request; each closed its connection.
    pub requests_malformed: u64,
    /// Connections opened.
    pub connections_opened: u64,
    /// Connections that ended.
    pub connections_closed: u64,
    /// Connections taken over from other shards.
    pub connections_moved: u64,
    /// Bytes of requests.
    pub bytes_in: u64,
    /// Bytes of answers that clients took.
    pub bytes_out: u64,
    /// Writes of appended batches.
    pub appends: u64,
    /// Bytes of batches appended as leader.
    pub bytes_appended: u64,
    /// Records appended as leader.
    pub records_appended: u64,
    /// Bytes of batches read for consumers.
    pub bytes_fetched: u64,
    /// Reads that had to wait for the disk.
    pub reads_cold: u64,
    /// Fetches that had to wait for records.
    pub fetches_parked: u64,
    /// Batches that had to wait for their commit.
    pub produces_parked: u64,
    /// Bytes pushed to followers.
    pub bytes_replicated_out: u64,
    /// Bytes taken from leaders.
    pub bytes_replicated_in: u64,
    /// Leaderships begun.
    pub leaderships_begun: u64,
    /// Replicas found damaged.
    pub replicas_damaged: u64,
    /// Disagreements between a leader and a follower that an operator should see.
    pub replication_alarms: u64,
    /// Appends as follower that the log refused.
    pub replica_appends_refused: u64,
    /// Bytes of record batches read from disk when logs were opened: none after a clean stop.
    pub record_bytes_read_at_start: u64,
    /// Bytes of bounds, checkpoints, indexes and snapshots read then.
    pub bookkeeping_bytes_read_at_start: u64,
    /// Bytes of committed batches hashed into the chain.
    pub bytes_hashed: u64,
    /// Logs that could not be opened; tried again.
    pub logs_not_opened: u64,
    /// Logs whose start is not durable yet.
    pub logs_recovering: u64,
}

/// What a shard holds at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardGauges {
    /// Open connections.
    pub connections: u64,
    /// Replicas that live here.
    pub partitions: u64,
    /// Partitions led.
    pub partitions_led: u64,
    /// Led partitions with fewer in-sync replicas than replicas.
    pub partitions_under_replicated: u64,
    /// Led partitions with fewer in-sync replicas than `min.insync.replicas`.
    pub partitions_under_min_isr: u64,
    /// Damaged replicas.
    pub partitions_damaged: u64,
    /// Requests that wait for something.
    pub requests_waiting: u64,
    /// Records above the high watermarks of led partitions.
    pub records_uncommitted: u64,
    /// Bytes of all batches kept.
    pub log_bytes: u64,
}

/// A number with its name, as it is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its label, if it has one.
    pub label: Option<(&'static str, &'static str)>,
    /// Whether it only grows.
    pub is_counter: bool,
    /// The number.
    pub value: u64,
}

impl ShardMetrics {
    /// Every counter.
    pub fn each(&self, mut visit: impl FnMut(Metric)) {
        for (key, value) in &self.requests {
            let label = Some(("api", key.name()));
            visit(Metric { name: "highwater_requests_total", label, is_counter: true, value: *value });
        }
        let counters = [
            ("highwater_requests_malformed_total", self.requests_malformed),
            ("highwater_connections_opened_total", self.connections_opened),
            ("highwater_connections_closed_total", self.connections_closed),
            ("highwater_connections_moved_total", self.connections_moved),
            ("highwater_bytes_in_total", self.bytes_in),
            ("highwater_bytes_out_total", self.bytes_out),
            ("highwater_log_appends_total", self.appends),
            ("highwater_log_bytes_appended_total", self.bytes_appended),
            ("highwater_log_records_appended_total", self.records_appended),
            ("highwater_fetch_bytes_total", self.bytes_fetched),
            ("highwater_fetch_cold_reads_total", self.reads_cold),
            ("highwater_fetch_parked_total", self.fetches_parked),
            ("highwater_produce_parked_total", self.produces_parked),
            ("highwater_replication_bytes_out_total", self.bytes_replicated_out),
            ("highwater_replication_bytes_in_total", self.bytes_replicated_in),
            ("highwater_replication_alarms_total", self.replication_alarms),
            ("highwater_replication_appends_refused_total", self.replica_appends_refused),
            ("highwater_leaderships_begun_total", self.leaderships_begun),
            ("highwater_replicas_damaged_total", self.replicas_damaged),
            ("highwater_start_record_bytes_read_total", self.record_bytes_read_at_start),
            ("highwater_start_bookkeeping_bytes_read_total", self.bookkeeping_bytes_read_at_start),
            ("highwater_logs_not_opened_total", self.logs_not_opened),
            ("highwater_log_bytes_hashed_total", self.bytes_hashed),
        ];
        for (name, value) in counters {
            visit(Metric { name, label: None, is_counter: true, value });
        }
        let value = self.logs_recovering;
        visit(Metric { name: "highwater_logs_recovering", label: None, is_counter: false, value });
    }
}

impl ShardGauges {
    /// Every gauge.
    pub fn each(&self, mut visit: impl FnMut(Metric)) {
        let gauges = [
            ("highwater_connections", self.connections),
            ("highwater_partitions", self.partitions),
            ("highwater_partitions_led", self.partitions_led),
            ("highwater_partitions_under_replicated", self.partitions_under_replicated),
            ("highwater_partitions_under_min_isr", self.partitions_under_min_isr),
            ("highwater_partitions_damaged", self.partitions_damaged),
            ("highwater_requests_waiting", self.requests_waiting),
            ("highwater_records_uncommitted", self.records_uncommitted),
            ("highwater_log_bytes", self.log_bytes),
        ];
        for (name, value) in gauges {
            visit(Metric { name, label: None, is_counter: false, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_names_never_change() {
        let mut names = Vec::new();
        let requests = BTreeMap::from([(ApiKey::Produce, 1)]);
        ShardMetrics { requests, ..ShardMetrics::default() }.each(|metric| names.push(metric.name));
        ShardGauges::default().each(|metric| names.push(metric.name));
        insta::assert_snapshot!(names.join("\n"));
    }
}
