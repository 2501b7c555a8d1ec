//! `highwater bench`: how fast a cluster is, measured from a client.

use std::time::Duration;

use bytes::Bytes;
use clap::Subcommand;

use crate::failure::Outcome;
use crate::output::Format;

mod consume;
mod latency;
mod produce;

/// Measure a cluster
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    Produce(produce::Produce),
    Consume(consume::Consume),
    Latency(latency::Latency),
}

impl Bench {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        match self {
            Self::Produce(produce) => produce.run(format),
            Self::Consume(consume) => consume.run(format),
            Self::Latency(latency) => latency.run(format),
        }
    }
}

/// A value of so many bytes that does not compress to nothing: half of it repeats, as in real records.
fn payload(bytes: usize) -> Bytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |index: usize| {
        if index.is_multiple_of(2) {
            return b'a';
        }
        // xorshift64: good enough to be incompressible.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b' ' + (state % 95) as u8
    };
    (0..bytes).map(next).collect::<Vec<u8>>().into()
}

fn per_second(number: u64, took: Duration) -> f64 {
    number as f64 / took.as_secs_f64().max(1e-9)
}
