//! What is measured: the kinds of load, and the figures that each gives.

use std::collections::BTreeMap;

use super::load::Produce;

/// One kind of load on three brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Start,
    AcksOneLarge,
    AcksOneMiddle,
    AllLarge,
    /// Kafka flushes every append; ours always does.
    AllLargeFlushed,
    AllSingleFlushed,
    Fetch,
    LoopOne,
    LoopAll,
    LoopAllFlushed,
    Consumer,
    Chain,
    Memory,
    Idle,
}

/// What a load gives, each in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// GB/s.
    Throughput,
    /// Seconds of processor time of all brokers per GB.
    Processor,
    /// Records a second.
    Records,
    /// Microseconds.
    Median,
    /// Microseconds, of 99 in 100.
    Tail,
    Seconds,
    /// MiB of the largest broker.
    Memory,
    Cores,
}

/// Figures of one load.
pub(super) type Figures = BTreeMap<Figure, f64>;

/// How a topic is written to, and with how many replicas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) how: Produce,
    pub(super) replicas: i16,
}

impl Work {
    /// In the order in which they are done: the start first, what needs everything else last.
    pub(super) const ALL: [Self; 14] = [
        Self::Start,
        Self::AcksOneLarge,
        Self::AcksOneMiddle,
        Self::AllLarge,
        Self::AllLargeFlushed,
        Self::AllSingleFlushed,
        Self::Fetch,
        Self::LoopOne,
        Self::LoopAll,
        Self::LoopAllFlushed,
        Self::Consumer,
        Self::Chain,
        Self::Memory,
        Self::Idle,
    ];

    /// What `--row` calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::AcksOneLarge => "acks-1-64k",
            Self::AcksOneMiddle => "acks-1-16k",
            Self::AllLarge => "acks-all-64k",
            Self::AllLargeFlushed => "acks-all-64k-flushed",
            Self::AllSingleFlushed => "acks-all-single-flushed",
            Self::Fetch => "fetch",
            Self::LoopOne => "loop-acks-1",
            Self::LoopAll => "loop-acks-all",
            Self::LoopAllFlushed => "loop-acks-all-flushed",
            Self::Consumer => "consumer",
            Self::Chain => "chain",
            Self::Memory => "memory",
            Self::Idle => "idle",
        }
    }

    /// Whether Kafka is told to flush every append.
    pub(super) const fn is_flushed(self) -> bool {
        matches!(self, Self::AllLargeFlushed | Self::AllSingleFlushed | Self::LoopAllFlushed)
    }

    /// Whether the load means something for Highwater: there, everything is flushed at all times.
    pub(super) const fn is_ours(self) -> bool {
        !matches!(self, Self::AllLargeFlushed | Self::LoopAllFlushed)
    }

    /// Whether the load means something for Kafka.
    pub(super) const fn is_theirs(self) -> bool {
        !matches!(self, Self::Chain)
    }

    /// Whether the load needs nothing of the brokers but their address.
    pub(super) const fn is_anywhere(self) -> bool {
        !matches!(self, Self::Start | Self::Chain | Self::Memory | Self::Idle) && !self.is_flushed()
    }

    /// How the loads that are about writing write.
    pub(super) const fn written(self) -> Option<Written> {
        let (batch_bytes, window, acks, replicas) = match self {
            Self::AcksOneLarge => (64 << 10, 16, 1, 1),
            Self::AcksOneMiddle => (16 << 10, 32, 1, 1),
            Self::AllLarge | Self::AllLargeFlushed => (64 << 10, 16, -1, 3),
            Self::AllSingleFlushed => (1, 256, -1, 3),
            _ => return None,
        };
        Some(Written { how: Produce { record_bytes: 1024, batch_bytes, window, acks }, replicas })
    }
}

impl Figure {
    /// The value with its unit.
    pub(super) fn shown(self, value: f64) -> String {
        match self {
            Self::Throughput => format!("{value:.3} GB/s"),
            Self::Processor => format!("{value:.2} s/GB"),
            Self::Records => format!("{value:.0} /s"),
            Self::Median | Self::Tail => format!("{value:.0} µs"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Memory => format!("{value:.0} MiB"),
            Self::Cores => format!("{value:.4} cores"),
        }
    }
}

/// The median of each figure over several runs.
pub(super) fn medians(runs: &[Figures]) -> Figures {
    let mut values: BTreeMap<Figure, Vec<f64>> = BTreeMap::new();
    for (figure, value) in runs.iter().flatten() {
        values.entry(*figure).or_default().push(*value);
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    values.into_iter().filter_map(|(figure, values)| Some((figure, median(values)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_own_median() {
        let run = |rate, tail| Figures::from([(Figure::Throughput, rate), (Figure::Tail, tail)]);
        let medians = medians(&[run(1.0, 9.0), run(3.0, 7.0), run(2.0, 8.0)]);
        assert_eq!(medians, run(2.0, 8.0));
    }

    #[test]
    fn names_are_different() {
        let names: std::collections::BTreeSet<&str> = Work::ALL.into_iter().map(Work::name).collect();
        assert_eq!(names.len(), Work::ALL.len());
    }
}
