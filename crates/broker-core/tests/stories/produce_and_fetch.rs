//! One broker: what is produced is fetched, and every rule of both requests.

use std::time::Duration;

use crate::support::Cluster;
use crate::support::client::*;
use kafka_wire::ErrorCode;
use kafka_wire::messages::fetch::FetchResponse;
use kafka_wire::messages::produce::ProduceResponse;
use log_core::Compression;

fn single() -> Cluster {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 2, 1, &[]);
    cluster
}

#[test]
fn what_is_produced_is_fetched_byte_for_byte_but_for_offset_and_epoch() {
    let mut cluster = single();
    let sent = batch(&["a", "b", "c"]);
    let produced = cluster.produce(1, "t", 0, -1, sent.clone());
    assert_eq!(produced, Produced { error: ErrorCode::None, base_offset: 0 });
    let fetched = cluster.fetch(1, "t", 0, 0);
    assert_eq!((fetched.error_code, fetched.high_watermark), (ErrorCode::None, 3));
    assert_eq!((fetched.last_stable_offset, fetched.log_start_offset), (3, 0));
    assert_eq!(fetched.preferred_read_replica, -1);
    let bytes = fetched.records.into_bytes();
    assert_eq!(bytes[16..], sent[16..], "nothing behind the leader epoch is rewritten");
    assert_eq!(values_of(&bytes), ["a", "b", "c"]);
}

#[test]
fn a_fetch_in_a_batch_gives_the_batch_that_holds_the_offset() {
    let mut cluster = single();
    cluster.produce(1, "t", 0, -1, batch(&["a", "b", "c"]));
    let fetched = cluster.fetch(1, "t", 0, 2);
    assert_eq!(values_of(&fetched.records.into_bytes()), ["a", "b", "c"]);
}

#[test]
fn every_codec_is_stored_as_it_came() {
    let mut cluster = single();
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let produced = cluster.produce(1, "t", 0, -1, compressed(&["x", "y"], codec));
        assert_eq!(produced.error, ErrorCode::None, "{}", codec.name());
    }
    assert_eq!(cluster.read_all(1, "t", 0), ["x", "y"].repeat(4));
}

#[test]
fn a_burst_of_produce_requests_is_one_write_and_one_sync() {
    let mut cluster = single();
    cluster.produce(1, "t", 0, -1, batch(&["first"]));
    let connection = cluster.open(1);
    for _ in 0..5 {
        cluster.send(1, connection, 9, &produce_request("t", 0, -1, batch(&["x"])));
    }
    let appends = cluster.broker(1).shards[0].metrics().appends;
    let before = cluster.broker(1).disk.counters();
    cluster.broker(1).disk.trace_writes();
    cluster.run();
    let after = cluster.broker(1).disk.counters();
    let writes = cluster.broker(1).disk.take_write_trace();
    assert_eq!(cluster.broker(1).shards[0].metrics().appends, appends + 1);
    assert_eq!(writes.iter().filter(|slices| slices.len() == 10).count(), 1, "one write of five batches");
    assert_eq!(after.syncs - before.syncs, 1, "one sync");
    let offsets: Vec<i64> =
        std::iter::from_fn(|| cluster.produced(1, connection)).map(|produced| produced.base_offset).collect();
    assert_eq!(offsets, [1, 2, 3, 4, 5]);
}

#[test]
fn record_bytes_are_written_from_where_they_were_received() {
    let mut cluster = single();
    let frame = frame(1, 9, &produce_request("t", 0, -1, batch(&[&"x".repeat(1 << 18)])));
    let (start, end) = (frame.as_ptr() as usize, frame.as_ptr() as usize + frame.len());
    let connection = cluster.open(1);
    cluster.broker(1).disk.trace_writes();
    cluster.send_frame(1, connection, &frame);
    cluster.run();
    let trace = cluster.broker(1).disk.take_write_trace();
    let inside = |address: usize, len: usize| address >= start && address + len <= end;
    let largest = trace.iter().flatten().max_by_key(|slice| slice.1).unwrap();
    assert!(largest.1 > 1 << 18 && inside(largest.0, largest.1));
}

