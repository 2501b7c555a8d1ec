//! Consumers under faults: every record once and in order, positions, lost positions, truncation, damage, bounded memory.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

mod world;

use std::sync::Arc;
use std::time::Duration;

use highwater_client_core::{
    ClientOptions, ConsumerHandle, ConsumerOptions, ErrorCode, OnLostPosition, ProducerOptions, Start,
    Subscription,
};
use kafka_wire::ApiKey;
use world::{Fault, World, from_the_beginning, text, to_zero};

/// A world with a topic `t` of one partition that holds the numbers from 0 on, a batch each.
fn world_with(records: i64, brokers: i32) -> World {
    let mut world = World::new(5, brokers);
    world.cluster.create("t", 1);
    append(&mut world, 0, records);
    world
}

fn append(world: &mut World, from: i64, to: i64) {
    let producer = world.producer(ProducerOptions::default());
    for number in from..to {
        world.send(producer, &to_zero("t", &number.to_string())).expect("delivered");
    }
}

fn read_numbers(world: &mut World, consumer: ConsumerHandle, from: i64, to: i64) {
    for number in from..to {
        let record = world.read(consumer).expect("no error");
        assert_eq!((record.offset, text(&record)), (number, number.to_string()));
    }
}

fn reads_all_in_spite_of(key: ApiKey, faults: Vec<Option<Fault>>) {
    let mut world = world_with(10, 1);
    world.cluster.script(key, faults);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 10);
    append(&mut world, 10, 15);
    read_numbers(&mut world, consumer, 10, 15);
}

#[test]
fn every_record_is_read_once_and_in_order_whatever_fails() {
    let faults = [
        Fault::CloseBefore,
        Fault::CloseAfter,
        Fault::Silence,
        Fault::Garbage(bytes::Bytes::from_static(b"\x00\x00\x00\x00 no answer")),
        Fault::Refuse(ErrorCode::NotLeaderOrFollower),
        Fault::Refuse(ErrorCode::OffsetNotAvailable),
    ];
    for key in [ApiKey::Fetch, ApiKey::ListOffsets, ApiKey::Metadata] {
        for fault in &faults {
            reads_all_in_spite_of(key, vec![Some(fault.clone())]);
            reads_all_in_spite_of(key, vec![None, Some(fault.clone()), Some(fault.clone())]);
        }
    }
}

#[test]
fn the_end_is_where_it_was_when_the_consumer_was_made() {
    let mut world = world_with(5, 1);
    let options = ConsumerOptions::new(Subscription::Partitions(vec![("t".into(), 0)]));
    let consumer = world.consumer(options).expect("a consumer");
    assert_eq!(world.buffer(consumer).position("t", 0), Some(5));
    append(&mut world, 5, 7);
    read_numbers(&mut world, consumer, 5, 7);
}

#[test]
fn a_seek_drops_what_was_fetched_and_goes_on_there() {
    let mut world = world_with(20, 1);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 3);
    world.seek(consumer, "t", 0, Start::Offset(12));
    read_numbers(&mut world, consumer, 12, 15);
    world.seek(consumer, "t", 0, Start::Earliest);
    read_numbers(&mut world, consumer, 0, 20);
}

#[test]
fn a_seek_during_a_fetch_that_waits_is_served_at_once() {
    let mut world = world_with(5, 1);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 5);
    world.run_for(Duration::from_millis(100));
    world.seek(consumer, "t", 0, Start::Offset(2));
    let asked = world.now;
    read_numbers(&mut world, consumer, 2, 5);
    assert!(world.now.since(asked) < Duration::from_millis(50), "the waiting fetch is not in the way");
}

#[test]
fn a_paused_partition_is_not_fetched() {
    let mut world = world_with(5, 1);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 5);
    let topic: Arc<str> = "t".into();
    let now = world.clocks();
    world.buffer(consumer).set_paused(&topic, 0, true).expect("assigned");
    world.brain.set_paused(now, consumer, &topic, 0, true);
    append(&mut world, 5, 8);
    world.run_for(Duration::from_secs(5));
    assert!(world.poll_read(consumer).is_none());
    let now = world.clocks();
    world.buffer(consumer).set_paused(&topic, 0, false).expect("assigned");
    world.brain.set_paused(now, consumer, &topic, 0, false);
    read_numbers(&mut world, consumer, 5, 8);
}

