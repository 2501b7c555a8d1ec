//! Section 4 from the follower's side, a rule a test.

use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use log_core::{EpochCache, LeaderEpoch, Offset, PartitionEpoch};

use super::*;
use crate::error::PushFault;
use crate::frames::{Ack, LeaderFrame, Lineage, StreamRefusal};
use crate::testing::*;

const ISR: &[BrokerId] = &[LEADER, A];
const STREAM: StreamId = StreamId(7);

/// A follower in session 1 on stream 7 that has said Open, in a log with these epochs.
fn opened(isr: &[BrokerId], log: LogFacts) -> Follower {
    let mut follower = Follower::new(at(0), follower_start(view(isr), log));
    let connect = FollowerAction::Connect { leader: LEADER, session: Session(1) };
    assert_eq!(follower_actions(&mut follower), [connect]);
    follower.handle_connected(at(1), Session(1), STREAM);
    follower
}

fn answer(
    follower: &mut Follower,
    epoch: i32,
    end: i64,
    log_start: i64,
    cache: &EpochCache,
) -> Vec<FollowerAction> {
    let epoch = (epoch >= 0).then_some(LeaderEpoch(epoch));
    let (session, end, log_start) = (follower.session(), Offset(end), Offset(log_start));
    let stream = follower.stream().unwrap();
    follower_actions(follower);
    follower.handle_frame(
        at(2),
        stream,
        LeaderFrame::Lineage(Lineage { session, epoch, end, log_start }),
        cache,
    );
    follower_actions(follower)
}

/// A follower that streams from 10 on, high watermark 6.
fn streaming() -> Follower {
    let mut follower = opened(ISR, facts(2, 6, 10, 4));
    answer(&mut follower, 4, 30, 0, &epochs(&[(4, 2)]));
    assert!(follower.is_streaming());
    follower
}

fn pushed(follower: &mut Follower, base: i64, high_watermark: i64, batches: Bytes) -> Vec<FollowerAction> {
    let frame = push_frame(push(1, base, high_watermark, 0), batches);
    follower.handle_frame(at(3), STREAM, frame, &EpochCache::new());
    follower_actions(follower)
}

fn appended(batches: Bytes) -> FollowerAction {
    FollowerAction::Append { batches, stream_epoch: EPOCH }
}

fn closes(actions: &[FollowerAction], expected: CloseReason) -> bool {
    actions.iter().any(|action| matches!(action, FollowerAction::Close { reason, .. } if *reason == expected))
}

#[test]
pub(crate) fn s1_open_says_who_it_is_and_where_its_log_ends() {
    let mut follower = opened(ISR, facts(0, 4, 9, 4));
    assert_eq!(sent(&follower_actions(&mut follower)), [FollowerFrame::Open(open(A, 1, 4, 9))]);
    let mut empty = opened(ISR, facts(0, 0, 0, -1));
    assert_eq!(sent(&follower_actions(&mut empty)), [FollowerFrame::Open(open(A, 1, -1, 0))]);
}

#[test]
pub(crate) fn s1_nobody_is_followed_before_the_own_registration_is_applied() {
    let start = FollowerStart { own_epoch: None, ..follower_start(view(ISR), facts(0, 0, 0, -1)) };
    let mut follower = Follower::new(at(0), start);
    assert_eq!(follower_actions(&mut follower), []);
    follower.handle_registered(at(1), BrokerEpoch(9));
    assert_eq!(follower_actions(&mut follower), [], "not the applied one");
    follower.handle_registered(at(1), BrokerEpoch(10));
    assert_eq!(
        follower_actions(&mut follower),
        [FollowerAction::Connect { leader: LEADER, session: Session(1) }]
    );
}

#[test]
pub(crate) fn s2_a_refusal_is_followed_by_growing_pauses() {
    let mut follower = opened(ISR, facts(0, 0, 0, -1));
    let mut pauses = vec![];
    for session in 1..8 {
        let now = at(1_000 * session);
        let (session, refusal) = (follower.session(), StreamRefusal::NotYet);
        let stream = follower.stream().unwrap();
        follower.handle_frame(now, stream, LeaderFrame::Refused { session, refusal }, &EpochCache::new());
        assert!(closes(&follower_actions(&mut follower), CloseReason::Refused));
        let until = follower.poll_timeout().unwrap();
        pauses.push(until.since(now));
        follower.handle_timeout(until);
        assert_eq!(follower.session(), Session(session.0 + 1), "sessions grow");
        follower_actions(&mut follower);
        follower.handle_connected(until, follower.session(), StreamId(stream.0 + 1));
    }
    assert!(pauses[6] > pauses[0] * 8, "{pauses:?}");
}

