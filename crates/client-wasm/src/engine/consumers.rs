//! Consumers: blocks of records on their way out, and what the page says about them.

use client_core::error::{CallerProblem, Damage, Place};
use client_core::{ClientError, ConsumerHandle, Ends, FetchBuffer, RecordBatch, SeekTo};
use js_sys::{Array, Float64Array, Uint8Array};
use log_core::Now;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{Engine, Topic, call_id};
use crate::answers;
use crate::block::{Block, Fault};
use crate::clock;
use crate::settings::{self, Settings};

/// The engine's side of a consumer.
pub(super) struct ConsumerEnd {
    pub(super) buffer: FetchBuffer,
    /// Where reading ends, if it does.
    ends: Option<Ends>,
    /// What came behind the block that was given last.
    fault: Option<JsValue>,
    has_group: bool,
}

#[wasm_bindgen]
impl Engine {
    /// A new consumer, under a number that was not used before. The call is answered when each of its partitions has a
    /// position.
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would have to be taken apart by a call for each field"
    )]
    pub fn open_consumer(
        &mut self,
        consumer: u32,
        call: f64,
        settings: &Settings,
        topics: Vec<String>,
        partitions: Option<Vec<u32>>,
        start_kind: &str,
        start_value: f64,
    ) -> Result<(), JsValue> {
        let start = settings::start(start_kind, start_value);
        let options = settings::consumer_options(settings, topics, partitions, start).checked();
        let options = options.map_err(|error| self.error(&error))?;
        let now = clock::now();
        let buffer = FetchBuffer::new(&options, self.environment.codecs, self.environment.crc);
        let has_group = options.group.is_some();
        let handle = ConsumerHandle(consumer);
        self.consumers.insert(handle, ConsumerEnd { buffer, ends: None, fault: None, has_group });
        self.brain.open_consumer(now, handle, options, call_id(call));
        self.run(now);
        Ok(())
    }

    /// Ends reading at these offsets.
    pub fn set_ends(&mut self, consumer: u32, topics: Vec<String>, partitions: Vec<u32>, offsets: Vec<f64>) {
        if let Some(end) = self.consumers.get_mut(&ConsumerHandle(consumer)) {
            let places = topics.into_iter().zip(partitions).zip(offsets);
            let ends = places.map(|((topic, partition), offset)| (topic.into(), partition, offset as i64));
            end.ends = Some(ends.collect());
        }
    }

    /// The next block of records. `undefined` if there is none yet, `null` if reading has ended.
    pub fn take(&mut self, consumer: u32) -> Result<JsValue, JsValue> {
        let handle = ConsumerHandle(consumer);
        loop {
            let Some(end) = self.consumers.get_mut(&handle) else {
                return Err(self.error(&ClientError::Closed));
            };
            if let Some(fault) = end.fault.take() {
                return Err(fault);
            }
            if end.is_at_end() {
                return Ok(JsValue::NULL);
            }
            let next = end.buffer.next_batch();
            let freed = end.buffer.take_freed();
            if freed > 0 {
                self.brain.consumed(clock::now(), handle, freed);
                self.host.wake();
            }
            match next {
                None => return Ok(JsValue::UNDEFINED),
                Some(Err(error)) => {
                    self.stop_by(clock::now(), handle, &error);
                    return Err(self.error(&error));
                }
                Some(Ok(batch)) => {
                    let block = self.block_of(handle, &batch);
                    if !block.is_empty() {
                        return Ok(self.hand_over(&batch, &block));
                    }
                }
            }
        }
    }

    /// Everything of a partition before the offset `next` is dealt with.
    pub fn mark(&mut self, consumer: u32, topic: String, partition: u32, next: f64, leader_epoch: i32) {
        let handle = ConsumerHandle(consumer);
        if self.consumers.get(&handle).is_some_and(|end| end.has_group) {
            self.brain.mark(handle, topic.into(), partition, next as i64, leader_epoch);
            self.host.wake();
        }
    }

    /// Commits what is marked.
    pub fn commit(&mut self, consumer: u32, call: f64) {
        let now = clock::now();
        self.brain.commit(now, ConsumerHandle(consumer), call_id(call));
        self.run(now);
    }

    /// Goes on reading a partition somewhere else.
    pub fn seek(
        &mut self,
        consumer: u32,
        topic: String,
        partition: u32,
        start_kind: &str,
        start_value: f64,
    ) -> Result<(), JsValue> {
        let (now, handle, topic) = (clock::now(), ConsumerHandle(consumer), Topic::from(topic));
        let buffer = self.consumers.get_mut(&handle).map(|end| &mut end.buffer);
        let Some((generation, freed)) =
            buffer.and_then(|buffer| Some((buffer.seek(&topic, partition)?, buffer.take_freed())))
        else {
            return Err(self.not_assigned(&topic, partition));
        };
        let to = settings::start(start_kind, start_value);
        self.brain.seek(now, handle, SeekTo { topic, partition, to, generation });
        self.brain.consumed(now, handle, freed);
        self.run(now);
        Ok(())
    }

    /// Stops or continues a partition.
    pub fn set_paused(
        &mut self,
        consumer: u32,
        topic: String,
        partition: u32,
        paused: bool,
    ) -> Result<(), JsValue> {
        let (now, handle, topic) = (clock::now(), ConsumerHandle(consumer), Topic::from(topic));
        let buffer = self.consumers.get_mut(&handle).map(|end| &mut end.buffer);
        if buffer.and_then(|buffer| buffer.set_paused(&topic, partition, paused)).is_none() {
            return Err(self.not_assigned(&topic, partition));
        }
        self.brain.set_paused(now, handle, &topic, partition, paused);
        self.run(now);
        Ok(())
    }

    /// The partitions that the consumer reads now: an array of `{ topic, partition }`.
    pub fn assignment(&self, consumer: u32) -> Array {
        let end = self.consumers.get(&ConsumerHandle(consumer));
        let assigned = end.into_iter().flat_map(|end| end.buffer.assignment());
        assigned
            .map(|(topic, partition, _, _)| {
                answers::object([("topic", (&**topic).into()), ("partition", partition.into())])
            })
            .collect()
    }

    /// The offset of the first record of a partition that was not handed over; `undefined` if it is not known.
    pub fn position(&self, consumer: u32, topic: &str, partition: u32) -> Option<f64> {
        let end = self.consumers.get(&ConsumerHandle(consumer))?;
        end.buffer.position(topic, partition).map(|offset| offset as f64)
    }

    /// Commits what is marked, leaves the group, and answers the call when that is done.
    pub fn close_consumer(&mut self, consumer: u32, call: f64) {
        let (now, handle) = (clock::now(), ConsumerHandle(consumer));
        match self.consumers.remove(&handle) {
            Some(_) => self.brain.close_consumer(now, handle, Some(call_id(call))),
            None => self.host.answered(call, JsValue::UNDEFINED, JsValue::UNDEFINED),
        }
        self.run(now);
    }
}

