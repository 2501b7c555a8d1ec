//! Breaks ties of elections, and holds one without waiting for silence when a leader is about to stop.
//!
//! openraft 0.9.25 draws a node's election timeout once and looks at it only every 320 ms (one and a half heartbeats, aligned
//! to the thread's grid).
//! Two voters whose looks fall together and whose timeouts end at the same look would split the votes of every election:
//!
//! 1. both stand for term t, each votes for itself, neither has a majority;
//! 2. both wait the same number of looks, and both stand for term t + 1; and so on.
//!
//! So a candidate that has not won waits for a time drawn anew each time, and then stands at that moment, whenever openraft looks. Whether
//! it may be voted for is still the voters' to say: by the lease of a leader that they hear, and by their entries.

use std::collections::BTreeSet;
use std::time::Duration;

use log_core::DirectoryId;
use metadata_core::QuorumMember;
use openraft::{Config, RaftMetrics, ServerState, TokioRuntime};
use tokio::sync::watch;

use crate::network::{Addressed, Request, encode};
use crate::raft::ELECTION_TIMEOUT_MS_MAX;
use crate::types::{Raft, RaftNode, RaftNodeId, RaftVote, member_of};

type Metrics = RaftMetrics<RaftNodeId, RaftNode>;

/// What a candidate waits at least, in milliseconds: votes are synced before they are given, which takes some time on busy disks, and who
/// stands again gives up the votes that are on their way to it.
const PAUSE_MS_MIN: u64 = 200;

/// At most. Two candidates tie again if their draws differ by less than an election takes: one time in ten if that is 40 ms.
const PAUSE_MS_MAX: u64 = 1_000;

/// By then voters hold no lease any more of a leader that has fallen silent: openraft's lease is its longest election timeout.
const LEASE_OVER: Duration = Duration::from_millis(ELECTION_TIMEOUT_MS_MAX + 50);

/// Lets this node stand for election, but after each candidacy only after a pause of its own.
pub(crate) async fn break_ties(core: openraft::Raft<Raft>, mut metrics: watch::Receiver<Metrics>) {
    loop {
        let standing = candidacy(&metrics.borrow_and_update());
        core.runtime_config().elect(standing.is_none());
        if standing.is_some() {
            let won_or_lost = until_another(&mut metrics, standing);
            match tokio::time::timeout(pause(), won_or_lost).await {
                Ok(Ok(())) => continue,
                Ok(Err(_)) => return,
                Err(_) if core.trigger().elect().await.is_err() => return,
                Err(_) => {}
            }
        }
        if until_another(&mut metrics, standing).await.is_err() {
            return;
        }
    }
}

/// Waits until this node stands no more, or with another vote.
async fn until_another(
    metrics: &mut watch::Receiver<Metrics>,
    standing: Option<RaftVote>,
) -> Result<(), watch::error::RecvError> {
    metrics.wait_for(|metrics| candidacy(metrics) != standing).await.map(drop)
}

/// The vote that this node gave itself, while it stands.
fn candidacy(metrics: &Metrics) -> Option<RaftVote> {
    (metrics.state == ServerState::Candidate).then_some(metrics.vote)
}

/// Whom the leader of these metrics asks to lead instead, and with what request; none if it does not lead or there is nobody.
pub(crate) fn hand_over(metrics: &Metrics, among: &BTreeSet<DirectoryId>) -> Option<(QuorumMember, Vec<u8>)> {
    let reached = metrics.replication.as_ref().filter(|_| metrics.state == ServerState::Leader)?;
    let membership = metrics.membership_config.membership();
    let may = |id: &RaftNodeId| *id != metrics.id && among.contains(&DirectoryId::from(*id));
    let willing = membership.voter_ids().filter(may);
    // A voter that lacks an entry of ours gets no vote from us.
    let to = willing.max_by_key(|id| reached.get(id).copied().flatten())?;
    let node = membership.get_node(&to)?;
    let request = encode(&Addressed { to, request: Request::Stand { vote: metrics.vote } }).ok()?;
    Some((member_of(to, node), request))
}

/// Stands for election at once if the leader of `vote`, which asks for it, still leads here. The leader itself grants its vote;
/// of three voters no other is needed. Others refuse theirs while they hold the leader's lease, so it stands once more when that is over.
pub(crate) fn stand(core: &openraft::Raft<Raft>, vote: &RaftVote) -> bool {
    let mut metrics = core.metrics();
    if metrics.borrow_and_update().vote != *vote {
        return false;
    }
    let (core, vote) = (core.clone(), *vote);
    tokio::spawn(async move {
        for _ in 0..2 {
            if core.trigger().elect().await.is_err() {
                return;
            }
            let another = |metrics: &Metrics| metrics.vote != vote && metrics.current_leader.is_some();
            if tokio::time::timeout(LEASE_OVER, metrics.wait_for(another)).await.is_ok() {
                return;
            }
        }
    });
    true
}

fn pause() -> Duration {
    let draw = Config {
        election_timeout_min: PAUSE_MS_MIN,
        election_timeout_max: PAUSE_MS_MAX,
        ..Config::default()
    };
    Duration::from_millis(draw.new_rand_election_timeout::<TokioRuntime>())
}
