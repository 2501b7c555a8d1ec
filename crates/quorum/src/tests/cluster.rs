//! Quorums of several nodes: growing, losing a leader, catching up, wiped directories, lost votes.

use super::single::offer_and_purge;
use super::*;

/// Three voters, of which the first leads.
async fn three(net: &Arc<Net>) -> [Node; 3] {
    let nodes = [formed(net, 1_000).await, Node::new(net, 2, directory(2)), Node::new(net, 3, directory(3))];
    nodes[1].start().await;
    nodes[2].start().await;
    let all = nodes.each_ref();
    let wished = members(&all, &all);
    nodes[0].with(|quorum| quorum.change_members(wished.clone()));
    for node in &nodes {
        node.until(|running| running.quorum.as_ref().unwrap().status().members == wished).await;
    }
    nodes[0].until(|running| !running.quorum.as_ref().unwrap().status().changing).await;
    nodes
}

/// The first of these to lead.
async fn until_one_leads<'a>(one: &'a Node, other: &'a Node) -> (&'a Node, &'a Node) {
    tokio::select! {
        () = one.until_it_leads() => (one, other),
        () = other.until_it_leads() => (other, one),
    }
}

#[tokio::test]
async fn voters_grow_from_one_to_three_and_shrink_again() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[0].propose(0..10);
    for node in &nodes {
        node.until_agreed(&(0..10).collect::<Vec<_>>()).await;
    }
    let last = nodes[0].copy().applied().unwrap();
    nodes[0]
        .until(|running| {
            let matched = running.quorum.as_ref().unwrap().status().matched;
            nodes.iter().all(|node| matched.get(&node.directory) >= Some(&last))
        })
        .await;
    let wished = members(&[&nodes[0], &nodes[1]], &[&nodes[0]]);
    nodes[0].with(|quorum| quorum.change_members(wished.clone()));
    nodes[0].until(|running| running.quorum.as_ref().unwrap().status().members == wished).await;
    nodes[0].propose([10]);
    nodes[1].until_agreed(&(0..11).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn a_lost_leader_is_replaced_and_nothing_agreed_is_lost() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[0].propose(0..10);
    nodes[0].until_agreed(&(0..10).collect::<Vec<_>>()).await;
    nodes[0].stop().await;
    nodes[0].medium.power_cut();
    let (leader, other) = until_one_leads(&nodes[1], &nodes[2]).await;
    assert_eq!(leader.copy().proposals(), (0..10).collect::<Vec<_>>(), "it shows all before it leads");
    leader.propose([10]);
    leader.until_agreed(&(0..11).collect::<Vec<_>>()).await;
    other.until_agreed(&(0..11).collect::<Vec<_>>()).await;
    nodes[0].start().await;
    nodes[0].until_agreed(&(0..11).collect::<Vec<_>>()).await;
    assert!(!nodes[0].copy().is_leader);
}

#[tokio::test]
async fn a_leader_that_is_about_to_stop_is_followed_while_it_lives() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[0].propose(0..10);
    nodes[0].until_agreed(&(0..10).collect::<Vec<_>>()).await;
    let among = [nodes[1].directory, nodes[2].directory].into();
    assert!(nodes[0].with(|quorum| quorum.hand_over(&among)));
    // Its heartbeats go on: without having been asked nobody would stand.
    let (leader, _) = until_one_leads(&nodes[1], &nodes[2]).await;
    nodes[0].until(|running| !running.copy.is_leader).await;
    leader.propose([10]);
    nodes[0].until_agreed(&(0..11).collect::<Vec<_>>()).await;
    assert!(!nodes[0].with(|quorum| quorum.hand_over(&among)), "it leads no more");
}

#[tokio::test]
async fn a_leader_without_other_voters_hands_over_to_nobody() {
    let node = formed(&Arc::default(), 1_000).await;
    assert!(!node.with(|quorum| quorum.hand_over(&[node.directory, directory(2)].into())));
}

