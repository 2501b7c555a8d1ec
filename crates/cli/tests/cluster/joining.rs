//! Who forms a cluster and who joins one.

use std::time::Duration;

use serde_json::Value;

use crate::harness::{Cluster, Door, Node, Setup, free, highwater, in_sync, story, topic, until};

fn shown(node: &Node) -> Option<Value> {
    let (_, body) = node.http("/cluster")?;
    serde_json::from_str(&body).ok()
}

fn cluster_of(node: &Node) -> String {
    let shown = shown(node).expect("a ready broker answers");
    shown["cluster"].as_str().expect("a ready broker has a cluster").to_owned()
}

#[test]
fn a_fourth_node_joins_by_a_token() {
    story(async {
        let mut cluster = Cluster::three().await;
        let mut command = highwater();
        command.args(["cluster", "token", "--output", "json"]);
        command.args(["--http", &format!("127.0.0.1:{}", cluster.nodes[0].ports.http)]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        let token = made["token"].as_str().expect("a token is printed").to_owned();

        let mut fourth = Node::new(4, free(1)[0], cluster.home.path());
        fourth.invitation = Some((format!("127.0.0.1:{}", cluster.nodes[0].ports.replica), token.clone()));
        fourth.start();
        fourth.ready().await;
        assert_eq!(cluster_of(&fourth), cluster_of(&cluster.nodes[0]));
        cluster.nodes.push(fourth);
        let client = cluster.client(Door::Tcp).await;
        let admin = client.admin();
        until("four brokers", Duration::from_secs(10), async || {
            (admin.describe_cluster().await.ok()?.brokers.len() == 4).then_some(())
        })
        .await;
        admin.create_topic(topic("wide", 8)).await.unwrap();
        let described = in_sync(&client, "wide").await;
        assert!(
            described.partitions.iter().any(|partition| partition.replicas.contains(&4)),
            "{described:?}"
        );

        let mut fifth = Node::new(5, free(1)[0], cluster.home.path());
        fifth.invitation = Some((format!("127.0.0.1:{}", cluster.nodes[0].ports.replica), token));
        fifth.start();
        assert!(!fifth.ended().await.success(), "a token lets one node in");
    });
}

#[test]
fn nodes_that_start_at_once_never_form_two_clusters() {
    story(async {
        let mut cluster = Cluster::laid_out(&Setup { nodes: 3, ..Setup::default() });
        // The one that is to join comes first, and waits for the other.
        cluster.nodes[1].start();
        cluster.nodes[0].start();
        cluster.nodes[0].ready().await;
        cluster.nodes[1].ready().await;
        assert_eq!(cluster_of(&cluster.nodes[0]), cluster_of(&cluster.nodes[1]));

        // Alone, and without being told whom to join, it is still a member and forms nothing.
        cluster.kill_all();
        cluster.nodes[1].invitation = None;
        cluster.nodes[1].start();
        let phase = until("it says how it stands", Duration::from_secs(10), async || {
            cluster.nodes[1].http("/readyz")
        })
        .await;
        assert_eq!(phase.0, 503, "{}", phase.1);
        cluster.start_all().await;
        assert_eq!(cluster_of(&cluster.nodes[0]), cluster_of(&cluster.nodes[1]));
        assert_eq!(cluster_of(&cluster.nodes[0]), cluster_of(&cluster.nodes[2]));
    });
}