#[test]
pub(crate) fn s2_a_new_view_ends_a_pause_and_an_old_epochs_stream() {
    let mut follower = streaming();
    let next = changed(view(ISR), |view| (view.leader, view.leader_epoch) = (Some(B), LeaderEpoch(6)));
    follower.handle_view(at(4), next.clone());
    let close = FollowerAction::Close { stream: STREAM, reason: CloseReason::EpochLeft };
    let connect = |session| FollowerAction::Connect { leader: B, session: Session(session) };
    assert_eq!(follower_actions(&mut follower), [close, connect(2)]);
    follower.handle_connect_failed(at(5), Session(2));
    assert!(follower.poll_timeout().is_some());
    follower.handle_view(at(5), changed(next, |view| view.partition_epoch = PartitionEpoch(22)));
    assert_eq!(follower_actions(&mut follower), [connect(3)]);
}

#[test]
pub(crate) fn s3_the_cut_is_at_the_smaller_of_both_ends() {
    for (own_end_of_epoch, leader_end, expected) in [(20, 15, 15), (15, 20, 15)] {
        let cache = epochs(&[(3, 0), (4, own_end_of_epoch)]);
        let mut follower = opened(ISR, facts(0, 6, 40, 4));
        let actions = answer(&mut follower, 3, leader_end, 0, &cache);
        assert_eq!(actions, [FollowerAction::Cut { to: Offset(expected) }]);
        follower.handle_cut_finished(at(3), facts(0, 6, expected, 3));
        let (session, offset, credit) = (Session(1), Offset(expected), Settings::default().window_bytes);
        let said = sent(&follower_actions(&mut follower));
        assert_eq!(said[0], FollowerFrame::From { session, offset, credit });
    }
}

#[test]
pub(crate) fn s3_an_unknown_epoch_is_answered_by_the_own_largest_below() {
    let mut follower = opened(ISR, facts(0, 6, 40, 7));
    let cache = epochs(&[(2, 0), (4, 10), (7, 20)]);
    let asks = answer(&mut follower, 5, 30, 0, &cache);
    assert_eq!(sent(&asks), [FollowerFrame::Ask { session: Session(1), epoch: LeaderEpoch(4) }]);
    let actions = answer(&mut follower, 4, 18, 0, &cache);
    assert_eq!(actions, [FollowerAction::Cut { to: Offset(18) }]);
}

#[test]
pub(crate) fn s3_a_log_below_the_leaders_end_is_not_cut() {
    let mut follower = opened(ISR, facts(0, 6, 10, 4));
    let actions = answer(&mut follower, 4, 30, 0, &epochs(&[(4, 0)]));
    assert!(matches!(sent(&actions)[0], FollowerFrame::From { offset: Offset(10), .. }));
}

#[test]
pub(crate) fn s3_a_log_whose_epochs_the_leader_has_deleted_is_cut_at_the_leaders_start() {
    let mut follower = opened(ISR, facts(100, 150, 300, 5));
    let actions = answer(&mut follower, 5, 200, 200, &epochs(&[(5, 100)]));
    assert_eq!(actions, [FollowerAction::Cut { to: Offset(200) }]);
}

#[test]
pub(crate) fn s3_a_cut_outlives_its_stream_and_no_other_is_opened_before_it_ends() {
    let mut follower = opened(ISR, facts(0, 6, 40, 4));
    answer(&mut follower, 4, 20, 0, &epochs(&[(4, 0)]));
    follower.handle_closed(at(3), STREAM);
    follower.handle_view(at(4), changed(view(ISR), |view| view.leader_epoch = LeaderEpoch(6)));
    assert_eq!((follower_actions(&mut follower), follower.poll_timeout()), (vec![], None));
    follower.handle_cut_finished(at(5), facts(0, 6, 20, 4));
    assert_eq!(
        follower_actions(&mut follower),
        [FollowerAction::Connect { leader: LEADER, session: Session(2) }]
    );
}