impl Engine {
    fn block_of(&mut self, handle: ConsumerHandle, batch: &RecordBatch) -> Block {
        let Some(end) = self.consumers.get_mut(&handle) else { return Block::default() };
        let mut block = Block::of(batch, end.end_of(&batch.topic, batch.partition));
        let fault = block.fault.take();
        if fault.is_none() {
            end.buffer.batch_read(batch);
            return block;
        }
        end.buffer.batch_refused(batch);
        let freed = end.buffer.take_freed();
        let fault = fault.map(|fault| self.fault_of(batch, fault));
        let now = clock::now();
        self.brain.consumed(now, handle, freed);
        self.brain.stop(now, handle, &batch.topic, batch.partition);
        self.host.wake();
        if let Some(end) = self.consumers.get_mut(&handle) {
            end.fault = fault;
        }
        block
    }

    fn fault_of(&self, batch: &RecordBatch, fault: Fault) -> JsValue {
        match fault {
            Fault::Record { offset, error } => {
                let place = Place::offset(&batch.topic, batch.partition, offset);
                let resume_at = Some(batch.next_offset());
                self.error(&ClientError::Damaged { damage: Damage::Record(error), place, resume_at })
            }
            Fault::Offset(offset) => self.host.offset_too_large(&batch.topic, Some(batch.partition), offset),
        }
    }

    fn hand_over(&self, batch: &RecordBatch, block: &Block) -> JsValue {
        let table = Float64Array::from(block.table.as_slice());
        let payload = Uint8Array::from(block.payload.as_slice());
        self.host.block(&batch.topic, batch.partition, batch.leader_epoch(), table, payload)
    }

    /// A damaged batch stops its partition: the brain would go on fetching behind it otherwise.
    fn stop_by(&mut self, now: Now, handle: ConsumerHandle, error: &ClientError) {
        if let (Some(topic), Some(partition)) = (error.topic(), error.partition()) {
            self.brain.stop(now, handle, &topic.into(), partition);
            self.host.wake();
        }
    }

    fn not_assigned(&self, topic: &Topic, partition: u32) -> JsValue {
        let place = Place::partition(topic, partition);
        self.error(&ClientError::caller(CallerProblem::NotAssigned, place))
    }
}

impl ConsumerEnd {
    fn is_at_end(&mut self) -> bool {
        let Some(ends) = &mut self.ends else { return false };
        ends.are_reached(|key| self.buffer.position_of(key))
    }

    fn end_of(&self, topic: &Topic, partition: u32) -> Option<i64> {
        self.ends.as_ref()?.of(topic, partition)
    }
}
