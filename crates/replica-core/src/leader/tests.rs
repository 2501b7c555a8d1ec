//! One test for each rule L1 to L10, R1 and R2, as far as a leader alone shows it.

use alloc::vec;
use alloc::vec::Vec;

use log_core::{BrokerEpoch, BrokerId, EpochCache, LeaderEpoch, Offset, PartitionEpoch, Session};

use super::*;
use crate::action::{IsrProposal, LeaderAlarm, LeaveReason, PushOrder};
use crate::frames::{Ack, FollowerFrame, LeaderFrame, Lineage, Open, StreamRefusal};
use crate::testing::*;

mod unruly;

const ALL: &[BrokerId] = &[LEADER, A, B];

fn high_watermarks(actions: &[LeaderAction]) -> Vec<i64> {
    let high_watermark = |action: &LeaderAction| match action {
        LeaderAction::HighWatermark(offset) => Some(offset.0),
        _ => None,
    };
    actions.iter().filter_map(high_watermark).collect()
}

fn proposals(actions: &[LeaderAction]) -> Vec<(u64, IsrProposal)> {
    let proposal = |action: &LeaderAction| match action {
        LeaderAction::RequestIsr { attempt, proposal } => Some((*attempt, proposal.clone())),
        _ => None,
    };
    actions.iter().filter_map(proposal).collect()
}

fn members(proposal: &IsrProposal) -> Vec<BrokerId> {
    proposal.members.iter().map(|(broker, _)| *broker).collect()
}

fn closed(actions: &[LeaderAction]) -> Vec<(u64, CloseReason)> {
    let close = |action: &LeaderAction| match action {
        LeaderAction::Close { stream, reason } => Some((stream.0, *reason)),
        _ => None,
    };
    actions.iter().filter_map(close).collect()
}

fn pushes(actions: &[LeaderAction]) -> Vec<PushOrder> {
    let push = |action: &LeaderAction| match action {
        LeaderAction::Push(order) => Some(*order),
        _ => None,
    };
    actions.iter().filter_map(push).collect()
}

fn refusal(leader: &mut Leader, stream: u64, open: &Open) -> Option<StreamRefusal> {
    leader.handle_open(at(1), StreamId(stream), open, &EpochCache::new());
    leader_actions(leader).iter().find_map(|action| match action {
        LeaderAction::Send { frame: LeaderFrame::Refused { refusal, .. }, .. } => Some(*refusal),
        _ => None,
    })
}

/// A leader at 10 of ten durable records, whose followers have all of them.
fn settled() -> Leader {
    let mut leader = leader(ALL, facts(0, 10, 10, 4));
    for (stream, follower) in [(1, A), (2, B)] {
        join(&mut leader, 1, stream, follower, 10);
        pushed(&mut leader, 1, stream, 10);
        acked(&mut leader, 1, stream, 10, 10);
    }
    leader
}

/// Appends up to `end`, makes it durable here and pushes it to both.
fn append(leader: &mut Leader, now: u64, end: i64) {
    leader.handle_appended(at(now), Offset(end));
    leader.handle_durable(at(now), Offset(end));
    leader_actions(leader);
    (1..=2).for_each(|stream| pushed(leader, now, stream, end));
}

#[test]
pub(crate) fn l1_nobody_leads_before_its_own_registration_is_applied() {
    let start = leader_start(view(ALL), facts(0, 0, 0, -1));
    let lead = |start: LeaderStart| Leader::new(at(0), start).map(|_| ());
    assert_eq!(lead(LeaderStart { own_epoch: None, ..start.clone() }), Err(NotLeading::NotRegistered));
    let other = LeaderStart { own_epoch: Some(BrokerEpoch(11)), ..start.clone() };
    let (own, applied) = (BrokerEpoch(11), BrokerEpoch(10));
    assert_eq!(lead(other), Err(NotLeading::OtherRegistration { own, applied }));
    let fenced = changed(view(ALL), |view| replica_mut(view, LEADER).fenced = true);
    assert_eq!(lead(LeaderStart { view: fenced, ..start.clone() }), Err(NotLeading::Fenced));
    let named = changed(view(ALL), |view| view.leader = Some(A));
    assert_eq!(
        lead(LeaderStart { view: named, ..start.clone() }),
        Err(NotLeading::NotNamed { leader: Some(A) })
    );
    assert_eq!(lead(start), Ok(()));
}

