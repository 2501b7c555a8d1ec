//! A full disk: produces are refused with the reason, reads go on, a restart works, and freed space is used again. The disk
//! is a small tmpfs; who may not mount one skips this.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use highwater_client::{Client, ClientError, ConfigChange, ConfigResource, NewTopic, Producer, Record};
use tempfile::TempDir;

use crate::harness::{Node, free, read_all, says, story, until};

const TOPIC: &str = "filling";
const VALUE_BYTES: usize = 500_000;

/// A tmpfs of 64 MiB, unmounted when dropped.
struct SmallDisk {
    path: PathBuf,
    _home: TempDir,
}

impl SmallDisk {
    fn mounted() -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(&path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self { path, _home: home })
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.path).status();
        assert!(std::thread::panicking() || unmounted.is_ok_and(|status| status.success()));
    }
}

async fn fill(producer: &Producer) -> (usize, ClientError) {
    let mut taken = 0;
    loop {
        let value = vec![b'x'; VALUE_BYTES];
        match producer.send(Record::to(TOPIC).value(value)).await {
            Ok(_) => taken += 1,
            Err(error) => return (taken, error),
        }
        assert!(taken < 200, "the disk takes more than it has");
    }
}

async fn client_of(node: &Node) -> Client {
    Client::connect(format!("127.0.0.1:{}", node.ports.kafka)).await.unwrap()
}

#[test]
fn a_full_disk_refuses_produces_and_nothing_else() {
    let Some(disk) = SmallDisk::mounted() else {
        return eprintln!("skipped: this user may not mount a tmpfs");
    };
    story(async {
        let mut node = Node::new(1, free(1)[0], disk.path());
        node.start();
        node.ready().await;
        let client = client_of(&node).await;
        let new = NewTopic::named(TOPIC).partitions(1).replication(1).config("segment.bytes", "4194304");
        client.admin().create_topic(new).await.unwrap();
        let impatient = || client.producer().delivery_timeout(Duration::from_secs(3)).build().unwrap();
        let (taken, error) = fill(&impatient()).await;
        assert!(taken > 10, "{taken}: {error}");
        assert!(says(&error, "disk full"), "{error}");
        assert_eq!(read_all(&client, TOPIC).await.records.len(), taken);

        node.kill();
        node.start();
        node.ready().await;
        assert_eq!(read_all(&client, TOPIC).await.records.len(), taken);
        node.stop().await;
        node.start();
        node.ready().await;
        let (more, error) = fill(&impatient()).await;
        assert!(says(&error, "disk full"), "{error}");

        let change = ConfigChange::Set("retention.bytes".into(), "8388608".into());
        client.admin().alter_configs(ConfigResource::Topic(TOPIC.into()), vec![change]).await.unwrap();
        let producer = impatient();
        until("freed space is used again", Duration::from_secs(40), async || {
            producer.send(Record::to(TOPIC).value(vec![b'y'; VALUE_BYTES])).await.ok()
        })
        .await;
        assert!(read_all(&client, TOPIC).await.records.len() < taken + more);
        node.stop().await;
    });
}
