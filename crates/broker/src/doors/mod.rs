//! The doors that clients come in by: TCP and TLS on one port, QUIC and WebTransport on the UDP port of the same number,
//! WebSockets that the HTTP port has agreed to.

mod listen;
mod quic;
mod streams;
mod tcp;
mod tls;
mod websocket;
mod webtransport;

pub(crate) use listen::{TOLD_AGAIN, accept_clients, bind_tcp};
pub(crate) use quic::{QuicDoor, serve as quic};
pub(crate) use tcp::{TLS_HANDSHAKE, first_byte, go_on, serve as tcp};
pub(crate) use tls::ClientTls;
pub(crate) use websocket::serve as websocket;
pub(crate) use webtransport::{ALPN_HTTP3, PATH as WEBTRANSPORT_PATH};

use crate::browser::Rules;
use crate::seats::Seats;

/// What every door of one shard needs beside the shard.
pub(crate) struct Shared {
    pub(crate) tls: ClientTls,
    pub(crate) rules: std::sync::Arc<Rules>,
    pub(crate) seats: Seats,
}
