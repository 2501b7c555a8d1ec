//! A client whose requests are all for partitions of one other shard goes on there, in the midst of a frame too, and notices nothing.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

#[path = "browser/support.rs"]
#[allow(dead_code, reason = "other stories use the rest")]
mod support;

use kafka_wire::encode_request;
use kafka_wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use kafka_wire::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use support::{Running, correlation, metric};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// That all of them live on one of two shards happens once in 2^63 times.
const PARTITIONS: i32 = 64;
/// Requests for each, more than a connection needs to be drawn to a shard.
const REQUESTS: i32 = 80;
/// So many clients of one partition, half of them on either shard, of whom two may move before its shard is crowded.
const CROWD: usize = 12;
/// Bytes of the next frame that are sent with each frame.
const AHEAD: usize = 7;

fn create(topic: &str) -> Vec<u8> {
    let topics = vec![CreatableTopic {
        name: topic.into(),
        num_partitions: PARTITIONS,
        replication_factor: 1,
        ..CreatableTopic::default()
    }];
    let request = CreateTopicsRequest { topics, timeout_ms: 30_000, ..CreateTopicsRequest::default() };
    encode_request(5, 0, None, &request).unwrap().into_bytes().to_vec()
}

/// Asks for what the partition has now: nothing.
fn fetch(topic: &str, partition: i32, id: i32) -> Vec<u8> {
    let partitions = vec![FetchPartition { partition, ..FetchPartition::default() }];
    let topics = vec![FetchTopic { topic: topic.into(), partitions, ..FetchTopic::default() }];
    let request = FetchRequest {
        replica_id: -1,
        max_bytes: 1 << 20,
        session_epoch: -1,
        topics,
        ..FetchRequest::default()
    };
    encode_request(12, id, None, &request).unwrap().into_bytes().to_vec()
}

async fn answer(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32().await.unwrap() as usize;
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await.unwrap();
    frame
}

async fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.broker.addresses().unwrap().kafka).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// That no connection has been lost on its way.
async fn check_numbers(running: &Running) {
    let http = running.http();
    let [opened, closed] = [
        metric(http, "highwater_connections_opened_total").await,
        metric(http, "highwater_connections_closed_total").await,
    ];
    assert_eq!(opened - closed, metric(http, "highwater_connections").await);
}

#[tokio::test]
async fn a_connection_moves_between_two_requests_in_the_midst_of_a_frame() {
    let running = Running::start(&[("shards", "2")]).await;
    let mut stream = connect(&running).await;
    stream.write_all(&create("t")).await.unwrap();
    answer(&mut stream).await;
    let all = (0..PARTITIONS).flat_map(|partition| (0..REQUESTS).map(move |n| (partition, n)));
    let frames: Vec<Vec<u8>> = (1..).zip(all).map(|(id, (partition, _))| fetch("t", partition, id)).collect();
    let mut sent = 0;
    let bytes = frames.concat();
    let mut end = 0;
    for (id, frame) in (1..).zip(&frames) {
        end += frame.len();
        let to = (end + AHEAD).min(bytes.len());
        stream.write_all(&bytes[sent..to]).await.unwrap();
        sent = to;
        assert_eq!(correlation(&answer(&mut stream).await), id);
    }
    assert!(metric(running.http(), "highwater_connections_moved_total").await >= 1);
    check_numbers(&running).await;
}

#[tokio::test]
async fn a_shard_that_is_crowded_takes_no_more() {
    let running = Running::start(&[("shards", "2")]).await;
    let mut clients = Vec::new();
    for _ in 0..CROWD {
        clients.push(connect(&running).await);
    }
    clients[0].write_all(&create("t")).await.unwrap();
    answer(&mut clients[0]).await;
    for id in 1..=3 * REQUESTS {
        for client in &mut clients {
            client.write_all(&fetch("t", 0, id)).await.unwrap();
            assert_eq!(correlation(&answer(client).await), id);
        }
    }
    assert_eq!(metric(running.http(), "highwater_connections_moved_total").await, 2);
    check_numbers(&running).await;
}
