//! Producers: records on their way in, deliveries on their way out.

use std::collections::BTreeMap;

use bytes::Bytes;
use client_core::{
    Accumulator, BatchId, CallId, ClientError, Delivery, Header, ProducerHandle, Record, Refused,
};
use js_sys::{Array, Uint8Array};
use log_core::Now;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{Engine, Topic, call_id};
use crate::clock;
use crate::settings::{self, Settings};

/// What [`Engine::append`] says when the buffer is full, and when the topic is not known yet.
const AWAIT_ROOM: f64 = -1.0;
const AWAIT_TOPIC: f64 = -2.0;

/// The engine's side of a producer.
pub(super) struct ProducerEnd {
    pub(super) accumulator: Accumulator,
    pub(super) pull: bool,
    pub(super) first_failure: Option<ClientError>,
    /// Topics by the numbers that JavaScript uses for them.
    topics: Vec<Topic>,
    /// Batches of which not every record is done.
    open: BTreeMap<BatchId, Open>,
    /// Calls that wait until every batch before one is done.
    flushes: Vec<(BatchId, CallId)>,
    is_released: bool,
}

struct Open {
    partition: u32,
    records: u32,
    done: u32,
}

#[wasm_bindgen]
impl Engine {
    /// A new producer, under a number that was not used before.
    pub fn open_producer(&mut self, producer: u32, settings: &Settings) -> Result<(), JsValue> {
        let options = settings::producer_options(settings).checked().map_err(|error| self.error(&error))?;
        let now = clock::now();
        let handle = ProducerHandle(producer);
        let seed = self.environment.seed.wrapping_add(u64::from(producer));
        let end = ProducerEnd {
            accumulator: Accumulator::new(&options, seed),
            pull: true,
            first_failure: None,
            topics: Vec::new(),
            open: BTreeMap::new(),
            flushes: Vec::new(),
            is_released: false,
        };
        self.producers.insert(handle, end);
        self.brain.open_producer(now, handle, options);
        self.run(now);
        Ok(())
    }

    /// A number for a topic, to be used in [`append`](Self::append).
    pub fn topic_number(&mut self, producer: u32, topic: String) -> u32 {
        let Some(end) = self.producers.get_mut(&ProducerHandle(producer)) else { return 0 };
        end.topics.push(topic.into());
        u32::try_from(end.topics.len() - 1).unwrap_or(u32::MAX)
    }

    /// Puts a record into a batch and gives the batch's number; -1 if there is no room, -2 if the topic is not known
    /// yet. Records of one batch are numbered in the order in which they were put in.
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would have to be taken apart by a call for each field"
    )]
    pub fn append(
        &mut self,
        producer: u32,
        topic: u32,
        partition: Option<u32>,
        key: Option<Box<[u8]>>,
        value: Option<Box<[u8]>>,
        headers: Option<Array>,
        timestamp: f64,
    ) -> Result<f64, JsValue> {
        let end = self.producers.get_mut(&ProducerHandle(producer));
        let topic = end.as_ref().and_then(|end| end.topics.get(topic as usize)).cloned();
        let (Some(end), Some(topic)) = (end, topic) else { return Err(self.error(&ClientError::Closed)) };
        let record = Record {
            topic,
            partition,
            key: key.map(Bytes::from),
            value: value.map(Bytes::from),
            headers: headers.map(headers_of).unwrap_or_default(),
            timestamp: Some(timestamp as i64),
        };
        let (batch, wake) = match end.append(clock::now(), &record) {
            Ok(appended) => appended,
            Err(Refused::AwaitRoom) => (AWAIT_ROOM, false),
            Err(Refused::AwaitTopic) => (AWAIT_TOPIC, true),
            Err(Refused::Error(error)) => return Err(self.error(&error)),
        };
        if wake {
            end.pull = true;
            self.host.wake();
        }
        Ok(batch)
    }

    /// The partition of a batch that is not done.
    pub fn batch_partition(&self, producer: u32, batch: f64) -> u32 {
        let end = self.producers.get(&ProducerHandle(producer));
        end.and_then(|end| end.open.get(&batch_id(batch))).map_or(0, |open| open.partition)
    }

    /// Sends what is there without lingering, and answers the call when all of it is done: with the first failure since
    /// the last flush, if there was one.
    pub fn flush(&mut self, producer: u32, call: f64) {
        let now = clock::now();
        match self.producers.get_mut(&ProducerHandle(producer)) {
            Some(end) => {
                end.accumulator.flush();
                end.pull = true;
                end.flushes.push((end.accumulator.next_batch(), call_id(call)));
            }
            None => self.host.answered(call, JsValue::UNDEFINED, JsValue::UNDEFINED),
        }
        self.run(now);
    }

    /// Takes no more records. What was taken is delivered, or fails, and then the producer is gone.
    pub fn close_producer(&mut self, producer: u32) {
        if let Some(end) = self.producers.get_mut(&ProducerHandle(producer)) {
            end.close();
            end.is_released = true;
        }
        self.run(clock::now());
    }

    /// Bytes of records that are taken and not yet delivered.
    pub fn buffered_bytes(&self, producer: u32) -> f64 {
        let end = self.producers.get(&ProducerHandle(producer));
        end.map_or(0.0, |end| end.accumulator.used_bytes() as f64)
    }
}

