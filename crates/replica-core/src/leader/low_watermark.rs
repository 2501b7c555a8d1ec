//! L11: what is deleted for good. A log start that one replica raised may go back: after a power cut of it, or when another
//! one leads that has not heard of it. So nobody is told that records are deleted before every replica that may lead has
//! said so of its own disk.
//!
//! The law is the high watermark's (L2), for the other end of the log: the smallest durable log start of the maximal ISR,
//! the leader's own included, moved only while the committed ISR has enough members (else members of the ELR may be
//! elected, who were not asked), never back. It is not known when an epoch begins, and at most the log start that the new
//! leader has on its disk then. Whoever enters the ISR has deleted up to both (L4).

use log_core::{MonoTime, Offset, Session};

use super::Leader;
use crate::mutation::{Mutation, on};
use crate::stream::StreamId;

impl Leader {
    /// A start after a power cut would find this log start of the own log.
    pub fn handle_durable_log_start(&mut self, now: MonoTime, start: Offset) {
        self.log.durable_log_start = start;
        self.settle(now);
    }

    /// A follower says the same of its log. It may have deleted more than this leader: the one before told it to.
    pub(super) fn handle_confirmed_start(
        &mut self,
        now: MonoTime,
        stream: StreamId,
        session: Session,
        start: Offset,
    ) {
        if let Some((_, progress)) = self.session_on(stream, session) {
            if progress.cursor().is_some() {
                progress.log_start = progress.log_start.max(start);
            } else {
                self.on_protocol_breach(stream);
            }
        }
        self.settle(now);
    }

    pub(super) fn advance_low_watermark(&mut self) {
        if !self.view.has_min_isr() {
            return;
        }
        let followers = self.followers.iter().filter(|(broker, _)| {
            // At a lower feature level nobody could say so.
            self.view.confirms_log_starts && self.holds_high_watermark(**broker)
        });
        let own = self.log.durable_log_start.min(self.log.log_start);
        let smallest = followers.map(|(_, progress)| progress.log_start).fold(own, Offset::min);
        let reached = if on(Mutation::L11) { self.log.log_start } else { smallest };
        self.low_watermark = self.low_watermark.max(reached);
    }

