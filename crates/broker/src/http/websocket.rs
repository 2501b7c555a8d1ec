//! `GET /ws`: a request becomes a WebSocket, which is then served by a shard like any other connection.

use std::net::{SocketAddr, TcpStream as StdStream};

use base64::Engine;
use broker_core::{Door, DoorKind};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::answer::{self, Answer};
use super::pace::Paced;
use crate::seats::Seat;

/// Where pages connect.
pub(crate) const PATH: &str = "/ws";

/// Appended to a client's key before it is hashed (RFC 6455, section 1.3).
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The only version there is (RFC 6455, section 4.1).
const VERSION: &str = "13";

/// A WebSocket on its way to a shard.
pub(crate) struct WebSocket {
    pub(crate) socket: Socket,
    /// What the client sent before it knew the answer.
    pub(crate) early: Bytes,
    pub(crate) door: Door,
    pub(crate) seat: Seat,
}

/// What carries it.
pub(crate) enum Socket {
    /// Free of the thread that accepted it.
    Plain(StdStream),
    /// TLS cannot be moved to another runtime: the thread that accepted the socket goes on watching it and wakes the
    /// shard, which does the work.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A stream of the HTTP port that can become a WebSocket.
pub(super) trait Carries: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn socket(self) -> std::io::Result<Socket>;
}

impl Carries for TcpStream {
    fn socket(self) -> std::io::Result<Socket> {
        self.into_std().map(Socket::Plain)
    }
}

impl Carries for TlsStream<TcpStream> {
    fn socket(self) -> std::io::Result<Socket> {
        Ok(Socket::Tls(Box::new(self)))
    }
}

/// Agrees to a WebSocket, with status 101, or says what is missing; whether the page may connect has been checked.
pub(super) fn agree(request: &Request<Incoming>) -> Answer {
    let headers = request.headers();
    let wants = has_token(headers, UPGRADE, "websocket") && has_token(headers, CONNECTION, "upgrade");
    if !wants {
        let text = "this is the door for WebSockets: connect with new WebSocket(\"ws://…/ws\")\n";
        let refused = answer::text(StatusCode::UPGRADE_REQUIRED, text.to_owned());
        return refused.with(UPGRADE, HeaderValue::from_static("websocket"));
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
        let text = format!("only version {VERSION} of the WebSocket protocol is spoken here\n");
        let refused = answer::text(StatusCode::UPGRADE_REQUIRED, text);
        return refused.with(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
    }
    let accepted = headers.get(SEC_WEBSOCKET_KEY).and_then(|key| accept_of(key.as_bytes()));
    let Some(accepted) = accepted else {
        let text = "the header sec-websocket-key is missing\n";
        return answer::text(StatusCode::BAD_REQUEST, text.to_owned());
    };
    let mut agreed = Response::new(http_body_util::Full::default());
    *agreed.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    Answer(agreed)
        .with(UPGRADE, HeaderValue::from_static("websocket"))
        .with(CONNECTION, HeaderValue::from_static("upgrade"))
        .with(SEC_WEBSOCKET_ACCEPT, accepted)
}

/// Waits until the request has become a stream of bytes, and gives what carries it.
pub(super) async fn carried<S: Carries>(
    upgrade: OnUpgrade,
    local: Option<SocketAddr>,
    peer: SocketAddr,
    seat: Seat,
) -> Option<WebSocket> {
    let upgraded: Upgraded = match upgrade.await {
        Ok(upgraded) => upgraded,
        Err(e) => {
            tracing::debug!("a WebSocket from {peer} did not come about: {e}");
            return None;
        }
    };
    let parts = upgraded.downcast::<TokioIo<Paced<S>>>().ok()?;
    let socket = match parts.io.into_inner().into_inner().socket() {
        Ok(socket) => socket,
        Err(e) => {
            tracing::warn!("a WebSocket cannot be handed to a shard: {e}");
            return None;
        }
    };
    let door = Door { kind: DoorKind::WebSocket, local, peer: Some(peer) };
    Some(WebSocket { socket, early: parts.read_buf, door, seat })
}

/// Whether a comma-separated header names a token.
fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let values = headers.get_all(name);
    let mut tokens = values.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    tokens.any(|found| found.trim().eq_ignore_ascii_case(token))
}

fn accept_of(key: &[u8]) -> Option<HeaderValue> {
    const KEY_LEN: usize = 24;
    if key.len() != KEY_LEN {
        return None;
    }
    let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &[key, KEY_SUFFIX].concat());
    HeaderValue::from_str(&base64::engine::general_purpose::STANDARD.encode(hash)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455, section 1.3.
    #[test]
    fn a_key_is_answered_as_the_standard_says() {
        let accepted = accept_of(b"dGhlIHNhbXBsZSBub25jZQ==").unwrap();
        assert_eq!(accepted, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(accept_of(b"short"), None);
    }
}
