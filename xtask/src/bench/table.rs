//! The comparison as a table: which load and figure each row takes, and the ratio that is promised.

use super::measure::Findings;
use super::work::{Figure, Work};

/// What a row promises.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// Ours over theirs.
    AtLeast(f64),
    AtMost(f64),
    /// Ours alone, in the unit of the row.
    Within(f64),
    /// Nothing: it is shown.
    Shown,
}

struct Row {
    about: &'static str,
    ours: Work,
    theirs: Work,
    figure: Figure,
    goal: Goal,
}

const fn row(about: &'static str, ours: Work, theirs: Work, figure: Figure, goal: Goal) -> Row {
    Row { about, ours, theirs, figure, goal }
}

use Figure::{Cores, Median, Memory, Processor, Records, Seconds, Tail, Throughput};
use Goal::{AtLeast, AtMost, Shown, Within};

const ROWS: &[Row] = &[
    row(
        "`acks=1`, 1 KiB records, 64 KiB batches, window 16: throughput",
        Work::AcksOneLarge,
        Work::AcksOneLarge,
        Throughput,
        AtLeast(5.0),
    ),
    row(
        "the same, processor time of the brokers",
        Work::AcksOneLarge,
        Work::AcksOneLarge,
        Processor,
        AtMost(0.2),
    ),
    row(
        "`acks=1`, 1 KiB records, 16 KiB batches, window 32: throughput",
        Work::AcksOneMiddle,
        Work::AcksOneMiddle,
        Throughput,
        AtLeast(5.0),
    ),
    row(
        "`acks=all`, 3 replicas, 64 KiB batches, window 16; Kafka without fsync: throughput",
        Work::AllLarge,
        Work::AllLarge,
        Throughput,
        AtLeast(1.6),
    ),
    row("the same, processor time of the brokers", Work::AllLarge, Work::AllLarge, Processor, AtMost(0.45)),
    row(
        "the same, Kafka with `flush.messages=1`: throughput",
        Work::AllLarge,
        Work::AllLargeFlushed,
        Throughput,
        AtLeast(5.0),
    ),
    row(
        "`acks=all`, 3 replicas, batches of one 1 KiB record, window 256; both with fsync",
        Work::AllSingleFlushed,
        Work::AllSingleFlushed,
        Records,
        AtLeast(20.0),
    ),
    row(
        "fetch, 1 MiB at a time, from the page cache: throughput",
        Work::Fetch,
        Work::Fetch,
        Throughput,
        AtLeast(1.5),
    ),
    row("the same, processor time of the brokers", Work::Fetch, Work::Fetch, Processor, AtMost(0.6)),
    row("closed loop, one 100 B record, `acks=1`: p50", Work::LoopOne, Work::LoopOne, Median, AtMost(0.6)),
    row("the same: p99", Work::LoopOne, Work::LoopOne, Tail, AtMost(0.6)),
    row(
        "the same, `acks=all`, 3 replicas; both with fsync: p50",
        Work::LoopAll,
        Work::LoopAllFlushed,
        Median,
        AtMost(0.7),
    ),
    row("the same: p99", Work::LoopAll, Work::LoopAllFlushed, Tail, AtMost(0.5)),
    row("the same, Kafka without fsync: p50", Work::LoopAll, Work::LoopAll, Median, AtMost(2.0)),
    row("the same: p99", Work::LoopAll, Work::LoopAll, Tail, AtMost(2.0)),
    row(
        "producer to waiting consumer, one record a ms, 3 replicas; Kafka without fsync: p99",
        Work::Consumer,
        Work::Consumer,
        Tail,
        AtMost(0.6),
    ),
    row(
        "three brokers from start to a topic with 3 replicas",
        Work::Start,
        Work::Start,
        Seconds,
        AtMost(0.2),
    ),
    row(
        "largest resident memory of a broker under all of this",
        Work::Memory,
        Work::Memory,
        Memory,
        Within(64.0),
    ),
    row("three idle brokers with 300 partitions of 3 replicas", Work::Idle, Work::Idle, Cores, AtMost(0.1)),
    row(
        "hash chain, done when nothing else is: processor time per replica",
        Work::Chain,
        Work::Chain,
        Processor,
        Within(1.0),
    ),
    row("the same: how fast one partition catches up", Work::Chain, Work::Chain, Throughput, Shown),
];

