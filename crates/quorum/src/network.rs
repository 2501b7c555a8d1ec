//! Raft messages between brokers: one request, one answer, over a carrier that the broker hands in.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use metadata_core::QuorumMember;
use openraft::error::{
    Fatal, NetworkError, RPCError, RaftError, RemoteError, ReplicationClosed, StreamingError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{EntryPayload, OptionalSend, Snapshot, SnapshotMeta, Vote};
use serde::{Deserialize, Serialize};

use crate::error::{CallError, RpcError};
use crate::types::{PROPOSAL_BYTES_MAX, Raft, RaftNode, RaftNodeId, member_of};

/// A call under way: ends with the answer's bytes or the reason why there is none.
pub type Call = Pin<Box<dyn Future<Output = Result<Vec<u8>, CallError>> + Send>>;

/// What carries raft messages to another broker. Calls to one directory may overtake each other.
pub trait RaftTransport: Send + Sync + 'static {
    /// Sends `request` to a member of the quorum and waits for its answer.
    fn call(&self, member: &QuorumMember, request: Vec<u8>) -> Call;
}

/// A request and the node that it is meant for, encoded by postcard after a version byte. Another node may answer at
/// that one's address, with a new directory: it must not answer in the other's name (M9).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Addressed {
    pub(crate) to: RaftNodeId,
    pub(crate) request: Request,
}

/// What a raft node asks of another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Append(AppendEntriesRequest<Raft>),
    Vote(VoteRequest<RaftNodeId>),
    Snapshot {
        vote: Vote<RaftNodeId>,
        meta: SnapshotMeta<RaftNodeId, RaftNode>,
        image: Bytes,
    },
    /// The leader of this vote is about to stop and asks the node to stand for election at once.
    Stand {
        vote: Vote<RaftNodeId>,
    },
}

/// The answer to a [`Request`] of the same kind.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    Append(Result<AppendEntriesResponse<RaftNodeId>, RaftError<RaftNodeId>>),
    Vote(Result<VoteResponse<RaftNodeId>, RaftError<RaftNodeId>>),
    Snapshot(Result<SnapshotResponse<RaftNodeId>, RaftError<RaftNodeId>>),
    /// Whether it stands.
    Stand(bool),
}

const VERSION: u8 = 1;

impl Addressed {
    /// Reads a request and checks what raft takes for granted: a leader speaks for itself, its entries are consecutive
    /// and of no later term than its own, each fits the log, and a snapshot is one of something.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, RpcError> {
        let addressed: Self = decode(bytes)?;
        let holds = match &addressed.request {
            Request::Append(rpc) => rpc.vote.is_committed() && are_consecutive(rpc),
            Request::Vote(rpc) => !rpc.vote.is_committed(),
            Request::Stand { vote } => vote.is_committed(),
            Request::Snapshot { vote, meta, .. } => {
                vote.is_committed()
                    && meta.last_log_id.is_some_and(|last| last.leader_id.term <= vote.leader_id.term)
            }
        };
        if holds { Ok(addressed) } else { Err(RpcError::Contradiction) }
    }
}

fn are_consecutive(rpc: &AppendEntriesRequest<Raft>) -> bool {
    let mut before = rpc.prev_log_id;
    rpc.entries.iter().all(|entry| {
        let (id, last) = (entry.log_id, before);
        before = Some(id);
        let follows = match last {
            Some(last) => {
                last.index.checked_add(1) == Some(id.index) && last.leader_id.term <= id.leader_id.term
            }
            None => id.index == 0,
        };
        let fits = match &entry.payload {
            EntryPayload::Normal(payload) => payload.0.len() <= PROPOSAL_BYTES_MAX,
            EntryPayload::Blank | EntryPayload::Membership(_) => true,
        };
        follows && fits && id.leader_id.term <= rpc.vote.leader_id.term
    })
}

