//! DescribeCluster: the brokers.

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};
use log_store::Disk;

use crate::shard::{Ask, Shard};

/// The kind of endpoint that is described: 1 stands for brokers, 2 for controllers, which have no clients here.
const BROKERS: i8 = 1;

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_describe_cluster(&mut self, ask: Ask, request: &DescribeClusterRequest) {
        let door = self.door(ask);
        let live = self.live_addresses(&door);
        let controller_id = self.controller_id(&live);
        let fenced =
            self.core.image.brokers().filter(|broker| broker.is_fenced() && request.include_fenced_brokers);
        let fenced: Vec<_> = fenced.filter_map(|broker| self.address(&door, broker.id)).collect();
        let all = live.into_iter().map(|address| (address, false));
        let brokers = all.chain(fenced.into_iter().map(|address| (address, true)));
        let brokers = brokers.map(|(address, is_fenced)| DescribeClusterBroker {
            broker_id: address.broker.0,
            host: Cow::Owned(address.host),
            port: address.port,
            rack: address.rack.map(Cow::Owned),
            is_fenced,
        });
        let supported = ask.version < 1 || request.endpoint_type == BROKERS;
        let response = DescribeClusterResponse {
            throttle_time_ms: 0,
            error_code: if supported { ErrorCode::None } else { ErrorCode::UnsupportedEndpointType },
            error_message: (!supported).then_some(Cow::Borrowed("only brokers can be described")),
            endpoint_type: BROKERS,
            cluster_id: Cow::Owned(self.cluster_id().unwrap_or_default()),
            controller_id,
            brokers: if supported { brokers.collect() } else { Vec::new() },
            cluster_authorized_operations: i32::MIN,
        };
        self.respond(ask, &response);
    }
}
