//! The doors that clients come in by: TCP and TLS on one port, QUIC on the UDP port of the same number.

mod listen;
mod quic;
mod tcp;
mod tls;

pub(crate) use listen::{accept_clients, bind_tcp};
pub(crate) use quic::{QuicDoor, serve as quic};
pub(crate) use tcp::serve as tcp;
pub(crate) use tls::ClientTls;
