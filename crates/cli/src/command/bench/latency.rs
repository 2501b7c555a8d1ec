//! `highwater bench latency`: one record at a time, from a producer to its acknowledgement and to a consumer.

use std::time::Instant;

use clap::Args;
use highwater_client::{ClientError, Consumer, Producer, Record, Start};
use serde::Serialize;

use super::payload;
use crate::arguments::{Connection, timeout_of_records};
use crate::command::produce::AcksChoice;
use crate::failure::{Code, Failure, Outcome};
use crate::output::latency::{Latencies, Quantiles};
use crate::output::{self, Format, Paint, Report, number};
use crate::session::{Session, block_on};

/// Send one record at a time and measure when it is acknowledged and when it arrives
#[derive(Debug, Args)]
#[command(mut_arg("timeout", timeout_of_records("they are connected to, and then for each record")))]
pub(crate) struct Latency {
    /// The topic; it must be there
    topic: String,

    /// How many records
    #[arg(short = 'n', long, default_value_t = 10_000, allow_negative_numbers = true, value_name = "N")]
    records: u64,

    /// How large each value is
    #[arg(long, default_value = "100", allow_negative_numbers = true, value_parser = number::parse_record_bytes, value_name = "SIZE")]
    record_bytes: u64,

    /// The partition to send to
    #[arg(short, long, default_value_t = 0, allow_negative_numbers = true, value_name = "N")]
    partition: u32,

    /// When a record counts as stored
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    acks: AcksChoice,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Measured {
    /// From sending to the acknowledgement.
    acknowledged: Quantiles,
    /// From sending to the consumer's having the record.
    received: Quantiles,
}

impl Report for Measured {
    fn text(&self, paint: Paint) -> String {
        format!(
            "from sending to acknowledgement\n{}\nfrom sending to a consumer\n{}",
            self.acknowledged.text(paint),
            self.received.text(paint)
        )
    }
}

/// The first records open connections and fill caches; they are not counted.
const WARM_UP: u64 = 100;

impl Latency {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let measured = block_on(self.measure())?;
        output::show(&measured, format)
    }

    async fn measure(&self) -> Outcome<Measured> {
        if self.acks == AcksChoice::None {
            return Err(Failure::new(Code::Usage, "without acknowledgements there is no latency to measure"));
        }
        let session = Session::open(&self.connection).await?;
        if let Err(error) = session.admin().describe_topic(self.topic.as_str()).await {
            return Err(session.topic_failure(&self.topic, &error).await);
        }
        tokio::select! {
            measured = self.exchange(&session) => measured,
            _ = tokio::signal::ctrl_c() => Err(Failure::quiet(Code::Interrupted)),
        }
    }

    async fn exchange(&self, session: &Session) -> Outcome<Measured> {
        let failed = |error: ClientError| session.failure(&error);
        let (producer, mut consumer) =
            session.patiently("the first record", self.opened(session)).await?.map_err(failed)?;
        let record = self.record();
        let (mut acknowledged, mut received) = (Latencies::new(), Latencies::new());
        for index in 0..WARM_UP + self.records {
            let exchanged = once(&producer, &mut consumer, record.clone());
            let (ack, receipt) = session.patiently("the next record", exchanged).await?.map_err(failed)?;
            if index >= WARM_UP {
                acknowledged.record(ack);
                received.record(receipt);
            }
        }
        session.patiently("leaving", consumer.close()).await?.map_err(failed)?;
        Ok(Measured { acknowledged: acknowledged.quantiles(), received: received.quantiles() })
    }

    /// The consumer begins behind a record that is known to be there, so that it misses none.
    async fn opened(&self, session: &Session) -> Result<(Producer, Consumer), ClientError> {
        let producer = session.client.producer().acks(self.acks.into()).auto_create_topics(false);
        let producer = producer.delivery_timeout(session.timeout).build()?;
        let first = producer.send(self.record()).await?;
        let consumer = session.client.consumer(self.topic.as_str()).partitions([self.partition]);
        Ok((producer, consumer.start(Start::Offset(first.offset + 1)).build().await?))
    }

    fn record(&self) -> Record {
        let bytes = usize::try_from(self.record_bytes).unwrap_or(usize::MAX);
        Record::to(self.topic.as_str()).partition(self.partition).value(payload(bytes))
    }
}

async fn once(
    producer: &Producer,
    consumer: &mut Consumer,
    record: Record,
) -> Result<(std::time::Duration, std::time::Duration), ClientError> {
    let sent = Instant::now();
    let acknowledged = async { producer.send(record).await.map(|_| sent.elapsed()) };
    let received = async { consumer.try_next().await.map(|_| sent.elapsed()) };
    tokio::try_join!(acknowledged, received)
}
