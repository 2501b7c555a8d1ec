//! A connection goes to the shard whose partitions it is used for.

use highwater_broker_core::{CloseReason, ConnectionId, Door, DoorKind, ShardId, ShardMessage};
use kafka_wire::messages::fetch::FetchResponse;

use crate::support::Cluster;
use crate::support::client::*;

const TCP: Door = Door { kind: DoorKind::Tcp, ..Door::MEMORY };
/// More than a connection needs to be drawn to a shard.
const MANY: i64 = 200;

fn produce(cluster: &mut Cluster, connection: ConnectionId, partition: i32) -> i64 {
    cluster.send(1, connection, 9, &produce_request("t", partition, 1, batch(&["x"])));
    cluster.run();
    cluster.produced(1, connection).expect("it is answered").base_offset
}

#[test]
fn a_connection_moves_once_to_the_shard_of_the_partition_that_it_writes_to() {
    let (mut cluster, [_, there]) = Cluster::two_shards();
    let connection = cluster.open_at(1, ShardId(0), TCP);
    for offset in 0..MANY {
        assert_eq!(produce(&mut cluster, connection, there), offset);
    }
    let broker = cluster.broker(1);
    assert_eq!(broker.moved, [(connection, ShardId(1))]);
    let metrics = [0, 1].map(|shard| {
        let metrics = broker.shards[shard].metrics();
        [metrics.connections_opened, metrics.connections_closed, metrics.connections_moved]
    });
    assert_eq!(metrics, [[1, 0, 0], [0, 0, 1]], "it was opened once and is not closed");
    let gauges = [0, 1].map(|shard| broker.shards[shard].gauges().connections);
    assert_eq!(gauges, [0, 1]);
}

#[test]
fn a_connection_that_is_kept_goes_on_where_it_is() {
    let (mut cluster, [_, there]) = Cluster::two_shards();
    cluster.broker(1).keeps = true;
    let connection = cluster.open_at(1, ShardId(0), TCP);
    for offset in 0..MANY {
        assert_eq!(produce(&mut cluster, connection, there), offset);
    }
    let broker = cluster.broker(1);
    assert_eq!(broker.moved[..2], [(connection, ShardId(1)); 2], "it is wanted there again");
    assert_eq!(broker.shards[1].metrics().connections_moved, 0);
    assert_eq!(broker.shards[0].gauges().connections, 1);
}

#[test]
fn who_comes_while_the_broker_stops_is_closed() {
    let (mut cluster, _) = Cluster::two_shards();
    let now = cluster.now;
    let shard = &mut cluster.broker(1).shards[0];
    shard.handle_message(now, ShardMessage::Stop);
    let (new, moved) = (ConnectionId(100), ConnectionId(101));
    shard.handle_connection_opened(now, new, TCP);
    shard.handle_connection_moved(now, moved, TCP);
    assert_eq!(shard.gauges().connections, 0);
    cluster.run();
    let closed = &cluster.broker(1).closed;
    assert_eq!([closed.get(&new), closed.get(&moved)], [Some(&CloseReason::Stopping); 2]);
}

#[test]
fn a_consumer_moves_too_and_misses_nothing() {
    let (mut cluster, [there, _]) = Cluster::two_shards();
    let connection = cluster.open_at(1, ShardId(1), TCP);
    for offset in 0..MANY {
        // The poll waits; what it waits for comes by another connection.
        cluster.send(1, connection, 12, &fetch_request("t", there, offset, 1_000));
        cluster.run();
        cluster.produce(1, "t", there, 1, batch(&["x"]));
        let frame = cluster.take_response(1, connection).expect("it is answered");
        let response: FetchResponse<'_> = parse(&frame, 12);
        assert_eq!(response.responses[0].partitions[0].high_watermark, offset + 1);
    }
    assert_eq!(cluster.broker(1).moved, [(connection, ShardId(0))]);
}

#[test]
fn a_connection_that_is_used_for_both_shards_stays() {
    let (mut cluster, [here, there]) = Cluster::two_shards();
    let connection = cluster.open_at(1, ShardId(0), TCP);
    for _ in 0..MANY {
        produce(&mut cluster, connection, there);
        produce(&mut cluster, connection, there);
        produce(&mut cluster, connection, here);
    }
    assert_eq!(cluster.broker(1).moved, []);
}

#[test]
fn only_a_plain_socket_moves() {
    let (mut cluster, [_, there]) = Cluster::two_shards();
    for kind in [DoorKind::Tls, DoorKind::Quic, DoorKind::WebTransport, DoorKind::WebSocket] {
        let connection = cluster.open_at(1, ShardId(0), Door { kind, ..Door::MEMORY });
        for _ in 0..MANY {
            produce(&mut cluster, connection, there);
        }
    }
    assert_eq!(cluster.broker(1).moved, []);
}
