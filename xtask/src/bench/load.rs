//! The load: each function drives one connection for a while and says what came of it.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::frames::{self, Batch};
use super::wire::Connection;

/// Frames that are sent at once stand one behind the other in memory, up to so many bytes.
const TOGETHER_BYTES: usize = 256 << 10;

/// What a throughput run did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Volume {
    /// Of batches.
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) seconds: f64,
}

impl Volume {
    pub(super) fn gigabytes(self) -> f64 {
        self.bytes as f64 / 1e9
    }
}

/// How a topic is written to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Produce {
    pub(super) record_bytes: usize,
    pub(super) batch_bytes: usize,
    /// Requests in flight.
    pub(super) window: usize,
    pub(super) acks: i16,
}

impl Produce {
    pub(super) fn batch(&self) -> Batch {
        Batch::new(self.record_bytes, self.batch_bytes)
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    Passed(Duration),
    Bytes(u64),
}

impl Until {
    fn is_over(self, started: Instant, bytes: u64) -> bool {
        match self {
            Self::Passed(duration) => started.elapsed() >= duration,
            Self::Bytes(most) => bytes >= most,
        }
    }
}

/// Keeps `how.window` requests in flight to the first partition of `topic`.
pub(super) fn produce(address: &str, topic: &str, how: &Produce, until: Until) -> Result<Volume> {
    let batch = how.batch();
    produce_round_robin(address, topic, &batch, how, 1, until)
}

/// The same, to `partitions` partitions in turn, all led by the broker at `address`.
pub(super) fn produce_round_robin(
    address: &str,
    topic: &str,
    batch: &Batch,
    how: &Produce,
    partitions: i32,
    until: Until,
) -> Result<Volume> {
    let mut ring = Ring::new(topic, batch, how, partitions);
    let mut connection = Connection::open(address)?;
    let (mut sent, mut answered) = (0_u64, 0_u64);
    let started = Instant::now();
    loop {
        if !until.is_over(started, sent * batch.bytes.len() as u64) {
            let free = how.window - usize::try_from(sent - answered)?;
            ring.send(&mut connection, free)?;
            sent += free as u64;
        }
        if sent == answered {
            break;
        }
        frames::produced(connection.answer()?)?;
        answered += 1;
        while let Some(answer) = connection.arrived()? {
            frames::produced(answer)?;
            answered += 1;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(Volume {
        bytes: answered * batch.bytes.len() as u64,
        records: answered * batch.records as u64,
        seconds,
    })
}

/// Request frames one behind the other, sent round and round.
struct Ring {
    bytes: Vec<u8>,
    /// Where each frame begins; the end of the last one is the last.
    bounds: Vec<usize>,
    next: usize,
}

impl Ring {
    fn new(topic: &str, batch: &Batch, how: &Produce, partitions: i32) -> Self {
        let one = batch.bytes.len().max(1);
        let fit = (TOGETHER_BYTES / one).clamp(1, how.window);
        let rounds = if partitions == 1 { fit } else { 1 };
        let (mut bytes, mut bounds) = (Vec::new(), vec![0]);
        for partition in (0..rounds).flat_map(|_| 0..partitions) {
            bytes.extend(batch.request(topic, partition, how.acks));
            bounds.push(bytes.len());
        }
        Self { bytes, bounds, next: 0 }
    }

    fn send(&mut self, connection: &mut Connection, mut count: usize) -> Result<()> {
        let frames = self.bounds.len() - 1;
        while count > 0 {
            let step = count.min(frames - self.next);
            let from = self.bounds.get(self.next).context("a frame begins")?;
            let to = self.bounds.get(self.next + step).context("a frame ends")?;
            connection.send(self.bytes.get(*from..*to).context("frames are in the ring")?)?;
            self.next = (self.next + step) % frames;
            count -= step;
        }
        Ok(())
    }
}

/// Reads the first partition of `topic` from offset `from` to its end, over and over, `bytes_max` at a time.
pub(super) fn fetch(
    address: &str,
    topic: &str,
    from: i64,
    bytes_max: i32,
    duration: Duration,
) -> Result<Volume> {
    let mut connection = Connection::open(address)?;
    let (mut offset, mut volume) = (from, Volume::default());
    let started = Instant::now();
    while started.elapsed() < duration {
        let fetched = frames::fetched(connection.call(&frames::fetch(topic, 0, offset, bytes_max, 500))?)?;
        volume.bytes += fetched.bytes as u64;
        offset = fetched.next_offset.filter(|next| *next < fetched.high_watermark).unwrap_or(from);
    }
    volume.seconds = started.elapsed().as_secs_f64();
    Ok(volume)
}

/// The time that each of many operations took, in microseconds, sorted.
#[derive(Debug, Default)]
pub(super) struct Times(Vec<f64>);

impl Times {
    fn of(mut times: VecDeque<Duration>, skipped: usize) -> Self {
        times.drain(..skipped.min(times.len()));
        let mut micros: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        micros.sort_by(f64::total_cmp);
        Self(micros)
    }

    /// The time within which this share of the operations was done.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let at = (self.0.len() as f64 * share) as usize;
        self.0.get(at.min(self.0.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }
}

/// Operations before those that count.
const SETTLING: usize = 200;
/// The record of the latency rows.
const SMALL: usize = 100;

/// One record at a time, each acknowledged before the next is sent.
pub(super) fn closed_loop(address: &str, topic: &str, acks: i16, duration: Duration) -> Result<Times> {
    let frame = Batch::new(SMALL, 1).request(topic, 0, acks);
    let mut connection = Connection::open(address)?;
    let mut times = VecDeque::new();
    let started = Instant::now();
    while started.elapsed() < duration || times.len() < 2 * SETTLING {
        let sent = Instant::now();
        frames::produced(connection.call(&frame)?)?;
        times.push_back(sent.elapsed());
    }
    Ok(Times::of(times, SETTLING))
}

/// One record a millisecond, from its sending until a consumer whose long poll was waiting has it.
pub(super) fn to_consumer(address: &str, topic: &str, duration: Duration) -> Result<Times> {
    let frame = Batch::new(SMALL, 1).request(topic, 0, -1);
    let (mut producer, mut consumer) = (Connection::open(address)?, Connection::open(address)?);
    let mut offset = frames::produced(producer.call(&frame)?)? + 1;
    let mut times = VecDeque::new();
    let started = Instant::now();
    while started.elapsed() < duration || times.len() < 2 * SETTLING {
        consumer.send(&frames::fetch(topic, 0, offset, 1 << 20, 5_000))?;
        thread::sleep(Duration::from_millis(1));
        let sent = Instant::now();
        frames::produced(producer.call(&frame)?)?;
        let fetched = frames::fetched(consumer.answer()?)?;
        times.push_back(sent.elapsed());
        offset = fetched.next_offset.context("a poll that waited came back empty")?;
    }
    Ok(Times::of(times, SETTLING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_count_from_the_fastest() {
        let times = (1..=100).rev().map(Duration::from_micros).collect();
        let times = Times::of(times, 0);
        assert_eq!(times.quantile(0.5).round(), 51.0);
        assert_eq!(times.quantile(0.99).round(), 100.0);
        assert!(Times::default().quantile(0.5).is_nan());
    }

    #[test]
    fn a_run_ends_by_time_or_by_bytes() {
        assert!(Until::Bytes(10).is_over(Instant::now(), 10));
        assert!(!Until::Passed(Duration::from_secs(600)).is_over(Instant::now(), u64::MAX));
    }
}