#[test]
fn a_position_that_retention_has_passed_follows_the_options() {
    for (policy, first) in
        [(OnLostPosition::Earliest, Some(7)), (OnLostPosition::Latest, None), (OnLostPosition::Fail, None)]
    {
        let mut world = world_with(10, 1);
        world.cluster.partition("t", 0).log_start = 7;
        let mut options = from_the_beginning("t");
        options.start = Start::Offset(3);
        options.on_lost_position = policy;
        let consumer = world.consumer(options).expect("a consumer");
        match (policy, first) {
            (OnLostPosition::Fail, _) => {
                let lost = world.read(consumer).expect_err("gone");
                assert_eq!(
                    (lost.code(), lost.partition(), lost.offset()),
                    ("POSITION_LOST", Some(0), Some(3))
                );
                world.seek(consumer, "t", 0, Start::Earliest);
                read_numbers(&mut world, consumer, 7, 10);
            }
            (_, Some(first)) => read_numbers(&mut world, consumer, first, 10),
            (_, None) => {
                world.run_for(Duration::from_secs(1));
                append(&mut world, 10, 12);
                read_numbers(&mut world, consumer, 10, 12);
            }
        }
    }
}

#[test]
fn a_log_that_was_cut_below_the_position_is_told() {
    let mut world = world_with(10, 2);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 10);
    world.cluster.truncate("t", 0, 6);
    world.cluster.elect("t", 0, 2);
    append(&mut world, 100, 110);
    let lost = world.read(consumer).expect_err("offsets 6 to 9 were read and are other records now");
    assert_eq!((lost.code(), lost.offset()), ("POSITION_LOST", Some(10)));
    assert!(lost.to_string().contains("ends at offset 6"), "{lost}");
    world.seek(consumer, "t", 0, Start::Offset(6));
    assert_eq!(text(&world.read(consumer).expect("goes on")), "100");
}

#[test]
fn a_new_leader_with_the_whole_log_is_followed_without_a_word() {
    let mut world = world_with(10, 3);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 10);
    for (round, leader) in [2, 3, 1].into_iter().enumerate() {
        world.cluster.elect("t", 0, leader);
        let from = 10 + 5 * i64::try_from(round).expect("small");
        append(&mut world, from, from + 5);
        read_numbers(&mut world, consumer, from, from + 5);
    }
    assert!(world.cluster.count(ApiKey::OffsetForLeaderEpoch) >= 3);
}

#[test]
fn a_damaged_batch_is_told_with_its_offset_and_can_be_skipped() {
    let mut world = world_with(3, 1);
    // One bit in the value of the second batch.
    let at = world.cluster.partition("t", 0).log[0].len() + 67;
    world.cluster.script(ApiKey::Fetch, [Some(Fault::FlipBit(at))]);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut world, consumer, 0, 1);
    let damaged = world.read(consumer).expect_err("damaged");
    assert_eq!(
        (damaged.code(), damaged.topic(), damaged.partition(), damaged.offset(), damaged.resume_at()),
        ("DAMAGED", Some("t"), Some(0), Some(1), Some(2))
    );
    let now = world.clocks();
    world.brain.stop(now, consumer, &"t".into(), 0);
    world.seek(consumer, "t", 0, Start::Offset(2));
    read_numbers(&mut world, consumer, 2, 3);
}

#[test]
fn what_waits_to_be_read_is_bounded() {
    let mut world = world_with(300, 1);
    let mut options = from_the_beginning("t");
    options.prefetch_bytes_max = 4000;
    let consumer = world.consumer(options).expect("a consumer");
    world.run_for(Duration::from_secs(5));
    let fetches = world.cluster.count(ApiKey::Fetch);
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.cluster.count(ApiKey::Fetch), fetches, "a consumer that does not read does not fetch");
    read_numbers(&mut world, consumer, 0, 300);
}

