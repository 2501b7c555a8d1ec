//! `--timeout` bounds what commands wait for brokers that hang: they end, with the code and the words that belong to it.

use std::io::Write;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use highwater_client::OffsetSpec;

use crate::harness::{Cluster, Door, Setup, controller, highwater, story, topic, topic_until, until};

const TOPIC: &str = "hung";
const LIMIT: Duration = Duration::from_secs(20);

/// Waits for a command's end, for far less than it would wait without `--timeout`.
async fn ended(mut command: Child) -> Output {
    until("the command ends", LIMIT, async || command.try_wait().unwrap()).await;
    command.wait_with_output().unwrap()
}

#[track_caller]
fn check(output: &Output, code: i32, words: &str) {
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(told.contains(words), "{words:?} is not in: {told}");
}

#[test]
fn a_record_that_a_broker_has_and_does_not_acknowledge_ends_produce_while_it_waits_for_more() {
    story(async {
        let mut cluster = Cluster::start(&Setup { nodes: 1, ..Setup::default() }).await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic(TOPIC, 1).replication(1)).await.unwrap();
        let mut produce = highwater();
        produce.args(["produce", TOPIC, "--timeout", "2s", "--bootstrap", &cluster.addresses(Door::Tcp)]);
        produce.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut produce = produce.spawn().unwrap();
        let mut lines = produce.stdin.take().unwrap();
        lines.write_all(b"one\n").unwrap();
        until("the first line is stored", LIMIT, async || {
            let ends = client.admin().list_offsets(TOPIC, [0], OffsetSpec::Latest).await.ok()?;
            (ends.first()?.as_ref().ok()?.offset == Some(1)).then_some(())
        })
        .await;
        cluster.nodes[0].pause();
        lines.write_all(b"two\n").unwrap();
        let output = ended(produce).await;
        cluster.nodes[0].resume();
        check(&output, 6, "given up after 2.0 s before all of 2 records were acknowledged");
        drop(lines);
    });
}

#[test]
fn commands_about_a_partition_whose_leader_hangs_end_in_time() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic(TOPIC, 3).replication(1)).await.unwrap();
        let spread = topic_until(&client, TOPIC, LIMIT, |topic| {
            topic.partitions.iter().all(|partition| partition.leader.is_some())
        })
        .await;
        let leads = controller(&client).await;
        let hung = spread.partitions.iter().find(|partition| partition.leader != Some(leads)).unwrap();
        let partition = hung.partition.to_string();
        let node = hung.leader.unwrap();
        let mut living = Vec::new();
        for id in (1..=3).filter(|id| *id != node) {
            living.push(format!("127.0.0.1:{}", cluster.node(id).ports.kafka));
        }
        let run = |arguments: &[&str]| {
            let mut command = highwater();
            command.args(arguments).args(["--timeout", "3s", "--bootstrap", &living.join(",")]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            ended(command.spawn().unwrap())
        };
        let lines = cluster.home.path().join("lines");
        std::fs::write(&lines, "one\n").unwrap();
        cluster.node(node).pause();
        check(&run(&["topic", "describe", TOPIC]).await, 0, "3 partitions, replication factor 1");
        let read = run(&["consume", TOPIC, "--from", "beginning", "-e", "--partition", &partition]).await;
        check(&read, 4, "did not happen within 3");
        check(&run(&["bench", "consume", TOPIC]).await, 4, "did not happen within 3");
        let sent = run(&["produce", TOPIC, lines.to_str().unwrap(), "--partition", &partition]).await;
        check(
            &sent,
            4,
            &format!("delivery did not happen within 3000 ms (topic {TOPIC}, partition {partition})"),
        );
        check(&run(&["cluster", "status"]).await, 0, &format!("node {node}"));
        cluster.node(node).resume();
    });
}
