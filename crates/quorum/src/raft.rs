//! `MetadataQuorum` by openraft: starts it, hands proposals in and events out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use log_core::{DirectoryId, MetadataOffset};
use log_store::Disk;
use metadata_core::{Members, MetadataQuorum, Proposal, QuorumEvent, QuorumMember, QuorumStatus};
use openraft::error::{Fatal, RaftError};
use openraft::{Config, RaftMetrics, ServerState, Snapshot, SnapshotPolicy};
use tokio::sync::{Notify, mpsc, watch};

use crate::elections::{break_ties, hand_over, stand};
use crate::error::{CallError, QuorumError};
use crate::machine::{Image, Machine};
use crate::mailbox::{Leadership, Mailbox, Wake};
use crate::members::{change, members_in};
use crate::network::{Addressed, Peers, RaftTransport, Request, Response, encode};
use crate::store::{Log, LogStore};
use crate::types::{PROPOSAL_BYTES_MAX, Payload, Raft, RaftNode, RaftNodeId, node_of, offset_of};

type Core = openraft::Raft<Raft>;
type Metrics = RaftMetrics<RaftNodeId, RaftNode>;

/// What openraft is told. It looks every one and a half of it, which the thread's grid makes 320 ms; three such beats fit into the least
/// silence before an election, which is a lease of the longest election timeout and a timeout that is drawn. It is also the deadline of
/// an append.
pub const HEARTBEAT_MS: u64 = 200;
/// The least that is drawn, in milliseconds: how long after a leader's lease a voter stands for election.
pub const ELECTION_TIMEOUT_MS_MIN: u64 = 400;
/// The greatest.
pub const ELECTION_TIMEOUT_MS_MAX: u64 = 600;
/// Entries kept behind a snapshot for members that are a little late.
pub const ENTRIES_KEPT_BEHIND_SNAPSHOT: u64 = 1_000;
/// How long a snapshot may be on its way, in milliseconds (a guess: 100 MB at 10 MB/s).
const SNAPSHOT_TIMEOUT_MS: u64 = 10_000;

/// What a node starts with.
pub struct Start {
    /// This node: its log directory.
    pub directory: DirectoryId,
    /// What `Control`'s copy of the metadata log holds: the last offset applied, none if nothing yet.
    pub applied: Option<MetadataOffset>,
    /// The snapshot that the copy begins with, if any: its last offset and its bytes. Needed once one was offered or
    /// received, because raft may have dropped the entries that it covers.
    pub snapshot: Option<(MetadataOffset, Bytes)>,
    /// Entries that stay when a snapshot is offered; [`ENTRIES_KEPT_BEHIND_SNAPSHOT`] but in tests.
    pub entries_kept: u64,
    /// Carries raft messages to the other members.
    pub transport: Arc<dyn RaftTransport>,
    /// Called, from any thread, when an event waits.
    pub wake: Wake,
    /// Told by the disk when a completion waits in it.
    pub disk_wake: Arc<Notify>,
}

/// The metadata quorum by raft. Must be made and dropped within a tokio runtime.
pub struct RaftQuorum {
    pub(crate) core: Core,
    own: RaftNodeId,
    mailbox: Arc<Mailbox>,
    pub(crate) log: Log,
    proposals: mpsc::UnboundedSender<Payload>,
    transport: Arc<dyn RaftTransport>,
    changing: Arc<AtomicBool>,
    votes_are_lost: bool,
}

/// Answers raft messages of other members; cheap to clone.
#[derive(Clone)]
pub struct RaftService {
    core: Core,
    own: RaftNodeId,
    votes_are_lost: bool,
}

