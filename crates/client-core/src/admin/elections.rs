//! What answers about elections mean, and what brokers say of their own replicas.

use std::sync::Arc;

use kafka_wire::messages::elect_leaders::{ElectLeadersResponse, PartitionElectionResult};
use kafka_wire::messages::list_offsets::{ListOffsetsPartitionResponse, ListOffsetsResponse};
use kafka_wire::messages::unregister_broker::UnregisterBrokerResponse;
use kafka_wire::{DecodeError, ErrorCode};

use super::answers::{Incoming, again_or_fail, done, error, text};
use super::{AdminAnswer, AdminCall, Call, ElectedPartition, Outcome, ReplicaEnd};
use crate::core::Core;
use crate::error::{ClientError, Place};

impl Call {
    pub(super) fn operators_outcome(
        &self,
        core: &mut Core,
        incoming: &Incoming<'_>,
    ) -> Result<Outcome, DecodeError> {
        core.cluster.want_update();
        match &self.question {
            AdminCall::ElectLeaders { .. } => {
                let answer = incoming.decode::<ElectLeadersResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(elected(&answer, self.may_be_done))
            }
            AdminCall::ReplicaEnds { broker, topic, partitions } => {
                let answer = incoming.decode::<ListOffsetsResponse<'_>>(core, |it| it.throttle_time_ms)?;
                Ok(replica_ends(&answer, *broker, topic, partitions))
            }
            _ => {
                let answer =
                    incoming.decode::<UnregisterBrokerResponse<'_>>(core, |it| it.throttle_time_ms)?;
                let gone = self.may_be_done && answer.error_code == ErrorCode::BrokerIdNotRegistered;
                let code = if gone { ErrorCode::None } else { answer.error_code };
                Ok(done(Some((code, &answer.error_message)), Place::NOWHERE))
            }
        }
    }
}

/// `may_be_done`: an earlier answer was lost, and an election that is not needed any more was this one.
fn elected(answer: &ElectLeadersResponse<'_>, may_be_done: bool) -> Outcome {
    if !answer.error_code.is_ok() {
        return again_or_fail(answer.error_code, None, Place::NOWHERE);
    }
    let mut all = Vec::new();
    for found in &answer.replica_election_results {
        let topic: Arc<str> = (*found.topic).into();
        for partition in &found.partition_result {
            let place = Place::partition(&topic, number(partition.partition_id));
            if partition.error_code == ErrorCode::RequestTimedOut {
                return Outcome::Retry(error(partition.error_code, &partition.error_message, place));
            }
            all.push(ElectedPartition {
                topic: Arc::clone(&topic),
                partition: number(partition.partition_id),
                result: result(partition, may_be_done, place),
            });
        }
    }
    Outcome::Answer(AdminAnswer::Elected(all))
}

fn result(found: &PartitionElectionResult<'_>, may_be_done: bool, place: Place) -> Result<(), ClientError> {
    match found.error_code {
        ErrorCode::None => Ok(()),
        ErrorCode::ElectionNotNeeded if may_be_done => Ok(()),
        code => Err(ClientError::broker(code, text(&found.error_message), place)),
    }
}

fn replica_ends(answer: &ListOffsetsResponse<'_>, broker: i32, topic: &Arc<str>, asked: &[u32]) -> Outcome {
    let told: Vec<&ListOffsetsPartitionResponse> =
        answer.topics.iter().flat_map(|topic| &topic.partitions).collect();
    let ends = asked.iter().map(|partition| {
        let found = told.iter().find(|found| number(found.partition_index) == *partition);
        let place = Place::partition(topic, *partition);
        found.map_or_else(
            || Err(ClientError::broker(ErrorCode::UnknownServerError, None, place.clone())),
            |found| replica_end(found, broker, place.clone()),
        )
    });
    Outcome::Answer(AdminAnswer::ReplicaEnds(ends.collect()))
}

/// A damaged replica says so by a code, and all the same how far it can be read.
fn replica_end(
    found: &ListOffsetsPartitionResponse,
    broker: i32,
    place: Place,
) -> Result<ReplicaEnd, ClientError> {
    let is_damaged = found.error_code == ErrorCode::KafkaStorageError && found.offset >= 0;
    if !found.error_code.is_ok() && !is_damaged {
        return Err(ClientError::broker(found.error_code, None, place));
    }
    Ok(ReplicaEnd {
        broker,
        last_epoch: (found.leader_epoch >= 0).then_some(found.leader_epoch),
        end: (found.offset >= 0).then_some(found.offset),
        is_damaged,
    })
}

fn number(partition: i32) -> u32 {
    u32::try_from(partition).unwrap_or(u32::MAX)
}