#[test]
fn partitions_that_a_topic_gets_later_are_read_from_their_beginning() {
    let mut world = world_with(1, 1);
    let mut options = from_the_beginning("t");
    options.start = Start::Latest;
    let consumer = world.consumer(options).expect("a consumer");
    world.cluster.grow("t", 1);
    let mut other = World::new(9, 1);
    std::mem::swap(&mut other.cluster, &mut world.cluster);
    let producer = other.producer(ProducerOptions::default());
    other.send(producer, &to_zero("t", "new").partition(1)).expect("delivered by a client that knows");
    std::mem::swap(&mut other.cluster, &mut world.cluster);
    let record = world.read(consumer).expect("no error");
    assert_eq!((record.partition, record.offset, text(&record).as_str()), (1, 0, "new"));
    assert!(world.now.0 > 300_000_000_000, "found when metadata was asked for by its age");
}

#[test]
fn a_topic_without_a_name_on_any_broker_fails_the_consumer() {
    let mut world = World::new(6, 1);
    let failed = world.consumer(from_the_beginning("nowhere")).expect_err("there is none");
    assert_eq!((failed.code(), failed.topic()), ("UNKNOWN_TOPIC_OR_PARTITION", Some("nowhere")));
    world.cluster.create("t", 2);
    let options = ConsumerOptions::new(Subscription::Partitions(vec![("t".into(), 2)]));
    let failed = world.consumer(options).expect_err("0 and 1");
    assert_eq!((failed.code(), failed.partition()), ("NO_SUCH_PARTITION", Some(2)));
}

#[test]
fn older_brokers_are_spoken_to_in_their_versions() {
    let mut world = world_with(0, 1);
    // About what Redpanda shipped in 2024: topics by name, no topic ids.
    for (key, cap) in [
        (ApiKey::ApiVersions, 3),
        (ApiKey::Metadata, 8),
        (ApiKey::Produce, 7),
        (ApiKey::Fetch, 11),
        (ApiKey::ListOffsets, 4),
        (ApiKey::InitProducerId, 3),
    ] {
        world.cluster.caps.insert(key, cap);
    }
    let mut fresh = World::new(8, 1);
    fresh.cluster = world.cluster;
    append(&mut fresh, 0, 5);
    let consumer = fresh.consumer(from_the_beginning("t")).expect("a consumer");
    read_numbers(&mut fresh, consumer, 0, 5);
    for (_, key, version) in &fresh.cluster.handled {
        if let Some(cap) = fresh.cluster.caps.get(key) {
            assert!(version <= cap, "{} {version}", key.name());
        }
    }
}

#[test]
fn a_batch_that_the_reader_refuses_stops_its_partition_until_a_seek() {
    let mut world = world_with(3, 1);
    let consumer = world.consumer(from_the_beginning("t")).expect("a consumer");
    let batch = world.run_until("a batch", |world| world.buffer(consumer).next_batch()).expect("sound");
    world.buffer(consumer).batch_refused(&batch);
    let freed = world.buffer(consumer).take_freed();
    let now = world.clocks();
    world.brain.consumed(now, consumer, freed);
    world.brain.stop(now, consumer, &batch.topic, batch.partition);
    world.run_for(Duration::from_secs(5));
    assert!(world.buffer(consumer).next_batch().is_none());
    world.seek(consumer, "t", 0, Start::Offset(batch.next_offset()));
    read_numbers(&mut world, consumer, batch.next_offset(), 3);
}

#[test]
fn a_place_to_begin_that_nobody_tells_is_named_with_the_reason() {
    let options = ClientOptions { call_timeout: Duration::from_secs(8), ..ClientOptions::default() };
    let mut world = World::with(12, 1, options);
    world.cluster.create("t", 2);
    let partition = world.cluster.partition("t", 1);
    (partition.leader, partition.offline) = (-1, vec![1]);
    let failed = world.consumer(ConsumerOptions::new(Subscription::Topics(vec!["t".into()])));
    let text = failed.expect_err("nobody leads the second partition").to_string();
    assert!(
        text.starts_with("finding where to begin did not happen within 8000 ms (topic t, partition 1)"),
        "{text}"
    );
    assert!(text.contains("damaged on node 1"), "{text}");
}