#[test]
pub(crate) fn l1_nobody_leads_while_a_cut_is_running() {
    let log = LogFacts { cutting: true, ..facts(0, 0, 9, 4) };
    let refused = Leader::new(at(0), leader_start(view(ALL), log)).map(|_| ());
    assert_eq!(refused, Err(NotLeading::Cutting));
}

#[test]
pub(crate) fn l1_a_new_registration_of_its_own_ends_the_leadership() {
    let mut leader = settled();
    leader.handle_view(
        at(2),
        changed(view(ALL), |view| replica_mut(view, LEADER).broker_epoch = BrokerEpoch(30)),
    );
    assert!(!leader.is_leading());
}

#[test]
pub(crate) fn l1_unknown_ends_hold_the_high_watermark() {
    let mut leader = leader(ALL, facts(0, 4, 10, 4));
    assert_eq!(leader.epoch_start(), Offset(10));
    join(&mut leader, 1, 1, A, 10);
    assert_eq!(high_watermarks(&acked(&mut leader, 1, 1, 10, 10)), [] as [i64; 0], "B is unknown");
    join(&mut leader, 1, 2, B, 10);
    assert_eq!(high_watermarks(&acked(&mut leader, 1, 2, 10, 10)), [10]);
}

#[test]
pub(crate) fn l2_the_high_watermark_is_the_smallest_durable_end_the_own_included() {
    let mut leader = settled();
    leader.handle_appended(at(2), Offset(20));
    leader_actions(&mut leader);
    (1..=2).for_each(|stream| pushed(&mut leader, 2, stream, 20));
    assert_eq!(high_watermarks(&acked(&mut leader, 2, 1, 20, 18)), [] as [i64; 0]);
    assert_eq!(high_watermarks(&acked(&mut leader, 2, 2, 20, 15)), [] as [i64; 0], "own end is not durable");
    leader.handle_durable(at(3), Offset(14));
    assert_eq!(high_watermarks(&leader_actions(&mut leader)), [14]);
    leader.handle_durable(at(3), Offset(20));
    assert_eq!(high_watermarks(&leader_actions(&mut leader)), [15]);
    assert_eq!(high_watermarks(&acked(&mut leader, 4, 2, 20, 20)), [18]);
}

#[test]
pub(crate) fn l2_the_high_watermark_stands_below_min_isr_and_suspects_do_not_count() {
    for suspect in [false, true] {
        let isr: &[BrokerId] = if suspect { &[LEADER, A] } else { &[LEADER] };
        let view = changed(view(isr), |view| replica_mut(view, A).suspect = suspect);
        let mut leader = Leader::new(at(0), leader_start(view, facts(0, 10, 10, 4))).unwrap();
        join(&mut leader, 1, 1, A, 10);
        acked(&mut leader, 1, 1, 10, 10);
        append(&mut leader, 2, 12);
        assert_eq!(high_watermarks(&acked(&mut leader, 3, 1, 12, 12)), [] as [i64; 0], "suspect {suspect}");
        assert!(!leader.accepts_acks_all());
    }
}

#[test]
pub(crate) fn l3_acks_all_is_refused_below_min_isr_and_nothing_appended() {
    assert!(leader(&[LEADER, A], facts(0, 10, 10, 4)).accepts_acks_all());
    assert!(!leader(&[LEADER], facts(0, 10, 10, 4)).accepts_acks_all());
}

