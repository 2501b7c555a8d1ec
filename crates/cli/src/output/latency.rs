//! Latencies as quantiles of an HDR histogram: what most see, and what the unlucky see.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::table::Table;
use super::{Paint, number};

/// Longer than any time-out; what takes longer counts as this.
const LONGEST_US: u64 = 600_000_000;

/// Collects latencies at a resolution of three digits.
#[derive(Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, 3);
        Self(histogram.expect("1 us to 10 min at three digits are bounds that a histogram can have"))
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US);
        self.0.saturating_record(micros);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both histograms have the same bounds");
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let at = |quantile| self.0.value_at_quantile(quantile);
        Quantiles {
            samples: self.0.len(),
            mean_us: self.0.mean() as u64,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p99_9_us: at(0.999),
            p99_99_us: at(0.9999),
            max_us: self.0.max(),
        }
    }
}

/// The distribution of latencies, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Quantiles {
    samples: u64,
    mean_us: u64,
    p50_us: u64,
    p90_us: u64,
    p99_us: u64,
    p99_9_us: u64,
    p99_99_us: u64,
    max_us: u64,
}

impl Quantiles {
    /// One row under a heading.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let mut table = Table::new();
        for name in ["samples", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"] {
            table = table.number(name);
        }
        let micros =
            [self.mean_us, self.p50_us, self.p90_us, self.p99_us, self.p99_9_us, self.p99_99_us, self.max_us];
        let times = micros.map(|micros| number::duration(Duration::from_micros(micros)));
        table.row(std::iter::once(number::count(self.samples)).chain(times));
        table.render(paint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_tell_the_tail_from_the_middle() {
        let mut latencies = Latencies::new();
        (0..9_999).for_each(|_| latencies.record(Duration::from_micros(100)));
        latencies.record(Duration::from_secs(3_600));
        let quantiles = latencies.quantiles();
        assert_eq!((quantiles.p50_us, quantiles.p99_9_us), (100, 100));
        assert!(quantiles.max_us >= LONGEST_US);
        insta::assert_snapshot!(quantiles.text(Paint::OFF));
    }
}