/// ADR 0013: the leader deleted all that it had of the epochs that both know.
#[test]
fn s4_an_agreement_below_the_leaders_start_vouches_for_nothing_without_a_seat() {
    for (isr, expected) in [
        (ISR, FollowerAction::Cut { to: Offset(8) }),
        (&[LEADER][..], FollowerAction::DropAll { start_at: Offset(8) }),
    ] {
        let mut follower = opened(isr, facts(0, 6, 10, 4));
        assert_eq!(answer(&mut follower, 4, 8, 8, &epochs(&[(4, 0)])), [expected]);
    }
    // Nothing is dropped twice: what begins where the leader's log begins follows it.
    let mut anew = opened(&[LEADER], facts(8, 8, 8, -1));
    answer(&mut anew, 4, 8, 8, &EpochCache::new());
    assert!(anew.is_streaming());
}

#[test]
pub(crate) fn s4_below_the_leaders_start_it_drops_all_only_without_a_seat() {
    let mut seated = opened(ISR, facts(0, 6, 10, 4));
    let actions = answer(&mut seated, 4, 30, 20, &epochs(&[(4, 0)]));
    let log_start = Offset(20);
    assert!(closes(&actions, CloseReason::BelowLogStart));

    let mut eligible = opened(&[LEADER], facts(0, 6, 10, 4));
    eligible.view.elr.push(A);
    let actions = answer(&mut eligible, 4, 30, 20, &epochs(&[(4, 0)]));
    assert!(closes(&actions, CloseReason::BelowLogStart), "an ELR member keeps its log");
    assert!(!actions.contains(&FollowerAction::GiveUpSeat));

    let mut outside = opened(&[LEADER], facts(0, 6, 10, 4));
    let actions = answer(&mut outside, 4, 30, 20, &epochs(&[(4, 0)]));
    assert_eq!(actions, [FollowerAction::DropAll { start_at: log_start }]);
    outside.handle_cut_finished(at(3), facts(20, 20, 20, -1));
    let said = sent(&follower_actions(&mut outside));
    assert!(matches!(said[0], FollowerFrame::From { offset: Offset(20), .. }));
}

#[test]
fn a_suspect_member_of_the_elr_that_is_below_the_leaders_start_gives_up_its_seat() {
    for (isr, elr, gives_up) in [(&[LEADER][..], &[A][..], true), (ISR, &[], false)] {
        let mut follower = opened(isr, facts(0, 6, 10, 4));
        follower.view.elr = elr.to_vec();
        replica_mut(&mut follower.view, A).suspect = true;
        let actions = answer(&mut follower, 4, 30, 20, &epochs(&[(4, 0)]));
        assert_eq!(actions.contains(&FollowerAction::GiveUpSeat), gives_up, "{isr:?}");
        assert!(closes(&actions, CloseReason::BelowLogStart));
    }
}

#[test]
pub(crate) fn d4_a_cut_below_the_own_high_watermark_is_refused_as_a_conflict() {
    let mut follower = opened(ISR, facts(0, 16, 40, 4));
    let actions = answer(&mut follower, 4, 15, 0, &epochs(&[(4, 0)]));
    let (high_watermark, cut_to) = (Offset(16), Offset(15));
    let alarm = FollowerAlarm::Conflict { leader: LEADER, high_watermark, cut_to };
    assert!(actions.contains(&FollowerAction::Alarm(alarm)));
    assert_eq!(sent(&actions), [FollowerFrame::Conflict { session: Session(1), high_watermark, cut_to }]);
    assert!(closes(&actions, CloseReason::Conflict));
    assert_eq!(follower.log.appended_end, Offset(40), "data is kept");
    assert!(follower.poll_timeout().is_some(), "tried again later");
}

#[test]
pub(crate) fn d4_a_cut_that_the_log_refuses_is_a_conflict_too() {
    let mut follower = opened(ISR, facts(0, 6, 40, 4));
    answer(&mut follower, 4, 15, 0, &epochs(&[(4, 0)]));
    follower.handle_cut_refused(at(3), Offset(15));
    let actions = follower_actions(&mut follower);
    assert!(closes(&actions, CloseReason::Conflict), "{actions:?}");
}

#[test]
pub(crate) fn s5_batches_are_appended_and_then_the_high_watermark_taken() {
    let mut follower = streaming();
    let batches = Bytes::from([batch(10, 4, 1), batch(11, 5, 2)].concat());
    assert_eq!(pushed(&mut follower, 10, 11, batches.clone())[0], appended(batches));
    follower.handle_appended(at(4), Offset(12));
    assert_eq!(follower_actions(&mut follower)[0], FollowerAction::HighWatermark(Offset(11)));
}