pub(crate) fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, RpcError> {
    let mut bytes = vec![VERSION];
    let body = postcard::to_allocvec(message).map_err(|_| RpcError::Unencodable)?;
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

pub(crate) fn decode<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, RpcError> {
    match bytes.split_first() {
        Some((&VERSION, body)) => match postcard::take_from_bytes(body) {
            Ok((message, [])) => Ok(message),
            Ok(_) | Err(_) => Err(RpcError::Malformed),
        },
        Some((&version, _)) => Err(RpcError::Version { found: version }),
        None => Err(RpcError::Malformed),
    }
}

/// Makes a [`Peer`] for each other member.
#[derive(Clone)]
pub(crate) struct Peers {
    pub(crate) transport: Arc<dyn RaftTransport>,
}

impl RaftNetworkFactory<Raft> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: RaftNodeId, node: &RaftNode) -> Peer {
        Peer { transport: self.transport.clone(), target, node: node.clone() }
    }
}

/// The way to one other member.
pub(crate) struct Peer {
    transport: Arc<dyn RaftTransport>,
    target: RaftNodeId,
    node: RaftNode,
}

type Rpc<T, E> = Result<T, RPCError<RaftNodeId, RaftNode, E>>;

impl Peer {
    /// One exchange within raft's own deadline for it.
    async fn exchange(&self, request: Request, option: &RPCOption) -> Result<Response, CallError> {
        let bytes = encode(&Addressed { to: self.target, request })?;
        let call = self.transport.call(&member_of(self.target, &self.node), bytes);
        let answer =
            tokio::time::timeout(option.hard_ttl(), call).await.map_err(|_| CallError::TimedOut)??;
        Ok(decode(&answer)?)
    }

    fn failed<E: std::error::Error>(error: &CallError) -> RPCError<RaftNodeId, RaftNode, E> {
        match error {
            CallError::Unreachable { .. } => RPCError::Unreachable(Unreachable::new(error)),
            _ => RPCError::Network(NetworkError::new(error)),
        }
    }

    #[expect(clippy::result_large_err, reason = "the error is openraft's")]
    fn answered<T>(&self, answer: Result<T, RaftError<RaftNodeId>>) -> Rpc<T, RaftError<RaftNodeId>> {
        answer
            .map_err(|e| RPCError::RemoteError(RemoteError::new_with_node(self.target, self.node.clone(), e)))
    }

    fn mismatched<E: std::error::Error>() -> RPCError<RaftNodeId, RaftNode, E> {
        RPCError::Network(NetworkError::new(&RpcError::OtherKind))
    }
}

impl RaftNetwork<Raft> for Peer {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Raft>,
        option: RPCOption,
    ) -> Rpc<AppendEntriesResponse<RaftNodeId>, RaftError<RaftNodeId>> {
        match self.exchange(Request::Append(rpc), &option).await {
            Ok(Response::Append(answer)) => self.answered(answer),
            Ok(_) => Err(Self::mismatched()),
            Err(e) => Err(Self::failed(&e)),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<RaftNodeId>,
        option: RPCOption,
    ) -> Rpc<VoteResponse<RaftNodeId>, RaftError<RaftNodeId>> {
        match self.exchange(Request::Vote(rpc), &option).await {
            Ok(Response::Vote(answer)) => self.answered(answer),
            Ok(_) => Err(Self::mismatched()),
            Err(e) => Err(Self::failed(&e)),
        }
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote<RaftNodeId>,
        snapshot: Snapshot<Raft>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<RaftNodeId>, StreamingError<Raft, Fatal<RaftNodeId>>> {
        let request = Request::Snapshot { vote, meta: snapshot.meta, image: *snapshot.snapshot };
        let answer = tokio::select! {
            answer = self.exchange(request, &option) => answer,
            closed = cancel => return Err(StreamingError::Closed(closed)),
        };
        match answer {
            Ok(Response::Snapshot(Ok(response))) => Ok(response),
            Ok(Response::Snapshot(Err(e))) => Err(StreamingError::Network(NetworkError::new(&e))),
            Ok(_) => Err(StreamingError::Network(NetworkError::new(&RpcError::OtherKind))),
            Err(e @ CallError::Unreachable { .. }) => Err(StreamingError::Unreachable(Unreachable::new(&e))),
            Err(e) => Err(StreamingError::Network(NetworkError::new(&e))),
        }
    }

    /// A peer that comes back is heard within two heartbeats, not after openraft's default of 500 ms.
    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(std::time::Duration::from_millis(200)))
    }
}
