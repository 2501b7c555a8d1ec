//! A cluster of real broker processes on loopback, and what stories about it need.
//!
//! Pauses: between two looks at a condition of other processes; this file alone has one.

mod foreign;
mod ledger;
mod node;
mod ports;

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use highwater_client::{Client, ClientError, NewTopic, PartitionDescription, TopicDescription};
use tempfile::TempDir;

pub(crate) use self::foreign::Foreign;
pub(crate) use self::ledger::{Acked, Found, KEYS, Ledger, Load, Read, read_all, read_to};
pub(crate) use self::node::{Node, highwater};
pub(crate) use self::ports::free;

/// How long a story may take at most; one of rounds so long for each three.
const STORY_LIMIT: Duration = Duration::from_secs(180);
/// Between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(10);

/// A door of the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Tcp,
    Tls,
    Quic,
}

impl Door {
    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
        }
    }
}

/// Runs one story; one at a time, since two cores are enough for one cluster only.
pub(crate) fn story(body: impl Future<Output = ()>) {
    story_within(STORY_LIMIT, body);
}

/// The same for a story of so many rounds.
pub(crate) fn story_of_rounds(rounds: usize, body: impl Future<Output = ()>) {
    story_within(STORY_LIMIT * u32::try_from(rounds.div_ceil(3)).expect("rounds are few"), body);
}

fn story_within(limit: Duration, body: impl Future<Output = ()>) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut body = pin!(body);
        // The body is alive when this panics, so its cluster shows the brokers' logs.
        tokio::time::timeout(limit, body.as_mut()).await.expect("the story ends in time");
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

/// A line of the story's own log, beside those of the brokers.
pub(crate) fn told(what: impl std::fmt::Display) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (hours, minutes, seconds) = (now.as_secs() / 3_600 % 24, now.as_secs() / 60 % 60, now.as_secs() % 60);
    eprintln!("{hours:02}:{minutes:02}:{seconds:02}.{:03} {what}", now.subsec_millis());
}

pub(crate) async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

/// Looks until there is an answer.
pub(crate) async fn until<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        pause().await;
    }
}

/// A cluster that is to be started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub(crate) nodes: u16,
    /// Further arguments of every `serve`.
    pub(crate) flags: Vec<&'static str>,
    /// Variables of every broker.
    pub(crate) environment: Vec<(&'static str, &'static str)>,
}

/// Brokers with their directories, all removed when it is dropped.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) home: TempDir,
}

impl Cluster {
    /// A cluster of three that serves.
    pub(crate) async fn three() -> Self {
        Self::start(&Setup { nodes: 3, ..Setup::default() }).await
    }

    /// Starts all brokers at once and waits until they serve.
    pub(crate) async fn start(setup: &Setup) -> Self {
        let mut cluster = Self::laid_out(setup);
        cluster.start_all().await;
        cluster
    }

    /// Lays a cluster out and starts nothing: its first node is formatted, the others are invited.
    pub(crate) fn laid_out(setup: &Setup) -> Self {
        let home = tempfile::Builder::new().prefix("highwater-test-").tempdir().unwrap();
        let mut nodes: Vec<Node> =
            (1..).zip(free(setup.nodes)).map(|(id, ports)| Node::new(id, ports, home.path())).collect();
        let mut tokens = form(&nodes[0], setup.nodes);
        let first = format!("127.0.0.1:{}", nodes[0].ports.replica);
        for node in &mut nodes {
            if node.id > 1 {
                node.invitation = Some((first.clone(), tokens.pop().expect("there is one for each")));
            }
            node.flags = setup.flags.iter().map(|flag| (*flag).to_owned()).collect();
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            node.environment = setup.environment.iter().map(owned).collect();
        }
        Self { nodes, home }
    }

    /// Starts those that do not run, and waits until all serve.
    pub(crate) async fn start_all(&mut self) {
        for node in &mut self.nodes {
            if !node.is_running() {
                node.kill();
                node.start();
            }
        }
        for node in &mut self.nodes {
            node.ready().await;
        }
    }

    /// Kills all brokers at once.
    pub(crate) fn kill_all(&mut self) {
        self.nodes.iter_mut().for_each(Node::send_kill);
        self.nodes.iter_mut().for_each(Node::kill);
    }

