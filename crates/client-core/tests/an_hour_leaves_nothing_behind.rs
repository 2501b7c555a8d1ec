//! An hour of a tab that is left alone, in virtual time: what the client holds and what it says do not grow, whether its
//! connections stay or are ended every five seconds.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod world;

use std::time::Duration;

use highwater_client_core::{ClientOptions, ConsumerHandle, ProducerHandle, ProducerOptions};
use kafka_wire::ApiKey;
use world::{World, from_the_beginning, to_zero};

const MINUTE: Duration = Duration::from_secs(60);

/// A client that has produced one record and read it.
fn left_alone() -> (World, ProducerHandle, ConsumerHandle) {
    let mut world = World::with(2, 1, ClientOptions::default());
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions::default());
    world.send(producer, &to_zero("t", "x")).expect("delivered");
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    world.read(consumer).expect("a record");
    (world, producer, consumer)
}

/// Runs `minute` sixty times and gives how many bytes more are held after each, without what the world itself writes down.
fn bytes_held(world: &mut World, mut minute: impl FnMut(&mut World)) -> Vec<i64> {
    (world.cluster.handled, world.dialled) = (Vec::new(), Vec::new());
    let growth = (0..60).map(|_| {
        let counted = allocation_counter::measure(|| {
            minute(world);
            (world.cluster.handled, world.dialled) = (Vec::new(), Vec::new());
        });
        counted.bytes_current
    });
    let sum = |held: &mut i64, more| {
        *held += more;
        Some(*held)
    };
    growth.scan(0, sum).collect()
}

/// Metadata is learned anew every five minutes, so the peaks of twenty are compared.
fn assert_no_growth(held: &[i64]) {
    let peak = |minutes: &[i64]| minutes.iter().copied().max().unwrap();
    let (first, last) = (peak(held.get(..20).unwrap()), peak(held.get(40..).unwrap()));
    assert!(last <= first, "{first} bytes at most at the beginning, {last} at the end: {held:?}");
}

#[test]
fn a_client_that_is_idle_for_an_hour_keeps_nothing() {
    let (mut world, producer, consumer) = left_alone();
    world.run_for(MINUTE);
    let mut asked = (0, 0);
    let held = bytes_held(&mut world, |world| {
        (world.cluster.handled, world.dialled) = (Vec::new(), Vec::new());
        world.run_for(MINUTE);
        assert_eq!(world.dialled, [], "no connection is made anew");
        asked.0 += world.cluster.count(ApiKey::Fetch);
        asked.1 += world.cluster.handled.len();
    });
    assert_no_growth(&held);
    // Two fetches a second, and metadata every five minutes.
    assert!(asked.0 < 7_230, "{} fetches", asked.0);
    assert!(asked.1 - asked.0 <= 13, "{} other requests", asked.1 - asked.0);
    assert_eq!(world.buffered_bytes(producer), 0);
    assert!(world.brain.metrics().requests_in_flight <= 1);
    assert!(world.poll_read(consumer).is_none());
}

#[test]
fn connections_that_are_ended_every_five_seconds_for_an_hour_leave_nothing() {
    let (mut world, producer, consumer) = left_alone();
    let mut dialled = 0;
    let held = bytes_held(&mut world, |world| {
        for _ in 0..12 {
            world.kill(1);
            world.revive(1);
            world.run_for(Duration::from_secs(5));
        }
        dialled += world.dialled.len();
    });
    assert_no_growth(&held);
    // One for the fetches and one for everything else.
    assert!(dialled <= 2 * 720 + 20, "{dialled} connections");
    assert!(world.brain.metrics().connections <= 2);
    assert_eq!(world.buffered_bytes(producer), 0);
    world.send(producer, &to_zero("t", "after all")).expect("delivered");
    assert_eq!(world::text(&world.read(consumer).expect("a record")), "after all");
}
