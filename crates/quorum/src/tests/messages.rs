//! Raft's messages as bytes: what is refused, and that no bytes end a node.

use openraft::raft::{AppendEntriesRequest, VoteRequest};
use openraft::{Entry, EntryPayload, Vote};
use proptest::prelude::*;

use super::*;
use crate::RpcError;
use crate::network::{Addressed, Request, encode};
use crate::types::{Payload, RaftLogId};

pub(super) fn log_id(term: u64, index: u64) -> RaftLogId {
    RaftLogId::new(openraft::CommittedLeaderId::new(term, directory(1).into()), index)
}

/// A candidate of a late term asks `to` for its vote.
pub(super) fn vote_request(to: DirectoryId) -> Vec<u8> {
    let rpc =
        VoteRequest { vote: Vote::new(1_000, directory(1).into()), last_log_id: Some(log_id(999, 1_000)) };
    encode(&Addressed { to: to.into(), request: Request::Vote(rpc) }).unwrap()
}

fn append_request(
    vote: Vote<crate::types::RaftNodeId>,
    prev: Option<RaftLogId>,
    ids: &[RaftLogId],
) -> Vec<u8> {
    let entry = |id: &RaftLogId| Entry {
        log_id: *id,
        payload: EntryPayload::Normal(Payload(Bytes::from_static(b"entry"))),
    };
    let entries = ids.iter().map(entry).collect();
    let rpc = AppendEntriesRequest { vote, prev_log_id: prev, entries, leader_commit: None };
    encode(&Addressed { to: directory(2).into(), request: Request::Append(rpc) }).unwrap()
}

fn check(vote: Vote<crate::types::RaftNodeId>, prev: Option<RaftLogId>, ids: &[RaftLogId], is_read: bool) {
    let read = Addressed::read(&append_request(vote, prev, ids)).map(drop);
    assert_eq!(read, if is_read { Ok(()) } else { Err(RpcError::Contradiction) });
}

#[test]
fn an_append_that_contradicts_itself_is_refused() {
    let leader = Vote::new_committed(5, directory(1).into());
    check(leader, None, &[log_id(1, 0), log_id(4, 1)], true);
    check(leader, Some(log_id(2, 7)), &[log_id(2, 8)], true);
    check(leader, None, &[log_id(1, 1)], false);
    check(leader, Some(log_id(2, 7)), &[log_id(2, 9)], false);
    check(leader, Some(log_id(2, 7)), &[log_id(1, 8)], false);
    check(leader, Some(log_id(2, u64::MAX)), &[log_id(2, 0)], false);
    check(leader, None, &[log_id(6, 0)], false);
    check(Vote::new(5, directory(1).into()), None, &[], false);
}

#[test]
fn the_bytes_of_a_request_are_frozen() {
    let bytes =
        append_request(Vote::new_committed(5, directory(1).into()), Some(log_id(2, 7)), &[log_id(3, 8)]);
    let expected = [&[1][..], &[2; 16], &[0, 5, 1], &[1; 16], &[1, 1, 2, 7, 1, 3, 8, 1, 5], b"entry", &[0]];
    assert_eq!(bytes, expected.concat());
}

#[tokio::test]
async fn arbitrary_bytes_are_no_raft_message() {
    let node = formed(&Arc::default(), 1_000).await;
    let service = node.with(|quorum| quorum.service());
    for bytes in [&b""[..], b"\x01", b"\x02rest", b"\x00", &[0xff; 64], &[1; 400]] {
        let answer = service.answer(bytes).await;
        assert!(
            matches!(answer, Err(CallError::Message(_) | CallError::OtherDirectory { .. })),
            "{answer:?}"
        );
    }
    let mut trailing = vote_request(node.directory);
    trailing.push(0);
    assert!(matches!(service.answer(&trailing).await, Err(CallError::Message(RpcError::Malformed))));
}

proptest! {
    #[test]
    fn reading_survives_any_bytes(bytes: Vec<u8>) {
        let _ = Addressed::read(&bytes);
        let _ = Addressed::read(&[&[1], &bytes[..]].concat());
    }

    #[test]
    fn reading_survives_cuts_and_flips(cut in 0_usize..80, at in 0_usize..80, bit in 0_u8..8) {
        let leader = Vote::new_committed(5, directory(1).into());
        let mut bytes = append_request(leader, Some(log_id(2, 7)), &[log_id(3, 8), log_id(3, 9)]);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
        let _ = Addressed::read(&bytes);
        prop_assert!(Addressed::read(&bytes[..cut.min(bytes.len() - 1)]).is_err());
    }
}