    /// Stops all brokers in good order.
    pub(crate) async fn stop_all(&mut self) {
        self.nodes.iter_mut().for_each(Node::send_terminate);
        for node in &mut self.nodes {
            let status = node.ended().await;
            assert!(status.success(), "node {} ended with {status:?}", node.id);
        }
    }

    /// Sets a variable that brokers have from their next start on.
    #[cfg(feature = "unsynced-in-memory")]
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        for node in &mut self.nodes {
            node.environment.retain(|(known, _)| known != name);
            node.environment.push((name.to_owned(), value.to_owned()));
        }
    }

    pub(crate) fn node(&mut self, id: i32) -> &mut Node {
        self.nodes.iter_mut().find(|node| i32::from(node.id) == id).expect("the node is one of the cluster's")
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.nodes[0].data_dir.join("tls").join("ca.pem")
    }

    /// Addresses of all brokers.
    pub(crate) fn addresses(&self, door: Door) -> String {
        let address = |node: &Node| format!("{}://127.0.0.1:{}", door.scheme(), node.ports.kafka);
        self.nodes.iter().map(address).collect::<Vec<_>>().join(",")
    }

    pub(crate) async fn client(&self, door: Door) -> Client {
        Client::builder(self.addresses(door)).ca_file(self.ca()).connect().await.unwrap()
    }

    /// A client that knows only one broker.
    pub(crate) async fn client_of(&self, id: u16) -> Client {
        let node = self.nodes.iter().find(|node| node.id == id).expect("the node is one of the cluster's");
        Client::connect(format!("127.0.0.1:{}", node.ports.kafka)).await.unwrap()
    }

    /// Every fault of every data directory, as `highwater log verify` tells them.
    pub(crate) fn verify(&self) {
        for node in &self.nodes {
            let output = highwater().args(["log", "verify"]).arg(&node.data_dir).output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            let complained = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "node {}: {told}{complained}", node.id);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() || node::shows_all() {
            for node in &self.nodes {
                let (_, metrics) = node.http("/metrics").unwrap_or_default();
                let gauges =
                    metrics.lines().filter(|line| !line.starts_with('#') && !line.contains("_total"));
                let gauges: Vec<&str> = gauges.filter(|line| !line.ends_with(" 0")).collect();
                eprintln!("--- node {} ({:?})\n{gauges:#?}\n{}", node.id, node.ports, node.last_lines());
            }
        }
    }
}

/// Formats the first node; gives as many tokens as there are nodes.
fn form(node: &Node, tokens: u16) -> Vec<String> {
    let mut command = highwater();
    command.args(["cluster", "init", "--output", "json", "--node-id", &node.id.to_string()]);
    command.args(["--tokens", &tokens.to_string()]).arg("--data-dir").arg(&node.data_dir);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let formed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let tokens = formed["tokens"].as_array().expect("tokens are printed");
    tokens.iter().map(|token| token.as_str().expect("a token is a text").to_owned()).collect()
}

/// A topic whose partitions have three replicas.
pub(crate) fn topic(name: &str, partitions: u32) -> NewTopic {
    NewTopic::named(name).partitions(partitions).replication(3)
}

/// Waits until a topic is as wanted.
pub(crate) async fn topic_until(
    client: &Client,
    name: &str,
    limit: Duration,
    wanted: impl Fn(&TopicDescription) -> bool,
) -> TopicDescription {
    let admin = client.admin();
    until(name, limit, async || admin.describe_topic(name).await.ok().filter(|topic| wanted(topic))).await
}

/// Waits until every replica is in sync.
pub(crate) async fn in_sync(client: &Client, name: &str) -> TopicDescription {
    topic_until(client, name, Duration::from_secs(30), |topic| topic.partitions.iter().all(is_whole)).await
}

pub(crate) fn is_whole(partition: &PartitionDescription) -> bool {
    partition.leader.is_some() && partition.in_sync.len() == partition.replicas.len()
}

/// The broker that leads the metadata quorum.
pub(crate) async fn controller(client: &Client) -> i32 {
    let admin = client.admin();
    until("a controller", Duration::from_secs(20), async || admin.describe_quorum().await.ok()?.leader).await
}

/// The name of what a broker refused with, wherever it stands in the chain of causes.
pub(crate) fn says(error: &ClientError, word: &str) -> bool {
    format!("{error} {error:?}").contains(word)
}
