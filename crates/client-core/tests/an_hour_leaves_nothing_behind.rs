//! An hour of a tab that is left alone, in virtual time: what the client holds and what it says do not grow, whether its
//! connections stay or are ended every five seconds.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use highwater_client_core::{ClientOptions, ConsumerHandle, ProducerHandle, ProducerOptions};
use kafka_wire::ApiKey;
use world::{World, from_the_beginning, to_zero};

/// Counts what the thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: isize) {
    HELD.with(|held| held.set(held.get() + sign * isize::try_from(bytes).unwrap_or(isize::MAX)));
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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

/// Runs `minute` sixty times and gives the bytes held after each, without what the world itself writes down.
fn bytes_held(world: &mut World, mut minute: impl FnMut(&mut World)) -> Vec<isize> {
    let mut held = Vec::with_capacity(60);
    for _ in 0..60 {
        minute(world);
        world.cluster.handled = Vec::new();
        world.dialled = Vec::new();
        held.push(HELD.with(Cell::get));
    }
    held
}

/// Metadata is learned anew every five minutes, so the peaks of twenty are compared.
fn assert_no_growth(held: &[isize]) {
    let peak = |minutes: &[isize]| minutes.iter().copied().max().unwrap();
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
