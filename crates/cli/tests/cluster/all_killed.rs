//! All brokers are killed at once and started again: every acknowledged record is there, and no file is at fault.

use std::time::Duration;

use highwater_client::Start;

use crate::harness::{Cluster, Door, Load, in_sync, read_all, story, topic, until};

/// Twice: all brokers are killed under load, and what was acknowledged is there when they are back.
pub(crate) async fn survives_the_death_of_all(cluster: &mut Cluster) {
    let client = cluster.client(Door::Tcp).await;
    for name in ["survivors", "survivors-again"] {
        client.admin().create_topic(topic(name, 6)).await.unwrap();
        in_sync(&client, name).await;
        let load = Load::start(&client, name);
        load.more(500).await;
        cluster.kill_all();
        cluster.start_all().await;
        load.more(200).await;
        let ledger = load.stop().await;
        ledger.all_acknowledged();
        in_sync(&client, name).await;
        ledger.check(&read_all(&client, name).await);
    }
    cluster.kill_all();
    cluster.verify();
}

#[test]
fn every_acknowledged_record_survives_the_death_of_all_brokers() {
    story(async {
        let mut cluster = Cluster::three().await;
        survives_the_death_of_all(&mut cluster).await;
    });
}

#[test]
fn a_groups_position_survives_the_death_of_all_brokers() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic("read", 1)).await.unwrap();
        let load = Load::start(&client, "read");
        load.more(100).await;
        load.stop().await.all_acknowledged();

        let mut consumer =
            client.consumer("read").group("billing").start(Start::Earliest).build().await.unwrap();
        let mut last = None;
        for _ in 0..40 {
            last = consumer.try_next().await.unwrap();
        }
        let last = last.expect("records are there");
        consumer.mark(&last);
        consumer.commit().await.unwrap();
        cluster.kill_all();
        drop(consumer);
        drop(client);

        cluster.start_all().await;
        let client = cluster.client(Door::Quic).await;
        let committed = until("the position", Duration::from_secs(20), async || {
            client.admin().group_offsets("billing").await.ok().filter(|offsets| !offsets.is_empty())
        })
        .await;
        assert_eq!((committed.len(), committed[0].offset), (1, last.offset + 1));
    });
}
