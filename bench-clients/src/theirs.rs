//! librdkafka by the crate `rdkafka`, as its users write for speed: the producer with a thread for its callbacks, the consumer polled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::{Arguments, Codec, Moved, What, records, timed};

const FLUSH_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &Arguments) -> Result<Moved> {
    match arguments.what {
        What::Produce => {
            let counts = Arc::new(Counts::default());
            let producer = producer(arguments, &counts)?;
            timed(|| produce(&producer, arguments, &counts))
        }
        What::Consume => {
            let consumer = consumer(arguments)?;
            timed(|| consume(&consumer, arguments.records))
        }
        What::ConsumeBatches => bail!("librdkafka gives no batches"),
    }
}

/// What the callbacks have seen.
#[derive(Debug, Default)]
struct Counts {
    delivered: AtomicU64,
    failed: AtomicU64,
}

struct Counting(Arc<Counts>);

impl ClientContext for Counting {}

impl ProducerContext for Counting {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let count = if result.is_ok() { &self.0.delivered } else { &self.0.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

fn producer(arguments: &Arguments, counts: &Arc<Counts>) -> Result<ThreadedProducer<Counting>> {
    let codec = match arguments.compression {
        Codec::None => "none",
        Codec::Lz4 => "lz4",
    };
    let producer = ClientConfig::new()
        .set("bootstrap.servers", &arguments.bootstrap)
        .set("acks", "1")
        .set("enable.idempotence", "false")
        .set("compression.type", codec)
        .set("batch.size", arguments.batch_bytes.to_string())
        // Ten thousand by default, which would end a batch of small records before its bytes do.
        .set("batch.num.messages", "1000000")
        .set("linger.ms", arguments.linger_ms.to_string())
        .set("max.in.flight.requests.per.connection", arguments.in_flight.to_string())
        .set("queue.buffering.max.kbytes", (arguments.buffer_bytes / 1024).to_string())
        .create_with_context(Counting(Arc::clone(counts)))?;
    Ok(producer)
}

fn produce(
    producer: &ThreadedProducer<Counting>,
    arguments: &Arguments,
    counts: &Counts,
) -> Result<(u64, u64)> {
    let values = records::all();
    for value in values.iter().cycle().take(usize::try_from(arguments.records)?) {
        let mut record = BaseRecord::<(), [u8]>::to(&arguments.topic).payload(value);
        while let Err((error, refused)) = producer.send(record) {
            let full = matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull));
            ensure!(full, "a record was refused: {error}");
            // Waits for a delivery.
            producer.poll(Duration::from_millis(1));
            record = refused;
        }
    }
    producer.flush(FLUSH_LIMIT)?;
    let delivered = counts.delivered.load(Ordering::Relaxed);
    let failed = counts.failed.load(Ordering::Relaxed);
    ensure!(failed == 0 && delivered == arguments.records, "{delivered} delivered, {failed} failed");
    Ok((delivered, delivered * records::BYTES as u64))
}

fn consumer(arguments: &Arguments) -> Result<BaseConsumer> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &arguments.bootstrap)
        // Asked for by the crate; nothing is committed.
        .set("group.id", "bench")
        .set("enable.auto.commit", "false")
        .set("check.crcs", "true")
        // A second by default, in which a fast reader waits before a queue that has run empty.
        .set("fetch.queue.backoff.ms", "5")
        .set("queued.max.messages.kbytes", (arguments.buffer_bytes / 1024).to_string())
        .create()?;
    let mut partitions = TopicPartitionList::new();
    partitions.add_partition_offset(&arguments.topic, 0, Offset::Beginning)?;
    consumer.assign(&partitions)?;
    Ok(consumer)
}

fn consume(consumer: &BaseConsumer, count: u64) -> Result<(u64, u64)> {
    let mut bytes = 0;
    for _ in 0..count {
        let message = consumer.poll(POLL).context("no record has come for long")??;
        bytes += message.payload().map_or(0, |value| value.len() as u64);
    }
    Ok((count, bytes))
}
