//! Faults: what may go wrong, and how often each seed lets it. The selection differs from seed to seed, since two kinds
//! that come together find what all kinds at once drown.

use super::{MS, Mix};
use crate::dice::Dice;

/// A fault and when it happens, in nanoseconds from the moment at which all brokers live.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) at: u64,
    pub(crate) fault: Fault,
}

/// Something that goes wrong. Brokers are counted from 0; times are in nanoseconds. A `seed` decides details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A process dies; with `power` its machine does, and loses any subset of what was not synced.
    Kill { broker: usize, down: u64, power: bool, seed: u64 },
    /// The leader of some partition dies so.
    KillLeader { down: u64, power: bool, seed: u64 },
    /// Every machine loses power at once.
    KillAll { down: u64, seed: u64 },
    /// A broker is asked to stop, and starts again.
    Stop { broker: usize, down: u64 },
    /// A process stands still.
    Pause { broker: usize, time: u64 },
    /// Nothing passes from one broker to another; nor back, if `both`.
    Cut { from: usize, to: usize, both: bool, time: u64 },
    /// A broker is cut off from all others; clients reach it.
    Isolate { broker: usize, time: u64 },
    /// Messages take so many times as long.
    SlowNetwork { factor: u64, time: u64 },
    /// Operations of a disk take so many times as long.
    SlowDisk { broker: usize, factor: u64, time: u64 },
    /// The next sync of a disk fails; later reads show the new bytes or the old ones.
    FailSync { broker: usize, shows_new: bool, down: u64, power: bool, seed: u64 },
    /// The kernel writes some dirty sectors back.
    WriteBack { broker: usize, seed: u64 },
    /// The page cache is emptied of clean pages.
    Evict { broker: usize },
    /// A disk has no more room.
    Full { broker: usize, time: u64 },
    /// A broker is down, and a byte of its disk rots meanwhile.
    Rot { broker: usize, down: u64, seed: u64 },
    /// A disk is lost; the broker comes back with a new, empty one.
    Wipe { broker: usize, down: u64 },
    /// A broker is shown metadata late.
    SlowMetadata { broker: usize, time: u64 },
    /// Proposals are lost, so many in a thousand.
    LoseProposals { permille: u64, time: u64 },
    /// Agreement takes long.
    SlowCommits { time: u64 },
    /// The metadata quorum elects another leader.
    FailOver { seed: u64 },
    /// A topic's min ISR is changed.
    MinIsr { topic: usize, value: i32 },
    /// A topic is deleted; one of the same name is made again after a while.
    DeleteTopic { topic: usize, after: u64 },
    /// The records below some offset are deleted.
    DeleteRecords { topic: usize, seed: u64 },
    /// Every client connection breaks.
    DropClients,
    /// A leader is down for long, and a follower of it for a moment, in which the end of its log rots or is lost; perhaps
    /// it dies again as soon as it has started.
    DamageTail { down: u64, seed: u64 },
    /// The disk is lost that alone has a seat of some partition: what was committed there is lost, and the operator makes
    /// the topic anew.
    WipeHolder { down: u64, seed: u64 },
    /// A process dies while its disk is slow, and its machine loses power as soon as the next one has started.
    DieTwice { broker: usize, seed: u64 },
    /// A broker is asked to stop, and its machine loses power soon after its next start.
    StopThenPower { broker: usize, seed: u64 },
    /// A topic is made anew, and a broker with a replica of it loses power at that moment.
    PowerAtCreation { topic: usize, after: u64, seed: u64 },
    /// A leader loses power while one follower has more than the others and a slow disk; that follower loses power while it
    /// cuts what it has more.
    PowerInCut { seed: u64 },
    /// A follower leaves the ISR, comes back, and is away again when it is let in, on which agreement takes long.
    AwayWhenLetIn { seed: u64 },
    /// A leader loses touch with the controller alone, and another one is told to all but one follower.
    Depose { seed: u64 },
    /// A leader and a follower die, the leader for longer than its session lasts, and the follower's log loses an end that
    /// was durable.
    LoseEnd { seed: u64 },
    /// A follower is to be let into an ISR; until that is agreed its broker is fenced and let in again, while the leader is
    /// shown nothing and asks again.
    Repeat { seed: u64 },
    /// The disk of a follower is lost: while the leader asks for it, as with [`Fault::Repeat`], or when nothing can be
    /// committed without it.
    WipeRemembered { seed: u64 },
}

/// The kinds, in the order of the weights.
const KINDS: usize = 34;

/// Kinds from here on happen only where a mix prefers them.
const PREFERRED_ONLY: usize = 23;

/// Draws all faults of a run.
pub(super) fn draw(dice: &mut Dice, mix: Mix, brokers: usize, fault_time: u64) -> Vec<Planned> {
    let weights = weights(dice, mix);
    let pause = dice.pick(&[(50 * MS, 600 * MS), (200 * MS, 1_500 * MS), (500 * MS, 4_000 * MS)]);
    let down = dice.pick(&[(2 * MS, 300 * MS), (100 * MS, 2_000 * MS), (1_000 * MS, 6_000 * MS)]);
    let (pause, down) = match mix {
        Mix::Storm => ((5 * MS, 150 * MS), (2 * MS, 200 * MS)),
        mix if mix.is_pointed() => ((700 * MS, 4_000 * MS), down),
        _ => (pause, down),
    };
    let mut faults = Vec::new();
    let mut at = dice.below(500 * MS);
    while at < fault_time {
        let kind = choose(dice, &weights);
        faults.push(Planned { at, fault: fault(dice, kind, brokers, down) });
        at += dice.between(pause.0, pause.1);
    }
    faults
}

