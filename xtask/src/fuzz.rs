//! `cargo xtask fuzz`: builds the targets in `fuzz/` with a nightly compiler and cargo-fuzz, plants the seeds that each target makes
//! itself, runs every one for a while, and shows a table. Inputs that crash stay in `fuzz/artifacts`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{process, tools, workspace};

/// Where cargo-fuzz builds to, below the folder that cargo builds into; the linker's triple is the machine's.
const BUILD_FOLDER: &str = "fuzz";
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// The longest input; the state machines read up to two bytes for each event.
const INPUT_BYTES_MAX: u32 = 4096;
/// One input may take this long: most take microseconds.
const INPUT_SECONDS_MAX: u32 = 20;
const MEMORY_MB_MAX: u32 = 1024;

/// What CI gives all targets together, what they need and the build included.
const CI_SHARE: Duration = Duration::from_secs(150);
/// Any number does; another one is another search.
const CI_SEED: u32 = 20_261_201;
/// Below this a target would hardly get beyond its seeds.
const CI_SECONDS_MIN: u64 = 3;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long each target runs
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// Only this target; may be given several times
    #[arg(long, value_name = "T")]
    target: Vec<String>,
    /// How many run at once; as many as there are cores unless said otherwise
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// How a target did.
struct Outcome {
    target: String,
    runs: u64,
    took: Duration,
    edges: u64,
    inputs: usize,
    failure: Option<String>,
}

/// Runs the targets asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    tools::fuzzing()?;
    build()?;
    let all = targets()?;
    for wanted in &options.target {
        ensure!(all.contains(wanted), "there is no target {wanted}; there are {}", all.join(", "));
    }
    let chosen = |target: &String| options.target.is_empty() || options.target.contains(target);
    let chosen: Vec<String> = all.iter().filter(|target| chosen(target)).cloned().collect();
    run_all(&chosen, options.seconds, options.jobs.unwrap_or_else(cores), None)
}

