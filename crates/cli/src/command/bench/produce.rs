//! `highwater bench produce`: throughput, and how long acknowledgements take under it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use futures_util::FutureExt;
use highwater_client::{ClientError, Pending, Producer, Record};
use serde::Serialize;
use tokio::task::JoinSet;

use super::{payload, per_second};
use crate::arguments::{Connection, timeout_of_records};
use crate::command::produce::{AcksChoice, Codec};
use crate::failure::{Code, Failure, Outcome};
use crate::output::latency::{Latencies, Quantiles};
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Send records as fast as the cluster takes them, or at a given rate
#[derive(Clone, Debug, Args)]
#[command(mut_arg(
    "timeout",
    timeout_of_records("they are connected to, and then for each record until it is acknowledged")
))]
pub(crate) struct Produce {
    /// The topic; it must be there
    topic: String,

    /// How many records
    #[arg(short = 'n', long, default_value_t = 1_000_000, allow_negative_numbers = true, value_name = "N")]
    records: u64,

    /// How large each value is
    #[arg(long, default_value = "100", allow_negative_numbers = true, value_parser = number::parse_record_bytes, value_name = "SIZE")]
    record_bytes: u64,

    /// Records per second over all producers [default: as fast as possible]
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,

    /// How many producers send at once
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    producers: u16,

    /// How batches are compressed
    #[arg(short = 'z', long, value_enum, default_value_t, value_name = "CODEC")]
    compression: Codec,

    /// When a record counts as stored
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    acks: AcksChoice,

    /// The most bytes of one batch
    #[arg(long, default_value = "1MB", allow_negative_numbers = true, value_parser = number::parse_batch_bytes, value_name = "SIZE")]
    batch_bytes: u64,

    /// How long a batch waits for more records
    #[arg(long, default_value = "0ms", value_parser = number::parse_duration, value_name = "DURATION")]
    linger: Duration,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Measured {
    records: u64,
    bytes: u64,
    seconds: f64,
    records_per_second: f64,
    bytes_per_second: f64,
    /// From handing a record over to its acknowledgement.
    acknowledged: Quantiles,
    #[serde(skip)]
    said: &'static str,
}

impl Report for Measured {
    fn text(&self, paint: Paint) -> String {
        let took = Duration::from_secs_f64(self.seconds);
        format!(
            "{}, {} in {} ({}, {}/s), {}\n\nfrom handing over to acknowledgement\n{}",
            number::counted(self.records, "record"),
            number::bytes(self.bytes),
            number::duration(took),
            number::rate(self.records, "records", took),
            number::bytes(self.bytes_per_second as u64),
            self.said,
            self.acknowledged.text(paint)
        )
    }
}

impl Produce {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let measured = block_on(self.measure())?;
        output::show(&measured, format)
    }

    async fn measure(&self) -> Outcome<Measured> {
        let session = Session::open(&self.connection).await?;
        if let Err(error) = session.admin().describe_topic(self.topic.as_str()).await {
            return Err(session.topic_failure(&self.topic, &error).await);
        }
        let started = Instant::now();
        let work = self.all_producers(&session);
        let latencies = tokio::select! {
            latencies = work => latencies?,
            _ = tokio::signal::ctrl_c() => return Err(Failure::quiet(Code::Interrupted)),
        };
        let took = started.elapsed();
        let bytes = self.records * self.record_bytes;
        Ok(Measured {
            records: self.records,
            bytes,
            seconds: took.as_secs_f64(),
            records_per_second: per_second(self.records, took),
            bytes_per_second: per_second(bytes, took),
            acknowledged: latencies.quantiles(),
            said: self.acks.said(),
        })
    }

