//! What comes back for a producer: acknowledgements, refusals, lost connections, ids.

use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::init_producer_id::InitProducerIdResponse;
use kafka_wire::messages::produce::{PartitionProduceResponse, ProduceResponse};
use kafka_wire::{DecodeError, ErrorCode, decode_response};
use log_core::{Now, ProducerEpoch, ProducerId};

use super::{Identity, Producer, wire_partition};
use crate::action::ConnectionId;
use crate::core::Core;
use crate::cure::{means_not_appended, needs_producer_id};
use crate::error::{ClientError, NetworkError, Place};
use crate::purpose::SentBatch;

/// What to do with a batch after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Delivered,
    Split,
    Again,
    /// The broker has lost track of this producer.
    NewId,
    Refused,
}

impl Producer {
    pub(crate) fn on_produced(
        &mut self,
        core: &mut Core,
        now: Now,
        connection: ConnectionId,
        sent: &[SentBatch],
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let (_, answer) = match decode_response::<ProduceResponse<'_>>(frame, version) {
            Ok(answer) => answer,
            Err(error) => {
                let address = core.network.address(connection).cloned();
                let lost = address.map(|address| NetworkError {
                    address,
                    phase: crate::error::Phase::Exchange,
                    cause: crate::error::NetworkCause::Protocol(crate::error::Damage::Answer(error)),
                });
                if let Some(lost) = lost {
                    self.on_lost(core, now, sent, &lost);
                }
                return Err(error);
            }
        };
        for batch in sent {
            let found = answer
                .responses
                .iter()
                .filter(|topic| *topic.name == *batch.topic)
                .flat_map(|topic| topic.partition_responses.iter())
                .find(|partition| partition.index == wire_partition(batch.partition));
            match found {
                Some(partition) => self.on_batch(core, now, batch, partition),
                None => self.put_back(core, now, batch, true, missing(batch)),
            }
        }
        core.throttle(now, connection, answer.throttle_time_ms);
        Ok(())
    }

    /// The connection broke: whether the batches were appended is not known.
    pub(crate) fn on_lost(&mut self, core: &mut Core, now: Now, sent: &[SentBatch], error: &NetworkError) {
        for batch in sent {
            self.put_back(core, now, batch, true, error.clone().into());
        }
        core.cluster.want_update();
    }

    pub(crate) fn on_producer_id(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let (_, answer) = match decode_response::<InitProducerIdResponse>(frame, version) {
            Ok(answer) => answer,
            Err(error) => {
                self.on_producer_id_lost(core, now);
                return Err(error);
            }
        };
        match answer.error_code {
            ErrorCode::None => {
                let (id, epoch) = (ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch));
                self.identity = Identity::Known { id, epoch };
            }
            code if code.is_retriable() => self.on_producer_id_lost(core, now),
            code => {
                self.on_producer_id_lost(core, now);
                let error = ClientError::broker(code, None, Place::NOWHERE);
                let keys: Vec<_> = self.active.iter().cloned().collect();
                self.fail_all(core, &keys, &error);
            }
        }
        Ok(())
    }

    pub(crate) fn on_producer_id_lost(&mut self, core: &mut Core, now: Now) {
        if let Identity::Asked { failures } = self.identity {
            let failures = failures + 1;
            self.identity = Identity::Wanted { failures, not_before: core.retry_at(now, failures) };
        }
    }

    fn on_batch(
        &mut self,
        core: &mut Core,
        now: Now,
        sent: &SentBatch,
        answer: &PartitionProduceResponse<'_>,
    ) {
        let key = (Arc::clone(&sent.topic), sent.partition);
        let code = answer.error_code;
        match self.verdict(sent, code) {
            Verdict::Delivered => {
                let lane = self.lanes.get_mut(&key);
                if let Some(batch) = lane.and_then(|lane| lane.take_acknowledged(sent.batch, sent.part)) {
                    let time = (answer.log_append_time_ms >= 0).then_some(answer.log_append_time_ms);
                    let offset = if code.is_ok() { answer.base_offset } else { -1 };
                    self.deliver(core, now, &batch, offset, time);
                    // The network may have the bytes still; then they go when it is done.
                    batch.into_buffer().into_iter().for_each(|buffer| self.keep_spare(buffer));
                }
            }
            Verdict::Split => self.split(core, sent, answer),
            Verdict::Again => {
                if code.asks_for_refresh() {
                    core.cluster.want_update();
                }
                self.put_back(core, now, sent, !means_not_appended(code), refusal(sent, answer));
            }
            Verdict::NewId => self.take_new_id(core, now, sent, answer),
            Verdict::Refused => self.refuse(core, sent, answer),
        }
        self.tidy(&key);
    }

    fn verdict(&self, sent: &SentBatch, code: ErrorCode) -> Verdict {
        let key = (Arc::clone(&sent.topic), sent.partition);
        let lane = self.lanes.get(&key);
        let oldest = lane.is_some_and(|lane| lane.is_front(sent.batch, sent.part));
        let several =
            lane.and_then(|lane| lane.batch(sent.batch, sent.part)).is_some_and(|batch| batch.count > 1);
        match code {
            ErrorCode::None | ErrorCode::DuplicateSequenceNumber => Verdict::Delivered,
            ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge if several => Verdict::Split,
            // What was sent before it has not been appended (yet): law 2 sends both again in order.
            ErrorCode::OutOfOrderSequenceNumber if !oldest => Verdict::Again,
            ErrorCode::OutOfOrderSequenceNumber => Verdict::NewId,
            code if needs_producer_id(code) && self.options.idempotent => Verdict::NewId,
            code if code.is_retriable() => Verdict::Again,
            _ => Verdict::Refused,
        }
    }

    fn put_back(
        &mut self,
        core: &mut Core,
        now: Now,
        sent: &SentBatch,
        may_be_appended: bool,
        error: ClientError,
    ) {
        let key = (Arc::clone(&sent.topic), sent.partition);
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        let retry_at = core.retry_at(now, lane.failures() + 1);
        lane.put_back(sent.batch, sent.part, retry_at, may_be_appended, error);
    }

    fn split(&mut self, core: &mut Core, sent: &SentBatch, answer: &PartitionProduceResponse<'_>) {
        let key = (Arc::clone(&sent.topic), sent.partition);
        let parts = [self.next_part(), self.next_part()];
        // What was compressed here may be decompressed here, whatever its size.
        let limit = self.options.batch_bytes_max;
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        let halves =
            lane.batch(sent.batch, sent.part).and_then(|batch| batch.halves(core.environment, limit, parts));
        match halves {
            Some(halves) => {
                core.metrics.batches_split += 1;
                lane.replace(sent.batch, sent.part, halves);
            }
            None => self.refuse(core, sent, answer),
        }
    }

    /// Law 4.
    fn take_new_id(
        &mut self,
        core: &mut Core,
        now: Now,
        sent: &SentBatch,
        answer: &PartitionProduceResponse<'_>,
    ) {
        self.needs_new_id = true;
        let key = (Arc::clone(&sent.topic), sent.partition);
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        let unsettled = lane.batch(sent.batch, sent.part).is_some_and(|batch| batch.may_be_appended);
        if !unsettled {
            return self.put_back(core, now, sent, false, refusal(sent, answer));
        }
        if let Some(batch) = lane.take_failed(sent.batch, sent.part) {
            let place = Place::partition(&sent.topic, sent.partition);
            let cause = Some(Box::new(refusal(sent, answer)));
            self.fail(core, &batch, ClientError::UnknownOutcome { cause, place });
        }
    }

    fn refuse(&mut self, core: &mut Core, sent: &SentBatch, answer: &PartitionProduceResponse<'_>) {
        let key = (Arc::clone(&sent.topic), sent.partition);
        let Some(batch) = self.lanes.get_mut(&key).and_then(|lane| lane.take_failed(sent.batch, sent.part))
        else {
            return;
        };
        let error = refusal(sent, answer);
        if batch.may_be_appended || !means_not_appended(answer.error_code) {
            self.needs_new_id |= self.options.idempotent;
            let place = Place::partition(&sent.topic, sent.partition);
            self.fail(core, &batch, ClientError::UnknownOutcome { cause: Some(Box::new(error)), place });
        } else {
            self.fail(core, &batch, error);
        }
    }
}

fn refusal(sent: &SentBatch, answer: &PartitionProduceResponse<'_>) -> ClientError {
    let detail = answer.record_errors.first().and_then(|record| record.batch_index_error_message.as_deref());
    let message = detail.or(answer.error_message.as_deref()).map(Arc::from);
    ClientError::broker(answer.error_code, message, Place::partition(&sent.topic, sent.partition))
}

/// A broker that leaves a partition out of its answer has said nothing about it.
fn missing(sent: &SentBatch) -> ClientError {
    let place = Place::partition(&sent.topic, sent.partition);
    let damage = crate::error::Damage::Rule("the answer to a produce request lacks a partition");
    ClientError::Damaged { damage, place, resume_at: None }
}
