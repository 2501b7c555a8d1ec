//! A TCP connection: its first byte says whether TLS is spoken on it.

use std::net::TcpStream as StdStream;
use std::rc::Rc;
use std::time::Duration;

use broker_core::{Door, DoorKind};
use kafka_wire::FrameReader;
use log_store::Disk;
use tokio::net::TcpStream;

use super::{ClientTls, Shared};
use crate::carrier::{self, Served};
use crate::host::{Entry, Host};
use crate::links::Moved;
use crate::seats::Seat;

/// The first byte of every TLS connection: a handshake record (RFC 8446, section 5.1). A Kafka frame begins with the high
/// byte of its length, which is at most 6 below the 100 MiB limit.
pub(crate) const TLS_HANDSHAKE: u8 = 22;

/// Who says nothing, or does not finish a handshake, within this time is let go (a guess: slow links need a second).
const OPENING_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a client that the listener let in.
pub(crate) async fn serve<D>(host: Rc<Host<D>>, shared: Rc<Shared>, stream: StdStream)
where
    D: Disk + 'static,
    D::File: Served,
{
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(e) => return tracing::warn!("a connection cannot be watched: {e}"),
    };
    let seat = match shared.seats.take_with_descriptor() {
        Ok(seat) => seat,
        Err(full) => return tracing::warn!("{:?} is not let in: {full}", stream.peer_addr().ok()),
    };
    let Ok(Ok(first)) = tokio::time::timeout(OPENING_TIMEOUT, first_byte(&stream)).await else { return };
    match first {
        Some(TLS_HANDSHAKE) => encrypted(host, &shared.tls, stream).await,
        Some(_) => {
            let frames = FrameReader::new(host.limits(DoorKind::Tcp).request_bytes_max);
            serve_plain(&host, Entry::New, stream, seat, frames).await;
        }
        None => {}
    }
}

/// Goes on with a connection of another shard.
pub(crate) async fn go_on<D>(host: Rc<Host<D>>, moved: Moved)
where
    D: Disk + 'static,
    D::File: Served,
{
    let Moved { stream, seat, frames } = moved;
    match TcpStream::from_std(stream) {
        Ok(stream) => serve_plain(&host, Entry::Moved, stream, seat, frames).await,
        Err(e) => host.lose(host.shard_id(), &e),
    }
}

/// Serves a connection until it ends here, or goes on elsewhere.
async fn serve_plain<D>(
    host: &Rc<Host<D>>,
    entry: Entry,
    stream: TcpStream,
    seat: Seat,
    mut frames: FrameReader,
) where
    D: Disk + 'static,
    D::File: Served,
{
    let Some(to) = carrier::tcp::serve(host, &stream, &mut frames, entry).await else { return };
    match stream.into_std() {
        Ok(stream) => host.hand_on(to, Moved { stream, seat, frames }),
        Err(e) => host.lose(to, &e),
    }
}

/// The first byte, left where it is; none if the client closed at once.
pub(crate) async fn first_byte(stream: &TcpStream) -> std::io::Result<Option<u8>> {
    let mut first = [0];
    let n = stream.peek(&mut first).await?;
    Ok(first.first().copied().filter(|_| n > 0))
}

async fn encrypted<D>(host: Rc<Host<D>>, tls: &ClientTls, stream: TcpStream)
where
    D: Disk + 'static,
    D::File: Served,
{
    let door = Door { kind: DoorKind::Tls, local: stream.local_addr().ok(), peer: stream.peer_addr().ok() };
    match tokio::time::timeout(OPENING_TIMEOUT, tls.tcp.accept(stream)).await {
        Ok(Ok(stream)) => {
            let (reader, writer) = tokio::io::split(stream);
            drop(carrier::stream::serve(host, door, reader, writer).await);
        }
        Ok(Err(e)) => tracing::debug!("TLS with {:?} failed: {e}", door.peer),
        Err(_) => tracing::debug!("TLS with {:?} took too long", door.peer),
    }
}
