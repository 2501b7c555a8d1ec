//! The promises, checked from outside: what was committed stays, equal logs are equal, members have what they must.

use alloc::vec::Vec;

use log_core::BrokerId;

use super::log::FakeLog;
use super::metadata::Metadata;
use super::{World, id, index};
use crate::view::PartitionView;

/// What was ever below a leader's high watermark, in order.
#[derive(Default)]
pub(crate) struct Oracle {
    committed: Vec<u64>,
    /// The greatest log start that any leader chose.
    pub(crate) deleted: i64,
    /// The greatest low watermark: what lies below it was said to be gone.
    pub(crate) gone: i64,
}

impl Oracle {
    pub(crate) const fn committed(&self) -> i64 {
        self.committed.len() as i64
    }

    /// Every committed record that `log` keeps is the one that was committed; answers the first that is missing.
    fn first_missing(&self, log: &FakeLog) -> Option<i64> {
        (log.start..self.committed()).find(|&offset| {
            let committed = self.committed[offset as usize];
            let kept = log.cell(offset).map(|cell| cell.value);
            assert!(
                kept.is_none_or(|kept| kept == committed),
                "record {offset} is {kept:?}, committed {committed}"
            );
            kept.is_none()
        })
    }

    /// A leader raised its high watermark to `to`.
    pub(crate) fn on_commit(
        &mut self,
        leader: usize,
        to: i64,
        view: &PartitionView,
        logs: &[FakeLog],
        wiped: Option<BrokerId>,
    ) {
        assert!(view.isr.len() >= view.effective_min_isr, "HW {to} with an ISR of {:?}", view.isr);
        for offset in logs[leader].start..to {
            let value = logs[leader].cell(offset).expect("a leader commits what it has").value;
            match self.committed.get(offset as usize) {
                Some(&committed) => assert_eq!(value, committed, "record {offset} committed twice"),
                None => {
                    assert_eq!(offset, self.committed(), "a gap in what is committed");
                    self.committed.push(value);
                }
            }
        }
        for member in view.isr.iter().filter(|member| Some(**member) != wiped) {
            let durable = logs[index(*member)].durable;
            assert!(durable >= to, "HW {to} of {leader}, but {member} is durable up to {durable}");
        }
    }

    /// A broker begins to lead the newest epoch. (One that applies metadata late may lead an old one for a moment.)
    pub(crate) fn on_leading(&self, leader: usize, log: &FakeLog) {
        let missing = self.first_missing(log);
        assert_eq!(missing, None, "leader {leader} lacks a committed record, its log ends at {}", log.end());
        let (start, gone) = (log.start, self.gone);
        assert!(
            start >= gone,
            "leader {leader} begins at {start}, everything below {gone} was said to be gone"
        );
    }

    /// Everyone that could be elected has every committed record on its disk.
    fn check_seats(&self, metadata: &Metadata, logs: &[FakeLog], wiped: Option<BrokerId>) {
        let head = metadata.head();
        for member in head.isr.iter().chain(&head.elr).filter(|member| Some(**member) != wiped) {
            let log = &logs[index(*member)];
            assert_eq!(self.first_missing(log), None, "{member} has a seat and lacks a committed record");
            let (durable, committed) = (log.durable, self.committed());
            assert!(durable >= committed, "{member} is durable up to {durable} of {committed} committed");
            let (start, gone) = (log.durable_start, self.gone);
            assert!(start >= gone, "{member} has a seat and would begin at {start} again, {gone} was said");
        }
    }

    /// Where two logs have the same epoch at an offset they are equal up to there.
    fn check_matching(logs: &[FakeLog]) {
        for (number, one) in logs.iter().enumerate() {
            for other in &logs[number + 1..] {
                let from = one.start.max(other.start);
                let cells = |offset| one.cell(offset).zip(other.cell(offset));
                let same = |offset: &i64| cells(*offset).is_some_and(|(a, b)| a.epoch == b.epoch);
                let Some(last) = (from..one.end().min(other.end())).rev().find(same) else { continue };
                for offset in from..=last {
                    let (a, b) = cells(offset).expect("both reach there");
                    assert_eq!(
                        (a.epoch, a.value),
                        (b.epoch, b.value),
                        "logs match at {last} and differ at {offset}"
                    );
                }
            }
        }
    }
}

impl World {
    /// Whether the present process of `broker` has registered.
    pub(crate) fn has_registered(&self, broker: BrokerId) -> bool {
        let incarnation = self.processes[index(broker)].incarnation;
        let own =
            |(_, registered, with): &(usize, BrokerId, u64)| *registered == broker && *with == incarnation;
        self.metadata.registrations.iter().any(own)
    }

    /// The laws that hold at every moment.
    pub(crate) fn check(&self) {
        let wiped = self.wiped.filter(|wiped| !self.has_registered(*wiped));
        self.oracle.check_seats(&self.metadata, &self.logs, wiped);
        Oracle::check_matching(&self.logs);
        for (broker, log) in self.logs.iter().enumerate() {
            let (high_watermark, committed) = (log.high_watermark, self.oracle.committed());
            assert!(
                high_watermark <= committed.max(log.start),
                "{} serves {high_watermark} of {committed}",
                id(broker)
            );
            assert!(log.durable <= log.end() && log.start <= log.end());
        }
    }
}
