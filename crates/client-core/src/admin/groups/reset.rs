//! Where positions go when a group is reset: the arithmetic, and the questions that it needs answered first.

use super::types::{GroupReset, ResetTo};
use crate::admin::{CommittedOffset, OffsetSpec, PartitionOffset};
use crate::error::{CallerProblem, ClientError, Place};
use std::sync::Arc;

type Answer = Result<PartitionOffset, ClientError>;

impl ResetTo {
    /// What has to be asked of each partition: where it begins and ends and, last, where a time stands in it.
    #[must_use]
    pub fn questions(self) -> Vec<OffsetSpec> {
        let ends = [OffsetSpec::Earliest, OffsetSpec::Latest];
        let time = match self {
            Self::Timestamp(at) => Some(OffsetSpec::Timestamp(at)),
            Self::Earliest | Self::Latest | Self::Offset(_) | Self::Shift(_) => None,
        };
        ends.into_iter().chain(time).collect()
    }

    /// What becomes of a partition, by the answers to its questions.
    #[must_use]
    pub fn reset(
        self,
        (topic, partition): (Arc<str>, u32),
        committed: &[CommittedOffset],
        answers: &[Answer],
    ) -> GroupReset {
        let found = committed.iter().find(|found| found.topic == topic && found.partition == partition);
        let before = found.map(|found| found.offset);
        let after = self.target(before, answers, Place::partition(&topic, partition));
        GroupReset { topic, partition, before, after }
    }

    fn target(self, before: Option<i64>, answers: &[Answer], place: Place) -> Result<i64, ClientError> {
        let answer = |index: usize| match answers.get(index) {
            Some(answer) => answer.as_ref().map(|found| found.offset).map_err(Clone::clone),
            None => Err(ClientError::Closed),
        };
        let (earliest, latest) = (answer(0)?.unwrap_or(0), answer(1)?.unwrap_or(0));
        let within = |offset: i64| offset.min(latest).max(earliest);
        Ok(match self {
            Self::Earliest => earliest,
            Self::Latest => latest,
            Self::Offset(offset) => within(offset),
            Self::Timestamp(_) => answer(2)?.map_or(latest, within),
            Self::Shift(by) => {
                let nothing = ClientError::caller(CallerProblem::NothingCommitted, place);
                within(before.ok_or(nothing)?.saturating_add(by))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(offset: Option<i64>) -> Answer {
        Ok(PartitionOffset { topic: "t".into(), partition: 3, offset, timestamp: None, leader_epoch: -1 })
    }

    /// A partition with the offsets 10 to 99 in which the group has committed `before`; a time stands at `at`.
    fn check(to: ResetTo, before: Option<i64>, at: Option<i64>, expected: i64) {
        let committed =
            before.map(|offset| CommittedOffset { topic: "t".into(), partition: 3, offset, leader_epoch: 7 });
        let other = CommittedOffset { topic: "t".into(), partition: 2, offset: 77, leader_epoch: 7 };
        let committed: Vec<_> = std::iter::once(other).chain(committed).collect();
        let answers: Vec<_> = to
            .questions()
            .into_iter()
            .map(|asked| match asked {
                OffsetSpec::Earliest => found(Some(10)),
                OffsetSpec::Latest => found(Some(100)),
                _ => found(at),
            })
            .collect();
        let reset = to.reset(("t".into(), 3), &committed, &answers);
        assert_eq!((reset.before, reset.after), (before, Ok(expected)), "{to:?}");
    }

    #[test]
    fn positions_stay_within_the_log() {
        check(ResetTo::Earliest, None, None, 10);
        check(ResetTo::Latest, Some(20), None, 100);
        check(ResetTo::Offset(50), Some(20), None, 50);
        check(ResetTo::Offset(5), Some(20), None, 10);
        check(ResetTo::Offset(500), None, None, 100);
        check(ResetTo::Shift(30), Some(20), None, 50);
        check(ResetTo::Shift(-30), Some(20), None, 10);
        check(ResetTo::Shift(i64::MAX), Some(20), None, 100);
        check(ResetTo::Shift(0), Some(5), None, 10);
    }

    #[test]
    fn a_time_after_every_record_is_the_end() {
        check(ResetTo::Timestamp(1_000), Some(20), Some(33), 33);
        check(ResetTo::Timestamp(1_000), Some(20), None, 100);
    }

    #[test]
    fn nothing_committed_cannot_be_shifted() {
        let answers = [found(Some(10)), found(Some(100))];
        let reset = ResetTo::Shift(-1).reset(("t".into(), 3), &[], &answers);
        let refused = reset.after.expect_err("nothing to shift");
        assert_eq!((refused.code(), refused.partition()), ("NOTHING_COMMITTED", Some(3)));
    }

    #[test]
    fn a_partition_that_cannot_be_asked_keeps_its_position() {
        let refused = Err(ClientError::Closed);
        let reset = ResetTo::Earliest.reset(("t".into(), 3), &[], &[refused, found(Some(100))]);
        assert_eq!(reset.after, Err(ClientError::Closed));
    }
}
