//! Frames frozen byte by byte, and what a decoder does with other bytes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use log_core::{
    BrokerEpoch, BrokerId, Frame, LeaderEpoch, Offset, PartitionIndex, Session, TopicId, TopicPartition,
};
use proptest::prelude::*;

use super::*;
use crate::StreamKind;

const SESSION: Session = Session(0x1122_3344_5566_7788);
const PREFIX: [(&str, usize); 4] = [("length", 4), ("header length", 2), ("version", 1), ("type", 1)];

/// Offset, bytes and field of each part, one a line.
fn annotated(bytes: &[u8], fields: &[(&str, usize)]) -> String {
    let mut at = 0;
    let mut lines: Vec<String> = Vec::new();
    for (name, length) in fields {
        let hex: Vec<String> = bytes[at..at + length].iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push(format!("{at:>3}  {:<48} {name}", hex.join(" ")));
        at += length;
    }
    assert_eq!(at, bytes.len(), "every byte belongs to a field");
    lines.join("\n")
}

fn frozen(bytes: &[u8], fields: &[(&str, usize)]) -> String {
    let named: Vec<(&str, usize)> = PREFIX.iter().chain(fields).copied().collect();
    annotated(bytes, &named)
}

fn open() -> Open {
    let partition = PartitionIndex(0x0102_0304);
    Open {
        partition: TopicPartition { topic_id: TopicId(*b"a topic's own id"), partition },
        leader_epoch: LeaderEpoch(5),
        follower: BrokerId(2),
        broker_epoch: BrokerEpoch(0x0a0b_0c0d_0e0f),
        session: SESSION,
        last_epoch: Some(LeaderEpoch(4)),
        log_end: Offset(1_000),
    }
}

fn ack() -> Ack {
    Ack { session: SESSION, appended_end: Offset(1_200), durable_end: Offset(1_100), credit: 8 << 20 }
}

fn lineage() -> Lineage {
    Lineage { session: SESSION, epoch: Some(LeaderEpoch(4)), end: Offset(900), log_start: Offset(10) }
}

fn push() -> Push {
    let (base_offset, high_watermark) = (Offset(1_200), Offset(1_100));
    Push { session: SESSION, base_offset, high_watermark, log_start: Offset(10) }
}

#[test]
fn the_bytes_of_a_followers_frames_are_frozen() {
    let fields: &[(&str, usize)] = &[
        ("session", 8),
        ("topic id", 16),
        ("partition", 4),
        ("leader epoch", 4),
        ("follower", 4),
        ("broker epoch", 8),
        ("last epoch", 4),
        ("log end", 8),
    ];
    insta::assert_snapshot!("open", frozen(&FollowerFrame::Open(open()).encode(), fields));
    let empty = FollowerFrame::Open(Open { last_epoch: None, log_end: Offset(0), ..open() });
    insta::assert_snapshot!("open_of_an_empty_log", frozen(&empty.encode(), fields));
    let ask = FollowerFrame::Ask { session: SESSION, epoch: LeaderEpoch(3) };
    insta::assert_snapshot!("ask", frozen(&ask.encode(), &[("session", 8), ("epoch", 4)]));
    let from = FollowerFrame::From { session: SESSION, offset: Offset(900), credit: 8 << 20 };
    insta::assert_snapshot!("from", frozen(&from.encode(), &[("session", 8), ("offset", 8), ("credit", 8)]));
    let fields: &[(&str, usize)] = &[("session", 8), ("appended end", 8), ("durable end", 8), ("credit", 8)];
    insta::assert_snapshot!("ack", frozen(&FollowerFrame::Ack(ack()).encode(), fields));
    let (high_watermark, cut_to) = (Offset(1_100), Offset(900));
    let conflict = FollowerFrame::Conflict { session: SESSION, high_watermark, cut_to };
    let fields: &[(&str, usize)] = &[("session", 8), ("high watermark", 8), ("cut to", 8)];
    insta::assert_snapshot!("conflict", frozen(&conflict.encode(), fields));
    let bad = FollowerFrame::BadBatch { session: SESSION, offset: Offset(1_200) };
    insta::assert_snapshot!("bad_batch", frozen(&bad.encode(), &[("session", 8), ("offset", 8)]));
    let start = FollowerFrame::LogStart { session: SESSION, log_start: Offset(700) };
    insta::assert_snapshot!("log_start", frozen(&start.encode(), &[("session", 8), ("log start", 8)]));
}

