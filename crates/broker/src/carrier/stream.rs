//! Any ordered byte stream: TLS, a QUIC stream, a pipe within the process. File ranges are read into memory here.

use std::io;
use std::rc::Rc;

use kafka_wire::{FrameReader, Segment};
use log_store::Disk;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::outlet::Outlet;
use super::{Served, chunks};
use crate::host::Host;
use broker_core::{ConnectionId, Door};

/// Serves one connection until either side ends it.
pub(crate) async fn serve<D>(
    host: Rc<Host<D>>,
    door: Door,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) where
    D: Disk + 'static,
    D::File: Served,
{
    let (id, outlet) = host.open(door);
    let ended = tokio::select! {
        ended = read(&host, reader, id, &outlet) => ended,
        ended = write(&host, writer, id, &outlet) => ended,
    };
    if let Err(e) = ended {
        tracing::debug!("connection {} from {:?} ended: {e}", id.0, door.peer);
    }
    host.closed(id);
}

async fn read<D>(
    host: &Rc<Host<D>>,
    mut reader: impl AsyncRead + Unpin,
    id: ConnectionId,
    outlet: &Outlet<D::File>,
) -> io::Result<()>
where
    D: Disk + 'static,
    D::File: Served,
{
    let mut frames = FrameReader::new(host.request_bytes_max());
    loop {
        outlet.may_read().await;
        if outlet.is_closing() {
            return std::future::pending().await;
        }
        if reader.read_buf(&mut frames.spare()).await? == 0 {
            return Ok(());
        }
        host.received(id, &mut frames).map_err(io::Error::other)?;
    }
}

async fn write<D>(
    host: &Rc<Host<D>>,
    mut writer: impl AsyncWrite + Unpin,
    id: ConnectionId,
    outlet: &Outlet<D::File>,
) -> io::Result<()>
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
                write_piece(host, &mut writer, id, piece).await?;
            }
        }
        writer.flush().await?;
        if outlet.is_closing() {
            return writer.shutdown().await;
        }
    }
}

async fn write_piece<D>(
    host: &Rc<Host<D>>,
    writer: &mut (impl AsyncWrite + Unpin),
    id: ConnectionId,
    piece: Segment<D::File>,
) -> io::Result<()>
where
    D: Disk + 'static,
    D::File: Served,
{
    match piece {
        Segment::Bytes(bytes) => write_bytes(host, writer, id, &bytes).await,
        Segment::File(range) => {
            for chunk in chunks(range) {
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