#[test]
pub(crate) fn l4_entry_needs_the_durable_end_at_the_high_watermark_and_the_epoch_start() {
    let mut leader = leader(&[LEADER, A], facts(0, 6, 10, 4));
    join(&mut leader, 1, 2, B, 5);
    pushed(&mut leader, 1, 2, 10);
    assert_eq!(proposals(&acked(&mut leader, 1, 2, 10, 5)), [], "written is not durable");
    assert_eq!(proposals(&acked(&mut leader, 1, 2, 10, 6)), [], "the epoch start is 10");
    let proposed = proposals(&acked(&mut leader, 1, 2, 10, 10));
    assert_eq!(members(&proposed[0].1), ALL);
    assert_eq!(proposed[0].1.partition_epoch, PartitionEpoch(20));
    assert_eq!(proposed[0].1.proven, [LEADER, B], "A has not acknowledged anything");
}

#[test]
pub(crate) fn l4_nobody_unfit_is_proposed() {
    let unfit: [fn(&mut crate::view::ReplicaView); 3] =
        [|b| b.fenced = true, |b| b.shutting_down = true, |b| b.faulty = true];
    for change in unfit {
        let view = changed(view(&[LEADER, A]), |view| change(replica_mut(view, B)));
        let mut leader = Leader::new(at(0), leader_start(view, facts(0, 10, 10, 4))).unwrap();
        join(&mut leader, 1, 2, B, 10);
        assert_eq!(proposals(&acked(&mut leader, 1, 2, 10, 10)), []);
    }
}

#[test]
pub(crate) fn l4_from_the_request_on_the_addition_counts_in_the_maximal_isr() {
    let mut leader = leader(&[LEADER, A], facts(0, 10, 10, 4));
    join(&mut leader, 1, 1, A, 10);
    acked(&mut leader, 1, 1, 10, 10);
    join(&mut leader, 1, 2, B, 10);
    assert_eq!(proposals(&acked(&mut leader, 1, 2, 10, 10)).len(), 1);
    append(&mut leader, 2, 20);
    assert_eq!(high_watermarks(&acked(&mut leader, 2, 1, 20, 20)), [] as [i64; 0], "B counts already");
    assert_eq!(high_watermarks(&acked(&mut leader, 2, 2, 20, 17)), [17]);
}

#[test]
pub(crate) fn l4_ends_of_an_earlier_session_prove_nothing() {
    let mut leader = leader(&[LEADER, A], facts(0, 10, 10, 4));
    leader.handle_view(at(0), changed(view(&[LEADER, A]), |view| replica_mut(view, B).fenced = true));
    join(&mut leader, 1, 2, B, 10);
    acked(&mut leader, 1, 2, 10, 10);
    leader.handle_open(at(2), StreamId(3), &open(B, 2, -1, 0), &EpochCache::new());
    leader.handle_from(at(2), StreamId(3), Session(2), Offset(0), CREDIT);
    leader.handle_view(at(3), view(&[LEADER, A]));
    assert_eq!(leader.durable_end_of(B), None);
    assert_eq!(proposals(&leader_actions(&mut leader)), []);
}

#[test]
pub(crate) fn l5_lag_of_the_durable_end_costs_the_seat() {
    let mut leader = settled();
    append(&mut leader, 1_000, 20);
    acked(&mut leader, 1_000, 1, 20, 20);
    acked(&mut leader, 1_000, 2, 20, 10);
    assert_eq!(leader.poll_timeout(), Some(at(11_000)));
    leader.handle_timeout(at(11_000));
    let proposed = proposals(&leader_actions(&mut leader));
    assert_eq!(members(&proposed[0].1), [LEADER, A]);
    assert_eq!(proposed[0].1.leaving, [(B, LeaveReason::Lagging)]);
    assert!(acked(&mut leader, 11_001, 1, 20, 20).is_empty());
    assert_eq!(leader.high_watermark(), Offset(10), "the removal is undecided: B still counts");
    let shrunk = changed(view(&[LEADER, A]), |view| view.partition_epoch = PartitionEpoch(21));
    leader.handle_view(at(11_100), shrunk);
    assert_eq!(high_watermarks(&leader_actions(&mut leader)), [20]);
}

