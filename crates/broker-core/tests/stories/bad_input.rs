//! Bad input: a clear error or a closed connection, and the broker goes on.

use std::time::Duration;

use bytes::Bytes;
use highwater_broker_core::{CloseReason, Limits};
use kafka_wire::ErrorCode;
use kafka_wire::messages::metadata::MetadataRequest;
use proptest::prelude::*;

use crate::support::Cluster;
use crate::support::client::*;

fn single() -> Cluster {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[]);
    cluster
}

/// The broker goes on: another client is served.
fn goes_on(cluster: &mut Cluster) {
    assert_eq!(cluster.produce(1, "t", 0, -1, batch(&["still here"])).error, ErrorCode::None);
}

fn closed_by(frame: &'static [u8]) -> Option<CloseReason> {
    let mut cluster = single();
    let connection = cluster.open(1);
    cluster.send_frame(1, connection, &Bytes::from_static(frame));
    cluster.run();
    let reason = cluster.broker(1).closed.get(&connection).copied();
    assert_eq!(cluster.take_response(1, connection), None);
    goes_on(&mut cluster);
    reason
}

#[test]
fn an_unknown_api_key_closes_the_connection() {
    assert!(matches!(closed_by(&[3, 231, 0, 0, 0, 0, 0, 1, 0, 0]), Some(CloseReason::Malformed(_))));
}

#[test]
fn an_unsupported_version_closes_the_connection() {
    assert!(matches!(closed_by(&[0, 1, 0, 99, 0, 0, 0, 1, 0, 0]), Some(CloseReason::Malformed(_))));
    assert!(matches!(closed_by(&[0, 0, 0, 2, 0, 0, 0, 1, 0, 0]), Some(CloseReason::Malformed(_))));
}

#[test]
fn garbage_closes_the_connection() {
    assert!(matches!(closed_by(b"GET / HTTP/1.1\r\n\r\n"), Some(CloseReason::Malformed(_))));
    assert!(matches!(closed_by(&[0]), Some(CloseReason::Malformed(_))));
    assert!(matches!(closed_by(&[]), Some(CloseReason::Malformed(_))));
}

#[test]
fn a_claim_of_two_billion_topics_in_a_few_bytes_costs_nothing() {
    let claim =
        &[0, 0, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff];
    assert!(matches!(closed_by(claim), Some(CloseReason::Malformed(_))));
}

#[test]
fn a_fetch_that_claims_to_be_a_replica_closes_the_connection() {
    let mut cluster = single();
    let connection = cluster.open(1);
    let mut request = fetch_request("t", 0, 0, 0);
    request.replica_id = 2;
    cluster.send(1, connection, 12, &request);
    cluster.run();
    assert_eq!(cluster.broker(1).closed.get(&connection), Some(&CloseReason::FetchAsReplica));
    let connection = cluster.open(1);
    let mut request = fetch_request("", 0, 0, 0);
    request.replica_state.replica_id = 2;
    cluster.send(1, connection, 16, &request);
    cluster.run();
    assert_eq!(cluster.broker(1).closed.get(&connection), Some(&CloseReason::FetchAsReplica));
    goes_on(&mut cluster);
}

fn refused(batch: Bytes) -> ErrorCode {
    let mut cluster = single();
    let produced = cluster.produce(1, "t", 0, -1, batch);
    assert_eq!(produced.base_offset, -1);
    assert_eq!(cluster.list_offset(1, "t", 0, -1).offset, 0, "nothing was appended");
    goes_on(&mut cluster);
    produced.error
}

fn changed(at: usize, change: impl Fn(u8) -> u8) -> Bytes {
    let mut bytes = batch(&["a", "b"]).to_vec();
    bytes[at] = change(bytes[at]);
    bytes.into()
}

