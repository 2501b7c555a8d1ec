//! Walks through the world: nothing is lost, all heals; and every breach of a rule is found out.

use alloc::vec::Vec;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::walk::walk;
use super::{Random, Role, World};

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
        let mut world = World::new(Random::new(seed));
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
        let mut world = World::new(Random::new(seed));
        let step = |_| {
            world.step();
            (world.now, world.oracle.committed(), world.metadata.history.len(), world.channels.len())
        };
        (0..300).map(step).collect::<Vec<_>>()
    };
    assert_eq!(trace(11), trace(11));
}