#[test]
pub(crate) fn l5_a_leader_does_not_shrink_its_isr_by_itself() {
    let mut leader = settled();
    append(&mut leader, 1_000, 20);
    acked(&mut leader, 1_000, 1, 20, 20);
    for second in 11..40 {
        leader.handle_timeout(at(second * 1_000));
        assert_eq!(high_watermarks(&leader_actions(&mut leader)), [] as [i64; 0]);
    }
}

#[test]
pub(crate) fn l5_a_leader_whose_own_disk_lags_resigns() {
    let mut leader = settled();
    leader.handle_appended(at(1_000), Offset(20));
    leader_actions(&mut leader);
    leader.handle_timeout(at(10_999));
    assert!(!leader_actions(&mut leader).contains(&LeaderAction::Resign(ResignReason::OwnLag)));
    leader.handle_timeout(at(11_000));
    assert!(leader_actions(&mut leader).contains(&LeaderAction::Resign(ResignReason::OwnLag)));
}

/// A leader of two that asked for B's addition, and the request.
fn asked() -> (Leader, IsrProposal) {
    let mut leader = leader(&[LEADER, A], facts(0, 10, 10, 4));
    join(&mut leader, 1, 1, A, 10);
    acked(&mut leader, 1, 1, 10, 10);
    join(&mut leader, 1, 2, B, 10);
    let (attempt, proposal) = proposals(&acked(&mut leader, 1, 2, 10, 10)).remove(0);
    assert_eq!(attempt, 1);
    (leader, proposal)
}

/// Appends two records that A has and B has not: the high watermark must not move if B counts.
fn assert_b_counts(leader: &mut Leader, now: u64) {
    append(leader, now, 12);
    assert_eq!(high_watermarks(&acked(leader, now, 1, 12, 12)), [] as [i64; 0]);
}

#[test]
pub(crate) fn l6_a_refused_addition_counts_until_a_higher_partition_epoch_is_applied() {
    let (mut leader, first) = asked();
    leader.handle_isr_answer(at(10), EPOCH, 1, IsrAnswer::Refused);
    assert_b_counts(&mut leader, 11);
    leader.handle_timeout(at(2_000));
    let retried = proposals(&leader_actions(&mut leader));
    assert_eq!(members(&retried[0].1), [LEADER, A], "after a refusal: no change, built afresh");
    assert_eq!(retried[0].1.partition_epoch, first.partition_epoch);
    leader.handle_view(
        at(2_100),
        changed(view(&[LEADER, A]), |view| view.partition_epoch = PartitionEpoch(21)),
    );
    assert_eq!(high_watermarks(&leader_actions(&mut leader)), [12]);
}

#[test]
pub(crate) fn l6_a_lost_addition_counts_and_its_retry_is_byte_identical() {
    let (mut leader, first) = asked();
    leader.handle_isr_answer(at(10), EPOCH, 1, IsrAnswer::Unknown);
    let refenced = changed(view(&[LEADER, A]), |view| replica_mut(view, B).broker_epoch = BrokerEpoch(30));
    leader.handle_view(at(11), refenced);
    leader_actions(&mut leader);
    leader.handle_timeout(at(2_000));
    let retried = proposals(&leader_actions(&mut leader));
    assert_eq!(retried, [(2, first)], "fresh broker epochs could seat a wiped follower");
    leader.handle_appended(at(2_001), Offset(12));
    leader.handle_durable(at(2_001), Offset(12));
    leader_actions(&mut leader);
    pushed(&mut leader, 2_001, 1, 12);
    assert_eq!(high_watermarks(&acked(&mut leader, 2_002, 1, 12, 12)), [] as [i64; 0]);
}

#[test]
pub(crate) fn l6_a_positive_answer_is_only_a_hint() {
    let (mut leader, _) = asked();
    leader.handle_isr_answer(at(10), EPOCH, 1, IsrAnswer::Applied);
    assert!(leader.has_pending_proposal());
    assert_eq!(leader.view().isr, [LEADER, A]);
    leader.handle_view(at(12), changed(view(ALL), |view| view.partition_epoch = PartitionEpoch(21)));
    assert!(!leader.has_pending_proposal());
}

