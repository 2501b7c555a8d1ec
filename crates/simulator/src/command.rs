//! The command line of the simulator, for `highwater sim` and `cargo xtask sim` alike.

use std::process::ExitCode;
use std::time::Instant;

use crate::plan::Mix;
use crate::run::{Options, Summary, report_panics, run_many, run_regressions, tell};

/// Run whole brokers in one thread under seeded faults, and look at every step
///
/// A seed decides the cluster, its clients and everything that goes wrong; the same seed is the same run on every machine.
/// In the end all faults stop, and the cluster must become well.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Run this many seeds
    #[arg(long, default_value_t = 200, value_name = "N")]
    seeds: u64,

    /// Begin with this seed
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    first: u64,

    /// Tell one seed: with as few faults as still go wrong, and the last events before it
    #[arg(long)]
    seed: Option<u64>,

    /// Which faults
    #[arg(long, value_enum, default_value_t = Mix::Any)]
    mix: Mix,

    /// Run on this many threads; by default on all cores
    #[arg(long)]
    threads: Option<usize>,

    /// With --seed: keep every fault and client
    #[arg(long)]
    whole: bool,

    /// Stop after this many violations
    #[arg(long, default_value_t = 3, value_name = "N")]
    stop_after: usize,

    /// Run each N-th seed twice; it must be the same run
    #[arg(long, default_value_t = 50, value_name = "N")]
    repeat_every: u64,

    /// Break each rule in turn, and write to this file which oracle notices
    #[cfg(highwater_mutations)]
    #[arg(long, value_name = "FILE")]
    mutations: Option<std::path::PathBuf>,

    /// How many seconds each broken rule gets
    #[cfg(highwater_mutations)]
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    patience: u64,

    /// Only these broken rules; without --mutations, all of them at once in the seeds that are run
    #[cfg(highwater_mutations)]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,

    /// Also run the seeds that once found something
    #[arg(long)]
    regressions: bool,
}

impl Arguments {
    /// Does what is asked for; fails if something is violated.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        report_panics();
        #[cfg(highwater_mutations)]
        if let Some(file) = &self.mutations {
            let patience = std::time::Duration::from_secs(self.patience);
            let threads = self.threads.unwrap_or_else(cores);
            return match crate::mutations::write_table(file, &self.only, threads, patience) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    println!("{}: {error}", file.display());
                    ExitCode::FAILURE
                }
            };
        }
        #[cfg(highwater_mutations)]
        crate::mutations::break_rules(&self.only);
        if let Some(seed) = self.seed {
            return self.tell(seed);
        }
        let started = Instant::now();
        let mut failed = self.regressions && !shown(&run_regressions());
        let summary = run_many(&Options {
            first: self.first,
            seeds: self.seeds,
            repeat_every: self.repeat_every,
            mix: self.mix,
            threads: self.threads.unwrap_or_else(cores),
            stop_after: self.stop_after,
        });
        print!("{}", summary.coverage);
        failed |= !shown(&summary);
        let took = started.elapsed().as_secs_f64();
        println!("{} seeds in {took:.1} s, {:.1} a second", summary.seeds, summary.seeds as f64 / took);
        ExitCode::from(u8::from(failed))
    }

    fn tell(&self, seed: u64) -> ExitCode {
        let (outcome, plan) = tell(seed, self.mix, !self.whole);
        println!("{plan}");
        outcome.words.iter().for_each(|line| println!("{line}"));
        println!("{}", outcome.coverage);
        match &outcome.violation {
            None => println!("seed {seed}: nothing is violated; hash {:016x}", outcome.hash),
            Some(found) => println!("seed {seed}: {}: {}", found.oracle, found.text),
        }
        ExitCode::from(u8::from(outcome.violation.is_some()))
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Shows what was violated; whether nothing was.
fn shown(summary: &Summary) -> bool {
    for outcome in &summary.violations {
        if let Some(found) = &outcome.violation {
            println!("seed {} ({:?}): {}: {}", outcome.seed, outcome.mix, found.oracle, found.text);
        }
    }
    summary.violations.is_empty()
}
