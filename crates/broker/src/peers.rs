//! The streams between the Controls of brokers: heartbeats and proposals, the quorum's messages, nodes that join.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use broker_core::control::{Control, FrameSource, Peer, PeerStreamId};
use bytes::Bytes;
use log_core::{BrokerId, DirectoryId, FrameLimits, frame_head};
use log_store::Disk;
use metadata_core::frames::CONTROL_FRAME_VERSION;
use metadata_core::{CONTROL_FRAME_LIMITS, ControlFrame, MetadataQuorum, QuorumMember};
use quorum::{Call, CallError, RaftService, RaftTransport};
use replica::{ConnectError, FrameReceiver, FrameSender, PeerConnection, Pool, StreamError, Target};
use replica_core::StreamKind;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::spawn_local;

use crate::control_host::ControlHost;
use crate::joining::{self, Gate};

/// The version of the quorum's stream: requests and their answers by turns, each the payload of a frame.
const RAFT_STREAM_VERSION: u8 = 1;

/// A snapshot of the cluster image is the largest message of the quorum.
const RAFT_FRAME_LIMITS: FrameLimits = FrameLimits { header_bytes_max: 8, payload_bytes_max: 256 << 20 };

/// How often a voter looks whether it has a connection to every other one, while it has not.
const REACH_INTERVAL: Duration = Duration::from_millis(500);

/// The same while it has.
const REACHED_INTERVAL: Duration = Duration::from_secs(2);

/// So many of the quorum's streams to one node are kept; more are needed where requests overtake each other, which is seldom.
const IDLE_STREAMS_MAX: usize = 2;

/// A stream that carried a longer message is not kept, since it keeps the memory for one.
const KEPT_MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Frames that wait for one peer; what comes beyond is lost, as on a network.
const WAITING_MAX: usize = 10_000;

/// The control streams of a broker, on Control's thread.
pub(crate) struct ControlPeers {
    pool: Option<Pool>,
    service: Option<RaftService>,
    gate: Gate,
    dialled: RefCell<BTreeMap<DirectoryId, Rc<Waiting>>>,
    accepted: RefCell<BTreeMap<PeerStreamId, Rc<Waiting>>>,
    accepted_made: Cell<u64>,
}

#[derive(Default)]
struct Waiting {
    frames: RefCell<VecDeque<Bytes>>,
    ready: Notify,
}

impl Waiting {
    fn push(&self, frame: &ControlFrame) {
        let mut frames = self.frames.borrow_mut();
        if frames.len() < WAITING_MAX {
            frames.push_back(frame.encode());
            self.ready.notify_one();
        }
    }
}

impl ControlPeers {
    pub(crate) fn new(pool: Option<Pool>, service: Option<RaftService>, gate: Gate) -> Self {
        Self {
            pool,
            service,
            gate,
            dialled: RefCell::default(),
            accepted: RefCell::default(),
            accepted_made: Cell::new(0),
        }
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Sends on a stream that a peer dialled; nothing if it is gone.
    pub(crate) fn reply(&self, stream: PeerStreamId, frame: &ControlFrame) {
        if let Some(waiting) = self.accepted.borrow().get(&stream) {
            waiting.push(frame);
        }
    }
}

/// Sends to a peer, over a stream that is dialled if there is none.
pub(crate) fn send<D, Q>(host: &Rc<ControlHost<D, Q>>, peer: Peer, frame: &ControlFrame)
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let known = host.peers.dialled.borrow().get(&peer.directory).cloned();
    let waiting = known.unwrap_or_else(|| {
        let waiting = Rc::<Waiting>::default();
        host.peers.dialled.borrow_mut().insert(peer.directory, waiting.clone());
        spawn_local(dial(host.clone(), peer, waiting.clone()));
        waiting
    });
    waiting.push(frame);
}

async fn dial<D, Q>(host: Rc<ControlHost<D, Q>>, peer: Peer, waiting: Rc<Waiting>)
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let directory = peer.directory;
    match open(&host.peers, &peer).await {
        Ok((sender, receiver)) => {
            serve(&host, FrameSource::Dialled(directory), peer.broker, &waiting, sender, receiver).await;
        }
        Err(e) => tracing::debug!("no control stream to broker {}: {e}", peer.broker),
    }
    host.peers.dialled.borrow_mut().remove(&directory);
    host.with(|control, now| control.handle_peer_closed(now, directory));
}

