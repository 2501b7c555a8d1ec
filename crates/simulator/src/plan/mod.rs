//! What a seed means: the cluster, its topics, its clients, the weather, and every fault with its time. A plan is data, so
//! that a run that went wrong can be told again with less of it.

mod faults;
mod upgrade;
mod workload;

pub(crate) use faults::{Fault, Planned};
pub(crate) use upgrade::Upgrade;
pub(crate) use workload::Workload;

use crate::dice::Dice;

/// One millisecond and one microsecond in simulated time.
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const US: u64 = 1_000;

/// Which faults a plan prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Mix {
    /// Every kind, each seed its own selection.
    #[default]
    Any,
    /// Metadata that arrives late, is lost, or is agreed by another leader.
    Metadata,
    /// Restarts, power cuts and pauses.
    Restarts,
    /// Damage on disks, and min ISR that changes.
    Damage,
    /// Disks that are slow, full or fail.
    Disks,
    /// Links that are cut, one way or both.
    Network,
    /// Topics deleted and created again.
    Topics,
    /// Faults that follow each other as fast as syncs do.
    Storm,
    /// Agreement that takes seconds, and brokers that are away meanwhile.
    Late,
    /// Ends of logs that rot or are lost while their leaders are down.
    Tails,
    /// Disks lost that alone have a seat.
    Losses,
    /// Power lost at starts, after clean stops, and when topics are made.
    Moments,
    /// Power lost while a follower cuts its log.
    Cuts,
    /// Followers that are away when they are let into the ISR.
    Entrants,
    /// Leaders that do not know that they are replaced, and followers that do not know it either.
    Deposed,
    /// Ends of logs lost below their bounds.
    Ends,
    /// Requests that a leader repeats while it is shown nothing.
    Repeats,
    /// Disks lost of followers of which their leaders know how far they were.
    Remembered,
    /// Topics with one replica, producers that do not wait for others, consumers that stay away.
    Lazy,
    /// Records deleted all the time, below any offset.
    Deletes,
    /// Brokers of an older build that are upgraded at their next start, some put back once, until the feature level rises.
    Upgrades,
}

impl Mix {
    /// Whether disks are to be damaged, for which each record needs copies.
    const fn damages(self) -> bool {
        matches!(self, Self::Damage | Self::Tails | Self::Ends | Self::Remembered)
    }

    /// Whether it is there for a few faults of several steps each, which others would disturb.
    const fn is_pointed(self) -> bool {
        matches!(
            self,
            Self::Moments
                | Self::Cuts
                | Self::Entrants
                | Self::Deposed
                | Self::Ends
                | Self::Repeats
                | Self::Remembered
        )
    }
}

/// A topic of a plan.
#[derive(Clone, Debug)]
pub(crate) struct TopicPlan {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) replicas: i16,
    pub(crate) min_isr: i32,
    pub(crate) segment_bytes: u32,
    pub(crate) retention_bytes: Option<u32>,
}

/// How long things take, in nanoseconds, and how often they go wrong, per thousand.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    pub(crate) latency: (u64, u64),
    pub(crate) loss_permille: u64,
    pub(crate) sync: (u64, u64),
    pub(crate) slow_sync_permille: u64,
    /// How often an operation ends before an older one.
    pub(crate) overtaking_permille: u64,
    pub(crate) inside: (u64, u64),
    pub(crate) commit: (u64, u64),
    pub(crate) show: (u64, u64),
}

/// Everything that a seed decides before the run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) brokers: usize,
    pub(crate) shards: u16,
    pub(crate) topics: Vec<TopicPlan>,
    pub(crate) producers: usize,
    pub(crate) plain_producers: usize,
    pub(crate) consumers: usize,
    /// The pause between two batches of a producer.
    pub(crate) produce_every: (u64, u64),
    pub(crate) record_bytes: (u64, u64),
    pub(crate) lag_max_ms: u64,
    pub(crate) window_bytes: u64,
    pub(crate) push_bytes: usize,
    pub(crate) weather: Weather,
    /// How long faults happen, from the moment at which all brokers live.
    pub(crate) fault_time: u64,
    pub(crate) faults: Vec<Planned>,
    pub(crate) workload: Workload,
    pub(crate) upgrade: Upgrade,
}

