//! Any ordered byte stream: TLS, a QUIC stream, a pipe within the process. File ranges are read into memory here.

use std::io;
use std::pin::pin;
use std::rc::Rc;

use kafka_wire::{FrameReader, Segment};
use log_store::Disk;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::idle::IdleWatch;
use super::outlet::Outlet;
use super::{Ended, Served, chunk_bytes, chunks};
use crate::host::{Entry, Host};
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
    let (id, outlet) = host.open(door, Entry::New);
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
    let mut idle = IdleWatch::default();
    loop {
        outlet.may_read().await;
        if outlet.closing().is_some() {
            return std::future::pending().await;
        }
        let read = idle.read(&mut frames, FrameReader::release, |frames, cx| {
            pin!(reader.read_buf(&mut frames.spare())).poll(cx)
        });
        if read.await? == 0 {
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};
    use std::time::Duration;

    use broker_core::{Shard, ShardId};
    use kafka_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
    use log_core::BrokerId;
    use log_store::MemoryDisk;
    use tokio::io::ReadBuf;
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;
    use crate::clock::Clock;
    use crate::config::Config;
    use crate::links::Links;
    use crate::replication::Replication;
    use crate::shard_loads::ShardLoads;

    fn host() -> Rc<Host<MemoryDisk>> {
        let links = Links {
            shard: ShardId(0),
            control: mpsc::unbounded_channel().0,
            shards: vec![mpsc::unbounded_channel().0],
            loads: ShardLoads::new(1),
        };
        let config = crate::boot::shard_config(&Config::default(), BrokerId(1), true, 0, 1);
        let (limits, clock) = (config.limits, Clock::start());
        let shard = Shard::new(clock.now(), config, MemoryDisk::new());
        Host::new(shard, links, Replication::new(None), clock, limits)
    }

    /// Sends a request at once, rests, and leaves.
    struct Client {
        request: Vec<u8>,
        sent: usize,
        rest: Pin<Box<dyn Future<Output = ()>>>,
        /// The room that there was for each read.
        rooms: Rc<RefCell<Vec<usize>>>,
    }

    impl AsyncRead for Client {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.rooms.borrow_mut().push(into.remaining());
            let to = (self.sent + into.remaining()).min(self.request.len());
            if self.sent == to {
                ready!(self.rest.as_mut().poll(cx));
            }
            into.put_slice(&self.request[self.sent..to]);
            self.sent = to;
            Poll::Ready(Ok(()))
        }
    }

    /// The room for the first read and for the last, of a client that rests for so long after a request with so many bytes.
    async fn rooms(bytes: usize, rest: Duration) -> (usize, usize) {
        let records = Some(vec![7; bytes].into());
        let partition_data = vec![PartitionProduceData { index: 0, records }];
        let topic_data = vec![TopicProduceData { name: "t".into(), partition_data }];
        let request = ProduceRequest { acks: 1, topic_data, ..ProduceRequest::default() };
        let request = kafka_wire::encode_request(9, 1, None, &request).unwrap().into_bytes().to_vec();
        let rooms = Rc::<RefCell<Vec<usize>>>::default();
        let rest = Box::pin(async move { timeout(rest, std::future::pending()).await.unwrap_or_default() });
        let client = Client { request, sent: 0, rest, rooms: rooms.clone() };
        let ended = serve(host(), Door::MEMORY, client, tokio::io::sink()).await;
        assert!(matches!(ended, Ended::ByClient), "{ended}");
        let rooms = rooms.borrow();
        (*rooms.first().unwrap(), *rooms.last().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_rests_after_a_large_request_costs_as_little_as_one_that_has_just_come() {
        let (first, last) = rooms(1 << 20, Duration::from_secs(60)).await;
        assert_eq!(first, last);
        let (first, last) = rooms(1 << 20, Duration::from_secs(1)).await;
        assert!(last > 8 * first, "it is probably at work: {last}");
    }
}
