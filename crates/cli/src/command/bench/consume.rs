//! `highwater bench consume`: how fast records are read.

use std::time::{Duration, Instant};

use clap::Args;
use futures_util::FutureExt;
use highwater_client::{ClientError, Consumer, OffsetSpec, Start};
use serde::Serialize;

use super::per_second;
use crate::arguments::{Connection, timeout_of_records};
use crate::failure::{Code, Failure, Outcome};
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Read a topic from its beginning as fast as it comes
#[derive(Debug, Args)]
#[command(mut_arg("timeout", timeout_of_records("reading begins, and then for each record")))]
pub(crate) struct Consume {
    /// The topic
    topic: String,

    /// How many records [default: all that are there]
    #[arg(short = 'n', long, allow_negative_numbers = true, value_name = "N")]
    records: Option<u64>,

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
    /// From the request to the first record.
    first_record_us: u64,
}

impl Report for Measured {
    fn text(&self, _: Paint) -> String {
        let took = Duration::from_secs_f64(self.seconds);
        format!(
            "{}, {} in {} ({}, {}/s), the first after {}\n",
            number::counted(self.records, "record"),
            number::bytes(self.bytes),
            number::duration(took),
            number::rate(self.records, "records", took),
            number::bytes(self.bytes_per_second as u64),
            number::duration(Duration::from_micros(self.first_record_us))
        )
    }
}

impl Consume {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let measured = block_on(self.measure())?;
        output::show(&measured, format)
    }

    async fn measure(&self) -> Outcome<Measured> {
        let session = Session::open(&self.connection).await?;
        let wanted = match self.kept(&session).await {
            Ok(kept) => self.records.unwrap_or(kept).min(kept),
            Err(error) => return Err(session.topic_failure(&self.topic, &error).await),
        };
        if wanted == 0 {
            return Err(Failure::new(Code::Failed, format!("topic {} holds no records", self.topic))
                .or(format!("highwater bench produce {} makes some", self.topic)));
        }
        let started = Instant::now();
        let consumer = session.client.consumer(self.topic.as_str()).start(Start::Earliest).build();
        let consumer = session.in_time("finding where to begin", consumer).await?;
        let consumer = consumer.map_err(|error| session.failure(&error))?;
        tokio::select! {
            read = read(&session, consumer, wanted, started) => read,
            _ = tokio::signal::ctrl_c() => Err(Failure::quiet(Code::Interrupted)),
        }
    }

    /// How many offsets the topic has, in all partitions.
    async fn kept(&self, session: &Session) -> Result<u64, ClientError> {
        let topic = session.admin().describe_topic(self.topic.as_str()).await?;
        let partitions: Vec<u32> = topic.partitions.iter().map(|partition| partition.partition).collect();
        let mut sums = [0; 2];
        for (sum, spec) in sums.iter_mut().zip([OffsetSpec::Earliest, OffsetSpec::Latest]) {
            for answer in session.admin().list_offsets(topic.name.clone(), partitions.clone(), spec).await? {
                *sum += answer?.offset.unwrap_or(0);
            }
        }
        let [start, end] = sums;
        Ok(u64::try_from(end - start).unwrap_or(0))
    }
}

async fn read(session: &Session, mut consumer: Consumer, wanted: u64, started: Instant) -> Outcome<Measured> {
    let mut records = 0;
    let mut bytes = 0;
    let mut first = Duration::ZERO;
    while records < wanted {
        let next = match consumer.try_next().now_or_never() {
            Some(next) => next,
            None => session.patiently("the next record", consumer.try_next()).await?,
        };
        let Some(record) = next.map_err(|error| session.failure(&error))? else { break };
        if records == 0 {
            first = started.elapsed();
        }
        records += 1;
        let of = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len) as u64;
        bytes += of(&record.key) + of(&record.value);
    }
    let took = started.elapsed();
    let closed = session.patiently("leaving", consumer.close()).await?;
    closed.map_err(|error| session.failure(&error))?;
    Ok(Measured {
        records,
        bytes,
        seconds: took.as_secs_f64(),
        records_per_second: per_second(records, took),
        bytes_per_second: per_second(bytes, took),
        first_record_us: u64::try_from(first.as_micros()).unwrap_or(u64::MAX),
    })
}
