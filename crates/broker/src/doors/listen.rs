//! The TCP port: accepts clients and hands them to the shards in turn.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::TcpListener;

use crate::links::{ShardSender, ToShard, Turns};

/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 1_024;

/// How long to wait when the process has no file descriptor left: accepting at once would only fail again.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// How often it is told that a port cannot accept (a guess).
pub(crate) const TOLD_AGAIN: Duration = Duration::from_secs(10);

/// Binds a listener. An IPv6 address of all interfaces takes IPv4 too.
pub(crate) fn bind_tcp(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts clients until the shards are gone.
pub(crate) async fn accept_clients<F>(listener: TcpListener, shards: Vec<ShardSender<F>>) {
    let mut turns = Turns::default();
    let mut told: Option<Instant> = None;
    loop {
        match listener.accept().await.and_then(|(stream, _)| stream.into_std()) {
            Ok(stream) => {
                if let Err(e) = SockRef::from(&stream).set_tcp_nodelay(true) {
                    tracing::debug!("a client's connection cannot be made prompt: {e}");
                }
                if turns.next(&shards).send(ToShard::Tcp(stream)).is_err() {
                    return;
                }
            }
            Err(e) => {
                if told.is_none_or(|told| told.elapsed() > TOLD_AGAIN) {
                    tracing::warn!("the Kafka door cannot accept: {e}; it goes on trying");
                    told = Some(Instant::now());
                }
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
}
