//! The replication streams of one shard: opened to leaders, accepted from followers, frames in and out.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use broker_core::{ReplicaKey, ShardId};
use bytes::Bytes;
use kafka_wire::{Rope, Segment};
use log_core::{BrokerId, FrameLimits};
use log_store::Disk;
use replica::{Arrival, FrameReceiver, FrameSender, PeerConnection, PeerEndpoint, Pool, StreamError, Target};
use replica_core::{
    CloseReason, FOLLOWER_FRAME_LIMITS, LEADER_FRAME_LIMITS, REPLICA_STREAM_VERSION, StreamId, StreamKind,
};
use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::carrier::{CHUNK_BYTES, Served, chunks};
use crate::host::Host;

/// The replication streams of a shard, on its thread.
pub(crate) struct Replication<F> {
    pool: Option<Pool>,
    outlets: RefCell<BTreeMap<StreamId, Rc<StreamOutlet<F>>>>,
    streams_made: Cell<u64>,
}

struct StreamOutlet<F> {
    waiting: RefCell<VecDeque<Rope<F>>>,
    ready: Notify,
    /// Nothing more comes to wait.
    closing: Cell<bool>,
    /// Some of what waited was dropped.
    cut_short: Cell<bool>,
}

impl<F: Served> Replication<F> {
    /// None of a broker in memory: it has no peers.
    pub(crate) fn new(endpoint: Option<PeerEndpoint>) -> Self {
        Self { pool: endpoint.map(Pool::new), outlets: RefCell::default(), streams_made: Cell::new(0) }
    }

    fn open(&self) -> (StreamId, Rc<StreamOutlet<F>>) {
        self.streams_made.set(self.streams_made.get() + 1);
        let stream = StreamId(self.streams_made.get());
        let outlet = Rc::new(StreamOutlet {
            waiting: RefCell::default(),
            ready: Notify::new(),
            closing: Cell::new(false),
            cut_short: Cell::new(false),
        });
        self.outlets.borrow_mut().insert(stream, outlet.clone());
        (stream, outlet)
    }

    /// How many streams are open.
    pub(crate) fn open_streams(&self) -> u64 {
        self.outlets.borrow().len() as u64
    }

    pub(crate) fn send(&self, stream: StreamId, rope: Rope<F>) {
        if let Some(outlet) = self.outlets.borrow().get(&stream) {
            outlet.waiting.borrow_mut().push_back(rope);
            outlet.ready.notify_one();
        }
    }

    /// What waits in memory still goes out, a refusal for one; then the stream ends. Nobody needs the pushes any more that would have
    /// to be read from a file, nor is one behind them to be taken for what comes next: from the first on all is dropped, and the
    /// stream is reset. None of them is wrong: all were made before (L10), and a range of a file lies below the high watermark, where
    /// nothing is cut (D4).
    pub(crate) fn close(&self, stream: StreamId) {
        if let Some(outlet) = self.outlets.borrow_mut().remove(&stream) {
            outlet.close();
        }
    }
}

impl<F> StreamOutlet<F> {
    fn close(&self) {
        let mut waiting = self.waiting.borrow_mut();
        let from_file = |rope: &Rope<F>| rope.segments().any(|segment| matches!(segment, Segment::File(_)));
        if let Some(first) = waiting.iter().position(from_file) {
            waiting.truncate(first);
            self.cut_short.set(true);
        }
        self.closing.set(true);
        self.ready.notify_one();
    }
}

/// Opens a stream to a leader and serves it until it ends.
pub(crate) async fn follow<D>(
    host: Rc<Host<D>>,
    key: ReplicaKey,
    broker: BrokerId,
    addresses: Vec<(String, u16)>,
    shard: ShardId,
) where
    D: Disk + 'static,
    D::File: Served,
{
    match dial(host.replication().pool.as_ref(), broker, &addresses, shard).await {
        Ok((sender, receiver)) => {
            let (stream, outlet) = host.replication().open();
            host.with(|shard, now| shard.handle_replica_connected(now, key, stream));
            serve(&host, stream, &outlet, sender, receiver, LEADER_FRAME_LIMITS).await;
        }
        Err(e) => {
            tracing::debug!("no replication stream to broker {broker}: {e}");
            host.with(|shard, now| shard.handle_replica_refused(now, key));
        }
    }
}

async fn dial(
    pool: Option<&Pool>,
    broker: BrokerId,
    addresses: &[(String, u16)],
    shard: ShardId,
) -> Result<(FrameSender, FrameReceiver), Box<dyn std::error::Error>> {
    let pool = pool.ok_or("a broker in memory has no peers")?;
    let connection = pool.connection(broker, addresses, Target::Shard(shard.0)).await?;
    Ok(connection.open(StreamKind::Replica, REPLICA_STREAM_VERSION).await?)
}

/// Lets a peer in and serves the streams that it opens.
pub(crate) async fn accept<D>(host: Rc<Host<D>>, arrival: Arrival)
where
    D: Disk + 'static,
    D::File: Served,
{
    let connection = match arrival.complete().await {
        Ok(connection) => connection,
        Err(e) => return tracing::info!("a peer is not let in: {e}"),
    };
    let Some(peer) = connection.broker() else {
        return connection.close("replication needs a broker's certificate");
    };
    while let Ok((sender, receiver)) = connection.accept().await {
        spawn_local(lead(host.clone(), connection.clone(), peer, sender, receiver));
    }
}

