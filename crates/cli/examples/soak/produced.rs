//! The producer of one topic: at a fixed rate, and never further ahead of the consumers than retention reaches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use highwater_client::{Ack, ClientError, Producer, Record};
use tokio::time::MissedTickBehavior;

use crate::Load;
use crate::book::{At, Fault, Number};

/// The length of a value: with key and overhead a record takes little more than 1 KiB.
const VALUE_BYTES: usize = 1_000;
/// Sent at once, so often.
const BURST_EVERY: Duration = Duration::from_millis(20);

/// Sends until the load is stopped, then waits for all acknowledgements.
pub(crate) async fn run(load: Arc<Load>, producer: Producer, topic: Arc<str>) -> Result<(), Fault> {
    let burst = per_burst(&load);
    let unread_max = unread_max(&load);
    let mut every = tokio::time::interval(BURST_EVERY);
    // What could not be sent in time is not made up for: the load is the same at all times.
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waiting = FuturesUnordered::new();
    while !load.is_stopped() {
        tokio::select! {
            biased;
            Some((number, result)) = waiting.next(), if !waiting.is_empty() => {
                note(&load, &topic, number, result)?;
            }
            _ = every.tick() => {
                for _ in 0..burst {
                    let Some(number) = next(&load, &topic, unread_max)? else { break };
                    let pending = producer.enqueue(record(&topic, number)).await?;
                    waiting.push(pending.map(move |result| (number, result)));
                }
            }
        }
    }
    while let Some((number, result)) = waiting.next().await {
        note(&load, &topic, number, result)?;
    }
    load.producing.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

fn per_burst(load: &Load) -> u64 {
    let per_second = load.arguments.rate / load.arguments.topics.max(1) as u64;
    (per_second * BURST_EVERY.as_millis() as u64 / 1_000).max(1)
}

/// A quarter of what all partitions of the topic keep: the keys are spread unevenly over the partitions.
fn unread_max(load: &Load) -> u64 {
    let kept = load.arguments.retention_bytes * u64::from(load.arguments.partitions);
    kept / 4 / VALUE_BYTES as u64
}

/// The next record, unless too many are unread.
fn next(load: &Load, topic: &str, unread_max: u64) -> Result<Option<Number>, Fault> {
    let mut book = load.book(topic)?;
    Ok((book.unread() < unread_max).then(|| book.next()))
}

fn note(load: &Load, topic: &str, number: Number, result: Result<Ack, ClientError>) -> Result<(), Fault> {
    let Ack { partition, offset, .. } =
        result.map_err(|error| Fault::new(format!("{number} of {topic} failed: {error}")))?;
    load.book(topic)?.on_acked(number, At { partition, offset })
}

fn record(topic: &Arc<str>, number: Number) -> Record {
    let value = format!("{} {:0width$}", number.key, number.place, width = VALUE_BYTES);
    Record::to(Arc::clone(topic)).key(format!("key-{}", number.key)).value(value)
}
