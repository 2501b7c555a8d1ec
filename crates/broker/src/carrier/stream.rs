//! Any ordered byte stream: TLS, a QUIC stream, a pipe within the process. File ranges are read into memory here.

use std::io;
use std::rc::Rc;

use kafka_wire::{FrameReader, Segment};
use log_store::Disk;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::outlet::Outlet;
use super::{Ended, Served, chunk_bytes, chunks};
use crate::host::{Host, Origin};
use broker_core::{CloseReason, ConnectionId, Door};

/// Serves one connection until either side ends it.
pub(crate) async fn serve<D>(
    host: Rc<Host<D>>,
    door: Door,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> Ended
where
    D: Disk + 'static,
    D::File: Served,
{
    let (id, outlet) = host.open(door, Origin::Outside);
    let ended = tokio::select! {
        ended = read(&host, reader, id, door, &outlet) => ended.unwrap_or_else(Ended::from),
        ended = write(&host, writer, id, chunk_bytes(door.kind), &outlet) => ended.map_or_else(Ended::from, Ended::from),
        reason = outlet.overdue() => reason.into(),
    };
    tracing::debug!("connection {} from {:?} ended: {ended}", id.0, door.peer);
    host.closed(id);
    ended
}

async fn read<D>(
    host: &Rc<Host<D>>,
    mut reader: impl AsyncRead + Unpin,
    id: ConnectionId,
    door: Door,
    outlet: &Outlet<D::File>,
) -> io::Result<Ended>
where
    D: Disk + 'static,
    D::File: Served,
{
    let mut frames = FrameReader::new(host.limits(door.kind).request_bytes_max);
    loop {
        outlet.may_read().await;
        if outlet.closing().is_some() {
            return std::future::pending().await;
        }
        if reader.read_buf(&mut frames.spare()).await? == 0 {
            return Ok(Ended::ByClient);
        }
        if let Err(e) = host.received(id, &mut frames) {
            return Ok(e.into());
        }
    }
}

async fn write<D>(
    host: &Rc<Host<D>>,
    mut writer: impl AsyncWrite + Unpin,
    id: ConnectionId,
    chunk_bytes: u64,
    outlet: &Outlet<D::File>,
) -> io::Result<CloseReason>
where
    D: Disk + 'static,
    D::File: Served,
{
    loop {
        outlet.ready.notified().await;
        loop {
            let pieces = outlet.take();
            if pieces.is_empty() {
                break;
            }
            for piece in pieces {
                write_piece(host, &mut writer, id, chunk_bytes, piece).await?;
            }
        }
        writer.flush().await?;
        if let Some(reason) = outlet.closing() {
            writer.shutdown().await?;
            return Ok(reason);
        }
    }
}

async fn write_piece<D>(
    host: &Rc<Host<D>>,
    writer: &mut (impl AsyncWrite + Unpin),
    id: ConnectionId,
    chunk_bytes: u64,
    piece: Segment<D::File>,
) -> io::Result<()>
where
    D: Disk + 'static,
    D::File: Served,
{
    match piece {
        Segment::Bytes(bytes) => write_bytes(host, writer, id, &bytes).await,
        Segment::File(range) => {
            for chunk in chunks(range, chunk_bytes) {
                write_bytes(host, writer, id, &chunk?).await?;
            }
            Ok(())
        }
    }
}

async fn write_bytes<D>(
    host: &Rc<Host<D>>,
    writer: &mut (impl AsyncWrite + Unpin),
    id: ConnectionId,
    bytes: &[u8],
) -> io::Result<()>
where
    D: Disk + 'static,
    D::File: Served,
{
    writer.write_all(bytes).await?;
    host.written(id, bytes.len());
    Ok(())
}