#[tokio::test]
async fn what_an_isolated_leader_took_is_cut_when_it_returns() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[0].propose([1]);
    nodes[0].until_agreed(&[1]).await;
    nodes[0].cut_off(true);
    nodes[0].propose([100, 101, 102]);
    let (leader, _) = until_one_leads(&nodes[1], &nodes[2]).await;
    leader.propose([2]);
    leader.until_agreed(&[1, 2]).await;
    nodes[0].cut_off(false);
    nodes[0].until_agreed(&[1, 2]).await;
    nodes[0].stop().await;
    nodes[0].medium.power_cut();
    nodes[0].start().await;
    leader.propose([3]);
    nodes[0].until_agreed(&[1, 2, 3]).await;
}

#[tokio::test]
async fn an_observer_far_behind_gets_a_snapshot_and_restarts_from_it() {
    let net = Arc::default();
    let leader = formed(&net, 0).await;
    leader.propose(0..50);
    leader.until_agreed(&(0..50).collect::<Vec<_>>()).await;
    offer_and_purge(&leader).await;
    let late = Node::new(&net, 2, directory(2));
    late.start().await;
    leader.with(|quorum| quorum.change_members(members(&[&leader, &late], &[&leader])));
    late.until_agreed(&(0..50).collect::<Vec<_>>()).await;
    assert_eq!(late.copy().snapshots, 1);
    late.stop().await;
    late.medium.power_cut();
    leader.propose([50]);
    late.start().await;
    late.until_agreed(&(0..51).collect::<Vec<_>>()).await;
    assert_eq!(late.copy().snapshots, 1, "entries were enough");
}

#[tokio::test]
async fn a_voter_that_comes_back_with_an_older_copy_of_its_directory_is_caught_up() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[0].propose(0..10);
    nodes[2].until_agreed(&(0..10).collect::<Vec<_>>()).await;
    nodes[2].stop().await;
    let (medium, copy) = (nodes[2].medium.copied(), nodes[2].copy());
    nodes[2].start().await;
    nodes[0].propose(10..20);
    nodes[2].until_agreed(&(0..20).collect::<Vec<_>>()).await;
    let last = nodes[0].copy().applied().unwrap();
    nodes[0]
        .until(|running| {
            running.quorum.as_ref().unwrap().status().matched.get(&nodes[2].directory) >= Some(&last)
        })
        .await;
    nodes[2].stop().await;
    nodes[2].medium.put_back(medium);
    nodes[2].running.lock().unwrap().copy = copy;
    nodes[2].start().await;
    nodes[0].propose([20]);
    nodes[2].until_agreed(&(0..21).collect::<Vec<_>>()).await;
    // The one that led before is as able to as ever.
    nodes[0].propose([21]);
    nodes[0].until_agreed(&(0..22).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn m9_a_wiped_directory_does_not_answer_in_its_old_name() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[2].stop().await;
    let wiped = Node::new(&net, 3, directory(4));
    wiped.start().await;
    let request = messages::vote_request(directory(3));
    let answer = wiped.with(|quorum| quorum.service()).answer(&request).await;
    assert!(matches!(answer, Err(CallError::OtherDirectory { .. })));
    let wished = members(&[&nodes[0], &nodes[1], &wiped], &[&nodes[0], &nodes[1], &wiped]);
    nodes[0].with(|quorum| quorum.change_members(wished.clone()));
    nodes[0].until(|running| running.quorum.as_ref().unwrap().status().members == wished).await;
    nodes[0].propose([1]);
    wiped.until_agreed(&[1]).await;
}

#[tokio::test]
async fn a_voter_whose_votes_are_unreadable_answers_nobody() {
    let net = Arc::default();
    let nodes = three(&net).await;
    nodes[0].propose([1]);
    nodes[2].until_agreed(&[1]).await;
    nodes[2].stop().await;
    nodes[2].medium.rot("metadata/vote");
    nodes[2].start().await;
    assert!(nodes[2].with(|quorum| quorum.votes_are_lost()));
    let request = messages::vote_request(nodes[2].directory);
    let answer = nodes[2].with(|quorum| quorum.service()).answer(&request).await;
    assert!(matches!(answer, Err(CallError::VotesLost)));
    nodes[0].propose([2]);
    nodes[1].until_agreed(&[1, 2]).await;
}