#[test]
pub(crate) fn l7_a_new_incarnation_makes_old_ends_unknown() {
    let mut leader = settled();
    leader.handle_view(at(5), changed(view(ALL), |view| replica_mut(view, A).broker_epoch = BrokerEpoch(30)));
    assert_eq!(closed(&leader_actions(&mut leader)), [(1, CloseReason::NotReplica)]);
    assert_eq!(leader.durable_end_of(A), None);
    append(&mut leader, 6, 12);
    assert_eq!(high_watermarks(&acked(&mut leader, 6, 2, 12, 12)), [] as [i64; 0]);
}

#[test]
pub(crate) fn l7_a_member_that_comes_back_with_less_holds_the_high_watermark() {
    let mut leader = settled();
    leader.handle_stream_closed(at(2), StreamId(1));
    leader.handle_open(at(3), StreamId(3), &open(A, 2, 4, 7), &epochs(&[(4, 0)]));
    let actions = leader_actions(&mut leader);
    let (member, end, high_watermark) = (A, Offset(7), Offset(10));
    assert!(actions.contains(&LeaderAction::Alarm(LeaderAlarm::MemberBehind {
        member,
        end,
        high_watermark
    })));
    assert_eq!(proposals(&actions)[0].1.leaving, [(A, LeaveReason::Behind)]);
    leader.handle_from(at(4), StreamId(3), Session(2), Offset(7), CREDIT);
    leader.handle_appended(at(4), Offset(12));
    leader.handle_durable(at(4), Offset(12));
    leader_actions(&mut leader);
    leader.handle_pushed(at(4), StreamId(3), Offset(12), 100);
    pushed(&mut leader, 4, 2, 12);
    acked(&mut leader, 4, 2, 12, 12);
    leader.handle_ack(at(5), StreamId(3), &ack(2, 12, 12));
    assert_eq!(
        high_watermarks(&leader_actions(&mut leader)),
        [] as [i64; 0],
        "held until the removal is applied"
    );
    leader.handle_view(at(6), changed(view(&[LEADER, B]), |view| view.partition_epoch = PartitionEpoch(21)));
    let actions = leader_actions(&mut leader);
    assert_eq!(high_watermarks(&actions), [12]);
    assert_eq!(
        members(&proposals(&actions)[0].1),
        ALL,
        "it has caught up, and says so no more while nothing is appended"
    );
}

#[test]
pub(crate) fn l8_a_moved_high_watermark_goes_out_at_once_on_idle_streams() {
    let mut leader = settled();
    append(&mut leader, 2, 12);
    acked(&mut leader, 3, 1, 12, 12);
    let told = pushes(&acked(&mut leader, 3, 2, 12, 12));
    let expected = |order: &PushOrder| (order.stream.0, order.push.high_watermark, order.max_bytes);
    assert_eq!(told.iter().map(expected).collect::<Vec<_>>(), [(1, Offset(12), 0), (2, Offset(12), 0)]);
    leader.handle_pushed(at(4), StreamId(1), Offset(12), 0);
    assert_eq!(leader_actions(&mut leader), [], "told once");
}

#[test]
pub(crate) fn l9_the_log_start_is_pushed_and_ends_streams_below_it() {
    let mut leader = settled();
    leader.handle_stream_closed(at(2), StreamId(2));
    leader.handle_view(at(2), changed(view(&[LEADER, A]), |view| view.partition_epoch = PartitionEpoch(21)));
    join_again(&mut leader, 3, 4);
    leader.handle_log_start(at(4), Offset(8), Some(Offset(8)));
    let actions = leader_actions(&mut leader);
    assert_eq!(closed(&actions), [(4, CloseReason::BelowLogStart)]);
    let told: Vec<_> = pushes(&actions).iter().map(|order| (order.stream.0, order.push.log_start)).collect();
    assert_eq!(told, [(1, Offset(8))]);
}

