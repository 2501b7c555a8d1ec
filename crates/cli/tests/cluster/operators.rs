//! An operator's way out: a damaged sole replica is elected and leads up to the damage; a node that is gone is given up.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use highwater_client::Client;

use crate::harness::{Cluster, Door, Load, Setup, highwater, read_all, story, topic, topic_until, until};

const TOPIC: &str = "alone";
const LIMIT: Duration = Duration::from_secs(20);

/// Runs a command of the operator's; it must succeed.
fn run(cluster: &Cluster, arguments: &[&str]) -> String {
    ends(cluster, 0, arguments)
}

/// Runs a command that ends with this code; what it said.
fn ends(cluster: &Cluster, code: i32, arguments: &[&str]) -> String {
    let mut command = highwater();
    command.args(arguments).args(["--bootstrap", &cluster.addresses(Door::Tcp)]);
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(code), "{arguments:?}: {told}");
    told
}

/// What people see of a partition whose only replica is damaged.
fn damage_is_named(cluster: &Cluster) {
    let told = run(cluster, &["topic", "describe", TOPIC]);
    assert!(told.contains("partition 0: its only replica, on node 1, is damaged\n"), "{told}");
    assert!(told.contains("docs/operations.md, \"My only replica is damaged\""), "{told}");
    let told = run(cluster, &["cluster", "status"]);
    assert!(told.contains("1 partition with a damaged replica"), "{told}");
    let lines = cluster.home.path().join("lines");
    fs::write(&lines, "one\n").unwrap();
    let told = ends(cluster, 4, &["produce", TOPIC, lines.to_str().unwrap(), "--timeout", "2s"]);
    assert!(told.contains("the partition has no leader; its replicas: damaged on node 1"), "{told}");
    assert!(told.contains("highwater topic describe alone shows why"), "{told}");
    let told = ends(cluster, 4, &["consume", TOPIC, "--from", "beginning", "-e", "--timeout", "2s"]);
    assert!(told.contains("1 partition of alone has no leader and cannot be read now"), "{told}");
    assert!(told.contains("damaged on node 1"), "{told}");
}

/// Flips a byte in the first batch of the second segment of the topic's partition; the base offset of that segment.
fn damage(cluster: &mut Cluster, topic: highwater_client::TopicId) -> i64 {
    let hex: String = topic.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = cluster.node(1).data_dir.join("topics").join(hex).join("0");
    let mut logs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    assert!(logs.len() > 2, "{logs:?}");
    let file = File::options().read(true).write(true).open(&logs[1]).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 200).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], 200).unwrap();
    logs[1].file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

async fn led_by(client: &Client, leader: Option<i32>) {
    topic_until(client, TOPIC, LIMIT, |topic| topic.partitions[0].leader == leader).await;
}

#[test]
fn a_damaged_sole_replica_is_elected_and_leads_up_to_the_damage() {
    story(async {
        let mut cluster = Cluster::start(&Setup { nodes: 1, ..Setup::default() }).await;
        let client = cluster.client(Door::Tcp).await;
        let new = topic(TOPIC, 1).replication(1).config("segment.bytes", "65536");
        let id = client.admin().create_topic(new).await.unwrap().id;
        let load = Load::sized(&client, TOPIC, 1_000);
        load.more(300).await;
        load.stop().await.all_acknowledged();
        cluster.node(1).stop().await;
        let kept = damage(&mut cluster, id);
        cluster.start_all().await;
        led_by(&client, Some(1)).await;
        // Whoever reads so far has it noticed, and waits for a leader then.
        let reader = client.clone();
        let reading = tokio::spawn(async move { read_all(&reader, TOPIC).await });
        led_by(&client, None).await;
        reading.abort();
        damage_is_named(&cluster);
        let told = run(&cluster, &["topic", "elect", TOPIC, "--unclean", "--yes"]);
        assert!(told.contains("shall lead, up to the damage"), "{told}");
        led_by(&client, Some(1)).await;
        let records = read_all(&client, TOPIC).await.records;
        assert_eq!(records.len(), usize::try_from(kept).unwrap(), "all before the damage, and no more");
        let load = Load::start(&client, TOPIC);
        load.more(10).await;
        load.stop().await.all_acknowledged();
    });
}

#[test]
fn a_node_that_will_not_come_back_is_forgotten() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        cluster.node(3).kill();
        until("the node is missed", LIMIT, async || {
            let described = client.admin().describe_cluster().await.ok()?;
            described.fenced.iter().any(|node| node.id == 3).then_some(())
        })
        .await;
        assert!(run(&cluster, &["cluster", "forget", "3", "--yes"]).contains("node 3 is forgotten"));
        let described = client.admin().describe_cluster().await.unwrap();
        assert!(described.fenced.is_empty() && described.brokers.len() == 2, "{described:?}");
    });
}
