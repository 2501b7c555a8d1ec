//! Producers under every fault: acknowledged records are in the log exactly once, in order, where the acknowledgement says.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use highwater_client_core::{
    Accumulator, Acks, Action, ClientBrain, ClientOptions, Environment, ErrorCode, ProducerHandle,
    ProducerOptions, Record, Refused,
};
use kafka_wire::ApiKey;
use proptest::prelude::*;
use world::{Fault, World, to_zero};

/// One producer, one topic of one partition, 20 records in small batches, this script of produce faults: what is in the log
/// afterwards, and the codes of failed records.
fn run(faults: Vec<Option<Fault>>, prepare: impl FnOnce(&mut World)) -> (Vec<String>, Vec<&'static str>) {
    let mut world = World::new(7, 3);
    world.cluster.create("t", 1);
    prepare(&mut world);
    world.cluster.script(ApiKey::Produce, faults);
    let producer = world.producer(ProducerOptions { batch_bytes_max: 256, ..ProducerOptions::default() });
    let numbers: Vec<usize> = (0..20)
        .map(|number| world.produce(producer, &to_zero("t", &format!("{number:0>40}"))).expect("accepted"))
        .collect();
    let outcomes: Vec<_> = numbers.iter().map(|number| world.await_record(producer, *number)).collect();
    let values = world.cluster.values("t", 0);
    let mut failed = Vec::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(ack) if ack.offset >= 0 => {
                let at = usize::try_from(ack.offset).expect("not negative");
                assert_eq!(
                    values[at],
                    format!("{number:0>40}"),
                    "the acknowledgement names the right offset"
                );
            }
            Ok(_) => {}
            Err(error) => failed.push(error.code()),
        }
    }
    assert_eq!(world.buffered_bytes(producer), 0, "everything that is done is released");
    (values, failed)
}

fn all() -> Vec<String> {
    (0..20).map(|number| format!("{number:0>40}")).collect()
}

fn delivered_once_in_order(faults: Vec<Option<Fault>>) {
    assert_eq!(run(faults, |_| {}), (all(), Vec::new()));
}

#[test]
fn nothing_goes_wrong() {
    delivered_once_in_order(Vec::new());
}

#[test]
fn a_connection_lost_before_or_after_the_append_neither_loses_nor_doubles() {
    delivered_once_in_order(vec![Some(Fault::CloseBefore)]);
    delivered_once_in_order(vec![Some(Fault::CloseAfter)]);
    delivered_once_in_order(vec![
        None,
        Some(Fault::CloseAfter),
        Some(Fault::CloseAfter),
        Some(Fault::CloseBefore),
    ]);
}

#[test]
fn an_answer_that_never_comes_is_a_lost_connection() {
    delivered_once_in_order(vec![None, Some(Fault::Silence)]);
}

#[test]
fn a_batch_that_fails_is_sent_again_before_those_behind_it() {
    for code in [
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::NotEnoughReplicas,
        ErrorCode::LeaderNotAvailable,
        ErrorCode::CorruptMessage,
        ErrorCode::UnknownTopicOrPartition,
    ] {
        delivered_once_in_order(vec![Some(Fault::Refuse(code))]);
        delivered_once_in_order(vec![None, Some(Fault::Refuse(code)), None, Some(Fault::Refuse(code))]);
    }
}

#[test]
fn what_was_appended_and_then_refused_is_found_to_be_there() {
    for code in
        [ErrorCode::NotEnoughReplicasAfterAppend, ErrorCode::RequestTimedOut, ErrorCode::NotLeaderOrFollower]
    {
        delivered_once_in_order(vec![None, Some(Fault::DoAndRefuse(code))]);
    }
}

#[test]
fn a_duplicate_is_a_success() {
    let (values, failed) =
        run(vec![None, Some(Fault::DoAndRefuse(ErrorCode::DuplicateSequenceNumber))], |_| {});
    assert_eq!((values, failed), (all(), Vec::new()));
}