#[test]
fn l9_a_stream_goes_on_with_the_batch_that_holds_the_log_start() {
    let mut leader = settled();
    leader.handle_stream_closed(at(2), StreamId(2));
    leader.handle_view(at(2), changed(view(&[LEADER, A]), |view| view.partition_epoch = PartitionEpoch(21)));
    join_again(&mut leader, 3, 4);
    // B has a batch that ends at 3, the next one holds 3 to 9.
    leader.handle_log_start(at(4), Offset(8), Some(Offset(3)));
    assert_eq!(closed(&leader_actions(&mut leader)), []);
    // Whoever begins anew begins with a whole batch, and what is of no epoch that the leader knows goes up to there.
    leader.handle_open(at(5), StreamId(5), &open(B, 3, 2, 2), &epochs(&[(4, 8)]));
    let told = leader_actions(&mut leader).into_iter().find_map(|action| match action {
        LeaderAction::Send { frame: LeaderFrame::Lineage(told), .. } => Some((told.end, told.log_start)),
        _ => None,
    });
    assert_eq!(told, Some((Offset(3), Offset(3))));
}

/// B comes back as session 2 on stream `stream`, with a log that ends at 3.
fn join_again(leader: &mut Leader, now: u64, stream: u64) {
    leader.handle_open(at(now), StreamId(stream), &open(B, 2, 4, 3), &epochs(&[(4, 0)]));
    leader.handle_from(at(now), StreamId(stream), Session(2), Offset(3), CREDIT);
    leader_actions(leader);
    leader.handle_pushed(at(now), StreamId(stream), Offset(4), 10);
}

#[test]
pub(crate) fn l10_leaving_an_epoch_closes_all_streams_before_anything_else() {
    let mut leader = settled();
    leader.handle_appended(at(2), Offset(20));
    let next = changed(view(ALL), |view| (view.leader, view.leader_epoch) = (Some(A), LeaderEpoch(6)));
    leader.handle_view(at(3), next);
    let closes = [1, 2].map(|stream| (stream, CloseReason::EpochLeft));
    let actions = leader_actions(&mut leader);
    assert_eq!(closed(&actions), closes);
    assert_eq!(actions.len(), 2, "nothing but closes: {actions:?}");
    leader.handle_pushed(at(4), StreamId(1), Offset(20), 100);
    leader.handle_ack(at(4), StreamId(1), &ack(1, 20, 20));
    assert_eq!(leader_actions(&mut leader), []);
    assert_eq!(refusal(&mut leader, 9, &open(A, 5, 4, 10)), Some(StreamRefusal::NotLeader));
}

#[test]
pub(crate) fn r1_reads_between_high_watermark_and_end_wait_and_latest_is_not_early() {
    let mut leader = leader(ALL, facts(3, 6, 10, 4));
    let bounds = [2, 3, 6, 10, 11].map(|offset| leader.read_bound(Offset(offset)));
    let upto = ReadBound::Upto(Offset(6));
    assert_eq!(bounds, [ReadBound::Deleting, upto, ReadBound::Wait, ReadBound::Wait, ReadBound::Beyond]);
    assert_eq!(leader.latest_offset(), None, "the epoch start is 10");
    for (stream, follower) in [(1, A), (2, B)] {
        join(&mut leader, 1, stream, follower, 10);
        acked(&mut leader, 1, stream, 10, 10);
    }
    assert_eq!(leader.latest_offset(), Some(Offset(10)));
}

#[test]
pub(crate) fn r2_a_client_of_another_leadership_is_told_so() {
    let leader = settled();
    assert_eq!(leader.check_client_epoch(Some(LeaderEpoch(4))), Err(ClientEpochRefusal::Fenced));
    assert_eq!(leader.check_client_epoch(Some(LeaderEpoch(6))), Err(ClientEpochRefusal::Unknown));
    assert_eq!(leader.check_client_epoch(Some(EPOCH)), Ok(()));
    assert_eq!(leader.check_client_epoch(None), Ok(()));
}

