//! Produce: appends one batch to each partition named; answered when each is appended (acks=1) or committed (acks=all).

use std::borrow::Cow;
use std::time::Duration;

use kafka_wire::ErrorCode;
use kafka_wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceLeaderIdAndEpoch, ProduceNodeEndpoint,
    ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use log_core::TopicPartition;
use log_store::Disk;

use super::topics::{self, Found};
use crate::action::CloseReason;
use crate::error::{PartitionError, partition_code};
use crate::peer::{Acks, CallId, PartitionAnswer, PartitionCall, ProduceCall, Produced};
use crate::shard::{Ask, Gather, Pending, Shard};

/// A Produce request whose batches are not all answered.
#[derive(Debug)]
pub(crate) struct Produce {
    ask: Ask,
    acks: Acks,
    /// Each topic with its partitions' numbers, in the order of the request.
    topics: Vec<(String, Vec<i32>)>,
    /// The partitions one after the other.
    found: Vec<Option<TopicPartition>>,
    results: Gather<Outcome>,
}

type Outcome = Result<Produced, Refused>;

/// Why a batch is not acknowledged.
#[derive(Debug)]
enum Refused {
    /// Found by the handler.
    Code(ErrorCode),
    /// Said by the partition.
    Partition(PartitionError),
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_produce(&mut self, ask: Ask, request: ProduceRequest<'_>) {
        let id = self.next_pending();
        let whole = check_whole(&request);
        let acks = acks_of(request.acks).unwrap_or(Acks::All);
        let parts = request.topic_data.iter().map(|topic| topic.partition_data.len()).sum();
        let mut produce = Produce {
            ask,
            acks,
            topics: Vec::with_capacity(request.topic_data.len()),
            found: Vec::with_capacity(parts),
            results: Gather::new(parts),
        };
        let deadline = self.core.now.mono.after(self.produce_timeout(request.timeout_ms));
        for topic in request.topic_data {
            let numbers = topic.partition_data.iter().map(|data| data.index).collect();
            for data in topic.partition_data {
                let found = whole.and_then(|()| self.find_writable(&topic.name, data.index));
                let part = u32::try_from(produce.found.len()).expect("a frame has fewer partitions");
                produce.found.push(found.ok());
                match found {
                    Ok(partition) => {
                        self.produce_to(CallId { pending: id, part }, partition, data, ask, acks)
                    }
                    Err(code) => produce.results.put(part, Err(Refused::Code(code))),
                }
            }
            produce.topics.push((topic.name.into_owned(), numbers));
        }
        self.note_use(ask, produce.found.iter().flatten());
        if produce.results.is_complete() {
            self.finish_produce(produce);
        } else {
            self.wait(id, Pending::Produce(produce), Some(deadline));
        }
    }

    fn produce_to(
        &mut self,
        call: CallId,
        partition: TopicPartition,
        data: PartitionProduceData,
        ask: Ask,
        acks: Acks,
    ) {
        let records = data.records.unwrap_or_default();
        let produce = ProduceCall { records, acks, zstd_allowed: ask.version >= 7 };
        self.call(call, partition, PartitionCall::Produce(produce));
    }

    fn produce_timeout(&self, timeout_ms: i32) -> Duration {
        let asked = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        asked.min(self.core.config.limits.produce_timeout_max)
    }

    fn find_writable(&self, name: &str, partition: i32) -> Found {
        let topic = topics::by_name(&self.core.image, name)?;
        if topic.is_internal() {
            return Err(ErrorCode::InvalidTopicException);
        }
        topics::partition_of(topic, partition)
    }