#[test]
fn a_leader_that_changes_on_the_way_is_followed() {
    let mut world = World::new(11, 3);
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions::default());
    world.send(producer, &to_zero("t", "0")).expect("delivered");
    for number in 1..10 {
        let record = world.produce(producer, &to_zero("t", &number.to_string())).expect("accepted");
        world.cluster.elect("t", 0, number % 3 + 1);
        assert_eq!(world.await_record(producer, record).map(|ack| ack.offset), Ok(i64::from(number)));
    }
    assert_eq!(world.cluster.values("t", 0), (0..10).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_killed_leader_is_left_for_the_new_one() {
    let mut world = World::new(12, 3);
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions::default());
    world.send(producer, &to_zero("t", "before")).expect("delivered");
    let record = world.produce(producer, &to_zero("t", "after")).expect("accepted");
    world.kill(1);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.outcome(producer, record), None);
    world.cluster.elect("t", 0, 2);
    let elected = world.now;
    assert_eq!(world.await_record(producer, record).map(|ack| ack.offset), Ok(1));
    assert!(world.now.since(elected) < Duration::from_secs(3), "the new leader is found soon");
}

#[test]
fn a_lagging_broker_cannot_bring_an_old_leader_back() {
    let mut world = World::new(13, 3);
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions::default());
    world.send(producer, &to_zero("t", "0")).expect("delivered");
    world.cluster.elect("t", 0, 2);
    world.send(producer, &to_zero("t", "1")).expect("delivered");
    world.cluster.stale_leaders.insert(("t".into(), 0), (1, 0));
    world.cluster.script(ApiKey::Produce, [Some(Fault::Refuse(ErrorCode::NetworkException))]);
    assert_eq!(world.send(producer, &to_zero("t", "2")).map(|ack| ack.offset), Ok(2));
    let asked_old = world.cluster.handled.iter().rev().take_while(|(_, key, _)| *key != ApiKey::Metadata);
    assert!(asked_old.filter(|(_, key, _)| *key == ApiKey::Produce).all(|(broker, _, _)| *broker == 2));
}

#[test]
fn a_definite_refusal_fails_its_batch_alone() {
    let (values, failed) = run(vec![Some(Fault::Refuse(ErrorCode::InvalidRecord))], |_| {});
    assert!(!failed.is_empty() && failed.iter().all(|code| *code == "INVALID_RECORD"));
    assert_eq!(values, all()[failed.len()..], "the rest is delivered in order");
    let (values, failed) = run(vec![None, Some(Fault::Refuse(ErrorCode::TopicAuthorizationFailed))], |_| {});
    assert!(failed.iter().all(|code| *code == "TOPIC_AUTHORIZATION_FAILED"));
    assert_eq!(values.len() + failed.len(), 20);
}

#[test]
fn a_refusal_after_an_unknown_outcome_stays_unknown() {
    let faults = vec![Some(Fault::CloseAfter), Some(Fault::Refuse(ErrorCode::InvalidRecord))];
    let (values, failed) = run(faults, |_| {});
    assert!(!failed.is_empty() && failed.iter().all(|code| *code == "UNKNOWN_OUTCOME"));
    assert_eq!(values, all(), "it was appended, and the rest went on under a new id");
}

#[test]
fn a_broker_that_lost_track_of_the_producer_gets_a_new_one() {
    let mut world = World::new(14, 1);
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions::default());
    for number in 0..3 {
        world.send(producer, &to_zero("t", &number.to_string())).expect("delivered");
    }
    world.cluster.partition("t", 0).disturb_producers();
    assert_eq!(world.send(producer, &to_zero("t", "3")).map(|ack| ack.offset), Ok(3));
    world.cluster.partition("t", 0).forget_producers();
    assert_eq!(world.send(producer, &to_zero("t", "4")).map(|ack| ack.offset), Ok(4));
    for code in [ErrorCode::UnknownProducerId, ErrorCode::InvalidProducerEpoch] {
        world.cluster.script(ApiKey::Produce, [Some(Fault::Refuse(code))]);
        world.send(producer, &to_zero("t", "more")).expect("delivered");
    }
    assert_eq!(world.cluster.count(ApiKey::InitProducerId), 4);
    assert_eq!(world.cluster.values("t", 0), ["0", "1", "2", "3", "4", "more", "more"]);
}

