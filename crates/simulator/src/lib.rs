//! Whole brokers in one thread, under seeded time, network, disks and clients: the same run for the same seed.
//!
//! `Shard` and `Control` of `broker-core` run as they are shipped, with the logs, machines and metadata below them; only
//! agreement in the metadata quorum is a model. A seed decides the cluster, its clients and its faults; oracles that know
//! none of the rules look at every step; in the end faults stop, and everything must become well.

#![forbid(unsafe_code)]

mod client;
mod command;
mod coverage;
mod dice;
#[cfg(highwater_mutations)]
mod mutations;
mod oracle;
mod plan;
mod quorum;
mod regressions;
mod run;
mod trace;
mod world;

pub use command::Arguments;
pub use coverage::Coverage;
pub use oracle::Violation;
pub use plan::Mix;
pub use run::{Options, Outcome, Summary, run_many, tell};
