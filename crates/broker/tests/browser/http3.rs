//! HTTP/3 on the UDP port that is no WebTransport, or not yet.

use quinn::Connection;

use crate::page::{ask, dial, settle};
use crate::support::Running;

/// The code and the reason with which the broker closed the connection.
async fn closed(connection: &Connection) -> (u64, String) {
    match connection.closed().await {
        quinn::ConnectionError::ApplicationClosed(close) => {
            (close.error_code.into_inner(), String::from_utf8(close.reason.to_vec()).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

/// Sends a request and gives the whole answer as text.
async fn request(connection: &Connection, bytes: &[u8]) -> String {
    let (mut writer, mut reader) = connection.open_bi().await.unwrap();
    writer.write_all(bytes).await.unwrap();
    writer.finish().unwrap();
    String::from_utf8_lossy(&reader.read_to_end(64 << 10).await.unwrap()).into_owned()
}

/// `GET https://localhost/` in header fields of the static table (RFC 9204, appendix A).
fn get() -> Vec<u8> {
    let fields = [&[0, 0, 0xd1, 0xd7, 0xc1, 0x50, 9][..], b"localhost"].concat();
    [&[1, u8::try_from(fields.len()).unwrap()][..], &fields].concat()
}

#[tokio::test]
async fn a_request_that_is_no_webtransport_is_answered_with_405_and_what_is_served() {
    let running = Running::start(&[]).await;
    let (connection, _endpoint) = dial(&running, b"h3", None).await.unwrap();
    let _control = settle(&connection).await;
    for _ in 0..4 {
        let answer = request(&connection, &get()).await;
        assert!(answer.contains("only WebTransport is served here, at /kafka"), "{answer}");
    }
    assert_eq!(closed(&connection).await, (0x107, "only WebTransport is served here".to_owned()));
}

#[tokio::test]
async fn a_refusal_names_the_origin_and_the_setting() {
    let running = Running::start(&[]).await;
    let (connection, _endpoint) = dial(&running, b"h3", None).await.unwrap();
    let _control = settle(&connection).await;
    let bytes = ask(&running, "/kafka", Some("https://evil.example"));
    let answer = request(&connection, &bytes).await;
    assert!(answer.contains("https://evil.example") && answer.contains("allowed-origins"), "{answer}");
    assert_eq!(
        closed(&connection).await,
        (0x100, "the request for a session was refused with status 403".to_owned())
    );
}

#[tokio::test]
async fn arbitrary_bytes_instead_of_a_request_close_the_connection_with_a_reason() {
    let running = Running::start(&[]).await;
    for bytes in [&[0, 3, 1, 2, 3][..], &[1, 2, 0xff, 0xff], &[0x7f; 64]] {
        let (connection, _endpoint) = dial(&running, b"h3", None).await.unwrap();
        let _control = settle(&connection).await;
        let (mut writer, _reader) = connection.open_bi().await.unwrap();
        writer.write_all(bytes).await.unwrap();
        writer.finish().unwrap();
        let (code, reason) = closed(&connection).await;
        assert!((0x100..=0x110).contains(&code), "{code:x}");
        assert!(reason.contains("this is no request of HTTP/3"), "{reason}");
    }
}

#[tokio::test]
async fn settings_that_are_wrong_or_lack_webtransport_close_the_connection_with_a_reason() {
    let running = Running::start(&[]).await;
    for (bytes, expected) in
        [(&[0, 4, 0][..], "does not offer WebTransport"), (&[0, 1, 0], "the settings of HTTP/3 are wrong")]
    {
        let (connection, _endpoint) = dial(&running, b"h3", None).await.unwrap();
        let mut control = connection.open_uni().await.unwrap();
        control.write_all(bytes).await.unwrap();
        let (code, reason) = closed(&connection).await;
        assert_eq!(code, 0x109);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn who_begins_no_session_is_let_go_with_a_reason() {
    let running = Running::start(&[("connection-idle", "300ms")]).await;
    let (silent, _endpoint) = dial(&running, b"h3", None).await.unwrap();
    let (settled, _second) = dial(&running, b"h3", None).await.unwrap();
    let _control = settle(&settled).await;
    for connection in [silent, settled] {
        assert_eq!(
            closed(&connection).await,
            (0x100, "no WebTransport session was begun in time".to_owned())
        );
    }
}

#[tokio::test]
async fn a_native_client_without_streams_or_with_unidirectional_ones_is_closed_with_a_reason() {
    let running = Running::start(&[("connection-idle", "300ms")]).await;
    let (idle, _endpoint) = dial(&running, b"highwater/1", None).await.unwrap();
    assert_eq!(closed(&idle).await, (0, "no stream was open for too long".to_owned()));
    let (wrong, _second) = dial(&running, b"highwater/1", None).await.unwrap();
    let mut stream = wrong.open_uni().await.unwrap();
    stream.write_all(b"x").await.unwrap();
    let (code, reason) = closed(&wrong).await;
    assert_eq!(code, 1);
    assert!(reason.contains("unidirectional streams are not taken"), "{reason}");
}

#[tokio::test]
async fn another_path_is_answered_with_404_and_what_is_served() {
    let running = Running::start(&[]).await;
    let (connection, _endpoint) = dial(&running, b"h3", None).await.unwrap();
    let _control = settle(&connection).await;
    let answer = request(&connection, &ask(&running, "/elsewhere", None)).await;
    assert!(answer.contains("at /kafka"), "{answer}");
    let reason = "the request for a session was refused with status 404";
    assert_eq!(closed(&connection).await, (0x100, reason.to_owned()));
}
