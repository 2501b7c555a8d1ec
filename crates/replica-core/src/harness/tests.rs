//! Walks through the world: nothing is lost, all heals; and every breach of a rule is found out.

use alloc::vec::Vec;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::{Role, World, id};

/// After a walk: no more faults, everything is delivered; then all replicas must be equal and in the ISR.
fn heal(world: &mut World) {
    world.slow.1 = 100;
    for _ in 0..400 {
        world.now.0 += 100_000_000;
        for broker in 0..world.processes.len() {
            world.revive(broker);
            while world.processes[broker].up
                && world.processes[broker].applied + 1 < world.metadata.history.len()
            {
                world.apply_next(broker);
            }
            world.finish_cut(broker);
            world.sync(broker);
            world.time_out(broker);
            world.poll_left(broker);
        }
        while !world.dials.is_empty() {
            world.finish_dial(0);
        }
        for _ in 0..world.requests.len() {
            world.carry_request();
        }
        for number in (0..world.channels.len()).rev() {
            while !world.channels[number].up.is_empty() {
                world.deliver_up_on(number);
            }
            while !world.channels[number].down.is_empty() {
                world.deliver_down_on(number);
            }
            world.tell(number);
        }
        world.check();
    }
}

fn assert_healed(world: &World) {
    let head = world.metadata.head();
    let leader = head.leader.expect("somebody leads");
    let leading = &world.logs[super::index(leader)];
    assert_eq!(head.isr.len(), world.processes.len(), "ISR {:?} of leader {leader}", head.isr);
    for (broker, log) in world.logs.iter().enumerate() {
        let ends = (log.end(), log.durable, log.high_watermark);
        let expected = (leading.end(), leading.end(), leading.end());
        assert_eq!(ends, expected, "end, durable end and HW of {} under leader {leader}", id(broker));
    }
    assert_eq!(world.oracle.committed(), leading.end(), "what was written is committed");
}

fn walk(seed: u64, steps: usize) {
    let mut world = World::new(seed);
    (0..steps).for_each(|_| world.step());
    heal(&mut world);
    assert_healed(&world);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Committed prefix never lost, high watermark monotonic, logs match, members durable; and at the end all heals.
    #[test]
    fn no_walk_loses_a_committed_record_and_every_walk_heals(seed: u64, steps in 10_usize..700) {
        walk(seed, steps);
    }
}

#[test]
fn walks_reach_what_they_are_meant_to() {
    let (mut elections, mut committed, mut leaders) = (0, 0, 0);
    for seed in 0..20 {
        let mut world = World::new(seed);
        (0..600).for_each(|_| world.step());
        elections += world.metadata.head().leader_epoch.0;
        committed += world.oracle.committed();
        leaders += world.processes.iter().filter(|process| matches!(process.role, Role::Leader(_))).count();
    }
    assert!(elections > 20 && committed > 80 && leaders > 5, "{elections} {committed} {leaders}");
}

/// Whether a walk of one of these seeds finds the breach that is switched on.
pub(crate) fn walks_find_it(seeds: u64) -> bool {
    (0..seeds).any(|seed| catch_unwind(AssertUnwindSafe(|| walk(seed, 500))).is_err())
}

#[test]
fn the_same_seed_walks_the_same_way() {
    let trace = |seed| {
        let mut world = World::new(seed);
        let step = |_| {
            world.step();
            (world.now, world.oracle.committed(), world.metadata.history.len(), world.channels.len())
        };
        (0..300).map(step).collect::<Vec<_>>()
    };
    assert_eq!(trace(11), trace(11));
}
