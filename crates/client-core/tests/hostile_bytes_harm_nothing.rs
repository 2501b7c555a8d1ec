//! Whatever bytes a broker sends, to whatever was asked: no panic, no call left open, and the client goes on.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

mod world;

use bytes::Bytes;
use highwater_client_core::admin::AdminCall;
use highwater_client_core::{Accumulator, ConsumerHandle, ProducerOptions, Start};
use kafka_wire::ApiKey;
use proptest::prelude::*;
use world::{Fault, World, from_the_beginning, text, to_zero};

/// The APIs that a producer, a consumer and an admin need.
const APIS: [ApiKey; 6] = [
    ApiKey::ApiVersions,
    ApiKey::Metadata,
    ApiKey::InitProducerId,
    ApiKey::Produce,
    ApiKey::ListOffsets,
    ApiKey::Fetch,
];

fn frame() -> impl Strategy<Value = Bytes> {
    // The correlation ids of early requests are small: many answers get as far as their body.
    let body = prop::collection::vec(any::<u8>(), 0..200);
    let small = prop::collection::vec(0_u8..4, 0..200);
    (0_i32..12, prop_oneof![body, small]).prop_map(|(correlation, body)| {
        let mut frame = correlation.to_be_bytes().to_vec();
        frame.extend(body);
        frame.into()
    })
}

/// The first record, once what was scripted is used up: each of it may spoil one read at most, by a refusal, a wrong offset
/// or a silence that it asks for.
fn read_after_all(world: &mut World, consumer: ConsumerHandle) -> String {
    for _ in 0..20 {
        world.seek(consumer, "t", 0, Start::Earliest);
        if let Ok(record) = world.read(consumer) {
            return text(&record);
        }
    }
    panic!("the client never reads again");
}

/// So many cases, unless the environment (`PROPTEST_CASES`) asks for another number.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if asked { ProptestConfig::default().cases } else { usual };
    ProptestConfig { cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn arbitrary_answers_end_the_connection_at_most(
        seed: u64,
        garbage in prop::collection::vec((0_usize..APIS.len(), 0_usize..3, frame()), 0..12),
    ) {
        let mut world = World::new(seed, 2);
        world.cluster.create("t", 1);
        for (api, after, frame) in garbage {
            let faults = std::iter::repeat_n(None, after).chain([Some(Fault::Garbage(frame))]);
            world.cluster.script(APIS[api], faults);
        }
        let producer = world.producer(ProducerOptions::default());
        world.send(producer, &to_zero("t", "x")).ok();
        let call = world.call();
        world.brain.admin(world.clocks(), call, AdminCall::ListTopics);
        world.await_answer(call).ok();
        if let Ok(consumer) = world.consumer(from_the_beginning("t")) {
            // What was acknowledged by garbage may not be there; what is there can be read in the end.
            world.cluster.partition("t", 0);
            world.send(producer, &to_zero("t", "y")).ok();
            world.run_for(std::time::Duration::from_secs(2));
            if let Some(first) = world.cluster.values("t", 0).first().cloned() {
                prop_assert_eq!(read_after_all(&mut world, consumer), first);
            }
        }
    }

    /// Half of an answer, or one with a byte changed, is not an answer.
    #[test]
    fn a_frame_that_was_not_asked_for_ends_its_connection(frame in frame()) {
        let mut world = World::new(1, 1);
        let call = world.call();
        world.brain.bootstrap(world.clocks(), call);
        world.await_answer(call).expect("connected");
        let now = world.clocks();
        for connection in 0..3 {
            world.brain.handle_frame(now, highwater_client_core::ConnectionId(connection), frame.clone());
        }
        let call = world.call();
        world.brain.admin(world.clocks(), call, AdminCall::DescribeCluster);
        prop_assert!(world.await_answer(call).is_ok());
    }
}

#[test]
fn an_address_that_never_answers_does_not_hold_up_the_others() {
    let mut world = World::new(4, 3);
    world.mute.insert(1);
    world.mute.insert(2);
    let call = world.call();
    world.brain.bootstrap(world.clocks(), call);
    world.await_answer(call).expect("the third one answers");
    assert!(world.now.0 < 2_000_000_000, "half a second for each of the others");
}

#[test]
fn a_cluster_that_refuses_is_given_up_soon_and_names_the_reason() {
    let mut world = World::new(4, 3);
    (1..=3).for_each(|broker| world.kill(broker));
    let call = world.call();
    world.brain.bootstrap(world.clocks(), call);
    let failed = world.await_answer(call).expect_err("nobody listens");
    assert!(failed.to_string().ends_with("cannot connect: connection refused"), "{failed}");
    assert!(world.now.0 < 5_000_000_000);
}

#[test]
fn an_accumulator_refuses_what_can_never_be_sent() {
    let options = ProducerOptions::default().checked().expect("fits");
    let mut accumulator = Accumulator::new(&options, 0);
    let world = World::new(3, 1);
    let refused = accumulator.append(world.clocks(), &to_zero("../etc", "x"));
    assert!(format!("{refused:?}").contains("TopicName"), "{refused:?}");
    assert_eq!(accumulator.wanted_topics().count(), 0);
}

/// Four bytes of a damaged answer that happen to stand where the broker asks for silence: i32::MAX is 24 days.
#[test]
fn a_broker_that_asks_for_days_of_silence_is_asked_again_soon() {
    for api in [ApiKey::Produce, ApiKey::ListOffsets, ApiKey::Fetch] {
        let mut world = World::new(6, 1);
        world.cluster.create("t", 1);
        world.cluster.script(api, [Some(Fault::Throttle(i32::MAX))]);
        let producer = world.producer(ProducerOptions::default());
        world.send(producer, &to_zero("t", "x")).expect("delivered");
        world.send(producer, &to_zero("t", "y")).expect("delivered as well");
        let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
        assert_eq!(text(&world.read(consumer).expect("a record")), "x");
        world.seek(consumer, "t", 0, Start::Earliest);
        assert_eq!(text(&world.read(consumer).expect("the record again")), "x", "{api:?}");
        assert!(world.now.0 < 60_000_000_000, "{api:?}: {:?}", world.now);
    }
}

/// The same answer with nothing in it, and one that names only APIs which no client can begin with.
#[test]
fn a_broker_that_names_no_metadata_is_not_kept() {
    for versions in [&b"\0\0\x01\0\0\0\0\0"[..], b"\0\0\x02\0\x12\0\0\0\x04\0\0\0\0\0\0"] {
        let mut world = World::new(6, 2);
        world.cluster.create("t", 1);
        let answer = [&0_i32.to_be_bytes()[..], versions].concat();
        world.cluster.script(ApiKey::ApiVersions, [Some(Fault::Garbage(answer.into()))]);
        let producer = world.producer(ProducerOptions::default());
        world.send(producer, &to_zero("t", "x")).expect("delivered, over another connection");
        assert!(world.now.0 < 5_000_000_000, "{:?}", world.now);
    }
}
