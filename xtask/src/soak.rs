//! `cargo xtask soak`: three brokers under a load that lasts, one after the other killed with -9 and started again. At the end,
//! and all the time, nothing is lost or doubled or out of order, and nothing grows: memory, file descriptors, threads, tasks,
//! connections, streams, disks.
//!
//! A broker that was killed starts small, so one broker is spared: it and the client live as long as the run.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::cluster::{Cluster, build};
use crate::{process, test, workspace};

mod judge;
mod load;
mod sample;

use judge::{Tolerance, Verdict};
use load::Load;
use sample::{Lives, Sample};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long the load lasts
    #[arg(long, default_value_t = 20.0, value_name = "N")]
    minutes: f64,

    /// How often a broker is killed, in seconds
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u64).range(5..))]
    every: u64,

    /// Kill all three brokers in turn; then only the client lives as long as the run
    #[arg(long)]
    spare_none: bool,

    /// Start this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// The two minutes that CI runs, with the binaries of the last debug build
    #[arg(long, conflicts_with_all = ["minutes", "every", "spare_none", "binary"])]
    share: bool,
}

/// How a run goes.
struct Plan {
    lasts: Duration,
    kill_every: Duration,
    victims: Vec<u16>,
    tolerance: Tolerance,
    /// What each partition keeps, in bytes. Disks have to be full before the second quarter begins.
    kept: u64,
    segment: u64,
}

const NODES: u16 = 3;
/// A killed broker is missed for so long, so that others take over.
const GONE_FOR: Duration = Duration::from_secs(3);
const SAMPLE_EVERY: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two questions whether everything is in sync again.
const HEALED_EVERY: Duration = Duration::from_millis(500);
/// Everything must be in sync again by then; a guess, many times what is usual.
const HEAL_LIMIT: Duration = Duration::from_secs(90);
const VERIFY_LIMIT: Duration = Duration::from_secs(120);
/// What CI gives it.
const CI_SHARE: Duration = Duration::from_secs(120);

/// Runs what was asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.share {
        return share();
    }
    let binary = options.binary.clone().map_or_else(build::release, Ok)?;
    let client = build::release_example("soak")?;
    let victims = if options.spare_none { vec![1, 2, 3] } else { vec![1, 2] };
    let lasts = Duration::from_secs_f64(options.minutes * 60.0);
    let kill_every = Duration::from_secs(options.every);
    ensure!(
        lasts >= kill_every * 4,
        "too short to compare its quarters: a broker is killed every {} s",
        options.every
    );
    let (tolerance, kept, segment) = (Tolerance::FULL, 4 << 20, 1 << 20);
    conclude(&soak(&binary, &client, &Plan { lasts, kill_every, victims, tolerance, kept, segment })?)
}

/// Two minutes with the broker that the tests have built. On a machine that is busy with other things two minutes are short: what is
/// only late looks like growth. What really grows does so a second time; what is lost, doubled or out of order counts at once.
pub(crate) fn share() -> Result<()> {
    let binary = test::debug_binary();
    let client = build::debug_example("soak")?;
    let kill_every = Duration::from_secs(30);
    let (lasts, victims) = (CI_SHARE, vec![1, 2]);
    let (kept, segment) = (1 << 20, 256 << 10);
    let plan = Plan { lasts, kill_every, victims, tolerance: Tolerance::SHARE, kept, segment };
    let first = soak(&binary, &client, &plan)?;
    if first.reasons().is_empty() {
        return conclude(&first);
    }
    println!("   something grows, or is late; once more:\n{}", first.reasons().join("\n"));
    conclude(&soak(&binary, &client, &plan)?)
}

/// What grows; an error if something is lost, doubled or out of order.
fn soak(binary: &Path, client: &Path, plan: &Plan) -> Result<Verdict> {
    let folder = workspace::target_dir().join("soak");
    let mut cluster = Cluster::prepare(binary, &folder, NODES, true)?;
    ensure!(cluster.start()?.is_some(), "interrupted");
    let sizes = [("--retention-bytes", plan.kept), ("--segment-bytes", plan.segment)];
    let load = Load::start(client, &cluster.layout, &folder, &sizes)?;
    println!(
        "   {} min under load, node {} killed in turn every {} s",
        plan.lasts.as_secs_f64() / 60.0,
        plan.victims.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "),
        plan.kill_every.as_secs()
    );
    let mut run = Run::new(cluster, load, plan);
    run.live()?;
    let Run { mut cluster, load, samples, kills, slowest, .. } = run;
    let done = load.finish()?;
    cluster.check()?;
    cluster.stop();
    let checked = verify(&cluster)?;
    let verdict = judge::judge(&samples, plan.lasts, plan.tolerance);
    println!("{}", verdict.table());
    println!(
        "   {} records of 1 KiB sent, all acknowledged, and read once and in order; the group read {} again after kills and \
         committed {} times; {} visits",
        done.of("sent"),
        done.of("redelivered"),
        done.of("commits"),
        done.of("visits")
    );
    println!(
        "   {kills} kills; in sync again after {:.1} s at most; {} records deleted by retention; {checked} batches left, each whole",
        slowest.as_secs_f64(),
        done.of("earliest")
    );
    ensure!(kills > 0, "no broker was killed");
    ensure!(done.of("earliest") > 0, "retention has deleted nothing");
    Ok(verdict)
}