/// About half of the kinds happen in one run, some more often than others.
fn weights(dice: &mut Dice, mix: Mix) -> [u64; KINDS] {
    let mut weights = [0; KINDS];
    for (kind, weight) in weights.iter_mut().enumerate() {
        if kind >= PREFERRED_ONLY {
            *weight = favour(mix, kind);
            continue;
        }
        let drawn = if dice.permille(550) { dice.pick(&[1, 2, 4]) } else { 0 };
        let rare = matches!(kind, 2 | 12 | 13 | 14);
        *weight = if rare || mix.is_pointed() { drawn } else { drawn * 2 };
        *weight += favour(mix, kind);
        if mix == Mix::Deletes && kind == 20 {
            // Nobody knows which of two topics of a name an answer is about.
            *weight = 0;
        }
    }
    if weights.iter().all(|weight| *weight == 0) {
        weights = [1; KINDS];
        weights.iter_mut().skip(PREFERRED_ONLY).for_each(|weight| *weight = 0);
    }
    weights
}

fn favour(mix: Mix, kind: usize) -> u64 {
    let favoured: &[usize] = match mix {
        Mix::Any => &[],
        Mix::Metadata => &[0, 1, 15, 16, 17, 18],
        Mix::Restarts => &[0, 1, 2, 4, 15],
        Mix::Damage => &[0, 13, 14, 19],
        Mix::Disks => &[0, 1, 8, 9, 10, 11, 12],
        Mix::Network => &[1, 5, 6, 7, 22],
        Mix::Topics => &[0, 19, 20, 21],
        Mix::Storm => &[0, 1, 3, 4, 5, 8, 10, 18, 20],
        Mix::Late => &[4, 5, 6, 15, 17],
        Mix::Moments => &[25, 26, 27],
        Mix::Cuts => &[28],
        Mix::Entrants => &[29],
        Mix::Deposed => &[30],
        Mix::Ends => &[31],
        Mix::Repeats => &[32],
        Mix::Remembered => &[33],
        Mix::Tails => &[23],
        Mix::Losses => &[0, 4, 6, 24],
        Mix::Lazy => &[0, 1, 2, 3, 4, 9, 10],
        Mix::Deletes => &[0, 1, 2, 3, 4, 6, 14, 15],
        Mix::Upgrades => &[0, 1, 2, 3, 14, 15, 16, 18, 21],
    };
    match favoured.contains(&kind) {
        true if mix.is_pointed() => 48,
        true => 16,
        false => 0,
    }
}

fn choose(dice: &mut Dice, weights: &[u64; KINDS]) -> usize {
    let mut left = dice.below(weights.iter().sum());
    for (kind, weight) in weights.iter().enumerate() {
        if left < *weight {
            return kind;
        }
        left -= weight;
    }
    0
}

fn fault(dice: &mut Dice, kind: usize, brokers: usize, (soonest, latest): (u64, u64)) -> Fault {
    let broker = dice.index(brokers);
    let down = dice.between(soonest, latest);
    let seed = dice.throw();
    let power = dice.permille(600);
    let time = dice.pick(&[100 * MS, 700 * MS, 2_000 * MS, 6_000 * MS]);
    let factor = dice.pick(&[3, 20, 100]);
    let topic = dice.index(2);
    match kind {
        0 => Fault::Kill { broker, down, power, seed },
        1 => Fault::KillLeader { down, power, seed },
        2 => Fault::KillAll { down, seed },
        3 => Fault::Stop { broker, down },
        4 => Fault::Pause { broker, time },
        5 => {
            let to = (broker + 1 + dice.index(brokers - 1)) % brokers;
            Fault::Cut { from: broker, to, both: dice.permille(500), time }
        }
        6 => Fault::Isolate { broker, time },
        7 => Fault::SlowNetwork { factor, time: time / 2 },
        8 => Fault::SlowDisk { broker, factor, time },
        9 => Fault::FailSync { broker, shows_new: dice.permille(500), down, power, seed },
        10 => Fault::WriteBack { broker, seed },
        11 => Fault::Evict { broker },
        12 => Fault::Full { broker, time },
        13 => Fault::Rot { broker, down, seed },
        14 => Fault::Wipe { broker, down },
        15 => Fault::SlowMetadata { broker, time },
        16 => Fault::LoseProposals { permille: dice.pick(&[100, 400, 900]), time },
        17 => Fault::SlowCommits { time },
        18 => Fault::FailOver { seed },
        19 => Fault::MinIsr { topic, value: dice.pick(&[1, 2, 2, 3]) },
        20 => Fault::DeleteTopic { topic, after: time },
        21 => Fault::DeleteRecords { topic, seed },
        22 => Fault::DropClients,
        23 => Fault::DamageTail { down, seed },
        24 => Fault::WipeHolder { down, seed },
        25 => Fault::DieTwice { broker, seed },
        26 => Fault::StopThenPower { broker, seed },
        27 => Fault::PowerAtCreation { topic, after: time / 4, seed },
        28 => Fault::PowerInCut { seed },
        29 => Fault::AwayWhenLetIn { seed },
        30 => Fault::Depose { seed },
        31 => Fault::LoseEnd { seed },
        32 => Fault::Repeat { seed },
        _ => Fault::WipeRemembered { seed },
    }
}
