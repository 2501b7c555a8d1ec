//! Whether something grows: for each process and each thing that it holds, the last quarter of the run beside the second. The
//! first is left out, since caches and logs fill in it.
//!
//! Memory and disks go up and down, so their medians count. Of what is counted in pieces the least counts: a burst goes by,
//! while what is never given back lifts the floor. A process that was started again is compared at equal ages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use super::sample::{Figure, Process, Sample};

/// How much more the last quarter may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    /// Of memory, in percent of the second quarter.
    memory_percent: u64,
    /// And in KiB beside that.
    memory_kib: u64,
    /// Of what is counted in pieces.
    pieces: u64,
}

impl Tolerance {
    /// For a run of many minutes.
    pub(super) const FULL: Self = Self { memory_percent: 5, memory_kib: 2 << 10, pieces: 6 };
    /// For two minutes of a debug build on a machine that does other things: its quarters see one kill each.
    pub(super) const SHARE: Self = Self { memory_percent: 10, memory_kib: 16 << 10, pieces: 10 };

    fn allowed(&self, figure: Figure, before: u64) -> u64 {
        match figure {
            Figure::Memory => before + before * self.memory_percent / 100 + self.memory_kib,
            // Retention looks every ten seconds, so one segment of each partition may be there or not.
            Figure::Disk => before + before / 10 + DISK_KIB,
            _ => before + self.pieces,
        }
    }
}

const DISK_KIB: u64 = 16 << 10;
/// Ages of processes are equal within this.
const AGE: Duration = Duration::from_secs(10);
/// Fewer samples tell nothing.
const SAMPLES_MIN: usize = 3;

/// One process and one thing that it holds.
struct Row {
    process: Process,
    figure: Figure,
    /// The second quarter, the last one, and how much that may be; nothing if there is too little to compare.
    compared: Option<[u64; 3]>,
}

/// What was found.
pub(super) struct Verdict {
    rows: Vec<Row>,
}

/// Compares the quarters of a run that lasted so long.
pub(super) fn judge(samples: &[Sample], lasted: Duration, tolerance: Tolerance) -> Verdict {
    let mut rows = Vec::new();
    let processes: BTreeSet<Process> = samples.iter().map(|sample| sample.process).collect();
    for process in processes {
        let own: Vec<&Sample> = samples.iter().filter(|sample| sample.process == process).collect();
        let figures: BTreeSet<Figure> = own.iter().flat_map(|sample| sample.held.keys().copied()).collect();
        let [second, last] = comparable(&own, lasted);
        for figure in figures {
            let compared = statistic(&second, figure).zip(statistic(&last, figure));
            let compared = compared.map(|(before, after)| [before, after, tolerance.allowed(figure, before)]);
            rows.push(Row { process, figure, compared });
        }
    }
    Verdict { rows }
}

/// The samples of the second and of the last quarter that can be compared.
fn comparable<'a>(samples: &[&'a Sample], lasted: Duration) -> [Vec<&'a Sample>; 2] {
    let quarter = lasted / 4;
    let within = |from: u32| {
        let of_quarter = |sample: &&&Sample| (quarter * from..quarter * (from + 1)).contains(&sample.at);
        samples.iter().filter(of_quarter).copied().collect::<Vec<_>>()
    };
    let [second, last] = [within(1), within(3)];
    if samples.iter().all(|sample| sample.life == 0) {
        return [second, last];
    }
    let ages = |samples: &[&Sample]| samples.iter().map(|sample| age(sample)).collect::<BTreeSet<_>>();
    let common: BTreeSet<u64> = ages(&second).intersection(&ages(&last)).copied().collect();
    [second, last].map(|all| all.into_iter().filter(|sample| common.contains(&age(sample))).collect())
}

fn age(sample: &Sample) -> u64 {
    sample.age.as_secs() / AGE.as_secs()
}

fn statistic(samples: &[&Sample], figure: Figure) -> Option<u64> {
    let mut values: Vec<u64> =
        samples.iter().filter_map(|sample| sample.held.get(&figure).copied()).collect();
    values.sort_unstable();
    if values.len() < SAMPLES_MIN {
        return None;
    }
    let place = match figure {
        Figure::Memory | Figure::Disk => values.len() / 2,
        _ => 0,
    };
    values.get(place).copied()
}

impl Verdict {
    /// What grew, and what could not be seen; nothing if all is well.
    pub(super) fn reasons(&self) -> Vec<String> {
        self.rows.iter().filter_map(Row::reason).collect()
    }

    /// Every figure, one line each of a process's.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "   {:<10} {:<22} {:>14} {:>14} {:>10}\n",
            "", "", "second quarter", "last quarter", "allowed"
        );
        let mut lines: BTreeMap<Process, Vec<String>> = BTreeMap::new();
        for row in &self.rows {
            lines.entry(row.process).or_default().push(row.line());
        }
        for line in lines.into_values().flatten() {
            writeln!(text, "   {line}").expect("writing into a text does not fail");
        }
        text
    }
}

