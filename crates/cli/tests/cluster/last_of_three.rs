//! Two of the three replicas of a partition are killed one after the other: what was committed is read from the third, more
//! is not taken, and all of it is there once one of them is back.

use std::time::{Duration, Instant};

use highwater_client::{Client, Record, TopicDescription};

use crate::harness::{
    Cluster, Door, Ledger, Load, Setup, controller, read_all, read_to, says, story, told, topic, topic_until,
    until,
};

const TOPIC: &str = "precious";
/// Records that were acknowledged this long before the second kill are read at once.
const SETTLED: Duration = Duration::from_secs(1);
const READ_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn the_last_of_three_replicas_serves_what_was_committed() {
    story(async {
        let mut cluster = Cluster::start(&Setup { nodes: 5, ..Setup::default() }).await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic(TOPIC, 1)).await.unwrap();
        let limit = Duration::from_secs(20);
        let whole = topic_until(&client, TOPIC, limit, |topic| topic.partitions[0].in_sync.len() == 3).await;
        let first = whole.partitions[0].leader.expect("a partition in sync has a leader");
        let quorum = controller(&client).await;
        let load = Load::start(&client, TOPIC);
        load.more(200).await;

        cluster.node(first).kill();
        told(format_args!(
            "killed {first}; the controller was {quorum}, the partition {:?}",
            whole.partitions[0]
        ));
        let two = topic_until(&client, TOPIC, limit, |topic| {
            topic.partitions[0].in_sync.len() == 2 && topic.partitions[0].leader.is_some_and(|id| id != first)
        })
        .await;
        told("another one leads two in sync");
        load.more(200).await;
        let since = Instant::now();
        until("records settle", Duration::from_secs(5), async || (since.elapsed() > SETTLED).then_some(()))
            .await;
        let second = two.partitions[0].leader.expect("it was waited for");
        let quorum = controller(&client).await;
        cluster.node(second).kill();
        let killed = Instant::now();
        told(format_args!("killed {second} too; the controller was {quorum}"));

        let settled = load.acked_until(killed - SETTLED);
        read_what_was_settled(&client, &settled, second, killed + READ_WITHIN).await;
        refuses_more(&client).await;

        cluster.node(second).start();
        cluster.node(second).ready().await;
        load.more(100).await;
        let ledger = load.stop().await;
        ledger.all_acknowledged();
        ledger.check(&read_all(&client, TOPIC).await);
    });
}

/// The third replica gives all that was acknowledged a second before the kill.
async fn read_what_was_settled(client: &Client, settled: &Ledger, killed: i32, end: Instant) {
    let left = || end.saturating_duration_since(Instant::now());
    let taken_over = |topic: &TopicDescription| topic.partitions[0].leader.is_some_and(|id| id != killed);
    topic_until(client, TOPIC, left(), taken_over).await;
    told("another one leads");
    // Its end is not known for certain until one of the others is back, but what is committed is given.
    let last = settled.acked.iter().map(|acked| acked.offset).max().expect("something was acknowledged");
    let read = tokio::time::timeout(left(), read_to(client, TOPIC, 0, last)).await;
    settled.check(&read.expect("what was settled is read in time"));
    told("what was settled is read");
}

/// A producer that wants all in-sync replicas is told that there are too few.
async fn refuses_more(client: &Client) {
    let producer = client.producer().delivery_timeout(Duration::from_secs(2)).build().unwrap();
    let error = producer.send(Record::to(TOPIC).value("one too many")).await.unwrap_err();
    assert!(says(&error, "NOT_ENOUGH_REPLICAS") || says(&error, "NotEnoughReplicas"), "{error}");
}
