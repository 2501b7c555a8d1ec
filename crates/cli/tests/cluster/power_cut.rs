//! All brokers lose their power at once: what they had not synced is gone. A kill alone does not show that, since the kernel keeps
//! what a killed process wrote; so these brokers keep their writes in memory until they are synced. The last story shows that the
//! first would fail if a sync did not do what it says.

use crate::all_killed::survives_the_death_of_all;
use crate::harness::{Cluster, Door, Load, Setup, in_sync, read_all, story, topic};

const DISK: &str = "HIGHWATER_TEST_DISK";

async fn cluster_on(disk: &'static str) -> Cluster {
    Cluster::start(&Setup { nodes: 3, environment: vec![(DISK, disk)], ..Setup::default() }).await
}

#[test]
fn every_acknowledged_record_survives_a_power_cut_of_all_brokers() {
    story(async {
        let mut cluster = cluster_on("unsynced").await;
        survives_the_death_of_all(&mut cluster).await;
    });
}

#[test]
fn a_sync_that_does_nothing_is_found_out() {
    story(async {
        let mut cluster = cluster_on("unsynced").await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic("lost", 6)).await.unwrap();
        in_sync(&client, "lost").await;
        cluster.stop_all().await;

        cluster.set(DISK, "lying");
        cluster.start_all().await;
        in_sync(&client, "lost").await;
        let load = Load::start(&client, "lost");
        load.more(500).await;
        let ledger = load.stop().await;
        ledger.all_acknowledged();
        cluster.kill_all();

        cluster.set(DISK, "unsynced");
        cluster.start_all().await;
        in_sync(&client, "lost").await;
        let fault = ledger.fault(&read_all(&client, "lost").await);
        assert!(fault.is_some_and(|fault| fault.contains("is missing")), "the checker sees what was lost");
    });
}
