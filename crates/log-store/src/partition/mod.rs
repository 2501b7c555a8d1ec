//! One replica's log of one partition.

pub mod types;
