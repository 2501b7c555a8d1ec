//! When a cluster is ready: every node says so itself, and the cluster as a whole leads every partition.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::layout::Layout;
use crate::process;

/// Between two looks.
pub(crate) const POLL_EVERY: Duration = Duration::from_millis(25);

const ANSWER_LIMIT: Duration = Duration::from_millis(500);
const STATUS_LIMIT: Duration = Duration::from_secs(10);

/// What a ready cluster says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) nodes: u64,
    pub(crate) controller: i64,
    /// The hash of each node's certificate for browsers, by node.
    pub(crate) certificates: Vec<(u64, String)>,
}

/// The cluster's status once every partition can be led; `None` before.
pub(crate) fn status(layout: &Layout) -> Result<Option<Status>> {
    if !layout.nodes.iter().all(|node| answers_ok(node.ports.http, "/readyz")) {
        return Ok(None);
    }
    let mut command = Command::new(&layout.binary);
    command.args(["cluster", "status", "--output", "json", "--bootstrap", &layout.bootstrap()]);
    // A cluster that has just been formed may refuse for a moment; the deadline of the caller ends the attempts.
    let Ok(lines) = process::run_quietly(&mut command, STATUS_LIMIT) else { return Ok(None) };
    Ok(serde_json::from_str(&lines.join("\n")).ok().and_then(|answer| ready(&answer, layout.nodes.len())))
}

fn ready(answer: &Value, nodes: usize) -> Option<Status> {
    let is_up = |node: &&Value| node.get("down").and_then(Value::as_bool) != Some(true);
    let found: Vec<&Value> = answer.get("nodes")?.as_array()?.iter().filter(is_up).collect();
    let alive = found.len();
    let certificates = found.into_iter().filter_map(certificate).collect();
    let leaderless = answer.get("partitions_without_leader")?.as_u64()?;
    let controller = answer.get("controller")?.as_i64()?;
    let complete = alive >= nodes && leaderless == 0 && controller >= 0;
    complete.then_some(Status { nodes: alive as u64, controller, certificates })
}

fn certificate(node: &Value) -> Option<(u64, String)> {
    let present = node.get("browser_certificates")?.get(0)?.as_str()?;
    Some((node.get("id")?.as_u64()?, present.to_owned()))
}

/// Whether a node answers 200 on its HTTP port at `path`.
pub(crate) fn answers_ok(port: u16, path: &str) -> bool {
    ask(port, path).is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}

/// The body of a page that a node answers with on its HTTP port; none if it does not answer.
pub(crate) fn page(port: u16, path: &str) -> Option<String> {
    let mut answer = String::new();
    asked(port, path).ok()?.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    (head.split(' ').nth(1) == Some("200")).then(|| body.to_owned())
}

fn asked(port: u16, path: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    Ok(stream)
}

fn ask(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = asked(port, path)?;
    let mut head = [0; 64];
    let length = stream.read(&mut head)?;
    Ok(String::from_utf8_lossy(head.get(..length).unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_is_ready_when_all_nodes_and_leaders_are_there() {
        let answer = |nodes: &[u8], leaderless: u64, controller: i64| json!({ "nodes": nodes, "partitions_without_leader": leaderless, "controller": controller });
        let expected = Status { nodes: 3, controller: 2, certificates: Vec::new() };
        assert_eq!(ready(&answer(&[1, 2, 3], 0, 2), 3), Some(expected));
        let node = json!({ "id": 2, "browser_certificates": ["ab", "cd"] });
        assert_eq!(certificate(&node), Some((2, "ab".to_owned())));
        assert_eq!(ready(&answer(&[1, 2], 0, 2), 3), None);
        assert_eq!(ready(&answer(&[1, 2, 3], 1, 2), 3), None);
        assert_eq!(ready(&answer(&[1, 2, 3], 0, -1), 3), None);
        assert_eq!(ready(&json!({}), 3), None);
        let nodes = [false, false, true].map(|down| json!({ "id": 1, "down": down }));
        let one_down = json!({ "nodes": nodes, "partitions_without_leader": 0, "controller": 2 });
        assert_eq!(ready(&one_down, 3), None);
        assert_eq!(ready(&one_down, 2).map(|status| status.nodes), Some(2));
    }
}