async fn open(
    peers: &ControlPeers,
    peer: &Peer,
) -> Result<(FrameSender, FrameReceiver), Box<dyn std::error::Error>> {
    let pool = peers.pool.as_ref().ok_or("a broker in memory has no peers")?;
    let connection = pool.connection(peer.broker, &peer.addresses, Target::Control).await?;
    Ok(connection.open(StreamKind::Control, CONTROL_FRAME_VERSION).await?)
}

/// Carries control frames both ways until the stream ends.
async fn serve<D, Q>(
    host: &Rc<ControlHost<D, Q>>,
    source: FrameSource,
    broker: BrokerId,
    waiting: &Waiting,
    mut sender: FrameSender,
    mut receiver: FrameReceiver,
) where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let ended = tokio::select! {
        ended = read(host, source, broker, &mut receiver) => ended,
        ended = write(waiting, &mut sender) => ended,
    };
    if let Err(e) = ended {
        tracing::debug!("the control stream with broker {broker} ended: {e}");
    }
}

async fn read<D, Q>(
    host: &Rc<ControlHost<D, Q>>,
    source: FrameSource,
    broker: BrokerId,
    receiver: &mut FrameReceiver,
) -> Result<(), StreamError>
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    while let Some(frame) = receiver.next(CONTROL_FRAME_LIMITS).await? {
        match ControlFrame::decode(&frame) {
            Ok(frame) => host.with(|control, now| control.handle_peer_frame(now, source, broker, frame)),
            Err(e) => {
                tracing::warn!("broker {broker} sent a malformed control frame: {e}");
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn write(waiting: &Waiting, sender: &mut FrameSender) -> Result<(), StreamError> {
    loop {
        let mut frames: Vec<Bytes> = waiting.frames.take().into();
        match frames.is_empty() {
            true => waiting.ready.notified().await,
            false => sender.send(&mut frames).await?,
        }
    }
}

/// Keeps this voter's connections to the other voters open. An election is a matter of a few messages, and comes when a broker has just
/// died: all voters would make their connections then, at once, and each would stand before it heard of the others.
pub(crate) async fn keep_voters_in_reach<D, Q>(host: Rc<ControlHost<D, Q>>, pool: Pool)
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    loop {
        let mut all = true;
        for peer in host.fellow_voters() {
            all &= pool.keep(peer.broker, peer.addresses, Target::Control);
        }
        let pause = if all { REACHED_INTERVAL } else { REACH_INTERVAL };
        tokio::time::sleep_until(timer_grid::aligned(Instant::now() + pause).into()).await;
    }
}

/// Serves a connection that a peer made to Control.
pub(crate) async fn accept<D, Q>(host: Rc<ControlHost<D, Q>>, connection: PeerConnection)
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    while let Ok((sender, receiver)) = connection.accept().await {
        spawn_local(accept_stream(host.clone(), connection.clone(), sender, receiver));
    }
}

async fn accept_stream<D, Q>(
    host: Rc<ControlHost<D, Q>>,
    connection: PeerConnection,
    sender: FrameSender,
    mut receiver: FrameReceiver,
) where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    let hello = match receiver.hello().await {
        Ok(hello) => hello,
        Err(e) => return tracing::debug!("a stream ended before it began: {e}"),
    };
    match (hello, connection.broker()) {
        ((StreamKind::Join, replica::JOIN_STREAM_VERSION), _) => {
            joining::let_in(&host, sender, receiver).await
        }
        ((StreamKind::Control, CONTROL_FRAME_VERSION), Some(broker)) => {
            host.peers.accepted_made.set(host.peers.accepted_made.get() + 1);
            let stream = PeerStreamId(host.peers.accepted_made.get());
            let waiting = Rc::<Waiting>::default();
            host.peers.accepted.borrow_mut().insert(stream, waiting.clone());
            serve(&host, FrameSource::Accepted(stream), broker, &waiting, sender, receiver).await;
            host.peers.accepted.borrow_mut().remove(&stream);
        }
        ((StreamKind::Raft, RAFT_STREAM_VERSION), Some(_)) => {
            if let Some(service) = &host.peers.service
                && let Err(e) = answer(&host, service, sender, receiver).await
            {
                tracing::debug!("a message of the quorum was not answered: {e}");
            }
        }
        ((kind, version), broker) => {
            tracing::warn!(
                "{broker:?} opened a stream of kind {kind:?}, version {version}, which is not served"
            );
            connection.close("this kind of stream is not served here");
        }
    }
}

