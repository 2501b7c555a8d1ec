//! A quorum of one: order, offsets, restarts, failing disks.

use super::*;

#[tokio::test]
async fn proposals_come_back_in_order_at_their_raft_indexes() {
    let node = formed(&Arc::default(), 1_000).await;
    node.propose(0..50);
    node.until_agreed(&(0..50).collect::<Vec<_>>()).await;
    let entries = node.copy().entries;
    assert_eq!(entries[0], None, "the membership that formed the quorum");
    assert!(entries.iter().filter(|bytes| bytes.is_none()).count() >= 2, "the blank entry of the leader");
    let status = node.with(|quorum| quorum.status());
    assert_eq!(status.leader, Some(node.directory));
    assert_eq!(status.members, members(&[&node], &[&node]));
}

#[tokio::test]
async fn forming_again_is_ignored() {
    let node = formed(&Arc::default(), 1_000).await;
    node.propose([1]);
    node.until_agreed(&[1]).await;
    node.with(|quorum| quorum.form(node.member()));
    node.propose([2]);
    node.until_agreed(&[1, 2]).await;
}

#[tokio::test]
async fn what_was_agreed_survives_a_power_cut_and_a_shorter_copy() {
    let node = formed(&Arc::default(), 1_000).await;
    node.propose(0..10);
    node.until_agreed(&(0..10).collect::<Vec<_>>()).await;
    let term = node.with(|quorum| quorum.status().term);
    node.stop().await;
    node.medium.power_cut();
    node.running.lock().unwrap().copy.entries.truncate(5);
    node.start().await;
    node.until_agreed(&(0..10).collect::<Vec<_>>()).await;
    node.until_it_leads().await;
    assert!(node.with(|quorum| quorum.status().term) >= term);
    node.propose([10]);
    node.until_agreed(&(0..11).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn a_restart_goes_on_after_what_was_purged_for_a_snapshot() {
    let node = formed(&Arc::default(), 0).await;
    node.propose(0..20);
    node.until_agreed(&(0..20).collect::<Vec<_>>()).await;
    offer_and_purge(&node).await;
    node.propose([20]);
    node.until_agreed(&(0..21).collect::<Vec<_>>()).await;
    node.stop().await;
    node.medium.power_cut();
    node.start().await;
    node.until_it_leads().await;
    node.propose([21]);
    node.until_agreed(&(0..22).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn a_copy_that_ends_before_the_raft_log_begins_is_refused() {
    let node = formed(&Arc::default(), 0).await;
    node.propose(0..20);
    node.until_agreed(&(0..20).collect::<Vec<_>>()).await;
    offer_and_purge(&node).await;
    node.stop().await;
    node.running.lock().unwrap().copy.entries.truncate(5);
    assert!(matches!(node.try_start().await, Err(QuorumError::Gap { applied: 4, .. })));
}

#[tokio::test]
async fn d5_a_failing_sync_poisons_and_nothing_more_is_agreed() {
    let node = formed(&Arc::default(), 1_000).await;
    node.propose([1]);
    node.until_agreed(&[1]).await;
    let syncs = node.medium.syncs();
    node.medium.fail_syncs();
    node.propose([2]);
    node.until(|running| running.copy.poisoned).await;
    node.propose([3]);
    assert_eq!(node.copy().proposals(), [1]);
    node.stop().await;
    assert_eq!((node.copy().proposals(), node.medium.syncs()), (vec![1], syncs));
    assert!(node.try_start().await.is_err());
}

#[tokio::test]
async fn the_only_voter_goes_on_when_its_votes_are_unreadable() {
    let node = formed(&Arc::default(), 1_000).await;
    node.propose([1]);
    node.until_agreed(&[1]).await;
    let term = node.with(|quorum| quorum.status().term);
    node.stop().await;
    node.medium.rot("metadata/vote");
    node.start().await;
    assert!(!node.with(|quorum| quorum.votes_are_lost()));
    node.until_it_leads().await;
    assert!(node.with(|quorum| quorum.status().term) > term);
}

#[tokio::test]
async fn a_damaged_log_is_refused() {
    let node = formed(&Arc::default(), 1_000).await;
    node.propose(0..100);
    node.until_agreed(&(0..100).collect::<Vec<_>>()).await;
    node.stop().await;
    node.medium.rot("metadata/log/00000000000000000000.records");
    assert!(matches!(node.try_start().await, Err(QuorumError::Store(_))));
}

/// Offers a snapshot of the whole copy and waits until raft has dropped what it covers.
pub(super) async fn offer_and_purge(node: &Node) {
    let copy = node.copy();
    let upto = copy.applied().unwrap();
    node.with(|quorum| quorum.offer_snapshot(upto, copy.image()));
    let first = u64::try_from(upto.0).unwrap() + 1;
    node.until(|running| running.quorum.as_ref().unwrap().log.first() == first).await;
}
