//! A byte of a sealed segment is flipped on one replica: it is never served, the replica gives up its seat and is copied anew.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use highwater_client::{Client, TopicId};

use crate::harness::{Cluster, Door, Ledger, Load, in_sync, read_all, story, topic, topic_until, until};

const TOPIC: &str = "flipped";
const LIMIT: Duration = Duration::from_secs(40);
/// In the records of the first batch.
const POSITION: u64 = 200;

fn first_segment(cluster: &mut Cluster, id: i32, topic: TopicId) -> PathBuf {
    let hex: String = topic.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = cluster.node(id).data_dir.join("topics").join(hex).join("0");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    assert!(found.len() > 2, "{found:?}");
    found.into_iter().min().expect("there are some")
}

fn flip(path: &PathBuf) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, POSITION).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], POSITION).unwrap();
}

/// A topic with some sealed segments: its id, its preferred leader, and what was sent.
async fn filled(client: &Client) -> (TopicId, i32, Ledger) {
    let new = topic(TOPIC, 1).config("segment.bytes", "65536");
    let id = client.admin().create_topic(new).await.unwrap().id;
    let described = in_sync(client, TOPIC).await;
    let load = Load::sized(client, TOPIC, 1_000);
    load.more(600).await;
    let ledger = load.stop().await;
    ledger.all_acknowledged();
    (id, described.partitions[0].replicas[0], ledger)
}

async fn led_by(client: &Client, id: i32) {
    topic_until(client, TOPIC, LIMIT, |topic| {
        topic.partitions[0].leader == Some(id) && topic.partitions[0].in_sync.len() == 3
    })
    .await;
}

/// The leader finds the damage when it is read; readers get the records from another one.
async fn is_found_and_mended(
    cluster: &mut Cluster,
    client: &Client,
    id: TopicId,
    broken: i32,
    ledger: &Ledger,
) {
    ledger.check(&read_all(client, TOPIC).await);
    cluster.node(broken).metric_until("highwater_replicas_damaged_total", LIMIT, |found| found > 0).await;
    let intact = fs::read(first_segment(cluster, 1 + broken % 3, id)).unwrap();
    until("the replica is copied anew", LIMIT, async || {
        let path = cluster.node(broken).data_dir.join("topics");
        let hex: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let copied = fs::read(path.join(hex).join("0").join("00000000000000000000.log")).ok()?;
        (copied == intact).then_some(())
    })
    .await;
    in_sync(client, TOPIC).await;
    ledger.check(&read_all(client, TOPIC).await);
    cluster.stop_all().await;
    cluster.verify();
}

#[test]
fn a_byte_flipped_while_the_broker_is_stopped_is_never_served() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        let (id, leader, ledger) = filled(&client).await;
        cluster.node(leader).stop().await;
        flip(&first_segment(&mut cluster, leader, id));
        cluster.start_all().await;
        led_by(&client, leader).await;
        is_found_and_mended(&mut cluster, &client, id, leader, &ledger).await;
    });
}

#[test]
fn a_byte_flipped_while_the_broker_runs_is_never_served() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        let (id, leader, ledger) = filled(&client).await;
        // What a broker has checked since its start is sent on without another look.
        cluster.node(leader).stop().await;
        cluster.start_all().await;
        led_by(&client, leader).await;
        flip(&first_segment(&mut cluster, leader, id));
        is_found_and_mended(&mut cluster, &client, id, leader, &ledger).await;
    });
}
