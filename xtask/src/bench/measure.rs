//! Measures one system: each load several times, the medians of the figures.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::admin::{self, Topic};
use super::load::{self, Produce, Until, Volume};
use super::system::System;
use super::work::{Figure, Figures, Work, Written, medians};
use crate::usage;

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) run: Duration,
    pub(super) runs: usize,
    /// The load before everything that counts: a virtual machine compiles what it runs, and the system gets the memory that the load
    /// before has made its host take back.
    pub(super) warm_up: Duration,
    pub(super) idle: Duration,
}

impl Plan {
    /// What the page is made of.
    pub(super) const FULL: Self = Self {
        run: Duration::from_secs(5),
        runs: 3,
        warm_up: Duration::from_secs(30),
        idle: Duration::from_secs(20),
    };
    /// For a look while something is changed.
    pub(super) const QUICK: Self = Self {
        run: Duration::from_secs(1),
        runs: 1,
        warm_up: Duration::from_secs(5),
        idle: Duration::from_secs(5),
    };
}

/// What was found, by load.
pub(super) type Findings = BTreeMap<Work, Figures>;

/// What the fetches read, and what the chain is built over.
const STORED_BYTES: u64 = 1 << 30;
pub(super) const FETCH_BYTES: i32 = 1 << 20;
const IDLE_PARTITIONS: i32 = 300;
/// Runs before those that count end when one is hardly faster than the one before; see the page about why.
const SETTLING_RUNS_MAX: usize = 3;
const SETTLED: f64 = 1.1;
const QUIET_LIMIT: Duration = Duration::from_secs(90);

/// Does all of `works` on brokers that are laid out and not yet started.
pub(super) fn all(system: &mut System, works: &[Work], plan: &Plan) -> Result<Findings> {
    let mut findings = Findings::new();
    let starts = match system {
        System::Elsewhere(_) => 0,
        _ if works.contains(&Work::Start) => plan.runs,
        _ => 1,
    };
    let started: Vec<Figures> = (0..starts).map(|_| start(system)).collect::<Result<_>>()?;
    if works.contains(&Work::Start) {
        note(system, &mut findings, Work::Start, medians(&started));
    }
    if !matches!(system, System::Elsewhere(_)) {
        warm_up(system, works, plan)?;
    }
    for work in works.iter().copied().filter(|work| *work != Work::Start) {
        let figures =
            one(system, work, plan).with_context(|| format!("{}, {}", system.name(), work.name()))?;
        system.check()?;
        note(system, &mut findings, work, figures);
    }
    system.stop();
    Ok(findings)
}

fn note(system: &System, findings: &mut Findings, work: Work, figures: Figures) {
    // Nothing is known of what processes elsewhere take.
    let known = figures.iter().filter(|(figure, value)| **figure != Figure::Processor || **value > 0.0);
    let shown: Vec<String> = known.map(|(figure, value)| figure.shown(*value)).collect();
    println!("   {:<10} {:<24} {}", system.name(), work.name(), shown.join("  "));
    findings.insert(work, figures);
}

fn one(system: &mut System, work: Work, plan: &Plan) -> Result<Figures> {
    if let Some(written) = work.written() {
        return writing(system, work, &written, plan);
    }
    match work {
        Work::Fetch => fetching(system, plan),
        Work::Chain => chaining(system),
        Work::Memory => memory(system),
        Work::Idle => idle(system, plan),
        _ => latency(system, work, plan),
    }
}

/// From the start of the processes on empty directories until a topic with three replicas has been made.
fn start(system: &mut System) -> Result<Figures> {
    let started = system.start_empty()?;
    let topic = Topic { name: "first", partitions: 1, replicas: 3, settings: &[] };
    admin::create(&system.bootstrap()?, &topic)?;
    Ok(Figures::from([(Figure::Seconds, started.elapsed().as_secs_f64())]))
}

/// Every load once, each for its share of the time.
fn warm_up(system: &mut System, works: &[Work], plan: &Plan) -> Result<()> {
    let is_load = |work: &&Work| !matches!(work, Work::Start | Work::Chain | Work::Memory | Work::Idle);
    let loads: Vec<Work> = works.iter().filter(is_load).copied().collect();
    let share = plan.warm_up / u32::try_from(loads.len().max(1))?;
    let short = Plan { run: share, runs: 1, ..*plan };
    for work in loads {
        if let Some(written) = work.written() {
            write_once(system, work, &written, share)?;
        } else {
            one(system, work, &short)?;
        }
    }
    Ok(())
}

/// Does something with a topic of its own, and removes it at once.
fn with_topic<R>(
    system: &mut System,
    replicas: i16,
    flushed: bool,
    work: impl FnOnce(&mut System, &Led<'_>) -> Result<R>,
) -> Result<R> {
    // What an earlier load left to be written to the disk is no part of this one.
    rustix::fs::sync();
    let flush = [("flush.messages", "1")];
    let settings = if flushed && matches!(system, System::Kafka(_)) { &flush[..] } else { &[] };
    let bootstrap = system.bootstrap()?;
    // A broker may not have heard yet that a topic was removed, so no name comes twice.
    let topic = &format!("measured-{}", NAMED.fetch_add(1, Ordering::Relaxed));
    let leaders = admin::create(&bootstrap, &Topic { name: topic, partitions: 1, replicas, settings })?;
    let leader = leaders.first().context("the topic has a leader")?;
    let result = work(system, &Led { topic, leader });
    admin::delete(&bootstrap, topic)?;
    thread::sleep(REMOVAL);
    result
}

/// A moment for brokers to remove the files of a topic, so that what is in them need not be written before the next load.
const REMOVAL: Duration = Duration::from_secs(1);

static NAMED: AtomicU64 = AtomicU64::new(0);

/// A topic of one partition, and the address of its leader.
struct Led<'a> {
    topic: &'a str,
    leader: &'a str,
}

