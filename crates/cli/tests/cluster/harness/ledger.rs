//! What was sent, what was acknowledged, and what is there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::FutureExt;
use futures_util::stream::FuturesUnordered;
use highwater_client::{Ack, Client, ClientError, ConsumedRecord, Record, Start};
use tokio::task::JoinHandle;

use super::until;

/// A record's key is its number modulo this.
pub(crate) const KEYS: u64 = 16;
/// Records on their way at once.
const WINDOW: usize = 48;
const READ_LIMIT: Duration = Duration::from_secs(60);

/// A producer (idempotent, all in-sync replicas) that sends without end, each key's records numbered.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    task: JoinHandle<()>,
}

/// What became of each record that was sent.
#[derive(Default)]
pub(crate) struct Ledger {
    /// In the order in which the acknowledgements came.
    pub(crate) acked: Vec<Acked>,
    pub(crate) failed: Vec<ClientError>,
}

/// An acknowledged record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// Its place among all records sent; its key is this modulo the number of keys.
    pub(crate) number: u64,
    pub(crate) partition: u32,
    /// −1 if a retry found the record there already, and where is not known.
    pub(crate) offset: i64,
    pub(crate) at: Instant,
}

impl Load {
    pub(crate) fn start(client: &Client, topic: &str) -> Self {
        Self::sized(client, topic, 64)
    }

    /// The same with values of this many bytes.
    pub(crate) fn sized(client: &Client, topic: &str, bytes: usize) -> Self {
        let (stop, ledger) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Ledger::default())));
        let sending = send(client.clone(), topic.into(), bytes, Arc::clone(&stop), Arc::clone(&ledger));
        Self { stop, ledger, task: tokio::spawn(sending) }
    }

    pub(crate) fn acked(&self) -> usize {
        lock(&self.ledger).acked.len()
    }

    /// What was acknowledged up to then.
    pub(crate) fn acked_until(&self, then: Instant) -> Ledger {
        let ledger = lock(&self.ledger);
        let acked = ledger.acked.iter().copied().filter(|acked| acked.at <= then).collect();
        Ledger { acked, failed: Vec::new() }
    }

    /// Waits until so many more records are acknowledged.
    pub(crate) async fn more(&self, records: usize) {
        let wanted = self.acked() + records;
        until("more acknowledgements", Duration::from_secs(30), async || {
            (self.acked() >= wanted).then_some(())
        })
        .await;
    }

    /// Sends no more and waits for what is on its way.
    pub(crate) async fn stop(self) -> Ledger {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        std::mem::take(&mut *lock(&self.ledger))
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn send(
    client: Client,
    topic: Arc<str>,
    bytes: usize,
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
) {
    let producer = client.producer().auto_create_topics(false).build().unwrap();
    let mut waiting = FuturesUnordered::new();
    let mut next = 0;
    loop {
        let stopped = stop.load(Ordering::Relaxed);
        tokio::select! {
            biased;
            Some((number, result)) = waiting.next(), if !waiting.is_empty() => {
                lock(&ledger).note(number, result);
            }
            accepted = producer.enqueue(record(&topic, next, bytes)), if !stopped && waiting.len() < WINDOW => {
                let number = next;
                next += 1;
                match accepted {
                    Ok(pending) => waiting.push(pending.map(move |result| (number, result))),
                    Err(error) => lock(&ledger).failed.push(error),
                }
            }
            else => return,
        }
    }
}

fn record(topic: &Arc<str>, number: u64, bytes: usize) -> Record {
    let value = format!("{number:0bytes$}");
    Record::to(Arc::clone(topic)).key(format!("k{}", number % KEYS)).value(value)
}

impl Ledger {
    fn note(&mut self, number: u64, result: Result<Ack, ClientError>) {
        match result {
            Ok(Ack { partition, offset, .. }) => {
                self.acked.push(Acked { number, partition, offset, at: Instant::now() });
            }
            Err(error) => self.failed.push(error),
        }
    }

    /// Nothing that was sent failed.
    pub(crate) fn all_acknowledged(&self) {
        assert!(self.failed.is_empty(), "{} failed, such as: {}", self.failed.len(), self.failed[0]);
    }

    /// The longest time without an acknowledgement.
    pub(crate) fn longest_gap(&self) -> Duration {
        let pairs = self.acked.windows(2).map(|pair| pair[1].at.duration_since(pair[0].at));
        pairs.max().unwrap_or_default()
    }

    /// What is wrong with what was read: an acknowledged record that is missing or misplaced, or a flaw of the topic.
    pub(crate) fn fault(&self, read: &Read) -> Option<String> {
        let places = read.places();
        for acked in &self.acked {
            let Some(found) = places.get(&acked.number) else {
                return Some(format!("{acked:?} is missing among {} records", read.records.len()));
            };
            let told = (acked.partition, acked.offset);
            if acked.offset >= 0 && !found.contains(&told) {
                return Some(format!("{acked:?} is there at {found:?}"));
            }
        }
        read.flaw()
    }

    /// Every acknowledged record is there, once, where its acknowledgement said, and in the order of its key.
    pub(crate) fn check(&self, read: &Read) {
        assert!(!self.acked.is_empty(), "something was acknowledged");
        if let Some(fault) = self.fault(read) {
            panic!("{fault}");
        }
    }
}

/// Everything that a topic holds, each partition in order, whoever read it.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) records: Vec<Found>,
}