#[test]
pub(crate) fn s2_a_stream_of_another_epoch_topic_or_registration_is_refused() {
    let mut leader = settled();
    let good = open(A, 9, 4, 10);
    let cases = [
        (Open { leader_epoch: LeaderEpoch(4), ..good }, StreamRefusal::OldEpoch),
        (Open { leader_epoch: LeaderEpoch(6), ..good }, StreamRefusal::NewEpoch),
        (Open { follower: BrokerId(9), ..good }, StreamRefusal::NotReplica),
        (Open { broker_epoch: BrokerEpoch(9), ..good }, StreamRefusal::OldBrokerEpoch),
        (Open { broker_epoch: BrokerEpoch(11), ..good }, StreamRefusal::NotYet),
    ];
    for (number, (open, expected)) in cases.into_iter().enumerate() {
        let stream = 50 + u64::try_from(number).unwrap();
        assert_eq!(refusal(&mut leader, stream, &open), Some(expected));
    }
    let mut other_topic = good;
    other_topic.partition.topic_id = log_core::TopicId([8; 16]);
    assert_eq!(refusal(&mut leader, 70, &other_topic), Some(StreamRefusal::OtherTopic));
    assert_eq!(refusal(&mut leader, 71, &good), None);
}

#[test]
pub(crate) fn s3_the_leader_answers_the_largest_epoch_not_above_the_one_asked() {
    let mut leader = leader(ALL, facts(2, 6, 30, 5));
    let cache = epochs(&[(2, 2), (4, 10), (5, 20)]);
    let asked = [
        (1, Some(1), 2),
        (2, Some(2), 10),
        (3, Some(2), 10),
        (4, Some(4), 20),
        (5, Some(5), 30),
        (-1, None, 2),
    ];
    for (number, (asked, epoch, end)) in asked.into_iter().enumerate() {
        let (stream, session) = (StreamId(number as u64), number as u64 + 1);
        leader.handle_open(at(1), stream, &open(A, session, asked, 6), &cache);
        let (session, log_start) = (Session(session), Offset(2));
        let lineage = Lineage { session, epoch: epoch.map(LeaderEpoch), end: Offset(end), log_start };
        let frame = LeaderFrame::Lineage(lineage);
        let actions = leader_actions(&mut leader);
        assert!(actions.contains(&LeaderAction::Send { stream, frame }), "asked {asked}: {actions:?}");
    }
}

#[test]
pub(crate) fn s4_nothing_of_an_older_session_is_applied() {
    let mut leader = settled();
    append(&mut leader, 2, 20);
    leader.handle_open(at(3), StreamId(3), &open(A, 2, 4, 10), &epochs(&[(4, 0)]));
    assert_eq!(closed(&leader_actions(&mut leader)), [(1, CloseReason::Replaced)]);
    leader.handle_ack(at(3), StreamId(1), &ack(1, 20, 20));
    assert_eq!(leader.durable_end_of(A), None, "the old stream");
    leader.handle_from(at(3), StreamId(3), Session(2), Offset(10), CREDIT);
    leader.handle_ack(at(3), StreamId(3), &ack(1, 10, 10));
    assert_eq!(leader.durable_end_of(A), None, "the old session on the new stream");
    let stale = open(A, 2, 4, 10);
    leader.handle_open(at(4), StreamId(4), &stale, &EpochCache::new());
    assert!(closed(&leader_actions(&mut leader)).contains(&(4, CloseReason::Replaced)));
}

