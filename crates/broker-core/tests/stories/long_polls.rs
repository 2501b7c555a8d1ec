//! What a Fetch that waits costs while it waits, when it ends, and when its client is gone.

use std::time::Duration;

use highwater_broker_core::{ConnectionId, Door, ShardId};

use crate::support::Cluster;
use crate::support::client::*;

const HERE: ShardId = ShardId(0);
const THERE: ShardId = ShardId(1);

/// A client of the first shard that waits five minutes for the first record.
fn poll(cluster: &mut Cluster, partition: i32) -> ConnectionId {
    let connection = cluster.open_at(1, HERE, Door::MEMORY);
    cluster.send(1, connection, 12, &fetch_request("t", partition, 0, 300_000));
    connection
}

/// Appends a record by a client of the shard that the partition lives on.
fn produce_there(cluster: &mut Cluster, partition: i32) {
    let connection = cluster.open_at(1, THERE, Door::MEMORY);
    cluster.send(1, connection, 9, &produce_request("t", partition, 1, batch(&["x"])));
    cluster.run();
}

fn waiting(cluster: &mut Cluster) -> u64 {
    cluster.broker(1).shards[0].gauges().requests_waiting
}

#[test]
fn a_fetch_that_waits_goes_with_its_connection() {
    let (mut cluster, [_, partition]) = Cluster::two_shards();
    let connection = poll(&mut cluster, partition);
    cluster.run();
    assert_eq!((waiting(&mut cluster), cluster.broker(1).told), (1, 3), "read, answered, watched");
    cluster.leave(1, HERE, connection);
    cluster.run();
    assert_eq!((waiting(&mut cluster), cluster.broker(1).told), (0, 4), "watched no longer");
    produce_there(&mut cluster, partition);
    assert_eq!(cluster.broker(1).told, 4, "nobody is told");
}

#[test]
fn a_fetch_whose_client_left_while_it_was_read_does_not_begin_to_wait() {
    let (mut cluster, [_, partition]) = Cluster::two_shards();
    let connection = poll(&mut cluster, partition);
    cluster.leave(1, HERE, connection);
    cluster.run();
    assert_eq!((waiting(&mut cluster), cluster.broker(1).told), (0, 2), "read and answered");
}

#[test]
fn a_connection_that_the_broker_closes_takes_its_fetches_along() {
    let (mut cluster, [_, partition]) = Cluster::two_shards();
    let connection = poll(&mut cluster, partition);
    cluster.run();
    assert_eq!(waiting(&mut cluster), 1);
    cluster.send_frame(1, connection, &bytes::Bytes::from_static(&[0, 1, 0, 12]));
    cluster.run();
    assert!(cluster.broker(1).closed.contains_key(&connection), "half a Fetch is malformed");
    assert_eq!(waiting(&mut cluster), 0);
}

#[test]
fn a_fetch_that_is_woken_says_nothing_about_the_partition_that_woke_it() {
    let (mut cluster, [_, partition]) = Cluster::two_shards();
    let connection = poll(&mut cluster, partition);
    cluster.run();
    produce_there(&mut cluster, partition);
    assert!(cluster.take_response(1, connection).is_some());
    assert_eq!(cluster.broker(1).told, 6, "read, answered, watched, moved, read, answered");
}

#[test]
fn a_fetch_whose_time_is_up_watches_no_longer() {
    let (mut cluster, [_, partition]) = Cluster::two_shards();
    let connection = cluster.open_at(1, HERE, Door::MEMORY);
    cluster.send(1, connection, 12, &fetch_request("t", partition, 0, 100));
    cluster.run();
    cluster.pass(Duration::from_secs(1));
    assert!(cluster.take_response(1, connection).is_some());
    assert_eq!(cluster.broker(1).told, 4, "read, answered, watched, watched no longer");
    produce_there(&mut cluster, partition);
    assert_eq!(cluster.broker(1).told, 4, "nobody is told");
}