#[test]
pub(crate) fn s5_the_high_watermark_is_at_most_the_own_end_and_never_goes_back() {
    let mut follower = streaming();
    assert!(pushed(&mut follower, 10, 50, Bytes::new()).contains(&FollowerAction::HighWatermark(Offset(10))));
    assert!(
        !pushed(&mut follower, 10, 7, Bytes::new())
            .iter()
            .any(|a| matches!(a, FollowerAction::HighWatermark(_)))
    );
    assert_eq!(follower.high_watermark(), Offset(10));
}

#[test]
pub(crate) fn s5_no_high_watermark_is_taken_before_the_cut() {
    let mut follower = opened(ISR, facts(0, 6, 40, 4));
    let actions = pushed(&mut follower, 40, 30, Bytes::new());
    assert!(!actions.iter().any(|action| matches!(action, FollowerAction::HighWatermark(_))), "{actions:?}");
    assert_eq!(follower.high_watermark(), Offset(6));
}

fn fault_of(follower: &mut Follower, batches: Bytes) -> (PushFault, Vec<FollowerAction>) {
    let actions = pushed(follower, 10, 6, batches);
    let fault = actions.iter().find_map(|action| match action {
        FollowerAction::Alarm(FollowerAlarm::BadPush { fault, .. }) => Some(*fault),
        _ => None,
    });
    assert!(!actions.iter().any(|action| matches!(action, FollowerAction::Append { .. })), "{actions:?}");
    (fault.unwrap(), actions)
}

#[test]
pub(crate) fn s5_a_batch_of_an_epoch_above_the_streams_is_not_appended() {
    let fault = fault_of(&mut streaming(), batch(10, 6, 1)).0;
    assert_eq!(fault, PushFault::AboveStream { stream: EPOCH, found: LeaderEpoch(6) });
    let below = fault_of(&mut streaming(), batch(10, 3, 1)).0;
    assert_eq!(below, PushFault::BelowPrevious { previous: LeaderEpoch(4), found: LeaderEpoch(3) });
}

#[test]
pub(crate) fn s5_a_batch_that_does_not_continue_the_log_is_not_appended() {
    let gap = Bytes::from([batch(10, 5, 1), batch(12, 5, 2)].concat());
    let fault = fault_of(&mut streaming(), gap).0;
    assert_eq!(fault, PushFault::Gap { expected: Offset(11), found: Offset(12) });
    let mut follower = streaming();
    assert!(closes(&pushed(&mut follower, 11, 6, batch(11, 5, 1)), CloseReason::Protocol));
}

#[test]
pub(crate) fn s5_a_damaged_batch_is_reported_and_not_appended() {
    let good = batch(10, 5, 1);
    for bit in [200, 61 * 8 + 3, good.len() * 8 - 1] {
        let mut bytes = good.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (fault, actions) = fault_of(&mut streaming(), Bytes::from(bytes));
        assert!(matches!(fault, PushFault::Batch { at: Offset(10), .. }));
        assert_eq!(sent(&actions), [FollowerFrame::BadBatch { session: Session(1), offset: Offset(10) }]);
        assert!(closes(&actions, CloseReason::BadBatch));
    }
}

#[test]
pub(crate) fn s5_nothing_of_another_session_or_stream_is_applied() {
    let mut follower = streaming();
    let frame = |session| push_frame(push(session, 10, 6, 0), batch(10, 5, 1));
    follower.handle_frame(at(3), StreamId(6), frame(1), &EpochCache::new());
    follower.handle_frame(at(3), STREAM, frame(2), &EpochCache::new());
    assert_eq!(follower_actions(&mut follower), []);
    assert!(follower.is_streaming());
}

#[test]
pub(crate) fn s6_written_and_durable_ends_are_acknowledged_apart_after_each_sync() {
    let mut follower = streaming();
    let window = Settings::default().window_bytes;
    let one = batch(10, 5, 1);
    let frame = |base: i64, value| push_frame(push(1, base, 6, 0), batch(base, 5, value));
    follower.handle_frame(at(3), STREAM, frame(10, 1), &EpochCache::new());
    follower.handle_frame(at(3), STREAM, frame(11, 2), &EpochCache::new());
    while let Some(action) = follower.poll_action() {
        match action {
            FollowerAction::Append { .. } => {
                follower.handle_appended(at(3), follower.log.appended_end.plus(1))
            }
            FollowerAction::Send { frame, .. } => panic!("{frame:?}"),
            _ => {}
        }
    }
    follower.handle_durable(at(4), Offset(11));
    let durable = Ack { credit: window + one.len() as u64, ..ack(1, 12, 11) };
    assert_eq!(sent(&follower_actions(&mut follower)), [FollowerFrame::Ack(durable)]);
}

