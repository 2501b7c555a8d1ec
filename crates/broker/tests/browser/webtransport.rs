//! WebTransport on the UDP port: the Kafka protocol on bidirectional streams, and each way in which a session is closed.

use crate::page::{Session, hashes};
use crate::support::{
    Running, api_versions, arbitrary, ask, correlation, first_address, frames, metadata, metric,
};

/// Sends bytes on a stream of its own and reads so many answers.
async fn exchange(session: &Session, sent: &[u8], count: usize) -> Vec<Vec<u8>> {
    let (mut writer, mut reader) = session.open().await;
    writer.write_all(sent).await.unwrap();
    let mut bytes = Vec::new();
    while frames(&bytes).len() < count {
        let chunk = reader.read_chunk(1 << 20, true).await.unwrap().expect("the stream goes on");
        bytes.extend_from_slice(&chunk.bytes);
    }
    frames(&bytes)
}

/// What a page does ends its session with this code and reason, and no other's.
async fn check(act: impl AsyncFnOnce(&Session), code: u32, reason: &str) {
    let running = Running::start(&[]).await;
    let (other, session) = (Session::begin(&running).await, Session::begin(&running).await);
    act(&session).await;
    let (found, text) = session.closed().await;
    assert_eq!(found, code, "{text}");
    assert!(text.contains(reason), "{text}");
    assert_eq!(correlation(&exchange(&other, &api_versions(7), 1).await[0]), 7);
}

async fn send(session: &Session, bytes: &[u8]) {
    let (mut writer, reader) = session.open().await;
    writer.write_all(bytes).await.unwrap();
    // Both ends stay open until the session is closed.
    std::mem::forget((writer, reader));
}

