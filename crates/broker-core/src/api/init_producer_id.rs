//! InitProducerId: producer ids out of blocks that the cluster gives to this shard.

use kafka_wire::ErrorCode;
use kafka_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use log_core::{MonoTime, ProducerId};
use log_store::Disk;

use crate::error::admin_code;
use crate::message::{AdminAnswer, AdminCommand, AdminError};
use crate::peer::CallId;
use crate::shard::{Ask, Pending, Shard};

/// How long a request waits for a new block at most.
const BLOCK_WAIT: std::time::Duration = std::time::Duration::from_secs(15);

/// The ids that this shard may give out.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    next: i64,
    end: i64,
}

impl ProducerIds {
    fn take(&mut self) -> Option<ProducerId> {
        (self.next < self.end).then(|| {
            self.next += 1;
            ProducerId(self.next - 1)
        })
    }

    fn refill(&mut self, first: ProducerId, count: i32) {
        (self.next, self.end) = (first.0, first.0.saturating_add(i64::from(count)));
    }
}

/// A request that waits for a block of ids.
#[derive(Debug)]
pub(crate) struct AwaitedProducerId {
    ask: Ask,
    result: Result<ProducerId, ErrorCode>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_init_producer_id(&mut self, ask: Ask, request: &InitProducerIdRequest<'_>) {
        if request.transactional_id.is_some() {
            let error = Err(ErrorCode::TransactionalIdAuthorizationFailed);
            return self.answer_producer_id(ask, error);
        }
        if let Some(id) = self.producer_ids.take() {
            return self.answer_producer_id(ask, Ok(id));
        }
        let id = self.next_pending();
        let deadline: MonoTime = self.core.now.mono.after(BLOCK_WAIT);
        self.command(CallId { pending: id, part: 0 }, deadline, AdminCommand::AllocateProducerIds);
        let waiting = AwaitedProducerId { ask, result: Err(ErrorCode::CoordinatorNotAvailable) };
        self.wait(id, Pending::ProducerId(waiting), Some(deadline));
    }

    pub(crate) fn finish_producer_id(&mut self, waiting: &AwaitedProducerId) {
        self.answer_producer_id(waiting.ask, waiting.result);
    }

    fn answer_producer_id(&mut self, ask: Ask, result: Result<ProducerId, ErrorCode>) {
        let response = InitProducerIdResponse {
            throttle_time_ms: 0,
            error_code: result.err().unwrap_or_default(),
            producer_id: result.map_or(-1, |id| id.0),
            producer_epoch: if result.is_ok() { 0 } else { -1 },
        };
        self.respond(ask, &response);
    }
}

impl AwaitedProducerId {
    /// Of several blocks that came at once, each serves its own request first.
    pub(crate) fn take(&mut self, result: Result<AdminAnswer, AdminError>, ids: &mut ProducerIds) -> bool {
        self.result = match result {
            Ok(AdminAnswer::ProducerIds { first, count }) => {
                ids.refill(first, count);
                ids.take().ok_or(ErrorCode::CoordinatorNotAvailable)
            }
            Ok(_) => Err(ErrorCode::UnknownServerError),
            Err(AdminError::TimedOut | AdminError::NoController | AdminError::Stopping) => {
                Err(ErrorCode::CoordinatorNotAvailable)
            }
            Err(error @ (AdminError::Refused(_) | AdminError::EndsUnknown { .. })) => Err(admin_code(&error)),
        };
        true
    }
}
