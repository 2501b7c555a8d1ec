//! Random histories of three brokers: kills, power cuts, cut links, slow disks, late metadata, fencing. Whatever happens,
//! what was acknowledged is read in the end, in order, once; and what was served once is served for ever.

use std::collections::BTreeSet;
use std::time::Duration;

use broker_core::ConnectionId;
use highwater_broker_core as broker_core;
use kafka_wire::ErrorCode;
use log_core::{PartitionIndex, TopicPartition};

use crate::support::Cluster;
use crate::support::client::*;

/// splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

struct Walk {
    cluster: Cluster,
    id: TopicPartition,
    dice: Dice,
    /// Who waits for an acknowledgement of which value.
    waiting: Vec<(i32, ConnectionId, String)>,
    acknowledged: Vec<String>,
    /// Everything that a reader has seen, by offset.
    served: Vec<String>,
    next_value: u32,
    /// Brokers whose disk does not answer.
    slow: BTreeSet<i32>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut cluster = Cluster::new(3);
        let topic_id = cluster.create_topic("t", 1, 3, &[("segment.bytes", "2048")]);
        let id = TopicPartition { topic_id, partition: PartitionIndex(0) };
        let (waiting, acknowledged, served) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            cluster,
            id,
            dice: Dice(seed),
            waiting,
            acknowledged,
            served,
            next_value: 0,
            slow: BTreeSet::new(),
        }
    }

    fn any_broker(&mut self) -> i32 {
        i32::try_from(self.dice.roll(3)).unwrap() + 1
    }

    fn step(&mut self) {
        match self.dice.roll(22) {
            0..=6 => self.produce(),
            7..=9 => self.read(),
            10 => self.kill(None),
            11 => {
                let seed = self.dice.roll(u64::MAX);
                self.kill(Some(seed));
            }
            12..=14 => self.revive(),
            15 => {
                let broker = self.any_broker();
                self.cluster.cut_off(broker);
            }
            16 => self.cluster.cut_off.clear(),
            17 => {
                let broker = self.any_broker();
                let hold = self.dice.roll(2) == 0 && self.slow.insert(broker);
                self.hold(broker, hold);
            }
            18 => {
                let broker = self.any_broker();
                self.cluster.behind.insert(broker);
            }
            19 => {
                let broker = self.any_broker();
                self.cluster.catch_up(broker);
            }
            20 => {
                let broker = self.any_broker();
                if self.cluster.nodes.values().filter(|node| node.alive).count() == 3 {
                    self.cluster.fence(broker);
                }
            }
            _ => {
                let time = Duration::from_millis(self.dice.roll(12_000));
                self.cluster.pass(time);
            }
        }
        self.cluster.run();
        self.collect();
    }

    fn hold(&mut self, broker: i32, hold: bool) {
        if !hold {
            self.slow.remove(&broker);
        }
        self.cluster.broker(broker).disk.hold(hold);
    }

    /// Sends to whoever believes to lead, not only to who does.
    fn produce(&mut self) {
        let broker = self.any_broker();
        if !self.cluster.broker(broker).alive {
            return;
        }
        self.next_value += 1;
        let value = format!("{}{}", self.next_value, "x".repeat(self.dice.roll(400) as usize));
        let connection = self.cluster.open(broker);
        self.cluster.send(broker, connection, 9, &produce_request("t", 0, -1, batch(&[&value])));
        self.waiting.push((broker, connection, value));
    }

    fn collect(&mut self) {
        for (broker, connection, value) in std::mem::take(&mut self.waiting) {
            match self.cluster.produced(broker, connection) {
                Some(produced) if produced.error == ErrorCode::None => self.acknowledged.push(value),
                Some(_) => {}
                None => self.waiting.push((broker, connection, value)),
            }
        }
    }

    fn read(&mut self) {
        let broker = self.any_broker();
        // A cold read of a disk that does not answer is not answered either.
        if !self.cluster.broker(broker).alive
            || self.slow.contains(&broker)
            || self.cluster.fetch(broker, "t", 0, 0).error_code != ErrorCode::None
        {
            return;
        }
        let values = self.cluster.read_all(broker, "t", 0);
        let both = values.len().min(self.served.len());
        assert_eq!(values[..both], self.served[..both], "what was served once is served for ever");
        if values.len() > self.served.len() {
            self.served = values;
        }
    }

    fn kill(&mut self, power_cut: Option<u64>) {
        let broker = self.any_broker();
        if !self.cluster.broker(broker).alive {
            return;
        }
        self.cluster.kill(broker);
        self.hold(broker, false);
        if let Some(seed) = power_cut {
            self.cluster.broker(broker).disk.power_cut(seed);
        }
        self.cluster.behind.remove(&broker);
        if self.dice.roll(3) > 0 {
            self.cluster.fence(broker);
        }
    }

    fn revive(&mut self) {
        let broker = self.any_broker();
        if self.cluster.broker(broker).alive {
            self.cluster.unfence(broker);
        } else {
            self.cluster.restart(broker);
        }
    }

    /// Everything is mended; then all that was promised is looked for.
    fn finish(mut self) -> usize {
        self.cluster.cut_off.clear();
        for broker in [1, 2, 3] {
            self.hold(broker, false);
            self.cluster.catch_up(broker);
            if !self.cluster.broker(broker).alive {
                self.cluster.restart(broker);
            }
        }
        self.cluster.run();
        (1..=3).for_each(|broker| self.cluster.unfence(broker));
        self.cluster.pass(Duration::from_secs(20));
        self.collect();
        let leader = self.cluster.leader(self.id);
        let values = self.cluster.read_all(leader, "t", 0);
        assert!(values.len() >= self.served.len());
        assert_eq!(values[..self.served.len()], self.served[..]);
        for value in &self.acknowledged {
            let found = values.iter().filter(|read| *read == value).count();
            assert_eq!(found, 1, "acknowledged {value}, read {found} times");
        }
        assert_eq!(self.cluster.isr(self.id), [1, 2, 3], "all are in sync in the end");
        let after = self.cluster.produce(leader, "t", 0, -1, batch(&["after"]));
        assert_eq!(after.error, ErrorCode::None, "and it goes on");
        self.acknowledged.len()
    }
}

#[test]
fn whatever_happens_nothing_acknowledged_is_lost() {
    let mut acknowledged = 0;
    for seed in 0..100 {
        let walked = std::panic::catch_unwind(|| {
            let mut walk = Walk::new(seed);
            (0..80).for_each(|_| walk.step());
            walk.finish()
        });
        acknowledged += walked.unwrap_or_else(|_| panic!("seed {seed}"));
    }
    assert!(acknowledged > 200, "the walks are no walks: {acknowledged} acknowledged");
}
