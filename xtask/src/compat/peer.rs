//! Our client against Apache Kafka's own broker: topics, records, positions, settings, with every codec, by the binary;
//! then the client library's own stories.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::client::{Client, Tools};
use super::corpus::Corpus;
use super::java;
use super::matrix::Codec;
use crate::{process, steps};

const START_LIMIT: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(120);
/// The stories of the client are built first, unless the tests ran before.
const STORIES_LIMIT: Duration = Duration::from_secs(900);

/// A Kafka broker that is its own controller, ended when the value is dropped.
struct Peer {
    process: Child,
    bootstrap: String,
}

/// Starts the broker, and does with it what a user of our client does.
pub(crate) fn check(folder: &Path, tools: &Tools, corpus: &Corpus) -> Result<()> {
    let peer = Peer::start(&folder.join("kafka"), tools)?;
    for codec in Codec::ALL {
        records(&peer, tools, corpus, codec)?;
    }
    positions(&peer, tools)?;
    admin(&peer, tools)?;
    stories(&peer)?;
    println!("our client does with Apache Kafka {} what it does with ours", java::VERSION);
    Ok(())
}

impl Peer {
    fn start(folder: &Path, tools: &Tools) -> Result<Self> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        let (port, controller) = (free_port()?, free_port()?);
        let settings = folder.join("server.properties");
        fs::write(&settings, properties(folder, port, controller))?;
        let java = tools.java()?;
        let mut format = java.tool("kafka.tools.StorageTool");
        format.args(["format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config"]).arg(&settings);
        process::run_quietly(&mut format, LIMIT)?;
        let log = folder.join("broker.log");
        let output = File::create(&log)?;
        let process = java
            .tool("kafka.Kafka")
            .arg(&settings)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("Kafka's broker could not be started")?;
        let mut peer = Self { process, bootstrap: format!("127.0.0.1:{port}") };
        peer.await_ready(tools, &log)?;
        Ok(peer)
    }

    fn await_ready(&mut self, tools: &Tools, log: &PathBuf) -> Result<()> {
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait()? {
                bail!("Kafka's broker ended with {status}\n{}", fs::read_to_string(log)?);
            }
            let mut list = tools.highwater();
            list.args(["topic", "list", "--timeout", "1s", "--bootstrap", &self.bootstrap]);
            if process::run_quietly(&mut list, LIMIT).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        bail!("Kafka's broker was not ready within {} s\n{}", START_LIMIT.as_secs(), fs::read_to_string(log)?)
    }

    /// Runs our binary against the broker and gives what it printed.
    fn highwater(&self, tools: &Tools, arguments: &[&str]) -> Result<Vec<String>> {
        let mut command = tools.highwater();
        command.args(arguments).args(["--bootstrap", &self.bootstrap]);
        process::run_quietly(&mut command, LIMIT)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It is our own child; nothing in its directory is needed any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn records(peer: &Peer, tools: &Tools, corpus: &Corpus, codec: Codec) -> Result<()> {
    let topic = format!("peer-{}", codec.name());
    peer.highwater(tools, &["topic", "create", &topic, "--partitions", "6", "--replication-factor", "1"])?;
    for (writer, readers) in [(Client::Highwater, [Client::Highwater, Client::Java])] {
        writer.produce(tools, &peer.bootstrap, &topic, codec, corpus)?;
        for reader in readers {
            let found = reader.consume(tools, &peer.bootstrap, &topic, corpus)?;
            corpus.check(&found).with_context(|| format!("{topic} read by {}", reader.name()))?;
        }
    }
    Ok(())
}

/// By offset, by time, at the end.
fn positions(peer: &Peer, tools: &Tools) -> Result<()> {
    let consume = |from: &str, count: &str| {
        let fixed = ["consume", "peer-none", "--format", "json", "--exit-at-end", "--partition", "0"];
        peer.highwater(tools, &[&fixed[..], &["--from", from, "--count", count]].concat())
    };
    let all = consume("beginning", "1000000")?;
    let line = |number: usize| -> Result<serde_json::Value> {
        Ok(serde_json::from_str(all.get(number).context("partition 0 has more than ten records")?)?)
    };
    let tenth = line(10)?;
    ensure!(consume("10", "1")?.first() == all.get(10), "reading from offset 10 gave another record");
    let timestamp =
        tenth.get("timestamp").and_then(serde_json::Value::as_i64).context("records have timestamps")?;
    let found = consume(&format!("@{timestamp}"), "1")?;
    let first = (0..all.len())
        .find(|number| line(*number).is_ok_and(|record| record.get("timestamp") == tenth.get("timestamp")));
    ensure!(
        found.first() == first.and_then(|first| all.get(first)),
        "reading from a time gave another record"
    );
    ensure!(consume("end", "1")?.is_empty(), "something came from behind the end");
    Ok(())
}

fn admin(peer: &Peer, tools: &Tools) -> Result<()> {
    peer.highwater(
        tools,
        &["topic", "create", "peer-admin", "--partitions", "2", "--replication-factor", "1"],
    )?;
    let change = ["--partitions", "4", "--config", "retention.ms=3600000"];
    peer.highwater(tools, &[&["topic", "alter", "peer-admin"][..], &change].concat())?;
    let described = peer.highwater(tools, &["topic", "describe", "peer-admin"])?.join("\n");
    ensure!(described.contains("4 partitions"), "the partitions were not added:\n{described}");
    ensure!(described.contains("retention.ms = 3600000"), "the setting was not changed:\n{described}");
    peer.highwater(tools, &["topic", "delete", "peer-admin"])?;
    let listed = peer.highwater(tools, &["topic", "list"])?.join("\n");
    ensure!(!listed.contains("peer-admin"), "the topic was not deleted:\n{listed}");
    let missing = peer.highwater(tools, &["topic", "describe", "peer-admin"]);
    ensure!(missing.is_err(), "a deleted topic was described");
    Ok(())
}

/// The stories that the library tells against a broker in memory, told against Kafka.
fn stories(peer: &Peer) -> Result<()> {
    let mut command = steps::cargo();
    // Of the whole workspace, as the tests were built before: for one package alone the dependencies are built anew.
    command.args(["test", "--locked", "--workspace", "--test", "broker_stories"]);
    command.env("HIGHWATER_TEST_BOOTSTRAP", &peer.bootstrap).env_remove("HIGHWATER_TEST_CA");
    // Of a long output only the end is shown, which is to be what was found.
    command.env("RUST_BACKTRACE", "0");
    let lines = process::run_quietly(&mut command, STORIES_LIMIT)?;
    let result = lines.iter().find(|line| line.starts_with("test result: ok. "));
    println!("the client's stories against Kafka: {}", result.context("no story was told")?);
    Ok(())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn properties(folder: &Path, port: u16, controller: u16) -> String {
    let lines = [
        "process.roles=broker,controller".to_owned(),
        "node.id=1".to_owned(),
        format!("controller.quorum.voters=1@127.0.0.1:{controller}"),
        format!("listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"),
        format!("advertised.listeners=PLAINTEXT://127.0.0.1:{port}"),
        "controller.listener.names=CONTROLLER".to_owned(),
        format!("log.dirs={}", folder.join("data").display()),
        "offsets.topic.replication.factor=1".to_owned(),
        "group.initial.rebalance.delay.ms=0".to_owned(),
        // Records of stories are as old as they say. Half a minute after its start Kafka would remove those of more than a week.
        "log.retention.ms=-1".to_owned(),
    ];
    lines.join("\n") + "\n"
}