#[test]
fn a_batch_that_is_too_large_is_cut_until_it_fits() {
    let mut world = World::new(15, 1);
    world.cluster.create("t", 1);
    world.cluster.max_batch_bytes = 300;
    let options = ProducerOptions { linger: Duration::from_millis(5), ..ProducerOptions::default() };
    let producer = world.producer(options);
    let numbers: Vec<usize> = (0..40)
        .map(|number| world.produce(producer, &to_zero("t", &format!("{number:0>40}"))).expect("accepted"))
        .collect();
    for (offset, number) in (0..).zip(numbers) {
        assert_eq!(world.await_record(producer, number).map(|ack| ack.offset), Ok(offset));
    }
    let large = world.send(producer, &to_zero("t", &"x".repeat(400)));
    assert_eq!(large.map_err(|error| error.code()), Err("MESSAGE_TOO_LARGE"));
    assert_eq!(world.send(producer, &to_zero("t", "small")).map(|ack| ack.offset), Ok(40));
    assert_eq!(world.buffered_bytes(producer), 0);
}

#[test]
fn time_that_runs_out_is_told_apart_from_an_unknown_outcome() {
    let mut world = World::new(16, 1);
    world.cluster.create("t", 1);
    let options = ProducerOptions { delivery_timeout: Duration::from_secs(2), ..ProducerOptions::default() };
    let producer = world.producer(options);
    world.send(producer, &to_zero("t", "0")).expect("delivered");
    world.cluster.script(ApiKey::Produce, vec![Some(Fault::Refuse(ErrorCode::NotEnoughReplicas)); 100]);
    let failed = world.send(producer, &to_zero("t", "1")).expect_err("never enough");
    assert_eq!((failed.code(), failed.partition()), ("TIMED_OUT", Some(0)));
    assert!(failed.to_string().contains("NOT_ENOUGH_REPLICAS"), "{failed}");
    let mut world = World::new(17, 1);
    world.cluster.create("t", 1);
    let options = ProducerOptions { delivery_timeout: Duration::from_secs(2), ..ProducerOptions::default() };
    let producer = world.producer(options);
    world.cluster.script(ApiKey::Produce, vec![Some(Fault::CloseAfter); 100]);
    let failed = world.send(producer, &to_zero("t", "1")).expect_err("never an answer");
    assert_eq!(failed.code(), "UNKNOWN_OUTCOME");
    assert!(!failed.is_retriable());
}

#[test]
fn a_topic_that_nobody_makes_is_told_after_a_while() {
    let mut world = World::new(18, 1);
    let producer = world.producer(ProducerOptions::default());
    let failed = world.produce(producer, &to_zero("nowhere", "x")).expect_err("there is none");
    assert_eq!((failed.code(), failed.topic()), ("UNKNOWN_TOPIC_OR_PARTITION", Some("nowhere")));
    assert!(world.now.0 < 7_000_000_000, "after 5 s");
    world.cluster.create("nowhere", 1);
    world.run_for(Duration::from_secs(2));
    assert_eq!(world.send(producer, &to_zero("nowhere", "x")).map(|ack| ack.offset), Ok(0));
}

#[test]
fn brokers_may_make_a_topic_if_the_producer_lets_them() {
    let mut world = World::new(19, 1);
    world.cluster.auto_create = true;
    let options = ProducerOptions { auto_create_topics: false, ..ProducerOptions::default() };
    let strict = world.producer(options);
    assert!(world.produce(strict, &to_zero("t", "x")).is_err());
    let easy = world.producer(ProducerOptions::default());
    assert_eq!(world.send(easy, &to_zero("t", "x")).map(|ack| ack.offset), Ok(0));
}