async fn lead<D>(
    host: Rc<Host<D>>,
    connection: PeerConnection,
    peer: BrokerId,
    sender: FrameSender,
    mut receiver: FrameReceiver,
) where
    D: Disk + 'static,
    D::File: Served,
{
    match receiver.hello().await {
        Ok((StreamKind::Replica, REPLICA_STREAM_VERSION)) => {
            let (stream, outlet) = host.replication().open();
            host.with(|shard, now| shard.handle_replica_accepted(now, stream, peer));
            serve(&host, stream, &outlet, sender, receiver, FOLLOWER_FRAME_LIMITS).await;
        }
        Ok((kind, version)) => {
            tracing::warn!("broker {peer} opened a stream of kind {kind:?}, version {version}, at a shard");
            connection.close("a shard takes replication streams only");
        }
        Err(e) => tracing::debug!("a stream of broker {peer} ended before it began: {e}"),
    }
}

/// Carries frames both ways until the stream ends; the shard is told unless it ended the stream itself.
async fn serve<D>(
    host: &Rc<Host<D>>,
    stream: StreamId,
    outlet: &StreamOutlet<D::File>,
    mut sender: FrameSender,
    mut receiver: FrameReceiver,
    limits: FrameLimits,
) where
    D: Disk + 'static,
    D::File: Served,
{
    let ended = tokio::select! {
        ended = read(host, stream, &mut receiver, limits) => ended,
        ended = write(outlet, &mut sender) => ended,
    };
    if let Err(e) = ended {
        tracing::debug!("replication stream {stream} ended: {e}");
    }
    if outlet.cut_short.get() {
        sender.close(CloseReason::EpochLeft.code());
    } else {
        sender.finish();
    }
    receiver.close(CloseReason::Stopping.code());
    if host.replication().outlets.borrow_mut().remove(&stream).is_some() {
        host.with(|shard, now| shard.handle_replica_closed(now, stream));
    }
}

/// Every frame that has arrived is handed in as one burst.
async fn read<D>(
    host: &Rc<Host<D>>,
    stream: StreamId,
    receiver: &mut FrameReceiver,
    limits: FrameLimits,
) -> Result<(), StreamError>
where
    D: Disk + 'static,
    D::File: Served,
{
    while let Some(first) = receiver.next(limits).await? {
        let mut frames = vec![first];
        while let Some(frame) = receiver.take(limits)? {
            frames.push(frame);
        }
        host.with(|shard, now| {
            frames.iter().for_each(|frame| shard.handle_replica_frame(now, stream, frame))
        });
    }
    Ok(())
}

async fn write<F: Served>(outlet: &StreamOutlet<F>, sender: &mut FrameSender) -> Result<(), StreamError> {
    loop {
        let waiting: VecDeque<Rope<F>> = outlet.waiting.take();
        if waiting.is_empty() {
            if outlet.closing.get() {
                return Ok(());
            }
            outlet.ready.notified().await;
            continue;
        }
        send(sender, waiting.into_iter().flat_map(Rope::into_segments)).await?;
    }
}

/// Bytes in memory go out together; a file range is read in pieces.
async fn send<F: Served>(
    sender: &mut FrameSender,
    segments: impl Iterator<Item = Segment<F>>,
) -> Result<(), StreamError> {
    let mut together: Vec<Bytes> = Vec::new();
    for segment in segments {
        match segment {
            Segment::Bytes(bytes) => together.push(bytes),
            Segment::File(range) => {
                for chunk in chunks(range, CHUNK_BYTES) {
                    together.push(chunk.map_err(|_| StreamError::ClosedHere)?);
                    sender.send(&mut together).await?;
                    together.clear();
                }
            }
        }
    }
    if together.is_empty() { Ok(()) } else { sender.send(&mut together).await }
}

#[cfg(test)]
mod tests {
    use kafka_wire::FileRange;
    use log_store::{MemoryDisk, MemoryFile, OpenMode};

    use super::*;

    fn in_memory(text: &'static str) -> Rope<MemoryFile> {
        Rope::from_segments([Segment::Bytes(Bytes::from_static(text.as_bytes()))])
    }

    /// A head in memory with batches in a file.
    fn from_file() -> Rope<MemoryFile> {
        let file = MemoryDisk::new().open("log", OpenMode::CreateNew).unwrap();
        let batches = Segment::File(FileRange { file, position: 0, len: 9 });
        Rope::from_segments([Segment::Bytes(Bytes::from_static(b"head")), batches])
    }

    /// The bytes of each of these that is left after the stream is closed, and whether that is reset.
    fn closed(ropes: Vec<Rope<MemoryFile>>) -> (Vec<usize>, bool) {
        let replication = Replication::new(None);
        let (stream, outlet) = replication.open();
        ropes.into_iter().for_each(|rope| replication.send(stream, rope));
        replication.close(stream);
        let left = outlet.waiting.borrow().iter().map(Rope::len).collect();
        (left, outlet.cut_short.get())
    }

    #[test]
    fn a_closed_stream_carries_no_push_behind_one_that_is_dropped() {
        let pushes = vec![in_memory("one"), from_file(), in_memory("three")];
        assert_eq!(closed(pushes), (vec![3], true));
    }

    #[test]
    fn a_refusal_still_goes_out() {
        assert_eq!(closed(vec![in_memory("refused")]), (vec![7], false));
    }
}
