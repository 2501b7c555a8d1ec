//! Named steps, run one after the other, each timed; the end is a table of all of them.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::cluster::build::WEB_DIR;
use crate::{process, wasm, workspace};

/// One thing that `ci` or `test` does.
pub(crate) struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    Inside(fn() -> Result<()>),
    Outside { command: Box<Command>, limit: Duration },
}

impl Step {
    /// A step that is a function of this program.
    pub(crate) const fn inside(name: &'static str, work: fn() -> Result<()>) -> Self {
        Self { name, work: Work::Inside(work) }
    }

    /// A step that runs cargo in the root with `arguments`, for at most `minutes`.
    pub(crate) fn cargo(name: &'static str, arguments: &[&str], minutes: u64) -> Self {
        let mut command = Box::new(cargo());
        command.args(arguments);
        Self { name, work: Work::Outside { command, limit: Duration::from_secs(minutes * 60) } }
    }

    /// The same step, whose broker has the browser's files in it. All that build one say so: it is built but once.
    pub(crate) fn with_pages(self) -> Self {
        let pages = wasm::served();
        self.with(WEB_DIR, &pages.to_string_lossy())
    }

    /// What the step is called.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// The same step with an environment variable.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        if let Work::Outside { command, .. } = &mut self.work {
            command.env(key, value);
        }
        self
    }
}

/// Cargo, to be run in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("cargo");
    // The variables that cargo sets for this program would make the inner cargo rebuild what differs by them.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR") {
            command.env_remove(name);
        }
    }
    command.current_dir(workspace::root());
    command
}

struct Outcome {
    name: &'static str,
    took: Duration,
    failure: Option<anyhow::Error>,
}

/// Runs all steps, also those after a failed one, and reports them; an error names those that failed.
pub(crate) fn run(steps: Vec<Step>) -> Result<()> {
    let mut tests = Vec::new();
    let outcomes: Vec<Outcome> = steps.into_iter().map(|step| run_one(step, &mut tests)).collect();
    println!();
    for line in &tests {
        println!("{line}");
    }
    for outcome in &outcomes {
        let word = if outcome.failure.is_some() { "FAILED" } else { "ok" };
        println!("{:<28} {word:<6} {:>7.1} s", outcome.name, outcome.took.as_secs_f64());
    }
    let total: Duration = outcomes.iter().map(|outcome| outcome.took).sum();
    println!("{:<28} {:<6} {:>7.1} s", "all", "", total.as_secs_f64());
    let failed: Vec<&str> = outcomes.iter().filter(|o| o.failure.is_some()).map(|o| o.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn run_one(step: Step, tests: &mut Vec<String>) -> Outcome {
    let started = Instant::now();
    println!("\n== {}", step.name);
    let result = match step.work {
        Work::Inside(work) => work(),
        Work::Outside { mut command, limit } => process::run(&mut command, limit).map(|lines| {
            tests.extend(closing_lines(step.name, &lines));
        }),
    };
    let failure = result.err();
    if let Some(error) = &failure {
        println!("{error:#}");
    }
    Outcome { name: step.name, took: started.elapsed(), failure }
}

/// Sums up what the test runners said at their ends: one line a step that ran tests.
fn closing_lines(name: &str, lines: &[String]) -> Option<String> {
    let mut sums = [0_u64; 3];
    let mut runs = 0;
    for line in lines.iter().filter(|line| line.starts_with("test result: ")) {
        runs += 1;
        for (sum, word) in sums.iter_mut().zip([" passed", " failed", " ignored"]) {
            *sum += number_before(line, word);
        }
    }
    let [passed, failed, ignored] = sums;
    (runs > 0).then(|| {
        format!("test result: {name}: {passed} passed, {failed} failed, {ignored} ignored in {runs} runs")
    })
}

fn number_before(line: &str, word: &str) -> u64 {
    let before = line.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_summed() {
        let lines = [
            "running 2 tests",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ]
        .map(String::from);
        assert_eq!(
            closing_lines("tests", &lines).unwrap(),
            "test result: tests: 42 passed, 0 failed, 1 ignored in 2 runs"
        );
    }

    #[test]
    fn a_step_without_tests_has_no_closing_line() {
        assert_eq!(closing_lines("fmt", &[String::from("Checking x")]), None);
    }

    #[test]
    fn a_failed_step_is_named_and_the_rest_runs() {
        let steps =
            vec![Step::inside("first", || anyhow::bail!("broken")), Step::inside("second", || Ok(()))];
        assert_eq!(run(steps).unwrap_err().to_string(), "failed: first");
    }
}