#[test]
fn the_bytes_of_a_leaders_frames_are_frozen() {
    let refused = LeaderFrame::Refused { session: SESSION, refusal: StreamRefusal::NotYet };
    insta::assert_snapshot!("refused", frozen(&refused.encode(), &[("session", 8), ("refusal", 1)]));
    let fields: &[(&str, usize)] = &[("session", 8), ("epoch", 4), ("end", 8), ("log start", 8)];
    insta::assert_snapshot!("lineage", frozen(&LeaderFrame::Lineage(lineage()).encode(), fields));
    let mut bytes = push().encode(3);
    bytes.extend_from_slice(&[0xaa, 0xbb, 0xcc]);
    let fields: &[(&str, usize)] =
        &[("session", 8), ("base offset", 8), ("high watermark", 8), ("log start", 8), ("batches", 3)];
    insta::assert_snapshot!("push", frozen(&bytes, fields));
}

#[test]
fn the_first_frame_of_each_kind_of_stream_is_frozen() {
    let kinds = [StreamKind::Replica, StreamKind::Control, StreamKind::Raft, StreamKind::Join];
    let fields: &[(&str, usize)] = &[("length", 4), ("header length", 2), ("kind", 1), ("version", 1)];
    let hellos = kinds.map(|kind| format!("{kind:?}\n{}", annotated(&kind.hello(1), fields)));
    insta::assert_snapshot!("hello", hellos.join("\n"));
    for kind in kinds {
        let frame = Frame::parse(Bytes::from(kind.hello(9)), crate::HELLO_LIMITS).unwrap();
        assert_eq!(StreamKind::read_hello(&frame), Ok((kind, 9)));
    }
}

fn received(bytes: Vec<u8>, limits: FrameLimits) -> Frame {
    Frame::parse(Bytes::from(bytes), limits).unwrap()
}

fn follower_frames() -> Vec<FollowerFrame> {
    let (session, epoch, offset) = (SESSION, LeaderEpoch(3), Offset(900));
    Vec::from([
        FollowerFrame::Open(open()),
        FollowerFrame::Open(Open { last_epoch: None, ..open() }),
        FollowerFrame::Ask { session, epoch },
        FollowerFrame::From { session, offset, credit: 8 << 20 },
        FollowerFrame::Ack(ack()),
        FollowerFrame::Conflict { session, high_watermark: Offset(1_100), cut_to: offset },
        FollowerFrame::BadBatch { session, offset },
        FollowerFrame::LogStart { session, log_start: offset },
    ])
}

fn leader_frames() -> Vec<LeaderFrame> {
    Vec::from([
        LeaderFrame::Refused { session: SESSION, refusal: StreamRefusal::OtherTopic },
        LeaderFrame::Lineage(lineage()),
        LeaderFrame::Lineage(Lineage { epoch: None, ..lineage() }),
        LeaderFrame::Push { push: push(), batches: Bytes::from_static(b"three whole batches") },
        LeaderFrame::Push { push: push(), batches: Bytes::new() },
    ])
}

fn whole(frame: &LeaderFrame) -> Vec<u8> {
    let mut bytes = frame.encode();
    if let LeaderFrame::Push { batches, .. } = frame {
        bytes.extend_from_slice(batches);
    }
    bytes
}

#[test]
fn frames_come_back_as_they_were_sent() {
    for frame in follower_frames() {
        assert_eq!(FollowerFrame::decode(&received(frame.encode(), FOLLOWER_FRAME_LIMITS)), Ok(frame));
    }
    for frame in leader_frames() {
        assert_eq!(LeaderFrame::decode(&received(whole(&frame), LEADER_FRAME_LIMITS)), Ok(frame));
    }
}

#[test]
fn pushed_batches_stay_in_the_receive_buffer() {
    let frame = LeaderFrame::Push { push: push(), batches: Bytes::from_static(b"three whole batches") };
    let mut buffer = BytesMut::from(&whole(&frame)[..]);
    let start = buffer.as_ptr() as usize;
    let length = buffer.len();
    let taken = Frame::take(&mut buffer, LEADER_FRAME_LIMITS).unwrap().unwrap();
    let Ok(LeaderFrame::Push { batches, .. }) = LeaderFrame::decode(&taken) else { panic!("not a push") };
    assert_eq!(batches.as_ptr() as usize, start + length - batches.len());
}