/// A record that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) partition: u32,
    pub(crate) offset: i64,
    /// Its place among all records sent, if it is one of a [`Load`].
    pub(crate) number: Option<u64>,
}

impl Read {
    fn numbered(&self) -> impl Iterator<Item = (u64, &Found)> {
        self.records.iter().filter_map(|record| Some((record.number?, record)))
    }

    /// Where each record is.
    fn places(&self) -> BTreeMap<u64, Vec<(u32, i64)>> {
        let mut places: BTreeMap<u64, Vec<(u32, i64)>> = BTreeMap::new();
        for (number, record) in self.numbered() {
            places.entry(number).or_default().push((record.partition, record.offset));
        }
        places
    }

    /// A record that is there twice, or two of one key in the wrong order.
    pub(crate) fn flaw(&self) -> Option<String> {
        let doubled = self.places().into_iter().find(|(_, places)| places.len() > 1);
        if let Some((number, places)) = doubled {
            return Some(format!("record {number} is there at {places:?}"));
        }
        let mut last: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        for (number, record) in self.numbered() {
            let before = last.insert((record.partition, number % KEYS), number);
            if let Some(before) = before.filter(|before| *before > number) {
                return Some(format!("record {number} stands behind {before} at {}", record.offset));
            }
        }
        None
    }
}

fn found(record: &ConsumedRecord) -> Found {
    let text = record.value.as_deref().and_then(|value| std::str::from_utf8(value).ok());
    let number = text.and_then(|text| text.parse().ok());
    Found { partition: record.partition, offset: record.offset, number }
}

/// Reads a topic from its beginning to the end that it has now.
pub(crate) async fn read_all(client: &Client, topic: &str) -> Read {
    tokio::time::timeout(READ_LIMIT, try_read(client, topic)).await.expect("a topic is read in time").unwrap()
}

async fn try_read(client: &Client, topic: &str) -> Result<Read, ClientError> {
    let mut consumer = client.consumer(topic).start(Start::Earliest).until_end().build().await?;
    let mut records = Vec::new();
    while let Some(record) = consumer.try_next().await? {
        records.push(found(&record));
    }
    Ok(Read { records })
}

/// Reads one partition from its beginning to the record at `last`.
pub(crate) async fn read_to(client: &Client, topic: &str, partition: u32, last: i64) -> Read {
    let consumer = client.consumer(topic).partitions([partition]).start(Start::Earliest);
    let mut consumer = consumer.build().await.unwrap();
    let mut records = Vec::new();
    while let Some(record) = consumer.try_next().await.unwrap() {
        records.push(found(&record));
        if record.offset >= last {
            break;
        }
    }
    Read { records }
}