    /// The low watermark, if its owner has not heard of it.
    pub(super) fn next_low_watermark(&mut self) -> Option<Offset> {
        if self.left || self.told_low_watermark >= self.low_watermark {
            return None;
        }
        self.told_low_watermark = self.low_watermark;
        Some(self.low_watermark)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use alloc::vec::Vec;

    use log_core::{BrokerId, PartitionEpoch};

    use super::*;
    use crate::action::LeaderAction;
    use crate::frames::FollowerFrame;
    use crate::leader::ReadBound;
    use crate::testing::*;

    const ALL: &[BrokerId] = &[LEADER, A, B];

    fn low_watermarks(leader: &mut Leader) -> Vec<i64> {
        let low_watermark = |action: LeaderAction| match action {
            LeaderAction::LowWatermark(offset) => Some(offset.0),
            _ => None,
        };
        leader_actions(leader).into_iter().filter_map(low_watermark).collect()
    }

    fn confirmed(leader: &mut Leader, stream: u64, session: u64, log_start: i64) {
        let frame = FollowerFrame::LogStart { session: Session(session), log_start: Offset(log_start) };
        leader.handle_frame(at(3), StreamId(stream), &frame, &log_core::EpochCache::new());
    }

    /// Ten committed records on all three, of which the leader has deleted five, which is on its disk.
    fn deleting(isr: &[BrokerId]) -> Leader {
        let mut leader = leader(isr, facts(0, 10, 10, 4));
        for (stream, follower) in [(1, A), (2, B)] {
            join(&mut leader, 1, stream, follower, 10);
            pushed(&mut leader, 1, stream, 10);
            acked(&mut leader, 1, stream, 10, 10);
        }
        leader.handle_log_start(at(2), Offset(5), Some(Offset(5)));
        leader.handle_durable_log_start(at(2), Offset(5));
        leader
    }

    #[test]
    pub(crate) fn l11_what_not_everyone_has_deleted_is_not_out_of_range() {
        let mut leader = deleting(ALL);
        assert_eq!(low_watermarks(&mut leader), [] as [i64; 0], "no follower has said so");
        confirmed(&mut leader, 1, 1, 5);
        assert_eq!(low_watermarks(&mut leader), [] as [i64; 0], "B has not");
        assert_eq!(leader.read_bound(Offset(4)), ReadBound::Deleting);
        confirmed(&mut leader, 2, 1, 3);
        assert_eq!(low_watermarks(&mut leader), [3], "the smallest");
        let bounds = [2, 3, 5].map(|offset| leader.read_bound(Offset(offset)));
        assert_eq!(bounds, [ReadBound::OutOfRange, ReadBound::Deleting, ReadBound::Upto(Offset(10))]);
        confirmed(&mut leader, 2, 1, 7);
        assert_eq!(low_watermarks(&mut leader), [5], "B was told more by the leader before");
    }

    #[test]
    fn l11_the_own_disk_counts() {
        let mut leader = leader(ALL, facts(0, 10, 10, 4));
        for (stream, follower) in [(1, A), (2, B)] {
            join(&mut leader, 1, stream, follower, 10);
            confirmed(&mut leader, stream, 1, 5);
        }
        leader.handle_log_start(at(2), Offset(5), Some(Offset(5)));
        assert_eq!(low_watermarks(&mut leader), [] as [i64; 0]);
        leader.handle_durable_log_start(at(3), Offset(5));
        assert_eq!(low_watermarks(&mut leader), [5]);
    }

    #[test]
    fn l11_below_min_isr_it_stands() {
        let mut leader = deleting(&[LEADER]);
        assert_eq!(low_watermarks(&mut leader), [] as [i64; 0], "a member of the ELR was not asked");
        let view = changed(view(&[LEADER]), |view| view.effective_min_isr = 1);
        let mut leader = Leader::new(at(0), leader_start(view, facts(5, 10, 10, 4))).unwrap();
        assert_eq!(low_watermarks(&mut leader), [5]);
    }

    #[test]
    pub(crate) fn l11_nobody_enters_the_isr_who_may_bring_back_what_is_deleted() {
        let proposed = |actions: &[LeaderAction]| {
            actions.iter().any(|action| matches!(action, LeaderAction::RequestIsr { .. }))
        };
        // Deleted by this leader, or by the one before.
        for first in [0, 5] {
            let mut leader = leader(&[LEADER, A], facts(first, 10, 10, 4));
            join(&mut leader, 1, 1, A, 10);
            acked(&mut leader, 1, 1, 10, 10);
            if first == 0 {
                leader.handle_log_start(at(2), Offset(5), Some(Offset(5)));
                leader.handle_durable_log_start(at(2), Offset(5));
                confirmed(&mut leader, 1, 1, 5);
                assert_eq!(low_watermarks(&mut leader), [5]);
            }
            join(&mut leader, 3, 2, B, 10);
            assert!(!proposed(&acked(&mut leader, 3, 2, 10, 10)), "it has what is gone");
            confirmed(&mut leader, 2, 1, 5);
            assert!(proposed(&leader_actions(&mut leader)));
        }
    }

    #[test]
    fn l11_an_addition_that_is_undecided_counts() {
        let mut leader = deleting(&[LEADER, A]);
        confirmed(&mut leader, 1, 1, 5);
        assert_eq!(low_watermarks(&mut leader), [] as [i64; 0], "B was proposed before anything was deleted");
        let refused = changed(view(&[LEADER, A]), |view| view.partition_epoch = PartitionEpoch(21));
        leader.handle_view(at(4), refused);
        assert_eq!(low_watermarks(&mut leader), [5]);
    }

    #[test]
    fn l11_a_log_start_of_another_session_is_not_believed() {
        let mut leader = deleting(ALL);
        confirmed(&mut leader, 1, 1, 5);
        leader_actions(&mut leader);
        leader.handle_open(at(4), StreamId(3), &open(A, 2, 4, 10), &epochs(&[(4, 0)]));
        leader.handle_from(at(4), StreamId(3), Session(2), Offset(10), CREDIT);
        confirmed(&mut leader, 2, 1, 5);
        assert_eq!(low_watermarks(&mut leader), [] as [i64; 0], "A may have lost its disk meanwhile");
        confirmed(&mut leader, 3, 2, 5);
        assert_eq!(low_watermarks(&mut leader), [5]);
    }

    #[test]
    fn l11_at_a_lower_feature_level_the_own_disk_is_all_that_is_asked() {
        let view = changed(view(ALL), |view| view.confirms_log_starts = false);
        let mut leader = Leader::new(at(0), leader_start(view, facts(5, 10, 10, 4))).unwrap();
        assert_eq!(low_watermarks(&mut leader), [5]);
    }
}