impl RaftQuorum {
    /// Opens the raft log in the directory `dir` of `disk` and starts raft.
    ///
    /// # Errors
    /// A disk that fails, a raft log that is damaged, or one that does not continue the copy.
    pub async fn start<D>(disk: D, dir: &str, start: Start) -> Result<Self, QuorumError>
    where
        D: Disk<File: Send> + Send + 'static,
    {
        let own = start.directory;
        let mailbox = Arc::new(Mailbox::new(start.applied, start.wake));
        let store = LogStore::open(disk, dir, own, start.disk_wake, mailbox.clone()).await?;
        let log = store.log().clone();
        let votes_are_lost = store.votes_are_lost();
        if votes_are_lost {
            tracing::error!(
                "raft's votes in directory {own} are unreadable: this node neither votes nor stands"
            );
        }
        let applied = store.state_at(start.applied)?;
        if let Some((upto, bytes)) = start.snapshot {
            mailbox.keep_image(
                image_at(&log, upto, bytes)
                    .ok_or(QuorumError::Gap { first: log.first(), applied: upto.0 })?,
            );
        }
        let machine = Machine::new(mailbox.clone(), store.clone(), applied);
        let config = config(start.entries_kept, !votes_are_lost);
        let config = config.validate().expect("heartbeats come more often than elections");
        let peers = Peers { transport: start.transport.clone() };
        let core = Core::new(own.into(), Arc::new(config), peers, store, machine).await;
        let core = core.map_err(|e| QuorumError::Stopped(e.to_string()))?;
        if !votes_are_lost {
            tokio::spawn(break_ties(core.clone(), core.metrics()));
        }
        tokio::spawn(watch_leader(core.metrics(), mailbox.clone(), own));
        let (proposals, waiting) = mpsc::unbounded_channel();
        tokio::spawn(propose_in_order(core.clone(), waiting));
        let (own, transport, changing) = (own.into(), start.transport, Arc::default());
        Ok(Self { core, own, mailbox, log, proposals, transport, changing, votes_are_lost })
    }

    /// The side that answers other members.
    #[must_use]
    pub fn service(&self) -> RaftService {
        RaftService { core: self.core.clone(), own: self.own, votes_are_lost: self.votes_are_lost }
    }

    /// Whether both slots of the vote file are unreadable. Such a node answers no raft message: it may have voted for
    /// anyone, and what it acknowledged could contradict that.
    #[must_use]
    pub fn votes_are_lost(&self) -> bool {
        self.votes_are_lost
    }

    /// Stops raft's tasks and waits for them. What waits for `Control` is given up.
    pub async fn stop(self) {
        self.mailbox.close();
        if let Err(e) = self.core.shutdown().await {
            tracing::warn!("raft ended with an error: {e}");
        }
    }
}

impl Drop for RaftQuorum {
    fn drop(&mut self) {
        self.mailbox.close();
        // Raft's tasks hold handles of each other: they end only when told.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let core = self.core.clone();
            runtime.spawn(async move { core.shutdown().await });
        }
    }
}

fn config(entries_kept: u64, may_stand: bool) -> Config {
    Config {
        cluster_name: "metadata".to_owned(),
        heartbeat_interval: HEARTBEAT_MS,
        election_timeout_min: ELECTION_TIMEOUT_MS_MIN,
        election_timeout_max: ELECTION_TIMEOUT_MS_MAX,
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: entries_kept,
        install_snapshot_timeout: SNAPSHOT_TIMEOUT_MS,
        enable_elect: may_stand,
        ..Config::default()
    }
}

fn image_at(log: &Log, upto: MetadataOffset, bytes: Bytes) -> Option<Image> {
    let index = u64::try_from(upto.0).ok()?;
    Some(Image::new(log.at(index)?, bytes))
}

/// Hands proposals to raft in the order in which they were made.
async fn propose_in_order(core: Core, mut waiting: mpsc::UnboundedReceiver<Payload>) {
    while let Some(payload) = waiting.recv().await {
        // The answer is not waited for: the outcome is read off the copy.
        if let Err(e) = core.client_write_ff(payload).await {
            tracing::debug!("a proposal was not taken: {e}");
            return;
        }
    }
}

/// Shows whenever the leader that this node knows changes, and when raft's storage fails.
async fn watch_leader(mut metrics: watch::Receiver<Metrics>, mailbox: Arc<Mailbox>, own: DirectoryId) {
    let mut floor = None;
    loop {
        {
            let metrics = metrics.borrow_and_update();
            match metrics.running_state {
                Ok(()) => mailbox.show(leadership(&metrics, own, &mut floor)),
                Err(Fatal::Stopped) => return,
                Err(Fatal::StorageError(_) | Fatal::Panicked) => return mailbox.poison(),
            }
        }
        if metrics.changed().await.is_err() {
            return;
        }
    }
}

/// Who leads. A node counts itself as leader only when an entry of its own term and everything that its log held when
/// it was seen to lead (`floor`: term and index) is applied: by then every entry of earlier terms, and of this term before a restart,
/// has been shown as committed.
fn leadership(metrics: &Metrics, own: DirectoryId, floor: &mut Option<(u64, Option<u64>)>) -> Leadership {
    let term = metrics.current_term;
    let is_leader = metrics.state == ServerState::Leader;
    if is_leader && floor.is_none_or(|(seen, _)| seen != term) {
        *floor = Some((term, metrics.last_log_index));
    }
    let reached = floor.and_then(|(_, index)| index);
    let is_self = is_leader
        && metrics
            .last_applied
            .is_some_and(|last| last.leader_id.term == term && Some(last.index) >= reached);
    let leader = metrics.current_leader.map(DirectoryId::from).filter(|leader| *leader != own || is_self);
    Leadership { term, leader, is_self }
}

