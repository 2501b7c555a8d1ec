//! DeleteRecords: what the operator asks of leaders, on the last client's connection, and what they answer.

use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_wire::messages::delete_records::DeleteRecordsResponse;
use kafka_wire::{ErrorCode, decode_response, response_correlation_id};
use log_core::TopicPartition;

use super::wire::{self, DELETE};
use crate::dice::Dice;
use crate::world::World;

/// Requests without an answer.
#[derive(Debug, Default)]
pub(crate) struct Deletions {
    /// Correlations of clients count up from 1, these down from -1.
    last: i32,
    asked: BTreeMap<i32, Asked>,
}

#[derive(Debug)]
struct Asked {
    key: TopicPartition,
    name: String,
    /// -1: the high watermark.
    offset: i64,
}

impl World {
    /// Asks the leader of some partition of a topic to delete the records below an offset.
    pub(crate) fn ask_to_delete_records(&mut self, topic: usize, seed: u64) {
        let mut dice = Dice::new(seed, 8);
        let Some(plan) = self.plan.topics.get(topic) else { return };
        let name = plan.name.clone();
        let partition = i32::try_from(dice.below(plan.partitions.unsigned_abs().into())).unwrap_or_default();
        let Some(known) = self.describe(&name, partition, None) else { return };
        let (start, end) = (self.oracle.log_start(known.key), self.oracle.committed_end(known.key));
        let offset = if self.plan.workload.deletes_anywhere {
            let upto = dice.below((end - start).unsigned_abs().min(60)) + 1;
            start + i64::try_from(upto).unwrap_or_default()
        } else {
            let back = i64::try_from(dice.below(20)).unwrap_or_default();
            self.oracle.boundary_below(known.key, end - back)
        };
        if offset <= start || offset > end {
            return;
        }
        let all = self.plan.workload.deletes_anywhere && dice.permille(50);
        self.oracle.allow_deletion(known.key, if all { i64::MAX } else { offset });
        self.coverage.count("deletions of records asked for");
        self.deletions.last -= 1;
        let (correlation, offset) = (self.deletions.last, if all { -1 } else { offset });
        let asked = Asked { key: known.key, name: name.clone(), offset };
        self.deletions.asked.insert(correlation, asked);
        let reader = self.clients.len() - 1;
        let frame = wire::delete_records(correlation, &name, partition, offset);
        self.client_send(reader, known.leader, frame);
    }

    /// Takes the answer to such a request, if it is one.
    pub(super) fn take_deleted(&mut self, frame: &Bytes) -> bool {
        let Ok(correlation @ ..0) = response_correlation_id(frame) else { return false };
        let Some(asked) = self.deletions.asked.remove(&correlation) else { return true };
        let Ok((_, response)) = decode_response::<DeleteRecordsResponse<'_>>(frame, DELETE) else {
            self.oracle.violate("protocol", "an answer to DeleteRecords cannot be read".to_owned());
            return true;
        };
        let answer = response.topics.first().and_then(|topic| topic.partitions.first());
        let Some(answer) = answer else { return true };
        self.trace.note(self.now, || {
            let (low, error) = (answer.low_watermark, answer.error_code);
            format!("records of {} below {} are deleted: {error:?} {low}", asked.name, asked.offset)
        });
        if answer.error_code != ErrorCode::None {
            self.coverage.count("deletions of records refused");
            return true;
        }
        self.coverage.count("deletions of records confirmed");
        // By name: of a topic that was made again, the answer may be of either.
        if !self.oracle.was_deleted(&asked.name) {
            self.oracle_deleted(asked.key, asked.offset, answer.low_watermark);
        }
        true
    }
}
