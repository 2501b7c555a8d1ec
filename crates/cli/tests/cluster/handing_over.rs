//! A leader that is asked to stop hands its leaderships over, and a producer hardly notices.

use std::time::Duration;

use crate::harness::{Cluster, Door, Load, in_sync, read_all, story, topic};

/// Without an acknowledgement.
const GAP_MAX: Duration = Duration::from_millis(500);

#[test]
fn a_leader_that_stops_in_order_is_hardly_noticed() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic("orders", 1)).await.unwrap();
        let described = in_sync(&client, "orders").await;
        let leader = described.partitions[0].leader.expect("a partition in sync has a leader");
        let load = Load::start(&client, "orders");
        load.more(500).await;
        cluster.node(leader).stop().await;
        load.more(500).await;
        let ledger = load.stop().await;
        ledger.all_acknowledged();
        let gap = ledger.longest_gap();
        eprintln!("longest time without an acknowledgement: {gap:?}");
        assert!(gap < GAP_MAX, "{gap:?} without an acknowledgement");
        ledger.check(&read_all(&client, "orders").await);
    });
}