/// The table, and how many of its goals are missed.
pub(super) struct Table {
    pub(super) text: String,
    pub(super) missed: usize,
    pub(super) held: usize,
}

/// Lays out what was found; rows of which nothing was found are left out.
pub(super) fn of(ours: &Findings, theirs: Option<&Findings>) -> Table {
    let mut table = Table { text: String::new(), missed: 0, held: 0 };
    table.text += "| load | Highwater | Kafka | ratio | promised | |\n|---|---:|---:|---:|---:|---|\n";
    for row in ROWS {
        let value = |findings: &Findings, work| findings.get(&work)?.get(&row.figure).copied();
        let ours = value(ours, row.ours);
        let theirs = theirs.and_then(|theirs| value(theirs, row.theirs));
        if let Some(ours) = ours {
            table.add(row, ours, theirs);
        }
    }
    table
}

impl Table {
    fn add(&mut self, row: &Row, ours: f64, theirs: Option<f64>) {
        let ratio = theirs.map(|theirs| ours / theirs);
        let verdict = match row.goal.holds(ours, ratio) {
            Some(true) => "holds",
            Some(false) => "missed",
            None => "",
        };
        self.held += usize::from(verdict == "holds");
        self.missed += usize::from(verdict == "missed");
        self.text += &format!(
            "| {} | {} | {} | {} | {} | {verdict} |\n",
            row.about,
            row.figure.shown(ours),
            theirs.map_or_else(String::new, |theirs| row.figure.shown(theirs)),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            row.goal.shown(row.figure)
        );
    }
}

impl Goal {
    /// Whether it is kept; nothing if that cannot be said without the other system, or nothing is promised.
    fn holds(self, ours: f64, ratio: Option<f64>) -> Option<bool> {
        match self {
            AtLeast(bound) => ratio.map(|ratio| ratio >= bound),
            AtMost(bound) => ratio.map(|ratio| ratio <= bound),
            Within(bound) => Some(ours <= bound),
            Shown => None,
        }
    }

    fn shown(self, figure: Figure) -> String {
        match self {
            AtLeast(bound) => format!("≥ {bound}"),
            AtMost(bound) => format!("≤ {bound}"),
            Within(bound) => format!("≤ {}", figure.shown(bound)),
            Shown => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::work::Figures;
    use super::*;

    fn found(work: Work, figure: Figure, value: f64) -> Findings {
        Findings::from([(work, Figures::from([(figure, value)]))])
    }

    #[test]
    fn a_ratio_is_held_against_its_promise() {
        let table = |ours, theirs| {
            let ours = found(Work::AcksOneLarge, Throughput, ours);
            of(&ours, Some(&found(Work::AcksOneLarge, Throughput, theirs)))
        };
        let holds = table(1.0, 0.2);
        assert_eq!((holds.held, holds.missed), (1, 0));
        assert!(holds.text.ends_with("| 1.000 GB/s | 0.200 GB/s | 5.00 | ≥ 5 | holds |\n"), "{}", holds.text);
        assert_eq!(table(0.9, 0.2).missed, 1);
    }

    #[test]
    fn without_a_peer_only_absolute_promises_are_judged() {
        let table = of(&found(Work::Memory, Memory, 65.0), None);
        assert_eq!((table.held, table.missed), (0, 1));
        assert!(table.text.ends_with("| 65 MiB |  |  | ≤ 64 MiB | missed |\n"), "{}", table.text);
        let table = of(&found(Work::AcksOneLarge, Throughput, 1.0), None);
        assert_eq!((table.held, table.missed), (0, 0));
    }
}
