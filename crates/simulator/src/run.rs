//! Running seeds: one, many at once, and one again in words with as little as still goes wrong.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::coverage::Coverage;
use crate::oracle::Violation;
use crate::plan::{Mix, Plan};
use crate::regressions::REGRESSIONS;
use crate::world::World;

/// Which seeds to run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// Every how many seeds one is run twice, and must be the same run.
    pub repeat_every: u64,
    /// Which faults.
    pub mix: Mix,
    /// How many threads.
    pub threads: usize,
    /// After how many violations to stop.
    pub stop_after: usize,
}

/// How one seed ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Which faults it preferred.
    pub mix: Mix,
    /// What went wrong first, if something did.
    pub violation: Option<Violation>,
    /// What it met.
    pub coverage: Coverage,
    /// A hash of everything that happened.
    pub hash: u64,
    /// The last events in words, where asked for.
    pub words: Vec<String>,
}

/// How many seeds ended.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Seeds that were run.
    pub seeds: u64,
    /// Those in which something went wrong, by seed.
    pub violations: Vec<Outcome>,
    /// What all of them met.
    pub coverage: Coverage,
}

/// Runs seeds on several threads.
pub fn run_many(options: &Options) -> Summary {
    let next = AtomicU64::new(0);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.seeds || !take(options, options.first + number, &summary) {
                        return;
                    }
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_default();
    summary.violations.sort_by_key(|outcome| outcome.seed);
    summary
}

/// Runs one seed and adds it up; whether more are wanted.
fn take(options: &Options, seed: u64, summary: &Mutex<Summary>) -> bool {
    let mut outcome = run(Plan::of(seed, options.mix), false);
    outcome.mix = options.mix;
    if options.repeat_every > 0 && seed.is_multiple_of(options.repeat_every) && outcome.violation.is_none() {
        let again = run(Plan::of(seed, options.mix), false);
        if again.hash != outcome.hash {
            let text = format!("{:016x} the first time, {:016x} the second", outcome.hash, again.hash);
            outcome.violation = Some(Violation { oracle: "determinism", text });
        }
    }
    let Ok(mut summary) = summary.lock() else { return false };
    summary.seeds += 1;
    summary.coverage.merge(&outcome.coverage);
    if outcome.violation.is_some() {
        summary.violations.push(outcome);
    }
    summary.violations.len() < options.stop_after
}

/// Runs one seed again with as few faults and clients as still go wrong, and tells its last events.
#[must_use]
pub fn tell(seed: u64, mix: Mix, shrunk: bool) -> (Outcome, String) {
    let mut plan = Plan::of(seed, mix);
    let whole = run(plan.clone(), false);
    if whole.violation.is_some() && shrunk {
        plan = shrink(plan);
    }
    let described = describe(&plan);
    (run(plan, true), described)
}

/// Runs the seeds that once found something.
pub(crate) fn run_regressions() -> Summary {
    let mut summary = Summary::default();
    for (seed, mix) in REGRESSIONS {
        let outcome = Outcome { mix: *mix, ..run(Plan::of(*seed, *mix), false) };
        summary.seeds += 1;
        summary.coverage.merge(&outcome.coverage);
        summary.violations.extend(outcome.violation.is_some().then_some(outcome));
    }
    summary
}

thread_local! {
    static RUNNING: Cell<u64> = const { Cell::new(0) };
}

/// A panic is a violation like others. Where it cannot be caught, the seed is said before the process ends.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if cfg!(panic = "abort") {
            eprintln!("seed {}: panic: {panic}", RUNNING.get());
        }
    }));
}

fn run(plan: Plan, in_words: bool) -> Outcome {
    let seed = plan.seed;
    RUNNING.set(seed);
    let ended = catch_unwind(AssertUnwindSafe(|| World::new(plan, in_words).run()));
    match ended {
        Ok(ended) => Outcome {
            seed,
            mix: Mix::Any,
            violation: ended.violation,
            coverage: ended.coverage,
            hash: ended.hash,
            words: ended.words,
        },
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let text = text.unwrap_or_else(|| "without words".to_owned());
            let violation = Some(Violation { oracle: "panic", text });
            Outcome {
                seed,
                mix: Mix::Any,
                violation,
                coverage: Coverage::default(),
                hash: 0,
                words: Vec::new(),
            }
        }
    }
}

/// Leaves out faults, halves first, and clients, as long as something goes wrong.
fn shrink(mut plan: Plan) -> Plan {
    let goes_wrong = |plan: &Plan| run(plan.clone(), false).violation.is_some();
    let mut piece = plan.faults.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < plan.faults.len() {
            let mut less = plan.clone();
            less.faults.drain(at..(at + piece).min(plan.faults.len()));
            if goes_wrong(&less) {
                plan = less;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    for fewer in [
        |plan: &mut Plan| plan.plain_producers = 0,
        |plan: &mut Plan| plan.producers = 1,
        |plan: &mut Plan| plan.consumers = 1,
        |plan: &mut Plan| plan.topics.truncate(1),
    ] {
        let mut less = plan.clone();
        fewer(&mut less);
        if goes_wrong(&less) {
            plan = less;
        }
    }
    plan
}

fn describe(plan: &Plan) -> String {
    let mut text = format!(
        "{} brokers, {} shards each, {} producers, {} plain, {} consumers, lag {} ms\n{:?}\n",
        plan.brokers,
        plan.shards,
        plan.producers,
        plan.plain_producers,
        plan.consumers,
        plan.lag_max_ms,
        plan.weather
    );
    for topic in &plan.topics {
        text.push_str(&format!("{topic:?}\n"));
    }
    for planned in &plan.faults {
        text.push_str(&format!("  {:>8} ms  {:?}\n", planned.at / crate::plan::MS, planned.fault));
    }
    text
}