    async fn all_producers(&self, session: &Session) -> Outcome<Latencies> {
        let mut producers = JoinSet::new();
        for index in 0..u64::from(self.producers) {
            let share = self.records / u64::from(self.producers)
                + u64::from(index < self.records % u64::from(self.producers));
            let producer = self.producer(session)?;
            let load = self.load(share);
            producers.spawn(send(session.clone(), producer, load));
        }
        let mut all = Latencies::new();
        while let Some(ended) = producers.join_next().await {
            let ended = ended
                .map_err(|error| Failure::new(Code::Failed, format!("a producer broke off: {error}")))?;
            all.merge(&ended?);
        }
        Ok(all)
    }

    fn producer(&self, session: &Session) -> Outcome<Producer> {
        let builder = session.client.producer();
        let built = builder
            .acks(self.acks.into())
            .compression(self.compression.into())
            .batch_bytes_max(usize::try_from(self.batch_bytes).unwrap_or(usize::MAX))
            .linger(self.linger)
            .delivery_timeout(self.connection.timeout)
            .auto_create_topics(false)
            .build();
        built.map_err(|error| session.failure(&error))
    }

    fn load(&self, records: u64) -> Load {
        let producers = u32::from(self.producers);
        // A rate of more than one record in a nanosecond is as fast as possible.
        let every = self
            .rate
            .map(|rate| Duration::from_secs(1) * producers / u32::try_from(rate).unwrap_or(u32::MAX));
        let record_bytes = usize::try_from(self.record_bytes).unwrap_or(usize::MAX);
        Load { topic: self.topic.as_str().into(), value: payload(record_bytes), records, every }
    }
}

/// What one producer sends.
struct Load {
    topic: Arc<str>,
    value: Bytes,
    records: u64,
    /// From one record to the next; none is as fast as possible.
    every: Option<Duration>,
}

async fn send(session: Session, producer: Producer, load: Load) -> Outcome<Latencies> {
    let failed = |error: ClientError| session.failure(&error);
    let mut waiting = VecDeque::new();
    let mut latencies = hand_over(&producer, &load, &mut waiting).await.map_err(failed)?;
    session.patiently("acknowledgement", producer.flush()).await?.map_err(failed)?;
    while let Some((handed_over, pending)) = waiting.pop_front() {
        pending.await.map_err(failed)?;
        latencies.record(handed_over.elapsed());
    }
    Ok(latencies)
}

/// Hands all records over; those that are not acknowledged then are in `waiting`.
async fn hand_over(
    producer: &Producer,
    load: &Load,
    waiting: &mut VecDeque<(Instant, Pending)>,
) -> Result<Latencies, ClientError> {
    let mut latencies = Latencies::new();
    let started = Instant::now();
    for index in 0..load.records {
        if let Some(every) = load.every {
            let due = started + every.mul_f64(index as f64);
            answered_until(due, waiting, &mut latencies).await?;
        }
        let record = Record::to(Arc::clone(&load.topic)).value(load.value.clone());
        let handed_over = Instant::now();
        waiting.push_back((handed_over, producer.enqueue(record).await?));
        take_answered(waiting, &mut latencies)?;
    }
    Ok(latencies)
}

fn take_answered(
    waiting: &mut VecDeque<(Instant, Pending)>,
    latencies: &mut Latencies,
) -> Result<(), ClientError> {
    while let Some((handed_over, pending)) = waiting.front_mut() {
        let Some(answer) = pending.now_or_never() else { break };
        answer?;
        latencies.record(handed_over.elapsed());
        waiting.pop_front();
    }
    Ok(())
}

/// Waits for the time of the next record, and takes answers as they come meanwhile.
async fn answered_until(
    due: Instant,
    waiting: &mut VecDeque<(Instant, Pending)>,
    latencies: &mut Latencies,
) -> Result<(), ClientError> {
    let due = tokio::time::Instant::from_std(due);
    while let Some((handed_over, pending)) = waiting.front_mut() {
        let Ok(answer) = tokio::time::timeout_at(due, pending).await else { return Ok(()) };
        answer?;
        latencies.record(handed_over.elapsed());
        waiting.pop_front();
    }
    tokio::time::sleep_until(due).await;
    Ok(())
}
