//! A walk: steps as the choices say, then no more faults; at the end all has to be healed.

use super::{Random, Role, World, id, index};

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
    let leading = &world.logs[index(leader)];
    assert_eq!(head.isr.len(), world.processes.len(), "ISR {:?} of leader {leader}", head.isr);
    for (broker, log) in world.logs.iter().enumerate() {
        let ends = (log.end(), log.durable, log.high_watermark);
        let expected = (leading.end(), leading.end(), leading.end());
        assert_eq!(ends, expected, "end, durable end and HW of {} under leader {leader}", id(broker));
    }
    assert_eq!(world.oracle.committed(), leading.end(), "what was written is committed");
    for (broker, log) in world.logs.iter().enumerate() {
        // One may have deleted more, for a leader whose own log start went back.
        assert!(log.start >= leading.start, "log start of {} under leader {leader}", id(broker));
    }
    let Role::Leader(machine) = &world.processes[index(leader)].role else { panic!("{leader} leads not") };
    assert_eq!(machine.low_watermark().0, leading.start, "what is deleted everywhere is known to be");
}

/// So many steps by a seed.
#[cfg(test)]
pub(crate) fn walk(seed: u64, steps: usize) {
    let mut world = World::new(Random::new(seed));
    (0..steps).for_each(|_| world.step());
    heal(&mut world);
    assert_healed(&world);
}

/// As many steps as the bytes decide.
pub(crate) fn walk_by(choices: &[u8]) {
    let mut world = World::new(Random::by(choices));
    while world.random.is_told() {
        world.step();
    }
    heal(&mut world);
    assert_healed(&world);
}
