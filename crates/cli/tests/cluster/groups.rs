//! A group is seen behind, made to read again and given up, by the commands of the program alone.

use highwater_client::{Client, Record, Start};
use serde_json::Value;

use crate::harness::{Cluster, Door, highwater, story, topic};

const TOPIC: &str = "orders";
const GROUP: &str = "billing";

/// Runs a command: its code, its output, and what it said beside it.
fn run(cluster: &Cluster, arguments: &[&str]) -> (i32, String, String) {
    let mut command = highwater();
    command.args(arguments).args(["--bootstrap", &cluster.addresses(Door::Tcp)]);
    let done = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

/// What a command prints; it must succeed.
#[track_caller]
fn shown(cluster: &Cluster, arguments: &[&str]) -> String {
    let (code, out, beside) = run(cluster, arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{beside}");
    out
}

/// What a command says that ends with this code.
#[track_caller]
fn refused(cluster: &Cluster, code: i32, arguments: &[&str]) -> String {
    let (found, out, beside) = run(cluster, arguments);
    assert_eq!(found, code, "{arguments:?}: {out}{beside}");
    beside
}

fn described(cluster: &Cluster) -> Value {
    serde_json::from_str(&shown(cluster, &["group", "describe", GROUP, "--output", "json"])).unwrap()
}

/// What the group has committed, by partition.
fn committed(cluster: &Cluster) -> Vec<i64> {
    let described = described(cluster);
    let partitions = described["partitions"].as_array().unwrap();
    partitions.iter().map(|partition| partition["committed"].as_i64().unwrap()).collect()
}

/// Writes so many records into each of the two partitions.
async fn write(client: &Client, count: usize) {
    let producer = client.producer().build().unwrap();
    for number in 0..count {
        for partition in 0..2 {
            let record = Record::to(TOPIC).partition(partition).value(number.to_string());
            producer.send(record).await.unwrap();
        }
    }
}

/// Reads so many records as the group's only member.
fn read(cluster: &Cluster, count: usize) -> usize {
    let count = count.to_string();
    let arguments =
        ["consume", TOPIC, "--group", GROUP, "--from", "beginning", "--count", &count, "--format", "json"];
    shown(cluster, &arguments).lines().count()
}

#[test]
fn a_group_is_seen_behind_and_reads_again_where_it_is_told() {
    story(async {
        let cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic(TOPIC, 2)).await.unwrap();
        let no_groups = "no groups; highwater consume TOPIC --group NAME makes one\n";
        assert_eq!(shown(&cluster, &["group", "list"]), no_groups);
        assert!(refused(&cluster, 3, &["group", "describe", GROUP]).contains("billing does not exist"));
        write(&client, 10).await;
        assert_eq!(read(&cluster, 20), 20);
        assert!(shown(&cluster, &["group", "list"]).contains("billing  Empty  classic   consumer"));
        let nearest = refused(&cluster, 3, &["group", "describe", "biling"]);
        assert!(nearest.contains("there is billing"), "{nearest}");
        write(&client, 2).await;
        let found = described(&cluster);
        assert_eq!((&found["lag"], &found["members"]), (&4.into(), &Value::Array(Vec::new())));

        let reset = ["group", "reset", GROUP, "--topic", TOPIC, "--to"];
        let planned = shown(&cluster, &[&reset[..], &["earliest", "--dry-run"]].concat());
        assert!(planned.contains("reads 10 records again"), "{planned}");
        let asked = refused(&cluster, 1, &[&reset[..], &["earliest"]].concat());
        assert!(asked.contains("--yes confirms it"), "{asked}");
        assert_eq!(committed(&cluster), [10, 10], "so far nothing was changed");
        let back = ["group", "reset", GROUP, "--topic", "orders:0", "--to", "-5", "--yes"];
        assert_eq!(shown(&cluster, &back), "billing goes on elsewhere in 1 partition\n");
        assert_eq!(committed(&cluster), [5, 10]);
        // Seven of the one partition, two of the other.
        assert_eq!(read(&cluster, 9), 9);
        assert_eq!(described(&cluster)["lag"], 0);
        assert_eq!(
            shown(&cluster, &[&reset[..], &["latest", "--yes"]].concat()),
            "billing is there already; nothing was changed\n"
        );

        let member = client.consumer(TOPIC).group(GROUP).start(Start::Earliest).build().await.unwrap();
        let table = shown(&cluster, &["group", "describe", GROUP]);
        assert!(table.starts_with("billing: Stable, 1 member, range, 0 records behind\n"), "{table}");
        assert_eq!(table.matches("(127.0.0.1)").count(), 2, "{table}");
        let running = refused(&cluster, 1, &[&reset[..], &["earliest", "--yes"]].concat());
        assert!(running.contains("group billing has 1 member; nothing was changed"), "{running}");
        let planned = shown(&cluster, &[&reset[..], &["earliest", "--dry-run"]].concat());
        assert!(planned.contains("reads 12 records again"), "{planned}");
        assert!(planned.ends_with("billing cannot be changed while it has 1 member\n"), "{planned}");
        refused(&cluster, 1, &["group", "delete", GROUP]);
        refused(&cluster, 1, &["group", "forget", GROUP, "--topic", TOPIC, "--yes"]);
        member.close().await.unwrap();

        let forgotten = shown(&cluster, &["group", "forget", GROUP, "--topic", "orders:1", "--yes"]);
        assert_eq!(forgotten, "billing has no position any more in 1 partition\n");
        assert_eq!(committed(&cluster), [12]);
        let nowhere = refused(&cluster, 1, &["group", "forget", GROUP, "--topic", "orders:1", "--yes"]);
        assert!(nowhere.contains("billing has no position in partition 1 of topic orders;"), "{nowhere}");
        // The partition without a position keeps the other from nothing.
        assert_eq!(
            shown(&cluster, &[&reset[..], &["-1", "--yes"]].concat()),
            "billing goes on elsewhere in 1 partition\norders 1: has no position that could be moved\n"
        );
        assert_eq!(committed(&cluster), [11]);
        let (code, deleted, beside) = run(&cluster, &["group", "delete", "biling", GROUP]);
        assert_eq!((code, deleted.as_str()), (3, "deleted billing\n"), "{beside}");
        assert_eq!(beside, "error: group biling does not exist\n  there is billing\n");
        refused(&cluster, 3, &["group", "delete", GROUP]);
        assert_eq!(shown(&cluster, &["group", "delete", GROUP, "--if-exists"]), "nothing to delete\n");
        assert_eq!(shown(&cluster, &["group", "list"]), no_groups);
    });
}

#[test]
fn a_group_that_is_not_there_yet_is_given_its_first_positions() {
    story(async {
        let cluster = Cluster::three().await;
        let client = cluster.client(Door::Tcp).await;
        client.admin().create_topic(topic(TOPIC, 2)).await.unwrap();
        write(&client, 10).await;
        let reset = |to| ["group", "reset", GROUP, "--topic", TOPIC, "--to", to, "--yes"];
        let nothing = refused(&cluster, 1, &reset("+1"));
        assert!(nothing.contains("--to earliest, latest or an offset"), "{nothing}");
        let (code, _, beside) = run(&cluster, &reset("8"));
        assert_eq!(code, 0, "{beside}");
        assert!(beside.contains("There is no such group yet: it is made by this."), "{beside}");
        assert_eq!(committed(&cluster), [8, 8]);
        assert_eq!(read(&cluster, 4), 4);
        refused(&cluster, 3, &["group", "reset", GROUP, "--topic", "orders:2", "--to", "8"]);
        refused(&cluster, 3, &["group", "reset", GROUP, "--topic", "ordes", "--to", "8"]);
        refused(&cluster, 2, &["group", "reset", GROUP, "--topic", TOPIC, "--to", "yesterday"]);
    });
}
