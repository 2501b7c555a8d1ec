//! Who should be in the metadata quorum: every broker as a node, and 1, 3 or 5 of them as voters (Q1).
//!
//! A node is a log directory, not a broker (M9): when a broker's directory was wiped, the old one leaves before the new one
//! comes in as an observer.

use std::collections::{BTreeMap, BTreeSet};

use log_core::{BrokerId, DirectoryId, MetadataOffset};

use crate::image::ClusterImage;
use crate::quorum::{Members, QuorumMember, QuorumStatus};
use crate::record::{Endpoint, Listener};

/// How many entries a node may be behind and still become a voter.
const VOTER_LAG_ENTRIES: i64 = 100;

/// The members that the quorum should have now; none if it has them, is changing, or this node would not be one.
pub(super) fn wished(own: DirectoryId, image: &ClusterImage, quorum: &QuorumStatus) -> Option<Members> {
    if quorum.changing {
        return None;
    }
    let nodes = nodes(image);
    if !nodes.contains_key(&own) {
        return None;
    }
    let voters = voters(own, image, quorum, &nodes);
    let wished = Members { nodes, voters };
    (wished != quorum.members).then_some(wished)
}

fn nodes(image: &ClusterImage) -> BTreeMap<DirectoryId, QuorumMember> {
    let reserved: BTreeMap<BrokerId, DirectoryId> =
        image.reservations().map(|(broker, kept)| (broker, kept.directory)).collect();
    let stays = |broker: BrokerId, directory| reserved.get(&broker).is_none_or(|other| *other == directory);
    let registered = image
        .brokers()
        .filter(|broker| stays(broker.id, broker.directory))
        .map(|broker| member(broker.directory, broker.id, &broker.endpoints));
    let joining = image.reservations().map(|(broker, kept)| member(kept.directory, broker, &kept.endpoints));
    registered.chain(joining).map(|node| (node.directory, node)).collect()
}

fn member(directory: DirectoryId, broker: BrokerId, endpoints: &[Endpoint]) -> QuorumMember {
    let reached = endpoints.iter().filter(|endpoint| endpoint.listener == Listener::Replica);
    QuorumMember {
        directory,
        broker,
        addresses: reached.map(|found| (found.host.clone(), found.port)).collect(),
    }
}

/// Voters stay; new ones are live brokers whose copies have caught up, lowest ids first. There are 1, 3 or 5 of them by the
/// number of nodes, and they grow only when there are enough to grow at once. While a wiped one is being replaced the
/// others stay as they are: fewer voters would be fewer copies that count.
fn voters(
    own: DirectoryId,
    image: &ClusterImage,
    quorum: &QuorumStatus,
    nodes: &BTreeMap<DirectoryId, QuorumMember>,
) -> BTreeSet<DirectoryId> {
    let present = &quorum.members.voters;
    let kept: Vec<DirectoryId> = present.iter().copied().filter(|voter| nodes.contains_key(voter)).collect();
    let ready: Vec<DirectoryId> = image
        .brokers()
        .filter(|broker| broker.is_active() && nodes.contains_key(&broker.directory))
        .map(|broker| broker.directory)
        .filter(|directory| !present.contains(directory) && caught_up(quorum, directory))
        .collect();
    let size = size(nodes.len());
    let grown = if kept.len() + ready.len() >= size { ready } else { Vec::new() };
    // This node first: a quorum that shrinks keeps its leader.
    let own_first = [own].into_iter().filter(|own| kept.contains(own));
    let others = kept.iter().copied().filter(|voter| *voter != own);
    own_first.chain(others).chain(grown).take(size).collect()
}

const fn size(nodes: usize) -> usize {
    match nodes {
        0..=2 => 1,
        3..=4 => 3,
        _ => 5,
    }
}

fn caught_up(quorum: &QuorumStatus, node: &DirectoryId) -> bool {
    let behind = |matched: &MetadataOffset| quorum.committed.map_or(0, |last| last.0 - matched.0);
    quorum.matched.get(node).is_some_and(|matched| behind(matched) <= VOTER_LAG_ENTRIES)
}