#[test]
fn what_one_producer_may_have_made_another_of_the_same_client_may_not() {
    let mut world = World::new(29, 1);
    world.cluster.auto_create = true;
    let easy = world.producer(ProducerOptions::default());
    world.send(easy, &to_zero("made", "x")).expect("made for it");
    let strict = world.producer(ProducerOptions { auto_create_topics: false, ..ProducerOptions::default() });
    world.produce(strict, &to_zero("wanted", "x")).expect_err("nobody makes it");
    assert_eq!(world.send(easy, &to_zero("made-too", "x")).map(|ack| ack.offset), Ok(0));
    assert!(!world.cluster.has("wanted"));
    assert_eq!(world.send(easy, &to_zero("wanted", "x")).map(|ack| ack.offset), Ok(0));
}

#[test]
fn unacknowledged_records_are_done_when_they_are_sent() {
    let mut world = World::new(20, 1);
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions { acks: Acks::None, ..ProducerOptions::default() });
    for _ in 0..3 {
        assert_eq!(world.send(producer, &to_zero("t", "x")).map(|ack| ack.offset), Ok(-1));
    }
    world.run_for(Duration::from_millis(10));
    assert_eq!(world.cluster.values("t", 0).len(), 3);
    assert_eq!(world.cluster.count(ApiKey::InitProducerId), 0);
}

#[test]
fn memory_is_bounded_and_waited_for() {
    let mut world = World::new(21, 1);
    world.cluster.create("t", 1);
    let options =
        ProducerOptions { batch_bytes_max: 1000, buffer_bytes_max: 4000, ..ProducerOptions::default() };
    let producer = world.producer(options);
    let mut last = 0;
    for _ in 0..200 {
        last = world.produce(producer, &to_zero("t", &"x".repeat(100))).expect("accepted in the end");
        assert!(world.buffered_bytes(producer) <= 4000);
    }
    world.await_record(producer, last).expect("delivered");
    assert_eq!(world.cluster.values("t", 0).len(), 200);
}

#[test]
fn a_throttled_producer_is_quiet_for_as_long_as_it_was_asked() {
    let mut world = World::new(22, 1);
    world.cluster.create("t", 1);
    let producer = world.producer(ProducerOptions::default());
    world.cluster.script(ApiKey::Produce, [Some(Fault::Throttle(700))]);
    world.send(producer, &to_zero("t", "0")).expect("delivered");
    let asked = world.now;
    world.send(producer, &to_zero("t", "1")).expect("delivered");
    assert!(world.now.since(asked) >= Duration::from_millis(699));
    assert_eq!(world.brain.metrics().throttle_time, Duration::from_millis(700));
}

#[test]
fn records_without_a_key_are_spread_and_share_batches() {
    let mut world = World::new(23, 3);
    world.cluster.create("t", 6);
    let options = ProducerOptions {
        linger: Duration::from_millis(5),
        batch_bytes_max: 2000,
        ..ProducerOptions::default()
    };
    let producer = world.producer(options);
    let mut last = 0;
    for _ in 0..500 {
        last = world.produce(producer, &Record::to("t").value("x".repeat(50))).expect("accepted");
    }
    world.await_record(producer, last).expect("delivered");
    world.run_for(Duration::from_millis(50));
    let counts: Vec<usize> = (0..6).map(|partition| world.cluster.values("t", partition).len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 500);
    assert!(counts.iter().filter(|count| **count > 0).count() >= 4, "{counts:?}");
    assert!(world.cluster.count(ApiKey::Produce) < 40, "in batches");
}

