//! What a directory's disk did, counted by its threads and read by any: for metrics and tests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moment's view of the counters of one directory, over all its handles since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Calls that wrote.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes read, by whichever call.
    pub bytes_read: u64,
    /// Of those, bytes read around the page cache.
    pub bytes_read_around_cache: u64,
    /// Probes of the page cache that found what was asked for.
    pub cache_hits: u64,
    /// Probes that did not.
    pub cache_misses: u64,
    /// Reads submitted to the reader threads.
    pub reads_submitted: u64,
    /// Syncs submitted.
    pub syncs_submitted: u64,
    /// Group commits that completed well: each answers all syncs that waited when it began.
    pub commits: u64,
    /// Files synced one by one.
    pub files_synced: u64,
    /// Syncs of the whole file system, in place of many files.
    pub file_system_syncs: u64,
    /// Directories synced.
    pub directories_synced: u64,
    /// How long group commits took.
    pub sync_latency: SyncLatency,
}

/// How long group commits took; all zero before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncLatency {
    /// The last one.
    pub last: Duration,
    /// The shortest one.
    pub min: Duration,
    /// The longest one.
    pub max: Duration,
    /// All together; divide by [`DiskCounters::commits`].
    pub total: Duration,
}

/// The counters themselves. Each is exact; together they are no snapshot.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) writes: Counter,
    pub(crate) bytes_written: Counter,
    pub(crate) bytes_read: Counter,
    pub(crate) bytes_read_around_cache: Counter,
    pub(crate) cache_hits: Counter,
    pub(crate) cache_misses: Counter,
    pub(crate) reads_submitted: Counter,
    pub(crate) syncs_submitted: Counter,
    pub(crate) files_synced: Counter,
    pub(crate) file_system_syncs: Counter,
    pub(crate) directories_synced: Counter,
    commits: Counter,
    sync_nanos_last: AtomicU64,
    /// Complemented, so that it starts as the greatest.
    sync_nanos_min: AtomicU64,
    sync_nanos_max: AtomicU64,
    sync_nanos_total: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(crate) fn committed(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.sync_nanos_last.store(nanos, Ordering::Relaxed);
        self.sync_nanos_min.fetch_max(!nanos, Ordering::Relaxed);
        self.sync_nanos_max.fetch_max(nanos, Ordering::Relaxed);
        self.sync_nanos_total.fetch_add(nanos, Ordering::Relaxed);
        self.commits.add(1);
    }

    pub(crate) fn read(&self) -> DiskCounters {
        DiskCounters {
            writes: self.writes.read(),
            bytes_written: self.bytes_written.read(),
            bytes_read: self.bytes_read.read(),
            bytes_read_around_cache: self.bytes_read_around_cache.read(),
            cache_hits: self.cache_hits.read(),
            cache_misses: self.cache_misses.read(),
            reads_submitted: self.reads_submitted.read(),
            syncs_submitted: self.syncs_submitted.read(),
            commits: self.commits.read(),
            files_synced: self.files_synced.read(),
            file_system_syncs: self.file_system_syncs.read(),
            directories_synced: self.directories_synced.read(),
            sync_latency: self.sync_latency(),
        }
    }

    fn sync_latency(&self) -> SyncLatency {
        let nanos = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let min = match nanos(&self.sync_nanos_min) {
            0 => 0,
            complement => !complement,
        };
        SyncLatency {
            last: Duration::from_nanos(nanos(&self.sync_nanos_last)),
            min: Duration::from_nanos(min),
            max: Duration::from_nanos(nanos(&self.sync_nanos_max)),
            total: Duration::from_nanos(nanos(&self.sync_nanos_total)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_keep_the_last_the_least_the_greatest_and_the_sum() {
        let counters = Counters::default();
        assert_eq!(counters.read().sync_latency, SyncLatency::default());
        for micros in [300, 100, 200] {
            counters.committed(Duration::from_micros(micros));
        }
        let micros = Duration::from_micros;
        let expected =
            SyncLatency { last: micros(200), min: micros(100), max: micros(300), total: micros(600) };
        assert_eq!(counters.read().sync_latency, expected);
        assert_eq!(counters.read().commits, 3);
    }
}