fn writing(system: &mut System, work: Work, written: &Written, plan: &Plan) -> Result<Figures> {
    let mut last = 0.0;
    for _ in 0..SETTLING_RUNS_MAX {
        let rate =
            write_once(system, work, written, plan.run)?.get(&Figure::Throughput).copied().unwrap_or(0.0);
        if rate < last * SETTLED {
            break;
        }
        last = rate;
    }
    let runs = (0..plan.runs).map(|_| write_once(system, work, written, plan.run));
    Ok(medians(&runs.collect::<Result<Vec<_>>>()?))
}

fn write_once(system: &mut System, work: Work, written: &Written, duration: Duration) -> Result<Figures> {
    with_topic(system, written.replicas, work.is_flushed(), |system, Led { topic, leader }| {
        let before = system.processor_seconds()?;
        let volume = load::produce(leader, topic, &written.how, Until::Passed(duration))?;
        let taken = system.processor_seconds()? - before;
        let mut figures = rates(volume, taken);
        figures.insert(Figure::Records, volume.records as f64 / volume.seconds);
        Ok(figures)
    })
}

fn rates(volume: Volume, processor_seconds: f64) -> Figures {
    Figures::from([
        (Figure::Throughput, volume.gigabytes() / volume.seconds),
        (Figure::Processor, processor_seconds / volume.gigabytes()),
    ])
}

/// How the topics that are read were written.
pub(super) const STORED: Produce =
    Produce { record_bytes: 1024, batch_bytes: 64 << 10, window: 16, acks: -1 };

fn fetching(system: &mut System, plan: &Plan) -> Result<Figures> {
    with_topic(system, 1, false, |system, Led { topic, leader }| {
        load::produce(leader, topic, &STORED, Until::Bytes(STORED_BYTES))?;
        // Also for the chain, which is not to be paid for by what is measured.
        system.await_quiet(QUIET_CORES, QUIET_LIMIT)?;
        let run = |system: &System| {
            let before = system.processor_seconds()?;
            let volume = load::fetch(leader, topic, 0, FETCH_BYTES, plan.run)?;
            Ok(rates(volume, system.processor_seconds()? - before))
        };
        run(system)?;
        Ok(medians(&(0..plan.runs).map(|_| run(system)).collect::<Result<Vec<_>>>()?))
    })
}

/// Brokers that take less than this are quiet; an idle Kafka takes some.
const QUIET_CORES: f64 = 0.4;

fn latency(system: &mut System, work: Work, plan: &Plan) -> Result<Figures> {
    let (replicas, acks) = if work == Work::LoopOne { (1, 1) } else { (3, -1) };
    with_topic(system, replicas, work.is_flushed(), |system, Led { topic, leader }| {
        system.await_quiet(QUIET_CORES, QUIET_LIMIT)?;
        let run = || {
            let times = match work {
                Work::Consumer => load::to_consumer(leader, topic, plan.run)?,
                _ => load::closed_loop(leader, topic, acks, plan.run)?,
            };
            Ok(Figures::from([(Figure::Median, times.quantile(0.5)), (Figure::Tail, times.quantile(0.99))]))
        };
        Ok(medians(&(0..plan.runs).map(|_| run()).collect::<Result<Vec<_>>>()?))
    })
}

/// What the hash chain over a topic costs once the load is over, and how fast it catches up.
fn chaining(system: &mut System) -> Result<Figures> {
    with_topic(system, 1, false, |system, Led { topic, leader }| {
        let volume = load::produce(leader, topic, &STORED, Until::Bytes(STORED_BYTES))?;
        let (before, began) = (system.processor_seconds()?, Instant::now());
        let ended = system.await_quiet(0.1, QUIET_LIMIT)?;
        let taken = system.processor_seconds()? - before;
        let seconds = ended.saturating_duration_since(began).as_secs_f64();
        Ok(rates(Volume { seconds, ..volume }, taken))
    })
}

fn memory(system: &System) -> Result<Figures> {
    let peaks = system.pids().into_iter().map(usage::memory_peak_mib).collect::<Result<Vec<f64>>>()?;
    Ok(Figures::from([(Figure::Memory, peaks.into_iter().fold(0.0, f64::max))]))
}

fn idle(system: &mut System, plan: &Plan) -> Result<Figures> {
    let topic = Topic { name: "idle", partitions: IDLE_PARTITIONS, replicas: 3, settings: &[] };
    admin::create(&system.bootstrap()?, &topic)?;
    system.await_quiet(QUIET_CORES, QUIET_LIMIT)?;
    thread::sleep(plan.idle / 2);
    let (before, started) = (system.processor_seconds()?, Instant::now());
    thread::sleep(plan.idle);
    let taken = system.processor_seconds()? - before;
    Ok(Figures::from([(Figure::Cores, taken / started.elapsed().as_secs_f64())]))
}
