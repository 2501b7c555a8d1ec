//! A broker on loopback, and requests of the Kafka protocol as bytes.

use std::net::SocketAddr;
use std::path::Path;

use highwater_broker::Broker;
use highwater_broker::config::Config;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A broker that is ready, with its directory.
pub(crate) struct Running {
    pub(crate) broker: Broker,
    pub(crate) directory: tempfile::TempDir,
}

impl Running {
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let broker = start(directory.path(), settings).await;
        Self { broker, directory }
    }

    /// Stops it and starts another one on the same directory.
    pub(crate) async fn restart(self, settings: &[(&str, &str)]) -> Self {
        let Self { broker, directory } = self;
        broker.stop();
        tokio::task::spawn_blocking(|| broker.wait()).await.unwrap();
        let broker = start(directory.path(), settings).await;
        Self { broker, directory }
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.broker.addresses().unwrap().http
    }

    pub(crate) fn quic(&self) -> SocketAddr {
        self.broker.addresses().unwrap().quic
    }

    /// `GET /brokers`, once the door is announced.
    pub(crate) async fn brokers(&self) -> Value {
        loop {
            let answer = get(self.http(), "/brokers", &[]).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            let body: Value = serde_json::from_str(&answer.body).unwrap();
            if body["brokers"][0]["webtransport"].is_string() {
                return body;
            }
            tokio::task::yield_now().await;
        }
    }
}

async fn start(directory: &Path, settings: &[(&str, &str)]) -> Broker {
    let setting = |name: &str| {
        let given = settings.iter().find(|(given, _)| *given == name);
        given.map(|(_, value)| (*value).to_owned()).or_else(|| match name {
            "data-dir" => Some(directory.display().to_string()),
            "listen" | "replica-listen" | "http-listen" => Some("127.0.0.1:0".to_owned()),
            "shards" => Some("2".to_owned()),
            _ => None,
        })
    };
    let config = Config::load(None, |_| None, setting).unwrap();
    let broker = Broker::start(config).unwrap();
    broker.ready().await.unwrap();
    broker
}

/// What the HTTP port answers.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) async fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    ask(address, "GET", path, headers).await
}

pub(crate) async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> HttpAnswer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n");
    if !headers.iter().any(|(name, _)| *name == "connection") {
        request += "connection: close\r\n";
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all((request + "\r\n").as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    HttpAnswer { status, head: head.to_owned(), body: body.to_owned() }
}

/// So many byte strings that mean nothing, up to 200 bytes each; the same ones in every run.
pub(crate) fn arbitrary(count: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    (0..count).map(|_| (0..next() % 200 + 1).map(|_| next()).collect()).collect()
}

/// The sum of a metric's lines.
pub(crate) async fn metric(address: SocketAddr, name: &str) -> u64 {
    let text = get(address, "/metrics", &[]).await.body;
    let is_it = |line: &&str| line.split(['{', ' ']).next() == Some(name);
    let values = text.lines().filter(is_it).map(|line| line.rsplit(' ').next().unwrap());
    values.map(|value| value.parse::<u64>().unwrap()).sum()
}

/// Bytes of this process that are in memory; the broker runs in it.
pub(crate) fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// An ApiVersions request, version 0, with its length.
pub(crate) fn api_versions(correlation: i32) -> Vec<u8> {
    framed(&[&18i16.to_be_bytes()[..], &[0, 0], &correlation.to_be_bytes(), &[0xff, 0xff]].concat())
}

/// A Metadata request for all topics, version 1, with its length.
pub(crate) fn metadata(correlation: i32) -> Vec<u8> {
    framed(
        &[&3i16.to_be_bytes()[..], &[0, 1], &correlation.to_be_bytes(), &[0xff, 0xff], &[0xff; 4]].concat(),
    )
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], body].concat()
}

/// The whole frames in what a client has read, each without its length.
pub(crate) fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((frame, after)) = after.split_at_checked(length) else { break };
        frames.push(frame.to_vec());
        rest = after;
    }
    frames
}

/// The correlation id of an answer.
pub(crate) fn correlation(frame: &[u8]) -> i32 {
    i32::from_be_bytes(*frame.first_chunk().unwrap())
}

/// Host and port of the first broker in an answer to [`metadata`].
pub(crate) fn first_address(frame: &[u8]) -> (String, i32) {
    // correlation id, number of brokers, node id, then the host with its length, and the port.
    let length = usize::from(u16::from_be_bytes([frame[12], frame[13]]));
    let (host, rest) = frame[14..].split_at(length);
    let port = i32::from_be_bytes(*rest.first_chunk().unwrap());
    (String::from_utf8(host.to_vec()).unwrap(), port)
}
