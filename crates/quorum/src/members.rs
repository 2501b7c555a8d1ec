//! From the members that are to the members that are wished for, in steps whose quorums overlap.

use std::collections::{BTreeMap, BTreeSet};

use log_core::DirectoryId;
use metadata_core::{Members, QuorumMember};
use openraft::ChangeMembers;

use crate::types::{Raft, RaftMembership, RaftNode, RaftNodeId, member_of, node_of};

type Core = openraft::Raft<Raft>;
type Change = ChangeMembers<RaftNodeId, RaftNode>;

/// One change that raft makes at once, voters by joint consensus.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// New observers.
    Add(Vec<QuorumMember>),
    /// Members that are reached elsewhere now.
    Move(Vec<QuorumMember>),
    /// Exactly these vote; who voted before and does not now goes on as an observer.
    Vote(BTreeSet<DirectoryId>),
    /// Observers that leave.
    Remove(BTreeSet<DirectoryId>),
}

/// The steps that are left, in order: a voter is first an observer, and leaves only after it votes no more.
fn steps(are: &Members, wished: &Members) -> Vec<Step> {
    let (known, new): (Vec<_>, Vec<_>) =
        wished.nodes.values().partition(|member| are.nodes.contains_key(&member.directory));
    let moved = known.into_iter().filter(|member| are.nodes.get(&member.directory) != Some(*member));
    let moved: Vec<_> = moved.cloned().collect();
    let gone: BTreeSet<_> = are.nodes.keys().copied().filter(|id| !wished.nodes.contains_key(id)).collect();
    let steps = [
        (!new.is_empty()).then(|| Step::Add(new.into_iter().cloned().collect())),
        (!moved.is_empty()).then_some(Step::Move(moved)),
        (are.voters != wished.voters).then(|| Step::Vote(wished.voters.clone())),
        (!gone.is_empty()).then_some(Step::Remove(gone)),
    ];
    steps.into_iter().flatten().collect()
}

impl From<Step> for Change {
    fn from(step: Step) -> Self {
        let nodes = |members: Vec<QuorumMember>| members.iter().map(node_of).collect::<BTreeMap<_, _>>();
        let ids =
            |directories: BTreeSet<DirectoryId>| directories.into_iter().map(RaftNodeId::from).collect();
        match step {
            Step::Add(members) => Self::AddNodes(nodes(members)),
            Step::Move(members) => Self::SetNodes(nodes(members)),
            Step::Vote(voters) => Self::ReplaceAllVoters(ids(voters)),
            Step::Remove(members) => Self::RemoveNodes(ids(members)),
        }
    }
}

/// The members in one of raft's memberships.
pub(crate) fn members_in(stored: &RaftMembership) -> Members {
    let membership = stored.membership();
    Members {
        nodes: membership.nodes().map(|(id, node)| ((*id).into(), member_of(*id, node))).collect(),
        voters: membership.voter_ids().map(DirectoryId::from).collect(),
    }
}

/// Takes all steps, each after the one before is agreed. Ends at the first that raft refuses.
pub(crate) async fn change(
    core: &Core,
    wished: &Members,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if wished.voters.is_empty() || !wished.voters.iter().all(|voter| wished.nodes.contains_key(voter)) {
        return Err("every quorum needs a voter, and each voter is a node".into());
    }
    let are = members_in(&core.metrics().borrow().membership_config);
    for step in steps(&are, wished) {
        core.change_membership(Change::from(step), true).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use log_core::BrokerId;

    use super::*;

    fn members(nodes: &[(u8, &str)], voters: &[u8]) -> Members {
        let member = |(id, host): &(u8, &str)| {
            let directory = DirectoryId([*id; 16]);
            let addresses = vec![((*host).to_owned(), 9093)];
            (directory, QuorumMember { directory, broker: BrokerId(i32::from(*id)), addresses })
        };
        let voters = voters.iter().map(|id| DirectoryId([*id; 16])).collect();
        Members { nodes: nodes.iter().map(member).collect(), voters }
    }

    #[test]
    fn a_voter_is_first_an_observer_and_leaves_only_after_it_votes_no_more() {
        let are = members(&[(1, "a"), (2, "b")], &[1, 2]);
        let wished = members(&[(1, "z"), (3, "c")], &[1, 3]);
        let pick = |id: u8| wished.nodes[&DirectoryId([id; 16])].clone();
        let expected = vec![
            Step::Add(vec![pick(3)]),
            Step::Move(vec![pick(1)]),
            Step::Vote(wished.voters.clone()),
            Step::Remove([DirectoryId([2; 16])].into()),
        ];
        assert_eq!(steps(&are, &wished), expected);
    }

    #[test]
    fn members_as_they_are_need_no_step() {
        let are = members(&[(1, "a"), (2, "b")], &[1]);
        assert_eq!(steps(&are, &are), []);
    }
}
