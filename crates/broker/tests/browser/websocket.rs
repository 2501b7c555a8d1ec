//! WebSockets at `/ws`: the Kafka protocol in binary messages, and each way in which a connection is closed.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame, FrameHeader};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::support::{Running, api_versions, arbitrary, correlation, first_address, frames, get, metadata};

type Socket = WebSocketStream<TcpStream>;

async fn connect(address: SocketAddr, origin: Option<&str>) -> Result<Socket, Error> {
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    client_async(request, TcpStream::connect(address).await.unwrap()).await.map(|(socket, _)| socket)
}

/// Reads until so many answers are there.
async fn answers(socket: &mut Socket, count: usize) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    while frames(&bytes).len() < count {
        match socket.next().await.expect("the connection lives").expect("no error") {
            Message::Binary(message) => bytes.extend(message),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
    frames(&bytes)
}

async fn closed(socket: &mut Socket) -> (u16, String) {
    loop {
        match socket.next().await.expect("a close comes").expect("no error") {
            Message::Close(Some(CloseFrame { code, reason })) => return (code.into(), reason.to_string()),
            Message::Close(None) => panic!("a close without a reason"),
            _ => {}
        }
    }
}

/// What a client sends ends its connection with this code and reason, and no other's.
async fn check(send: impl AsyncFnOnce(&mut Socket), code: u16, reason: &str) {
    let running = Running::start(&[]).await;
    let mut other = connect(running.http(), None).await.unwrap();
    let mut socket = connect(running.http(), None).await.unwrap();
    send(&mut socket).await;
    let (found, text) = closed(&mut socket).await;
    assert_eq!(found, code, "{text}");
    assert!(text.contains(reason), "{text}");
    other.send(Message::Binary(api_versions(7).into())).await.unwrap();
    assert_eq!(correlation(&answers(&mut other, 1).await[0]), 7);
}

fn raw(opcode: OpCode, fin: bool, payload: &[u8]) -> Message {
    Message::Frame(Frame::message(payload.to_vec(), opcode, fin))
}

#[tokio::test]
async fn answers_come_back_in_order_however_the_bytes_are_cut_into_messages() {
    let running = Running::start(&[]).await;
    let mut socket = connect(running.http(), Some("http://localhost:5173")).await.unwrap();
    let all: Vec<u8> = (1..=20).flat_map(api_versions).collect();
    for piece in all.chunks(7) {
        socket.send(Message::Binary(piece.to_vec().into())).await.unwrap();
    }
    let found: Vec<i32> = answers(&mut socket, 20).await.iter().map(|frame| correlation(frame)).collect();
    assert_eq!(found, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn fragments_of_a_message_with_a_ping_between_them_are_one_stream() {
    let running = Running::start(&[]).await;
    let mut socket = connect(running.http(), None).await.unwrap();
    let request = api_versions(3);
    socket.send(raw(OpCode::Data(Data::Binary), false, &request[..5])).await.unwrap();
    socket.send(Message::Ping(b"there?".to_vec().into())).await.unwrap();
    socket.send(raw(OpCode::Data(Data::Continue), false, b"")).await.unwrap();
    socket.send(raw(OpCode::Data(Data::Continue), true, &request[5..])).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong(b"there?".to_vec().into()));
    assert_eq!(correlation(&answers(&mut socket, 1).await[0]), 3);
}

#[tokio::test]
async fn metadata_names_the_addresses_of_this_door() {
    let running = Running::start(&[]).await;
    let mut socket = connect(running.http(), None).await.unwrap();
    socket.send(Message::Binary(metadata(1).into())).await.unwrap();
    let answer = answers(&mut socket, 1).await.remove(0);
    let http = running.http();
    assert_eq!(first_address(&answer), (http.ip().to_string(), i32::from(http.port())));
}

#[tokio::test]
async fn text_is_refused_with_1003() {
    check(async |socket| socket.send("hello".into()).await.unwrap(), 1003, "text is not taken").await;
}

#[tokio::test]
async fn a_continuation_of_nothing_is_refused_with_1002() {
    let send = async |socket: &mut Socket| {
        socket.send(raw(OpCode::Data(Data::Continue), true, b"x")).await.unwrap();
    };
    check(send, 1002, "goes on without having begun").await;
}

#[tokio::test]
async fn a_control_frame_in_pieces_is_refused_with_1002() {
    let send = async |socket: &mut Socket| {
        let header =
            FrameHeader { is_final: false, opcode: OpCode::Control(Control::Ping), ..FrameHeader::default() };
        let frame = Frame::from_payload(header, Vec::new().into());
        socket.send(Message::Frame(frame)).await.unwrap();
    };
    check(send, 1002, "control frame").await;
}

/// Reads what a connection says after its upgrade, until it ends: the code and the reason of its close, if it says any.
async fn last_words(mut stream: TcpStream) -> Option<(u16, String)> {
    let mut bytes = Vec::new();
    // A broker that closes while more is on its way resets the connection behind its close.
    let _ = stream.read_to_end(&mut bytes).await;
    // Frames of a server have no mask, and control frames are short; nothing else comes before a close here.
    let mut rest = bytes.as_slice();
    while let Some((&[kind, length], after)) = rest.split_first_chunk::<2>() {
        let (payload, after) = after.split_at_checked(usize::from(length))?;
        if kind == 0x88 {
            let (code, reason) = payload.split_first_chunk::<2>()?;
            return Some((u16::from_be_bytes(*code), String::from_utf8(reason.to_vec()).unwrap()));
        }
        rest = after;
    }
    None
}

#[tokio::test]
async fn arbitrary_bytes_instead_of_frames_close_their_connection_with_a_reason() {
    let running = Running::start(&[]).await;
    let mut other = connect(running.http(), None).await.unwrap();
    let mut told = 0;
    for mut bytes in arbitrary(100) {
        // A close of the client's own would be answered with its own code.
        bytes.iter_mut().filter(|byte| **byte == 0x88).for_each(|byte| *byte = 0x82);
        let mut stream = connect(running.http(), None).await.unwrap().into_inner();
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        if let Some((code, reason)) = last_words(stream).await {
            assert!(matches!(code, 1002 | 1003 | 1007 | 1008 | 1009), "{code}: {reason} for {bytes:02x?}");
            assert!(!reason.is_empty(), "{code} for {bytes:02x?}");
            told += 1;
        }
    }
    assert!(told > 50, "{told} of 100 were told why");
    other.send(Message::Binary(api_versions(7).into())).await.unwrap();
    assert_eq!(correlation(&answers(&mut other, 1).await[0]), 7);
}

#[tokio::test]
async fn a_frame_that_is_too_long_is_refused_with_1009_before_it_comes() {
    let send = async |socket: &mut Socket| {
        socket.send(Message::Binary((64u32 << 20).to_be_bytes().to_vec().into())).await.unwrap();
    };
    check(send, 1009, "is over the limit of 8388608").await;
}

#[tokio::test]
async fn bytes_that_are_no_frame_are_refused_with_1007() {
    let send = async |socket: &mut Socket| socket.send(Message::Binary(vec![0xff; 64].into())).await.unwrap();
    check(send, 1007, "shorter than any message").await;
}

#[tokio::test]
async fn a_request_of_no_known_kind_is_refused_with_1007() {
    let send = async |socket: &mut Socket| {
        let frame = [&8u32.to_be_bytes()[..], &[0x7f; 8]].concat();
        socket.send(Message::Binary(frame.into())).await.unwrap();
    };
    check(send, 1007, "malformed request").await;
}

#[tokio::test]
async fn a_silent_connection_is_closed_with_1001_after_the_idle_time() {
    let running = Running::start(&[("connection-idle", "200ms")]).await;
    let mut socket = connect(running.http(), None).await.unwrap();
    assert_eq!(closed(&mut socket).await, (1001, "idle for too long".to_owned()));
}

#[tokio::test]
async fn a_stopping_broker_says_so_with_1001() {
    let running = Running::start(&[]).await;
    let mut socket = connect(running.http(), None).await.unwrap();
    socket.send(Message::Binary(api_versions(1).into())).await.unwrap();
    answers(&mut socket, 1).await;
    running.broker.stop();
    assert_eq!(closed(&mut socket).await, (1001, "the broker is stopping".to_owned()));
}

#[tokio::test]
async fn the_closing_handshake_of_a_client_is_completed() {
    let running = Running::start(&[]).await;
    let mut socket = connect(running.http(), None).await.unwrap();
    let bye = CloseFrame { code: 1000u16.into(), reason: "bye".into() };
    socket.send(Message::Close(Some(bye))).await.unwrap();
    assert_eq!(closed(&mut socket).await.0, 1000);
}

#[tokio::test]
async fn a_foreign_origin_gets_403_with_its_name_and_the_setting() {
    let running = Running::start(&[]).await;
    let Err(Error::Http(refused)) = connect(running.http(), Some("https://evil.example")).await else {
        panic!("it was let in");
    };
    assert_eq!(refused.status(), 403);
    let text = String::from_utf8(refused.into_body().unwrap()).unwrap();
    assert!(text.contains("https://evil.example") && text.contains("allowed-origins"), "{text}");
}

#[tokio::test]
async fn an_origin_that_the_user_names_is_let_in() {
    let running = Running::start(&[("allowed-origins", "https://a.example,https://good.example")]).await;
    connect(running.http(), Some("https://good.example")).await.unwrap();
    assert!(connect(running.http(), Some("https://good.example:8443")).await.is_err());
}

#[tokio::test]
async fn a_request_that_is_no_websocket_is_told_what_is_missing() {
    let running = Running::start(&[]).await;
    let plain = get(running.http(), "/ws", &[]).await;
    assert_eq!(plain.status, 426);
    assert!(plain.body.contains("WebSocket") && plain.head.contains("upgrade: websocket"), "{plain:?}");
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket")];
    let old = get(running.http(), "/ws", &[&upgrade[..], &[("sec-websocket-version", "8")]].concat()).await;
    assert_eq!(old.status, 426);
    assert!(old.head.contains("sec-websocket-version: 13"), "{old:?}");
    let version = ("sec-websocket-version", "13");
    let keyless = get(running.http(), "/ws", &[&upgrade[..], &[version]].concat()).await;
    assert_eq!((keyless.status, keyless.body.as_str()), (400, "the header sec-websocket-key is missing\n"));
}

#[tokio::test]
async fn clients_beyond_the_limit_are_refused_with_503_and_let_in_when_another_leaves() {
    let running = Running::start(&[("connections-max", "2")]).await;
    let mut first = connect(running.http(), None).await.unwrap();
    let _second = connect(running.http(), None).await.unwrap();
    let Err(Error::Http(refused)) = connect(running.http(), None).await else { panic!("it was let in") };
    assert_eq!(refused.status(), 503);
    assert!(String::from_utf8(refused.into_body().unwrap()).unwrap().contains("connections-max"));
    first.close(None).await.unwrap();
    while first.next().await.is_some() {}
    drop(first);
    while connect(running.http(), None).await.is_err() {
        tokio::task::yield_now().await;
    }
}
