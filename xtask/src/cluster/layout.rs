//! The cluster's data directory: `node-N/` and `node-N.log` of each node, and `cluster.json`, which describes the
//! cluster to commands and remembers the ports for the next start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::node::{Node, Running};
use super::ports::{self, Ports};
use crate::process;

const DESCRIPTION: &str = "cluster.json";
const INIT_LIMIT: Duration = Duration::from_secs(60);
/// Tokens made beyond those that the nodes need, so that a person can let another one join.
const SPARE_TOKENS: u16 = 2;

/// Where everything of a cluster is.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) binary: PathBuf,
    pub(crate) data_dir: PathBuf,
    /// The certificate of the cluster's authority, for clients.
    pub(crate) ca: PathBuf,
    pub(crate) nodes: Vec<Node>,
    /// Single-use tokens that no node has used.
    pub(crate) spare_tokens: Vec<String>,
}

impl Layout {
    /// Takes up an earlier cluster of this directory, or lays out a new one.
    pub(crate) fn prepare(binary: &Path, data_dir: &Path, nodes: u16, fresh: bool) -> Result<Self> {
        ensure!(binary.is_file(), "{} is not there; leave out --binary to build it", binary.display());
        let description = data_dir.join(DESCRIPTION);
        if fresh {
            clear(data_dir, &description)?;
        }
        fs::create_dir_all(data_dir).with_context(|| format!("{} cannot be made", data_dir.display()))?;
        let data_dir = data_dir.canonicalize()?;
        let binary = binary.canonicalize()?;
        if description.exists() {
            return Self::taken_up(binary, data_dir, nodes);
        }
        Self::laid_out(binary, data_dir, nodes)
    }

    fn laid_out(binary: PathBuf, data_dir: PathBuf, nodes: u16) -> Result<Self> {
        let empty = fs::read_dir(&data_dir)?.next().is_none();
        ensure!(empty, "{} holds something else than a cluster; name another --data-dir", data_dir.display());
        let ports = ports::choose(nodes)?;
        let mut tokens = init(&binary, &data_dir, nodes - 1 + SPARE_TOKENS)?;
        let join = ports.first().map(|first| format!("127.0.0.1:{}", first.brokers)).unwrap_or_default();
        let mut all = Vec::new();
        for (id, ports) in (1..).zip(ports) {
            let invitation = if id == 1 { None } else { tokens.pop().map(|token| (join.clone(), token)) };
            all.push(Node::new(id, ports, &data_dir, invitation));
        }
        let layout = Self { ca: ca_of(&data_dir), binary, data_dir, nodes: all, spare_tokens: tokens };
        layout.write_description(&[])?;
        Ok(layout)
    }

    fn taken_up(binary: PathBuf, data_dir: PathBuf, nodes: u16) -> Result<Self> {
        let path = data_dir.join(DESCRIPTION);
        let description: Value = serde_json::from_slice(&fs::read(&path)?)
            .with_context(|| format!("{} is damaged; start with --fresh", path.display()))?;
        let known = description.get("nodes").and_then(Value::as_array).cloned().unwrap_or_default();
        ensure!(
            known.len() == usize::from(nodes),
            "{} holds a cluster of {} nodes, not {nodes}; say --nodes {} or start with --fresh",
            data_dir.display(),
            known.len(),
            known.len()
        );
        let join =
            known.first().and_then(|first| port_of(first, "brokers")).map(|port| format!("127.0.0.1:{port}"));
        let nodes: Result<Vec<Node>> =
            known.iter().map(|node| take_up(node, &data_dir, join.as_deref())).collect();
        let spare_tokens = strings(description.get("spare_tokens"));
        Ok(Self { ca: ca_of(&data_dir), binary, data_dir, nodes: nodes?, spare_tokens })
    }

    /// The path of the description of the cluster.
    pub(crate) fn description(&self) -> PathBuf {
        self.data_dir.join(DESCRIPTION)
    }

    /// Writes the description, with the processes that run.
    pub(crate) fn write_description(&self, running: &[Running]) -> Result<()> {
        let nodes: Vec<Value> = self.nodes.iter().map(|node| describe(self, node, running)).collect();
        let text = serde_json::to_string_pretty(&json!({
            "nodes": nodes,
            "ca": self.ca,
            "spare_tokens": self.spare_tokens,
        }))?;
        // A reader sees the old or the new one, never a half.
        let unfinished = self.data_dir.join("cluster.json.new");
        fs::write(&unfinished, text)?;
        Ok(fs::rename(unfinished, self.description())?)
    }

    /// The addresses of all nodes at one door, comma-separated.
    pub(crate) fn addresses(&self, address: impl Fn(&Ports) -> String) -> String {
        self.nodes.iter().map(|node| address(&node.ports)).collect::<Vec<_>>().join(",")
    }