fn conclude(verdict: &Verdict) -> Result<()> {
    let reasons = verdict.reasons();
    ensure!(reasons.is_empty(), "something grows:\n{}", reasons.join("\n"));
    println!("   verdict: nothing lost, doubled or out of order, and nothing grows");
    Ok(())
}

/// What goes on while the load runs.
struct Run<'a> {
    cluster: Cluster,
    load: Load,
    plan: &'a Plan,
    begun: Instant,
    lives: Lives,
    samples: Vec<Sample>,
    kills: usize,
    /// Killed, and to be started again at this moment.
    dead: Option<(u16, Instant)>,
    /// Started again, and not in sync yet; looked at next at the second moment.
    healing: Option<(u16, Instant, Instant)>,
    slowest: Duration,
}

impl<'a> Run<'a> {
    fn new(cluster: Cluster, load: Load, plan: &'a Plan) -> Self {
        Self {
            cluster,
            load,
            plan,
            begun: Instant::now(),
            lives: Lives::new(NODES),
            samples: Vec::new(),
            kills: 0,
            dead: None,
            healing: None,
            slowest: Duration::ZERO,
        }
    }

    /// Until the time is over and everything is in sync.
    fn live(&mut self) -> Result<()> {
        let mut next_kill = self.plan.kill_every;
        let mut next_sample = Duration::ZERO;
        loop {
            let now = self.begun.elapsed();
            self.cluster.check()?;
            self.load.check()?;
            self.start_again()?;
            self.look_for_healing()?;
            if now >= self.plan.lasts && self.dead.is_none() && self.healing.is_none() {
                return Ok(());
            }
            // One at a time: two dead of three would be another test. The last one has time to come back.
            let calm = self.dead.is_none() && self.healing.is_none();
            if calm && now >= next_kill && now + self.plan.kill_every / 2 < self.plan.lasts {
                self.kill()?;
                next_kill += self.plan.kill_every;
            }
            if now >= next_sample && now < self.plan.lasts {
                self.sample(now);
                next_sample += SAMPLE_EVERY;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn kill(&mut self) -> Result<()> {
        let place = self.kills % self.plan.victims.len().max(1);
        let victim = *self.plan.victims.get(place).context("there is nobody to be killed")?;
        self.cluster.kill(victim)?;
        self.kills += 1;
        self.dead = Some((victim, Instant::now() + GONE_FOR));
        Ok(())
    }

    fn start_again(&mut self) -> Result<()> {
        let Some((node, _)) = self.dead.filter(|(_, at)| Instant::now() >= *at) else { return Ok(()) };
        self.dead = None;
        self.cluster.start_again(node)?;
        self.lives.begin(node);
        let now = Instant::now();
        self.healing = Some((node, now, now + HEALED_EVERY));
        Ok(())
    }

    fn look_for_healing(&mut self) -> Result<()> {
        let Some((node, since, _)) = self.healing.filter(|(_, _, next)| Instant::now() >= *next) else {
            return Ok(());
        };
        let took = since.elapsed();
        if sample::is_in_sync(&self.cluster.layout) {
            self.healing = None;
            self.slowest = self.slowest.max(took);
            self.tell(node, took);
            return Ok(());
        }
        ensure!(
            took < HEAL_LIMIT,
            "not everything is in sync {} s after node {node} was started again",
            HEAL_LIMIT.as_secs()
        );
        self.healing = Some((node, since, Instant::now() + HEALED_EVERY));
        Ok(())
    }

    fn tell(&self, node: u16, took: Duration) {
        let minutes = self.begun.elapsed().as_secs_f64() / 60.0;
        let read = self.load.figures().of("read");
        println!(
            "   {minutes:>5.1} min: kill {} (node {node}), in sync {:.1} s after its start; {read} records read",
            self.kills,
            took.as_secs_f64()
        );
    }

    fn sample(&mut self, now: Duration) {
        let client = sample::of_client(&self.load, &self.cluster.layout.data_dir, now);
        self.samples.extend(client);
        for node in &self.cluster.layout.nodes {
            let pid = self.cluster.pid_of(node.id);
            // One that was just killed or has just started tells nothing.
            self.samples.extend(pid.and_then(|pid| sample::of_broker(node, pid, now, &self.lives)));
        }
    }
}

/// Every batch on every disk is whole; how many there are.
fn verify(cluster: &Cluster) -> Result<u64> {
    let mut batches = 0;
    for node in &cluster.layout.nodes {
        let mut command = std::process::Command::new(&cluster.layout.binary);
        command.args(["log", "verify", "--output", "json"]).arg(&node.data_dir);
        let lines = process::run_quietly(&mut command, VERIFY_LIMIT)?;
        let answer: serde_json::Value = serde_json::from_str(&lines.join("\n"))?;
        batches += answer.get("batches").and_then(serde_json::Value::as_u64).unwrap_or(0);
    }
    Ok(batches)
}