impl Engine {
    /// Some records of a batch are done.
    pub(super) fn delivered(&mut self, producer: ProducerHandle, delivery: Delivery) {
        let Some(end) = self.producers.get_mut(&producer) else { return };
        let Delivery { batch, first, count, bytes, result } = delivery;
        end.complete(batch, count, bytes, result.as_ref().err());
        let (base_offset, log_append_time, error) = match result {
            Ok(placed) => (
                placed.base_offset as f64,
                placed.log_append_time.map(|time| time as f64),
                JsValue::UNDEFINED,
            ),
            Err(error) => (-1.0, None, self.host.error_of(&error)),
        };
        let batch = batch.0 as f64;
        self.host.delivered(producer.0, batch, first, count, base_offset, log_append_time, error);
        self.host.producer_changed(producer.0);
    }

    /// Lets the brain take what is ready.
    pub(super) fn pull(&mut self, now: Now) -> bool {
        let mut progress = false;
        for (handle, end) in &mut self.producers {
            if std::mem::take(&mut end.pull) {
                self.brain.pull(now, *handle, &mut end.accumulator);
                progress = true;
            }
        }
        progress
    }

    /// Producers that were closed and have no record left.
    pub(super) fn release_producers(&mut self, now: Now) -> bool {
        let over: Vec<ProducerHandle> = self
            .producers
            .iter()
            .filter(|(_, end)| end.is_released && end.is_idle() && end.flushes.is_empty())
            .map(|(handle, _)| *handle)
            .collect();
        for handle in &over {
            self.brain.close_producer(now, *handle);
            self.producers.remove(handle);
        }
        !over.is_empty()
    }

    pub(super) fn answer_flushes(&mut self) {
        for end in self.producers.values_mut() {
            let oldest = end.open.keys().next().copied();
            let failure = &mut end.first_failure;
            let host = &self.host;
            end.flushes.retain(|(upto, call)| {
                let is_waiting = oldest.is_some_and(|oldest| oldest < *upto);
                if !is_waiting {
                    let error = failure.take().map_or(JsValue::UNDEFINED, |error| host.error_of(&error));
                    host.answered(call.0 as f64, error, JsValue::UNDEFINED);
                }
                is_waiting
            });
        }
    }
}

impl ProducerEnd {
    pub(super) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn close(&mut self) {
        self.accumulator.close();
        self.pull = true;
    }

    fn append(&mut self, now: Now, record: &Record) -> Result<(f64, bool), Refused> {
        let appended = self.accumulator.append(now, record)?;
        let fresh = || Open { partition: appended.partition, records: 0, done: 0 };
        self.open.entry(appended.batch).or_insert_with(fresh).records += 1;
        Ok((appended.batch.0 as f64, appended.wake))
    }

    fn complete(&mut self, batch: BatchId, count: u32, bytes: usize, failure: Option<&ClientError>) {
        self.accumulator.release(bytes);
        if let (Some(error), None) = (failure, &self.first_failure) {
            self.first_failure = Some(error.clone());
        }
        let Some(open) = self.open.get_mut(&batch) else { return };
        open.done += count;
        if open.done >= open.records {
            self.open.remove(&batch);
        }
    }
}

fn batch_id(batch: f64) -> BatchId {
    BatchId(batch as u64)
}

/// Names and values, one after the other; a value that is no array of bytes stands for null.
fn headers_of(list: Array) -> Vec<Header> {
    let bytes =
        |index| list.get(index).dyn_into::<Uint8Array>().ok().map(|array| Bytes::from(array.to_vec()));
    let pairs = 0..list.length() / 2;
    pairs
        .map(|pair| Header { name: bytes(2 * pair).unwrap_or_default(), value: bytes(2 * pair + 1) })
        .collect()
}