#[tokio::test]
async fn streams_of_one_session_are_connections_of_their_own() {
    let running = Running::start(&[]).await;
    let session = Session::begin(&running).await;
    let all: Vec<u8> = (1..=20).flat_map(api_versions).collect();
    let other = api_versions(77);
    let (one, two) = tokio::join!(exchange(&session, &all, 20), exchange(&session, &other, 1));
    assert_eq!(one.iter().map(|frame| correlation(frame)).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
    assert_eq!(correlation(&two[0]), 77);
}

#[tokio::test]
async fn metadata_names_the_addresses_of_this_door() {
    let running = Running::start(&[]).await;
    let session = Session::begin(&running).await;
    let answer = exchange(&session, &metadata(1), 1).await.remove(0);
    let quic = running.quic();
    assert_eq!(first_address(&answer), (quic.ip().to_string(), i32::from(quic.port())));
}

#[tokio::test]
async fn a_page_connects_by_the_next_hash_after_a_rotation() {
    let running = Running::start(&[]).await;
    let known = hashes(&running).await;
    let open = Session::begin(&running).await;
    let rotate =
        async || assert_eq!(ask(running.http(), "POST", "/certificate/rotate", &[]).await.status, 200);
    rotate().await;
    let session = Session::begin_by(&running, known.clone(), None).await.unwrap();
    assert_eq!(correlation(&exchange(&session, &api_versions(1), 1).await[0]), 1);
    assert_eq!(correlation(&exchange(&open, &api_versions(2), 1).await[0]), 2);
    rotate().await;
    assert!(Session::begin_by(&running, known, None).await.is_err(), "both hashes are gone");
}

#[tokio::test]
async fn bytes_that_are_no_frame_close_the_session_with_3() {
    check(async |session| send(session, &[0xff; 64]).await, 3, "shorter than any message").await;
}

#[tokio::test]
async fn arbitrary_bytes_on_streams_close_their_session_with_a_reason_or_are_waited_for() {
    let running = Running::start(&[]).await;
    let other = Session::begin(&running).await;
    let mut closed = 0;
    for bytes in arbitrary(100) {
        let session = Session::begin(&running).await;
        let (mut writer, mut reader) = session.open().await;
        // A session that is closed meanwhile takes no more.
        let _ = writer.write_all(&bytes).await;
        let _ = writer.finish();
        // The end of the stream is that of a request that is not whole; anything else ends the session.
        while let Ok(Some(_)) = reader.read_chunk(64 << 10, true).await {}
        if let Some((code, reason)) = session.closed_or_goes_on().await {
            assert!(matches!(code, 3 | 7 | 8) && !reason.is_empty(), "{code}: {reason} for {bytes:02x?}");
            closed += 1;
        }
    }
    assert!(closed > 10, "{closed} of 100 were closed");
    assert_eq!(correlation(&exchange(&other, &api_versions(7), 1).await[0]), 7);
}

#[tokio::test]
async fn a_frame_that_is_too_long_closes_the_session_with_3_before_it_comes() {
    let limit = "is over the limit of 8388608";
    check(async |session| send(session, &(64u32 << 20).to_be_bytes()).await, 3, limit).await;
}

#[tokio::test]
async fn a_request_of_no_known_kind_closes_the_session_with_3() {
    let frame = [&8u32.to_be_bytes()[..], &[0x7f; 8]].concat();
    check(async |session| send(session, &frame).await, 3, "malformed request").await;
}

#[tokio::test]
async fn a_unidirectional_stream_closes_the_session_with_4() {
    let act = async |session: &Session| {
        let mut writer = session.connection.open_uni().await.unwrap();
        writer.write_all(&[0x40, 0x54, 0, b'x']).await.unwrap();
        std::mem::forget(writer);
    };
    check(act, 4, "unidirectional streams are not taken").await;
}

#[tokio::test]
async fn a_datagram_closes_the_session_with_5() {
    let act = async |session: &Session| session.connection.send_datagram(vec![0, 1].into()).unwrap();
    check(act, 5, "datagrams are not taken").await;
}

#[tokio::test]
async fn a_stream_that_begins_as_something_else_closes_the_session_with_6() {
    let act = async |session: &Session| {
        let (mut writer, reader) = session.connection.open_bi().await.unwrap();
        // A stream of another session.
        writer.write_all(&[0x40, 0x41, 0x7f, 0xff]).await.unwrap();
        std::mem::forget((writer, reader));
    };
    check(act, 6, "does not begin as one of this session").await;
}

#[tokio::test]
async fn a_stream_that_does_not_say_what_it_is_closes_the_session_with_6() {
    let running = Running::start(&[("connection-idle", "300ms")]).await;
    let session = Session::begin(&running).await;
    let (mut writer, _reader) = session.connection.open_bi().await.unwrap();
    writer.write_all(&[0x40]).await.unwrap();
    assert_eq!(session.closed().await, (6, "a stream does not say in time what it is".to_owned()));
}

#[tokio::test]
async fn a_session_without_streams_is_closed_with_1_after_the_idle_time() {
    let running = Running::start(&[("connection-idle", "300ms")]).await;
    let session = Session::begin(&running).await;
    let (code, reason) = session.closed().await;
    assert_eq!(code, 1);
    assert!(reason.contains("no stream was open"), "{reason}");
}

#[tokio::test]
async fn a_silent_stream_ends_after_the_idle_time() {
    let running = Running::start(&[("connection-idle", "300ms")]).await;
    let session = Session::begin(&running).await;
    let (mut writer, mut reader) = session.open().await;
    writer.write_all(&api_versions(1)).await.unwrap();
    let read = reader.read_to_end(1 << 20).await.unwrap();
    assert_eq!(correlation(&frames(&read)[0]), 1);
}

#[tokio::test]
async fn a_stopping_broker_says_so_with_2() {
    let running = Running::start(&[]).await;
    let session = Session::begin(&running).await;
    let (mut writer, mut reader) = session.open().await;
    writer.write_all(&api_versions(1)).await.unwrap();
    reader.read_chunk(1, true).await.unwrap();
    running.broker.stop();
    assert_eq!(session.closed().await, (2, "the broker is stopping".to_owned()));
}

#[tokio::test]
async fn an_origin_that_the_user_names_is_let_in_and_another_is_not() {
    let running = Running::start(&[("allowed-origins", "https://good.example")]).await;
    let known = hashes(&running).await;
    Session::begin_by(&running, known.clone(), Some("https://good.example")).await.unwrap();
    let refused = Session::begin_by(&running, known, Some("https://evil.example")).await.err().unwrap();
    assert!(refused.contains("403"), "{refused}");
}

#[tokio::test]
async fn sessions_beyond_the_limit_are_refused_with_the_reason_and_let_in_when_others_leave() {
    let running = Running::start(&[("connections-max", "20")]).await;
    let known = hashes(&running).await;
    let begin = async || Session::begin_by(&running, known.clone(), None).await;
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(begin().await.unwrap());
    }
    for _ in 0..100 {
        let (refused, _endpoint) = crate::page::dial(&running, b"h3", None).await.unwrap();
        let reason = refused.closed().await.to_string();
        assert!(reason.contains("connections-max"), "{reason}");
    }
    assert_eq!(correlation(&exchange(&sessions[0], &api_versions(7), 1).await[0]), 7);
    sessions.pop().unwrap().end();
    while begin().await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn thousands_of_streams_come_and_go_and_leave_nothing() {
    let running = Running::start(&[]).await;
    let session = Session::begin(&running).await;
    for round in 0..150 {
        let one = async |number| correlation(&exchange(&session, &api_versions(number), 1).await[0]);
        let sixteen = futures_util::future::join_all((0..16).map(|stream| one(round * 16 + stream))).await;
        assert_eq!(sixteen, (round * 16..round * 16 + 16).collect::<Vec<_>>());
    }
    assert!(metric(running.http(), "highwater_connections_opened_total").await >= 2_400);
    while metric(running.http(), "highwater_connections").await > 0 {
        tokio::task::yield_now().await;
    }
}