#[test]
fn acks_all_waits_for_the_sync_and_acks_one_does_not() {
    let mut cluster = single();
    cluster.broker(1).disk.hold(true);
    let (all, one) = (cluster.open(1), cluster.open(1));
    cluster.send(1, all, 9, &produce_request("t", 0, -1, batch(&["a"])));
    cluster.send(1, one, 9, &produce_request("t", 0, 1, batch(&["b"])));
    cluster.run();
    assert_eq!(cluster.produced(1, all), None);
    assert_eq!(cluster.produced(1, one).unwrap().base_offset, 1);
    assert!(cluster.fetch(1, "t", 0, 0).records.is_empty(), "nothing is served before it is committed");
    cluster.broker(1).disk.hold(false);
    cluster.run();
    assert_eq!(cluster.produced(1, all).unwrap().base_offset, 0);
    assert_eq!(cluster.read_all(1, "t", 0), ["a", "b"]);
}

#[test]
fn what_nobody_waits_for_is_committed_after_a_moment_or_when_somebody_asks() {
    let mut cluster = single();
    let produced = |cluster: &mut Cluster| cluster.produce(1, "t", 0, 1, batch(&["x"])).base_offset;
    assert_eq!(produced(&mut cluster), 0);
    assert_eq!(cluster.fetch(1, "t", 0, 0).high_watermark, 0, "nobody had asked");
    assert_eq!(cluster.fetch(1, "t", 0, 0).high_watermark, 1, "the one before had");
    assert_eq!(produced(&mut cluster), 1);
    cluster.pass(Duration::from_millis(49));
    assert_eq!(cluster.fetch(1, "t", 0, 0).high_watermark, 1);
    cluster.pass(Duration::from_millis(1));
    assert_eq!(cluster.fetch(1, "t", 0, 0).high_watermark, 2);
}

#[test]
fn acks_none_has_no_answer_and_a_failure_closes_the_connection() {
    let mut cluster = single();
    let connection = cluster.open(1);
    cluster.send(1, connection, 9, &produce_request("t", 0, 0, batch(&["a"])));
    cluster.run();
    assert_eq!(cluster.take_response(1, connection), None);
    cluster.pass(Duration::from_millis(50));
    assert_eq!(cluster.read_all(1, "t", 0), ["a"]);
    cluster.send(1, connection, 9, &produce_request("none", 0, 0, batch(&["a"])));
    cluster.run();
    assert!(cluster.broker(1).closed.contains_key(&connection));
}

#[test]
fn an_unanswered_commit_times_out_as_unknown() {
    let mut cluster = single();
    cluster.broker(1).disk.hold(true);
    let connection = cluster.open(1);
    cluster.send(1, connection, 9, &produce_request("t", 0, -1, batch(&["a"])));
    cluster.pass(Duration::from_secs(31));
    assert_eq!(cluster.produced(1, connection).unwrap().error, ErrorCode::RequestTimedOut);
}

#[test]
fn bad_acks_unknown_topics_and_internal_topics_are_refused() {
    let mut cluster = single();
    cluster.create_topic("__consumer_offsets", 1, 1, &[]);
    let mut check = |topic: &str, partition, acks, error| {
        assert_eq!(cluster.produce(1, topic, partition, acks, batch(&["a"])).error, error);
    };
    check("t", 0, 2, ErrorCode::InvalidRequiredAcks);
    check("none", 0, -1, ErrorCode::UnknownTopicOrPartition);
    check("t", 9, -1, ErrorCode::UnknownTopicOrPartition);
    check("t", -1, -1, ErrorCode::UnknownTopicOrPartition);
    check("__consumer_offsets", 0, -1, ErrorCode::InvalidTopicException);
}