/// Answers the requests of a stream, one after the other, until the peer ends it.
async fn answer<D, Q>(
    host: &Rc<ControlHost<D, Q>>,
    service: &RaftService,
    mut sender: FrameSender,
    mut receiver: FrameReceiver,
) -> Result<(), Box<dyn std::error::Error>>
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    while let Some(request) = receiver.next(RAFT_FRAME_LIMITS).await? {
        let answer = service.answer(&request.payload).await?;
        // First, so that a heartbeat leaves in the same packet as the answer.
        host.with(Control::handle_company);
        sender.send(&mut framed(answer.into())).await?;
    }
    sender.finish();
    Ok(())
}

fn framed(payload: Bytes) -> [Bytes; 2] {
    [frame_head(&[], payload.len()).into(), payload]
}

type Request = (QuorumMember, Vec<u8>, oneshot::Sender<Result<Vec<u8>, CallError>>);

/// Carries the quorum's messages: raft's tasks may run anywhere, the connections live on Control's thread.
pub(crate) struct RaftCalls {
    sender: mpsc::UnboundedSender<Request>,
}

/// The receiving end of [`RaftCalls`].
pub(crate) struct RaftCaller {
    receiver: mpsc::UnboundedReceiver<Request>,
}

pub(crate) fn raft_calls() -> (RaftCalls, RaftCaller) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (RaftCalls { sender }, RaftCaller { receiver })
}

impl RaftTransport for RaftCalls {
    fn call(&self, member: &QuorumMember, request: Vec<u8>) -> Call {
        let (reply, answer) = oneshot::channel();
        let sent = self.sender.send((member.clone(), request, reply)).is_ok();
        let address = address(member);
        Box::pin(async move {
            match sent {
                true => answer
                    .await
                    .unwrap_or_else(|_| Err(unreachable(address, std::io::ErrorKind::NotConnected))),
                false => Err(unreachable(address, std::io::ErrorKind::NotConnected)),
            }
        })
    }
}

impl RaftCaller {
    /// Carries out calls until the quorum is gone.
    pub(crate) async fn run<D, Q>(mut self, host: Rc<ControlHost<D, Q>>, pool: Pool)
    where
        D: Disk + 'static,
        Q: MetadataQuorum + 'static,
    {
        let ways = Rc::<Ways>::default();
        while let Some((member, request, mut reply)) = self.receiver.recv().await {
            let (pool, ways, host) = (pool.clone(), ways.clone(), host.clone());
            spawn_local(async move {
                // Not given up with the call, which has less time than a connection may take: the next call finds it there.
                let connection = pool.connection(member.broker, &member.addresses, Target::Control).await;
                tokio::select! {
                    biased;
                    // Raft gives up a call by dropping its receiver.
                    () = reply.closed() => {}
                    answer = call(&ways, &member, connection, request) => {
                        host.with(Control::handle_company);
                        let _ = reply.send(answer);
                    }
                }
            });
        }
    }
}

type RaftStream = (FrameSender, FrameReceiver);

/// The ways to the other nodes of the quorum. A stream that has brought an answer carries the next request: one of its own for each would
/// be opened and closed at both ends with every heartbeat.
#[derive(Default)]
struct Ways {
    /// The streams that wait for a request, with the connection that they belong to.
    idle: RefCell<BTreeMap<BrokerId, (PeerConnection, Vec<RaftStream>)>>,
}

impl Ways {
    /// Asks the node at the other end of a connection. A stream that was kept may have been ended there, or be of a build that ends each
    /// after one answer: what was asked on it in vain is asked once more on a new one, at once. Raft may hear a request twice.
    async fn ask(
        &self,
        broker: BrokerId,
        connection: PeerConnection,
        request: Bytes,
    ) -> Result<Vec<u8>, StreamError> {
        let asked = request.len();
        let on_kept = match self.take(broker, &connection) {
            Some(mut stream) => {
                exchange(&mut stream, request.clone()).await.ok().map(|answer| (stream, answer))
            }
            None => None,
        };
        let (stream, answer) = match on_kept {
            Some(answered) => answered,
            None => {
                let mut stream = connection.open(StreamKind::Raft, RAFT_STREAM_VERSION).await?;
                let answer = exchange(&mut stream, request).await?;
                (stream, answer)
            }
        };
        if asked.max(answer.len()) <= KEPT_MESSAGE_BYTES_MAX {
            self.keep(broker, connection, stream);
        }
        Ok(answer)
    }