#[test]
pub(crate) fn s6_a_stream_is_a_cursor_and_pushes_as_far_as_credit_goes() {
    let mut leader = leader(&[LEADER], facts(0, 0, 100, 4));
    let (stream, none) = (StreamId(1), EpochCache::new());
    leader.handle_open(at(1), stream, &open(A, 1, -1, 0), &none);
    leader.handle_from(at(1), stream, Session(1), Offset(0), 1_000);
    let first = pushes(&leader_actions(&mut leader));
    assert_eq!((first[0].push.base_offset, first[0].max_bytes), (Offset(0), 1_000));
    leader.handle_appended(at(2), Offset(200));
    assert_eq!(leader_actions(&mut leader), [], "one push at a time");
    leader.handle_pushed(at(2), stream, Offset(60), 1_200);
    assert_eq!(leader_actions(&mut leader), [], "a batch may pass the credit, then it is used up");
    let ack = Ack { credit: 2_200, ..ack(1, 60, 60) };
    leader.handle_frame(at(3), stream, &FollowerFrame::Ack(ack), &none);
    let second = pushes(&leader_actions(&mut leader));
    assert_eq!((second[0].push.base_offset, second[0].max_bytes), (Offset(60), 1_000));
}

#[test]
pub(crate) fn s6_one_slow_follower_holds_no_other() {
    let mut leader = leader(&[LEADER], facts(0, 0, 100, 4));
    leader.handle_open(at(1), StreamId(1), &open(A, 1, -1, 0), &EpochCache::new());
    leader.handle_from(at(1), StreamId(1), Session(1), Offset(0), 0);
    leader_actions(&mut leader);
    leader.handle_pushed(at(1), StreamId(1), Offset(0), 0);
    assert_eq!(pushes(&join(&mut leader, 1, 2, B, 0))[0].stream, StreamId(2));
}

#[test]
pub(crate) fn s6_a_push_that_cannot_be_read_ends_its_stream() {
    let mut leader = leader(&[LEADER], facts(0, 0, 100, 4));
    let order = pushes(&join(&mut leader, 1, 1, A, 0))[0];
    leader.handle_pushed(at(2), order.stream, order.push.base_offset, 0);
    assert_eq!(
        leader_actions(&mut leader),
        [LeaderAction::Close { stream: order.stream, reason: CloseReason::Faulty }]
    );
}

#[test]
pub(crate) fn h9_a_replica_that_was_removed_is_forgotten() {
    let mut leader = settled();
    let removed = changed(view(&[LEADER, B]), |view| {
        view.partition_epoch = PartitionEpoch(21);
        view.replicas.retain(|replica| replica.broker != A);
    });
    leader.handle_view(at(2), removed);
    assert_eq!(closed(&leader_actions(&mut leader)), [(1, CloseReason::NotReplica)]);
    leader.handle_view(at(3), changed(view(&[LEADER, B]), |view| view.partition_epoch = PartitionEpoch(22)));
    assert_eq!(leader.durable_end_of(A), None);
}

#[test]
pub(crate) fn c5_a_suspect_member_that_caught_up_is_proven_by_a_proposal() {
    let suspect = changed(view(ALL), |view| replica_mut(view, A).suspect = true);
    let mut leader = Leader::new(at(0), leader_start(suspect, facts(0, 10, 10, 4))).unwrap();
    join(&mut leader, 1, 1, A, 10);
    let proposed = proposals(&acked(&mut leader, 1, 1, 10, 10));
    assert_eq!((members(&proposed[0].1), &proposed[0].1.proven[..]), (ALL.to_vec(), &[LEADER, A][..]));
}

#[test]
pub(crate) fn d4_a_follower_that_refuses_a_cut_has_the_leader_scrubbed() {
    let mut leader = settled();
    let (high_watermark, cut_to) = (Offset(10), Offset(4));
    let conflict = FollowerFrame::Conflict { session: Session(1), high_watermark, cut_to };
    leader.handle_frame(at(2), StreamId(1), &conflict, &EpochCache::new());
    let actions = leader_actions(&mut leader);
    assert!(actions.contains(&LeaderAction::ScrubBelowHighWatermark { follower: A }));
    assert!(actions.contains(&LeaderAction::Alarm(LeaderAlarm::Conflict {
        follower: A,
        high_watermark,
        cut_to
    })));
    assert_eq!(closed(&actions), [(1, CloseReason::Conflict)]);
}

#[test]
pub(crate) fn an_idle_partition_needs_no_timer() {
    assert_eq!(settled().poll_timeout(), None);
}