#[test]
fn no_batch_overtakes_the_oldest_so_far_that_the_broker_forgets_it() {
    let timed_out = || Some(Fault::DoAndRefuse(ErrorCode::RequestTimedOut));
    let first = vec![None, timed_out(), timed_out(), timed_out(), None, None];
    let again = std::iter::repeat_with(timed_out).take(5);
    delivered_once_in_order(first.into_iter().chain(again).collect());
}

#[test]
fn a_repeat_acknowledged_late_does_not_turn_sequences_back() {
    let faults = vec![
        None,
        None,
        Some(Fault::DoAndRefuse(ErrorCode::NotLeaderOrFollower)),
        None,
        None,
        Some(Fault::Refuse(ErrorCode::InvalidRecord)),
    ];
    let (values, failed) = run(faults, |_| {});
    assert!(values.len() + failed.len() >= 20, "nothing is missing");
}

/// Faults for the random walk: brokers that fail in every way, but do not lie.
fn fault() -> impl Strategy<Value = Option<Fault>> {
    let ambiguous = [
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::RequestTimedOut,
        ErrorCode::NotEnoughReplicasAfterAppend,
        ErrorCode::UnknownServerError,
    ];
    let definite = [
        ErrorCode::NotEnoughReplicas,
        ErrorCode::InvalidRecord,
        ErrorCode::OutOfOrderSequenceNumber,
        ErrorCode::UnknownProducerId,
    ];
    let any = ambiguous.into_iter().chain(definite).collect::<Vec<_>>();
    prop_oneof![
        4 => Just(None),
        1 => Just(Some(Fault::CloseBefore)),
        1 => Just(Some(Fault::CloseAfter)),
        1 => prop::sample::select(any).prop_map(|code| Some(Fault::Refuse(code))),
        1 => prop::sample::select(ambiguous.to_vec()).prop_map(|code| Some(Fault::DoAndRefuse(code))),
        1 => Just(Some(Fault::Garbage(bytes::Bytes::from_static(b"\x00\x00\x00\x05no answer")))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever happens: an acknowledged record is in the log exactly once and where it was said to be; one that failed
    /// definitely is not there; no record is there twice; those of a partition are in order.
    #[test]
    fn any_faults_keep_the_promises(
        seed: u64,
        faults in prop::collection::vec(fault(), 0..40),
        elections in prop::collection::vec((0_usize..60, 0_usize..2, 1_i32..4), 0..6),
    ) {
        let mut world = World::new(seed, 3);
        world.cluster.create("t", 2);
        world.cluster.script(ApiKey::Produce, faults);
        let producer = world.producer(ProducerOptions { batch_bytes_max: 256, ..ProducerOptions::default() });
        let mut numbers = Vec::new();
        for number in 0..60_usize {
            for (_, partition, leader) in elections.iter().filter(|(at, _, _)| *at == number) {
                world.cluster.elect("t", *partition, *leader);
            }
            let partition = u32::from(number % 3 == 0);
            let record = Record::to("t").partition(partition).value(format!("{number:0>40}"));
            numbers.push((partition, world.produce(producer, &record).expect("accepted")));
        }
        let mut positions: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
        let outcomes: Vec<_> =
            numbers.iter().map(|(partition, number)| (*partition, world.await_record(producer, *number))).collect();
        world.run_for(Duration::from_secs(1));
        for partition in 0..2_u32 {
            for (offset, value) in world.cluster.values("t", partition as usize).into_iter().enumerate() {
                positions.entry((partition, value)).or_default().push(offset);
            }
        }
        let mut before = [None; 2];
        for (number, (partition, outcome)) in outcomes.into_iter().enumerate() {
            let found = positions.remove(&(partition, format!("{number:0>40}"))).unwrap_or_default();
            prop_assert!(found.len() <= 1, "record {number} is there {} times", found.len());
            match outcome {
                Ok(ack) => {
                    prop_assert_eq!(found.len(), 1, "acknowledged record {} is missing", number);
                    if ack.offset >= 0 {
                        prop_assert_eq!(usize::try_from(ack.offset), Ok(found[0]));
                    }
                }
                Err(error) if error.code() == "UNKNOWN_OUTCOME" => {}
                Err(error) => prop_assert!(found.is_empty(), "record {} failed ({}) and is there", number, error),
            }
            if let Some(offset) = found.first() {
                let last = &mut before[partition as usize];
                prop_assert!(last.is_none_or(|last| last < *offset), "record {} is out of order", number);
                *last = Some(*offset);
            }
        }
        prop_assert_eq!(world.buffered_bytes(producer), 0);
    }
}

/// Who waits for a topic looks again at each `ProducerChanged`, and looking makes the face pull again.
#[test]
fn who_waits_for_a_topic_is_told_when_there_is_news_and_not_before() {
    let options = ProducerOptions::default();
    let environment = Environment { seed: 1, codecs: log_core::Codecs::PLAIN, crc: crc32c::crc32c_append };
    let address = highwater_client_core::Address::parse("localhost").expect("an address");
    let mut brain = ClientBrain::new(ClientOptions::default(), vec![address], environment);
    let mut accumulator = Accumulator::new(&options, 1);
    let (now, handle) = (log_core::Now::default(), ProducerHandle(1));
    brain.open_producer(now, handle, options);
    for _ in 0..3 {
        assert_eq!(accumulator.append(now, &to_zero("t", "x")), Err(Refused::AwaitTopic));
        brain.pull(now, handle, &mut accumulator);
        let actions: Vec<Action> = std::iter::from_fn(|| brain.poll_action()).collect();
        let told = actions.iter().any(|action| matches!(action, Action::ProducerChanged { .. }));
        assert!(!told, "{actions:?}");
    }
}

#[test]
fn a_new_leader_is_found_soon_however_long_the_dead_one_was_tried() {
    for dead_ms in [300, 1_700, 2_600, 5_000] {
        let mut world = World::new(13, 3);
        world.cluster.create("t", 1);
        let producer = world.producer(ProducerOptions::default());
        world.send(producer, &to_zero("t", "0")).expect("delivered");
        let leader = world.cluster.partition("t", 0).leader;
        world.kill(leader);
        let record = world.produce(producer, &to_zero("t", "1")).expect("accepted");
        world.run_for(Duration::from_millis(dead_ms));
        assert_eq!(world.outcome(producer, record), None);
        world.cluster.elect("t", 0, leader % 3 + 1);
        let elected = world.now;
        assert_eq!(world.await_record(producer, record).map(|ack| ack.offset), Ok(1));
        let took = world.now.since(elected);
        assert!(took < Duration::from_millis(350), "{took:?} when it was dead for {dead_ms} ms");
        let asked = world.cluster.count(ApiKey::Metadata);
        assert!(asked < 45, "{asked} questions for metadata");
    }
}

#[test]
fn a_record_that_nobody_leads_for_fails_with_the_reason() {
    for (offline, reason) in [
        (vec![1, 9], "the partition has no leader; its replicas: damaged on node 1, not there on node 9"),
        (vec![2, 3], "the partition has no leader; its replicas: damaged on nodes 2, 3"),
        (vec![], "LEADER_NOT_AVAILABLE: the partition has no leader (topic t"),
    ] {
        let mut world = World::new(11, 3);
        world.cluster.create("t", 1);
        let partition = world.cluster.partition("t", 0);
        (partition.leader, partition.offline) = (-1, offline);
        let options =
            ProducerOptions { delivery_timeout: Duration::from_secs(8), ..ProducerOptions::default() };
        let producer = world.producer(options);
        let failed = world.send(producer, &to_zero("t", "x")).expect_err("nobody leads");
        assert_eq!(failed.code(), "TIMED_OUT");
        assert!(failed.to_string().contains(reason), "{failed}");
        assert!(world.now.0 < 9_000_000_000);
    }
}
