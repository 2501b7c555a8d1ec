//! Two of three voters are gone: `cluster status` says that nobody decides any more, and does not pass for a success.

use std::process::Output;
use std::time::Duration;

use crate::harness::{Cluster, Door, controller, highwater, story, topic, until};

fn status(cluster: &Cluster, node: u16) -> Output {
    let node = cluster.nodes.iter().find(|found| found.id == node).unwrap();
    let address = format!("127.0.0.1:{}", node.ports.kafka);
    highwater().args(["cluster", "status", "--timeout", "5s", "--bootstrap", &address]).output().unwrap()
}

#[test]
fn a_status_without_a_majority_is_an_alarm() {
    story(async {
        let mut cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic("left", 3)).await.unwrap();
        controller(&client).await;
        assert!(status(&cluster, 1).status.success());
        for id in [2, 3] {
            cluster.node(id).kill();
        }
        let output = status(&cluster, 1);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(4), "{told}");
        assert!(
            told.contains("only 1 of 3 voters of the metadata quorum answer: nothing can be changed"),
            "{told}"
        );
        assert!(told.contains("node 2 at") && told.contains("node 3 at"), "{told}");
        cluster.start_all().await;
        until("the majority is back", Duration::from_secs(20), async || {
            status(&cluster, 1).status.success().then_some(())
        })
        .await;
    });
}
