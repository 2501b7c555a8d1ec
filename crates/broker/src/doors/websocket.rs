//! A WebSocket that the HTTP port has agreed to.

use std::rc::Rc;

use log_store::Disk;
use tokio::net::TcpStream;

use crate::carrier::{self, Served};
use crate::host::Host;
use crate::http::{Socket, WebSocket};

/// Serves it until it ends.
pub(crate) async fn serve<D>(host: Rc<Host<D>>, arrived: WebSocket)
where
    D: Disk + 'static,
    D::File: Served,
{
    let WebSocket { socket, early, door, seat: _seat } = arrived;
    match socket {
        Socket::Plain(stream) => match TcpStream::from_std(stream) {
            Ok(stream) => drop(carrier::websocket::serve(host, door, stream, &early).await),
            Err(e) => tracing::warn!("a WebSocket cannot be watched: {e}"),
        },
        Socket::Tls(stream) => drop(carrier::websocket::serve(host, door, *stream, &early).await),
    }
}