#[test]
fn a_frame_of_another_version_type_or_length_is_refused_by_name() {
    let good = received(FollowerFrame::Ack(ack()).encode(), FOLLOWER_FRAME_LIMITS);
    let altered = |change: fn(&mut Vec<u8>)| {
        let mut header = good.header.to_vec();
        change(&mut header);
        FollowerFrame::decode(&Frame { header: Bytes::from(header), payload: Bytes::new() })
    };
    assert_eq!(altered(|h| h[0] = 2), Err(DecodeError::Version { found: 2, known: 1 }));
    assert_eq!(altered(|h| h[1] = 99), Err(DecodeError::Type { found: 99 }));
    assert_eq!(
        altered(|h| h[1] = 67),
        Err(DecodeError::Type { found: 67 }),
        "a leader's frame from a follower"
    );
    assert_eq!(altered(|h| h.push(0)), Err(DecodeError::Length { frame_type: 4, expected: 34, found: 35 }));
    assert_eq!(
        altered(|h| h.truncate(33)),
        Err(DecodeError::Length { frame_type: 4, expected: 34, found: 33 })
    );
    assert_eq!(altered(|h| h.truncate(1)), Err(DecodeError::NoType { found: 1 }));
    assert_eq!(altered(|h| h[17] = 0xff), Err(DecodeError::Values { frame_type: 4 }), "a negative offset");
    assert_eq!(
        altered(|h| h[18] = 0xff),
        Err(DecodeError::Values { frame_type: 4 }),
        "durable above appended"
    );
    let payload = Bytes::from_static(b"x");
    let with_payload = FollowerFrame::decode(&Frame { payload, ..good.clone() });
    assert_eq!(with_payload, Err(DecodeError::Payload { frame_type: 4, found: 1 }));
}

#[test]
fn every_cut_of_a_header_is_refused() {
    let headers = follower_frames()
        .into_iter()
        .map(|frame| frame.encode())
        .chain(leader_frames().into_iter().map(|frame| whole(&frame)));
    for bytes in headers {
        let frame = received(bytes, LEADER_FRAME_LIMITS);
        for end in 0..frame.header.len() {
            let cut = Frame { header: frame.header.slice(..end), payload: frame.payload.clone() };
            assert!(
                FollowerFrame::decode(&cut).is_err() && LeaderFrame::decode(&cut).is_err(),
                "cut to {end}"
            );
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_headers_never_panic(header in prop::collection::vec(any::<u8>(), 0..90), payload in prop::collection::vec(any::<u8>(), 0..4)) {
        let frame = Frame { header: Bytes::from(header), payload: Bytes::from(payload) };
        let _ = FollowerFrame::decode(&frame);
        let _ = LeaderFrame::decode(&frame);
        let _ = StreamKind::read_hello(&frame);
    }

    #[test]
    fn a_flipped_bit_is_refused_or_reads_as_another_frame_that_encodes_alike(number in 0_usize..7, flip in any::<prop::sample::Index>()) {
        let mut bytes = follower_frames()[number].encode();
        let bit = flip.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(frame) = Frame::parse(Bytes::from(bytes.clone()), FOLLOWER_FRAME_LIMITS)
            && let Ok(read) = FollowerFrame::decode(&frame)
        {
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn any_numbers_survive_the_wire(session: u64, base in 0..i64::MAX, high_watermark in 0..i64::MAX, start in 0..i64::MAX, epoch in 0..i32::MAX) {
        let push = Push { session: Session(session), base_offset: Offset(base), high_watermark: Offset(high_watermark), log_start: Offset(start) };
        let pushed = LeaderFrame::Push { push, batches: Bytes::new() };
        prop_assert_eq!(LeaderFrame::decode(&received(pushed.encode(), LEADER_FRAME_LIMITS)), Ok(pushed));
        let open = FollowerFrame::Open(Open { session: Session(session), leader_epoch: LeaderEpoch(epoch), log_end: Offset(base), ..open() });
        prop_assert_eq!(FollowerFrame::decode(&received(open.encode(), FOLLOWER_FRAME_LIMITS)), Ok(open));
    }
}