    pub(crate) fn finish_produce(&mut self, produce: Produce) {
        let Produce { ask, acks, topics, found, results } = produce;
        let results = results.into_parts(|| Err(Refused::Partition(PartitionError::TimedOut)));
        if acks == Acks::None {
            return match results.iter().all(Result::is_ok) {
                true => self.finish_request(ask, None),
                false => self.close(ask.connection, CloseReason::UnacknowledgedFailed),
            };
        }
        let mut leaders = Vec::new();
        let mut outcomes = found.into_iter().zip(results);
        let responses = topics.iter().map(|(name, numbers)| TopicProduceResponse {
            name: Cow::Borrowed(name),
            partition_responses: numbers
                .iter()
                .zip(&mut outcomes)
                .map(|(number, (partition, outcome))| {
                    let response = partition_response(*number, &outcome);
                    self.hint_leader(response, partition, &mut leaders)
                })
                .collect(),
        });
        let responses = responses.collect();
        let response = ProduceResponse {
            responses,
            throttle_time_ms: 0,
            node_endpoints: self.produce_endpoints(ask, leaders),
        };
        self.respond(ask, &response);
    }

    /// Tells who leads instead (KIP-951), so that the client need not ask.
    fn hint_leader<'a>(
        &self,
        mut response: PartitionProduceResponse<'a>,
        partition: Option<TopicPartition>,
        leaders: &mut Vec<log_core::BrokerId>,
    ) -> PartitionProduceResponse<'a> {
        let state = partition.and_then(|partition| self.core.image.partition(partition));
        if response.error_code == ErrorCode::NotLeaderOrFollower
            && let Some((leader, epoch)) = state.and_then(|state| Some((state.leader?, state.leader_epoch)))
        {
            response.current_leader = ProduceLeaderIdAndEpoch { leader_id: leader.0, leader_epoch: epoch.0 };
            leaders.push(leader);
        }
        response
    }

    fn produce_endpoints(
        &self,
        ask: Ask,
        mut leaders: Vec<log_core::BrokerId>,
    ) -> Vec<ProduceNodeEndpoint<'static>> {
        let door = self.door(ask);
        leaders.sort_unstable();
        leaders.dedup();
        let addresses = leaders.into_iter().filter_map(|leader| self.address(&door, leader));
        addresses
            .map(|address| ProduceNodeEndpoint {
                node_id: address.broker.0,
                host: Cow::Owned(address.host),
                port: address.port,
                rack: address.rack.map(Cow::Owned),
            })
            .collect()
    }
}

impl Produce {
    pub(crate) fn take<F>(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        match answer {
            PartitionAnswer::Produced(produced) => self.results.put(part, Ok(produced)),
            PartitionAnswer::Failed(error) => self.results.put(part, Err(Refused::Partition(error))),
            PartitionAnswer::Fetched(_)
            | PartitionAnswer::OffsetListed(_)
            | PartitionAnswer::EpochEnd { .. }
            | PartitionAnswer::RecordsDeleted { .. }
            | PartitionAnswer::Sized(_)
            | PartitionAnswer::Group(_) => {}
        }
        self.results.is_complete()
    }
}

/// What is wrong with the request as a whole.
fn check_whole(request: &ProduceRequest<'_>) -> Result<(), ErrorCode> {
    if request.transactional_id.is_some() {
        return Err(ErrorCode::TransactionalIdAuthorizationFailed);
    }
    acks_of(request.acks).map(|_| ()).ok_or(ErrorCode::InvalidRequiredAcks)
}

const fn acks_of(acks: i16) -> Option<Acks> {
    match acks {
        0 => Some(Acks::None),
        1 => Some(Acks::Leader),
        -1 => Some(Acks::All),
        _ => None,
    }
}

fn partition_response(index: i32, outcome: &Outcome) -> PartitionProduceResponse<'static> {
    match outcome {
        Ok(produced) => PartitionProduceResponse {
            index,
            base_offset: produced.base_offset.0,
            log_append_time_ms: produced.log_append_time.0,
            log_start_offset: produced.log_start.0,
            ..PartitionProduceResponse::default()
        },
        Err(refused) => PartitionProduceResponse {
            index,
            error_code: match refused {
                Refused::Code(code) => *code,
                Refused::Partition(error) => partition_code(error),
            },
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            error_message: match refused {
                Refused::Code(_) => None,
                Refused::Partition(error) => Some(Cow::Owned(error.to_string())),
            },
            ..PartitionProduceResponse::default()
        },
    }
}