impl MetadataQuorum for RaftQuorum {
    fn propose(&mut self, proposal: Proposal) {
        if proposal.bytes.len() > PROPOSAL_BYTES_MAX {
            tracing::warn!("a proposal of {} bytes is dropped: it does not fit", proposal.bytes.len());
        } else if self.proposals.send(Payload(proposal.bytes)).is_err() {
            tracing::debug!("a proposal was not taken: raft has stopped");
        }
    }

    fn poll_event(&mut self) -> Option<QuorumEvent> {
        self.mailbox.take()
    }

    fn applied(&mut self, upto: MetadataOffset) {
        self.mailbox.applied(upto);
    }

    fn offer_snapshot(&mut self, upto: MetadataOffset, bytes: Bytes) {
        let Some(image) = image_at(&self.log, upto, bytes) else {
            tracing::debug!("a snapshot at {} is dropped: a later one took its place", upto.0);
            return;
        };
        self.mailbox.keep_image(image);
        let core = self.core.clone();
        tokio::spawn(async move {
            if let Err(e) = core.trigger().snapshot().await {
                tracing::warn!("raft does not take the snapshot: {e}");
            }
        });
    }

    fn form(&mut self, own: QuorumMember) {
        if self.votes_are_lost {
            return;
        }
        let core = self.core.clone();
        tokio::spawn(async move {
            let members: BTreeMap<_, _> = [node_of(&own)].into();
            if let Err(e) = core.initialize(members).await {
                tracing::debug!("no quorum formed: {e}");
            }
        });
    }

    fn change_members(&mut self, members: Members) {
        if self.changing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (core, changing) = (self.core.clone(), self.changing.clone());
        tokio::spawn(async move {
            if let Err(e) = change(&core, &members).await {
                tracing::info!("members of the metadata quorum are not changed yet: {e}");
            }
            changing.store(false, Ordering::Release);
        });
    }

    fn hand_over(&mut self, among: &BTreeSet<DirectoryId>) -> bool {
        let request = hand_over(&self.core.metrics().borrow(), among);
        let Some((successor, request)) = request else { return false };
        tracing::info!("broker {} is asked to lead the metadata quorum", successor.broker);
        let call = self.transport.call(&successor, request);
        tokio::spawn(async move {
            if let Err(e) = call.await {
                tracing::info!("leadership of the metadata quorum is not handed over: {e}");
            }
        });
        true
    }

    fn status(&self) -> QuorumStatus {
        let Leadership { term, leader, .. } = self.mailbox.leadership();
        let metrics = self.core.metrics();
        let metrics = metrics.borrow();
        QuorumStatus {
            term,
            leader,
            members: members_in(&metrics.membership_config),
            changing: self.changing.load(Ordering::Acquire),
            committed: metrics.last_applied.map(|last| offset_of(last.index)),
            matched: matched(&metrics),
        }
    }
}

fn matched(metrics: &Metrics) -> BTreeMap<DirectoryId, MetadataOffset> {
    let known = metrics.replication.iter().flatten();
    known.filter_map(|(id, last)| Some(((*id).into(), offset_of((*last)?.index)))).collect()
}

impl RaftService {
    /// Answers one raft message with the bytes to send back.
    ///
    /// # Errors
    /// Bytes that are no raft message, one that is meant for another directory, or a node whose votes are lost.
    pub async fn answer(&self, request: &[u8]) -> Result<Vec<u8>, CallError> {
        if self.votes_are_lost {
            return Err(CallError::VotesLost);
        }
        let Addressed { to, request } = Addressed::read(request)?;
        if to != self.own {
            return Err(CallError::OtherDirectory { asked: to.into(), own: self.own.into() });
        }
        let response = match request {
            Request::Append(rpc) => Response::Append(self.core.append_entries(rpc).await),
            Request::Vote(rpc) => Response::Vote(self.core.vote(rpc).await),
            Request::Snapshot { vote, meta, image } => {
                let snapshot = Snapshot { meta, snapshot: Box::new(image) };
                let installed = self.core.install_full_snapshot(vote, snapshot).await;
                Response::Snapshot(installed.map_err(RaftError::Fatal))
            }
            Request::Stand { vote } => Response::Stand(stand(&self.core, &vote)),
        };
        Ok(encode(&response)?)
    }
}
