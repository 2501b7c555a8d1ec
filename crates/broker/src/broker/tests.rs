//! How a broker ends. The test counts threads of its process by name, so it is the only one here that starts a broker on disk.

use std::fs;

use disk::DirectoryLock;

use super::*;

const SHARDS: usize = 3;

/// How many threads of this process are shards'; no other test here has any.
fn shards() -> usize {
    let all = fs::read_dir("/proc/self/task").unwrap();
    // One that ends meanwhile has no name any more.
    let names = all.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with("shard-")).count()
}

fn config(directory: &str) -> Config {
    let setting = |name: &str| match name {
        "data-dir" => Some(directory.to_owned()),
        "listen" | "replica-listen" | "http-listen" => Some("127.0.0.1:0".to_owned()),
        "shards" => Some(SHARDS.to_string()),
        _ => None,
    };
    Config::load(None, |_| None, setting).unwrap()
}

#[tokio::test]
async fn however_a_broker_ends_it_leaves_no_shard_and_its_directory_free() {
    let directory = tempfile::tempdir().unwrap();
    let poisoned = ToControl::Ended(ExitCode::DirectoryPoisoned);
    for (end, code) in [(ToControl::Stop, ExitCode::Clean), (poisoned, ExitCode::DirectoryPoisoned)] {
        let broker = Broker::start(config(directory.path().to_str().unwrap())).unwrap();
        broker.ready().await.unwrap();
        assert_eq!(shards(), SHARDS);
        assert!(broker.control.send(end).is_ok());
        assert_eq!(broker.wait(), code);
        assert_eq!(DirectoryLock::holder(directory.path()).unwrap(), None);
        // The system may show a thread a moment longer than it is waited for.
        let ended = Instant::now();
        while shards() > 0 {
            assert!(ended.elapsed() < Duration::from_secs(60), "a shard goes on");
            thread::yield_now();
        }
    }
}
