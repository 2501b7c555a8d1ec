//! `cargo xtask bench --clients`: our client beside librdkafka, each run in a process of its own, taking turns on one broker. The program
//! that is both stands in `bench-clients/`, a workspace of its own; the figures go into `docs/performance.md`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::admin::{self, Topic};
use super::page;
use super::system::System;
use crate::{process, steps, workspace};

mod rows;

use rows::Runs;

const LIMIT: Duration = Duration::from_secs(120);
const BUILD_LIMIT: Duration = Duration::from_secs(1800);
const QUIET_CORES: f64 = 0.1;
const QUIET_LIMIT: Duration = Duration::from_secs(90);
const OURS: &str = "highwater";
const THEIRS: &str = "librdkafka";

/// How many records, and how often.
#[derive(Clone, Copy, Debug)]
struct Plan {
    records: u64,
    runs: usize,
}

const FULL: Plan = Plan { records: 3_000_000, runs: 3 };
const QUICK: Plan = Plan { records: 1_000_000, runs: 1 };

/// What both do, by the arguments that say it.
#[derive(Clone, Copy, Debug)]
struct Load {
    what: &'static str,
    compression: &'static str,
}

const LOADS: [Load; 4] = [
    Load { what: "produce", compression: "none" },
    Load { what: "consume", compression: "none" },
    Load { what: "produce", compression: "lz4" },
    Load { what: "consume", compression: "lz4" },
];

/// What one run took.
#[derive(Clone, Copy, Debug)]
struct Run {
    records_per_second: f64,
    /// Seconds of processor time for a million records: the client's, and the broker's meanwhile.
    processor: f64,
    broker_processor: f64,
    /// The cores that the broker took.
    broker_cores: f64,
    memory_mib: f64,
}

/// Measures, shows, and unless it is quick writes; an error if a promise is missed.
pub(super) fn run(binary: &Path, quick: bool) -> Result<()> {
    let plan = if quick { QUICK } else { FULL };
    let program = build()?;
    let folder = workspace::target_dir().join("bench").join("clients");
    let mut system = System::alone(binary, &folder)?;
    system.start()?;
    let mut bench = Bench { system: &mut system, program: &program, plan };
    let mut rows = Vec::new();
    for load in LOADS {
        rows.push((load, bench.measure(load)?));
    }
    system.stop();
    let (text, missed) = rows::table(&rows);
    println!("\n{text}");
    if !quick {
        let conditions =
            format!("{}. Medians of {} runs of {} records.", page::machine(), plan.runs, plan.records);
        page::write("clients", &format!("{conditions}\n\n{text}"))?;
    }
    ensure!(missed == 0, "{missed} promises are missed");
    Ok(())
}

fn build() -> Result<PathBuf> {
    let package = workspace::root().join("bench-clients");
    let target = workspace::target_dir().join("bench-clients");
    let mut cargo = steps::cargo();
    cargo.args(["build", "--release", "--locked", "--manifest-path"]).arg(package.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    process::run(&mut cargo, BUILD_LIMIT).context("librdkafka needs a C compiler and make")?;
    Ok(target.join("release").join("highwater-bench-clients"))
}

struct Bench<'a> {
    system: &'a mut System,
    program: &'a Path,
    plan: Plan,
}

impl Bench<'_> {
    /// Both clients in turn; before what counts, each once.
    fn measure(&mut self, load: Load) -> Result<[Runs; 2]> {
        let [mut ours, mut theirs] = [Runs::default(), Runs::default()];
        for round in 0..=self.plan.runs {
            for (client, runs) in [(OURS, &mut ours), (THEIRS, &mut theirs)] {
                let run = self.once(client, load, round)?;
                if round > 0 {
                    println!("   {client:<10} {:<8} {:<5} {run}", load.what, load.compression);
                    runs.0.push(run);
                }
            }
        }
        Ok([ours, theirs])
    }

    /// One run, on a topic of its own that is removed right after it. What is consumed was produced by our client, for both.
    fn once(&mut self, client: &str, load: Load, round: usize) -> Result<Run> {
        let topic = format!("{client}-{}-{}-{round}", load.what, load.compression);
        let bootstrap = self.system.bootstrap()?;
        admin::create(&bootstrap, &Topic { name: &topic, partitions: 1, replicas: 1, settings: &[] })?;
        if load.what != "produce" {
            self.execute(OURS, Load { what: "produce", ..load }, &topic)?;
        }
        self.system.await_quiet(QUIET_CORES, QUIET_LIMIT)?;
        let run = self.execute(client, load, &topic)?;
        admin::delete(&bootstrap, &topic)?;
        Ok(run)
    }

    fn execute(&self, client: &str, load: Load, topic: &str) -> Result<Run> {
        let mut command = Command::new(self.program);
        command.args(["--client", client, "--do", load.what, "--compression", load.compression]);
        command.args(["--bootstrap", &self.system.bootstrap()?, "--topic", topic]);
        command.args(["--records", &self.plan.records.to_string()]);
        let before = self.system.processor_seconds()?;
        let lines = process::run_quietly(&mut command, LIMIT)?;
        let broker = self.system.processor_seconds()? - before;
        let answer: Value = serde_json::from_str(lines.last().context("the client said nothing")?)?;
        let number =
            |name: &str| answer.get(name).and_then(Value::as_f64).with_context(|| format!("no {name}"));
        let (records, seconds) = (number("records")?, number("seconds")?);
        Ok(Run {
            records_per_second: records / seconds,
            processor: number("processor_seconds")? / records * 1e6,
            broker_processor: broker / records * 1e6,
            broker_cores: broker / seconds,
            memory_mib: number("memory_peak_kib")? / 1024.0,
        })
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { records_per_second, processor, broker_processor, broker_cores, memory_mib } = self;
        write!(
            f,
            "{:.2} M records/s, {processor:.2} s per million (broker {broker_processor:.2}, {broker_cores:.2} cores), {memory_mib:.0} MiB",
            records_per_second / 1e6
        )
    }
}
