//! The exit codes of `highwater help`, met by people and by programs: what is not there is 3 whoever finds it missing, a wrong
//! command line 2.

use std::fs;

use serde_json::Value;

use crate::harness::{Cluster, Door, Setup, highwater, story, topic};

#[test]
fn what_is_missing_has_one_code_and_what_is_wrong_another() {
    story(async {
        let cluster = Cluster::start(&Setup { nodes: 1, ..Setup::default() }).await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic("t", 1).replication(1)).await.unwrap();
        let lines = cluster.home.path().join("lines");
        fs::write(&lines, "one\n").unwrap();
        let lines = lines.to_str().unwrap();
        let addresses = cluster.addresses(Door::Tcp);
        for (code, words, line) in [
            (3, "the topic has 1 partitions", vec!["produce", "t", lines, "--partition", "9"]),
            (3, "has no partition 9", vec!["consume", "t", "--partition", "9"]),
            (3, "has no partition 9", vec!["topic", "elect", "t", "--partition", "9"]),
            (3, "topic u does not exist", vec!["produce", "u", lines]),
            (3, "topic u does not exist", vec!["topic", "delete", "u"]),
            (2, "a group's name has at least one letter", vec!["consume", "t", "--group", ""]),
            (2, "a group's name has at least one letter", vec!["group", "delete", "g", ""]),
            (3, "there is no node 9", vec!["cluster", "forget", "9", "--yes"]),
            (3, "no/such: no such file", vec!["produce", "t", "no/such"]),
            (2, "a batch has from 256 B to 64 MiB", vec!["produce", "t", lines, "--batch-bytes", "1"]),
            (2, "NAME=VALUE is wanted", vec!["produce", "t", lines, "--header", "foo"]),
            (
                2,
                "given twice",
                vec!["topic", "alter", "t", "--config", "retention.ms=1", "--reset", "retention.ms"],
            ),
            (1, "no tab after the headers", vec!["produce", "t", lines, "--headers"]),
            (
                0,
                "offset 9 lies behind the end of partition 0, which is 0",
                vec!["consume", "t", "-f", "9", "-e"],
            ),
            (1, "offset 9 lies behind the end of partition 0, which is 0", vec!["consume", "t", "-f", "9"]),
        ] {
            let run = |format| {
                let options = ["--bootstrap", &addresses, "--output", format];
                let output = highwater().args(&line).args(options).output().unwrap();
                let told = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(code), "{line:?}: {told}");
                assert!(told.contains(words), "{line:?}: {told}");
                told
            };
            run("table");
            for told in run("json").lines() {
                let told: Value =
                    serde_json::from_str(told).unwrap_or_else(|error| panic!("{told}: {error}"));
                let exit_code = told["note"].is_null().then_some(i64::from(code));
                assert_eq!(told["exit_code"].as_i64(), exit_code, "{line:?}: {told}");
            }
        }
    });
}

#[test]
fn the_id_of_a_cluster_is_written_as_kafka_clients_see_it() {
    story(async {
        let cluster = Cluster::start(&Setup { nodes: 1, ..Setup::default() }).await;
        let seen = cluster.client(Door::Tcp).await.admin().describe_cluster().await.unwrap();
        let seen = Value::from(seen.cluster_id.as_deref().expect("brokers tell it"));
        for (path, field) in [("/cluster", "cluster"), ("/brokers", "cluster_id")] {
            let (_, body) = cluster.nodes[0].http(path).expect("it serves");
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap()[field], seen, "{path}");
        }
        let data_dir = cluster.home.path().join("other");
        let mut init = highwater();
        init.args(["cluster", "init", "--output", "json", "--data-dir"]).arg(&data_dir);
        let formed: Value = serde_json::from_slice(&init.output().unwrap().stdout).unwrap();
        let (formed, seen) = (formed["cluster_id"].as_str().unwrap(), seen.as_str().unwrap());
        assert_eq!((formed.len(), seen.len()), (22, 22), "{formed} {seen}");
    });
}
