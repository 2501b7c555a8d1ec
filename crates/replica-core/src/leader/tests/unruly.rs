//! What a leader does where a controller refuses for ever, or a follower does not keep to the protocol.

use super::*;

#[test]
fn a_refused_proposal_is_not_repeated_in_a_tight_loop() {
    let (mut leader, _) = asked();
    let (mut requests, mut attempt) = (0, 1);
    for round in 0..200_u64 {
        let now = 10 + round * 10;
        leader.handle_isr_answer(at(now), EPOCH, attempt, IsrAnswer::Refused);
        leader.handle_timeout(at(now));
        let epoch = PartitionEpoch(21 + i32::try_from(round).unwrap());
        leader.handle_view(at(now), changed(view(&[LEADER, A]), |view| view.partition_epoch = epoch));
        for (number, _) in proposals(&leader_actions(&mut leader)) {
            (requests, attempt) = (requests + 1, number);
        }
    }
    assert!(requests < 20, "{requests} proposals in two seconds");
}

#[test]
fn a_refusal_of_an_earlier_leadership_leaves_a_proposal_as_it_is() {
    let (mut leader, first) = asked();
    leader.handle_isr_answer(at(10), LeaderEpoch(EPOCH.0 - 2), 1, IsrAnswer::Refused);
    leader.handle_timeout(at(2_000));
    assert_eq!(proposals(&leader_actions(&mut leader)), [(2, first)], "a retry is the same bytes");
}

/// Frames that no follower would send end the stream and nothing else.
#[test]
fn a_follower_that_breaks_the_protocol_loses_its_stream() {
    let breaches: [FollowerFrame; 5] = [
        FollowerFrame::Ack(ack(1, 99, 10)),
        FollowerFrame::Ack(ack(1, 4, 4)),
        FollowerFrame::From { session: Session(1), offset: Offset(3), credit: 1 },
        FollowerFrame::Ask { session: Session(1), epoch: LeaderEpoch(1) },
        FollowerFrame::Open(open(A, 7, 1, 1)),
    ];
    for frame in breaches {
        let mut leader = settled();
        leader.handle_frame(at(2), StreamId(1), &frame, &EpochCache::new());
        let actions = leader_actions(&mut leader);
        assert_eq!(closed(&actions), [(1, CloseReason::Protocol)], "{frame:?}");
        assert!(actions.contains(&LeaderAction::Alarm(LeaderAlarm::Protocol { follower: A })));
        assert_eq!(vec![leader.high_watermark()], [Offset(10)]);
    }
}
