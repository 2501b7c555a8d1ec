//! Frames between brokers: the stream's first frame, those of a follower, those of a leader, those of two Controls.
//!
//! The first byte says how the rest is read. What decodes is encoded again to a frame that decodes to the same.

#![no_main]

use bytes::{Bytes, BytesMut};
use highwater_fuzz::Choices;
use log_core::{Frame, FrameLimits, LeaderEpoch, Offset, Session, frame_head};
use metadata_core::{CONTROL_FRAME_LIMITS, ControlFrame};
use replica_core::{
    Ack, FOLLOWER_FRAME_LIMITS, FollowerFrame, HELLO_LIMITS, LEADER_FRAME_LIMITS, LeaderFrame, Lineage, Push,
    StreamKind, StreamRefusal,
};

highwater_fuzz::target!(seeds, check);

fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (kind, in_pieces) = (choices.below(4), choices.byte() & 1 == 1);
    let limits = [HELLO_LIMITS, FOLLOWER_FRAME_LIMITS, LEADER_FRAME_LIMITS, CONTROL_FRAME_LIMITS][kind];
    let read = [hello, follower, leader, control][kind];
    if in_pieces {
        return stream(&mut choices, limits, read);
    }
    let header = choices.piece(limits.header_bytes_max);
    let payload = choices.rest();
    let whole = [&frame_head(header, payload.len())[..], payload].concat();
    if let Ok(frame) = Frame::parse(whole.into(), limits) {
        read(&frame);
    }
}

/// Pieces as a stream gives them.
fn stream(choices: &mut Choices<'_>, limits: FrameLimits, read: fn(&Frame)) {
    let mut received = BytesMut::new();
    while !choices.is_empty() {
        received.extend_from_slice(choices.piece(500));
        loop {
            match Frame::take(&mut received, limits) {
                Ok(Some(frame)) => read(&frame),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn hello(frame: &Frame) {
    let Ok((kind, version)) = StreamKind::read_hello(frame) else { return };
    let again = Frame::parse(kind.hello(version).into(), HELLO_LIMITS).expect("what was encoded is a frame");
    assert_eq!(StreamKind::read_hello(&again), Ok((kind, version)));
}

fn follower(frame: &Frame) {
    let Ok(read) = FollowerFrame::decode(frame) else { return };
    let again =
        Frame::parse(read.encode().into(), FOLLOWER_FRAME_LIMITS).expect("what was encoded is a frame");
    assert_eq!(FollowerFrame::decode(&again).expect("it decodes"), read);
}

fn leader(frame: &Frame) {
    let Ok(read) = LeaderFrame::decode(frame) else { return };
    let payload = if let LeaderFrame::Push { batches, .. } = &read { batches.clone() } else { Bytes::new() };
    let whole = [&read.encode()[..], &payload].concat();
    let again = Frame::parse(whole.into(), LEADER_FRAME_LIMITS).expect("what was encoded is a frame");
    assert_eq!(LeaderFrame::decode(&again).expect("it decodes"), read);
}

fn control(frame: &Frame) {
    let Ok(read) = ControlFrame::decode(frame) else { return };
    let again = Frame::parse(read.encode(), CONTROL_FRAME_LIMITS).expect("what was encoded is a frame");
    assert_eq!(ControlFrame::decode(&again).expect("it decodes"), read);
}

fn seeds() -> Vec<Vec<u8>> {
    let session = Session(9);
    let (offset, epoch) = (Offset(1_200), LeaderEpoch(4));
    let ack = Ack { session, appended_end: offset, durable_end: offset, credit: 8 << 20 };
    let lineage = Lineage { session, epoch: Some(epoch), end: offset, log_start: Offset(10) };
    let push = Push { session, base_offset: offset, high_watermark: offset, log_start: Offset(10) };
    let frames = [
        (0, StreamKind::Replica.hello(1)),
        (1, FollowerFrame::Ack(ack).encode()),
        (1, FollowerFrame::From { session, offset, credit: 1 }.encode()),
        (1, FollowerFrame::Ask { session, epoch }.encode()),
        (2, LeaderFrame::Lineage(lineage).encode()),
        (2, LeaderFrame::Refused { session, refusal: StreamRefusal::NotLeader }.encode()),
        (2, LeaderFrame::Push { push, batches: Bytes::from_static(b"batches") }.encode()),
        (3, ControlFrame::NotController { leader: None }.encode().to_vec()),
    ];
    let mut seeds = Vec::new();
    for (kind, frame) in frames {
        let length = (frame.len() as u16).to_be_bytes();
        // Whole, as a piece of a stream; and its header alone.
        seeds.push([&[kind, 1][..], &length, &frame].concat());
        let header = &frame[log_core::FRAME_PREFIX_BYTES..];
        let length = (header.len() as u16).to_be_bytes();
        seeds.push([&[kind, 0][..], &length, header].concat());
    }
    seeds
}