/// A batch with a header field changed and the checksum made right again.
fn rewritten(at: usize, value: &[u8]) -> Bytes {
    let mut bytes = batch(&["a", "b"]).to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    let crc = crate::support::crc(0, &bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

#[test]
fn a_bad_crc_is_corrupt() {
    assert_eq!(refused(changed(70, |byte| byte ^ 1)), ErrorCode::CorruptMessage);
}

#[test]
fn a_batch_with_a_wrong_count_is_invalid() {
    assert_eq!(refused(rewritten(57, &9_i32.to_be_bytes())), ErrorCode::InvalidRecord);
    assert_eq!(refused(rewritten(23, &9_i32.to_be_bytes())), ErrorCode::InvalidRecord);
    assert_eq!(refused(rewritten(57, &(-1_i32).to_be_bytes())), ErrorCode::InvalidRecord);
}

#[test]
fn an_old_magic_is_invalid() {
    assert_eq!(refused(changed(16, |_| 1)), ErrorCode::InvalidRecord);
}

#[test]
fn a_control_batch_from_a_client_is_invalid() {
    assert_eq!(refused(rewritten(21, &0x20_i16.to_be_bytes())), ErrorCode::InvalidRecord);
}

#[test]
fn two_batches_in_one_request_are_invalid() {
    let twice = [batch(&["a"]), batch(&["b"])].concat();
    assert_eq!(refused(twice.into()), ErrorCode::InvalidRecord);
}

#[test]
fn no_records_are_invalid() {
    assert_eq!(refused(Bytes::new()), ErrorCode::InvalidRecord);
}

#[test]
fn half_a_batch_is_invalid() {
    let whole = batch(&["a"]);
    assert_eq!(refused(whole.slice(..whole.len() - 1)), ErrorCode::InvalidRecord);
}

#[test]
fn a_record_larger_than_the_limit_is_too_large() {
    let mut cluster = Cluster::new(1);
    cluster.create_topic("t", 1, 1, &[("max.message.bytes", "1000")]);
    let refused = cluster.produce(1, "t", 0, -1, batch(&[&"x".repeat(2_000)]));
    assert_eq!(refused.error, ErrorCode::MessageTooLarge);
    goes_on(&mut cluster);
}

#[test]
fn an_unknown_codec_is_unsupported() {
    assert_eq!(refused(rewritten(21, &7_i16.to_be_bytes())), ErrorCode::UnsupportedCompressionType);
}

#[test]
fn a_topic_name_with_a_path_is_refused() {
    let mut cluster = single();
    let name = "../../etc/passwd";
    assert_eq!(cluster.produce(1, name, 0, -1, batch(&["a"])).error, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(cluster.fetch(1, name, 0, 0).error_code, ErrorCode::UnknownTopicOrPartition);
    goes_on(&mut cluster);
}

#[test]
fn a_silent_connection_is_closed_and_one_that_speaks_is_not() {
    let mut cluster = Cluster::new(1);
    let (silent, speaks) = (cluster.open(1), cluster.open(1));
    for _ in 0..14 {
        cluster.pass(Duration::from_secs(60));
        cluster.ask_on(1, speaks, 1, &MetadataRequest::default());
    }
    assert_eq!(cluster.broker(1).closed.get(&silent), Some(&CloseReason::Idle));
    assert_eq!(cluster.broker(1).closed.get(&speaks), None);
}

#[test]
fn a_thousand_idle_connections_cost_no_work() {
    let mut cluster = single();
    let before = cluster.broker(1).shards[0].poll_timeout();
    for _ in 0..1_000 {
        cluster.open(1);
    }
    cluster.run();
    let after = cluster.broker(1).shards[0].poll_timeout();
    let soon = cluster.now.mono.after(Duration::from_secs(1));
    assert!(after.is_none_or(|at| before.is_some_and(|before| before <= at) || at > soon));
    goes_on(&mut cluster);
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let mut cluster = Cluster::new(1);
    cluster.limits = Limits { unsent_bytes_max: 2_000, ..Limits::default() };
    let disk = cluster.broker(1).disk.another_handle();
    cluster.kill(1);
    cluster.start(1, disk, false);
    cluster.run();
    cluster.create_topic("t", 1, 1, &[]);
    cluster.produce(1, "t", 0, -1, batch(&[&"x".repeat(1_500)]));
    let connection = cluster.open(1);
    // The driver cannot write: nothing is reported as written.
    cluster.broker(1).paused.insert(connection);
    for _ in 0..100 {
        cluster.send(1, connection, 12, &fetch_request("t", 0, 0, 0));
        cluster.run();
    }
    let answered = std::iter::from_fn(|| cluster.take_response(1, connection)).count();
    assert!((1..10).contains(&answered), "{answered} answers are kept for a client that does not read");
    goes_on(&mut cluster);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_frames_are_survived(frames in proptest::collection::vec(
        (0_i16..80, 0_i16..14, proptest::collection::vec(any::<u8>(), 0..80)), 1..20)) {
        let mut cluster = single();
        for (key, version, body) in frames {
            let connection = cluster.open(1);
            let mut frame = Vec::new();
            frame.extend_from_slice(&key.to_be_bytes());
            frame.extend_from_slice(&version.to_be_bytes());
            frame.extend_from_slice(&[0, 0, 0, 1, 0xff, 0xff]);
            frame.extend_from_slice(&body);
            cluster.send_frame(1, connection, &frame.into());
            cluster.run();
        }
        goes_on(&mut cluster);
    }
}