#[test]
pub(crate) fn s6_batches_beyond_the_credit_end_the_stream() {
    let mut follower = opened(ISR, facts(2, 6, 10, 4));
    follower.settings.window_bytes = 100;
    answer(&mut follower, 4, 30, 0, &epochs(&[(4, 2)]));
    let first = pushed(&mut follower, 10, 6, Bytes::from([batch(10, 5, 1), batch(11, 5, 2)].concat()));
    assert!(matches!(first[0], FollowerAction::Append { .. }), "the last batch may pass the credit");
    follower.handle_appended(at(3), Offset(12));
    follower_actions(&mut follower);
    assert!(closes(&pushed(&mut follower, 12, 6, batch(12, 5, 3)), CloseReason::Protocol));
}

#[test]
pub(crate) fn l9_a_follower_deletes_only_below_the_pushed_log_start() {
    let mut follower = streaming();
    pushed(&mut follower, 10, 10, Bytes::new());
    assert_eq!(follower.log.log_start, Offset(2), "nothing was said of deleting");
    follower.handle_frame(at(4), STREAM, push_frame(push(1, 10, 10, 8), Bytes::new()), &EpochCache::new());
    assert_eq!(follower_actions(&mut follower), [FollowerAction::LogStart(Offset(8))]);
}

#[test]
pub(crate) fn l11_a_follower_says_what_its_disk_has_deleted_and_no_more() {
    let said = |log_start| FollowerFrame::LogStart { session: Session(1), log_start: Offset(log_start) };
    let mut follower = opened(ISR, facts(2, 6, 10, 4));
    let actions = answer(&mut follower, 4, 30, 0, &epochs(&[(4, 2)]));
    assert!(sent(&actions).contains(&said(2)), "each session begins with it");
    follower.handle_frame(at(4), STREAM, push_frame(push(1, 10, 10, 8), Bytes::new()), &EpochCache::new());
    assert_eq!(sent(&follower_actions(&mut follower)), [], "it may still go back");
    follower.handle_durable_log_start(at(5), Offset(8));
    assert_eq!(sent(&follower_actions(&mut follower)), [said(8)]);
    follower.handle_durable_log_start(at(6), Offset(8));
    assert_eq!(sent(&follower_actions(&mut follower)), [], "said once");
    let lower = changed(view(ISR), |view| view.confirms_log_starts = false);
    follower.handle_view(at(7), lower);
    follower.handle_durable_log_start(at(7), Offset(9));
    assert_eq!(sent(&follower_actions(&mut follower)), [], "not every leader could read it");
}

#[test]
pub(crate) fn a_failed_append_ends_everything() {
    let mut follower = streaming();
    pushed(&mut follower, 10, 11, batch(10, 5, 1));
    follower.handle_append_failed(at(4));
    assert_eq!(
        follower_actions(&mut follower),
        [FollowerAction::Close { stream: STREAM, reason: CloseReason::Faulty }]
    );
    follower.handle_view(at(5), view(ISR));
    assert_eq!((follower_actions(&mut follower), follower.poll_timeout()), (vec![], None));
}

#[test]
pub(crate) fn a_leader_that_does_not_answer_is_left_and_asked_again() {
    let mut follower = opened(ISR, facts(0, 0, 0, -1));
    follower_actions(&mut follower);
    follower.handle_timeout(at(3_001));
    assert!(closes(&follower_actions(&mut follower), CloseReason::Lost));
    follower.handle_timeout(at(10_000));
    assert_eq!(
        follower_actions(&mut follower),
        [FollowerAction::Connect { leader: LEADER, session: Session(2) }]
    );
}

#[test]
pub(crate) fn a_stream_that_opens_too_late_is_closed() {
    let mut follower = Follower::new(at(0), follower_start(view(ISR), facts(0, 0, 0, -1)));
    follower.handle_view(at(1), changed(view(ISR), |view| view.leader_epoch = LeaderEpoch(6)));
    follower_actions(&mut follower);
    follower.handle_connected(at(2), Session(1), STREAM);
    let close = FollowerAction::Close { stream: STREAM, reason: CloseReason::Replaced };
    assert_eq!(follower_actions(&mut follower), [close]);
}
