//! What a process holds at one moment, as the kernel and the process itself count it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::load::Load;
use crate::cluster::layout::Layout;
use crate::cluster::node::Node;
use crate::cluster::ready;
use crate::usage;

/// A process that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Process {
    Broker(u16),
    Client,
}

/// Something that a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// Resident memory in KiB.
    Memory,
    /// File descriptors, sockets among them, beside one for each file of the data directory.
    Handles,
    Threads,
    /// Tasks beside those that a stream or a connection has.
    Tasks,
    /// Kafka connections: each socket, and each stream of a QUIC connection.
    Connections,
    /// Clients, each counted once.
    Clients,
    /// Replication streams beside those that every replica needs.
    Streams,
    /// QUIC connections between brokers.
    Peers,
    /// Bytes of all logs, in KiB.
    Disk,
}

/// What a process held.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) process: Process,
    /// Since the load began.
    pub(super) at: Duration,
    /// Which process of the node it is, from 0.
    pub(super) life: usize,
    /// Since that process began.
    pub(super) age: Duration,
    pub(super) held: BTreeMap<Figure, u64>,
}

/// When the present process of each node began.
pub(super) struct Lives(BTreeMap<u16, (usize, Instant)>);

impl Lives {
    pub(super) fn new(nodes: u16) -> Self {
        Self((1..=nodes).map(|node| (node, (0, Instant::now()))).collect())
    }

    pub(super) fn begin(&mut self, node: u16) {
        let lives = self.0.get(&node).map_or(0, |(life, _)| life + 1);
        self.0.insert(node, (lives, Instant::now()));
    }

    fn of(&self, node: u16) -> Option<(usize, Duration)> {
        self.0.get(&node).map(|(life, since)| (*life, since.elapsed()))
    }
}

/// What the load holds; none if it has just ended.
pub(super) fn of_client(load: &Load, folder: &Path, at: Duration) -> Option<Sample> {
    let told = load.figures();
    let mut held = of_process(load.pid(), folder)?;
    held.insert(Figure::Tasks, told.of("tasks"));
    held.insert(Figure::Connections, told.of("connections"));
    Some(Sample { process: Process::Client, at, life: 0, age: load.begun.elapsed(), held })
}

/// What a broker holds; none if it does not answer.
pub(super) fn of_broker(node: &Node, pid: u32, at: Duration, lives: &Lives) -> Option<Sample> {
    let (life, age) = lives.of(node.id)?;
    let page = ready::page(node.ports.http, "/metrics")?;
    let mut held = of_process(pid, &node.data_dir)?;
    held.extend(of_metrics(&page));
    Some(Sample { process: Process::Broker(node.id), at, life, age, held })
}

fn of_process(pid: u32, folder: &Path) -> Option<BTreeMap<Figure, u64>> {
    let memory = usage::memory_now_kib(pid).ok()? as u64;
    let (handles, threads) = (usage::handles_beside_files(pid, folder).ok()?, usage::threads(pid).ok()?);
    Some(BTreeMap::from([(Figure::Memory, memory), (Figure::Handles, handles), (Figure::Threads, threads)]))
}

fn of_metrics(page: &str) -> BTreeMap<Figure, u64> {
    let sum = |name: &str| sum_of(page, name);
    let (connections, streams) = (sum("highwater_connections"), sum("highwater_replica_streams"));
    // With three replicas each, a leader has two streams and a follower one.
    let needed = sum("highwater_partitions") + sum("highwater_partitions_led");
    let tasks = sum("highwater_tasks") + sum("highwater_control_tasks");
    BTreeMap::from([
        (Figure::Tasks, tasks.saturating_sub(connections + streams)),
        (Figure::Connections, connections),
        (Figure::Clients, sum("highwater_clients")),
        (Figure::Streams, streams.saturating_sub(needed)),
        (Figure::Peers, sum("highwater_peer_connections")),
        (Figure::Disk, sum("highwater_log_bytes") / 1024),
    ])
}

/// The sum of a metric over all its labels.
fn sum_of(page: &str, name: &str) -> u64 {
    let lines = page.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Whether every broker serves and every replica is in sync.
pub(super) fn is_in_sync(layout: &Layout) -> bool {
    layout.nodes.iter().all(|node| {
        let page = ready::page(node.ports.http, "/metrics");
        page.is_some_and(|page| {
            sum_of(&page, "highwater_ready") == 1
                && sum_of(&page, "highwater_partitions_under_replicated") == 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_summed_over_shards_and_only_the_excess_counts() {
        let page = "# TYPE highwater_tasks gauge\n\
                    highwater_tasks{shard=\"0\"} 40\nhighwater_tasks{shard=\"1\"} 20\nhighwater_control_tasks 15\n\
                    highwater_connections{shard=\"0\"} 3\nhighwater_partitions{shard=\"0\"} 10\n\
                    highwater_partitions_led{shard=\"0\"} 4\nhighwater_replica_streams{shard=\"0\"} 16\n";
        let held = of_metrics(page);
        assert_eq!(held[&Figure::Tasks], 75 - 3 - 16);
        assert_eq!(held[&Figure::Streams], 2);
        assert_eq!(held[&Figure::Clients], 0);
    }
}
