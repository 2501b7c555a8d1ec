//! Thousands of sessions and streams at once: those that there is room for are served, the others are told why not, and what
//! all of them cost is bounded. In a process of its own, since it is the memory of the whole process that is looked at.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

#[path = "browser/page.rs"]
#[allow(dead_code, reason = "other stories use the rest")]
mod page;
#[path = "browser/support.rs"]
#[allow(dead_code, reason = "other stories use the rest")]
mod support;

use std::time::Duration;

use futures_util::future::join_all;
use page::{Session, hashes};
use quinn::{RecvStream, SendStream};
use support::{Running, api_versions, correlation, frames, metric, resident_bytes};
use tokio::time::timeout;

/// Sessions that are let in, and as many that are not.
const SESSIONS: usize = 1_000;
/// On each of so many sessions all streams that it may have are opened.
const CROWDED: usize = 128;
const STREAMS: usize = 16;
/// What one session may cost, in bytes; the page's own side of it is in the same process.
const COST_MAX: usize = 192 << 10;
/// How long a page waits for a word.
const PATIENCE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn thousands_of_sessions_and_streams_are_served_or_told_why_not_and_cost_a_bounded_amount() {
    let limit = SESSIONS.to_string();
    let running = Running::start(&[("connections-max", &limit)]).await;
    let known = hashes(&running).await;
    let page = page::endpoint(Some(known));
    let begin = async || Session::begin_at(&running, &page).await;
    let other = begin().await.unwrap();
    let before = resident_bytes();
    let mut sessions = Vec::new();
    while sessions.len() + 1 < SESSIONS {
        let some = join_all((0..50.min(SESSIONS - 1 - sessions.len())).map(|_| begin())).await;
        sessions.extend(some.into_iter().map(Result::unwrap));
    }
    assert_eq!(metric(running.http(), "highwater_clients").await, SESSIONS as u64);
    let mut streams: Vec<(SendStream, RecvStream)> = Vec::new();
    for session in &sessions[..CROWDED] {
        streams.extend(join_all((0..STREAMS).map(|number| answered(session, number))).await);
        assert!(!session.may_open(), "one more has to wait");
    }
    assert_eq!(metric(running.http(), "highwater_connections").await, (CROWDED * STREAMS) as u64);
    let mut told = 0;
    for _ in 0..SESSIONS / 50 {
        for refused in join_all((0..50).map(|_| timeout(PATIENCE, begin()))).await {
            let told_why = |refused: Result<Session, String>| {
                refused.err().unwrap().contains("all 1000 places for clients are taken")
            };
            told += usize::from(refused.is_ok_and(told_why));
        }
    }
    // The word that tells why may be lost like any other packet; such a page is left to its own patience.
    assert!(told * 10 >= SESSIONS * 9, "{told} of {SESSIONS} were told why");
    let cost = resident_bytes().saturating_sub(before) / SESSIONS;
    assert!(cost < COST_MAX, "each session costs {cost} bytes");
    drop(answered(&other, 7).await);
    sessions.into_iter().for_each(Session::end);
    drop(streams);
    while metric(running.http(), "highwater_clients").await > 1 {
        tokio::task::yield_now().await;
    }
}

/// A stream on which one request has been answered.
async fn answered(session: &Session, number: usize) -> (SendStream, RecvStream) {
    let (mut writer, mut reader) = session.open().await;
    let number = i32::try_from(number).unwrap();
    writer.write_all(&api_versions(number)).await.unwrap();
    let mut bytes = Vec::new();
    while frames(&bytes).is_empty() {
        bytes.extend_from_slice(&reader.read_chunk(64 << 10, true).await.unwrap().expect("it goes on").bytes);
    }
    assert_eq!(correlation(&frames(&bytes)[0]), number);
    (writer, reader)
}
