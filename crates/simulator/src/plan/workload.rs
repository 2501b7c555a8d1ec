//! What clients ask for beyond what every mix has them do: weaker acknowledgements, and records deleted all the time. Drawn
//! from dice of its own, so that the seeds of other mixes mean what they meant.

use super::{Fault, MS, Mix, Planned};
use crate::dice::Dice;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    /// What each idempotent producer asks for, in order: -1 for all, 1 for the leader alone.
    pub(crate) acks: [i16; 2],
    /// What each plain producer asks for; 0 for no answer.
    pub(crate) plain_acks: [i16; 2],
    /// Consumers stay away for a while between two reads: nobody waits for what is appended.
    pub(crate) consumers_rest: bool,
    /// Records are deleted below any offset, also in the midst of a batch, on a connection of its own.
    pub(crate) deletes_anywhere: bool,
}

impl Workload {
    pub(super) fn of(seed: u64, mix: Mix) -> Self {
        let mut dice = Dice::new(seed, 27);
        let lazy = mix == Mix::Lazy;
        let mut acks = |from: &[i16]| if lazy { [dice.pick(from), dice.pick(from)] } else { [-1, -1] };
        Self {
            acks: acks(&[1, 1, -1]),
            plain_acks: acks(&[1, 1, 0, -1]),
            consumers_rest: lazy,
            deletes_anywhere: mix == Mix::Deletes,
        }
    }
}

/// Deletions of records between the other faults.
pub(super) fn deletions(seed: u64, mix: Mix, topics: usize, fault_time: u64) -> Vec<Planned> {
    if mix != Mix::Deletes {
        return Vec::new();
    }
    let mut dice = Dice::new(seed, 28);
    let pause = dice.pick(&[(20 * MS, 400 * MS), (200 * MS, 2_000 * MS)]);
    let mut faults = Vec::new();
    let mut at = dice.between(pause.0, pause.1);
    while at < fault_time {
        let fault = Fault::DeleteRecords { topic: dice.index(topics), seed: dice.throw() };
        faults.push(Planned { at, fault });
        at += dice.between(pause.0, pause.1);
    }
    faults
}
