//! Highwater's client, as its users write for speed: one task that hands records over, and looks at the acknowledgements a while later.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use highwater_client::{Acks, Client, Compression, Consumer, Record, Start};

use crate::{Arguments, Codec, Moved, What, records, timed};

/// Acknowledgements that are waited for later.
const PENDING_MAX: usize = 100_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Moved> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let client = runtime.block_on(Client::connect(arguments.bootstrap.as_str()))?;
    match arguments.what {
        What::Produce => timed(|| runtime.block_on(produce(&client, arguments))),
        What::Consume => {
            let consumer = runtime.block_on(consumer(&client, arguments))?;
            timed(|| runtime.block_on(consume(consumer, arguments.records)))
        }
        What::ConsumeBatches => {
            let consumer = runtime.block_on(consumer(&client, arguments))?;
            timed(|| runtime.block_on(consume_batches(consumer, arguments.records)))
        }
    }
}

async fn produce(client: &Client, arguments: &Arguments) -> Result<(u64, u64)> {
    let producer = client
        .producer()
        .acks(Acks::Leader)
        .compression(match arguments.compression {
            Codec::None => Compression::None,
            Codec::Lz4 => Compression::Lz4,
        })
        .batch_bytes_max(arguments.batch_bytes)
        .linger(Duration::from_millis(arguments.linger_ms))
        .in_flight_max(arguments.in_flight)
        .buffer_bytes_max(arguments.buffer_bytes)
        .build()?;
    let topic: Arc<str> = arguments.topic.as_str().into();
    let values = records::all();
    let (mut pending, mut acknowledged) = (VecDeque::with_capacity(PENDING_MAX), 0);
    for value in values.iter().cycle().take(usize::try_from(arguments.records)?) {
        let record = Record::to(Arc::clone(&topic)).value(Bytes::copy_from_slice(value));
        if pending.len() == PENDING_MAX {
            let oldest: highwater_client::Pending = pending.pop_front().context("there are many")?;
            oldest.await?;
            acknowledged += 1;
        }
        pending.push_back(producer.enqueue(record).await?);
    }
    producer.flush().await?;
    for left in pending {
        left.await?;
        acknowledged += 1;
    }
    Ok((acknowledged, acknowledged * records::BYTES as u64))
}

async fn consumer(client: &Client, arguments: &Arguments) -> Result<Consumer> {
    let builder = client.consumer(arguments.topic.as_str()).start(Start::Earliest);
    Ok(builder.build().await?)
}

async fn consume(mut consumer: Consumer, count: u64) -> Result<(u64, u64)> {
    let mut bytes = 0;
    for _ in 0..count {
        let record = consumer.try_next().await?.context("the stream has no end")?;
        bytes += record.value.map_or(0, |value| value.len() as u64);
    }
    Ok((count, bytes))
}

async fn consume_batches(consumer: Consumer, count: u64) -> Result<(u64, u64)> {
    let mut batches = consumer.into_batches();
    let (mut records, mut bytes) = (0, 0);
    while records < count {
        let batch = batches.try_next().await?.context("the stream has no end")?;
        for record in batch.records() {
            bytes += record?.value.map_or(0, |value| value.len() as u64);
            records += 1;
        }
    }
    Ok((records, bytes))
}