impl Row {
    fn reason(&self) -> Option<String> {
        let what = format!("{}: {}", name(self.process), told(self.figure));
        match self.compared {
            None => Some(format!("{what}: too few samples can be compared")),
            Some([before, after, allowed]) => (after > allowed).then(|| {
                let [before, after, allowed] =
                    [before, after, allowed].map(|value| shown(self.figure, value));
                format!(
                    "{what}: {before} in the second quarter, {after} in the last one; {allowed} is allowed"
                )
            }),
        }
    }

    fn line(&self) -> String {
        let word = if self.reason().is_some() { "GROWS" } else { "ok" };
        let [before, after, allowed] = match self.compared {
            Some(values) => values.map(|value| shown(self.figure, value)),
            None => ["?"; 3].map(str::to_owned),
        };
        let (process, figure) = (name(self.process), told(self.figure));
        format!("{process:<10} {figure:<22} {before:>14} {after:>14} {allowed:>10}   {word}")
    }
}

fn name(process: Process) -> String {
    match process {
        Process::Broker(node) => format!("broker {node}"),
        Process::Client => "client".to_owned(),
    }
}

const fn told(figure: Figure) -> &'static str {
    match figure {
        Figure::Memory => "memory, MiB",
        Figure::Handles => "other file descriptors",
        Figure::Threads => "threads",
        Figure::Tasks => "other tasks",
        Figure::Connections => "connections",
        Figure::Clients => "clients",
        Figure::Streams => "streams too many",
        Figure::Peers => "peer connections",
        Figure::Disk => "logs on disk, MiB",
    }
}

fn shown(figure: Figure, value: u64) -> String {
    match figure {
        Figure::Memory | Figure::Disk => format!("{:.1}", value as f64 / 1024.0),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Duration = Duration::from_secs(120);

    /// A sample every two seconds of a process that is started again whenever `restarts` are over.
    fn samples(restarts: &[u64], held: impl Fn(u64, u64) -> (Figure, u64)) -> Vec<Sample> {
        let of = |at: u64| {
            let before: Vec<u64> = restarts.iter().copied().filter(|restart| *restart <= at).collect();
            let age = at - before.last().copied().unwrap_or(0);
            Sample {
                process: Process::Broker(1),
                at: Duration::from_secs(at),
                life: before.len(),
                age: Duration::from_secs(age),
                held: BTreeMap::from([held(at, age)]),
            }
        };
        (0..120).step_by(2).map(of).collect()
    }

    fn reasons(restarts: &[u64], held: impl Fn(u64, u64) -> (Figure, u64)) -> Vec<String> {
        judge(&samples(restarts, held), RUN, Tolerance::SHARE).reasons()
    }

    #[test]
    fn what_goes_up_and_down_does_not_grow() {
        assert!(reasons(&[], |at, _| (Figure::Memory, 30_000 + at % 10 * 1_000)).is_empty());
        assert!(reasons(&[], |at, _| (Figure::Handles, 50 + at % 8)).is_empty());
    }

    #[test]
    fn memory_that_is_never_given_back_is_a_reason() {
        // 0.5 MiB a second: 30 MiB from the one quarter to the other.
        let found = reasons(&[], |at, _| (Figure::Memory, 30_000 + at * 500));
        assert!(found.len() == 1 && found[0].starts_with("broker 1: memory"), "{found:?}");
    }

    #[test]
    fn one_handle_lost_every_few_seconds_is_a_reason() {
        let found = reasons(&[], |at, _| (Figure::Handles, 50 + at / 4));
        assert!(found.len() == 1 && found[0].contains("other file descriptors"), "{found:?}");
    }

    #[test]
    fn one_stream_lost_with_each_visit_is_a_reason_under_many_that_come_and_go() {
        let found = reasons(&[], |at, _| (Figure::Connections, 10 + at / 2 + at % 6 * 5));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_process_that_was_started_again_is_compared_at_equal_ages() {
        // It grows while it is young, each time alike.
        assert!(reasons(&[30, 90], |_, age| (Figure::Memory, 20_000 + age * 1_000)).is_empty());
        // It begins with more each time, since what is on its disk grows.
        let found = reasons(&[30, 90], |at, age| (Figure::Memory, 20_000 + at * 500 + age * 100));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn what_cannot_be_compared_is_a_reason() {
        let found = reasons(&[100], |_, _| (Figure::Threads, 5));
        assert!(found.len() == 1 && found[0].contains("too few samples"), "{found:?}");
    }

    #[test]
    fn two_pieces_more_are_within_a_long_runs_tolerance_and_twenty_are_not() {
        let held = |more: u64| move |at: u64, _: u64| (Figure::Tasks, if at < 60 { 40 } else { 40 + more });
        assert!(judge(&samples(&[], held(2)), RUN, Tolerance::FULL).reasons().is_empty());
        assert_eq!(judge(&samples(&[], held(20)), RUN, Tolerance::FULL).reasons().len(), 1);
    }

    #[test]
    fn the_table_names_what_grows() {
        let verdict =
            judge(&samples(&[], |at, _| (Figure::Memory, 30_000 + at * 500)), RUN, Tolerance::SHARE);
        let table = verdict.table();
        assert!(table.contains("broker 1   memory, MiB") && table.contains("GROWS"), "{table}");
    }
}