    /// The Kafka addresses of all nodes, comma-separated.
    pub(crate) fn bootstrap(&self) -> String {
        self.addresses(|ports| format!("127.0.0.1:{}", ports.kafka))
    }
}

fn describe(layout: &Layout, node: &Node, running: &[Running]) -> Value {
    let pid = running.iter().find(|running| running.node == node.id).map(|running| running.pid);
    json!({
        "id": node.id,
        "pid": pid,
        "kafka": format!("127.0.0.1:{}", node.ports.kafka),
        "quic": format!("127.0.0.1:{}", node.ports.kafka),
        "http": format!("127.0.0.1:{}", node.ports.http),
        "brokers": format!("127.0.0.1:{}", node.ports.brokers),
        "data_dir": node.data_dir,
        "log": node.log,
        "command": node.command(&layout.binary),
        "token": node.invitation.as_ref().map(|(_, token)| token),
    })
}

fn take_up(described: &Value, data_dir: &Path, join: Option<&str>) -> Result<Node> {
    let read = || {
        let id = described.get("id")?.as_u64().and_then(|id| u16::try_from(id).ok())?;
        let kafka = port_of(described, "kafka")?;
        let ports =
            Ports { kafka, brokers: port_of(described, "brokers")?, http: port_of(described, "http")? };
        Some((id, ports))
    };
    let (id, ports) = read().context("the description of the cluster is damaged; start with --fresh")?;
    ensure!(
        ports.are_free(),
        "a port of node {id} ({}, {} or {}) is taken; is this cluster running already? \
         Stop what has it, or start another cluster with --data-dir",
        ports.kafka,
        ports.brokers,
        ports.http
    );
    let token = described.get("token").and_then(Value::as_str);
    let invitation = token.zip(join).map(|(token, join)| (join.to_owned(), token.to_owned()));
    Ok(Node::new(id, ports, data_dir, invitation))
}

fn port_of(node: &Value, door: &str) -> Option<u16> {
    node.get(door)?.as_str()?.rsplit(':').next()?.parse().ok()
}

fn ca_of(data_dir: &Path) -> PathBuf {
    data_dir.join("node-1").join("tls").join("ca.pem")
}

/// Formats node 1's directory, which makes the cluster's id and authority, and gives tokens for the others.
fn init(binary: &Path, data_dir: &Path, tokens: u16) -> Result<Vec<String>> {
    let mut command = Command::new(binary);
    command.args(["cluster", "init", "--node-id", "1", "--output", "json", "--data-dir"]);
    command.arg(data_dir.join("node-1")).args(["--tokens", &tokens.to_string()]);
    let lines = process::run_quietly(&mut command, INIT_LIMIT)?;
    let answer: Value =
        serde_json::from_str(&lines.join("\n")).context("highwater cluster init gave no JSON")?;
    let tokens = strings(answer.get("tokens"));
    ensure!(!tokens.is_empty(), "highwater cluster init gave no tokens");
    Ok(tokens)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Removes what an earlier cluster left; anything else is left alone.
fn clear(data_dir: &Path, description: &Path) -> Result<()> {
    if !data_dir.exists() {
        return Ok(());
    }
    let empty = fs::read_dir(data_dir)?.next().is_none();
    if !empty && !description.exists() {
        bail!("{} was not made by this command, so --fresh does not remove it", data_dir.display());
    }
    fs::remove_dir_all(data_dir).with_context(|| format!("{} cannot be removed", data_dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-layout-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn fresh_removes_only_what_a_cluster_left() {
        let folder = scratch("fresh");
        fs::write(folder.join("letter.txt"), "dear").unwrap();
        assert!(clear(&folder, &folder.join(DESCRIPTION)).is_err());
        assert!(folder.join("letter.txt").exists());
        fs::write(folder.join(DESCRIPTION), "{}").unwrap();
        clear(&folder, &folder.join(DESCRIPTION)).unwrap();
        assert!(!folder.exists());
    }

    #[test]
    fn a_described_cluster_is_taken_up_with_its_ports() {
        let folder = scratch("taken").canonicalize().unwrap();
        let binary = folder.join("highwater");
        let ports = ports::choose(1).unwrap();
        let node = Node::new(1, ports[0], &folder, None);
        let layout = Layout {
            ca: ca_of(&folder),
            binary: binary.clone(),
            data_dir: folder.clone(),
            nodes: vec![node],
            spare_tokens: vec!["t".into()],
        };
        layout.write_description(&[]).unwrap();
        let again = Layout::taken_up(binary.clone(), folder.clone(), 1).unwrap();
        assert_eq!(again.nodes[0].ports, ports[0]);
        assert_eq!(again.nodes[0].command(&binary), layout.nodes[0].command(&binary));
        assert_eq!(again.spare_tokens, ["t"]);
        assert!(Layout::taken_up(binary, folder.clone(), 2).unwrap_err().to_string().contains("--nodes 1"));
        fs::remove_dir_all(folder).unwrap();
    }
}
