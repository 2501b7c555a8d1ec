//! Connections that behave badly, against a real broker: each is closed or left alone, and everybody else is served meanwhile.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit};

use crate::harness::{Cluster, Node, Setup, pause, story};

/// Nothing here takes long; this is for machines that do other things too.
const LIMIT: Duration = Duration::from_secs(20);

/// ApiVersions, version 0, without a client id.
const API_VERSIONS: [u8; 10] = [0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];

async fn single(flags: &[&'static str]) -> Cluster {
    Cluster::start(&Setup { nodes: 1, flags: flags.to_vec(), ..Setup::default() }).await
}

fn connect(node: &Node) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, node.ports.kafka)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_be_bytes()[..], body].concat()
}

/// Reads one whole answer: its correlation id is that of the request.
fn answered(stream: &mut TcpStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut body = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut body).unwrap();
    assert_eq!(body[..4], [0, 0, 0, 7]);
}

/// A client that behaves is served.
fn goes_on(node: &Node) {
    let mut stream = connect(node);
    stream.write_all(&framed(&API_VERSIONS)).unwrap();
    answered(&mut stream);
}

/// The broker ends the connection, by an end or a reset, without an answer.
fn is_closed(mut stream: TcpStream) {
    match stream.read(&mut [0; 100]) {
        Ok(count) => assert_eq!(count, 0, "no answer is due"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
}

fn closes(node: &Node, bytes: &[u8]) {
    let mut stream = connect(node);
    stream.write_all(bytes).unwrap();
    is_closed(stream);
    goes_on(node);
}

#[test]
fn frames_that_are_none_end_their_connection() {
    story(async {
        let cluster = single(&["--request-bytes-max", "1MiB"]).await;
        let node = &cluster.nodes[0];
        // Oversized by one byte, by far, negative, shorter than any request; another protocol.
        closes(node, &((1 << 20) + 1_i32).to_be_bytes());
        closes(node, &i32::MAX.to_be_bytes());
        closes(node, &(-1_i32).to_be_bytes());
        closes(node, &[0, 0, 0, 1, 0]);
        closes(node, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // An unknown API key, a version that nobody speaks, a claim of 2^31-1 topics in 12 bytes.
        closes(node, &framed(&[3, 231, 0, 0, 0, 0, 0, 7, 0xff, 0xff]));
        closes(node, &framed(&[0, 3, 0, 99, 0, 0, 0, 7, 0xff, 0xff]));
        closes(node, &framed(&[0, 3, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]));
    });
}

#[test]
fn a_half_open_connection_is_let_go() {
    story(async {
        let cluster = single(&["--connection-idle", "1s"]).await;
        let node = &cluster.nodes[0];
        // A peer that vanished in the middle of a frame says nothing any more, not even that it is gone.
        let mut vanished = connect(node);
        vanished.write_all(&framed(&API_VERSIONS)).unwrap();
        answered(&mut vanished);
        vanished.write_all(&framed(&API_VERSIONS)[..7]).unwrap();
        is_closed(vanished);
        goes_on(node);
    });
}

#[test]
fn a_connection_that_sends_byte_by_byte_is_served_and_holds_up_nobody() {
    story(async {
        let cluster = single(&[]).await;
        let node = &cluster.nodes[0];
        let mut slow = connect(node);
        slow.set_nodelay(true).unwrap();
        for byte in framed(&API_VERSIONS) {
            slow.write_all(&[byte]).unwrap();
            goes_on(node);
        }
        answered(&mut slow);
    });
}

#[test]
fn a_connection_that_reads_nothing_holds_up_nobody() {
    story(async {
        let cluster = single(&[]).await;
        let node = &cluster.nodes[0];
        let mut deaf = connect(node);
        deaf.set_nonblocking(true).unwrap();
        // Requests until neither side takes more: the broker stops to read from it, and keeps a bounded number of answers.
        let requests = framed(&API_VERSIONS).repeat(1_000);
        let begun = Instant::now();
        let mut refused = 0;
        while refused < 20 {
            match deaf.write(&requests) {
                Ok(_) => refused = 0,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    refused += 1;
                    pause().await;
                }
                Err(error) => panic!("{error}"),
            }
            assert!(begun.elapsed() < LIMIT, "the broker takes requests without end");
        }
        goes_on(node);
    });
}

#[test]
fn a_thousand_idle_connections_leave_the_broker_serving() {
    story(async {
        let cluster = single(&[]).await;
        let node = &cluster.nodes[0];
        // Each takes a file here as well; the broker has limits of its own.
        let files = rustix::process::getrlimit(Resource::Nofile);
        let most = Rlimit { current: files.maximum, ..files };
        rustix::process::setrlimit(Resource::Nofile, most).unwrap();
        let idle: Vec<TcpStream> = (0..1_000)
            .map_while(|_| {
                let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, node.ports.kafka)).ok()?;
                stream.set_read_timeout(Some(LIMIT)).ok()?;
                stream.write_all(&framed(&API_VERSIONS)).ok()?;
                answered(&mut stream);
                Some(stream)
            })
            .collect();
        assert_eq!(idle.len(), 1_000, "of {files:?} files that may be open");
        goes_on(node);
        node.metric_until("highwater_connections", LIMIT, |open| open == 1_000).await;
        // None of them is disturbed.
        let mut last = idle.into_iter().last().unwrap();
        last.write_all(&framed(&API_VERSIONS)).unwrap();
        answered(&mut last);
    });
}