impl Plan {
    /// What a seed means under a mix.
    pub(crate) fn of(seed: u64, mix: Mix) -> Self {
        let mut dice = Dice::new(seed, 1);
        let brokers = dice.pick(&[3, 3, 3, 5]);
        let mut topics: Vec<TopicPlan> =
            (0..dice.between(1, 2)).map(|number| topic(&mut dice, number, brokers, mix)).collect();
        let fault_time = dice.between(8, 20) * 1_000 * MS;
        let weather = weather(&mut dice).under(mix);
        let mut faults = faults::draw(&mut Dice::new(seed, 2), mix, brokers, fault_time);
        faults.extend(workload::deletions(seed, mix, topics.len(), fault_time));
        let upgrade = Upgrade::of(seed, mix, brokers);
        if !upgrade.confirms_log_starts() {
            faults.retain(|planned| !matches!(planned.fault, Fault::DeleteRecords { .. }));
            topics.iter_mut().for_each(|topic| topic.retention_bytes = None);
        }
        Self {
            seed,
            brokers,
            shards: dice.pick(&[1, 1, 2]),
            topics,
            producers: dice.pick(&[1, 2, 2]),
            plain_producers: dice.pick(&if mix == Mix::Lazy { [1, 2, 2] } else { [0, 1, 1] }),
            consumers: dice.pick(&[1, 1, 2]),
            produce_every: dice.pick(&[(20 * MS, 200 * MS), (50 * MS, 500 * MS), (5 * MS, 400 * MS)]),
            record_bytes: dice.pick(&[(10, 80), (10, 700), (400, 1_500)]),
            lag_max_ms: if mix == Mix::Deposed { 700 } else { dice.pick(&[700, 1_500, 4_000]) },
            window_bytes: dice.pick(&[2_000, 64_000, 8 << 20]),
            push_bytes: dice.pick(&[600, 8_000, 1 << 20]),
            weather,
            fault_time,
            faults,
            workload: Workload::of(seed, mix),
            upgrade,
        }
    }
}

fn topic(dice: &mut Dice, number: u64, brokers: usize, mix: Mix) -> TopicPlan {
    let most = i16::try_from(brokers).unwrap_or(3);
    let replicas = dice.pick(&if mix == Mix::Lazy { [1, 1, 1, 3, most] } else { [3, 3, 3, 2, most] });
    let min_isr = match mix {
        mix if mix.damages() => 2,
        Mix::Losses => 1,
        Mix::Lazy if replicas == 1 => 1,
        _ => dice.pick(&[2, 2, 2, 1, 3]),
    };
    TopicPlan {
        name: format!("t{number}"),
        partitions: dice.pick(&[1, 1, 2]),
        replicas: if mix.damages() || mix.is_pointed() { replicas.max(3) } else { replicas },
        min_isr,
        segment_bytes: match (mix, dice.pick(&[1_024, 2_048, 4_096, 16_384])) {
            // A bound shall stand in the midst of a segment.
            (Mix::Ends, _) => 16_384,
            (_, drawn) => drawn,
        },
        retention_bytes: dice.permille(150).then_some(8_000),
    }
}

fn weather(dice: &mut Dice) -> Weather {
    Weather {
        latency: dice.pick(&[(50 * US, 400 * US), (200 * US, 3 * MS), (50 * US, 20 * MS)]),
        loss_permille: dice.pick(&[0, 3, 20]),
        sync: dice.pick(&[(100 * US, 600 * US), (MS, 8 * MS), (100 * US, 40 * MS)]),
        slow_sync_permille: dice.pick(&[0, 5, 30]),
        overtaking_permille: 100,
        inside: dice.pick(&[(US, 20 * US), (US, 2 * MS)]),
        commit: dice.pick(&[(MS, 5 * MS), (2 * MS, 60 * MS)]),
        show: dice.pick(&[(200 * US, 3 * MS), (MS, 80 * MS)]),
    }
}

impl Weather {
    /// What a mix is about takes as long as it needs.
    const fn under(self, mix: Mix) -> Self {
        match mix {
            Mix::Storm => Self { sync: (MS, 40 * MS), slow_sync_permille: 100, commit: (MS, 5 * MS), ..self },
            Mix::Moments => {
                Self { sync: (MS, 40 * MS), slow_sync_permille: 100, overtaking_permille: 500, ..self }
            }
            // A sync of batches may end after the one of the metadata that makes its log be cut.
            Mix::Cuts => Self { overtaking_permille: 500, ..self },
            Mix::Late => Self { commit: (50 * MS, 2_000 * MS), show: (200 * US, 3 * MS), ..self },
            _ => self,
        }
    }
}
