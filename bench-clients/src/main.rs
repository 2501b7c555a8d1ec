//! Produces or consumes a number of records by one of two clients, and prints what it took as one line of JSON. Whoever compares gives each
//! run a process of its own, so that memory and processor time are the client's alone.

use std::time::Instant;

use anyhow::Result;
use clap::{Parser, ValueEnum};

mod ours;
mod records;
mod theirs;
mod usage;

#[derive(Debug, Parser)]
struct Arguments {
    /// Which client
    #[arg(long, value_enum)]
    client: Which,
    /// What it does
    #[arg(long = "do", value_enum)]
    what: What,
    /// A broker's address
    #[arg(long, value_name = "HOST:PORT")]
    bootstrap: String,
    /// A topic of one partition, which is there
    #[arg(long)]
    topic: String,
    /// How many records
    #[arg(long, default_value_t = 5_000_000)]
    records: u64,
    /// How batches are compressed
    #[arg(long, value_enum, default_value_t = Codec::None)]
    compression: Codec,
    /// The most bytes of a batch
    #[arg(long, default_value_t = 1_000_000)]
    batch_bytes: usize,
    /// How long a batch waits for more records, in milliseconds
    #[arg(long, default_value_t = 5)]
    linger_ms: u64,
    /// Requests on their way at once
    #[arg(long, default_value_t = 5)]
    in_flight: usize,
    /// The most bytes of records that the producer holds, and of batches that the consumer fetches ahead
    #[arg(long, default_value_t = 32 << 20)]
    buffer_bytes: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    Highwater,
    Librdkafka,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    Produce,
    Consume,
    /// Consume whole batches and look at the records in them; only Highwater's client has that
    ConsumeBatches,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Codec {
    None,
    Lz4,
}

/// What was moved.
#[derive(Debug, Default)]
struct Moved {
    records: u64,
    /// Of values.
    bytes: u64,
    seconds: f64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let before = usage::processor_seconds()?;
    let moved = match arguments.client {
        Which::Highwater => ours::run(&arguments)?,
        Which::Librdkafka => theirs::run(&arguments)?,
    };
    println!(
        "{{\"records\": {}, \"bytes\": {}, \"seconds\": {:.6}, \"processor_seconds\": {:.2}, \"memory_peak_kib\": {}}}",
        moved.records,
        moved.bytes,
        moved.seconds,
        usage::processor_seconds()? - before,
        usage::memory_peak_kib()?
    );
    Ok(())
}

/// Times what moves records.
fn timed(work: impl FnOnce() -> Result<(u64, u64)>) -> Result<Moved> {
    let started = Instant::now();
    let (records, bytes) = work()?;
    Ok(Moved { records, bytes, seconds: started.elapsed().as_secs_f64() })
}
