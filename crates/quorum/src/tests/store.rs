//! The store on its own: what a stop at the wrong moment leaves.

use openraft::storage::{RaftLogStorage, RaftLogStorageExt};
use openraft::{Entry, EntryPayload, Membership};

use super::messages::log_id;
use super::*;
use crate::mailbox::Mailbox;
use crate::store::{LogStore, Point};
use crate::types::{Payload, Raft, RaftMembership, RaftVote};

type Store = LogStore<disk::TestDisk>;

async fn open(medium: &Medium, applied: Option<i64>) -> (Store, Arc<Mailbox>) {
    let wake = Arc::new(Notify::new());
    let mailbox = Arc::new(Mailbox::new(applied.map(MetadataOffset), Box::new(|| {})));
    let disk = medium.disk(wake.clone());
    let store = LogStore::open(disk, "metadata", directory(1), wake, mailbox.clone()).await.unwrap();
    (store, mailbox)
}

async fn append(store: &mut Store, term: u64, indexes: std::ops::Range<u64>) {
    let entry = |index| {
        let payload = EntryPayload::Normal(Payload(Bytes::from_static(b"entry")));
        Entry::<Raft> { log_id: log_id(term, index), payload }
    };
    store.blocking_append(indexes.map(entry)).await.unwrap();
}

/// A membership of one voter, decided at an index.
fn voter(number: u8, index: u64) -> RaftMembership {
    let ids = [directory(number).into()].into();
    RaftMembership::new(Some(log_id(1, index)), Membership::new(vec![ids], ()))
}

#[tokio::test]
async fn a_stop_between_taking_a_snapshot_over_and_purging_loses_no_place() {
    let medium = Medium::default();
    let (mut store, _) = open(&medium, Some(4)).await;
    append(&mut store, 1, 0..5).await;
    let point = Point { log_id: log_id(2, 100), membership: voter(7, 50) };
    store.note_snapshot(point.clone()).await.unwrap();
    medium.power_cut();
    let (store, _) = open(&medium, Some(4)).await;
    assert_eq!(store.state_at(Some(MetadataOffset(4))).unwrap().0, Some(log_id(1, 4)), "not taken over yet");
    let (mut store, _) = open(&medium, Some(100)).await;
    let state = store.state_at(Some(MetadataOffset(100))).unwrap();
    assert_eq!(state, (Some(point.log_id), point.membership.clone()));
    store.purge(point.log_id).await.unwrap();
    append(&mut store, 2, 101..103).await;
    medium.power_cut();
    let (mut store, _) = open(&medium, Some(100)).await;
    let log = store.get_log_state().await.unwrap();
    assert_eq!((log.last_purged_log_id, log.last_log_id), (Some(log_id(2, 100)), Some(log_id(2, 102))));
    assert_eq!(store.state_at(Some(MetadataOffset(102))).unwrap().1, point.membership);
}

#[tokio::test]
async fn nothing_is_purged_before_the_copy_holds_it() {
    let medium = Medium::default();
    let (mut store, mailbox) = open(&medium, None).await;
    append(&mut store, 1, 0..10).await;
    let mut purging = Box::pin(async { store.purge(log_id(1, 5)).await });
    tokio::select! {
        biased;
        _ = &mut purging => panic!("the copy holds nothing yet"),
        () = tokio::task::yield_now() => {}
    }
    mailbox.applied(MetadataOffset(5));
    purging.await.unwrap();
    assert_eq!(store.log().first(), 6);
}

#[tokio::test]
async fn what_waits_for_the_copy_ends_when_the_quorum_stops() {
    let (mut store, mailbox) = open(&Medium::default(), None).await;
    append(&mut store, 1, 0..10).await;
    mailbox.close();
    assert!(store.purge(log_id(1, 5)).await.is_err());
    assert_eq!(store.log().first(), 0);
}

#[tokio::test]
async fn d4_a_cut_and_what_follows_it_survive_a_power_cut() {
    let medium = Medium::default();
    let (mut store, _) = open(&medium, None).await;
    append(&mut store, 1, 0..10).await;
    store.truncate(log_id(1, 4)).await.unwrap();
    medium.power_cut();
    let (mut store, _) = open(&medium, None).await;
    assert_eq!(store.log().last(), Some(log_id(1, 3)));
    append(&mut store, 2, 4..6).await;
    medium.power_cut();
    let (store, _) = open(&medium, None).await;
    let ids: Vec<_> = store.log().range(&(3..6)).iter().map(|entry| entry.log_id).collect();
    assert_eq!(ids, [log_id(1, 3), log_id(2, 4), log_id(2, 5)]);
}

#[tokio::test]
async fn a_vote_survives_a_power_cut_and_rot_of_either_slot() {
    for slot in [0, 4096] {
        let medium = Medium::default();
        let (mut store, _) = open(&medium, None).await;
        for term in 1..4 {
            store.save_vote(&RaftVote::new(term, directory(2).into())).await.unwrap();
        }
        medium.power_cut();
        medium.flip("metadata/vote", slot + 20);
        let (mut store, _) = open(&medium, None).await;
        assert_eq!(store.read_vote().await.unwrap(), Some(RaftVote::new(3, directory(2).into())));
    }
}

#[tokio::test]
async fn a_log_without_its_votes_is_as_bad_as_unreadable_ones() {
    let medium = Medium::default();
    let (mut store, _) = open(&medium, None).await;
    append(&mut store, 1, 0..1).await;
    let (store, _) = open(&medium, None).await;
    assert!(store.votes_are_lost());
}