/// Every target, in the time that CI has for them.
pub(crate) fn share() -> Result<()> {
    let begun = Instant::now();
    tools::fuzzing()?;
    build()?;
    let all = targets()?;
    let jobs = cores();
    let rounds = all.len().div_ceil(jobs) as u64;
    let left = CI_SHARE.saturating_sub(begun.elapsed()).as_secs();
    // The same search in every run, so that a change is judged by what it changed; `cargo xtask fuzz` draws a new one each time.
    run_all(&all, (left / rounds.max(1)).max(CI_SECONDS_MIN), jobs, Some(CI_SEED))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn folder() -> PathBuf {
    workspace::root().join("fuzz")
}

fn build() -> Result<()> {
    // The versions are those of the product; cargo adds what only the targets need.
    let lock = "Cargo.lock";
    fs::copy(workspace::root().join(lock), folder().join(lock)).context("Cargo.lock cannot be copied")?;
    let mut command = tools::cargo_fuzz();
    command.args(["fuzz", "build", "--sanitizer", "none", "--fuzz-dir"]).arg(folder());
    command.arg("--target-dir").arg(workspace::target_dir().join(BUILD_FOLDER));
    process::run(&mut command, BUILD_LIMIT).map(drop)
}

/// The names of all targets, from their files.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder().join("targets")).context("there is no fuzz/targets")? {
        let path = entry?.path();
        if let (Some(name), true) = (path.file_stem(), path.extension().is_some_and(|end| end == "rs")) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn program(target: &str) -> Result<PathBuf> {
    let built = workspace::target_dir().join(BUILD_FOLDER);
    for entry in fs::read_dir(&built).with_context(|| format!("{} cannot be read", built.display()))? {
        let program = entry?.path().join("release").join(target);
        if program.is_file() {
            return Ok(program);
        }
    }
    bail!("{target} was not built")
}

fn run_all(targets: &[String], seconds: u64, jobs: usize, seed: Option<u32>) -> Result<()> {
    println!("{} targets, {seconds} s each, {jobs} at once", targets.len());
    let waiting = Mutex::new(targets.iter());
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(target) = next() {
                    let outcome =
                        run_one(target, seconds, seed).unwrap_or_else(|error| failed(target, &error));
                    println!("{}", line(&outcome));
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.push(outcome);
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_default();
    let crashed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.failure.is_some()).collect();
    for outcome in &crashed {
        println!("\n== {}\n{}", outcome.target, outcome.failure.as_deref().unwrap_or_default());
    }
    ensure!(outcomes.len() == targets.len(), "only {} of {} targets ran", outcomes.len(), targets.len());
    ensure!(crashed.is_empty(), "{} targets failed; their inputs are in fuzz/artifacts", crashed.len());
    Ok(())
}

fn failed(target: &str, error: &anyhow::Error) -> Outcome {
    let failure = Some(format!("{error:#}"));
    Outcome { target: target.to_owned(), runs: 0, took: Duration::ZERO, edges: 0, inputs: 0, failure }
}

fn line(outcome: &Outcome) -> String {
    let seconds = outcome.took.as_secs_f64();
    let rate = outcome.runs as f64 / seconds.max(0.001);
    let word = if outcome.failure.is_some() { "FAILED" } else { "ok" };
    format!(
        "{:<18} {word:<6} {seconds:>6.0} s {:>12} runs {rate:>9.0} /s {:>6} edges {:>6} inputs kept",
        outcome.target, outcome.runs, outcome.edges, outcome.inputs
    )
}

fn run_one(target: &str, seconds: u64, seed: Option<u32>) -> Result<Outcome> {
    let program = program(target)?;
    let (corpus, artifacts) = (folder().join("corpus").join(target), folder().join("artifacts").join(target));
    fs::create_dir_all(&artifacts)?;
    let limit = Duration::from_secs(60);
    process::run_quietly(Command::new(&program).env("HIGHWATER_FUZZ_SEEDS", &corpus), limit)
        .context("the seeds could not be made")?;
    let mut command = Command::new(&program);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-max_len={INPUT_BYTES_MAX}"));
    command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
    command.arg(format!("-rss_limit_mb={MEMORY_MB_MAX}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args(seed.map(|seed| format!("-seed={seed}")));
    command.arg("-print_final_stats=1").arg(&corpus);
    let begun = Instant::now();
    let limit = Duration::from_secs(seconds * 2 + 120);
    let finished = process::watch(&mut command, limit, |_| {})?;
    Ok(Outcome {
        target: target.to_owned(),
        runs: last_number(&finished.lines, "stat::number_of_executed_units: "),
        took: begun.elapsed(),
        edges: last_number(&finished.lines, " cov: "),
        inputs: fs::read_dir(&corpus)?.count(),
        failure: (!finished.status.success()).then(|| tail(&finished.lines)),
    })
}

/// The number behind the last `mark` in the output.
fn last_number(lines: &[String], mark: &str) -> u64 {
    let found = lines.iter().rev().find_map(|line| line.split_once(mark));
    let digits = |text: &str| text.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>();
    found.and_then(|(_, behind)| digits(behind).parse().ok()).unwrap_or(0)
}

/// What a program said at its end, without the progress lines before.
fn tail(lines: &[String]) -> String {
    let told: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.starts_with('#')).collect();
    told.get(told.len().saturating_sub(40)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_last_figures_count() {
        let told = lines(
            "#2\tINITED cov: 12 ft: 13\n#9\tNEW    cov: 40 ft: 50\nstat::number_of_executed_units: 1234\n",
        );
        assert_eq!(last_number(&told, " cov: "), 40);
        assert_eq!(last_number(&told, "stat::number_of_executed_units: "), 1234);
        assert_eq!(last_number(&told, "nothing"), 0);
    }

    #[test]
    fn a_failure_is_shown_without_the_progress() {
        assert_eq!(tail(&lines("#1 pulse\nthread panicked\n#2 pulse\nDONE")), "thread panicked\nDONE");
    }

    #[test]
    fn every_target_of_the_manifest_has_a_file_and_there_are_at_most_twelve() {
        let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        let named: Vec<String> = targets().unwrap();
        assert!(named.len() <= 12, "{}", named.len());
        for target in &named {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), named.len());
    }
}
