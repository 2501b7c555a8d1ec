//! Random histories of a small cluster: whatever dies, is cut off or loses power, all copies say the same at the same
//! offset, ids are given once, and when all is well again everybody lives.

use super::*;

struct Walk {
    net: Net,
    bits: u64,
    brokers: i32,
    topics: u32,
    /// What the image was after each offset, as a checksum.
    seen: BTreeMap<i64, u32>,
    producer_ids: BTreeSet<i64>,
    waiting: Vec<(i32, u64)>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let brokers = 3 + i32::try_from(seed % 3).unwrap();
        let (seen, producer_ids, waiting) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { net: Net::of(brokers), bits, brokers, topics: 0, seen, producer_ids, waiting }
    }

    /// A number below `bound`.
    fn draw(&mut self, bound: u64) -> u64 {
        self.bits ^= self.bits << 13;
        self.bits ^= self.bits >> 7;
        self.bits ^= self.bits << 17;
        (self.bits >> 11) % bound
    }

    fn broker(&mut self) -> i32 {
        1 + i32::try_from(self.draw(u64::try_from(self.brokers).unwrap())).unwrap()
    }

    fn lives(&self, broker: i32) -> bool {
        let node = &self.net.nodes[&broker];
        node.control.is_some() && node.stopped.is_none()
    }

    fn act(&mut self) {
        let broker = self.broker();
        match self.draw(12) {
            0 if self.lives(broker) => self.net.kill(broker),
            1 if self.lives(broker) => {
                let seed = self.draw(u64::MAX);
                self.net.kill(broker);
                self.net.nodes[&broker].disk.power_cut(seed);
            }
            2 | 3 if !self.lives(broker) => self.net.restart(broker),
            4 => {
                let cut = self.draw(2) == 0;
                self.net.cut(broker, cut || !self.lives(broker));
            }
            5 | 6 => {
                self.net.cluster.elect(dir(broker));
            }
            7 => {
                let held = self.draw(2) == 0;
                self.net.cluster.hold_commits(held);
            }
            8 => {
                self.net.cluster.lose_next();
            }
            9 if self.lives(broker) => {
                let held = self.draw(3) == 0;
                self.net.nodes[&broker].disk.hold(held);
            }
            _ if self.lives(broker) => self.give(broker),
            _ => {}
        }
        let ms = STEP_MS * self.draw(30);
        self.net.run(ms);
        self.check();
    }

    fn give(&mut self, broker: i32) {
        let command = if self.draw(2) == 0 {
            AdminCommand::AllocateProducerIds
        } else {
            self.topics += 1;
            AdminCommand::CreateTopic(NewTopic { name: format!("t{}", self.topics), ..NewTopic::default() })
        };
        let id = self.net.give(broker, command);
        self.waiting.push((broker, id));
    }

    fn check(&mut self) {
        for node in self.net.nodes.values() {
            let Some(image) = node.control.as_ref().map(Control::image) else { continue };
            assert_eq!(image.broken_law(), None);
            if let Some(applied) = image.applied() {
                let sum = crc32c::crc32c(&image.encode());
                assert_eq!(*self.seen.entry(applied.0).or_insert(sum), sum, "two images after {applied}");
            }
        }
        for (broker, id) in std::mem::take(&mut self.waiting) {
            match self.net.answer(broker, id) {
                None => self.waiting.push((broker, id)),
                Some(Ok(AdminAnswer::ProducerIds { first, count })) => {
                    let ids = first.0..first.0 + i64::from(count);
                    assert!(ids.into_iter().all(|id| self.producer_ids.insert(id)), "an id was given twice");
                }
                Some(_) => {}
            }
        }
    }

    fn heal(&mut self) {
        self.net.cluster.hold_commits(false);
        for broker in 1..=self.brokers {
            self.net.nodes[&broker].disk.hold(false);
            if self.lives(broker) {
                self.net.cut(broker, false);
            } else {
                self.net.restart(broker);
            }
        }
        for _ in 0..3 {
            let leader = self.net.cluster.leader();
            if leader.is_none() {
                self.net.cluster.elect_any();
            }
            self.net.run(3_000);
            self.check();
        }
    }
}

#[test]
fn copies_agree_ids_are_given_once_and_everybody_lives_again() {
    for seed in 1..=60 {
        println!("seed {seed}");
        let mut walk = Walk::new(seed);
        (0..40).for_each(|_| walk.act());
        walk.heal();
        let phases: Vec<_> = (1..=walk.brokers).map(|broker| walk.net.phase(broker)).collect();
        assert!(phases.iter().all(|phase| *phase == ControlPhase::Active), "{phases:?}");
        walk.net.assert_agreed();
    }
}
