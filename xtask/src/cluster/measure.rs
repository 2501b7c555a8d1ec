//! `cargo xtask cluster --measure`: how soon a cluster is there, from an empty directory and on data, what it costs while
//! nothing happens, and how soon one more node has joined.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Cluster;
use super::layout::Layout;
use super::node::{Node, Running};
use super::ports;
use crate::{process, usage};

/// Starts of each kind; the median counts.
const STARTS: usize = 5;
const LINES: usize = 1_000_000;
/// After a start the cluster is left alone for so long, and then watched for so long.
const SETTLE: Duration = Duration::from_secs(10);
const WATCH: Duration = Duration::from_secs(60);
/// The bounds that are promised.
const EMPTY_MAX: Duration = Duration::from_millis(1500);
const DATA_MAX: Duration = Duration::from_secs(3);
const IDLE_CORES_MAX: f64 = 0.01;
const LIMIT: Duration = Duration::from_secs(120);

/// Measures a laid-out cluster that does not run; an error if a promise is not kept.
pub(super) fn run(cluster: &mut Cluster) -> Result<()> {
    let (binary, data_dir) = (cluster.layout.binary.clone(), cluster.layout.data_dir.clone());
    let nodes = u16::try_from(cluster.layout.nodes.len())?;
    let mut from_empty = Vec::new();
    for _ in 0..STARTS {
        let started = Instant::now();
        cluster.layout = Layout::prepare(&binary, &data_dir, nodes, true)?;
        from_empty.push(timed(cluster, started)?);
        if from_empty.len() == STARTS {
            fill(&cluster.layout)?;
        }
        cluster.stop();
    }
    let empty = show("from an empty directory", &mut from_empty, EMPTY_MAX);
    let mut on_data = Vec::new();
    for round in 1..=STARTS {
        on_data.push(timed(cluster, Instant::now())?);
        if round < STARTS {
            cluster.stop();
        }
    }
    let data = show("on 1,000,000 records", &mut on_data, DATA_MAX);
    let idle = idle(cluster)?;
    join(cluster)?;
    cluster.stop();
    ensure!(
        empty <= EMPTY_MAX && data <= DATA_MAX && idle <= IDLE_CORES_MAX,
        "more than is promised; is the machine busy, or the build a debug one?"
    );
    Ok(())
}

fn timed(cluster: &mut Cluster, started: Instant) -> Result<Duration> {
    ensure!(cluster.start()?.is_some(), "interrupted");
    Ok(started.elapsed())
}

fn show(what: &str, times: &mut [Duration], limit: Duration) -> Duration {
    times.sort();
    let seconds = |time: Option<&Duration>| time.map_or(0.0, Duration::as_secs_f64);
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!(
        "   ready {what:<26} {:>6.2} s   (median of {}, {:.2} to {:.2}; promised {:.1})",
        median.as_secs_f64(),
        times.len(),
        seconds(times.first()),
        seconds(times.last()),
        limit.as_secs_f64()
    );
    median
}

/// Gives the cluster something to look through at its next start.
fn fill(layout: &Layout) -> Result<()> {
    let file = layout.data_dir.join("lines");
    fs::write(&file, (0..LINES).map(|number| format!("line {number}\n")).collect::<String>())?;
    let bootstrap = layout.bootstrap();
    let highwater = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&layout.binary);
        command.args(arguments).args(["--bootstrap", &bootstrap]);
        process::run_quietly(&mut command, LIMIT)
    };
    highwater(&["topic", "create", "measured", "--partitions", "6"])?;
    highwater(&["produce", "--quiet", "measured", &file.display().to_string()])?;
    Ok(fs::remove_file(file)?)
}

/// The processors that the brokers together take while nothing happens.
fn idle(cluster: &Cluster) -> Result<f64> {
    thread::sleep(SETTLE);
    let pids = cluster.pids();
    let (busy, waits, started) = (usage::processor_seconds(&pids)?, usage::waits(&pids)?, Instant::now());
    thread::sleep(WATCH);
    let seconds = started.elapsed().as_secs_f64();
    let cores = (usage::processor_seconds(&pids)? - busy) / seconds;
    let wakes = (usage::waits(&pids)? - waits) as f64 / seconds;
    println!(
        "   idle: {cores:.4} cores for {} brokers over {seconds:.0} s, {wakes:.0} wake-ups a second (promised {IDLE_CORES_MAX})",
        pids.len()
    );
    cluster.check()?;
    Ok(cores)
}

/// One more node joins by a token.
fn join(cluster: &mut Cluster) -> Result<()> {
    let token = cluster.layout.spare_tokens.pop().context("every token was used")?;
    let first = cluster.layout.nodes.first().context("a cluster has a first node")?;
    let address = format!("127.0.0.1:{}", first.ports.brokers);
    let ports = *ports::free(1)?.first().context("one was asked for")?;
    let id = u16::try_from(cluster.layout.nodes.len())? + 1;
    let data_dir: &Path = &cluster.layout.data_dir;
    let node = Node::new(id, ports, data_dir, Some((address, token)));
    let started = Instant::now();
    cluster.running.push(Running::start(&node, &cluster.layout, cluster.sender.clone())?);
    cluster.layout.nodes.push(node);
    let status = cluster.await_ready()?.context("interrupted")?;
    ensure!(status.nodes == u64::from(id), "the cluster has {} nodes, not {id}", status.nodes);
    println!("   node {id} joined by a token in {:.2} s", started.elapsed().as_secs_f64());
    Ok(())
}