#[test]
fn a_duplicate_gets_the_first_offset_and_a_gap_is_refused() {
    let mut cluster = single();
    let sent = |sequence| numbered(&["a", "b"], 9, 0, sequence);
    assert_eq!(cluster.produce(1, "t", 0, -1, sent(0)).base_offset, 0);
    assert_eq!(cluster.produce(1, "t", 0, -1, sent(2)).base_offset, 2);
    assert_eq!(cluster.produce(1, "t", 0, -1, sent(0)), Produced { error: ErrorCode::None, base_offset: 0 });
    assert_eq!(cluster.produce(1, "t", 0, -1, sent(9)).error, ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(cluster.read_all(1, "t", 0), ["a", "b", "a", "b"]);
    let unknown = numbered(&["c"], 10, 0, 5);
    assert_eq!(cluster.produce(1, "t", 0, -1, unknown).error, ErrorCode::OutOfOrderSequenceNumber);
    let newer = numbered(&["c"], 9, 1, 0);
    assert_eq!(cluster.produce(1, "t", 0, -1, newer).error, ErrorCode::None);
    assert_eq!(cluster.produce(1, "t", 0, -1, sent(4)).error, ErrorCode::InvalidProducerEpoch);
}

#[test]
fn a_duplicate_waits_for_the_commit_of_its_original() {
    let mut cluster = single();
    cluster.broker(1).disk.hold(true);
    let (first, second) = (cluster.open(1), cluster.open(1));
    cluster.send(1, first, 9, &produce_request("t", 0, -1, numbered(&["a"], 9, 0, 0)));
    cluster.run();
    cluster.send(1, second, 9, &produce_request("t", 0, -1, numbered(&["a"], 9, 0, 0)));
    cluster.run();
    assert_eq!((cluster.produced(1, first), cluster.produced(1, second)), (None, None));
    cluster.broker(1).disk.hold(false);
    cluster.run();
    assert_eq!(cluster.produced(1, first).unwrap().base_offset, 0);
    assert_eq!(cluster.produced(1, second).unwrap().base_offset, 0);
}

#[test]
fn a_burst_with_a_bad_sequence_answers_each_batch_for_itself() {
    let mut cluster = single();
    let connection = cluster.open(1);
    for sequence in [0, 1, 7, 2, 1] {
        let sent = numbered(&["x"], 9, 0, sequence);
        cluster.send(1, connection, 9, &produce_request("t", 0, -1, sent));
    }
    cluster.run();
    let results: Vec<Produced> = std::iter::from_fn(|| cluster.produced(1, connection)).collect();
    let offsets: Vec<i64> = results.iter().map(|produced| produced.base_offset).collect();
    assert_eq!(offsets, [0, 1, -1, 2, 1]);
    assert_eq!(results[2].error, ErrorCode::OutOfOrderSequenceNumber);
}

#[test]
fn log_append_time_is_the_brokers_and_is_answered() {
    let mut cluster = single();
    cluster.create_topic("l", 1, 1, &[("message.timestamp.type", "LogAppendTime")]);
    let frame = cluster.ask(1, 9, &produce_request("l", 0, -1, batch_at(&["a"], 5)));
    let response: ProduceResponse<'_> = parse(&frame, 9);
    let partition = &response.responses[0].partition_responses[0];
    assert_eq!((partition.error_code, partition.log_append_time_ms), (ErrorCode::None, cluster.now.wall.0));
    let frame = cluster.ask(1, 9, &produce_request("t", 0, -1, batch(&["a"])));
    let response: ProduceResponse<'_> = parse(&frame, 9);
    assert_eq!(response.responses[0].partition_responses[0].log_append_time_ms, -1);
}

#[test]
fn a_timestamp_too_far_ahead_is_refused() {
    let mut cluster = single();
    let ahead = cluster.now.wall.0 + 2 * 3_600_000;
    assert_eq!(cluster.produce(1, "t", 0, -1, batch_at(&["a"], ahead)).error, ErrorCode::InvalidTimestamp);
}

#[test]
fn a_full_disk_refuses_produce_and_still_serves() {
    let mut cluster = single();
    cluster.produce(1, "t", 0, -1, batch(&["kept"]));
    cluster.broker(1).disk.set_capacity(1);
    let refused = cluster.produce(1, "t", 0, -1, batch(&[&"x".repeat(600_000)]));
    assert_eq!(refused.error, ErrorCode::KafkaStorageError);
    assert_eq!(cluster.read_all(1, "t", 0), ["kept"]);
    cluster.broker(1).disk.set_capacity(u64::MAX);
    assert_eq!(cluster.produce(1, "t", 0, -1, batch(&["more"])).error, ErrorCode::None);
}

#[test]
fn a_fetch_at_the_end_waits_and_is_woken_by_the_commit() {
    let mut cluster = single();
    let reader = cluster.open(1);
    cluster.send(1, reader, 12, &fetch_request("t", 0, 0, 10_000));
    cluster.pass(Duration::from_secs(3));
    assert_eq!(cluster.take_response(1, reader), None);
    cluster.produce(1, "t", 0, -1, batch(&["a"]));
    let frame = cluster.take_response(1, reader).expect("woken by the high watermark");
    let response: FetchResponse<'_> = parse(&frame, 12);
    let partition = response.responses[0].partitions[0].clone();
    assert_eq!(values_of(&partition.records.into_bytes()), ["a"]);
}

#[test]
fn a_waiting_fetch_comes_back_empty_when_its_time_is_up() {
    let mut cluster = single();
    let reader = cluster.open(1);
    cluster.send(1, reader, 12, &fetch_request("t", 0, 0, 500));
    cluster.pass(Duration::from_millis(400));
    assert_eq!(cluster.take_response(1, reader), None);
    cluster.pass(Duration::from_millis(200));
    let frame = cluster.take_response(1, reader).unwrap();
    let response: FetchResponse<'_> = parse(&frame, 12);
    let partition = &response.responses[0].partitions[0];
    assert_eq!((partition.error_code, partition.records.len()), (ErrorCode::None, 0));
}

#[test]
fn min_bytes_are_gathered_over_all_partitions() {
    let mut cluster = single();
    let size = i32::try_from(batch(&["a"]).len()).unwrap();
    let mut request = fetch_request("t", 0, 0, 10_000);
    request.topics[0].partitions.push(fetch_partition(1, 0));
    request.min_bytes = 2 * size;
    let reader = cluster.open(1);
    cluster.send(1, reader, 12, &request);
    cluster.run();
    cluster.produce(1, "t", 0, -1, batch(&["a"]));
    assert_eq!(cluster.take_response(1, reader), None, "half of the bytes are not enough");
    cluster.produce(1, "t", 1, -1, batch(&["b"]));
    let frame = cluster.take_response(1, reader).expect("both together are");
    let response: FetchResponse<'_> = parse(&frame, 12);
    let sizes: Vec<usize> = response.responses[0].partitions.iter().map(|part| part.records.len()).collect();
    assert_eq!(sizes, [size as usize, size as usize]);
}

#[test]
fn the_first_batch_is_given_whole_however_small_the_limits() {
    let mut cluster = single();
    let large = "x".repeat(1_000);
    for partition in [0, 1] {
        cluster.produce(1, "t", partition, -1, batch(&[&large]));
        cluster.produce(1, "t", partition, -1, batch(&[&large]));
    }
    let mut request = fetch_request("t", 0, 0, 0);
    request.topics[0].partitions.push(fetch_partition(1, 0));
    request.max_bytes = 10;
    let frame = cluster.ask(1, 12, &request);
    let response: FetchResponse<'_> = parse(&frame, 12);
    let counts: Vec<usize> = response.responses[0]
        .partitions
        .iter()
        .map(|part| values_of(&part.records.clone().into_bytes()).len())
        .collect();
    assert_eq!(counts, [1, 0], "one whole batch, then the limit holds");
}

#[test]
fn offsets_outside_of_the_log_are_out_of_range_and_its_end_is_not() {
    let mut cluster = single();
    cluster.produce(1, "t", 0, -1, batch(&["a"]));
    assert_eq!(cluster.fetch(1, "t", 0, 1).error_code, ErrorCode::None);
    let beyond = cluster.fetch(1, "t", 0, 2);
    assert_eq!((beyond.error_code, beyond.high_watermark), (ErrorCode::OffsetOutOfRange, -1));
    assert!(beyond.records.is_empty());
    assert_eq!(cluster.fetch(1, "t", 0, -5).error_code, ErrorCode::OffsetOutOfRange);
    assert_eq!(cluster.fetch(1, "none", 0, 0).error_code, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_clients_leader_epoch_is_checked() {
    let mut cluster = single();
    let mut fetch = |epoch| {
        let mut request = fetch_request("t", 0, 0, 0);
        request.topics[0].partitions[0].current_leader_epoch = epoch;
        let frame = cluster.ask(1, 12, &request);
        let response: FetchResponse<'_> = parse(&frame, 12);
        response.responses[0].partitions[0].error_code
    };
    assert_eq!(fetch(-1), ErrorCode::None);
    assert_eq!(fetch(0), ErrorCode::None);
    assert_eq!(fetch(7), ErrorCode::UnknownLeaderEpoch);
}

#[test]
fn topics_are_fetched_by_id_from_version_13_on() {
    let mut cluster = single();
    cluster.produce(1, "t", 0, -1, batch(&["a"]));
    let id = kafka_wire::Uuid(cluster.image.topic_by_name("t").unwrap().id.0);
    let mut fetch = |topic_id| {
        let mut request = fetch_request("", 0, 0, 0);
        request.topics[0].topic_id = topic_id;
        let frame = cluster.ask(1, 16, &request);
        let response: FetchResponse<'_> = parse(&frame, 16);
        (response.responses[0].topic_id, response.responses[0].partitions[0].error_code)
    };
    assert_eq!(fetch(id), (id, ErrorCode::None));
    let other = kafka_wire::Uuid([99; 16]);
    assert_eq!(fetch(other), (other, ErrorCode::UnknownTopicId));
}

#[test]
fn sessions_are_answered_with_none_and_unknown_ones_refused() {
    let mut cluster = single();
    let mut fetch = |session_id, session_epoch| {
        let mut request = fetch_request("t", 0, 0, 0);
        (request.session_id, request.session_epoch) = (session_id, session_epoch);
        let frame = cluster.ask(1, 12, &request);
        let response: FetchResponse<'_> = parse(&frame, 12);
        (response.error_code, response.session_id)
    };
    assert_eq!(fetch(0, 0), (ErrorCode::None, 0));
    assert_eq!(fetch(5, 1), (ErrorCode::FetchSessionIdNotFound, 0));
}

#[test]
fn requests_to_partitions_of_other_shards_are_gathered() {
    let mut cluster = Cluster::with(1, 3, &[]);
    cluster.create_topic("t", 12, 1, &[]);
    for partition in 0..12 {
        let value = format!("p{partition}");
        assert_eq!(cluster.produce(1, "t", partition, -1, batch(&[&value])).error, ErrorCode::None);
    }
    let mut request = fetch_request("t", 0, 0, 0);
    request.topics[0].partitions = (0..12).map(|partition| fetch_partition(partition, 0)).collect();
    let frame = cluster.ask(1, 12, &request);
    let response: FetchResponse<'_> = parse(&frame, 12);
    for part in &response.responses[0].partitions {
        let values = values_of(&part.records.clone().into_bytes());
        assert_eq!(values, [format!("p{}", part.partition_index)]);
    }
    let reader = cluster.open(1);
    request.topics[0].partitions = (0..12).map(|partition| fetch_partition(partition, 1)).collect();
    request.max_wait_ms = 10_000;
    cluster.send(1, reader, 12, &request);
    cluster.run();
    assert_eq!(cluster.take_response(1, reader), None);
    cluster.produce(1, "t", 7, -1, batch(&["late"]));
    assert!(cluster.take_response(1, reader).is_some(), "a partition of another shard wakes it");
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let mut cluster = single();
    for round in 0..3 {
        cluster.produce(1, "t", 0, -1, batch(&[&format!("{round}")]));
    }
    cluster.kill(1);
    cluster.restart(1);
    assert_eq!(cluster.read_all(1, "t", 0), ["0", "1", "2"]);
    assert_eq!(cluster.produce(1, "t", 0, -1, batch(&["3"])).base_offset, 3);
}

#[test]
fn what_was_acknowledged_is_there_after_a_power_cut() {
    for seed in 0..20 {
        let mut cluster = single();
        for round in 0..3 {
            cluster.produce(1, "t", 0, -1, batch(&[&format!("{round}")]));
        }
        cluster.broker(1).alive = false;
        cluster.broker(1).disk.power_cut(seed);
        cluster.restart(1);
        assert_eq!(cluster.read_all(1, "t", 0), ["0", "1", "2"], "seed {seed}");
    }
}

#[test]
fn answered_requests_leave_no_timer_behind() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[("retention.ms", "-1")]);
    for _ in 0..50 {
        cluster.produce(1, "t", 0, -1, batch(&["a"]));
    }
    cluster.pass(Duration::from_secs(12));
    assert_eq!(cluster.broker(1).shards[0].gauges().requests_waiting, 0);
    // Their 30 seconds would end in 18; the next thing to do is to look for idle connections.
    let next = cluster.broker(1).shards[0].poll_timeout();
    assert!(next.is_none_or(|at| at > cluster.now.mono.after(Duration::from_secs(30))), "{next:?}");
}
