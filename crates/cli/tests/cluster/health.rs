//! `/livez` and `/readyz` of a broker that recovers.

use std::time::Duration;

use crate::harness::{Cluster, Door, Load, in_sync, story, topic, until};

#[test]
fn a_recovering_broker_is_live_and_not_ready_until_it_has_a_cluster() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic("health", 3)).await.unwrap();
        in_sync(&client, "health").await;
        let load = Load::start(&client, "health");
        load.more(200).await;
        cluster.kill_all();

        // Alone, it has no quorum.
        cluster.nodes[0].start();
        let live =
            until("it is live", Duration::from_secs(10), async || cluster.nodes[0].http("/livez")).await;
        assert_eq!(live, (200, "live\n".to_owned()));
        let (status, reason) = cluster.nodes[0].http("/readyz").expect("it is live");
        assert_eq!(status, 503, "{reason}");
        assert!(!reason.trim().is_empty(), "the reason is told");

        cluster.start_all().await;
        assert_eq!(cluster.nodes[0].http("/readyz"), Some((200, "ready\n".to_owned())));
        load.more(100).await;
        load.stop().await.all_acknowledged();
    });
}
