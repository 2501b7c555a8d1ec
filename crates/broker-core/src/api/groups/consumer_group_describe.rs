//! ConsumerGroupDescribe: groups of the consumer protocol (KIP-848), of which there are none yet. Clients that know
//! both protocols ask this first, and for a group that is not found by DescribeGroups.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::consumer_group_describe::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedConsumerGroup,
};
use log_store::Disk;

use crate::shard::{Ask, Shard};

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_consumer_group_describe(
        &mut self,
        ask: Ask,
        request: &ConsumerGroupDescribeRequest<'_>,
    ) {
        let groups = request.group_ids.iter().map(|group| {
            let coordinated = self.coordinating(group);
            let error_code = coordinated.err().unwrap_or(ErrorCode::GroupIdNotFound);
            DescribedConsumerGroup {
                error_code,
                error_message: (error_code == ErrorCode::GroupIdNotFound)
                    .then(|| Cow::Owned(format!("there is no group {group} of the consumer protocol"))),
                group_id: group.clone(),
                authorized_operations: i32::MIN,
                ..DescribedConsumerGroup::default()
            }
        });
        let groups = groups.collect();
        self.respond(ask, &ConsumerGroupDescribeResponse { throttle_time_ms: 0, groups });
    }
}
