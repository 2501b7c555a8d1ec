//! The laws that hold in each machine after every call, in one place. A broken one is a bug of ours and panics with
//! both values; a bad peer or a bad disk never gets here.

use log_core::Offset;

use crate::follower::{Follower, State};
use crate::leader::Leader;
use crate::mutation::{Mutation, on};
use crate::view::LogFacts;

fn check_log(log: &LogFacts) {
    let LogFacts { log_start, first_batch, high_watermark, appended_end, durable_end, .. } = *log;
    let first_batch = first_batch.unwrap_or(log_start);
    assert!(first_batch <= log_start, "first batch {first_batch} above log start {log_start}");
    assert!(log_start <= high_watermark, "log start {log_start} above high watermark {high_watermark}");
    assert!(
        high_watermark <= appended_end,
        "high watermark {high_watermark} above appended end {appended_end}"
    );
    assert!(durable_end <= appended_end, "durable end {durable_end} above appended end {appended_end}");
}

/// The laws of a leader.
pub(crate) fn check_leader(leader: &Leader) {
    if on(Mutation::Unasserted) {
        return;
    }
    check_log(&leader.log);
    let (low, start) = (leader.low_watermark, leader.log.log_start);
    assert!(low <= start, "low watermark {low} above log start {start}");
    let own = leader.identity.own;
    assert!(!leader.followers.contains_key(&own), "leader {own} follows itself");
    for (broker, progress) in &leader.followers {
        let member = leader.view.in_isr(*broker);
        assert!(member || !progress.behind, "{broker} is behind but not in the ISR");
        let (high_watermark, durable) = (leader.log.high_watermark, progress.durable);
        let above = |end: Offset| end >= high_watermark;
        assert!(
            !member || durable.is_none_or(above),
            "member {broker} at {durable:?} below HW {high_watermark}"
        );
        let registered = leader.view.replica(*broker).map(|replica| replica.broker_epoch);
        assert_eq!(
            registered,
            Some(progress.broker_epoch),
            "broker epoch of {broker}, applied and judged by"
        );
        if let Some(stream) = progress.stream {
            assert_eq!(leader.streams.get(&stream.id), Some(broker), "owner of stream {}", stream.id);
        }
        if let Some(cursor) = progress.cursor() {
            let (next, end) = (cursor.next_offset, leader.log.appended_end);
            assert!(next <= end, "stream of {broker} stands at {next}, the log ends at {end}");
        }
    }
    let running = leader.followers.values().filter(|progress| progress.stream.is_some()).count();
    assert_eq!(leader.streams.len(), running, "streams, known and owned");
    assert!(!leader.left || leader.streams.is_empty(), "a leader that left still has streams");
}

/// The laws of a follower.
pub(crate) fn check_follower(follower: &Follower) {
    if on(Mutation::Unasserted) {
        return;
    }
    check_log(&follower.log);
    if let State::Streaming(flow) = &follower.state {
        let (next, end) = (flow.next_offset, follower.log.appended_end);
        assert!(next >= end, "next push expected at {next}, the log ends at {end}");
        assert!(!follower.log.cutting, "pushes are taken during a cut");
    }
}