    /// A stream of a connection that waits for a request.
    fn take(&self, broker: BrokerId, connection: &PeerConnection) -> Option<RaftStream> {
        match self.idle.borrow_mut().get_mut(&broker) {
            Some((of, streams)) if of.is_same(connection) => streams.pop(),
            _ => None,
        }
    }

    /// Keeps a stream that has brought its answer.
    fn keep(&self, broker: BrokerId, connection: PeerConnection, stream: RaftStream) {
        let mut idle = self.idle.borrow_mut();
        let (of, streams) = idle.entry(broker).or_insert_with(|| (connection.clone(), Vec::new()));
        if !of.is_same(&connection) {
            (*of, *streams) = (connection, Vec::new());
        }
        if streams.len() < IDLE_STREAMS_MAX {
            streams.push(stream);
        }
    }
}

async fn call(
    ways: &Ways,
    member: &QuorumMember,
    connection: Result<PeerConnection, ConnectError>,
    request: Vec<u8>,
) -> Result<Vec<u8>, CallError> {
    let failed = |cause: Box<dyn std::error::Error + Send + Sync>| {
        unreachable(address(member), std::io::Error::other(cause))
    };
    let connection = connection.map_err(|e| failed(e.into()))?;
    ways.ask(member.broker, connection, request.into()).await.map_err(|e| failed(e.into()))
}

fn address(member: &QuorumMember) -> String {
    let first = member.addresses.first();
    first.map_or_else(|| "nowhere".to_owned(), |(host, port)| format!("{host}:{port}"))
}

fn unreachable(address: String, cause: impl Into<std::io::Error>) -> CallError {
    CallError::Unreachable { address, cause: cause.into() }
}

async fn exchange((sender, receiver): &mut RaftStream, request: Bytes) -> Result<Vec<u8>, StreamError> {
    sender.send(&mut framed(request)).await?;
    let answer = receiver.next(RAFT_FRAME_LIMITS).await?.ok_or(StreamError::Cut)?;
    Ok(answer.payload.to_vec())
}

#[cfg(test)]
mod tests {
    use log_core::ClusterId;
    use replica::{ClusterCa, PeerEndpoint};

    use super::*;

    const TWO: BrokerId = BrokerId(2);

    /// Two brokers, the first of which has called the second: both ends, and the endpoints that must live on.
    async fn connected() -> (PeerConnection, PeerConnection, [PeerEndpoint; 2]) {
        let ca = ClusterCa::create(ClusterId([1; 16])).unwrap();
        let bind =
            |broker| PeerEndpoint::bind("127.0.0.1:0".parse().unwrap(), &ca.issue(broker).unwrap()).unwrap();
        let (one, two) = (bind(BrokerId(1)), bind(TWO));
        let addresses = [("127.0.0.1".to_owned(), two.local_addr().unwrap().port())];
        let arrive = async { two.accept().await.unwrap().complete().await.unwrap() };
        let (called, arrived) = tokio::join!(one.connect(TWO, &addresses, Target::Control), arrive);
        (called.unwrap(), arrived, [one, two])
    }

    /// Answers each request with itself, as many on each stream as are given; gives how many streams there were.
    async fn echo(connection: &PeerConnection, answers: usize, streams: &Cell<usize>) {
        while let Ok((mut sender, mut receiver)) = connection.accept().await {
            streams.set(streams.get() + 1);
            receiver.hello().await.unwrap();
            for _ in 0..answers {
                let Ok(Some(request)) = receiver.next(RAFT_FRAME_LIMITS).await else { break };
                sender.send(&mut framed(request.payload)).await.unwrap();
            }
            sender.finish();
        }
    }

    #[tokio::test]
    async fn a_peer_that_ends_a_stream_after_each_answer_costs_a_new_stream_and_no_call() {
        for (answers, expected) in [(1, 4), (2, 2), (4, 1)] {
            let (called, arrived, _endpoints) = connected().await;
            let (ways, streams) = (Ways::default(), Cell::new(0));
            let calls = async {
                for number in 0..4_u8 {
                    let answer = ways.ask(TWO, called.clone(), Bytes::from(vec![number; 9])).await;
                    assert_eq!(answer.unwrap(), vec![number; 9]);
                }
            };
            tokio::select! {
                biased;
                () = calls => {}
                () = echo(&arrived, answers, &streams) => panic!("the connection ended"),
            }
            assert_eq!(streams.get(), expected, "{answers} answers on each stream");
        }
    }
}
