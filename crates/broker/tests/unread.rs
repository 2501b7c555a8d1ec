//! A page that sends and does not read: it stops being read, costs a bounded amount of memory, and harms nobody. In a process
//! of its own, since it is the memory of the whole process that is looked at.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

#[path = "browser/page.rs"]
#[allow(dead_code, reason = "other stories use the rest")]
mod page;
#[path = "browser/support.rs"]
#[allow(dead_code, reason = "other stories use the rest")]
mod support;

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use page::Session;
use quinn::{RecvStream, SendStream};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use support::{Running, api_versions, frames, resident_bytes};

/// What one page that does not read may cost, in bytes.
const COST_MAX: usize = 2 << 20;
const PAGES: usize = 8;
/// Only one story looks at the memory at a time.
static ALONE: Mutex<()> = Mutex::const_new(());
/// A page's requests that nobody takes by then are not going to be taken.
const PATIENCE: Duration = Duration::from_millis(300);

/// Sends requests until none are taken any more: the broker's windows and the system's buffers are full then.
async fn send_until_full<T>(mut send: impl AsyncFnMut(Vec<u8>) -> T) {
    let requests: Vec<u8> = (0..1_000).flat_map(api_versions).collect();
    let mut sent = 0;
    while tokio::time::timeout(PATIENCE, send(requests.clone())).await.is_ok() {
        sent += requests.len();
        assert!(sent < 256 << 20, "it goes on reading");
    }
}

/// Opens pages that do not read, one after the other; a good one is answered behind each.
async fn check<P, F: Future<Output = P>>(open: impl Fn() -> F, mut good: impl AsyncFnMut()) {
    // The first one warms the allocator up.
    let mut pages = vec![open().await];
    good().await;
    let before = resident_bytes();
    for _ in 0..PAGES {
        pages.push(open().await);
        good().await;
    }
    let cost = resident_bytes().saturating_sub(before) / PAGES;
    assert!(cost < COST_MAX, "each costs {cost} bytes");
}

async fn socket(running: &Running) -> WebSocketStream<TcpStream> {
    let address = running.http();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 << 10).unwrap();
    let stream = socket.connect(address).await.unwrap();
    client_async(format!("ws://{address}/ws"), stream).await.unwrap().0
}

#[tokio::test]
async fn a_page_that_does_not_read_is_not_read_either_and_costs_little() {
    let _alone = ALONE.lock().await;
    let running = Running::start(&[]).await;
    let mut good = socket(&running).await;
    let open = async || {
        let mut page = socket(&running).await;
        send_until_full(async |requests| page.send(Message::Binary(requests.into())).await.unwrap()).await;
        page
    };
    let ask = async || {
        good.send(Message::Binary(api_versions(2).into())).await.unwrap();
        while !good.next().await.unwrap().unwrap().is_binary() {}
    };
    check(open, ask).await;
}

#[tokio::test]
async fn a_session_whose_streams_are_not_read_is_not_read_either_and_costs_little() {
    let _alone = ALONE.lock().await;
    let running = Running::start(&[]).await;
    let good = Session::begin(&running).await;
    let open = async || {
        let session = Session::begin(&running).await;
        let streams: Vec<(SendStream, RecvStream)> = join_all((0..16).map(|_| session.open())).await;
        let full = streams.into_iter().map(async |(mut writer, reader)| {
            send_until_full(async |requests| writer.write_all(&requests).await.unwrap()).await;
            (writer, reader)
        });
        (join_all(full).await, session)
    };
    let ask = async || {
        let (mut writer, mut reader) = good.open().await;
        writer.write_all(&api_versions(2)).await.unwrap();
        let chunk = reader.read_chunk(64 << 10, true).await.unwrap().expect("an answer");
        assert_eq!(frames(&chunk.bytes).len(), 1);
    };
    check(open, ask).await;
}
