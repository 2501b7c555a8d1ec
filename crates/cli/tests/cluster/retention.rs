//! Retention by time and by size, and rolling by time: on all replicas alike.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use highwater_client::{Client, NewTopic, OffsetSpec, TopicId};

use crate::harness::{Cluster, Door, Load, Node, in_sync, story, topic, until};

/// Retention is looked at every 10 s.
const LIMIT: Duration = Duration::from_secs(40);

/// The segments of a topic's only partition on one node: base offsets and sizes.
fn segments(node: &Node, topic: TopicId) -> Vec<(i64, u64)> {
    let folder = partition_folder(node, topic);
    let mut found: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let base = name.strip_suffix(".log")?.parse().ok()?;
            Some((base, entry.metadata().ok()?.len()))
        })
        .collect();
    found.sort_unstable();
    found
}

fn partition_folder(node: &Node, topic: TopicId) -> PathBuf {
    let hex: String = topic.0.iter().map(|byte| format!("{byte:02x}")).collect();
    node.data_dir.join("topics").join(hex).join("0")
}

async fn earliest(client: &Client, topic: &str) -> Option<i64> {
    let found = client.admin().list_offsets(topic, [0], OffsetSpec::Earliest).await.ok()?;
    found.first()?.as_ref().ok()?.offset
}

/// Fills a topic and waits until every replica begins at a segment behind the first.
async fn told(new: NewTopic) {
    let mut cluster = Cluster::three().await;
    let client = cluster.client(Door::Tcp).await;
    let name = new.name.clone();
    let created = client.admin().create_topic(new).await.unwrap();
    in_sync(&client, &name).await;
    let load = Load::sized(&client, &name, 1_000);
    load.more(600).await;
    until("records expire on all replicas", LIMIT, async || {
        let start = earliest(&client, &name).await.filter(|start| *start > 0)?;
        let first = |node: &Node| segments(node, created.id).first().map(|(base, _)| *base);
        let firsts: Vec<_> = cluster.nodes.iter().map(first).collect();
        firsts.iter().all(|first| first.is_some_and(|base| base > 0 && base <= start)).then_some(())
    })
    .await;
    load.more(10).await;
    load.stop().await.all_acknowledged();
    cluster.stop_all().await;
    cluster.verify();
}

#[test]
fn retention_by_size_holds_on_all_replicas() {
    story(told(topic("sized", 1).config("segment.bytes", "65536").config("retention.bytes", "131072")));
}

#[test]
fn retention_by_time_holds_on_all_replicas() {
    story(told(topic("timed", 1).config("segment.bytes", "65536").config("retention.ms", "1000")));
}

#[test]
fn segments_roll_by_time_on_all_replicas() {
    story(async {
        let cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        let created =
            client.admin().create_topic(topic("rolled", 1).config("segment.ms", "500")).await.unwrap();
        in_sync(&client, "rolled").await;
        let load = Load::start(&client, "rolled");
        until("segments roll", LIMIT, async || {
            cluster.nodes.iter().all(|node| segments(node, created.id).len() >= 3).then_some(())
        })
        .await;
        load.stop().await.all_acknowledged();
    });
}
