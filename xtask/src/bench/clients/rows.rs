//! The comparison of the clients as a table.

use std::fmt::Write;

use super::{Load, Run};

/// The runs of one client with one load.
#[derive(Debug, Default)]
pub(super) struct Runs(pub(super) Vec<Run>);

impl Runs {
    /// The median of one figure.
    fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl Load {
    /// Of our records a second over theirs.
    fn ratio_min(self) -> f64 {
        if self.compression == "none" { 2.0 } else { 1.3 }
    }

    fn about(self) -> String {
        let compression = if self.compression == "none" { "no compression" } else { self.compression };
        format!("{}, {compression}", self.what)
    }
}

/// The table, and how many promises are missed.
pub(super) fn table(rows: &[(Load, [Runs; 2])]) -> (String, usize) {
    let mut text = String::from(
        "| load | Highwater's client | librdkafka | ratio | promised | |\n|---|---:|---:|---:|---:|---|\n",
    );
    let mut missed = 0;
    let mut verdict = |holds: bool| {
        missed += usize::from(!holds);
        if holds { "holds" } else { "missed" }
    };
    for (load, [ours, theirs]) in rows {
        let pair = |of: fn(&Run) -> f64| (ours.median(of), theirs.median(of));
        let (fast, slow) = pair(|run| run.records_per_second);
        let (about, bound) = (load.about(), load.ratio_min());
        let mut line = |about: &str, cells: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "| {about} | {cells} |");
        };
        let ratio = fast / slow;
        let held = verdict(ratio >= bound);
        line(
            &about,
            &format!(
                "{:.2} M records/s | {:.2} M records/s | {ratio:.2} | ≥ {bound} | {held}",
                fast / 1e6,
                slow / 1e6
            ),
        );
        let (one, other) = pair(|run| run.memory_mib);
        let held = verdict(one <= other);
        line(
            "its peak of memory",
            &format!("{one:.0} MiB | {other:.0} MiB | {:.2} | ≤ 1 | {held}", one / other),
        );
        let (one, other) = pair(|run| run.processor);
        line(
            "its processor time for a million records",
            &format!("{one:.2} s | {other:.2} s | {:.2} | | ", one / other),
        );
        let (one, other) = pair(|run| run.broker_cores);
        line("the cores that the broker took meanwhile", &format!("{one:.2} | {other:.2} | | | "));
    }
    (text, missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(rate: f64, memory_mib: f64) -> Runs {
        let run = |factor: f64| Run {
            records_per_second: rate * factor,
            processor: 0.5,
            broker_processor: 0.1,
            broker_cores: 0.3,
            memory_mib,
        };
        Runs(vec![run(1.5), run(1.0), run(0.5)])
    }

    #[test]
    fn rates_and_memory_are_held_against_what_is_promised() {
        let none = Load { what: "produce", compression: "none" };
        let (text, missed) = table(&[(none, [runs(2e6, 40.0), runs(1e6, 40.0)])]);
        assert_eq!(missed, 0, "{text}");
        assert!(text.contains(
            "| produce, no compression | 2.00 M records/s | 1.00 M records/s | 2.00 | ≥ 2 | holds |"
        ));
        let lz4 = Load { what: "consume", compression: "lz4" };
        let (text, missed) = table(&[(lz4, [runs(1.2e6, 41.0), runs(1e6, 40.0)])]);
        assert_eq!(missed, 2, "{text}");
    }
}
