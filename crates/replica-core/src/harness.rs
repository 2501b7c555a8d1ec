//! A world of brokers around the two machines: one partition, a log a replica, a linearizable metadata log that each
//! broker applies at its own pace, streams that delay, break and overtake each other, crashes, cuts and wiped disks;
//! and an oracle that knows nothing of the rules, only of the promises.

mod actions;
mod events;
mod log;
mod metadata;
mod oracle;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod walk;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::Bytes;
use log_core::{BrokerEpoch, BrokerId, MonoTime, Session};

use self::log::FakeLog;
use self::metadata::Metadata;
use self::oracle::Oracle;
use crate::action::{IsrAnswer, IsrProposal};
use crate::follower::Follower;
use crate::leader::Leader;
use crate::stream::StreamId;

/// Where a walk's choices come from: a seed (splitmix64), or bytes and then a seed. The same walk for the same ones.
pub(crate) struct Random {
    state: u64,
    choices: VecDeque<u8>,
}

impl Random {
    #[cfg(test)]
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed, choices: VecDeque::new() }
    }

    /// Two bytes for each choice, while there are any.
    pub(crate) fn by(choices: &[u8]) -> Self {
        Self { state: 0, choices: choices.iter().copied().collect() }
    }

    /// Whether bytes are left to choose by.
    pub(crate) fn is_told(&self) -> bool {
        !self.choices.is_empty()
    }

    pub(crate) fn next(&mut self) -> u64 {
        if let Some(first) = self.choices.pop_front() {
            self.state = u64::from(u16::from_be_bytes([first, self.choices.pop_front().unwrap_or(0)]));
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }
}

/// What a broker is to the partition.
pub(crate) enum Role {
    None,
    Leader(Box<Leader>),
    Follower(Box<Follower>),
}

/// One broker's process; its log outlives it.
pub(crate) struct Process {
    pub(crate) up: bool,
    pub(crate) incarnation: u64,
    /// The own registration, once it is applied here.
    pub(crate) epoch: Option<BrokerEpoch>,
    /// The metadata records applied; fsynced before they are applied, so a restart begins here.
    pub(crate) applied: usize,
    pub(crate) role: Role,
    pub(crate) last_session: Session,
    /// Leaders of epochs that were left; still polled, and must stay silent.
    pub(crate) left: Vec<Leader>,
}

/// A stream that a follower opened, with the frames in flight both ways as bytes.
pub(crate) struct Channel {
    pub(crate) follower: BrokerId,
    pub(crate) leader: BrokerId,
    pub(crate) incarnations: (u64, u64),
    pub(crate) ids: (StreamId, StreamId),
    pub(crate) up: VecDeque<Bytes>,
    pub(crate) down: VecDeque<Bytes>,
    /// Which side has closed it or been told of its end: follower, leader.
    pub(crate) ended: (bool, bool),
    pub(crate) broken: bool,
}

/// A stream that is being opened.
pub(crate) struct Dial {
    pub(crate) follower: BrokerId,
    pub(crate) leader: BrokerId,
    pub(crate) incarnation: u64,
    pub(crate) session: Session,
}

/// A proposal on its way to the controller, or an answer on its way back.
pub(crate) struct Request {
    pub(crate) from: BrokerId,
    pub(crate) incarnation: u64,
    pub(crate) attempt: u64,
    pub(crate) proposal: IsrProposal,
    pub(crate) answer: Option<IsrAnswer>,
}

/// The whole world.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: MonoTime,
    pub(crate) metadata: Metadata,
    pub(crate) processes: Vec<Process>,
    pub(crate) logs: Vec<FakeLog>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) dials: Vec<Dial>,
    pub(crate) requests: Vec<Request>,
    pub(crate) oracle: Oracle,
    pub(crate) next_stream: u64,
    pub(crate) next_value: u64,
    pub(crate) next_incarnation: u64,
    /// The broker whose disk was wiped and that is not back in the ISR: one at a time (the promise is N-1).
    pub(crate) wiped: Option<BrokerId>,
    /// A broker that applies metadata slowly, and how fast in percent.
    pub(crate) slow: (usize, usize),
    /// Faults among a thousand steps.
    pub(crate) faults: usize,
}

impl World {
    /// A world whose course the choices decide.
    pub(crate) fn new(mut random: Random) -> Self {
        let brokers = [3, 3, 3, 2, 4][random.below(5)];
        let min_isr = [2, 2, 2, 1][random.below(4)];
        let process = |_| Process {
            up: true,
            incarnation: 0,
            epoch: Some(metadata::FIRST_EPOCH),
            applied: 0,
            role: Role::None,
            last_session: Session(0),
            left: Vec::new(),
        };
        let slow = (random.below(brokers), [3, 20, 100][random.below(3)]);
        let faults = [5, 15, 40][random.below(3)];
        let mut world = Self {
            random,
            now: MonoTime(0),
            metadata: Metadata::new(brokers, min_isr),
            processes: (0..brokers).map(process).collect(),
            logs: (0..brokers).map(|_| FakeLog::default()).collect(),
            channels: Vec::new(),
            dials: Vec::new(),
            requests: Vec::new(),
            oracle: Oracle::default(),
            next_stream: 1,
            next_value: 1,
            next_incarnation: 1,
            wiped: None,
            slow,
            faults,
        };
        (0..brokers).for_each(|broker| world.assume_role(broker));
        world
    }
}

pub(crate) const fn id(broker: usize) -> BrokerId {
    BrokerId(broker as i32)
}

pub(crate) const fn index(broker: BrokerId) -> usize {
    broker.0 as usize
}
