//! A page that sends and does not read: it stops being read, costs a bounded amount of memory, and harms nobody. In a process
//! of its own, since it is the memory of the whole process that is looked at.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

#[path = "browser/support.rs"]
#[allow(dead_code, reason = "other stories use the rest")]
mod support;

use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::TcpSocket;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use support::{Running, api_versions};

/// What one page that does not read may cost, in bytes.
const COST_MAX: usize = 2 << 20;

/// Bytes of this process that are in memory; the broker runs in it.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[tokio::test]
async fn a_page_that_does_not_read_is_not_read_either_and_costs_little() {
    let running = Running::start(&[]).await;
    let address = running.http();
    let connect = async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        let stream = socket.connect(address).await.unwrap();
        client_async(format!("ws://{address}/ws"), stream).await.unwrap().0
    };
    let requests: Vec<u8> = (0..1_000).flat_map(api_versions).collect();
    let mut good = connect().await;
    good.send(Message::Binary(api_versions(1).into())).await.unwrap();
    good.next().await.unwrap().unwrap();
    // The first one warms the allocator up.
    let mut pages = Vec::new();
    let mut before = 0;
    for number in 0..9 {
        if number == 1 {
            before = resident_bytes();
        }
        let mut page = connect().await;
        let mut sent = 0;
        // Until nothing is taken any more: the broker's windows and the system's buffers are full.
        while let Ok(result) = tokio::time::timeout(
            std::time::Duration::from_millis(300),
            page.send(Message::Binary(requests.clone().into())),
        )
        .await
        {
            result.unwrap();
            sent += requests.len();
            assert!(sent < 256 << 20, "it goes on reading");
        }
        pages.push(page);
        good.send(Message::Binary(api_versions(2).into())).await.unwrap();
        good.next().await.unwrap().unwrap();
    }
    let cost = resident_bytes().saturating_sub(before) / (pages.len() - 1);
    assert!(cost < COST_MAX, "each costs {cost} bytes");
    assert!(good.next().now_or_never().is_none(), "the good one is still there");
}
